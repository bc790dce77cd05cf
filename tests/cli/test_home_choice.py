"""Which home a command works on, and that it says why (design §3)."""

import grp
import os
import pwd
from pathlib import Path

import pytest

from skymem.config.home_choice import choose_home
from tests.cli.conftest import OTHER, Shell


@pytest.fixture
def here(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home, as the current directory."""
    monkeypatch.chdir(shell.home)
    return shell.home


def _home(shell: Shell, *words: str) -> dict[str, str]:
    found: dict[str, str] = shell.bare(*words, "status", "--json").json["home"]
    return found


def test_a_named_home_comes_first(
    shell: Shell, here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    shell.bare("init", str(other))
    monkeypatch.setenv("SKYMEM_HOME", str(here))

    assert _home(shell, "--home", str(other)) == {"path": str(other), "why": "--home"}


def test_then_the_environment(
    shell: Shell, here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    shell.bare("init", str(other))
    monkeypatch.setenv("SKYMEM_HOME", str(other))

    assert _home(shell) == {"path": str(other), "why": "$SKYMEM_HOME"}


def test_then_a_current_directory_with_rules(shell: Shell, here: Path) -> None:
    found = _home(shell)

    assert found["path"] == str(here)
    assert "current directory" in found["why"]


def test_then_the_data_directory(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shell.bare("init")
    assert _home(shell)["path"] == str(tmp_path / ".local/share/skymem")

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    shell.bare("init")
    assert _home(shell) == {
        "path": str(tmp_path / "data/skymem"),
        "why": "the XDG data directory",
    }


@pytest.mark.parametrize("name", [".", "retention_rules.yaml"])
def test_a_current_directory_that_everyone_may_write_is_not_trusted(
    shell: Shell, here: Path, name: str
) -> None:
    path = here / name
    path.chmod(path.stat().st_mode | 0o002)
    told = shell.bare("remember", "x")

    assert told.code == 10
    assert "others can write" in told.err
    assert not shell.short_term.exists()


def test_a_current_directory_of_another_user_is_not_trusted(shell: Shell, here: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory away")
    os.chown(here, OTHER, OTHER)
    told = shell.bare("remember", "x")

    assert told.code == 10
    assert "another user" in told.err


def test_a_home_that_is_named_needs_no_trust(shell: Shell, here: Path) -> None:
    here.chmod(0o777)

    assert shell.bare("--home", ".", "remember", "x").code == 0


def test_a_removed_current_directory_is_no_bug(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    assert shell("status").code == 0
    assert shell.bare("status").code == 10


def _people(monkeypatch: pytest.MonkeyPatch, group: str, members: list[str], others: int) -> None:
    """A machine with this user, its primary group, and others whose primary group it is too."""
    uid, gid = os.geteuid(), os.getegid()
    rows = [("me", uid), *((f"other{number}", 70_000 + number) for number in range(others))]
    people = [pwd.struct_passwd((name, "x", number, gid, "", "/", "")) for name, number in rows]
    monkeypatch.setattr(pwd, "getpwuid", lambda _: people[0])
    monkeypatch.setattr(pwd, "getpwall", lambda: people)
    monkeypatch.setattr(grp, "getgrgid", lambda _: grp.struct_group((group, "x", gid, members)))


@pytest.mark.parametrize(
    ("group", "members", "others", "trusted"),
    [
        pytest.param("me", [], 0, True, id="the user's own group"),
        pytest.param("me", ["me"], 0, True, id="with the user listed in it"),
        pytest.param("me", ["you"], 0, False, id="with another member"),
        pytest.param("me", [], 1, False, id="another user's primary group"),
        pytest.param("staff", [], 0, False, id="a group of another name"),
    ],
)
def test_a_clone_under_umask_002_is_trusted_while_the_group_is_nobody_elses(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    group: str,
    members: list[str],
    others: int,
    trusted: bool,
) -> None:
    here.chmod(0o775)
    (here / "retention_rules.yaml").chmod(0o664)
    _people(monkeypatch, group, members, others)
    choice = choose_home(None, {}, here, os.geteuid())

    assert (choice.path == here) is trusted
    assert ("others can write" in choice.why) is not trusted
