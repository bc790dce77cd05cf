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


def test_a_relative_data_directory_is_passed_over(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", "data")
    shell.bare("init")

    assert _home(shell)["path"] == str(tmp_path / ".local/share/skymem")
    monkeypatch.setenv("XDG_DATA_HOME", "~/data")
    assert f"{tmp_path}/data/skymem" in shell.bare("status").err


def test_a_relative_home_is_the_one_below_where_one_stands(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shell.home.parent)
    monkeypatch.setenv("SKYMEM_HOME", shell.home.name)
    assert _home(shell) == {"path": str(shell.home), "why": "$SKYMEM_HOME"}
    monkeypatch.chdir("/")

    told = shell.bare("status")
    assert told.code == 10
    assert f"no skymem home at /{shell.home.name} ($SKYMEM_HOME)" in told.err


def _nobody(uid: int) -> pwd.struct_passwd:
    raise KeyError(uid)


@pytest.mark.parametrize("verb", ["status", "init"])
@pytest.mark.parametrize(
    ("home", "known", "says"),
    [
        pytest.param(None, False, "HOME is not set; name the home with --home", id="nowhere"),
        pytest.param("", False, "HOME is not set; name the home with --home", id="empty"),
        pytest.param("rel", True, "HOME is 'rel', which is no absolute path; name", id="relative"),
    ],
)
def test_without_a_directory_of_ones_own_nothing_is_guessed(
    shell: Shell,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    home: str | None,
    known: bool,
    says: str,
    verb: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    if home is None:
        monkeypatch.delenv("HOME")
    else:
        monkeypatch.setenv("HOME", home)
    if not known:
        monkeypatch.setattr(pwd, "getpwuid", _nobody)
    told = shell.bare(verb)

    assert (told.code, told.out) == (2, "")
    assert says in told.err
    assert not (tmp_path / "rel").exists()


def test_without_home_the_user_database_is_asked(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOME")
    uid, gid = os.geteuid(), os.getegid()
    me = pwd.struct_passwd(("me", "x", uid, gid, "", str(tmp_path / "me"), ""))
    monkeypatch.setattr(pwd, "getpwuid", lambda _uid: me)

    assert f"no skymem home at {tmp_path}/me/.local/share/skymem" in shell.bare("status").err


@pytest.mark.parametrize("verb", ["status", "init", "remember"])
def test_an_empty_home_is_no_home_that_happens_to_be_there(
    shell: Shell, here: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    told = shell.bare("--home", "", verb, *(["x"] if verb == "remember" else []))

    assert (told.code, told.err) == (
        2,
        "skymem: --home is empty; give it a path, or leave it out\n",
    )
    assert not shell.short_term.exists()


@pytest.mark.parametrize("named", ["SKYMEM_HOME", "--home"])
def test_a_home_of_a_user_who_is_not_there_is_refused(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    monkeypatch.setenv("SKYMEM_HOME", "~nobody-here/x")
    words = ["--home", "~nobody-here/x"] if named == "--home" else []
    told = shell.bare(*words, "status")

    assert told.code == 2
    assert told.err.startswith(f"skymem: {named} '~nobody-here/x': no such user")


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
