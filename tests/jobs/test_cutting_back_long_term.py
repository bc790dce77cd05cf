"""Recovery cuts off what a killed promotion left of a line, and never an older memory."""

import os

import pytest

from skymem.jobs import promote
from skymem.jobs.recover import recover
from skymem.model.rules import AgentRules, RetentionRules
from skymem.stores.files import Files
from tests.conftest import Desk, line
from tests.jobs.test_finishing_what_was_left import die


@pytest.fixture
def killed(desk: Desk) -> Desk:
    """An agent with old memories whose promotion of one more was killed before the rename."""
    desk.echo(*(line(f"old{number}", 0.9) for number in range(5)), line("b", 0.1))
    desk.run("promote")
    desk.echo(line("new", 0.9))
    die(desk, "promote", "rename", "short_term.jsonl")
    assert desk.contents("long")[-1] == "new"
    return desk


def edit(desk: Desk, data: bytes) -> None:
    new = desk.tiers.long_term.with_name("edited")
    new.write_bytes(data)
    new.rename(desk.tiers.long_term)


@pytest.mark.parametrize("more", range(1, 400, 7))
def test_no_old_memory_is_cut_though_a_hand_made_the_first_line_longer(
    killed: Desk, more: int
) -> None:
    before = killed.tiers.long_term.read_bytes()
    edited = before.replace(b'"old0"', b'"old0' + b"x" * more + b'"')
    edit(killed, edited)
    assert killed.run("promote")["ok"]
    assert killed.tiers.long_term.read_bytes() == edited
    assert killed.quarantined() == []


def test_an_old_last_line_whose_newline_a_hand_removed_is_no_damage(killed: Desk) -> None:
    whole = killed.tiers.long_term.read_bytes()
    edit(killed, whole + line("by hand", 0.9).strip())
    assert killed.run("promote")["ok"]
    assert killed.contents("long")[-2:] == ["new", "by hand"]
    assert killed.quarantined() == []


def test_a_memory_after_damage_stays_and_only_the_damage_at_the_end_is_cut(killed: Desk) -> None:
    whole = killed.tiers.long_term.read_bytes()
    middle, end = b'{"ts":1,"con\n', b"damage\nand a rest"
    edit(killed, whole + middle + line("by hand", 0.9) + end)
    shelf = killed.shelf()
    with killed.work().catalog() as catalog:
        recover(killed.work(), shelf, catalog)
    assert killed.tiers.long_term.read_bytes() == whole + middle + line("by hand", 0.9)
    assert killed.quarantined_from() == [("long_term.jsonl", end)]
    ((source, damage),) = shelf.quarantine.taken
    assert (source, damage.start) == (
        "long_term.jsonl",
        len(whole + middle) + len(line("by hand", 0.9)),
    )


def test_two_memories_on_the_last_line_and_blank_lines_are_no_damage(killed: Desk) -> None:
    more = line("by", 0.9).strip() + line("hand", 0.9) + b"\n\n"
    whole = killed.tiers.long_term.read_bytes() + more
    edit(killed, whole)
    assert killed.run("promote")["ok"]
    assert killed.tiers.long_term.read_bytes() == whole
    assert killed.quarantined() == []


def test_a_line_is_no_damage_because_of_the_fields_we_add(desk: Desk) -> None:
    longest = line("long", 0.9, pad="x" * 500)
    desk.rules = RetentionRules(AgentRules(0.7, 5000), line_bytes_max=len(longest) - 1)
    desk.echo(longest, line("b", 0.1))
    die(desk, "promote", "rename", "short_term.jsonl")
    with desk.work().catalog() as catalog:
        assert recover(desk.work(), desk.shelf(), catalog)
    assert desk.quarantined() == []
    assert desk.contents("long") == ["long"]


class Counting(Files):
    """Real disk that tells how much was written to long-term at once."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[int] = []

    def write(self, fd: int, data: bytes | memoryview) -> int:
        if os.readlink(f"/proc/self/fd/{fd}").endswith("/long_term.jsonl"):
            self.writes.append(len(data))
        return super().write(fd, data)


def test_many_memories_are_promoted_in_blocks(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promote, "BLOCK_BYTES", 1000, raising=False)
    names = [f"memory{number}" for number in range(20)]
    desk.echo(*(line(name, 0.9) for name in names), line("huge", 0.9, pad="x" * 3000))
    desk.files = counting = Counting()
    assert desk.run("promote")["promoted"] == 21
    assert desk.contents("long") == [*names, "huge"]
    assert len(counting.writes) == 4
    assert max(counting.writes[:-1]) <= 1000 < counting.writes[-1]
