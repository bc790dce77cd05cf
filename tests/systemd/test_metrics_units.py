"""The service and timer of the numbers, as systemd's own tools judge them."""

from pathlib import Path

from tests.systemd.units import (
    METRICS,
    ROOT,
    SYSTEM,
    TIMER,
    program,
    run_tool,
    seconds,
    setting,
    settings,
    with_a_program_that_is_there,
)

EXPOSURE_MAX = 1.0
SANDBOX = {"Protect", "Private", "Restrict", "SystemCall", "Capability", "NoNew", "IPAddress"}


def test_systemd_finds_nothing_to_complain_about(tmp_path: Path) -> None:
    copy = with_a_program_that_is_there(METRICS, tmp_path)
    (tmp_path / TIMER.name).write_text(TIMER.read_text())
    for unit in (copy, tmp_path / TIMER.name):
        verdict = run_tool("systemd-analyze", "--system", "verify", "--man=no", unit)
        ours = [line for line in verdict.stderr.splitlines() if "skymem" in line]
        assert (verdict.returncode, verdict.stdout, ours) == (0, "", []), verdict.stderr


def test_the_unit_is_hardened() -> None:
    found = run_tool("systemd-analyze", "security", "--offline=yes", "--no-pager", METRICS)
    last = found.stdout.strip().splitlines()[-1]
    assert float(last.partition(": ")[2].split()[0]) <= EXPOSURE_MAX, last


def test_its_sandbox_is_the_daemons() -> None:
    ours, theirs = settings(METRICS), settings(SYSTEM)
    keys = {key for key in ours.keys() | theirs if key.startswith(tuple(SANDBOX))}
    assert {key: ours.get(key) for key in keys} == {key: theirs.get(key) for key in keys}
    same = ("User", "Group", "StateDirectory", "StateDirectoryMode", "UMask", "LimitCORE")
    assert {key: ours[key] for key in same} == {key: theirs[key] for key in same}


def test_it_writes_what_the_documents_link_to() -> None:
    place = f"/run/{setting(METRICS, 'RuntimeDirectory')}/skymem.prom"
    words = f"--home {setting(SYSTEM, 'WorkingDirectory')} metrics --textfile {place}"
    assert setting(METRICS, "ExecStart") == f"{program(SYSTEM)} {words}"
    assert (setting(METRICS, "RuntimeDirectoryMode"), setting(METRICS, "UMask")) == ("0755", "0077")
    assert f"ln -s {place} " in (ROOT / "docs/install.md").read_text()


def test_it_has_ended_before_it_is_due_again() -> None:
    assert seconds(METRICS, "TimeoutStartSec") < seconds(TIMER, "OnUnitActiveSec")
