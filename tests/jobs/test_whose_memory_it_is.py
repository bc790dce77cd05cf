"""A memory is known by its id and what it says; neither alone makes another's line a repeat."""

import json
import os

import pytest

from skymem.model.identity import derived_id, digest
from skymem.model.spelling import read_line
from tests.conftest import Desk, line

SEVEN = line("User wants reports at 7am", 0.9)


def texts(desk: Desk, tier: str) -> list[str]:
    return desk.contents(tier)


def age(desk: Desk) -> None:
    """Let short-term have been silent for an hour."""
    os.utime(desk.short_term, (desk.clock - 3600, desk.clock - 3600))


def test_a_line_sent_again_after_long_term_was_edited_is_a_new_memory(desk: Desk) -> None:
    desk.echo(SEVEN)
    desk.run("promote")
    long_term = desk.tiers.long_term
    long_term.write_bytes(long_term.read_bytes().replace(b"7am", b"8am"))
    desk.echo(SEVEN)
    assert desk.run("promote")["promoted"] == 1
    assert texts(desk, "long") == ["User wants reports at 8am", "User wants reports at 7am"]
    one, other = desk.memories("long")
    assert one.source_id != other.source_id


@pytest.mark.parametrize("first", [True, False])
def test_a_line_that_claims_the_id_of_another_does_not_make_it_a_repeat(
    desk: Desk, *, first: bool
) -> None:
    name = derived_id(digest(read_line(SEVEN)))
    claims = line("something else", 0.9, id=name)
    desk.echo(*([claims, SEVEN] if first else [SEVEN, claims]))
    detail = desk.run("promote")
    assert (detail["promoted"], detail["repeats"]) == (2, 0)
    assert sorted(texts(desk, "long")) == ["User wants reports at 7am", "something else"]
    assert len({memory.source_id for memory in desk.memories("long")}) == 2
    desk.echo(SEVEN)
    assert desk.run("promote")["repeats"] == 1


@pytest.mark.parametrize("job", ["promote", "rotate"])
@pytest.mark.parametrize(
    "spelled", ['{"$oid": "aaa"}', '["a"]', "1.5", "true", '"\\ud800"'], ids=repr
)
def test_an_id_that_can_name_nothing_is_kept_and_tells_memories_apart(
    desk: Desk, job: str, spelled: str
) -> None:
    desk.limit(1)
    lines = [
        b'{"content": "x", "importance": 0.9, "ts": 1, "id": %s}\n' % spelled.encode(),
        b'{"content": "x", "importance": 0.9, "ts": 1, "id": {"$oid": "bbb"}}\n',
        b'{"content": "y", "importance": 0.1, "ts": 1}\n',
    ]
    desk.echo(*lines)
    detail = desk.run(job)
    assert detail["ok"]
    assert (detail["acted"], detail["repeats"]) == (2, 0)
    moved = desk.memories("long") + desk.memories("archive")
    assert [memory.unusable_id for memory in moved] == [json.loads(spelled), {"$oid": "bbb"}]
    desk.echo(lines[0])
    assert desk.run(job)["repeats"] == 1


@pytest.mark.parametrize("job", ["promote", "rotate"])
def test_a_line_as_long_as_may_be_stays_readable_and_known_where_it_goes(
    desk: Desk, job: str
) -> None:
    desk.limit(1)
    shell = len(line("", 0.9))
    longest = line("x" * (desk.work().rules.line_bytes_max - shell), 0.9)
    desk.echo(longest, line("short", 0.1))
    assert desk.run(job)["acted"] == 1
    desk.echo(longest)
    detail = desk.run(job)
    assert (detail["repeats"], detail["quarantined"]) == (1, 0)


def test_ids_that_two_files_share_are_not_forgotten_with_one_of_them(desk: Desk) -> None:
    desk.limit(1)
    desk.echo(line("old", 0.1), line("new", 0.1))
    desk.run("rotate")
    (archive,) = desk.tiers.directory.glob("short_term_archive_*.jsonl")
    copy = archive.with_name("short_term_archive_all.jsonl")
    copy.write_bytes(archive.read_bytes())
    desk.run("rotate")
    archive.unlink()
    desk.echo(line("old", 0.1))
    assert desk.run("rotate")["repeats"] == 1


def test_a_dead_last_line_is_bounded_and_read_like_any_other(desk: Desk) -> None:
    desk.echo(line("a", 0.9), line("b", 0.9).rstrip() + line("c", 0.9).rstrip())
    age(desk)
    detail = desk.run("promote")
    assert (detail["promoted"], detail["quarantined"]) == (3, 0)
    desk.echo(b'{"content": "' + b"x" * (desk.work().rules.line_bytes_max + 10))
    age(desk)
    assert desk.run("promote")["quarantined"] == 1
