"""Where a memory is by the ledger, entry by entry, and what it is held against (row X6)."""

from typing import Final

import pytest

from skymem.jobs.fate import Fate, Place, Record, Told

CUT: Final = "cut short"
"""A run of which the ledger can't tell how far it came."""

ID: Final = "00" * 12


def told(*what: str | tuple[str, str]) -> Record:
    """What the ledger tells, each with the run it was told of; runs are whole but for `CUT`."""
    record = Record({CUT})
    for number, one in enumerate(what):
        name, run = (one, f"run {number}") if isinstance(one, str) else one
        print_ = b"print" if name == "moved" else None
        record.take(Told(ID, name, run, print_))
    return record


def at(*tiers: str, print_: bytes = b"print", digest: bytes = bytes(12)) -> list[Place]:
    return [Place(ID, tier, f"{tier}.jsonl", 0, 1, print_, digest) for tier in tiers]


def fate(record: Record, *tiers: str) -> Fate:
    return record.fate(ID, at(*tiers))


SETTLED = [
    (["came"], {"short"}),
    (["came", "long"], {"long"}),
    (["came", "archive", "trash"], {"trash"}),
    (["came", "trash", "compacted"], {"compacted"}),
    (["came", "trash", "compacted", "came"], {"short"}),
    (["came", "edited outside", "came"], {"short"}),
    (["made"], {"long"}),
    (["made", "trash"], {"trash"}),
    (["long", "came"], {"long"}),
    (["came", "long", "back"], {"short", "long", "archive"}),
    (["came", ("long", CUT)], {"short", "long"}),
    (["came", ("long", CUT), "long"], {"long"}),
    (["came", ("long", CUT), ("archive", CUT)], {"short", "archive"}),
    (["came", ("long", CUT), "came"], {"short", "long"}),
    (["came", "trash", ("compacted", CUT)], {"trash", "compacted"}),
    (["came", "trash", ("compacted", CUT), "came"], {"trash", "compacted", "short"}),
    ([("made", CUT)], {"never made", "long"}),
    ([("trash", CUT)], {"short", "long", "archive", "trash"}),
]


@pytest.mark.parametrize(("what", "says"), SETTLED)
def test_the_ledger_says_where_it_is_or_what_may_have_become_of_it(
    what: list[str | tuple[str, str]], says: set[str]
) -> None:
    assert fate(told(*what)).says == says


def test_two_runs_that_were_cut_short_leave_every_place_on_the_way() -> None:
    record = Record({"one", "two"})
    for what, run in (("came", ""), ("long", "one"), ("trash", "two")):
        record.take(Told(ID, what, run, None))
    assert fate(record).says == {"short", "long", "trash"}


@pytest.mark.parametrize(
    ("record", "tiers", "state"),
    [
        (told("came"), ["short"], "short"),
        (told("came"), ["short", "short"], "short"),
        (told("came", "long"), ["long", "short"], "long"),
        (told("came", "long"), ["long", "archive"], "doubled"),
        (told("came", "long"), ["long", "long"], "doubled"),
        (told("came", "long"), [], "lost"),
        (told("came", "edited outside"), [], "edited outside"),
        (told("came", "erased"), [], "erased"),
        (told("came", "trash", ("compacted", CUT)), [], "compacted"),
        (told(("made", CUT)), [], ""),
        (told("made"), [], "lost"),
        (told("moved"), [], ""),  # where to, was taken out of the ledger
        (told(), ["archive"], "archive"),
    ],
)
def test_it_is_in_one_state(record: Record, tiers: list[str], state: str) -> None:
    assert fate(record, *tiers).state == state


@pytest.mark.parametrize(
    ("record", "tiers", "elsewhere"),
    [
        (told("came"), ["short"], False),
        (told("came"), ["archive"], True),
        (told("came"), ["archive", "short"], False),  # as a home that came with both is adopted
        (told("came", "long"), ["short"], True),
        (told("came", "long"), ["trash"], True),
        (told("came", "long"), ["long", "short"], False),
        (told("came", "trash", "compacted"), ["trash"], True),
        (told("came", "trash", ("compacted", CUT)), ["trash"], False),
        (told("came", ("long", CUT)), ["short"], False),
        (told("came", ("long", CUT)), ["archive"], True),
        (told("came", "edited outside"), ["long"], False),
        (told("came", "long", "back"), ["archive"], False),
        (told("came", "long", "back"), ["trash"], True),
        (told("came", "long"), [], False),  # that is lost
        (told("came", "short"), ["long", "archive"], False),  # that is doubled
        (told(), ["archive"], False),  # that came in by hand
    ],
)
def test_another_tier_than_the_ledger_says_is_seen(
    record: Record, tiers: list[str], elsewhere: bool
) -> None:
    assert fate(record, *tiers).elsewhere is elsewhere


MOVED = ("moved", "run 1")


@pytest.mark.parametrize(
    ("record", "print_", "changed"),
    [
        (told("came", ("long", "run 1"), MOVED), b"print", False),
        (told("came", ("long", "run 1"), MOVED), b"other", True),
        (told("came", ("long", "run 1"), MOVED, "trash", "back"), b"other", True),
        (told("came", ("long", "run 1"), MOVED, ("long", CUT)), b"other", False),
        (told("came", ("long", "run 1"), MOVED, ("long", CUT), "trash"), b"other", False),
        (told("came", ("long", CUT)), b"other", False),
        (told("made"), b"other", False),
        (told(), b"other", False),
    ],
)
def test_a_line_is_held_against_the_print_of_the_run_that_moved_it(
    record: Record, print_: bytes, changed: bool
) -> None:
    assert record.fate(ID, at("long", print_=print_)).changed is changed
    assert not record.fate(ID, at("short", print_=print_)).changed


def test_a_memory_that_a_job_made_says_what_its_id_was_derived_from() -> None:
    assert told("made").fate(ID, at("long", digest=b"\1" * 12)).changed
    assert not told("came").fate(ID, at("long", digest=b"\1" * 12)).changed
