"""A change of model: made beside, compared, switched at once, and taken back (row X10).

Models and Chroma are made up (Protocol seams), records, caches, lines and catalog are real.
"""

import dataclasses
import json
from pathlib import Path

import pytest

from skymem.engine import index, loading
from skymem.errors import BusyError, DiskError, EngineUnavailableError, UsageError
from skymem.jobs import index_run, migrate
from skymem.model.rules import EngineRules, RetentionRules
from skymem.stores.lock import held
from skymem.stores.model_record import UsedModel, damage, model_in_use, read_record, write_record
from tests.jobs.changing import (
    ABSENT,
    AGENTS,
    BROKEN,
    NEW,
    OLD,
    Answering,
    ChangingHome,
    home,
    note,
    seams,
)

__all__ = ["home", "seams"]


def test_the_new_model_answers_after_the_switch_and_each_text_was_encoded_once(
    home: ChangingHome,
) -> None:
    done = home.migrate()

    assert done.exit_code == 0
    assert done.detail["migrated"]
    assert (done.detail["from"], done.detail["to"]) == (OLD, NEW)
    assert (done.detail["embedded"], done.detail["pending"], done.detail["indexed"]) == (24, 0, 24)
    assert (done.detail["model"], done.detail["dimension"]) == (NEW, 384)
    assert (done.detail["rag_pending"], done.detail["degraded"]) == (0, [])
    assert done.detail["parity"] == {
        "overlap": 1.0,
        "recalled": 1.0,
        "queries": 24,
        "threshold": 0.5,
    }
    texts = [note(agent, n) for agent in AGENTS for n in range(12)]
    assert sorted(home.models[NEW].texts) == sorted(texts)
    assert model_in_use(home.rules.engine, home.paths).model == NEW
    for agent in AGENTS:
        assert home.engine.first(agent, note(agent, 7)) == f"{agent}007"
    home.engine.overview()
    for agent in AGENTS:
        assert home.caches(agent) == {OLD, NEW}
        assert home.generations(home.paths.chroma_store, agent) == [NEW]
        assert home.generations(home.paths.generations_beside[1], agent) == [OLD]


def test_the_old_model_answers_all_the_while_the_new_one_is_filled(home: ChangingHome) -> None:
    seen: list[str] = []

    def ask() -> None:
        home.asked = lambda: None
        seen.append(str(home.engine.index.follow()["model"]))
        assert [home.engine.first(agent, note(agent, 3)) for agent in AGENTS] == [
            f"{agent}003" for agent in AGENTS
        ]
        home.asked = ask

    home.asked = ask
    home.migrate()

    assert seen.count(OLD) > 50
    assert seen == sorted(seen, reverse=True)  # the old one, then the new one, and no way back
    assert seen[-1] == NEW


def test_a_model_that_finds_too_little_is_refused_with_both_numbers_and_the_way_round(
    home: ChangingHome,
) -> None:
    done = home.migrate(BROKEN)

    assert (done.exit_code, done.detail["ok"], done.detail["migrated"]) == (26, False, False)
    assert done.detail["parity"]["overlap"] < 0.5
    assert "--min-parity X" in done.detail["error"]
    assert f"what {OLD} finds" in done.detail["error"]
    assert done.detail["model"] == OLD
    assert model_in_use(home.rules.engine, home.paths).model == OLD

    before = list(home.models[BROKEN].texts)
    again = home.migrate(BROKEN, min_parity=0.0)
    assert again.detail["migrated"]
    assert (again.detail["embedded"], again.detail["parity"]["threshold"]) == (0, 0.0)
    assert not {*home.models[BROKEN].texts[len(before) :]} & {*before}


def test_rollback_encodes_nothing_and_what_came_in_since_follows_by_itself(
    home: ChangingHome,
) -> None:
    home.migrate()
    home.remember("sky", range(12, 14))
    index_run.run(home.work(), AGENTS)
    home.models[OLD].texts.clear()
    back = home.rollback()

    assert (back.exit_code, back.detail["rolled_back"]) == (0, True)
    assert (back.detail["from"], back.detail["to"], back.detail["model"]) == (NEW, OLD, OLD)
    assert home.models[OLD].texts == [note("sky", 12), note("sky", 13)]
    assert back.detail["rag_pending"] == 0
    assert home.engine.first("sky", note("sky", 13)) == "sky013"
    assert home.engine.first("hobbs", note("hobbs", 1)) == "hobbs001"
    home.engine.overview()
    assert home.generations(home.paths.chroma_store) == [OLD]
    assert home.generations(home.paths.generations_beside[1]) == [NEW]

    home.models[NEW].texts.clear()
    assert home.rollback().detail["to"] == NEW
    assert home.models[NEW].texts == []


def test_there_is_nothing_to_go_back_to_before_a_switch_nor_after_a_change_by_hand(
    home: ChangingHome,
) -> None:
    with pytest.raises(UsageError, match="none was switched to"):
        home.rollback()
    home.migrate()
    home.rules = RetentionRules(engine=EngineRules(model="third-model"))

    assert model_in_use(home.rules.engine, home.paths).model == "third-model"
    assert "was changed since" in model_in_use(home.rules.engine, home.paths).why
    with pytest.raises(UsageError, match=f"--migrate {OLD}"):
        home.rollback()


def test_the_record_holds_until_the_configuration_says_something_else(home: ChangingHome) -> None:
    home.migrate()
    home.end()
    assert home.engine.index.follow()["model"] == NEW  # an engine that starts anew
    assert "state/model.json" in model_in_use(home.rules.engine, home.paths).why

    home.end()
    home.rules = RetentionRules(engine=EngineRules(model="third-model"))
    assert home.engine.index.follow()["model"] == "third-model"
    home.end()
    home.rules = RetentionRules(engine=EngineRules(model=OLD))
    assert home.engine.index.follow()["model"] == NEW


def test_the_new_model_written_into_the_configuration_changes_nothing_and_can_be_gone_back_from(
    home: ChangingHome,
) -> None:
    home.migrate()
    home.end()
    home.models[NEW].texts.clear()
    home.rules = RetentionRules(engine=EngineRules(model=NEW))

    assert model_in_use(home.rules.engine, home.paths) == (NEW, "as configured")
    assert home.engine.first("sky", note("sky", 4)) == "sky004"
    assert home.models[NEW].texts == []
    assert home.rollback().detail["to"] == OLD
    assert model_in_use(home.rules.engine, home.paths).model == OLD


def test_the_next_switch_frees_the_model_before_the_last(home: ChangingHome) -> None:
    home.migrate()
    home.engine.overview()
    home.migrate("third-model")
    home.engine.overview()

    for agent in AGENTS:
        assert home.caches(agent) == {NEW, "third-model"}
        assert home.generations(home.paths.chroma_store, agent) == ["third-model"]
        assert home.generations(home.paths.generations_beside[1], agent) == [NEW]
    assert home.rollback().detail["to"] == NEW


def test_a_model_that_is_not_there_leaves_everything_as_it_was(home: ChangingHome) -> None:
    with pytest.raises(EngineUnavailableError, match=ABSENT):
        home.migrate(ABSENT)
    assert read_record(home.paths).wanted == ""
    assert home.engine.first("sky", note("sky", 2)) == "sky002"


def test_to_the_model_in_use_there_is_nothing_to_do(home: ChangingHome) -> None:
    done = home.migrate(OLD)

    assert (done.exit_code, done.detail["migrated"], done.detail["why"]) == (
        0,
        False,
        f"{OLD} is the model in use",
    )


def test_one_change_at_a_time(home: ChangingHome) -> None:
    home.paths.run.mkdir(exist_ok=True)
    with (
        held(home.paths.run / "migrate.lock", "another", deadline_seconds=1),
        pytest.raises(BusyError, match="another"),
    ):
        home.migrate()


def test_what_came_in_while_the_index_was_made_is_in_it(home: ChangingHome) -> None:
    late: list[int] = []

    def remember() -> None:
        if not late and NEW in home.models and home.models[NEW].encoded >= 20:
            late.append(1)
            home.remember("hobbs", range(12, 15))

    home.asked = remember
    done = home.migrate()

    assert late
    assert (done.detail["embedded"], done.detail["rag_pending"]) == (27, 0)
    assert home.engine.first("hobbs", note("hobbs", 14)) == "hobbs014"


def test_stopped_by_a_signal_it_goes_on_where_it_was(home: ChangingHome) -> None:
    def stop() -> None:
        if NEW in home.models and home.models[NEW].encoded >= 8:
            home.stops = "SIGTERM"

    home.asked = stop
    first = home.migrate()
    assert first.exit_code == 130
    assert home.engine.index.follow()["model"] == OLD
    home.asked, home.stops = (lambda: None), ""
    encoded = len(home.models[NEW].texts)
    assert 8 <= encoded < 24
    done = home.migrate()

    assert done.detail["migrated"]
    assert len(home.models[NEW].texts) == 24
    assert done.detail["embedded"] == 24 - encoded


def test_a_dry_run_writes_nothing_and_says_how_much_there_is(home: ChangingHome) -> None:
    def look() -> list[tuple[str, int]]:
        found = home.root.rglob("*")
        return sorted((str(one), one.stat().st_mtime_ns) for one in found if one.is_file())

    before = look()
    changed = migrate.rehearse(home.work(), AGENTS, NEW)
    assert (changed.detail["pending"], changed.detail["dry_run"]) == (24, True)
    assert (changed.detail["from"], changed.detail["to"]) == (OLD, NEW)
    with pytest.raises(EngineUnavailableError):
        migrate.rehearse(home.work(), AGENTS, ABSENT)
    with pytest.raises(UsageError):
        migrate.rehearse(home.work(), AGENTS, "")
    assert look() == before


def test_a_record_that_can_not_be_read_leaves_the_configured_model_in_use(
    home: ChangingHome,
) -> None:
    home.migrate()
    home.end()
    for bad in (b"", b"{", b"[]", b'{"used": 3}', json.dumps({"used": {"model": 1}}).encode()):
        home.paths.model_record.write_bytes(bad)
        found = model_in_use(home.rules.engine, home.paths)
        assert (found.model, "can't be read" in found.why) == (OLD, True)
    assert home.engine.first("sky", note("sky", 5)) == "sky005"


def test_two_processes_never_have_one_cache(
    home: ChangingHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "LOCK_SECONDS", 0.01)
    side = home.beside(home.work(), NEW)
    assert side.engine.follow()["model"] == NEW
    with pytest.raises(UsageError, match=f"{OLD} is the model in use already"):
        home.beside(home.work(), OLD).engine.follow()

    home.rules = RetentionRules(engine=EngineRules(model=NEW))
    other = Answering(home, home.paths)
    with pytest.raises(EngineUnavailableError, match=r"model-new-model.*\.lock is held by process"):
        other.follow()
    side.dismiss()
    assert other.follow()["model"] == NEW
    other.leave()


def test_a_full_disk_ends_it_with_74_and_the_old_model_goes_on(
    home: ChangingHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    full: list[Path] = []

    def no_room(path: Path, _needed: int) -> None:
        if NEW in home.models and home.models[NEW].encoded >= 8:
            full.append(path)
            raise DiskError(str(path), "no room")

    monkeypatch.setattr(index, "require_room", no_room)
    done = home.migrate()

    assert full
    assert (done.exit_code, done.detail["ok"], done.detail["migrated"]) == (74, False, False)
    assert "no room" in done.detail["error"]
    assert home.engine.index.follow()["model"] == OLD
    assert home.engine.first("sky", note("sky", 9)) == "sky009"
    monkeypatch.undo()


def test_a_running_engine_whose_next_model_can_not_be_loaded_goes_on_and_tries_again(
    home: ChangingHome, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record = read_record(home.paths)
    assert home.engine.index.follow()["model"] == OLD
    used = UsedModel(ABSENT, "absent")
    switched = dataclasses.replace(record, configured=OLD, backend="onnx", used=used, switched=1.0)
    write_record(home.paths, home.files, switched)
    assert home.engine.first("sky", note("sky", 1)) == "sky001"
    assert f"the old model goes on: the engine is not available: no model {ABSENT}" in (
        capsys.readouterr().err
    )
    monkeypatch.setattr(
        loading, "open_embedder", lambda *_: home.model(EngineRules(model=NEW), home.root)
    )
    assert home.engine.index.follow()["model"] == OLD  # not at once
    home.engine._successor._not_before = 0.0
    assert home.engine.index.follow()["model"] == NEW


def test_doctor_is_told_of_a_record_that_can_not_be_read(home: ChangingHome) -> None:
    assert damage(home.paths) == ""
    home.migrate()
    assert damage(home.paths) == ""
    home.paths.model_record.write_bytes(b"{")
    assert "skymem index --migrate" in damage(home.paths)
