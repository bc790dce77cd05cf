"""Rows P15, X5, X12: what became one is erased as one, comes over whole, and counts what it was."""

from pathlib import Path
from typing import Any, Final

import pytest

from skymem import app
from skymem.erasure import erase_memories
from skymem.exchange.giving import give
from skymem.exchange.importing import import_from
from skymem.jobs import runner
from skymem.jobs.erase import erase
from skymem.jobs.erase_find import Sought
from skymem.jobs.undo import undo
from skymem.model.memory import Memory
from skymem.model.rules import DuplicateRules, MergeRules
from skymem.policy.uniting import stands_for
from tests.conftest import START, line
from tests.jobs.erased import traces
from tests.jobs.indexing import Indexer, indexer
from tests.jobs.lived import look

__all__ = ["indexer"]

OLD: Final = "The repository uses pnpm for all of its packages"
NEW: Final = "The repo uses pnpm for all of its packages."
OTHER: Final = "Ann sails to Oslo at noon"


@pytest.fixture
def home(indexer: Indexer) -> Indexer:
    """Two of three have become one, word by word of the newer."""
    found = DuplicateRules(likeness=0.7)
    indexer.desk.rules = indexer.desk.rules._replace(merge=MergeRules(duplicates=found))
    indexer.desk.clock = START + 1000
    for number, text in enumerate((OLD, NEW, OTHER)):
        more = {"tags": [f"t{number}"], "note": f"beside {text}", "evidence": [f"{number}.md"]}
        indexer.remember("long", line(text, 0.9, START + number, id=f"m{number}", **more))
    indexer.run()
    detail = merge(indexer)
    assert detail["duplicates"] == 1
    indexer.engine.settle()
    return indexer


def merge(home: Indexer) -> dict[str, Any]:
    home.desk.clock += 1
    return runner.run(home.work(), "merge", ["sky"])[0]


def standing(home: Indexer) -> Memory:
    (one,) = [one for one in home.desk.memories("long") if one.supersedes]
    return one


def test_it_has_the_labels_and_sources_of_all_and_counts_them(home: Indexer) -> None:
    one = standing(home)
    assert one.content == NEW
    assert stands_for(one) == {"m0", "m1"}
    assert sorted(one.tags) == ["t0", "t1"]
    assert sorted(one.evidence) == ["0.md", "1.md"]


@pytest.mark.parametrize("which", ["m0", "m1", "what stands"])
def test_erased_is_all_that_says_it_whichever_is_named(home: Indexer, which: str) -> None:
    name = standing(home).source_id or "" if which == "what stands" else which
    erase(home.work(), "sky", Sought(ids=[name]))
    assert home.desk.everything() == [OTHER]
    assert traces(home.desk.paths.root, OLD, NEW) == []
    home.run()
    assert home.engine.holds("memory") == ["m2"]


@pytest.mark.parametrize("which", ["m0", "m1"])
def test_where_copies_are_to_stay_the_receipt_names_them(home: Indexer, which: str) -> None:
    above = standing(home).source_id or ""
    receipt = erase(home.work(), "sky", Sought(ids=[which], copies=False))
    left = {one.source_id for one in home.desk.memories("long")}
    assert left == {"m0", "m1", "m2", above} - {which}
    assert {above, *({"m0", "m1"} - {which})} <= {*receipt.same}
    one = standing(home)
    assert f"beside {OLD}" not in one.others.values()
    if which == "m0":
        assert traces(home.desk.paths.root, raw=(OLD.encode(),)) == []
    assert look(home.desk).problems == []


@pytest.mark.parametrize("which", ["m0", "m1"])
def test_two_that_a_person_took_apart_are_two(home: Indexer, which: str) -> None:
    runs = [entry["run"] for entry in home.desk.ledger() if entry.get("op") == "begin"]
    undo(home.work(), runs[-1], ["sky"])
    erase(home.work(), "sky", Sought(ids=[which]))
    stays = {"m0": NEW, "m1": OLD}[which]
    assert sorted({*home.desk.everything()}) == sorted([stays, OTHER])


@pytest.mark.parametrize("form", ["skymem", "jsonl"])
def test_exported_and_imported_it_counts_what_is_there(
    home: Indexer, form: str, tmp_path: Path
) -> None:
    app.init_home(home.desk.paths.root)
    old = app.open_home(str(home.desk.paths.root))
    give(old, ["sky"], tmp_path / f"e.{form}", START, form=form)
    app.init_home(tmp_path / "new")
    new = app.open_home(str(tmp_path / "new"))
    import_from(new, tmp_path / f"e.{form}", None, "sky", START)
    tiers = new.shelf("sky").paths
    if form == "skymem":
        assert tiers.long_term.read_bytes() == home.desk.tiers.long_term.read_bytes()
        erase_memories(new, "sky", ["m0"])
        assert traces(new.paths.root, OLD, NEW) == []
    else:  # ids of another place are nobody's here
        came = tiers.short_term.read_bytes()
        assert b'"duplicates"' not in came
        assert (b'"source_duplicates"' in came) == (b'"source_evidence_ids"' in came)
