"""The next run finishes what a kill left, and is not misled by what a person did meanwhile."""

from pathlib import Path

import pytest

from skymem.model.spelling import compose
from skymem.stores.files import Files
from tests.conftest import Desk, line


class Cut(BaseException):
    """A kill."""


class Dying(Files):
    """Real disk until one file is written to or renamed over: half of that write, then nothing."""

    def __init__(self, step: str, name: str) -> None:
        super().__init__()
        self.step, self.name = step, name
        self.fired = False

    def write(self, fd: int, data: bytes | memoryview) -> int:
        if self.step == "write" and Path(f"/proc/self/fd/{fd}").readlink().name == self.name:
            super().write(fd, data[: len(data) // 2])
            self.fire()
        return super().write(fd, data)

    def rename(self, source: Path, target: Path) -> None:
        if self.step == "rename" and target.name == self.name:
            self.fire()
        super().rename(source, target)

    def link(self, source: Path, target: Path) -> None:
        if self.step == "link" and source.name == self.name:
            self.fire()
        super().link(source, target)

    def fire(self) -> None:
        self.fired = True
        raise Cut


def die(desk: Desk, job: str, step: str, name: str) -> None:
    desk.files = dying = Dying(step, name)
    with pytest.raises(Cut):
        desk.run(job)
    assert dying.fired
    desk.files = Files()


def save(desk: Desk, data: bytes) -> None:
    """Save short-term as an editor does."""
    new = desk.short_term.with_name("edited")
    new.write_bytes(data)
    new.rename(desk.short_term)


def test_a_promotion_cut_in_its_write_leaves_no_half_line_though_short_term_was_edited(
    desk: Desk,
) -> None:
    desk.echo(line("a", 0.9), line("b", 0.1))
    die(desk, "promote", "write", "long_term.jsonl")
    assert desk.tiers.long_term.read_bytes()
    save(desk, desk.short_term.read_bytes() + line("c", 0.8))
    detail = desk.run("promote")
    assert len(detail["recovered"]) == 1
    assert desk.contents("long") == ["a", "c"]
    assert desk.contents("short") == ["b"]


@pytest.mark.parametrize("job", ["promote", "rotate"])
def test_a_memory_already_in_its_new_tier_is_not_added_again_after_an_edit(
    desk: Desk, job: str
) -> None:
    desk.limit(1)
    desk.echo(line("a", 0.9), line("b", 0.1))
    die(desk, job, "rename", "short_term.jsonl")
    save(desk, desk.short_term.read_bytes() + line("c", 0.1))
    desk.limit(5000)
    assert desk.run(job)["ok"]
    assert desk.everything() == ["a", "b", "c"]


def test_damage_set_aside_by_a_run_that_was_cut_is_set_aside_once(desk: Desk) -> None:
    desk.echo(b"damage\n", line("a", 0.9))
    die(desk, "promote", "link", "short_term.jsonl")
    assert desk.quarantined() == [b"damage\n"]
    save(desk, desk.short_term.read_bytes() + line("b", 0.1))
    desk.run("promote")
    assert desk.quarantined() == [b"damage\n"]


@pytest.mark.parametrize("spelling", ["ts", "timestamp"])
@pytest.mark.parametrize(
    "extra", [{}, {"type": "short"}, {"type": "insight"}, {"committed": False}]
)
@pytest.mark.parametrize("own", [{}, {"id": "w1"}, {"id": 7}])
def test_a_kill_before_the_swap_doubles_no_memory_however_it_is_spelled(
    desk: Desk, spelling: str, extra: dict[str, object], own: dict[str, object]
) -> None:
    time = {"ts": 1} if spelling == "ts" else {"timestamp": "2025-01-01T00:00:00Z"}
    fields = {**time, "content": "a", "score": 9, **extra, **own}
    desk.echo(line("other", 0.1, id="w0"), compose(fields))
    die(desk, "promote", "rename", "short_term.jsonl")
    desk.run("promote")
    assert desk.everything() == ["a", "other"]


@pytest.mark.parametrize("tier", ["long", "archive"])
def test_the_first_owner_of_an_id_keeps_it_wherever_it_is(desk: Desk, tier: str) -> None:
    """A repeat of a moved memory is known again though its id also stands on another line."""
    first, second = line("first", 0.9, id="w"), line("second", 0.1, id="w", ts=5)
    if tier == "long":
        desk.echo(first)
        desk.run("promote")
    else:
        desk.limit(1)
        desk.echo(first, line("x", 0.1))
        desk.run("rotate")
    desk.limit(5000)
    assert desk.contents(tier) == ["first"]
    desk.echo(second, first)
    assert desk.run("promote")["repeats"] == 1
    assert desk.contents(tier) == ["first"]
    assert "second" in desk.contents("short")
    assert "first" not in desk.contents("short")
    desk.limit(5000, threshold=0.0)
    desk.run("promote")
    moved = {memory.content: memory for memory in desk.memories("long")}
    assert moved["second"].foreign_id == "w"
    assert moved["second"].source_id != "w"


def test_a_swap_cut_before_its_rename_leaves_no_drain_and_repeats_no_line(desk: Desk) -> None:
    desk.echo(line("a", 0.9), line("b", 0.1))
    die(desk, "promote", "rename", "short_term.jsonl")
    assert len(list(desk.tiers.drains.glob("*.jsonl"))) == 1  # the old inode's second name
    desk.echo(line("new", 0.1))
    desk.limit(5000, threshold=1.0)
    desk.run("rotate")
    assert desk.contents("short") == ["b", "new"]
    assert desk.contents("long") == ["a"]
