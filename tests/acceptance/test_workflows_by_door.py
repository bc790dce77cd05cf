"""Both worked workflows of the schema's document, by shell appends and over the API (row M11)."""

import json
from pathlib import Path

import pytest

from skymem.stores.home import HomePaths
from tests.acceptance.homes import Outside
from tests.acceptance.workflows import PROMOTED, Door, Line, ShellDoor, carry_out, held
from tests.serve.conftest import Api, new_home, serving


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
        from datetime import datetime

        when = datetime.fromisoformat(line["timestamp"]).timestamp()
        fields = {"importance": line["score"] / 10, "metadata": line["metadata"], "ts": when}
        self._api.remember(line["content"], **fields)


@pytest.mark.parametrize("made", [LinesDoor, FieldsDoor])
def test_the_workflows_leave_equal_homes_whichever_door(
    tmp_path: Path, made: type[LinesDoor]
) -> None:
    by_shell = Outside(HomePaths(new_home(tmp_path / "shell")))
    by_api = Outside(HomePaths(new_home(tmp_path / "api")))

    carry_out(by_shell, ShellDoor(by_shell))
    with serving(by_api.paths.root) as api:
        door: Door = made(api)
        carry_out(by_api, door)

    assert held(by_api) == held(by_shell)
    assert [content for _, content, *_ in held(by_api)["long"]] == sorted(PROMOTED, reverse=True)
