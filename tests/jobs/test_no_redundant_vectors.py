"""Row P15: what another took the place of has no vector, and gets it back when that is undone.

Real Chroma; of the engine only the model and the socket are not.
"""

from collections.abc import Sequence
from typing import Any

import pytest

from skymem import app, upkeep
from skymem.engine.items import Item
from skymem.errors import EngineUnavailableError
from skymem.jobs import index_run, runner
from skymem.jobs.indexed import Indexed
from skymem.jobs.undo import undo
from skymem.model.identity import digest
from skymem.model.rules import EngineRules, RetentionRules
from skymem.stores.cursors import index_epoch, rag_pending
from skymem.stores.vectorless import LetGo, vectorless
from tests.conftest import START, line
from tests.jobs.indexing import Indexer, indexer

__all__ = ["indexer"]

WORDS = "the reports are due on Mondays"
AGAIN = "The reports are due on Mondays."


@pytest.fixture
def home(indexer: Indexer) -> Indexer:
    """Two copies and another one, promoted and indexed."""
    indexer.remember("short", line(WORDS, 0.9, START, kind="fact"))
    indexer.remember("short", line(AGAIN, 0.9, START + 1, kind="fact"))
    indexer.remember("short", line("the vessel sails at noon", 0.9, START + 2, kind="fact"))
    indexer.desk.clock = START + 1000
    run(indexer, "promote")
    assert vectors(indexer) == (3, 3)
    return indexer


def run(home: Indexer, job: str) -> dict[str, Any]:
    home.desk.clock += 1
    return runner.run(home.work(), job, ["sky"])[0]


def vectors(home: Indexer) -> tuple[int, int]:
    """How many memories of long-term are in the register, and how many vectors in Chroma."""
    home.engine.settle()
    seen = home.engine.index.overview()["agents"]["sky"]
    assert not seen["owed"]
    index = home.engine.index._open["sky"].keeper.index
    assert index is not None
    return seen["memory"], len(index.names("memory", 0, 100))


def compared(home: Indexer) -> tuple[int, int, int]:
    """What `index --stats` finds missing, stale, and too many in Chroma."""
    detail, _ = index_run.examine(home.work(), ["sky"])
    both = detail["agents"]["sky"]["compared"].values()
    stats = detail["agents"]["sky"]["stats"]
    missing = sum(one["missing"] for one in both) + stats["missing"]
    return missing, sum(one["stale"] for one in both), stats["extra"]


def stand_alone(home: Indexer) -> set[str]:
    with home.desk.work().catalog() as catalog:
        catalog.catch_up(home.desk.tiers)
        return {*vectorless(catalog, "sky")}


def test_after_a_merge_only_what_stands_for_them_has_one(home: Indexer) -> None:
    detail = run(home, "merge")
    assert len(home.desk.memories("long")) == 4
    assert vectors(home) == (2, 2)
    assert compared(home) == (0, 0, 0)
    assert (detail["acted"], detail["rag_pending"]) == (2, 0)

    home.engine.forget_counts()
    again = home.run(only_if_owed=True)
    assert (again["let_go"], again["taken_out"], home.engine.asked) == (0, 0, 0)
    assert home.run()["let_go"] == 0


def test_undone_they_are_back_from_the_cache(home: Indexer) -> None:
    held = home.engine.holds("memory")
    detail = run(home, "merge")
    home.engine.forget_counts()
    undo(home.work(), detail["agents"]["sky"]["runs"][0], ["sky"])
    with home.desk.work().catalog() as catalog:
        catalog.catch_up(home.desk.tiers)
        assert rag_pending(home.desk.paths, catalog, "sky") >= 2
    done = home.run(only_if_owed=True)
    assert (done["embedded"], done["rag_pending"]) == (2, 0)

    assert home.engine.holds("memory") == held
    assert vectors(home) == (3, 3)
    assert compared(home) == (0, 0, 0)
    assert home.engine.embedder.encoded == 0


def test_what_stood_for_them_forgotten_they_are_back_and_nothing_else_is_asked_about(
    home: Indexer, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = home.engine.holds("memory")
    run(home, "merge")
    (above,) = [one.source_id or "" for one in home.desk.memories("long") if one.supersedes]
    app.init_home(home.desk.paths.root)
    monkeypatch.setenv("SKYMEM_ENGINE", "off")
    upkeep.forget_memories(app.open_home(str(home.desk.paths.root)), "sky", [above])
    with home.desk.work().catalog() as catalog:
        catalog.catch_up(home.desk.tiers)
        assert rag_pending(home.desk.paths, catalog, "sky") == 2
    home.engine.forget_counts()
    done = home.run(only_if_owed=True)

    assert (done["embedded"], done["rag_pending"], home.engine.asked) == (2, 0, 2)
    assert home.engine.holds("memory") == held
    assert compared(home) == (0, 0, 0)
    assert home.engine.embedder.encoded == 0


@pytest.mark.parametrize("away", ["off", "refuses", "cut"])
def test_away_or_killed_between_the_merge_and_the_drop_it_is_done_with_the_next_run(
    home: Indexer, away: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def killed(_agent: str, _ids: Sequence[str]) -> dict[str, Any]:
        raise Killed

    with monkeypatch.context() as patch:
        if away == "off":
            home.desk.clock += 1
            runner.run(home.desk.work(), "merge", ["sky"])
        elif away == "refuses":
            home.engine.refuses["sky"] = EngineUnavailableError("it is away")
            assert run(home, "merge")["ok"]
        else:
            patch.setattr(home.engine, "drop", killed)
            with pytest.raises(Killed):
                run(home, "merge")
    home.engine.refuses.clear()
    assert len(home.desk.memories("long")) == 4
    assert len(home.engine.holds("memory")) >= 3

    done = home.run(only_if_owed=True)
    assert done["let_go"] == 2
    assert vectors(home) == (2, 2)
    assert compared(home) == (0, 0, 0)


def test_an_index_made_anew_never_has_them(home: Indexer) -> None:
    run(home, "merge")
    home.run(force=True)
    assert vectors(home) == (2, 2)
    home.engine.lose_everything()
    with home.desk.work().catalog() as catalog:
        catalog.catch_up(home.desk.tiers)
        assert rag_pending(home.desk.paths, catalog, "sky") == 0  # no engine has told of the loss
    done = home.run()
    assert (done["embedded"], done["pending"]) == (2, 0)
    assert vectors(home) == (2, 2)
    assert compared(home) == (0, 0, 0)


def test_pending_counts_only_what_should_have_one(home: Indexer) -> None:
    run(home, "merge")
    (home.desk.paths.chroma_store / "sky" / "current.json").unlink()
    with home.desk.work().catalog() as catalog:
        catalog.catch_up(home.desk.tiers)
        assert rag_pending(home.desk.paths, catalog, "sky") == 2


def test_a_vector_that_came_to_be_there_again_is_found_by_its_count(home: Indexer) -> None:
    run(home, "merge")
    (one, *_) = sorted(stand_alone(home))
    memory = next(kept for kept in home.desk.memories("long") if kept.source_id == one)
    home.engine.put("sky", "memory", [Item(one, digest(memory).hex(), memory.content)])
    assert home.run()["taken_out"] == 1
    assert compared(home) == (0, 0, 0)


def test_two_runs_at_once_one_of_which_saw_it_superseded_and_one_not(home: Indexer) -> None:
    """The one lets go what the other has just found in its place: the next run brings it back."""
    detail = run(home, "merge")
    going = sorted(stand_alone(home))
    undo(home.work(), detail["agents"]["sky"]["runs"][0], ["sky"])
    home.run()
    assert vectors(home) == (3, 3)
    epoch = index_epoch(home.desk.paths, "sky")
    with home.desk.work().catalog() as catalog:
        noted = LetGo(catalog, "sky", epoch)
        home.engine.drop("sky", going)
        noted.note(going, gone=True)

    home.run(only_if_owed=True)
    assert vectors(home) == (3, 3)
    assert compared(home) == (0, 0, 0)


def test_what_archives_hold_as_well_and_what_supersedes_may_lie_there(indexer: Indexer) -> None:
    old = line("the office is in Rome", 0.9, START, id="old")
    new = line("the office is in Oslo", 0.9, START + 1, id="new", supersedes=["old"])
    indexer.remember("long", old)
    indexer.run()
    archive = indexer.remember("short_term_archive_20260101T000000Z.jsonl", new)
    assert indexer.run(only_if_owed=True)["let_go"] == 1
    assert (indexer.engine.holds("memory"), indexer.engine.holds("recent")) == ([], ["new"])
    assert compared(indexer) == (0, 0, 0)

    indexer.desk.rules = RetentionRules(engine=EngineRules(recent=False))
    archive.unlink()
    indexer.run(only_if_owed=True)
    assert indexer.engine.holds("memory") == ["old"]


def test_the_detail_names_how_many_were_let_go() -> None:
    assert Indexed("sky", let_go=2).to_json()["let_go"] == 2
