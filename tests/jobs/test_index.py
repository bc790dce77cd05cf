"""What the index job hands over, when, and what it does when it is stopped or misled.

The index is real, its model made up; the engine's process is left out (a Protocol seam).
"""

import json
import os
import time
from collections.abc import Sequence
from typing import Any

import pytest

from skymem.engine.embedding import nothing
from skymem.engine.index import OPEN_MAX
from skymem.engine.items import Item
from skymem.errors import DiskError, EngineUnavailableError
from skymem.jobs import index, index_run, runner
from skymem.jobs.forget import Wanted, forget
from skymem.jobs.restore import restore
from skymem.model.rules import EngineRules, RetentionRules
from skymem.stores.cursors import IndexCursors
from tests.conftest import START, line
from tests.jobs.indexing import BATCH, Indexer, indexer, texts

__all__ = ["indexer"]


# -- what is handed over --------------------------------------------------------------------------


def test_only_what_is_new_is_handed_over_and_asked_about(indexer: Indexer) -> None:
    indexer.remember("long", *texts(250))
    first = indexer.run()
    assert (first["embedded"], first["pending"], first["indexed"]) == (250, 0, 250)
    assert indexer.engine.put_ids == [f"n{n:05}" for n in range(250)]
    assert any("250 of 250" in told for told in indexer.told)

    indexer.engine.forget_counts()
    assert indexer.run()["why"] == "the index has everything"
    assert (indexer.engine.asked, indexer.engine.embedder.encoded) == (0, 0)

    indexer.remember("long", *texts(3, 250))
    again = indexer.run()
    assert (again["embedded"], again["indexed"]) == (3, 253)
    assert indexer.engine.asked == indexer.engine.embedder.encoded == 3


def test_without_a_catalog_everything_is_asked_about_and_nothing_encoded(
    indexer: Indexer,
) -> None:
    indexer.remember("long", *texts(250))
    indexer.run()
    indexer.engine.forget_counts()
    indexer.desk.delete_catalog()

    assert indexer.run()["embedded"] == 0
    assert (indexer.engine.asked, indexer.engine.embedder.encoded) == (250, 0)


def test_three_thousand_memories_of_three_files_are_all_there(indexer: Indexer) -> None:
    indexer.remember("long", *texts(1_000))
    indexer.remember("short_term_archive_20231114.jsonl", *texts(1_000, 1_000))
    indexer.remember("short_term_archive_20231115.jsonl", *texts(1_000, 2_000))
    done = indexer.run(batch=256)
    detail, _ = index_run.examine(indexer.work(), ["sky"])
    compared = detail["agents"]["sky"]["compared"]

    assert (done["ok"], done["embedded"], done["indexed"]) == (True, 3_000, 3_000)
    assert (compared["memory"]["lines"], compared["recent"]["lines"]) == (1_000, 2_000)
    for one in compared.values():
        assert (one["missing"], one["stale"], one["indexed"]) == (0, 0, one["lines"])
    sample = detail["agents"]["sky"]["stats"]["sample"]
    assert sample["found"] > 0.9 * sample["asked"] > 0.8 * index_run.SAMPLE


@pytest.mark.parametrize("times", [100, 1_500])
def test_a_text_that_is_repeated_pushes_no_other_out_of_the_index(
    indexer: Indexer, times: int
) -> None:
    """HNSW links equal vectors to each other alone."""
    repeated = [line("nothing to do", id=f"r{n}", ts=START + n) for n in range(times)]
    indexer.remember("long", *repeated, *texts(2))
    done = indexer.run(batch=1_000)
    stats = indexer.engine.stats("sky", 50)

    assert (done["degraded"], done["chunks"]) == ([], 3)
    assert (stats["problems"], stats["building"]) == ([], None)
    assert stats["sample"] == {"asked": 3, "found": 3}


def test_what_promotion_moves_leaves_recent_for_memory_and_is_not_encoded_again(
    indexer: Indexer,
) -> None:
    indexer.remember("short", *texts(20, importance=0.9), *texts(5, 20, importance=0.1))
    indexer.run()
    assert (len(indexer.engine.holds("recent")), indexer.engine.holds("memory")) == (25, [])
    indexer.engine.forget_counts()
    done = indexer.promote()

    assert (done["promoted"], done["rag_pending"], done["degraded"]) == (20, 0, [])
    assert indexer.engine.holds("memory") == [f"n{n:05}" for n in range(20)]
    assert indexer.engine.holds("recent") == [f"n{n:05}" for n in range(20, 25)]
    assert indexer.engine.embedder.encoded == 0


def test_a_line_that_came_to_a_drain_is_indexed_as_recent(indexer: Indexer) -> None:
    indexer.desk.echo(line("goes to long-term", 0.9, id="moved"), line("stays", 0.1, id="stays"))
    with indexer.desk.short_term.open("ab", buffering=0) as writer:
        indexer.promote()
        writer.write(line("written late", 0.1, id="late"))
        assert len(indexer.desk.rests()) == 1
        done = indexer.run()

    assert done["embedded"] == 1
    assert indexer.engine.holds("recent") == ["late", "stays"]
    assert indexer.engine.holds("memory") == ["moved"]


def test_recent_false_leaves_short_term_and_archives_alone(indexer: Indexer) -> None:
    indexer.remember("long", *texts(3))
    indexer.remember("short", *texts(3, 10))
    indexer.remember("short_term_archive_20231114.jsonl", *texts(3, 20))
    indexer.desk.rules = RetentionRules(engine=EngineRules(recent=False))
    done = indexer.run()
    detail, _ = index_run.examine(indexer.work(), ["sky"])

    assert (done["embedded"], done["eligible"]) == (3, 3)
    assert indexer.engine.holds("recent") == []
    assert detail["agents"]["sky"]["compared"]["memory"]["missing"] == 0


ODD = [
    pytest.param(line("lone \ud800 surrogate", id="odd"), id="lone surrogate"),
    pytest.param(b'{"ts": 1, "id": "odd", "content": "escaped \\ud800 one"}\n', id="escaped"),
    pytest.param(
        b'{"ts": 1, "id": "odd", "record_type": "profile", "payload": {"tea": "green"}}\n',
        id="no content",
    ),
    pytest.param(line("", id="odd"), id="blank"),
    pytest.param(line(" \n\t ", id="odd"), id="white space"),
    pytest.param(line(" ".join(f"word{n}" for n in range(90_000)), id="odd"), id="long"),
]


@pytest.mark.parametrize("raw", ODD)
@pytest.mark.parametrize("tier", ["long", "short"])
def test_an_odd_record_is_indexed_and_keeps_nothing_else_from_it(
    indexer: Indexer, tier: str, raw: bytes
) -> None:
    indexer.remember(tier, line("before", id="a"), raw, line("after", id="b"))
    done = indexer.run()
    collection = {"long": "memory", "short": "recent"}[tier]
    detail, _ = index_run.examine(indexer.work(), ["sky"])
    indexer.engine.forget_counts()

    assert (done["ok"], done["pending"], done["degraded"]) == (True, 0, [])
    assert indexer.engine.holds(collection) == ["a", "b", "odd"]
    assert detail["agents"]["sky"]["compared"][collection]["missing"] == 0
    assert indexer.run()["embedded"] == 0


def test_a_line_edited_between_catalog_and_reading_is_left_out(
    indexer: Indexer, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = indexer.remember("long", *texts(3))
    edited: list[int] = []

    def edit() -> None:
        if not edited:
            edited.append(path.write_bytes(path.read_bytes().replace(b"note 1 ", b"NOTE 1 ")))

    indexer.engine.before_missing = edit
    indexer.run()

    assert edited, "the file was to change in the middle"
    assert indexer.engine.put_ids == ["n00000", "n00002"]
    os.utime(path, (START, START))  # as an editor leaves it: another time
    indexer.engine.before_missing = nothing
    assert indexer.run()["embedded"] == 1
    assert indexer.engine.put_ids[-1] == "n00001"


# -- what stops it --------------------------------------------------------------------------------


def test_stopped_between_two_batches_it_goes_on_from_there(indexer: Indexer) -> None:
    indexer.remember("long", *texts(450))

    def stop_at_the_second(_items: Sequence[Item]) -> None:
        indexer.stops = "SIGTERM" if len(indexer.engine.put_ids) == BATCH else ""

    indexer.engine.before_put = stop_at_the_second
    detail, results = index_run.run(indexer.work(), ["sky"], batch=BATCH)
    assert results[0].exit_code == 130
    assert len(indexer.engine.put_ids) == 2 * BATCH
    assert detail["rag_pending"] > 0

    indexer.stops, indexer.engine.before_put = "", lambda _items: None
    again = indexer.run()
    assert (again["embedded"], again["pending"]) == (450 - 2 * BATCH, 0)
    assert sorted(indexer.engine.put_ids) == [f"n{n:05}" for n in range(450)]
    assert indexer.engine.embedder.encoded == 450


def test_past_its_deadline_it_begins_no_batch_and_says_so(indexer: Indexer) -> None:
    indexer.remember("long", *texts(30))
    work: Any = indexer.work()
    engine: Any = indexer.engine
    with work.catalog() as catalog:
        (result,) = index.index_agents(work, catalog, ["sky"], engine, deadline=time.monotonic())

    assert (result.error, result.embedded, result.pending) == ("", 0, 30)
    assert work.degraded == ["index: its time was up; the rest follows with the next run"]
    assert indexer.run()["embedded"] == 30


def test_another_epoch_in_the_middle_means_all_is_asked_again_and_nothing_encoded_twice(
    indexer: Indexer,
) -> None:
    indexer.remember("long", *texts(250))
    happened: list[str] = []

    def begin_anew(_items: Sequence[Item]) -> None:
        if len(indexer.engine.put_ids) == 2 * BATCH and not happened:
            happened.append(indexer.engine.missing("sky", "memory", [])["epoch"])
            indexer.engine.lose_everything()
            indexer.engine.forget_counts()

    indexer.engine.before_put = begin_anew
    done = indexer.run()

    assert happened
    assert indexer.engine.missing("sky", "memory", [])["epoch"] != happened[0]
    assert (done["ok"], done["pending"], done["degraded"]) == (True, 0, [])
    assert sorted(indexer.engine.put_ids) == [f"n{n:05}" for n in range(250)]
    assert indexer.engine.embedder.encoded == 250
    assert len(indexer.engine.holds("memory")) == 250


def test_an_index_that_changes_its_epoch_each_time_does_not_hold_the_job_for_ever(
    indexer: Indexer,
) -> None:
    indexer.remember("long", *texts(5))
    indexer.engine.before_missing = indexer.engine.lose_everything
    done = indexer.run()

    assert indexer.engine.asked == 5 * index.EPOCHS_TRIED
    assert (done["ok"], done["embedded"], done["pending"], done["why"]) == (True, 0, 5, "not yet")
    indexer.engine.before_missing = nothing
    assert indexer.run()["pending"] == 0


def test_a_full_disk_for_one_agent_does_not_stop_the_next(indexer: Indexer) -> None:
    indexer.remember("long", *texts(3))
    indexer.remember("long", *texts(3), agent="milton")
    indexer.engine.refuses["milton"] = DiskError("rag", "no space left")
    detail, results = index_run.run(indexer.work(), ["milton", "sky"])

    assert [one.exit_code for one in results] == [74, 0]
    assert (detail["ok"], detail["embedded"], detail["rag_pending"]) == (False, 3, 3)
    assert "no space left" in detail["error"]
    assert "no space left" in detail["agents"]["milton"]["error"]
    assert detail["agents"]["milton"]["exit_code"] == 74
    assert detail["agents"]["sky"]["ok"]


@pytest.mark.parametrize(
    "failure",
    [EngineUnavailableError("no model"), DiskError("rag", "no space left")],
    ids=["no engine", "full disk"],
)
def test_promotion_never_fails_with_the_index(indexer: Indexer, failure: Exception) -> None:
    indexer.desk.echo(*texts(4, importance=0.9))
    indexer.engine.refuses["sky"] = failure
    done = indexer.promote()

    assert (done["ok"], done["promoted"], done["rag_pending"]) == (True, 4, 4)
    assert done["degraded"] == [f"index: {failure}"]
    indexer.engine.refuses.clear()
    mended = indexer.promote()
    assert (mended["promoted"], mended["rag_pending"], mended["degraded"]) == (0, 0, [])
    assert len(indexer.engine.holds("memory")) == 4


def test_more_agents_than_are_open_at_once_are_all_indexed_and_looked_at(
    indexer: Indexer,
) -> None:
    agents = [f"agent{n:02}" for n in range(OPEN_MAX + 4)]
    for agent in agents:
        indexer.remember("long", *texts(3), agent=agent)
    done = indexer.run(*agents)
    detail, _ = index_run.examine(indexer.work(), agents)

    assert (done["ok"], done["degraded"], done["indexed"]) == (True, [], 3 * len(agents))
    for agent in agents:
        stats = detail["agents"][agent]["stats"]
        assert (stats["owed"], stats["missing"], stats["extra"]) == (0, 0, 0)
        assert stats["sample"] == {"asked": 3, "found": 3}
        assert stats["collections"]["memory"]["chroma"] == 3


# -- what it is asked for -------------------------------------------------------------------------


def test_a_dry_run_counts_what_is_owed_and_starts_nothing(indexer: Indexer) -> None:
    indexer.remember("long", *texts(4))
    indexer.remember("short_term_archive_20231114.jsonl", *texts(2, 10))
    work = indexer.work()
    work.engine = lambda: pytest.fail("the engine was asked")
    detail, _ = index_run.run(work, ["sky"], dry_run=True)

    assert (detail["dry_run"], detail["pending"], detail["eligible"]) == (True, 4, 6)
    assert (detail["embedded"], detail["rag_pending"]) == (0, 4)
    assert not indexer.desk.paths.rag.exists()


def test_only_agents_that_owe_are_asked_about(indexer: Indexer) -> None:
    indexer.remember("long", *texts(2))
    indexer.remember("long", *texts(2), agent="milton")
    indexer.run("sky")
    indexer.engine.forget_counts()
    indexer.engine.refuses["sky"] = AssertionError("it owes nothing")
    detail = indexer.run("milton", "sky", only_if_owed=True)

    assert detail["ok"], detail
    assert len(indexer.engine.put_ids) == 2


def test_force_makes_the_index_anew_and_encodes_nothing(indexer: Indexer) -> None:
    indexer.remember("long", *texts(120))
    indexer.run()
    current = indexer.desk.paths.chroma_store / "sky/current.json"
    before = json.loads(current.read_text())["generation"]
    indexer.engine.forget_counts()
    done = indexer.run(force=True)

    assert indexer.engine.rebuilt == ["sky"]
    assert (done["ok"], done["pending"], done["indexed"]) == (True, 0, 120)
    assert json.loads(current.read_text())["generation"] != before
    assert indexer.engine.embedder.encoded == 0
    sample = indexer.engine.stats("sky", 50)
    assert (sample["missing"], sample["extra"], sample["owed"]) == (0, 0, 0)


def test_without_an_engine_allowed_what_is_owed_is_said(indexer: Indexer) -> None:
    indexer.remember("long", *texts(4))
    work = indexer.work()
    work.engine = None
    detail, _ = index_run.run(work, ["sky"])

    assert (detail["ok"], detail["pending"], detail["rag_pending"]) == (True, 4, 4)
    assert "SKYMEM_ENGINE=off" in detail["degraded"][0]


def test_cursors_stand_where_the_run_came_to(indexer: Indexer) -> None:
    path = indexer.remember("long", *texts(4))
    indexer.run()
    epoch = indexer.engine.missing("sky", "memory", [])["epoch"]
    with indexer.work().catalog() as catalog:
        assert IndexCursors(catalog, "sky", epoch).owed("long") == 0
        assert IndexCursors(catalog, "sky", "another").owed("long") == 4
        catalog.catch_up(indexer.desk.tiers)
        path.write_bytes(path.read_bytes() + b"".join(texts(2, 4)))
        catalog.catch_up(indexer.desk.tiers)
        assert IndexCursors(catalog, "sky", epoch).owed("long") == 2


def test_what_is_forgotten_has_no_vector_and_what_is_restored_gets_it_back_from_the_cache(
    indexer: Indexer,
) -> None:
    everything = [f"n{n:05}" for n in range(5)]
    indexer.remember("long", *texts(5))
    indexer.run()
    wanted = {"forget": forget(Wanted({"n00002"}))}
    indexer.desk.clock += 1
    forgotten, _ = runner.run(indexer.desk.work(), "forget", ["sky"], table=wanted)
    assert (forgotten["ok"], forgotten["acted"]) == (True, 1)
    assert indexer.engine.holds("memory") == everything  # as it is until the index runs
    indexer.run()
    assert indexer.engine.holds("memory") == [*everything[:2], *everything[3:]]
    assert indexer.engine.holds("recent") == []

    indexer.engine.forget_counts()
    indexer.desk.clock += 1
    back = restore(indexer.desk.work(), "sky", ["n00002"])
    assert back["restored"] == [{"id": "n00002", "tier": "long", "standing": "active"}]
    done = indexer.run()
    assert (done["embedded"], done["chunks"], done["pending"]) == (1, 0, 0)
    assert indexer.engine.put_ids == ["n00002"]
    assert indexer.engine.embedder.encoded == 0
    assert indexer.engine.holds("memory") == everything
    (hit,) = indexer.engine.index.query("sky", "note 2 about topic2", 1)["hits"]
    assert hit[0] == "n00002"
