"""Ordinary damage: what reads a home tells it, shows the rest, and ends as README says."""

import inspect
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from skymem.jobs.workplace import Workplace
from tests.cli.conftest import OWNER, Shell, texts

READERS = [
    pytest.param(["status"], id="status"),
    pytest.param(["agents", "list"], id="agents list"),
    pytest.param(["promote", "--dry-run"], id="dry run"),
    pytest.param(["doctor"], id="doctor"),
]


@pytest.fixture
def kept(shell: Shell) -> str:
    """The id of a memory in long-term, of more lines than one page of the catalog holds."""
    for number in range(200):
        with shell.short_term.open("a") as stream:
            stream.write(f'{{"ts": 1, "content": "{number}", "importance": 0.9}}\n')
    name = shell("remember", "kept", "--importance", "0.9").out.strip()
    assert shell("promote").code == 0
    return name


def _damage(shell: Shell) -> None:
    """Spoil every page but the first, on which only what opens the catalog is."""
    path = shell.home / "state/catalog.db"
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    with path.open("r+b") as stream:
        size = stream.seek(0, 2)
        stream.seek(4096)
        stream.write(b"\xff" * (size - 4096))


@pytest.mark.parametrize("words", [*READERS, pytest.param(["show"], id="show")])
def test_a_reader_does_without_a_damaged_catalog(shell: Shell, kept: str, words: list[str]) -> None:
    _damage(shell)
    told = shell(*words, *([kept] if words == ["show"] else []), "--json")

    assert told.code == 0
    if words in (["status"], ["agents", "list"]):
        assert told.json["agents"][0]["tiers"]["long"]["count"] == 201
    if words == ["doctor"]:
        assert any(one["check"] == "catalog" for one in told.json["checks"])


def test_a_saved_plan_is_applied_without_a_damaged_catalog(shell: Shell, kept: str) -> None:
    plan = str(shell.home / "plan.json")
    shell("remember", "new", "--importance", "0.9")
    shell("promote", "--plan", plan)
    _damage(shell)

    assert shell("apply", plan, "--json").json["promoted"] == 1
    assert shell("show", kept).code == 0


def test_a_reader_does_without_a_catalog_that_another_process_holds(
    shell: Shell, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    defaults = inspect.unwrap(Workplace.catalog).__kwdefaults__
    assert "busy_ms" in defaults
    monkeypatch.setitem(defaults, "busy_ms", 10)
    holder = sqlite3.connect(shell.home / "state/catalog.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    long_term = shell.agent_directory / "long_term.jsonl"
    with long_term.open("a") as stream:  # so that there is something to catch up with
        stream.write('{"ts": 1, "content": "by hand"}\n')
    counted = shell("status", "--json").json["agents"][0]["tiers"]["long"]["count"]
    shown = shell("show", kept)
    rehearsed = shell("promote", "--dry-run", "--json")
    holder.close()

    assert (counted, shown.code) == (202, 0)
    assert (rehearsed.code, rehearsed.json["rag_pending"]) == (0, 202)
    assert rehearsed.json["degraded"] == []  # it has a copy of its own


def _link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


IN_THE_WAY = [
    pytest.param(_link, id="a link"),
    pytest.param(Path.mkdir, id="a directory"),
    pytest.param(os.mkfifo, id="a pipe"),
]


@pytest.mark.parametrize("make", IN_THE_WAY)
def test_a_short_term_that_is_no_file_is_told_and_the_others_are_shown(
    shell: Shell, make: Callable[[Path], None]
) -> None:
    shell("--agent", "hobbs", "remember", "x")
    make(shell.short_term)
    status, agents = shell("status", "--json").json, shell("agents", "list", "--json").json

    assert any(alarm.startswith("sky: ") for alarm in texts(status))
    assert "short_term.jsonl" in "".join(texts(status))
    counts = {one["name"]: one["tiers"]["short"]["count"] for one in agents["agents"]}
    assert counts == {"hobbs": 1, "sky": None}
    assert "alarm   sky: " in shell("agents", "list").out
    assert "short_term.jsonl" in shell("status").out
    told = shell("doctor", "--json")
    assert told.code == 20
    assert [one["check"] for one in told.json["problems"]] == ["files"]
    assert "1 problem(s) found" in told.err


@pytest.fixture
def closed(shell: Shell, tmp_path: Path) -> Iterator[Shell]:
    """A home of an ordinary user whose short-term may not be read."""
    if os.geteuid() != 0:
        pytest.skip("only root can run a command as another user")
    shell("--agent", "hobbs", "remember", "x")
    shell("remember", "y")
    for path in [shell.home, *shell.home.rglob("*")]:
        os.chown(path, OWNER, OWNER)
    for path in [tmp_path, *tmp_path.parents]:
        path.chmod(path.stat().st_mode | 0o011)
    shell.short_term.chmod(0)
    yield shell
    shell.short_term.chmod(0o600)


def test_a_short_term_that_may_not_be_read_is_told(closed: Shell) -> None:
    status, told = closed.as_user(OWNER, "status"), closed.as_user(OWNER, "doctor")

    assert status.code == 0, status.err
    assert "hobbs  short" in status.out
    assert "Permission denied" in status.out
    assert told.code == 20, told.err
    assert "short_term.jsonl: Permission denied" in told.out


def test_a_linked_default_agent_is_an_alarm_even_where_the_flat_file_is(
    shell: Shell, tmp_path: Path
) -> None:
    shell.agent_directory.rmdir()
    shell.agent_directory.symlink_to(tmp_path)
    (shell.home / "memory/short_term.jsonl").write_text("")

    assert any("symbolic link" in one for one in shell.alarms())
    assert shell("doctor").code == 20
