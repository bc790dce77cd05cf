"""Both worked workflows of the schema's document, through every door, leave equal homes (M11).

One home by shell appends, one over the API line by line, one over the API field by field, one over
MCP, and one where each memory comes in by another door than the last.
"""

import json
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import datetime
from typing import Any, Final

import pytest

from skymem.agent import AgentMemory
from skymem.app import open_home
from skymem.jobs.fsck import fsck
from skymem.stores.home import HomePaths
from tests.acceptance.homes import Outside
from tests.acceptance.workflows import PROMOTED, Door, Line, ShellDoor, carry_out, held
from tests.serve.conftest import Api, new_home, serving
from tests.serve.mcp_client import Spoken, speaking

DOORS: Final = ("shell", "lines", "fields", "mcp", "each in turn")


class LinesDoor:
    """The API, lines as they are spelled."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def store(self, line: Line) -> None:
        """Post it as JSON lines."""
        kind = {"content-type": "application/x-ndjson"}
        data = json.dumps(line).encode()
        told = self._api.client.post("/v1/agents/sky/lines", content=data, headers=kind)
        assert told.status_code == 201, told.text

    def search(self, query: str) -> list[str]:
        """By `/search`."""
        told = self._api.get("/v1/agents/sky/search", q=query, mode="deterministic").json()
        return [one["content"] for one in told["results"]]


class FieldsDoor(LinesDoor):
    """The API, field by field, as a program that knows neither spelling does."""

    def store(self, line: Line) -> None:
        """Post it as one memory."""
        self._api.remember(line["content"], **fields_of(line))


class McpDoor:
    """The tools of `skymem mcp`."""

    def __init__(self, client: Spoken) -> None:
        self._client = client

    def store(self, line: Line) -> None:
        """By `memory_store`."""
        self._client.store(line["content"], **fields_of(line))

    def search(self, query: str) -> list[str]:
        """By `memory_search`: what stands after what is said about it."""
        found = self._client.done("memory_search", query=query)["results"]
        return [one["quoted"].partition("] ")[2] for one in found]


class EachInTurn:
    """All of them: each memory by the next, each question by all."""

    def __init__(self, doors: list[Door]) -> None:
        self._doors = doors

    def store(self, line: Line) -> None:
        """By the one whose turn it is."""
        self._doors.append(self._doors.pop(0))
        self._doors[-1].store(line)

    def search(self, query: str) -> list[str]:
        """What all of them find."""
        first, *others = [door.search(query) for door in self._doors]
        assert all(other == first for other in others)
        return first


def fields_of(line: Line) -> dict[str, Any]:
    """What a program says of it that knows no spelling: a number of 0 to 1, seconds."""
    when = datetime.fromisoformat(line["timestamp"]).timestamp()
    return {"importance": line["score"] / 10, "metadata": line["metadata"], "ts": when}


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Outside]:
    """The workflows, done once through each."""
    root = tmp_path_factory.mktemp("doors")
    made = {name: Outside(HomePaths(new_home(root / name.replace(" ", "-")))) for name in DOORS}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SKYMEM_ENGINE", "off")
        for name, home in made.items():
            with ExitStack() as open_doors:
                carry_out(home, door_of(name, home, open_doors))
    return made


def door_of(name: str, home: Outside, open_doors: ExitStack) -> Door:
    """Open a door to a home."""
    if name == "shell":
        return ShellDoor(home)
    if name == "mcp":
        return McpDoor(open_doors.enter_context(speaking(home.paths.root)))
    api = open_doors.enter_context(serving(home.paths.root))
    if name == "lines":
        return LinesDoor(api)
    if name == "fields":
        return FieldsDoor(api)
    client = open_doors.enter_context(speaking(home.paths.root))
    return EachInTurn([ShellDoor(home), LinesDoor(api), FieldsDoor(api), McpDoor(client)])


def test_the_shells_home_is_as_the_document_says(homes: Mapping[str, Outside]) -> None:
    tiers = held(homes["shell"])

    assert [content for _, content, *_ in tiers["long"]] == sorted(PROMOTED, reverse=True)
    assert sorted(set(PROMOTED) & {content for _, content, *_ in tiers["short"]}) == []
    assert len(tiers["short"]) == 5


@pytest.mark.parametrize("door", DOORS[1:])
def test_the_homes_hold_the_same_in_the_same_tiers(homes: Mapping[str, Outside], door: str) -> None:
    assert held(homes[door]) == held(homes["shell"])


@pytest.mark.parametrize("door", DOORS[1:])
def test_their_books_come_to_the_same(homes: Mapping[str, Outside], door: str) -> None:
    books, expected = (books_of(homes[one]) for one in (door, "shell"))

    assert books == expected
    assert (books["came_in"], books["lost"], books["doubled"]) == (7, 0, 0)


def books_of(home: Outside) -> Mapping[str, int]:
    """In which state how many memories are."""
    opened = open_home(str(home.paths.root))
    return fsck(opened.workplace(), ["sky"]).memories["sky"]


@pytest.mark.parametrize("door", DOORS[1:])
def test_a_reader_is_told_the_same(homes: Mapping[str, Outside], door: str) -> None:
    assert told_of(homes[door]) == told_of(homes["shell"])


def told_of(home: Outside) -> list[tuple[Any, ...]]:
    """What the Python API gives as the newest, but for ids and whence it came."""
    found = AgentMemory(open_home(str(home.paths.root)), "sky").recent(limit=20)
    return sorted((one.ts, one.content, one.tier, str(one.kind)) for one in found)
