"""The protocol's own client, speaking to a real `skymem mcp` over stdio."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult, TextContent, Tool

ROOT = Path(__file__).parents[2]
REQUEST_SECONDS = 60.0


class Spoken:
    """One client and its server."""

    def __init__(self, portal: BlockingPortal, client: Client, log: Path) -> None:
        self._portal = portal
        self._client = client
        self._log = log

    @property
    def log(self) -> str:
        """What the server said on stderr."""
        return self._log.read_text()

    def tools(self) -> dict[str, Tool]:
        """The tools it has."""
        listed = self._portal.call(self._client.list_tools)
        return {tool.name: tool for tool in listed.tools}

    def call(self, name: str, **arguments: Any) -> CallToolResult:
        """Call a tool, however it ends."""
        told: CallToolResult = self._portal.call(self._client.call_tool, name, arguments)
        return told

    def done(self, name: str, **arguments: Any) -> dict[str, Any]:
        """What a tool tells that has to succeed."""
        result = self.call(name, **arguments)
        assert not result.is_error, result
        told: dict[str, Any] = result.structured_content
        return told

    def text(self, name: str, **arguments: Any) -> str:
        """What a model reads of a tool's answer."""
        return text_of(self.call(name, **arguments))

    def refusal(self, name: str, **arguments: Any) -> str:
        """The sentence of a call that has to fail."""
        result = self.call(name, **arguments)
        assert result.is_error, result
        return text_of(result)

    def store(self, content: str, **fields: Any) -> str:
        """Remember; its id."""
        return str(self.done("memory_store", content=content, **fields)["id"])


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


@contextmanager
def speaking(home: Path, agent: str = "sky", **environment: str) -> Iterator[Spoken]:
    """Start a server as a client's configuration does, and end it with the client."""
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "skymem", "--home", str(home), "--agent", agent, "mcp"],
        env={"SKYMEM_ENGINE": "off", **environment},
        cwd=ROOT,
    )
    path = home.parent / f"{home.name}.mcp.log"
    with path.open("w") as log, start_blocking_portal() as portal:
        client = Client(stdio_client(parameters, errlog=log), read_timeout_seconds=REQUEST_SECONDS)
        with portal.wrap_async_context_manager(client):
            yield Spoken(portal, client, path)


def violations(home: Path) -> list[tuple[str, str, str]]:
    """Who reached for whom by which door, as the ledger has it."""
    entries = [
        json.loads(line)
        for path in sorted((home / "audit").glob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]
    return [
        (one["agent"], one["whose"], one["door"]) for one in entries if one["op"] == "violation"
    ]
