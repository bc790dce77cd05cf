"""Preferences from Python: set, got, superseded and kept through every job, for all readers."""

import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest

import skymem
from skymem.agent import AgentMemory
from skymem.app import open_home
from skymem.errors import InvalidMemoryError
from skymem.working.preferences import Preferences
from tests.working.preferring import (
    DAY,
    DECLARED,
    Clock,
    again,
    clock,
    declared,
    home,
    lines,
    memory,
    run,
)

__all__ = ["clock", "declared", "home", "memory"]


def test_what_was_set_is_got(memory: AgentMemory, home: Path) -> None:
    assert memory.preferences.get("verbosity") is None
    assert memory.preferences.get("verbosity", "full") == "full"
    written = memory.preferences.update("verbosity", "terse", tags=["style"])

    assert written.new
    assert memory.preferences.get("verbosity") == again(home).get("verbosity") == "terse"
    (line,) = lines(home)
    assert (line["record_type"], line["importance"]) == ("preference", 0.9)
    assert line["payload"] == {"key": "verbosity", "value": "terse", "how": "hand"}
    assert (line["content"], line["tags"]) == ("verbosity: terse", ["style"])


@pytest.mark.parametrize("value", ["two words", "é漢😀", 3, 2.5, True, False, 0, ["a", "b c"], []])
def test_a_value_comes_back_as_it_is(memory: AgentMemory, home: Path, value: Any) -> None:
    memory.preferences.update("anything", value)
    run(home, "promote")
    found = again(home).get("anything")

    assert (found, type(found)) == (value, type(value))


def test_the_same_again_writes_nothing(memory: AgentMemory, home: Path) -> None:
    memory.preferences.update("n", 1, tags=["a"])
    assert not memory.preferences.update("n", 1).new
    assert not memory.preferences.update("n", 1.0, tags=["a"]).new
    assert len(lines(home)) == 1
    assert memory.preferences.update("n", True).new
    assert memory.preferences.update("n", True, tags=["b"]).new
    assert memory.preferences.lookup("n").tags == ("b",)  # type: ignore[union-attr]
    assert memory.preferences.update("n", 2).preference.tags == ("b",)


def test_a_new_value_supersedes_the_old_and_history_has_both(
    memory: AgentMemory, home: Path
) -> None:
    for value in ("terse", "full", "terse"):
        memory.preferences.update("verbosity", value)
    run(home, "promote")
    memory.preferences.update("verbosity", "chatty")
    history = again(home).history("verbosity")

    assert [one.preference.value for one in history] == ["terse", "full", "terse", "chatty"]
    assert [one.state for one in history] == ["superseded"] * 3 + ["active"]
    assert [one.preference.tier for one in history] == ["long"] * 3 + ["short"]
    after = [one.preference.id for one in history][1:]
    assert [one.superseded_by for one in history] == [*after, None]
    assert memory.preferences.get("verbosity") == "chatty"


def test_a_user_s_own_goes_before_everybody_s(memory: AgentMemory, home: Path) -> None:
    memory.preferences.update("verbosity", "full")
    memory.preferences.update("verbosity", "terse", user_id="ann")
    found = again(home)

    assert [found.get("verbosity", user_id=user) for user in ("ann", "bob", None)] == [
        "terse",
        "full",
        "full",
    ]
    assert {one.user_id for one in found.all(user_id="bob")} == {None}
    assert {one.user_id for one in found.all()} == {None, "ann"}
    assert len(found.history("verbosity", user_id="bob")) == 1
    assert len(found.history("verbosity")) == 2


def test_preferences_of_agents_stay_apart(memory: AgentMemory, home: Path) -> None:
    memory.preferences.update("verbosity", "terse")
    other = skymem.open_memory("hobbs", home=str(home))

    assert other.preferences.get("verbosity") is None


@pytest.mark.parametrize(
    ("then", "days"),
    [
        pytest.param(["promote"], 0, id="promoted"),
        pytest.param(["promote", "rotate", "prune", "compress", "merge"], 400, id="every job"),
        pytest.param(["compress", "merge", "rotate", "prune"], 40, id="not promoted"),
        pytest.param(["promote", "prune", "compact"], 400, id="compacted"),
    ],
)
def test_jobs_in_between_change_nothing_of_it(
    memory: AgentMemory, home: Path, clock: Clock, then: list[str], days: int
) -> None:
    (home / "retention_rules.yaml").write_text(
        "promote_threshold: 0.95\nshort_term_max_lines: 1\n"
        "prune: {older_than: 30d, importance_below: 1, archive_older_than: 30d}\n"
        "budget: {per_run: 100%, per_30_days: 100%}\n"
    )
    for value in ("terse", "full"):
        memory.preferences.update("verbosity", value)
        memory.preferences.update("depth", value, user_id="ann")
        clock.now += days * DAY / 2
        for job in then:
            open_home(str(home)).run_job(job)
    found = again(home)

    for seen in (memory.preferences, found):
        assert seen.get("verbosity") == "full"
        assert seen.get("depth", user_id="ann") == "full"
    assert [one.preference.value for one in found.history("verbosity")] == ["terse", "full"]
    assert not found.update("verbosity", "full").new


def test_what_is_forgotten_gives_back_what_it_had_replaced(memory: AgentMemory, home: Path) -> None:
    from skymem.jobs import runner
    from skymem.jobs.forget import Wanted, forget

    memory.preferences.update("verbosity", "terse")
    newest = memory.preferences.update("verbosity", "full").preference.id
    work = open_home(str(home)).workplace()
    runner.run(work, "forget", ["sky"], table={"forget": forget(Wanted([newest]))})

    assert memory.preferences.get("verbosity") == again(home).get("verbosity") == "terse"


# -- what is declared -------------------------------------------------------------------------


def test_what_is_declared_holds_until_somebody_says(declared: Preferences) -> None:
    assert declared.get("analysis_depth") == "normal"
    assert declared.lookup("analysis_depth").how == "default"  # type: ignore[union-attr]
    assert declared.get("verbosity") is None
    declared.update("analysis_depth", "deep")
    assert declared.get("analysis_depth") == "deep"
    assert [one.key for one in declared.all()] == [
        "analysis_depth",
        "verbosity",
        "pages",
        "regions",
    ]


@pytest.mark.parametrize(
    ("key", "value", "fault"),
    [
        ("analysis_dept", "deep", 'no preference "analysis_dept" is declared (did you mean'),
        ("colour", "red", "there are: analysis_depth, verbosity, pages, regions"),
        ("verbosity", "ters", '"ters" is not one of terse, full (did you mean "terse"?)'),
        ("pages", 51, "51 is more than 50"),
        ("pages", True, "true is no whole number"),
        ("regions", ["eu", "asia"], '"asia" is not one of eu, us'),
        ("", "x", 'field "key"'),
        (" a", "x", "no space at either end"),
        (None, "x", 'field "key": null is no name'),
    ],
)
def test_what_is_not_declared_is_refused(
    declared: Preferences, home: Path, key: Any, value: Any, fault: str
) -> None:
    with pytest.raises(InvalidMemoryError) as caught:
        declared.update(key, value)

    assert fault in str(caught.value)
    assert lines(home) == []


def test_an_unknown_key_is_not_taken_for_one_that_nobody_set(declared: Preferences) -> None:
    with pytest.raises(InvalidMemoryError, match="did you mean"):
        declared.get("verbositty")


def test_what_was_set_before_it_was_no_longer_declared_can_be_got(
    memory: AgentMemory, home: Path
) -> None:
    memory.preferences.update("colour", "red")
    (home / "retention_rules.yaml").write_text(DECLARED)

    assert again(home).get("colour") == "red"


@pytest.mark.parametrize(
    "value", [None, "", " ", "x" * 2001, {"a": 1}, [1], float("nan"), float("inf"), b"x", object()]
)
def test_a_value_that_can_t_be_one_is_refused(memory: AgentMemory, home: Path, value: Any) -> None:
    with pytest.raises(InvalidMemoryError, match='field "value": k: '):
        memory.preferences.update("k", value)
    assert lines(home) == []


@pytest.mark.parametrize("user", ["", 3, ["ann"]])
def test_a_user_is_a_text(memory: AgentMemory, user: Any) -> None:
    with pytest.raises(InvalidMemoryError, match="user_id"):
        memory.preferences.update("k", "v", user_id=user)


# -- several writers --------------------------------------------------------------------------


def _writer(home: str, name: str, count: int, ready: Any) -> None:
    os.environ["SKYMEM_ENGINE"] = "off"
    preferences = Preferences(open_home(home), "sky")
    ready.wait()
    for number in range(count):
        preferences.update("shared", f"{name}-{number}")
        preferences.update(f"own_{name}", number)


def test_of_two_writers_at_once_every_reader_takes_the_same_and_nothing_is_lost(
    home: Path,
) -> None:
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(2)
    writers = [
        context.Process(target=_writer, args=(str(home), name, 20, ready)) for name in ("a", "b")
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0]

    found = again(home)
    assert found.get("own_a") == found.get("own_b") == 19
    history = found.history("shared")
    assert len(history) == 40
    last = max(history, key=lambda one: (one.preference.ts or 0, one.preference.id))
    assert found.get("shared") in {"a-19", "b-19"}
    assert found.get("shared") == last.preference.value
    run(home, "promote", "rotate")
    assert again(home).get("shared") == last.preference.value
    found.update("shared", "settled")
    states = [one.state for one in again(home).history("shared")]
    assert states == ["superseded"] * 40 + ["active"]
