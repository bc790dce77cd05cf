"""Rows P15 and X1: what explain foretells of duplicates is what the job then does."""

from typing import Any, Final

import pytest

from skymem.errors import EngineUnavailableError
from skymem.jobs import runner
from skymem.jobs.foretell import Foretelling
from skymem.model.rules import DuplicateRules, MergeRules
from skymem.policy.prospects import Looked
from skymem.stores.protection import read_protection, write_protection
from tests.conftest import START, line
from tests.jobs.indexing import Indexer, indexer

__all__ = ["indexer"]

SAID: Final = (
    "The repository uses pnpm for all of its packages",
    "The repo uses pnpm for all of its packages.",
    "The repo uses pnpm for none of its packages",
    "The repo uses pnpm for all of its 12 packages",
    "the repo uses pnpm for all its packages",
    "Ann sails to Oslo in the morning",
    "Does the repo use pnpm for all of its packages?",
)
LEAST: Final = 0.6


@pytest.fixture
def home(indexer: Indexer) -> Indexer:
    rules(indexer)
    indexer.desk.clock = START + 1000
    return indexer


def rules(home: Indexer, *, on_promotion: bool = False, likeness: float | None = LEAST) -> None:
    found = DuplicateRules(likeness=likeness, on_promotion=on_promotion)
    home.desk.rules = home.desk.rules._replace(merge=MergeRules(duplicates=found))


def run(home: Indexer, job: str) -> dict[str, Any]:
    home.desk.clock += 1
    return runner.run(home.work(), job, ["sky"])[0]


def foretold(home: Indexer, name: str, *, engine: bool = True) -> Looked | None:
    work, shelf = home.desk.work(), home.desk.shelf()
    with work.catalog() as catalog:
        work.ask(catalog, shelf, lambda: None)
        (kept,) = shelf.find(name, catalog)
        before = len(home.engine.put_ids)
        told = Foretelling(work, shelf, catalog, kept).alike(
            home.work().engine if engine else None, "it does not run"
        )
    assert len(home.engine.put_ids) == before
    return told


def likened(home: Indexer) -> dict[str, tuple[str, float, float]]:
    rows = [row for entry in home.desk.ledger() for row in entry.get("likened", ())]
    return {row[0]: (row[1], row[2], row[3]) for row in rows}


def made_of(home: Indexer) -> list[set[str]]:
    return [{*one.evidence_ids} for one in home.desk.memories("long") if one.supersedes]


def test_what_merge_will_do_with_each_of_long_term_is_what_it_does(home: Indexer) -> None:
    for number, text in enumerate(SAID):
        home.remember("long", line(text, 0.9, START + number, id=f"m{number}"))
    home.run()
    told = {f"m{number}": foretold(home, f"m{number}") for number in range(len(SAID))}
    before = {
        name: {name, *(one.id for one in looked.merging)}
        for name, looked in told.items()
        if looked is not None and looked.merging
    }
    gates = {one.gate for looked in told.values() if looked for one in looked.near}
    assert {"duplicate", "quantifiers", "numbers"} <= gates
    run(home, "merge")

    assert made_of(home)
    for group in made_of(home):
        for name in group:
            assert before.pop(name) == group
    assert not before
    for name, (_, value, threshold) in likened(home).items():
        looked = told[name]
        assert looked is not None
        assert (looked.job, looked.once, looked.why) == ("merge", "", "")
        assert max(one.likeness for one in looked.merging) == value
        assert {one.threshold for one in looked.near} == {threshold} == {LEAST}


@pytest.mark.parametrize("on_promotion", [False, True])
def test_of_short_term_as_well(home: Indexer, on_promotion: bool) -> None:
    home.remember("long", line(SAID[0], 0.9, START, id="m0"))
    home.run()
    home.desk.echo(line(SAID[1], 0.9, START + 1, id="m1"), line(SAID[2], 0.9, START + 2, id="m2"))
    rules(home, on_promotion=on_promotion)
    one, other = foretold(home, "m1"), foretold(home, "m2")
    assert one is not None
    assert other is not None
    assert not other.merging
    assert [found.id for found in one.merging] == ["m0"]
    if on_promotion:
        assert (one.job, one.once) == ("promote", "")
        assert run(home, "promote")["duplicates"] == 1
    else:
        assert (one.job, one.once) == ("merge", "promoted")
        run(home, "promote")
        assert run(home, "merge")["duplicates"] == 1
    assert made_of(home) == [{"m0", "m1"}]
    _, value, _ = likened(home)["m0"]
    assert value == one.merging[0].likeness


def test_two_that_come_in_together(home: Indexer) -> None:
    home.desk.echo(line(SAID[0], 0.9, START, id="m0"), line(SAID[1], 0.9, START + 1, id="m1"))
    rules(home, on_promotion=True)
    looked = foretold(home, "m0")
    assert looked is not None
    assert [one.id for one in looked.merging] == ["m1"]
    assert run(home, "promote")["duplicates"] == 1


def test_a_pin_keeps_them_apart_and_says_so(home: Indexer) -> None:
    home.remember("long", line(SAID[0], 0.9, START, id="m0"), line(SAID[1], 0.9, id="m1"))
    home.run()
    path = home.desk.tiers.protected
    protection = read_protection(path)
    protection.pin("m0", START)
    write_protection(path, protection, home.desk.files)
    for name in ("m0", "m1"):
        looked = foretold(home, name)
        assert looked is not None
        assert [one.gate for one in looked.near] == ["pinned"]
    assert run(home, "merge")["acted"] == 0
    protection.pinned.clear()
    write_protection(path, protection, home.desk.files)
    looked = foretold(home, "m1")
    assert looked is not None
    assert [one.gate for one in looked.near] == ["duplicate"]
    assert run(home, "merge")["duplicates"] == 1


def test_what_is_not_indexed_yet_is_so_first(home: Indexer) -> None:
    home.remember("long", line(SAID[0], 0.9, START, id="m0"))
    home.run()
    home.remember("long", line(SAID[1], 0.9, START + 1, id="m1"))
    looked = foretold(home, "m1")
    assert looked is not None
    assert (looked.once, [one.id for one in looked.merging]) == ("indexed", ["m0"])


def test_it_says_why_nobody_looked(home: Indexer) -> None:
    home.remember("long", line(SAID[0], 0.9, START, id="m0"), line(" ", 0.9, id="blank"))
    home.run()

    def why(name: str, *, engine: bool = True) -> str:
        looked = foretold(home, name, engine=engine)
        assert looked is not None
        assert looked.near == ()
        assert not looked.as_json()["looked"]
        return looked.why

    assert why("m0", engine=False) == "it does not run"
    assert "blank" in why("blank")
    home.engine.refuses["sky"] = EngineUnavailableError("it is away")
    assert "it is away" in why("m0")
    rules(home, likeness=None)
    assert "likeness" in why("m0")


def test_what_is_superseded_or_lies_elsewhere_is_no_question(home: Indexer) -> None:
    home.remember("long", line(SAID[0], 0.9, START, id="m0"))
    home.remember("long", line("else", 0.9, START + 1, id="m1", supersedes=["m0"]))
    home.remember("short_term_archive_20260101T000000Z.jsonl", line(SAID[1], 0.9, id="m2"))
    home.run()
    assert foretold(home, "m0") is None
    assert foretold(home, "m2") is None
