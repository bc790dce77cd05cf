"""The word index beside other processes, kills, a full disk and damage: no answer is wrong."""

import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from skymem.stores import word_lists
from skymem.stores.word_file import WordIndexBusyError, WordIndexError
from tests.conftest import Desk
from tests.recall.conftest import Ask, ask
from tests.stores.word_index import Index, check_whole, opened, path_of, teas, write

__all__ = ["ask"]

ROOT = Path(__file__).parents[2]


@pytest.fixture
def index(desk: Desk) -> Iterator[Index]:
    with opened(desk) as made:
        yield made


CHILD = """
import sys, time
from pathlib import Path
from skymem.stores import word_lists, words
from skymem.stores.home import HomePaths
from tests.conftest import Desk
from tests.stores.word_index import opened
words.BATCH, words.BATCHES, word_lists.MERGED = 3, 1, 2
desk = Desk(HomePaths(Path(sys.argv[1])))
ready, go = Path(sys.argv[2]), Path(sys.argv[3])
with opened(desk, busy_ms=60_000) as index:
    index.catalog.catch_up(desk.tiers)
    ready.touch()
    while not go.exists():
        time.sleep(0.001)
    assert index.catch_up()
"""

STOPPED = """
import sys, time
from pathlib import Path
from skymem.stores import word_lists, words
from skymem.stores.home import HomePaths
from tests.conftest import Desk
from tests.stores.word_index import opened
words.BATCH, words.BATCHES, word_lists.MERGED = 3, 1, 2
desk = Desk(HomePaths(Path(sys.argv[1])))
whole, written = words.WordIndex._write, []
def write(self, segment):
    whole(self, segment)
    written.append(segment)
    if len(written) == 2:
        print("in the middle of the second batch", flush=True)
        time.sleep(600)
words.WordIndex._write = write
with opened(desk) as index:
    index.catch_up()
"""


def child(script: str, *arguments: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", script, *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def wait_for(true: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    while not true():
        assert process.poll() is None


def test_two_processes_that_catch_up_at_once_leave_it_whole(desk: Desk, tmp_path: Path) -> None:
    write(desk.tiers.long_term, *teas(150))
    go = tmp_path / "go"
    both = [child(CHILD, desk.paths.root, tmp_path / f"ready{n}", go) for n in range(2)]
    for number, process in enumerate(both):
        wait_for((tmp_path / f"ready{number}").exists, process)
    go.touch()

    assert [process.wait(60) for process in both] == [0, 0]
    for process in both:
        process.communicate()
    with opened(desk) as index:
        assert index.catch_up()
        check_whole(index)
        assert index.words.count() == (150, 150)


def test_killed_in_the_middle_of_a_batch_it_has_the_batches_before_it(desk: Desk) -> None:
    write(desk.tiers.long_term, *teas(10))
    with child(STOPPED, desk.paths.root) as process:
        assert process.stdout is not None
        assert "second batch" in process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    with opened(desk) as index:
        assert index.words.count() == (3, 3)
        assert index.catch_up()
        check_whole(index)


def test_who_can_not_write_because_another_does_reads_what_there_is(
    desk: Desk, index: Index, ask: Ask
) -> None:
    write(desk.tiers.long_term, *teas(3))
    assert index.catch_up()
    write(desk.tiers.long_term, *teas(2, start=3))
    with index.words._transaction("BEGIN IMMEDIATE"):
        with opened(desk, busy_ms=1) as other, pytest.raises(WordIndexBusyError):
            other.catch_up()
        found = ask("tea number1 number4", mode="deterministic")

    assert {one.id for one in found[:2]} == {"i1", "i4"}
    assert len(found) == 5
    assert found.degraded == []
    assert index.words.count() == (3, 3)


# -- a disk that is full, a file that is damaged --------------------------------------------------


def test_without_room_it_is_said_and_the_lines_answer(
    desk: Desk, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(desk.tiers.long_term, *teas(300))
    with opened(desk) as index:
        index.words._run("SELECT 1")
    connect = sqlite3.connect
    fired = []

    def with_no_room(path: Any, **more: Any) -> sqlite3.Connection:
        database: sqlite3.Connection = connect(path, **more)
        if Path(path).parent == desk.paths.words:
            (pages,) = database.execute("PRAGMA page_count").fetchone()
            database.execute(f"PRAGMA max_page_count = {pages}")  # as a full disk: SQLITE_FULL
            fired.append(path)
        return database

    monkeypatch.setattr(sqlite3, "connect", with_no_room)
    found = ask("tea number7", mode="deterministic", limit=1)

    assert [one.id for one in found] == ["i7"]
    assert fired
    assert found.degraded == [
        "word index: database or disk is full; what it lacks is found in the lines"
    ]
    monkeypatch.undo()
    with opened(desk) as index:
        assert index.catch_up()
        check_whole(index)


def garbage(path: Path) -> None:
    path.write_bytes(b"no database at all, whoever wrote this" * 300)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def no_text(path: Path) -> None:
    """Garble the name of a table where its statement stands: SQLite quotes that in its message."""
    raw = path.read_bytes()
    at = raw.index(b"CREATE TABLE sessions")
    path.write_bytes(raw[: at + 7] + b"\xfb\xfe" + raw[at + 9 :])


def of_another_version(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()


def without_a_table(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("DROP TABLE postings")
    database.close()


@pytest.mark.parametrize("damage", [garbage, cut, no_text, of_another_version, without_a_table])
@pytest.mark.parametrize("mode", ["deterministic", "fusion"])
def test_one_that_can_not_be_read_is_set_aside_and_made_anew(
    desk: Desk, ask: Ask, damage: Callable[[Path], None], mode: str
) -> None:
    write(desk.tiers.long_term, *teas(300))
    with opened(desk) as index:
        assert index.catch_up()
    damage(path_of(desk))
    for suffix in ("-wal", "-shm"):
        path_of(desk).with_name(f"{desk.agent}.db{suffix}").unlink(missing_ok=True)
    write(desk.tiers.long_term, *teas(1, start=300))

    for _ in range(2):
        assert [one.id for one in ask("tea number7", mode=mode, limit=1)] == ["i7"]
        assert [one.id for one in ask("tea number300", mode=mode, limit=1)] == ["i300"]
    assert path_of(desk).with_name(f"{desk.agent}.db.unreadable").exists()
    with opened(desk) as index:
        assert index.catch_up()
        check_whole(index)


def test_only_its_owner_may_read_it(desk: Desk) -> None:
    before = os.umask(0)
    try:
        with opened(desk) as index:
            write(desk.tiers.long_term, *teas(3))
            assert index.catch_up()
            modes = {
                path.name: stat.S_IMODE(path.stat().st_mode)
                for path in (desk.paths.words, *desk.paths.words.iterdir())
            }
    finally:
        os.umask(before)

    assert modes.pop("words") == 0o700
    assert set(modes) >= {"sky.db", "sky.db-wal"}
    assert set(modes.values()) == {0o600}


def test_where_none_can_be_kept_there_is_one_that_stays_empty(desk: Desk) -> None:
    write(desk.tiers.long_term, *teas(3))
    desk.paths.words.parent.mkdir(parents=True, exist_ok=True)
    desk.paths.words.write_text("in the way")
    with pytest.raises(WordIndexError), opened(desk):
        pass
    work = desk.work()
    with work.catalog() as catalog, work.words(desk.agent) as none:
        catalog.catch_up(desk.tiers)
        assert not none.catch_up(desk.shelf(), catalog)
        assert none.columns() == word_lists.EMPTY
        assert none.covered(desk.tiers) == {}
    assert len(work.degraded) == 1
