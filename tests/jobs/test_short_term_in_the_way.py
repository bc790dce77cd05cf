"""A short-term file that no job can replace is refused with a way out, before anything moves."""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from tests.conftest import Desk, line

OTHER = 54321  # a uid; needs no name


class Editing(Files):
    """Real disk, with somebody who edits short-term by hand while a job works on it."""

    def __init__(self, edit: Callable[[], None], at: str) -> None:
        super().__init__()
        self.edit, self.at, self.times = edit, at, 1
        self.fired = 0

    def append(self, path: Path, data: bytes, *, shared: bool = False, synced: bool = True) -> int:
        start = super().append(path, data, shared=shared, synced=synced)
        if path.name == self.at and self.fired < self.times:
            self.fired += 1
            self.edit()
        return start


def save(path: Path, data: bytes) -> None:
    """Save as an editor does: a new file in the place of the old."""
    new = path.with_name("edited")
    new.write_bytes(data)
    os.replace(new, path)


@pytest.mark.parametrize("at", ["long_term.jsonl", "ledger.jsonl"])
def test_an_edit_in_the_middle_of_a_run_is_planned_for_again(desk: Desk, at: str) -> None:
    desk.echo(line("a", 0.9), line("b", 0.1))

    def edit() -> None:
        save(desk.short_term, desk.short_term.read_bytes() + line("new", 0.8))

    desk.files = files = Editing(edit, at)
    detail = desk.run()
    assert files.fired == 1
    assert detail["ok"]
    assert sorted(desk.contents("long")) == ["a", "new"]
    assert desk.contents("short") == ["b"]


def test_an_edit_in_place_is_seen_by_its_content(desk: Desk) -> None:
    desk.echo(line("a", 0.9), line("b", 0.1))

    def edit() -> None:
        with desk.short_term.open("r+b") as stream:
            stream.write(line("A", 0.9))

    desk.files = files = Editing(edit, "long_term.jsonl")
    assert desk.run()["ok"]
    assert files.fired == 1
    assert sorted(desk.contents("long")) == ["A", "a"]  # an edited line is a new memory
    assert desk.contents("short") == ["b"]


def test_someone_who_never_stops_editing_is_told_of(desk: Desk) -> None:
    desk.echo(line("a", 0.9))
    desk.files = files = Editing(
        lambda: save(desk.short_term, desk.short_term.read_bytes()), "ledger.jsonl"
    )
    files.times = 1000
    detail = desk.run("promote")
    assert not detail["ok"]
    assert "was changed by hand while a job worked on it; run the job again" in detail["error"]
    desk.files = Files()
    assert desk.run()["ok"]
    assert desk.everything() == ["a"]


def test_a_symbolic_link_is_refused_and_its_target_stays(desk: Desk, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.write_bytes(line("a", 0.9))
    desk.short_term.symlink_to(target)
    detail = desk.run()
    assert "short_term.jsonl is a symbolic link to" in detail["error"]
    assert "bind mount" in detail["error"]
    assert target.read_bytes() == line("a", 0.9)
    assert desk.short_term.is_symlink()


def test_a_linked_agent_directory_is_refused(desk: Desk, tmp_path: Path) -> None:
    real = tmp_path / "real"
    desk.tiers.directory.rename(real)
    desk.tiers.directory.symlink_to(real)
    assert "is a symbolic link" in desk.run()["error"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (Path.mkdir, "is no regular file"),
        (os.mkfifo, "is no regular file"),
    ],
    ids=["directory", "pipe"],
)
def test_what_is_no_file_is_named_and_never_waited_for(
    desk: Desk, make: Callable[[Path], None], words: str
) -> None:
    make(desk.short_term)
    error = desk.run()["error"]
    assert words in error
    assert "short_term.jsonl" in error


def test_a_directory_in_the_place_of_long_term_is_an_error_of_that_agent(desk: Desk) -> None:
    desk.echo(line("a", 0.9))
    desk.tiers.long_term.mkdir()
    detail = desk.run()
    assert not detail["ok"]
    assert "directory" in detail["error"].lower()
    assert desk.contents("short") == ["a"]


def test_a_read_only_short_term_stays_whole_and_says_what_to_do(desk: Desk) -> None:
    desk.echo(line("a", 0.9))
    desk.short_term.chmod(0o400)
    detail = desk.run()
    assert "short_term.jsonl: is read-only; allow its owner to write (chmod u+w)" in detail["error"]
    assert desk.everything() == ["a"]
    desk.short_term.chmod(0o600)
    assert desk.run()["ok"]
    assert desk.contents("long") == ["a"]


def test_a_read_only_short_term_with_nothing_to_do_is_no_error(desk: Desk) -> None:
    desk.echo(line("a", 0.1))
    desk.short_term.chmod(0o400)
    assert desk.run()["ok"]


@pytest.fixture
def ordinary() -> Iterator[Desk]:
    """A home of an ordinary user, seen by a process that runs as that user."""
    if os.geteuid() != 0:
        pytest.skip("becomes another user: only root may")
    # Not under a $TMPDIR of our own: the other user has to get there as well.
    with tempfile.TemporaryDirectory(prefix="skymem-", dir="/tmp") as place:
        desk = Desk(HomePaths(Path(place, "home")))
        Path(place).chmod(0o755)
        desk.shelf().ensure()
        for path in (desk.paths.root, desk.paths.memory, desk.tiers.directory):
            os.chown(path, OTHER, OTHER)
        os.setegid(OTHER)
        os.seteuid(OTHER)
        try:
            yield desk
        finally:
            os.seteuid(0)
            os.setegid(0)


def test_an_owner_that_cannot_be_kept_is_refused_before_anything_moves(ordinary: Desk) -> None:
    ordinary.echo(line("a", 0.9))
    os.seteuid(0)
    os.chown(ordinary.short_term, 1, 1)
    ordinary.short_term.chmod(0o666)
    os.seteuid(OTHER)
    error = ordinary.run()["error"]
    assert "can't keep its owner 1:1; give it to the home's owner with chown" in error
    assert ordinary.everything() == ["a"]


def test_an_ordinary_user_keeps_a_home_alone(ordinary: Desk) -> None:
    ordinary.echo(line("a", 0.9), line("b", 0.1))
    assert ordinary.run()["ok"]
    assert ordinary.contents("long") == ["a"]
    assert ordinary.run()["ok"]
    assert ordinary.shelf().drains.names() == []


def test_one_agent_in_the_way_does_not_stop_the_next(desk: Desk) -> None:
    from skymem.jobs import runner

    other = Desk(desk.paths, agent="hobbs")
    other.shelf().ensure()
    other.echo(line("h", 0.9))
    desk.short_term.mkdir()
    desk.clock += 1
    detail, _ = runner.run(desk.work(), "promote", ["sky", "hobbs"])
    assert not detail["ok"]
    assert detail["error"].startswith("sky: ")
    assert other.contents("long") == ["h"]
