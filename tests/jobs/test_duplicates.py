"""Row P15: what says the same in other words becomes one, loses nothing and can be taken back."""

from pathlib import Path
from typing import Any

import pytest

from skymem import app
from skymem.erasure import erase_memories
from skymem.errors import EngineUnavailableError
from skymem.jobs import runner
from skymem.jobs.undo import undo
from skymem.model.memory import Memory
from skymem.model.rules import DuplicateRules, EngineRules, MergeRules
from skymem.stores.files import Files
from skymem.stores.history import history_of
from skymem.stores.standings import Standings
from tests.conftest import START, Desk, line
from tests.jobs.indexing import Indexer, indexer
from tests.jobs.lived import look
from tests.jobs.test_finishing_what_was_left import Cut

__all__ = ["indexer"]

OLD = "The repository uses pnpm for all of its packages"
NEW = "The repo uses pnpm for all of its packages."
OTHER = "The repo uses pnpm for none of its packages"
LEAST = 0.7


@pytest.fixture
def home(indexer: Indexer) -> Indexer:
    """A home that looks for duplicates when it promotes as well."""
    found = DuplicateRules(likeness=LEAST, on_promotion=True)
    indexer.desk.rules = indexer.desk.rules._replace(merge=MergeRules(duplicates=found))
    indexer.desk.clock = START + 1000
    return indexer


def run(home: Indexer, job: str, **more: Any) -> dict[str, Any]:
    home.desk.clock += 1
    detail = runner.run(home.work(), job, ["sky"], **more)[0]
    home.engine.settle()
    return detail


def say(home: Indexer, *texts: str, importance: float = 0.9, **more: Any) -> None:
    for text in texts:
        home.desk.clock += 1
        home.desk.echo(line(text, importance, home.desk.clock, **more))


def active(desk: Desk) -> list[Memory]:
    """What of long-term a reader gets."""
    work = desk.work()
    with work.catalog() as catalog:
        catalog.catch_up(desk.tiers)
        standings = Standings.of(desk.shelf(), catalog, round(desk.clock * 1e6), desk.rules.kinds)
        return [one for one in desk.memories("long") if standings.let(one.source_id or "", one)]


def likened(desk: Desk) -> list[list[Any]]:
    return [row for entry in desk.ledger() for row in entry.get("likened", ())]


def in_long(home: Indexer, *texts: str) -> None:
    for text in texts:
        say(home, text)
        home.desk.rules = home.desk.rules._replace(merge=MergeRules())
        run(home, "promote")
    found = DuplicateRules(likeness=LEAST, on_promotion=True)
    home.desk.rules = home.desk.rules._replace(merge=MergeRules(duplicates=found))


def test_what_long_term_has_already_is_not_promoted_a_second_time(home: Indexer) -> None:
    in_long(home, OLD)
    say(home, NEW, OTHER)
    detail = run(home, "promote")

    assert (detail["promoted"], detail["duplicates"], detail["skipped"]) == (1, 1, {})
    assert sorted(one.content for one in active(home.desk)) == sorted([OLD, OTHER])
    (one,) = [each for each in active(home.desk) if each.content == OLD]
    assert home.desk.contents("archive") == [NEW]
    old = [each for each in home.desk.memories("long") if not each.evidence_ids]
    assert set(one.evidence_ids) == {
        home.desk.memories("archive")[0].source_id,
        old[0].source_id,
    }
    assert set(one.fields["duplicates"]) == set(one.evidence_ids)
    assert one.importance == 0.9
    assert run(home, "promote")["acted"] == run(home, "merge")["acted"] == 0


def test_it_says_why_of_each_with_its_value_against_the_threshold(home: Indexer) -> None:
    in_long(home, OLD)
    say(home, NEW)
    run(home, "promote")
    (one,) = active(home.desk)
    (row,) = likened(home.desk)
    assert row[1] == one.source_id
    assert row[3] == LEAST < row[2] < 1
    ledger = home.desk.work().ledger()
    (told,) = [each for each in history_of(ledger, "sky", row[0]) if each.what == "likened"]
    assert told.reason is not None
    assert told.reason.words() == f"duplicate {row[2]:g} against {LEAST:g}"
    gone = home.desk.memories("archive")[0].source_id or ""
    (moved,) = [each for each in history_of(ledger, "sky", gone) if each.what == "archive"]
    assert moved.reason is not None
    assert moved.reason[:3] == ("duplicate", row[2], LEAST)
    assert moved.reason.note == one.source_id


def test_within_one_batch_too_and_the_one_that_stays_is_what_was_promoted(home: Indexer) -> None:
    say(home, OLD, NEW, OLD)
    detail = run(home, "promote")
    assert (detail["promoted"], detail["duplicates"]) == (1, 2)
    (one,) = home.desk.memories("long")
    assert len(one.evidence_ids) == 3
    assert sorted(home.desk.contents("archive")) == sorted([OLD, NEW, OLD])


def test_no_second_vector_is_made_of_what_says_the_same(home: Indexer) -> None:
    home.desk.rules = home.desk.rules._replace(engine=EngineRules(recent=False))
    in_long(home, OLD)
    home.engine.forget_counts()
    say(home, OLD + ".")
    run(home, "promote")
    assert len(active(home.desk)) == 1
    assert home.engine.embedder.encoded == 1  # its own, to be compared; it is kept nowhere


def test_undo_brings_all_of_them_back_and_they_are_left_alone(home: Indexer) -> None:
    in_long(home, OLD)
    say(home, NEW)
    before = home.desk.short_term.read_bytes()
    detail = run(home, "promote")
    run_name = detail["agents"]["sky"]["runs"][0]
    undo(home.work(), run_name, ["sky"])

    assert home.desk.short_term.read_bytes() == before
    assert [one.content for one in active(home.desk)] == [OLD]
    assert run(home, "promote")["skipped"] == {"restored": 1}


def test_merge_finds_what_was_promoted_without_asking(home: Indexer) -> None:
    in_long(home, OLD, NEW, OTHER)
    detail = run(home, "merge")
    assert (detail["duplicates"], detail["batches"]) == (1, 1)
    assert sorted(one.content for one in active(home.desk)) == sorted([NEW, OTHER])
    assert len(likened(home.desk)) == 2

    compared = len(home.engine.compared)
    again = run(home, "merge")
    assert again["acted"] == 0
    assert again["skipped"]["quantifiers"] == 1
    assert len(home.engine.compared) == compared + 1
    assert run(home, "merge")["acted"] == 0
    assert len(home.engine.compared) == compared + 1  # nothing is new: nobody is asked


def test_what_a_merge_made_of_long_term_is_not_made_again_once_it_was_undone(home: Indexer) -> None:
    in_long(home, OLD, NEW)
    detail = run(home, "merge")
    undo(home.work(), detail["agents"]["sky"]["runs"][0], ["sky"])
    assert len(active(home.desk)) == 2
    assert run(home, "merge")["acted"] == 0  # it has the index filled again
    again = run(home, "merge")
    assert again["acted"] == 0
    assert again["skipped"] == {"restored": 1}


def test_a_dry_run_tells_the_same_and_changes_nothing(home: Indexer) -> None:
    in_long(home, OLD)
    say(home, NEW)
    before = home.desk.short_term.read_bytes(), home.desk.raw("long")
    told = run(home, "promote", dry_run=True)
    assert (told["promoted"], told["duplicates"]) == (0, 1)
    assert [one["gate"] for one in told["decisions"]] == ["duplicate"]
    assert before == (home.desk.short_term.read_bytes(), home.desk.raw("long"))


@pytest.mark.parametrize("switch", ["off", "away"])
def test_without_an_engine_it_is_promoted_and_merge_finds_it_later(
    home: Indexer, switch: str
) -> None:
    in_long(home, OLD)
    say(home, NEW)
    if switch == "away":
        home.engine.refuses["sky"] = EngineUnavailableError("it is away")
        detail = run(home, "promote")
        assert any("duplicates: not looked for" in one for one in detail["degraded"])
    else:
        home.desk.clock += 1
        detail = runner.run(home.desk.work(), "promote", ["sky"])[0]
    assert detail["ok"]
    assert detail["promoted"] == 1
    home.engine.refuses.clear()
    run(home, "merge")
    assert run(home, "merge")["ok"]
    assert [one.content for one in active(home.desk)] == [NEW]


class Dying(Files):
    """Real disk until a file is to be written for the nth time."""

    def __init__(self, step: str) -> None:
        super().__init__()
        self._step = step

    def append(self, path: Path, data: bytes, **more: Any) -> int:
        if self._step == "before it stands" and path.name == "long_term.jsonl":
            raise Cut
        start = super().append(path, data, **more)
        if self._step == "once it stands" and path.name == "long_term.jsonl":
            raise Cut
        return start

    def link(self, source: Path, target: Path) -> None:
        is_archive = target.name.startswith("short_term_archive_")
        if self._step == "before the archive" and is_archive:
            raise Cut
        super().link(source, target)
        if self._step == "once the archive is there" and is_archive:
            raise Cut


STEPS = ("before it stands", "once it stands", "before the archive", "once the archive is there")


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("engine", [True, False])
def test_a_kill_at_any_step_loses_and_doubles_nothing(
    home: Indexer, step: str, engine: bool
) -> None:
    in_long(home, OLD)
    say(home, NEW)
    home.desk.files = Dying(step)
    with pytest.raises(Cut):
        run(home, "promote")
    home.desk.files = Files()

    if engine:
        run(home, "promote")
    else:
        home.desk.clock += 1
        runner.run(home.desk.work(), "promote", ["sky"])
    run(home, "merge")
    run(home, "merge")
    assert len(active(home.desk)) == 1
    assert home.desk.contents("short") == []
    assert sorted(set(home.desk.everything())) == sorted([OLD, NEW])
    ids = [one.source_id for one in home.desk.memories("long") + home.desk.memories("archive")]
    assert len(ids) == len(set(ids))


def test_it_is_balanced_and_its_evidence_resolves(home: Indexer) -> None:
    in_long(home, OLD)
    say(home, NEW)
    run(home, "promote")
    (one,) = active(home.desk)
    with home.desk.work().catalog() as catalog:
        catalog.catch_up(home.desk.tiers)
        assert catalog.find("sky", one.evidence_ids).keys() == set(one.evidence_ids)
    findings = look(home.desk)
    assert findings.problems == []


def test_what_is_erased_takes_along_what_says_the_same(home: Indexer) -> None:
    in_long(home, OLD)
    say(home, NEW, OTHER)
    run(home, "promote")
    app.init_home(home.desk.paths.root)
    (old,) = [one.source_id or "" for one in home.desk.memories("long") if one.content == OLD][:1]
    erase_memories(app.open_home(str(home.desk.paths.root)), "sky", [old])
    assert home.desk.everything() == [OTHER]
