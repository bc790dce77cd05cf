"""A handle is bound to one agent for good: any other, id or path through it is refused (row M7)."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import skymem
from skymem.app import Home, init_home, open_home
from skymem.errors import AgentNameError, NotAllowedError, UnknownMemoryError
from skymem.names import merge_notes, run_once, upsert_user_profile
from skymem.overview import status_overview
from skymem.policy.bound import Bound
from skymem.upkeep import forget_memories, restore_memories, undo_run

SECRET = "hobbs keeps the spare key under the third stone"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a memory of two agents, found by `$SKYMEM_HOME`."""
    made = tmp_path / "home"
    init_home(made)
    monkeypatch.setenv("SKYMEM_HOME", str(made))
    skymem.open_memory("sky").remember("sky likes mornings", importance=0.9)
    return made


@pytest.fixture
def hobbs(home: Path) -> str:
    """The id of what hobbs remembers."""
    return skymem.open_memory("hobbs").remember(SECRET, importance=0.9)


@pytest.fixture
def sky(home: Path, hobbs: str) -> Home:
    """A handle of sky's."""
    return open_home().bind("sky")


def violations(home: Path) -> list[tuple[str, str, str]]:
    work = open_home(str(home)).workplace()
    return [(one["agent"], one["whose"], one["door"]) for one in work.violations().listed()]


DOORS: dict[str, Callable[[Home, str], Any]] = {
    "shelf": lambda home, _id: home.shelf("hobbs"),
    "paths": lambda home, _id: home.workplace().agent_paths("hobbs"),
    "a job's lock": lambda home, _id: home.workplace().job_lock("hobbs", "promote").__enter__(),
    "find": lambda home, name: home.find("hobbs", name),
    "an id": lambda home, name: home.find("sky", name),
    "the beginning of an id": lambda home, name: home.find("sky", name[:12]),
    "remember": lambda home, _id: home.remember("hobbs", [b'{"content": "planted"}\n']),
    "a job": lambda home, _id: home.run_job("promote", agent="hobbs"),
    "everyone's job": lambda home, _id: home.run_job("promote"),
    "everyone": lambda home, _id: home.agents(),
    "the status of another": lambda home, _id: status_overview(home, "hobbs"),
    "the status of all": lambda home, _id: status_overview(home),
    "forget": lambda home, name: forget_memories(home, "sky", [name]),
    "restore": lambda home, name: restore_memories(home, "sky", [name]),
    "another binding": lambda home, _id: home.bind("hobbs"),
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_refuses_another_agent_and_puts_it_on_record(
    home: Path, sky: Home, hobbs: str, door: str
) -> None:
    before = (home / "memory/hobbs/short_term.jsonl").read_bytes()
    with pytest.raises(NotAllowedError, match="bound to agent sky") as refused:
        DOORS[door](sky, hobbs)

    whose = "*" if "all of the home" in str(refused.value) else "hobbs"
    assert refused.value.exit_code == 30
    assert SECRET not in str(refused.value)
    assert violations(home) == [("sky", whose, "python")]
    assert (home / "memory/hobbs/short_term.jsonl").read_bytes() == before


def test_a_run_of_another_agent_is_not_undone(home: Path, sky: Home) -> None:
    open_home().run_job("promote", agent="hobbs")
    entries = open_home().workplace().ledger().read_from(0)
    run = next(entry["run"] for _, entry in entries if entry["op"] == "begin")
    with pytest.raises(NotAllowedError):
        undo_run(sky, run, ["sky"])

    assert violations(home) == [("sky", "hobbs", "python")]


def test_what_lies_in_the_trash_of_another_is_not_restored(
    home: Path, sky: Home, hobbs: str
) -> None:
    forget_memories(open_home(), "hobbs", [hobbs])
    with pytest.raises(NotAllowedError):
        restore_memories(sky, "sky", [hobbs])

    assert violations(home) == [("sky", "hobbs", "python")]


def test_its_own_is_as_before_and_no_violation(home: Path, sky: Home) -> None:
    memory = skymem.open_memory("sky")
    name = memory.remember("sky also likes tea", importance=0.8)

    assert [one.content for one in memory.recent()] == ["sky also likes tea", "sky likes mornings"]
    assert sky.find("sky", name).memory.content == "sky also likes tea"
    assert sky.run_job("promote", agent="sky")[0]["ok"]
    with pytest.raises(UnknownMemoryError):
        sky.find("sky", "f" * 32)
    with pytest.raises(UnknownMemoryError):  # too short to mean anybody's
        sky.find("sky", "ffff")
    assert violations(home) == []


def test_another_never_hears_of_it_in_recall(home: Path, hobbs: str) -> None:
    memory = skymem.open_memory("sky")

    assert SECRET not in json.dumps([one.content for one in memory.recall("spare key stone")])
    assert SECRET not in memory.context("spare key").text


def test_the_object_can_not_be_turned_to_another(home: Path, hobbs: str) -> None:
    memory = skymem.open_memory("sky")
    with pytest.raises(NotAllowedError):
        memory.agent = "hobbs"

    assert memory.agent == "sky"
    assert violations(home) == [("sky", "hobbs", "python")]


@pytest.mark.parametrize("name", ["../hobbs", "/etc", "a\0b", "hobbs\n", "Hobbs", "x" * 300, ""])
def test_a_path_for_a_name_is_refused_and_on_record_without_it(
    home: Path, sky: Home, name: str
) -> None:
    with pytest.raises(AgentNameError):
        sky.shelf(name)

    assert violations(home) == [("sky", "?", "python")]


def test_a_process_that_is_bound_gets_no_other_handle(
    home: Path, hobbs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKYMEM_BOUND_AGENT", "sky")
    assert skymem.open_memory().agent == "sky"
    monkeypatch.setenv("SKYMEM_AGENT", "hobbs")
    for door in (
        lambda: skymem.open_memory("hobbs"),
        skymem.open_memory,
        lambda: merge_notes([hobbs]),
        lambda: upsert_user_profile(evidence_ids=[hobbs]),
        run_once,
    ):
        with pytest.raises(NotAllowedError):
            door()
    monkeypatch.setenv("SKYMEM_BOUND_AGENT", "")
    with pytest.raises(AgentNameError):  # an empty binding is a slip, and no way out
        skymem.open_memory("hobbs")
    monkeypatch.delenv("SKYMEM_BOUND_AGENT")

    assert [whose for _, whose, _ in violations(home)] == [*["hobbs"] * 4, "*"]


def test_evidence_and_notes_of_another_are_refused(home: Path, hobbs: str) -> None:
    for door in (lambda: merge_notes([hobbs]), lambda: upsert_user_profile(evidence_ids=[hobbs])):
        with pytest.raises(NotAllowedError):
            door()

    assert len(violations(home)) == 2


def test_it_is_refused_where_it_can_not_be_recorded(home: Path, sky: Home) -> None:
    shutil.rmtree(home / "state", ignore_errors=True)
    (home / "state").write_text("in the way")
    with pytest.raises(NotAllowedError, match="could not be recorded"):
        sky.shelf("hobbs")


def test_what_the_rules_lend_may_be_read_and_not_written(home: Path, hobbs: str) -> None:
    handle = open_home()
    handle.bound = Bound("sky", lent=frozenset({"hobbs"}))

    assert handle.find("hobbs", hobbs).memory.content == SECRET
    with pytest.raises(NotAllowedError):
        handle.remember("hobbs", [b'{"content": "planted"}\n'])
    with pytest.raises(NotAllowedError):
        handle.workplace().job_lock("hobbs", "promote").__enter__()


def test_a_violation_is_logged_without_any_text(
    home: Path, sky: Home, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(NotAllowedError):
        sky.find("hobbs", "whatever it is called")

    assert caplog.messages == ["violation: agent sky reached for hobbs by python"]
    ledger = (home / "audit/ledger.jsonl").read_text()
    assert "whatever" not in ledger


def test_two_processes_count_every_one(home: Path, hobbs: str) -> None:
    program = (
        "import skymem\nfrom skymem.errors import NotAllowedError\n"
        "m = skymem.open_memory('sky')\n"
        "for _ in range(20):\n"
        "    try: m.agent = 'hobbs'\n"
        "    except NotAllowedError: pass\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program], env={**os.environ}, stderr=-3)
        for _ in range(2)
    ]

    assert [one.wait(60) for one in running] == [0, 0]
    assert status_overview(open_home())["violations"]["count"] == 40
    assert len(violations(home)) == 40
