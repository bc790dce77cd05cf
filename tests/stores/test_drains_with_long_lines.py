"""What a drain holds is never held in memory whole, however long a line or a rest of it is."""

import fcntl
import os
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skymem.errors import InterruptedRunError
from skymem.stores import drains
from skymem.stores.drains import Drained, Drains
from skymem.stores.files import Files
from skymem.stores.lock import held
from skymem.stores.quarantine import Quarantine
from tests.conftest import Desk, line

LIMIT = 300
READ_MAX = 2048
"""No read of a drain or of short-term is longer in these tests."""


@pytest.fixture
def drain(desk: Desk) -> Path:
    """The drain of an earlier run, with nobody left who could write to it."""
    desk.echo(line("a", 0.9), line("b", 0.1))
    desk.run("promote")
    (drain,) = desk.shelf().drains.names()
    return drain


@pytest.fixture
def small_reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The length of every read at a place, with blocks made small."""
    asked: list[int] = []
    real = os.pread

    def pread(fd: int, length: int, offset: int) -> bytes:
        asked.append(length)
        return real(fd, length, offset)

    monkeypatch.setattr("skymem.stores.quarantine.COPY_BYTES", 256)
    monkeypatch.setattr("skymem.stores.lines.CHUNK_BYTES", 256)
    monkeypatch.setattr(drains, "CHUNK_BYTES", 256)
    monkeypatch.setattr(os, "pread", pread)
    yield asked
    assert asked
    assert max(asked) <= READ_MAX, "it was held in memory"


def late(drain: Path, *pieces: bytes) -> None:
    with drain.open("ab") as stream:
        stream.write(b"".join(pieces))


def run_of(drain: Path) -> str:
    """The run that made the drain, which it therefore does not remove."""
    return drain.stem.removeprefix("short_term_")


def drains_of(desk: Desk, files: Files | None = None, **more: Any) -> Drains:
    files = files or desk.files
    quarantine = Quarantine(desk.tiers.quarantine, files)
    return Drains(desk.tiers, files, quarantine, 300.0, line_bytes_max=LIMIT, **more)


@pytest.mark.usefixtures("small_reads")
def test_a_line_over_the_limit_goes_to_quarantine_and_the_next_is_taken_over(
    desk: Desk, drain: Path
) -> None:
    huge = line("huge", 0.9, pad="x" * 50_000)
    late(drain, line("before", 0.1), huge, line("after", 0.1))
    own = drains_of(desk)
    assert own.look(drain, (), desk.clock) is Drained.CLEAN
    assert desk.contents("short") == ["b", "before", "after"]
    assert desk.quarantined_from() == [(f"drains/{drain.name}", huge)]
    ((source, damage),) = own.quarantine.taken
    assert (source, damage.end - damage.start) == (f"drains/{drain.name}", len(huge))
    assert damage.reason == f"longer than {LIMIT} bytes"


@pytest.mark.usefixtures("small_reads")
@pytest.mark.parametrize("complete", [True, False])
def test_a_rest_over_the_limit_waits_and_is_then_quarantined_unparsed(
    desk: Desk, drain: Path, *, complete: bool
) -> None:
    rest = line("huge", 0.9, pad="x" * 50_000)[: -1 if complete else -5]
    late(drain, rest)
    os.utime(drain, (desk.clock, desk.clock))
    own = drains_of(desk)
    own.look(drain, (), desk.clock + 1)
    assert desk.quarantined() == []
    assert own.quarantine.taken == []
    assert drain.exists()
    own.look(drain, (), desk.clock + 301)
    assert desk.quarantined() == [rest]
    assert len(own.quarantine.taken) == 1
    assert not drain.exists()


def test_the_longest_line_allowed_is_no_damage(desk: Desk, drain: Path) -> None:
    short = len(line("fits", 0.1, pad="")) - 1
    fits = line("fits", 0.1, pad="x" * (LIMIT - short))
    assert len(fits) == LIMIT + 1
    late(drain, fits, fits[:-1].replace(b"fits", b"last"))
    drains_of(desk).look(drain, (), desk.clock)
    assert desk.contents("short") == ["b", "fits", "last"]


class Dying(Files):
    """Real disk until late lines have been appended to short-term."""

    class Cut(BaseException):
        """A kill."""

    def append(self, path: Path, data: bytes, *, shared: bool = False, synced: bool = True) -> int:
        super().append(path, data, shared=shared, synced=synced)
        raise self.Cut


@pytest.mark.parametrize("more", [0, 100, 255, 256, 257, 511, 30_000])
def test_a_block_that_arrived_is_found_in_windows_wherever_it_lies(
    desk: Desk, drain: Path, monkeypatch: pytest.MonkeyPatch, small_reads: list[int], more: int
) -> None:
    late(drain, line("late", 0.1))
    own = drains_of(desk, Dying())
    real = Dying.append

    def append(
        self: Dying, path: Path, data: bytes, *, shared: bool = False, synced: bool = True
    ) -> int:
        with path.open("ab") as stream:  # others append meanwhile
            stream.write(b"\n" * more)
        return real(self, path, data, shared=shared, synced=synced)

    monkeypatch.setattr(Dying, "append", append)
    with pytest.raises(Dying.Cut):
        own.look(drain, (), desk.clock)
    with desk.short_term.open("ab") as stream:
        stream.write(b"\n" * 30_000)
    after = drains_of(desk)
    after.recover()
    after.look(drain, (), desk.clock)
    assert desk.contents("short") == ["b", "late"]
    assert small_reads


def test_two_torn_rests_of_one_drain_are_both_kept(desk: Desk, drain: Path) -> None:
    own = desk.shelf().drains
    first, second = b'{"ts":1,"cont', b'{"ts":2,"content":"x'
    for rest in (first, second):
        late(drain, rest)
        os.utime(drain, (desk.clock, desk.clock))
        own.look(drain, {run_of(drain)}, desk.clock + 301)
    assert sorted(desk.quarantined()) == sorted([first, second])
    assert [damage.end - damage.start for _, damage in own.quarantine.taken] == [
        len(first),
        len(second),
    ]


def test_a_signal_ends_the_wait_for_the_append_lock(desk: Desk, drain: Path) -> None:
    late(drain, line("late", 0.1))
    own = drains_of(desk, stop=lambda: "SIGTERM")
    with (
        held(desk.tiers.append_lock, "another", deadline_seconds=1.0),
        pytest.raises(InterruptedRunError),
    ):
        own.look(drain, (), desk.clock)
    again = desk.shelf().drains
    again.recover()
    again.look(drain, (), desk.clock)
    assert desk.contents("short") == ["b", "late"]


def test_what_comes_when_the_lease_is_given_back_still_finds_the_drain(
    desk: Desk, drain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that waited in its open writes the moment the lease is gone."""
    came: list[bytes] = []

    def control(fd: int, command: int, argument: int = 0) -> int:
        result = fcntl.fcntl(fd, command, argument)
        if (command, argument) == (fcntl.F_SETLEASE, fcntl.F_UNLCK) and not came:
            came.append(line("late", 0.1))
            inode = os.open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_APPEND)
            os.write(inode, came[0])
            os.close(inode)
        return result

    seam = types.SimpleNamespace(**{**vars(fcntl), "fcntl": control})
    monkeypatch.setattr(drains, "fcntl", seam)
    own = desk.shelf().drains
    assert own.look(drain, (), desk.clock) is Drained.BUSY
    assert came
    assert drain.exists()
    assert own.look(drain, (), desk.clock) is Drained.CLEAN
    assert not drain.exists()
    assert desk.contents("short") == ["b", "late"]


def test_a_held_drain_that_did_not_change_is_not_read_again(
    desk: Desk, drain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[int] = []
    real = os.pread

    def pread(fd: int, length: int, offset: int) -> bytes:
        reads.append(length)
        return real(fd, length, offset)

    monkeypatch.setattr(os, "pread", pread)
    own = desk.shelf().drains
    with drain.open("ab", buffering=0) as stream:
        stream.write(b'{"ts":1,"content":"' + b"x" * 5000)
        assert own.look(drain, (), desk.clock) is Drained.HELD
        assert reads
        reads.clear()
        assert own.look(drain, (), desk.clock) is Drained.HELD
        assert reads == []
        stream.write(b'"}\n')
        assert own.look(drain, (), desk.clock) is Drained.HELD
    assert len(desk.contents("short")) == 2
