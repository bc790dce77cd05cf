"""What a memory is about counts where that is surely better, and is asked for once (P12)."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skymem.errors import EngineUnavailableError
from skymem.jobs import runner
from skymem.jobs.foretell import Foretelling
from skymem.jobs.meaning import look_at_one
from skymem.model.rules import ImportanceRules, RetentionRules
from skymem.policy.prediction import Model
from skymem.stores.importance_models import in_force, keep_model, set_aside
from skymem.stores.meanings import known_meanings, meanings_of
from tests.conftest import Desk
from tests.engine.fake_embedder import FAKE
from tests.jobs.erased import erased
from tests.jobs.indexing import Indexer, indexer
from tests.jobs.meant import Sea, lived, memory, text_of, trained
from tests.jobs.taught import desk_in, model_bytes, named

__all__ = ["indexer"]

SHIPS, TEA = 1008, 1009
"""New ones; their tags say the contrary of what they are about."""


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a model that goes by vectors: to be copied, and left as it is."""
    root = tmp_path_factory.mktemp("meant") / "home"
    home = Indexer(desk_in(root), None)  # type: ignore[arg-type]
    home.engine = _engine(home.desk)
    lived(home)
    assert trained(home)["vectors"]["taken"]
    home.engine.close()
    (root / "clock").write_text(repr(home.desk.clock))
    return root


def _engine(desk: Desk) -> Any:
    from tests.jobs.indexing import InProcess

    return InProcess(desk, Sea())


@pytest.fixture
def home(taught: Path, tmp_path: Path, indexer: Indexer) -> Iterator[Indexer]:
    """The copy, with two new memories; `indexer` takes back the limit on files."""
    root = tmp_path / "copy"
    shutil.copytree(taught, root)
    desk = desk_in(root)
    desk.clock = float((root / "clock").read_text()) + 60
    desk.echo(*(memory(number, desk.clock) for number in (SHIPS, TEA)))
    made = replace(indexer, desk=desk, engine=_engine(desk))
    yield made
    made.engine.close()


def run(home: Indexer, job: str = "promote", **more: Any) -> dict[str, Any]:
    home.desk.clock += 1
    return runner.run(home.work(), job, ["sky"], **more)[0]


def model_of(home: Indexer) -> Model:
    found = in_force(home.desk.paths, "sky", home.desk.clock)
    assert found is not None
    return found


def new_ones(home: Indexer) -> dict[int, str]:
    ids = {entry.memory.content: name for name, entry in named(home.desk)}
    return {number: ids[text_of(number)] for number in (SHIPS, TEA)}


def promoted(home: Indexer) -> set[int]:
    return {number for number in (SHIPS, TEA) if text_of(number) in home.desk.contents("long")}


# -- training --------------------------------------------------------------------------------------


def test_vectors_are_taken_where_they_are_surely_better_and_both_are_tried(taught: Path) -> None:
    model = in_force(desk_in(taught).paths, "sky", 1e12)
    assert model is not None
    assert model.meaning is not None
    assert model.meaning.model == FAKE.key
    figures = model.told["figures"]
    assert figures["model"] == figures["vectors"]
    assert figures["vectors"]["log_loss"] < figures["text"]["log_loss"]
    assert figures["text"]["log_loss"] < figures["constant"]["log_loss"]


def test_the_same_history_and_vectors_make_the_same_bytes(taught: Path, indexer: Indexer) -> None:
    lived(indexer)
    assert trained(indexer)["taken"]
    [made] = model_bytes(indexer.desk).values()
    [before] = model_bytes(desk_in(taught)).values()
    assert made == before


def test_no_word_of_a_memory_is_in_it(taught: Path) -> None:
    [data] = model_bytes(desk_in(taught)).values()
    assert not [word for word in (b"anchor", b"kettle", b"deep", b"flat") if word in data]


@pytest.mark.parametrize("how", ["off", "away", "by_rules", "midway"])
def test_without_vectors_it_learns_from_text_alone_and_says_so(how: str, indexer: Indexer) -> None:
    lived(indexer)
    why = "the engine is not to be used"
    if how == "by_rules":
        indexer.desk.rules = RetentionRules(importance=ImportanceRules(vectors="off"))
        why = "importance: vectors: off"
    elif how != "off":
        indexer.engine.refuses["sky"] = EngineUnavailableError("it is gone")
        why = "it is gone"
    work = indexer.work()
    if how == "off":
        work.engine = None
    if how == "midway":
        asked = indexer.engine.vectors

        def refuse_the_second(texts: list[str], **more: Any) -> Any:
            indexer.engine.refuses.clear()
            if texts and texts[0] != text_of(0):
                raise EngineUnavailableError("it is gone")
            return asked(texts, **more)

        indexer.engine.vectors = refuse_the_second  # type: ignore[method-assign, assignment]
    indexer.desk.clock += 1
    from skymem.jobs.train import train

    detail, _ = train(work, ["sky"])
    found = detail["agents"]["sky"]
    assert found["taken"]
    assert found["vectors"]["model"] == ""
    assert why in found["vectors"]["why"]
    assert bool(detail["degraded"]) == (how in {"away", "midway"})
    assert model_of(indexer).meaning is None


def test_vectors_that_add_nothing_are_not_taken_and_not_tried_again(indexer: Indexer) -> None:
    lived(indexer)
    indexer.engine.embedder = FlatSea()
    found = trained(indexer)
    assert (found["taken"], found["vectors"]["taken"]) == (True, False)
    assert found["vectors"]["why"].startswith("not surely better: log loss")
    assert model_of(indexer).meaning is None
    assert "was made from" in trained(indexer)["why"]


class FlatSea(Sea):
    """An embedder to which everything is the same."""

    def _vector(self, text: str) -> Any:
        del text
        return super()._vector("kettle")


def test_an_engine_that_comes_later_is_asked_and_one_that_left_makes_nothing_forgotten(
    indexer: Indexer,
) -> None:
    lived(indexer)
    indexer.engine.refuses["sky"] = EngineUnavailableError("it is gone")
    assert trained(indexer)["taken"]
    assert model_of(indexer).meaning is None
    indexer.engine.refuses.clear()
    assert trained(indexer)["vectors"]["taken"]
    assert model_of(indexer).meaning is not None
    indexer.engine.refuses["sky"] = EngineUnavailableError("it is gone")
    assert "was made from" in trained(indexer)["why"]


def test_a_rehearsed_training_starts_no_engine(indexer: Indexer) -> None:
    lived(indexer)
    indexer.engine.is_running = False
    found = trained(indexer, dry_run=True)
    assert found["taken"]
    assert "the engine does not run" in found["vectors"]["why"]
    assert not indexer.engine.meant


# -- promoting -------------------------------------------------------------------------------------


def test_what_a_memory_is_about_promotes_it_and_is_asked_once(home: Indexer) -> None:
    detail = run(home)
    assert promoted(home) == {SHIPS}
    assert detail["importance_by"]["vectors"] > 2
    assert "text" not in detail["importance_by"]
    asked = len(home.engine.meant)
    home.engine.refuses["sky"] = EngineUnavailableError("it is gone")
    assert "text" not in run(home)["importance_by"]
    assert len(home.engine.meant) == asked


@pytest.mark.parametrize("how", ["away", "another model"])
def test_without_the_engine_promote_goes_by_text_alone_and_says_so(how: str, home: Indexer) -> None:
    if how == "away":
        home.engine.refuses["sky"] = EngineUnavailableError("it is gone")
    else:
        home.engine.embedder = Sea(replace(FAKE, name="other"))
    detail = run(home)
    assert detail["ok"]
    assert [*detail["importance_by"]] == ["text"]
    assert any("by text alone" in one for one in detail["degraded"])
    assert promoted(home) == {TEA}  # as its tag says
    assert not meanings_of(home.desk.paths, "sky")


def test_the_rule_keeps_it_from_asking(home: Indexer) -> None:
    home.desk.rules = RetentionRules(importance=ImportanceRules(vectors="off"))
    assert [*run(home)["importance_by"]] == ["text"]
    assert not home.engine.meant
    assert promoted(home) == {TEA}


def test_given_importance_is_never_asked_about(home: Indexer) -> None:
    home.desk.echo(b'{"ts": 1, "content": "anchor77 sail77", "importance": 0.1}\n')
    run(home)
    assert "anchor77 sail77" not in [text for lot in home.engine.meant for text in lot]


# -- foretelling -----------------------------------------------------------------------------------


def rehearsed(home: Indexer) -> dict[str, Any]:
    home.desk.clock += 1
    work = home.work()
    work.rehearsing = True
    return runner.run(work, "promote", ["sky"], dry_run=True)[0]


def test_a_dry_run_foretells_what_promote_decides_and_writes_nothing(home: Indexer) -> None:
    names = new_ones(home)
    before = {path for path in home.desk.paths.root.rglob("*") if "rag" not in path.parts}
    detail = rehearsed(home)
    decided = {one["id"] for one in detail["decisions"] if one["action"] == "promote"}
    assert names[SHIPS] in decided
    assert names[TEA] not in decided
    assert not meanings_of(home.desk.paths, "sky")
    assert {path for path in home.desk.paths.root.rglob("*") if "rag" not in path.parts} == before
    run(home)
    assert promoted(home) == {SHIPS}


def test_a_dry_run_starts_no_engine_and_says_by_what_it_went(home: Indexer) -> None:
    home.engine.is_running = False
    detail = rehearsed(home)
    assert [*detail["importance_by"]] == ["text"]
    assert "the engine does not run; a real run starts it" in " ".join(detail["degraded"])
    assert not home.engine.meant


def test_a_saved_plan_fits_what_was_told_when_it_was_made(home: Indexer) -> None:
    home.desk.clock += 1
    work = home.work()
    work.rehearsing = True
    _, [outcome] = runner.run(work, "promote", ["sky"], dry_run=True)
    run(home, plans={("promote", "sky"): outcome.plans[0]})
    assert promoted(home) == {SHIPS}


@pytest.mark.parametrize("running", [True, False])
def test_explain_goes_by_an_engine_that_runs_or_says_by_text_alone(
    home: Indexer,
    running: bool,
) -> None:
    home.engine.is_running = running
    work, shelf, name = home.work(), home.desk.shelf(), new_ones(home)[SHIPS]
    with work.catalog() as catalog:
        catalog.catch_up(home.desk.tiers)
        [kept] = shelf.find(name, catalog)
        look_at_one(work, "sky", kept.id, kept.memory.searchable)
        gates = Foretelling(work, shelf, catalog, kept).gates()
    gate = next(one for one in gates if one.gate == "importance")
    assert gate.open == running
    assert gate.note.endswith(", by its text alone") != running
    assert bool(home.engine.meant) == running


# -- what is kept of it ----------------------------------------------------------------------------


def test_what_was_told_later_does_not_count_earlier(home: Indexer) -> None:
    run(home)
    model, paths = model_of(home), home.desk.paths
    told = known_meanings(paths, model, home.desk.clock)
    assert {*new_ones_of_any_tier(home)} <= told.keys()
    assert not known_meanings(paths, model, home.desk.clock - 120)


def new_ones_of_any_tier(home: Indexer) -> set[str]:
    work = home.desk.work()
    entries = [entry for _, entry in work.ledger().read_from(0) if entry["op"] == "adopt"]
    return {*entries[-1]["ids"]}


def test_torn_lines_of_it_are_asked_again(home: Indexer) -> None:
    run(home)
    [path] = meanings_of(home.desk.paths, "sky")
    path.write_bytes(path.read_bytes()[:-9])
    detail = run(home)
    assert "text" not in detail["importance_by"]
    assert path.read_bytes().endswith(b"}]\n")


def test_erase_takes_a_memory_out_of_it(home: Indexer) -> None:
    run(home)
    [path] = meanings_of(home.desk.paths, "sky")
    named_there = {name for raw in path.read_bytes().splitlines() for name in json.loads(raw)[1]}
    [gone] = [one for one in new_ones_of_any_tier(home) if one in named_there][:1]
    erased(home.desk, gone)
    left = {name for raw in path.read_bytes().splitlines() for name in json.loads(raw)[1]}
    assert named_there - left == {gone}
    erased(home.desk, everything=True)
    assert not path.exists()


def test_it_goes_with_its_model(home: Indexer) -> None:
    run(home)
    model = model_of(home)
    set_aside(home.desk.paths, home.desk.files, model)
    home.desk.clock += 1
    keep_model(home.desk.paths, home.desk.files, replace(model, trained_at=home.desk.clock))
    assert not meanings_of(home.desk.paths, "sky")
