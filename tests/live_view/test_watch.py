"""Reading a home over and over: what changed is seen, what is damaged is told and ends nothing."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from skymem.app import Home, init_home, open_home
from skymem.live_view import telling
from skymem.live_view import watch as watching
from skymem.live_view.rows import agent_rows, alarm_rows, decision_rows, head_lines, job_rows
from skymem.live_view.snapshot import Snapshot
from skymem.live_view.watch import Watch
from skymem.overview import status_overview
from skymem.stores.lock import held
from tests.conftest import line


@pytest.fixture
def home(tmp_path: Path) -> Home:
    init_home(tmp_path / "home")
    home = open_home(str(tmp_path / "home"))
    home.remember("sky", [line("kept", 0.9), line("small", 0.1)])
    home.run_job("promote")
    return home


@pytest.fixture
def watch(home: Home) -> Watch:
    return Watch(lambda: open_home(str(home.paths.root), lenient=True))


@pytest.fixture(autouse=True)
def no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts as soon as something changed, as it does in a home that is counted at once."""
    monkeypatch.setattr(watching, "REST_FACTOR", 0.0)


def shown(found: Snapshot) -> str:
    """Everything that a view shows, and that its dialogs would."""
    rows = [*agent_rows(found), *job_rows(found), *alarm_rows(found), *decision_rows(found)]
    texts = [cell.text for row in rows for cell in row.cells]
    texts += [cell.text for cells in head_lines(found) for cell in cells]
    texts += [text for one in found.jobs for text in telling.more_of_job(found, one["name"])(70)]
    return "\n".join(texts)


def test_what_is_remembered_and_decided_is_seen_at_the_next_look(home: Home, watch: Watch) -> None:
    first = watch.look(None)
    home.remember("sky", [line("more", 0.8)])
    second = watch.look(None)
    home.run_job("promote")
    third = watch.look(None)
    short = [one.status["agents"][0]["tiers"]["short"]["count"] for one in (first, second, third)]

    assert short == [1, 2, 1]
    assert [one.what for one in first.decided] == ["promote", "was there"]  # newest first
    assert second.decided == first.decided
    assert third.decided[0].what == "promote"
    assert third.decided[0] not in first.decided
    assert third.results["promote"]["detail"]["promoted"] == 1


def test_it_looks_at_one_agent_and_at_all_again(home: Home, watch: Watch) -> None:
    home.remember("hobbs", [line("x", 0.9)])
    home.run_job("promote")

    assert {one.agent for one in watch.look(None).decided} == {"sky", "hobbs"}
    assert {one.agent for one in watch.look("hobbs").decided} == {"hobbs"}
    assert watch.look("hobbs").agents == ["hobbs"]
    assert watch.look(None).agents == ["hobbs", "sky"]


def test_nothing_new_is_counted_again_only_after_a_while(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[object] = []

    def overview(home: Home, agent: str | None) -> dict[str, Any]:
        counted.append(agent)
        return status_overview(home, agent)

    monkeypatch.setattr(watching, "status_overview", overview)
    monkeypatch.setattr(watching, "OLD_SECONDS", 1e9)
    for _ in range(3):
        watch.look(None)
    once = len(counted)
    monkeypatch.setattr(watching, "OLD_SECONDS", 0.0)
    watch.look(None, whole=True)  # from here on what was counted is old at once
    watch.look(None)

    assert (once, len(counted)) == (1, 3)


def test_rules_that_are_written_anew_count(home: Home, watch: Watch) -> None:
    assert not watch.look(None).status["alarms"]
    home.paths.rules.write_text("promote_treshold: 0.7\n")

    assert any("promote_treshold" in one["text"] for one in watch.look(None).status["alarms"])


def test_a_schedule_that_cant_be_read_is_told_and_what_was_known_stays(
    home: Home, watch: Watch
) -> None:
    before = watch.look(None)
    home.paths.schedule.write_text("every: [\n")
    after = watch.look(None)

    assert any("schedule.yaml" in one for one in after.problems)
    assert [one["name"] for one in after.jobs] == [one["name"] for one in before.jobs]


def test_a_home_that_goes_away_is_told_and_seen_when_it_is_back(home: Home, watch: Watch) -> None:
    root = home.paths.root
    before = watch.look(None)
    root.rename(root.with_name("elsewhere"))
    gone = watch.look(None)
    left = root.exists()
    root.with_name("elsewhere").rename(root)
    back = watch.look(None)

    assert before.problems == back.problems == ()
    assert "the home is not there any more" in "".join(gone.problems)
    assert "the home is not there any more" in shown(gone)
    assert gone.status == before.status  # as of then, which is told too
    assert gone.daemon == {}
    assert not left


def _damages(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in pairs:
        if isinstance(one, dict | list):
            yield from _damages(one, (*at, key))
        else:
            yield (*at, key)


def _put(value: Any, at: tuple[Any, ...], new: Any) -> Any:
    if not at:
        return new
    copy = json.loads(json.dumps(value))
    inner = copy
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = new
    return copy


BEAT = {
    "ts": 1.0,
    "state": "running",
    "interval_seconds": 30.0,
    "next_runs": {"index": 5.0},
    "running": [{"name": "index", "since": 1.0}],
    "configuration": {"problem": None},
}
FILES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "status/sky_heartbeat.json": lambda _found: BEAT,
    "status/jobs/promote.json": lambda found: {
        **{key: found[key] for key in ("ts", "seq")},
        "detail": {
            key: found["detail"][key] for key in ("ok", "job", "degraded", "agents", "promoted")
        },
    },
    "state/paused.json": lambda _found: {"paused": {"index": {"since": 1.0}}},
}


@pytest.mark.parametrize("name", FILES)
def test_a_status_file_that_is_damaged_in_any_way_ends_nothing(
    home: Home, watch: Watch, name: str
) -> None:
    path = home.paths.root / name
    right = FILES[name](json.loads(path.read_bytes()) if path.exists() else {})
    with held(home.paths.daemon_lock, "daemon", deadline_seconds=1.0):
        for at in _damages(right):
            for wrong in ("x", [1], 1e300):
                path.write_text(json.dumps(_put(right, at, wrong)))
                shown(watch.look(None, whole=True))
        path.write_bytes(b"{\xff")
        shown(watch.look(None, whole=True))
        path.write_text(json.dumps(right))
        assert not any("not as skymem" in one for one in watch.look(None, whole=True).problems)


def test_a_home_without_anything_in_it_is_looked_at_too(home: Home, watch: Watch) -> None:
    for name in ("status", "state", "audit", "memory", "run"):
        shutil.rmtree(home.paths.root / name)
    os.unlink(home.paths.schedule)

    assert "no schedule that could be read" in shown(watch.look(None, whole=True))
