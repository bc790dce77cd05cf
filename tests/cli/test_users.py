"""Whose files they are: owner, group, others and root (promise 9)."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import OTHER, OWNER, RULES, Shell

JOBS = [["promote"], ["rotate"], ["trigger", "memory_rotate_check"]]


@pytest.fixture
def owned(shell: Shell, tmp_path: Path) -> Shell:
    """A home that belongs to a user nobody is, in a place everyone can reach."""
    if os.geteuid() != 0:
        pytest.skip("only root can run a command as another user")
    for path in [shell.home, *shell.home.rglob("*")]:
        os.chown(path, OWNER, OWNER)
    for path in [tmp_path, *tmp_path.parents]:
        path.chmod(path.stat().st_mode | 0o011)
    return shell


def _owners(home: Path) -> set[tuple[int, int]]:
    return {(path.stat().st_uid, path.stat().st_gid) for path in [home, *home.rglob("*")]}


def _modes(home: Path) -> dict[bool, set[int]]:
    """The modes of directories (True) and of files (False)."""
    modes: dict[bool, set[int]] = {True: set(), False: set()}
    for path in [home, *home.rglob("*")]:
        modes[path.is_dir()].add(stat.S_IMODE(path.stat().st_mode))
    return modes


def test_everything_is_private_whatever_the_umask(shell: Shell) -> None:
    os.umask(0)
    shell("remember", "x", "--importance", "0.9")
    assert shell.process("run", "--once", umask=0).code == 0
    shell("status")

    assert _modes(shell.home) == {True: {0o700}, False: {0o600}}


def test_root_works_as_the_owner_so_the_files_stay_the_owners(owned: Shell) -> None:
    assert owned.process("remember", "x", "--importance", "0.9").code == 0
    for words in (*JOBS, ["status"], ["jobs"], ["doctor"]):
        assert owned.process(*words).code == 0, words

    assert _owners(owned.home) == {(OWNER, OWNER)}


def test_a_daemon_started_by_root_runs_as_the_owner_or_says_what_is_in_the_way(
    owned: Shell,
) -> None:
    told = owned.process("run", "--once")

    if _reaches_interpreter(OWNER):
        assert told.code == 0
    else:
        assert told.code == 30
        assert sys.executable in told.err
    assert _owners(owned.home) == {(OWNER, OWNER)}


def _reaches_interpreter(uid: int) -> bool:
    try:
        subprocess.run([sys.executable, "-c", "import skymem.app, typer"], user=uid, check=True)
    except (PermissionError, subprocess.CalledProcessError):
        return False
    return True


def test_the_owner_needs_nobody(owned: Shell) -> None:
    assert owned.as_user(OWNER, "remember", "x", "--importance", "0.9").code == 0
    assert owned.as_user(OWNER, "promote").code == 0


@pytest.mark.parametrize("words", [["remember", "x"], ["status"], ["jobs"], ["run"], *JOBS])
def test_another_user_is_refused(owned: Shell, words: list[str]) -> None:
    owned.home.chmod(0o755)
    before = owned.snapshot()
    told = owned.as_user(OTHER, *words)

    assert (told.code, told.out, told.err.count("\n")) == (30, "", 1)
    assert f"belongs to uid {OWNER}" in told.err
    assert owned.snapshot() == before


def test_a_user_who_can_not_even_look_into_the_home_is_refused(owned: Shell) -> None:
    told = owned.as_user(OTHER, "status")

    assert (told.code, told.out, told.err.count("\n")) == (30, "", 1)
    assert str(owned.home) in told.err


@pytest.fixture
def shared(owned: Shell) -> Shell:
    """A home with `access: group`, whose first lines are there."""
    rules = owned.home / "retention_rules.yaml"
    rules.write_text(RULES + "access: group\n")
    rules.chmod(0o640)
    for path in [owned.home, *(path for path in owned.home.rglob("*") if path.is_dir())]:
        path.chmod(0o2770)
    assert owned.process("remember", "first", "--importance", "0.9").code == 0
    return owned


MEMBER = (OWNER,)  # the groups of OTHER, when it shares the owner's


def test_a_member_of_the_group_may_append(shared: Shell) -> None:
    told = shared.as_user(OTHER, "remember", "second", "--importance", "0.8", groups=MEMBER)

    assert told.code == 0, told.err
    promoted = shared.process("promote", "--json")
    assert promoted.code == 0, promoted.err
    assert promoted.json["promoted"] == 2


ECHO = """
import os, sys
user, group, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
os.setgroups([group])
os.setresgid(user, user, user)
os.setresuid(user, user, user)
with open(path, "a") as stream:
    stream.write('{"ts": 1, "content": "by echo", "importance": 0.9}' + chr(10))
"""
MAKE_READY = """
import os, sys
from skymem.app import open_home
home = open_home(sys.argv[1], become_owner=True)
home.make_ready("sky")
home.make_ready("sky")
"""


def test_a_members_first_echo_finds_a_file_that_is_the_owners(shared: Shell) -> None:
    shared.short_term.unlink()
    subprocess.run([sys.executable, "-c", MAKE_READY, str(shared.home)], check=True)
    echo = [sys.executable, "-c", ECHO, str(OTHER), str(OWNER), str(shared.short_term)]
    subprocess.run(echo, check=True)

    assert [path.name for path in shared.agent_directory.glob("*.new")] == []
    assert shared.short_term.stat().st_uid == OWNER
    assert shared.process("promote", "--json").json["promoted"] == 1
    assert shared.process("doctor").code == 0


def test_a_member_of_the_group_may_not_do_the_keepers_work(shared: Shell) -> None:
    before = shared.snapshot()
    for words in (*JOBS, ["run"]):
        assert shared.as_user(OTHER, *words, groups=MEMBER).code == 30, words

    assert shared.snapshot() == before


def test_a_member_of_the_group_makes_no_new_agent(shared: Shell) -> None:
    told = shared.as_user(OTHER, "--agent", "hobbs", "remember", "x", groups=MEMBER)

    assert told.code == 30
    assert not (shared.home / "memory/hobbs").exists()


def test_who_is_not_in_the_group_is_refused(shared: Shell) -> None:
    told = shared.as_user(OTHER, "remember", "x")

    assert (told.code, told.err.count("\n")) == (30, 1)


def test_group_access_opens_the_files_to_the_group_and_nobody_else(shared: Shell) -> None:
    assert shared.process("trigger", "memory_rotate_check").code == 0
    found = _modes(shared.home / "memory")

    assert found == {True: {0o2770}, False: {0o660}}
    assert _owners(shared.home / "memory") == {(OWNER, OWNER)}
