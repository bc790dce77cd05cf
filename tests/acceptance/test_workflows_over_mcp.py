"""Both worked workflows of the schema's document, by shell appends and over MCP (row M11)."""

from datetime import datetime
from pathlib import Path

import pytest

from skymem.app import init_home
from skymem.stores.home import HomePaths
from tests.acceptance.homes import Outside
from tests.acceptance.workflows import PROMOTED, Line, ShellDoor, carry_out, held
from tests.serve.mcp_client import Spoken, speaking


class McpDoor:
    """The tools of `skymem mcp`."""

    def __init__(self, client: Spoken) -> None:
        self._client = client

    def store(self, line: Line) -> None:
        """By `memory_store`."""
        when = datetime.fromisoformat(line["timestamp"]).timestamp()
        fields = {"importance": line["score"] / 10, "metadata": line["metadata"], "ts": when}
        self._client.store(line["content"], **fields)

    def search(self, query: str) -> list[str]:
        """By `memory_search`: what stands after what is said about it."""
        found = self._client.done("memory_search", query=query)["results"]
        return [one["quoted"].partition("] ")[2] for one in found]


def test_the_workflows_leave_equal_homes_over_mcp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKYMEM_ENGINE", "off")
    homes = []
    for name in ("shell", "mcp"):
        init_home(tmp_path / name)
        homes.append(Outside(HomePaths(tmp_path / name)))
    by_shell, by_mcp = homes

    carry_out(by_shell, ShellDoor(by_shell))
    with speaking(by_mcp.paths.root) as client:
        carry_out(by_mcp, McpDoor(client))

    assert held(by_mcp) == held(by_shell)
    assert [content for _, content, *_ in held(by_mcp)["long"]] == sorted(PROMOTED, reverse=True)
