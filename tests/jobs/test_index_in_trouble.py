"""What the index job does where lines, engine or directory are not what it takes them for."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from skymem.engine.items import Item
from skymem.errors import EngineUnavailableError
from skymem.jobs import index, index_run
from skymem.model.rules import EngineRules, RetentionRules
from tests.jobs.indexing import Indexer, indexer, texts

__all__ = ["indexer"]


def test_lines_that_are_written_anew_meanwhile_are_all_handed_over(indexer: Indexer) -> None:
    path = indexer.remember("long", *texts(4))
    rewritten: list[int] = []

    def rewrite(_items: Any) -> None:
        if not rewritten:
            rewritten.append(path.stat().st_ino)
            (path.parent / "new").write_bytes(b"".join(texts(8, 100)))
            os.replace(path.parent / "new", path)
            with indexer.work().catalog() as catalog:  # such as a promotion's
                catalog.catch_up(indexer.desk.tiers)

    indexer.engine.before_put = rewrite
    done = indexer.run()
    indexer.run()

    assert rewritten != [path.stat().st_ino]  # the fault
    assert set(indexer.engine.holds("memory")) >= {f"n{n:05}" for n in range(100, 108)}
    assert done["pending"] == 0


def test_an_index_that_can_not_be_opened_is_an_error_and_no_bug(indexer: Indexer) -> None:
    indexer.remember("long", *texts(3))
    key = indexer.engine.embedder.identity.key
    (indexer.desk.paths.embeddings / "sky" / key / "register.db").mkdir(parents=True)
    done = indexer.run()

    assert "register.db" in done["error"]
    assert (done["ok"], done["indexed"], done["rag_pending"]) == (False, None, 3)
    assert list(indexer.engine.overview()["agents"]["sky"]) == ["problems"]


def test_an_index_that_does_not_get_on_says_why(
    indexer: Indexer, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = {"memory": 3, "recent": 0, "owed": 3, "building": None}
    told: dict[str, Any] = {"agents": {"sky": {**waits, "problems": ["there is no room"]}}}
    monkeypatch.setattr(index_run, "STILL_SECONDS", 0.0)
    monkeypatch.setattr(index_run, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(indexer.engine, "overview", lambda: told)
    indexer.remember("long", *texts(3))

    assert indexer.run()["degraded"] == ["sky: there is no room"]


def test_past_its_deadline_no_further_agent_is_asked_about(indexer: Indexer) -> None:
    work: Any = indexer.work()
    asked: list[str] = []

    class Hangs:
        def missing(self, agent: str, _collection: str, _items: list[Item]) -> dict[str, Any]:
            asked.append(agent)
            raise EngineUnavailableError("no answer by the deadline")

    hangs: Any = Hangs()
    agents = ["milton", "sky"]
    for agent in agents:
        indexer.remember("long", *texts(3), agent=agent)
    with work.catalog() as catalog:
        results = index.index_agents(work, catalog, agents, hangs, deadline=time.monotonic())

    assert asked == ["milton"]
    assert [one.agent for one in results] == ["milton"]
    assert work.degraded == [index.TIME_UP]


def test_what_lies_where_one_stands_is_not_imported_for_an_export(
    indexer: Indexer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "anywhere"
    place.mkdir()
    (place / "shutil.py").write_text("open('imported', 'w'); raise SystemExit(9)")
    monkeypatch.chdir(place)
    indexer.desk.rules = _rules(str(tmp_path / "no-model"))

    with pytest.raises(EngineUnavailableError) as raised:
        index_run.export_onnx(indexer.work())
    assert "no reason" not in str(raised.value)
    assert not (place / "imported").exists()


def test_a_dry_run_tells_where_an_export_would_go(indexer: Indexer) -> None:
    indexer.desk.rules = _rules("/opt/models/ours/")
    told = index_run.export_onnx(indexer.work(), dry_run=True)

    assert told["path"] == str(indexer.desk.paths.models / "ours" / "model.onnx")


def _rules(model: str) -> RetentionRules:
    return RetentionRules(engine=EngineRules(model=model))
