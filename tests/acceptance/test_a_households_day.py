"""A day of a household through every door at once, and at its end every book is balanced.

Sky works over the API and has a coding agent's hooks, Hobbs speaks MCP, Aegis is a shell that
appends, a daemon keeps house every few seconds. In the middle of it a backup is taken, one agent
moves into another home, and what the owner wants gone is erased.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from skymem.stores.home import HomePaths
from skymem.stores.lock import holder_of
from tests.acceptance.homes import Outside, told_by, wait_until
from tests.acceptance.household import AGENTS, Household, household, places_of
from tests.jobs.erased import traces

SAFE: Final = "Otter 4711 opens what the grandmother locked"


@dataclass
class Day:
    """What is left of it, to be looked at."""

    root: Path
    house: Household
    before_backup: dict[str, str] = field(default_factory=dict)
    before_export: dict[str, str] = field(default_factory=dict)
    moved: dict[str, Any] = field(default_factory=dict)
    again: dict[str, Any] = field(default_factory=dict)
    receipt: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    @property
    def home(self) -> Outside:
        return self.house.home

    def other(self, name: str) -> Outside:
        """Another home that was made of this one."""
        return Outside(HomePaths(self.root / name))


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Day]:
    """The day, lived once."""
    root = tmp_path_factory.mktemp("day")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SKYMEM_ENGINE", "off")
        with household(root) as house:
            lived = Day(root, house)
            house.hour()
            _keep_a_secret(lived)
            _back_up_while_they_work(lived)
            _move_sky(lived)
            _reach_too_far(lived, patch)
            _erase(lived)
            house.hour()
            _ask(lived)
            house.end()
        yield lived


def _keep_a_secret(day: Day) -> None:
    """Sky decides what has to go later; it is shared to the others first."""
    day.house.api.remember(SAFE, "sky", importance=0.9, kind="decision")
    files = [day.home.paths.agent(agent).long_term for agent in ("hobbs", "aegis")]
    wait_until(lambda: all(SAFE.encode() in one.read_bytes() for one in files), "both have it")


def _back_up_while_they_work(day: Day) -> None:
    day.before_backup = dict(day.house.kept)
    taking = day.home.start("backup", str(day.root / "day.tar"), "--json")
    day.house.hour()
    told = told_by(taking)
    assert told.code == 0, told
    day.other("restored").done("restore-backup", str(day.root / "day.tar"))


def _move_sky(day: Day) -> None:
    day.before_export = dict(day.house.kept)
    day.home.done("--agent", "sky", "export", str(day.root / "sky.tar"))
    moved = day.other("moved")
    assert moved("init").code == 0
    day.moved = moved.done("--agent", "sky", "import", str(day.root / "sky.tar"))
    day.again = moved.done("--agent", "sky", "import", str(day.root / "sky.tar"))


def _reach_too_far(day: Day, patch: pytest.MonkeyPatch) -> None:
    """Hobbs reads what is Sky's, by its id and on the command line."""
    theirs = day.house.ids["sky decided (hour 0)"]
    assert "on record" in day.house.mcp.refusal("memory_get", id=theirs)
    with patch.context() as bound:
        bound.setenv("SKYMEM_BOUND_AGENT", "hobbs")
        assert day.home("--agent", "aegis", "recall", "watched").code == 30


def _erase(day: Day) -> None:
    told = day.home.done("--agent", "sky", "erase", "--match", "Otter 4711")
    day.receipt = told["receipt"]


def _ask(day: Day) -> None:
    """Each door finds what its agent wrote last."""
    query = {"q": "sky decided hour 2", "mode": "deterministic"}
    found = day.house.api.get("/v1/agents/sky/search", **query).json()
    day.asked.append(found["results"][0]["content"])
    listed = day.house.mcp.done("memory_search", query="hobbs decided hour 2")
    day.asked.append(listed["results"][0]["quoted"].partition("] ")[2])
    event = {"hook_event_name": "UserPromptSubmit", "prompt": "what was decided, hour 2?"}
    day.asked.append(day.house.hooks.tells("prompt", {**event, "session_id": "other"}).context)
    # What sky shares was written just now, aegis' own is of long ago: words alone are to tell.
    words = ("recall", "aegis reported hour 2", "--recency-bias", "0")
    recalled = day.home.done("--agent", "aegis", *words)
    day.asked.append(recalled["results"][0]["content"])


def test_every_memory_that_was_acknowledged_is_in_one_place(day: Day) -> None:
    for agent in AGENTS:
        found = places_of(day.home.paths.root, agent)
        theirs = [text for text, whose in day.house.kept.items() if whose == agent]
        assert {text: found[text] for text in theirs} == dict.fromkeys(theirs, 1)


def test_every_agents_books_are_balanced(day: Day) -> None:
    told = day.home.done("fsck")

    assert told["problems"] == []
    for agent in AGENTS:
        assert (told["memories"][agent]["lost"], told["memories"][agent]["doubled"]) == (0, 0)
    assert day.home.done("audit", "verify")["valid"]


def test_only_what_was_provoked_is_a_violation(day: Day) -> None:
    found = day.home.done("agents", "violations")["violations"]

    assert sorted((one["agent"], one["whose"], one["door"]) for one in found) == [
        ("hobbs", "aegis", "cli:recall"),
        ("hobbs", "sky", "mcp:memory_get"),
    ]


def test_every_door_found_what_its_agent_wrote(day: Day) -> None:
    by_api, by_mcp, by_hook, by_shell = day.asked

    assert by_api == "sky decided (hour 2)"
    assert by_mcp == "hobbs decided (hour 2)"
    assert "sky decided (hour 2)" in by_hook
    assert by_shell == "aegis reported (hour 2)"


def test_what_was_erased_is_in_no_file_of_anybody(day: Day) -> None:
    assert day.receipt["complete"], day.receipt
    assert traces(day.home.paths.root, SAFE) == []


def test_the_backup_has_all_that_was_kept_before_it_once(day: Day) -> None:
    restored = day.other("restored")
    for agent in AGENTS:
        found = places_of(restored.paths.root, agent)
        theirs = [text for text, whose in day.before_backup.items() if whose == agent]
        assert {text: found[text] for text in theirs} == dict.fromkeys(theirs, 1)
        assert max(found.values()) == 1
    assert restored.done("fsck")["problems"] == []
    assert restored.done("audit", "verify")["valid"]


def test_sky_has_moved_whole_and_moves_once(day: Day) -> None:
    moved = day.other("moved")
    found = places_of(moved.paths.root, "sky")
    theirs = [text for text, whose in day.before_export.items() if whose == "sky"]

    assert {text: found[text] for text in theirs} == dict.fromkeys(theirs, 1)
    assert day.moved["imported"] >= len(theirs)
    assert day.again["imported"] == 0
    assert moved.done("fsck")["problems"] == []


def test_nobody_is_left_behind(day: Day) -> None:
    paths = day.home.paths

    assert day.house.daemon.poll() == day.house.api.process.poll() == 0
    assert not (paths.root / "run/api.sock").exists()
    assert "process" not in holder_of(paths.engine_lock)
    assert [*paths.root.rglob("*.new")] == []


def test_the_day_was_one_in_which_things_happened(day: Day) -> None:
    """Lest all this be true of a home where nobody did anything."""
    memories = day.home.done("fsck")["memories"]
    copies = day.home.paths.agent("aegis").long_term.read_bytes().count(b'"shared_from"')

    assert all(memories[agent]["long"] >= 3 for agent in AGENTS)
    assert memories["aegis"]["archive"] >= 1
    assert memories["sky"]["erased"] == 1
    assert copies >= 1
