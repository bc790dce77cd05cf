"""Real files of real agents: every line is accounted for, and nothing else changes by a byte."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import Desk

DATA = Path(__file__).parents[2] / ".." / "shared" / "data"
BOOKMINDER = DATA / "bookminder" / "short_term.jsonl"
MCP = DATA / "mcp_memory" / "dmetrics-go_memory.jsonl"
HERMES = DATA / "hermes" / "hermes_session_2026-05-15_en.txt"

ADDED_BY_A_MOVE = re.compile(rb', "id": "[0-9a-f]{24}"}$')
ADDED_BY_PROMOTION = re.compile(rb', "committed": true, "id": "[0-9a-f]{24}"}$')

pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason="the data sets lie beside the checkout, not in it"
)


def lines_of(data: bytes) -> list[bytes]:
    """Non-blank lines, as the file has them but for the newline."""
    return [line for line in data.split(b"\n") if line.strip()]


def without(pattern: re.Pattern[bytes], lines: list[bytes]) -> list[bytes]:
    """Take back what a move added; a line it did not add to is a failure."""
    taken = [pattern.sub(b"}", line) for line in lines]
    assert all(before != after for before, after in zip(lines, taken, strict=True))
    return taken


def in_order(part: list[bytes], whole: list[bytes]) -> bool:
    """Whether `part` is `whole` with lines left out."""
    rest = iter(whole)
    return all(line in rest for line in part)


def test_six_thousand_lines_of_an_agent_are_all_accounted_for(desk: Desk) -> None:
    original = BOOKMINDER.read_bytes()
    lines = lines_of(original)
    assert len(lines) == 6000
    desk.short_term.write_bytes(original)
    detail = desk.run()
    assert detail["ok"]
    promote, rotate = detail["steps"]["promote"], detail["steps"]["rotate"]
    promoted = without(ADDED_BY_PROMOTION, desk.raw("long"))
    archived = without(ADDED_BY_A_MOVE, desk.raw("archive"))
    kept = lines_of(desk.short_term.read_bytes())

    # What each step reports is what the files hold.
    assert len(promoted) == promote["promoted"] == detail["promoted"]
    assert len(archived) == rotate["archived"] == detail["archived"]
    assert len(kept) == detail["remaining"] <= 5000
    assert detail["quarantined"] == len(desk.quarantined())
    total = len(promoted) + len(archived) + len(kept) + detail["repeats"] + detail["quarantined"]
    assert total == 6000

    # Each line is where it is as it was, in its order; a repeat is a line that stands elsewhere.
    moved = Counter(promoted + archived + kept + [each.strip() for each in desk.quarantined()])
    repeats = Counter(lines) - moved
    assert repeats.total() == detail["repeats"]
    assert all(moved[line] for line in repeats)
    assert not moved - Counter(lines)
    for part in (promoted, archived, kept):
        assert in_order(part, lines)


def test_the_oldest_leave_and_the_newest_stay(desk: Desk) -> None:
    desk.limit(100)
    desk.short_term.write_bytes(BOOKMINDER.read_bytes())
    desk.run()
    kept = lines_of(desk.short_term.read_bytes())
    worth = set(without(ADDED_BY_PROMOTION, desk.raw("long")))
    candidates = [line for line in lines_of(BOOKMINDER.read_bytes()) if line not in worth]
    assert kept == candidates[-len(kept) :]
    assert 90 <= len(kept) <= 100  # twins leave together


def test_what_is_promoted_is_what_the_scoring_guide_calls_important(desk: Desk) -> None:
    desk.short_term.write_bytes(BOOKMINDER.read_bytes())
    desk.run("promote")
    kinds = {memory.kind for memory in desk.memories("long")}
    assert kinds <= {"insight", "escalation", "decision", "goal", "rule", "configuration"}
    assert all(memory.fields["committed"] for memory in desk.memories("long"))


def test_a_second_run_over_real_data_changes_nothing(desk: Desk) -> None:
    desk.short_term.write_bytes(BOOKMINDER.read_bytes())
    desk.run()
    before = desk.short_term.read_bytes(), desk.raw("long"), desk.raw("archive")
    detail = desk.run()
    assert (detail["acted"], detail["repeats"], detail["quarantined"]) == (0, 0, 0)
    assert (desk.short_term.read_bytes(), desk.raw("long"), desk.raw("archive")) == before
    assert detail["why"]


def test_the_same_file_appended_again_adds_no_memory(desk: Desk) -> None:
    desk.limit(1, threshold=0.0)
    desk.short_term.write_bytes(BOOKMINDER.read_bytes())
    first = desk.run("promote")
    long_term = desk.tiers.long_term.read_bytes()
    desk.echo(BOOKMINDER.read_bytes())
    again = desk.run("promote")
    assert (again["promoted"], again["repeats"]) == (0, 6000)
    assert first["promoted"] + first["repeats"] == 6000
    assert desk.tiers.long_term.read_bytes() == long_term


@pytest.mark.parametrize("path", [MCP, HERMES], ids=["mcp", "hermes"])
def test_files_of_other_tools_are_never_fatal_and_lose_no_byte(desk: Desk, path: Path) -> None:
    original = path.read_bytes()
    good = b'{"ts": 1, "content": "good", "importance": 0.9}\n'
    data = original + (b"" if original.endswith(b"\n") else b"\n") + good
    desk.short_term.write_bytes(data)
    detail = desk.run()
    assert detail["ok"]
    assert "good" in desk.contents("long")
    aside = desk.quarantined()
    assert len(aside) == detail["quarantined"] > 0
    assert len(desk.reasons()) == len(aside)
    promoted = lines_of(desk.tiers.long_term.read_bytes())
    kept = lines_of(desk.short_term.read_bytes())
    lines = Counter(lines_of(data))
    assert Counter(each.removesuffix(b"\n") for each in aside) <= lines
    assert len(promoted) + len(kept) + len(aside) + detail["repeats"] == lines.total()
    assert b"".join(aside) == b"".join(
        line + b"\n" for line in lines_of(data) if line + b"\n" in set(aside)
    )


def test_objects_of_another_tool_say_which_field_they_lack(desk: Desk) -> None:
    desk.short_term.write_bytes(MCP.read_bytes())
    desk.run()
    assert set(desk.reasons()) == {'field "content" is missing'}
    assert all(json.loads(piece)["type"] for piece in desk.quarantined())
