"""A line that was removed by hand: its vector goes with the next run, and is no answer before."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from skymem.jobs import index_run
from skymem.jobs.summary import summary
from skymem.model.rules import EngineRules, RetentionRules
from skymem.recall import request
from skymem.recall.search import recall
from tests.conftest import line
from tests.jobs.indexing import Indexer, indexer, texts

__all__ = ["indexer"]

ARCHIVE = "short_term_archive_20231114.jsonl"


def _remove(path: Path, *names: str) -> None:
    """What an editor does: a new file in the place of the old."""
    lines = path.read_bytes().splitlines(keepends=True)
    beside = path.with_name("edited")
    beside.write_bytes(b"".join(one for one in lines if json.loads(one)["id"] not in names))
    beside.rename(path)


def _stale(indexer: Indexer) -> list[str]:
    detail, _ = index_run.examine(indexer.work(), ["sky"])
    compared = detail["agents"]["sky"]["compared"]
    return [name for one in compared.values() for name in one["stale_ids"]]


@pytest.mark.parametrize("tier", ["long", ARCHIVE])
def test_the_next_scheduled_run_takes_out_what_stands_on_no_line(
    indexer: Indexer, tier: str
) -> None:
    path = indexer.remember(tier, *texts(20))
    indexer.run()
    _remove(path, "n00003", "n00007")
    assert _stale(indexer) == ["n00003", "n00007"]
    indexer.engine.forget_counts()
    done = indexer.run(only_if_owed=True)

    assert done["taken_out"] == 2
    assert "2 without a line taken out" in summary(done)
    assert _stale(indexer) == []
    assert (done["ok"], done["indexed"], done["pending"], done["embedded"]) == (True, 18, 0, 0)
    assert indexer.engine.embedder.encoded == 0
    indexer.engine.forget_counts()
    again = indexer.run(only_if_owed=True)
    assert (again["agents"]["sky"].get("taken_out"), indexer.engine.asked) == (0, 0)


def test_a_file_that_is_gone_takes_its_vectors_with_it(indexer: Indexer) -> None:
    indexer.desk.run("promote")  # from then on it is known that short-term holds nothing
    path = indexer.remember("long", *texts(5))
    indexer.run()
    path.unlink()
    done = indexer.run(only_if_owed=True)

    assert (done["agents"]["sky"]["taken_out"], done["indexed"]) == (5, 0)
    indexer.engine.forget_counts()
    indexer.run(only_if_owed=True)
    assert indexer.engine.asked == 0
    assert indexer.engine.holds("memory") == []


def test_lines_of_short_term_as_well_once_a_job_has_seen_it(indexer: Indexer) -> None:
    path = indexer.remember("short", *texts(6, importance=0.1))
    indexer.promote()
    assert len(indexer.engine.holds("recent")) == 6
    _remove(path, "n00001")
    indexer.promote()

    assert "n00001" not in indexer.engine.holds("recent")
    assert len(indexer.engine.holds("recent")) == 5


def test_what_went_back_to_short_term_is_indexed_there(indexer: Indexer) -> None:
    indexer.remember("short", *texts(3, importance=0.9))
    indexer.promote()
    long_term = indexer.desk.tiers.long_term
    moved = long_term.read_bytes()
    long_term.write_bytes(b"")
    indexer.remember("short", moved.replace(b'"type": "long"', b'"type": "short"'))
    indexer.engine.forget_counts()
    indexer.run()

    assert _stale(indexer) == []
    assert indexer.engine.holds("recent") == ["n00000", "n00001", "n00002"]
    assert indexer.engine.embedder.encoded == 0


def test_where_recent_is_not_indexed_it_is_left_alone(indexer: Indexer) -> None:
    indexer.remember("short", *texts(3, importance=0.1))
    path = indexer.remember("long", *texts(3, 10))
    indexer.run()
    indexer.desk.rules = RetentionRules(engine=EngineRules(recent=False))
    _remove(path, "n00011")
    done = indexer.run()

    assert done["agents"]["sky"]["taken_out"] == 1
    assert len(indexer.engine.holds("recent")) == 3
    assert indexer.engine.holds("memory") == ["n00010", "n00012"]


def test_what_comes_back_while_it_is_taken_out_is_indexed_again(
    indexer: Indexer, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = indexer.remember("long", *texts(5))
    whole = path.read_bytes()
    indexer.run()
    _remove(path, "n00002")
    drop = indexer.engine.drop
    dropped: list[str] = []

    def meanwhile(agent: str, ids: Sequence[str]) -> dict[str, Any]:
        if not dropped:  # another process brings it back, finds it indexed, and is done
            path.write_bytes(whole)
            assert indexer.run()["embedded"] == 0
        dropped.extend(ids)
        return drop(agent, ids)

    monkeypatch.setattr(indexer.engine, "drop", meanwhile)
    indexer.run()

    assert "n00002" in dropped
    assert indexer.engine.holds("memory") == [f"n{n:05}" for n in range(5)]


class Meaning:
    """What recall asks of the engine."""

    def __init__(self, indexer: Indexer) -> None:
        self._index = indexer.engine.index

    def running(self) -> bool:
        return True

    def query(
        self,
        agent: str,
        text: str,
        limit: int,
        collections: Sequence[str] = (),
        also: Sequence[str] = (),
        *,
        deadline_seconds: float = 0.0,
    ) -> dict[str, Any]:
        assert deadline_seconds > 0
        return self._index.query(agent, text, limit, collections, also)

    def likeness(
        self, text: str, texts: Sequence[str], *, agent: str = "", deadline_seconds: float = 0.0
    ) -> dict[str, Any]:
        assert deadline_seconds > 0
        return self._index.likeness(text, texts, agent)


def test_recall_never_returns_it(indexer: Indexer) -> None:
    names = ["kept", "gone"]
    path = indexer.remember("long", *(line(f"the {name} report", id=name) for name in names))
    indexer.run()
    _remove(path, "gone")
    assert indexer.engine.holds("memory") == ["gone", "kept"]
    asked = request.ask("the gone report", 5, "semantic")

    found = recall(indexer.work(), "sky", asked, lambda: Meaning(indexer))
    assert [one.id for one in found] == ["kept"]


def test_a_memory_promoted_while_the_index_is_compared_stays(
    indexer: Indexer, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = indexer.remember("long", *texts(3))
    indexer.remember("short", *texts(1, 9, importance=0.9))
    indexer.run()
    _remove(path, "n00001")
    ids = indexer.engine.ids

    def after_a_promotion(*asked: Any) -> dict[str, Any]:
        monkeypatch.setattr(indexer.engine, "ids", ids)
        assert indexer.promote()["promoted"] == 1
        return ids(*asked)

    monkeypatch.setattr(indexer.engine, "ids", after_a_promotion)
    indexer.run()

    assert _stale(indexer) == []
    assert indexer.engine.holds("memory") == ["n00000", "n00002", "n00009"]


def test_a_few_stale_ones_among_many_pages_are_found(
    indexer: Indexer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skymem.jobs.stale.IDS_AT_ONCE", 7)
    path = indexer.remember("long", *texts(50))
    indexer.run()
    gone = [f"n{n:05}" for n in range(0, 50, 3)]
    _remove(path, *gone)

    assert indexer.run()["agents"]["sky"]["taken_out"] == len(gone)
    assert _stale(indexer) == []
