"""The API's units, as systemd's own tools judge them: the daemon's, but for what they start."""

from pathlib import Path

import pytest

from skymem.daemon.child import GIVE_UP_SECONDS, KILL_AFTER_SECONDS
from skymem.serve.runs import GRACE_SECONDS
from skymem.serve.service import LAST_SECONDS
from tests.systemd.units import (
    SYSTEM,
    SYSTEM_API,
    USER,
    program,
    run_tool,
    seconds,
    setting,
    settings,
    with_a_program_that_is_there,
)

USER_API = USER.with_name("skymem-api.service")
EXPOSURE_MAX = 2.0
DIFFER = {"Description", "After", "ExecStart", "ExecReload", "TimeoutStopSec", "SyslogIdentifier"}
"""What an API's unit may say otherwise than the daemon's beside it."""

BOTH = pytest.mark.parametrize(
    ("unit", "beside", "manager"),
    [(SYSTEM_API, SYSTEM, "--system"), (USER_API, USER, "--user")],
    ids=["system", "user"],
)


@BOTH
def test_systemd_finds_nothing_to_complain_about(
    unit: Path, beside: Path, manager: str, tmp_path: Path
) -> None:
    assert setting(unit, "After") == beside.name
    copy = with_a_program_that_is_there(unit, tmp_path)
    verdict = run_tool("systemd-analyze", manager, "verify", "--man=no", copy)
    ours = [line for line in verdict.stderr.splitlines() if "skymem" in line]
    assert (verdict.returncode, verdict.stdout, ours) == (0, "", []), verdict.stderr


def test_the_system_unit_is_hardened() -> None:
    found = run_tool("systemd-analyze", "security", "--offline=yes", "--no-pager", SYSTEM_API)
    last = found.stdout.strip().splitlines()[-1]
    assert float(last.partition(": ")[2].split()[0]) <= EXPOSURE_MAX, last


@BOTH
def test_it_says_what_the_daemons_says(unit: Path, beside: Path, manager: str) -> None:
    del manager
    ours, theirs = settings(unit), settings(beside)
    assert {key for key in ours.keys() | theirs if ours.get(key) != theirs.get(key)} <= DIFFER
    assert setting(unit, "ExecStart") == setting(beside, "ExecStart").removesuffix("run") + "serve"
    assert program(unit) == program(beside)


@BOTH
def test_it_has_the_time_to_stop_that_it_takes(unit: Path, beside: Path, manager: str) -> None:
    del beside, manager
    takes = LAST_SECONDS + GRACE_SECONDS + KILL_AFTER_SECONDS + GIVE_UP_SECONDS
    assert seconds(unit, "TimeoutStopSec") >= takes + 20
