"""The shipped units, as systemd's own tools judge them (hazards F1, F3, F5, F6)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from skymem.daemon.child import GIVE_UP_SECONDS, KILL_AFTER_SECONDS
from skymem.daemon.stop import GRACE_SECONDS, HARD_END_SECONDS
from skymem.errors import ConfigurationError
from tests.systemd.units import (
    ROOT,
    SYSTEM,
    SYSUSERS,
    TMPFILES,
    USER,
    program,
    run_tool,
    seconds,
    setting,
    settings,
    with_a_program_that_is_there,
)

BOTH = pytest.mark.parametrize("unit", [SYSTEM, USER], ids=["system", "user"])
MANAGERS = pytest.mark.parametrize(
    ("unit", "manager"), [(SYSTEM, "--system"), (USER, "--user")], ids=["system", "user"]
)

DIFFER = {"Description", "ExecStart", "WantedBy"}
"""What the two units may say each in its own way."""

EXPOSURE_MAX = 2.0


@MANAGERS
def test_systemd_finds_nothing_to_complain_about(unit: Path, manager: str, tmp_path: Path) -> None:
    copy = with_a_program_that_is_there(unit, tmp_path)
    verdict = run_tool("systemd-analyze", manager, "verify", "--man=no", copy)
    ours = [line for line in verdict.stderr.splitlines() if "skymem" in line]
    assert (verdict.returncode, verdict.stdout, ours) == (0, "", []), verdict.stderr


@MANAGERS
def test_the_check_of_a_unit_would_find_something(unit: Path, manager: str, tmp_path: Path) -> None:
    copy = with_a_program_that_is_there(unit, tmp_path)
    copy.write_text(copy.read_text().replace("KillMode=mixed", "KillMode=mixd\nNoSuchKey=1"))
    verdict = run_tool("systemd-analyze", manager, "verify", "--man=no", copy)
    assert "Failed to parse kill mode" in verdict.stderr
    assert "NoSuchKey" in verdict.stderr


def test_the_system_unit_is_hardened() -> None:
    found = run_tool("systemd-analyze", "security", "--offline=yes", "--no-pager", SYSTEM)
    last = found.stdout.strip().splitlines()[-1]
    assert float(last.partition(": ")[2].split()[0]) <= EXPOSURE_MAX, last


def test_nothing_is_forbidden_that_skymem_needs() -> None:
    for unit in (SYSTEM, USER):
        found = settings(unit)
        # onnxruntime and torch make code at run time; shared directories are set-group-ID.
        assert not {"MemoryDenyWriteExecute", "RestrictSUIDSGID", "DynamicUser"} & found.keys()
        assert found["RestrictAddressFamilies"] == ["AF_UNIX"]
        assert "@chown" in found["SystemCallFilter"][-1]
        assert not {key for key in found if key.startswith("Limit")} - {"LimitCORE"}


@BOTH
def test_a_configuration_that_is_not_usable_does_not_loop(unit: Path) -> None:
    assert setting(unit, "Restart") == "on-failure"
    assert setting(unit, "RestartPreventExitStatus") == str(ConfigurationError.exit_code)
    spread = seconds(unit, "RestartSec") * int(setting(unit, "StartLimitBurst"))
    assert spread < seconds(unit, "StartLimitIntervalSec"), "or the limit would never be met"


@BOTH
def test_the_daemon_has_the_time_to_stop_that_it_takes(unit: Path) -> None:
    takes = GRACE_SECONDS + KILL_AFTER_SECONDS + GIVE_UP_SECONDS
    assert seconds(unit, "TimeoutStopSec") >= takes + 20
    assert seconds(unit, "TimeoutStopSec") > GRACE_SECONDS + HARD_END_SECONDS


@BOTH
def test_the_program_is_started_as_a_service_for_one_home(unit: Path) -> None:
    assert setting(unit, "Type") == "notify"
    assert setting(unit, "NotifyAccess") == "main"
    home = "/var/lib/skymem" if unit == SYSTEM else "%h/.local/share/skymem"
    assert setting(unit, "ExecStart") == f"{program(unit)} --home {home} run"
    words = setting(unit, "ExecStart").split()[1:]
    shown = subprocess.run(
        [sys.executable, "-m", "skymem", *words, "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Keep this home" in shown.stdout


def test_the_user_unit_says_nothing_else_than_the_system_unit() -> None:
    system, user = settings(SYSTEM), settings(USER)
    assert {key for key in user if user[key] != system.get(key)} <= DIFFER


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """The root of a machine where user, group and directory were made."""
    (tmp_path / "etc").mkdir()
    rehearsed = run_tool("systemd-sysusers", "--dry-run", f"--root={tmp_path}", SYSUSERS)
    assert (rehearsed.returncode, list((tmp_path / "etc").glob("passwd"))) == (0, [])
    for _ in range(2):  # a second time it finds them there
        for tool in (("systemd-sysusers",), ("systemd-tmpfiles", "--create")):
            file = SYSUSERS if tool[0] == "systemd-sysusers" else TMPFILES
            told = run_tool(*tool, f"--root={tmp_path}", file)
            assert told.returncode == 0, told.stderr
            assert "Unknown" not in told.stderr
    return tmp_path


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_the_directory_of_the_home_is_made_as_the_unit_would(made: Path) -> None:
    (line,) = [one for one in TMPFILES.read_text().splitlines() if one[0] != "#"]
    kind, path, mode, user, group, age = line.split()
    assert (kind, path, age) == ("d", setting(SYSTEM, "WorkingDirectory"), "-")
    assert (mode, user, group) == (
        setting(SYSTEM, "StateDirectoryMode"), setting(SYSTEM, "User"), setting(SYSTEM, "Group"),
    )  # fmt: skip
    found = (made / path.lstrip("/")).stat()
    uid = int((made / "etc/passwd").read_text().split(":")[2])
    assert (oct(found.st_mode & 0o7777), found.st_uid) == (f"0o{mode}", uid)


def test_the_user_and_the_group_are_made(made: Path) -> None:
    fields = (made / "etc/passwd").read_text().strip().split(":")
    assert (fields[0], fields[5]) == ("skymem", setting(SYSTEM, "WorkingDirectory"))
    assert (made / "etc/group").read_text().startswith("skymem:")
    assert setting(SYSTEM, "User") == setting(SYSTEM, "Group") == "skymem"


def test_the_state_directory_is_the_home() -> None:
    assert f"/var/lib/{setting(SYSTEM, 'StateDirectory')}" == setting(SYSTEM, "WorkingDirectory")
    mode = int(setting(SYSTEM, "StateDirectoryMode"), 8)
    assert mode & 0o2000, "what is made inside is the group's"
    assert not mode & 0o027, "a member can't put other rules in the place of the home's"
