"""A drain is read until nobody can be writing to it any more (design §4)."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from skymem.model.plan import Entry
from skymem.stores import drains, files
from skymem.stores.drains import KEEP_WITHOUT_LEASE_SECONDS
from skymem.stores.files import Files
from tests.conftest import Desk, line


@dataclass
class Writer:
    """A writer without a lock that has the file open."""

    fd: int

    def write(self, data: bytes) -> None:
        os.write(self.fd, data)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


@pytest.fixture
def writer(desk: Desk) -> Iterator[Writer]:
    """One that opened short-term before the swap of the first run."""
    desk.echo(line("a", 0.9), line("b", 0.1))
    made = Writer(os.open(desk.short_term, os.O_WRONLY | os.O_APPEND))
    detail, outcomes = desk.run_with_outcomes("promote")
    assert (detail["promoted"], outcomes[0].late) == (1, 1)  # the swap happened, the drain is held
    yield made
    made.close()


def drain_of(desk: Desk) -> Path:
    (drain,) = desk.shelf().drains.names()
    return drain


def seen(desk: Desk) -> list[str]:
    """What readers count as short-term."""
    entries = desk.shelf().short_entries()
    return sorted(entry.memory.content for entry in entries if isinstance(entry, Entry))


def test_late_lines_are_read_at_once_and_taken_over_by_the_next_run(
    desk: Desk, writer: Writer
) -> None:
    writer.write(line("late", 0.9) + line("later", 0.1))
    assert seen(desk) == ["b", "late", "later"]
    assert desk.contents("short") == ["b"]
    assert desk.run("promote")["promoted"] == 1
    assert desk.contents("long") == ["a", "late"]
    assert seen(desk) == ["b", "later"]


def test_a_drain_is_kept_while_it_is_held_and_one_run_longer(desk: Desk, writer: Writer) -> None:
    for number in range(3):
        writer.write(line(f"late{number}", 0.1))
        _, outcomes = desk.run_with_outcomes("promote")
        assert outcomes[0].late == 1
    drain = drain_of(desk)
    writer.close()
    desk.run("promote")
    assert not drain.exists()
    assert sorted(desk.contents("short")) == ["b", "late0", "late1", "late2"]
    assert list(desk.tiers.drains.iterdir()) == []


def test_a_drain_of_this_run_is_never_removed_by_it(desk: Desk) -> None:
    desk.echo(line("a", 0.9))
    desk.run("promote")
    assert drain_of(desk).exists()
    desk.run("promote")
    assert desk.shelf().drains.names() == []


def test_a_half_line_in_a_drain_waits_for_its_other_half(desk: Desk, writer: Writer) -> None:
    late = line("late", 0.1)
    writer.write(late[:10])
    desk.run("promote")
    assert seen(desk) == ["b"]
    writer.write(late[10:])
    writer.close()
    desk.run("promote")
    assert sorted(desk.contents("short")) == ["b", "late"]
    assert desk.quarantined() == []


def test_a_half_line_whose_writer_is_gone_is_quarantined_after_the_silence(
    desk: Desk, writer: Writer
) -> None:
    writer.write(b'{"ts":1,"cont')
    writer.close()
    os.utime(drain_of(desk), (desk.clock, desk.clock))
    desk.run("promote")
    assert desk.quarantined() == []
    desk.clock += 301
    desk.run("promote")
    assert desk.quarantined() == [b'{"ts":1,"cont']
    assert desk.shelf().drains.names() == []


def test_a_last_line_without_its_newline_is_a_memory_once_nobody_can_add_to_it(
    desk: Desk, writer: Writer
) -> None:
    writer.write(line("late", 0.1).strip())
    writer.close()
    desk.run("promote")
    assert sorted(desk.contents("short")) == ["b", "late"]


def test_a_line_longer_than_a_block_is_taken_over_whole(
    desk: Desk, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drains, "CHUNK_BYTES", 64)
    lines = [line("late", 0.1, pad="x" * size) for size in (0, 500, 3, 64, 1000)]
    writer.write(b"".join(lines))
    desk.run("promote")
    assert desk.raw("short")[1:] == [each.strip() for each in lines]


@pytest.fixture
def no_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that gives this process no lease, as for another user's file."""

    def refuse(_fd: int, _kind: int) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(drains, "take_lease", refuse)


@pytest.mark.usefixtures("no_leases")
def test_without_leases_a_drain_is_kept_a_day_and_goes_on_being_read(desk: Desk) -> None:
    desk.echo(line("a", 0.9), line("b", 0.1))
    with desk.short_term.open("ab", buffering=0) as stream:
        desk.run("promote")
        drain = drain_of(desk)
        desk.clock += KEEP_WITHOUT_LEASE_SECONDS / 2
        stream.write(line("late", 0.1))
        desk.run("promote")
    assert desk.contents("short") == ["b", "late"]
    assert drain.exists()
    desk.clock += KEEP_WITHOUT_LEASE_SECONDS
    desk.run("promote")
    assert not drain.exists()
    assert desk.contents("short") == ["b", "late"]


@pytest.mark.parametrize(
    "garbage", [b"", b"{", b'{"offset": 5}', b"[1]", b'{"from a newer version": 1}']
)
def test_a_drain_whose_cursor_is_unreadable_is_read_from_its_start_and_doubles_nothing(
    desk: Desk, writer: Writer, garbage: bytes
) -> None:
    writer.write(line("late", 0.9))
    (cursor,) = desk.tiers.drains.glob("*.cursor.json")
    cursor.write_bytes(garbage)
    writer.close()
    assert desk.run()["ok"]
    assert desk.contents("long") == ["a", "late"]
    assert set(desk.contents("short")) == {"b"}  # a repeat is one memory


class Dying(Files):
    """Real disk until the sync after late lines were appended to short-term."""

    class Cut(BaseException):
        """A kill."""

    appended = False

    def append(self, path: Path, data: bytes, *, shared: bool = False, synced: bool = True) -> int:
        start = super().append(path, data, shared=shared, synced=synced)
        if path.name == "short_term.jsonl":
            self.appended = True
            raise self.Cut
        return start


def test_a_kill_between_late_lines_and_their_cursor_doubles_nothing(
    desk: Desk, writer: Writer
) -> None:
    writer.write(line("late", 0.1))
    writer.close()
    desk.files = dying = Dying()
    with pytest.raises(Dying.Cut):
        desk.run("promote")
    assert dying.appended
    desk.files = Files()
    desk.run("promote")
    assert desk.contents("short") == ["b", "late"]


def test_after_such_a_kill_short_term_may_even_have_been_edited_shorter(
    desk: Desk, writer: Writer
) -> None:
    writer.write(line("late", 0.1))
    writer.close()
    desk.files = Dying()
    with pytest.raises(Dying.Cut):
        desk.run("promote")
    desk.files = Files()
    desk.short_term.write_bytes(b"")
    assert desk.run("promote")["ok"]
    assert desk.contents("short") == ["late"]


def test_the_lease_is_given_back(desk: Desk, writer: Writer) -> None:
    import fcntl

    writer.close()
    fd = os.open(drain_of(desk), os.O_RDONLY)
    try:
        assert files.take_lease(fd, fcntl.F_RDLCK)
        assert fcntl.fcntl(fd, fcntl.F_GETLEASE) == fcntl.F_RDLCK
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    finally:
        os.close(fd)


# -- the flat file of the first source --------------------------------------------------------


def test_a_flat_short_term_is_adopted_whole_and_its_writers_go_on_being_served(desk: Desk) -> None:
    flat = desk.paths.flat_short_term
    desk.echo(line("own", 0.1))
    flat.write_bytes(line("flat", 0.9) + line("low", 0.1))
    with flat.open("ab", buffering=0) as stream:
        desk.run()
        assert desk.contents("long") == ["flat"]
        assert sorted(desk.contents("short")) == ["low", "own"]
        stream.write(line("held open", 0.1))
        assert "held open" in seen(desk)
        flat.open("ab").close()
        with flat.open("ab") as again:
            again.write(line("by name", 0.1))
        desk.run()
    desk.run()
    assert sorted(desk.contents("short")) == ["by name", "held open", "low", "own"]
    assert flat.read_bytes() == b""
    desk.run()
    assert desk.shelf().drains.names() == []


def test_a_flat_file_with_a_byte_order_mark_loses_no_line(desk: Desk) -> None:
    desk.echo(line("own", 0.1))
    desk.paths.flat_short_term.write_bytes(b"\xef\xbb\xbf" + line("flat", 0.1))
    assert desk.run()["quarantined"] == 0
    assert desk.contents("short") == ["own", "flat"]


def test_another_agents_job_leaves_the_flat_file_alone(desk: Desk) -> None:
    desk.paths.flat_short_term.write_bytes(line("flat", 0.1))
    other = Desk(desk.paths, agent="hobbs")
    assert other.run()["ok"]
    assert desk.paths.flat_short_term.read_bytes() == line("flat", 0.1)
