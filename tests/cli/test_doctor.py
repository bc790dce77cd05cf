"""Doctor's looks at the machine: leases, filesystem, clock."""

import errno
from pathlib import Path

import pytest

from skymem import doctor
from skymem.app import now, open_home
from tests.cli.conftest import Shell


def _checks(shell: Shell, name: str) -> list[tuple[str, str]]:
    found = doctor.examine(open_home(str(shell.home)))
    return [(one["state"], one["message"]) for one in found if one["check"] == name]


@pytest.mark.parametrize(
    ("granted", "state", "says"), [(True, "ok", "can be told"), (False, "note", "refused")]
)
def test_leases_are_tried(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, granted: bool, state: str, says: str
) -> None:
    monkeypatch.setattr(doctor, "take_lease", lambda _fd, _kind: granted)
    ((found, message),) = _checks(shell, "leases")

    assert found == state
    assert says in message


def test_a_filesystem_without_leases_is_a_note_with_what_follows(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_fd: int, _kind: int) -> bool:
        raise OSError(errno.EINVAL, "no")

    monkeypatch.setattr(doctor, "take_lease", refuse)
    ((state, message),) = _checks(shell, "leases")

    assert state == "note"
    assert "EINVAL" in message
    assert "kept for a day longer" in message


@pytest.mark.parametrize(("kind", "problems"), [("nfs4", 1), ("ext4", 0)])
def test_a_home_on_the_network_is_a_problem_wherever_it_is_mounted(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, problems: int
) -> None:
    mounts = tmp_path / "mounts"
    shell.home = tmp_path / "a home"
    shell.bare("init", str(shell.home))
    place = str(shell.home).replace(" ", "\\040")
    mounts.write_text(f"disk / tmpfs rw 0 0\nserver:/x {place} {kind} rw 0 0\n")
    monkeypatch.setattr(doctor, "MOUNTS", mounts)

    assert len(_checks(shell, "filesystem")) == problems
    ((_, message),) = _checks(shell, "disk")
    assert message.endswith(f"free on {kind}")


def test_a_disk_that_is_almost_full_is_a_problem(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_free_bytes", lambda _path: 1024)

    assert [state for state, _ in _checks(shell, "disk")] == ["problem"]


def test_an_action_in_the_future_is_a_problem(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell("promote")
    assert [state for state, _ in _checks(shell, "clock")] == ["ok"]
    earlier = now() - 3600
    monkeypatch.setattr(doctor, "now", lambda: earlier)

    ((state, message),) = _checks(shell, "clock")
    assert state == "problem"
    assert "set back" in message


def test_rules_and_a_schedule_that_can_not_be_used_are_told_first_and_keep_nothing_from_being_seen(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKYMEM_ENGINE", "off")
    whole = {one["check"] for one in shell("doctor", "--json").json["checks"]}
    for name, more in (
        ("retention_rules.yaml", "promote_treshold: 0.5\n"),
        ("schedule.yaml", "  - {name: x, hours: 0}\n"),
    ):
        with (shell.home / name).open("a") as stream:
            stream.write(more)
    (shell.agent_directory / "protected.json").write_text("{garbage")
    told = shell("doctor", "--json")

    assert told.code == 20
    first, second, *rest = told.json["checks"]
    assert "retention_rules.yaml" in first["message"]
    assert "promote_treshold" in first["message"]
    assert "schedule.yaml" in second["message"]
    assert {"configuration", *(one["check"] for one in rest)} == whole
    assert any("protected.json can't be read" in one["message"] for one in rest)
