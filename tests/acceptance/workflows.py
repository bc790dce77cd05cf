"""The two worked workflows of the schema's document (row M11), through whichever door.

A door is how an agent's program reaches its memory: shell appends, the API, MCP. What a home holds
at the end must not depend on it.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from skymem.model.spelling import read_line
from tests.acceptance.homes import Outside

Line = Mapping[str, Any]


def _line(second: int, content: str, score: int, **metadata: Any) -> Line:
    timestamp = f"2025-11-08T07:00:{second:02}Z"
    return {"timestamp": timestamp, "content": content, "score": score, "metadata": metadata}


MORNING_REPORT: Final = (
    _line(0, "Morning report workflow initiated", 2, type="action", workflow="morning_briefing"),
    _line(5, "Garmin sleep data retrieved: 7h 23m", 4, type="data", source="garmin"),
    _line(10, "Morning report generated successfully", 3, type="action", tool="morning_reporter"),
    _line(15, "TTS audio rendered", 2, type="action", tool="tts_morning_cli"),
)

TOOL_FAILURE: Final = (
    _line(
        0, "Garmin downloader failed: connection timeout", 6,
        type="error", tool="garmin_sleep_downloader",
    ),
    _line(5, "Retry attempt 1 failed", 7, type="error", retry=1),
    _line(10, "Escalated Garmin failure to Aegis", 9, type="escalation", escalated_to="Aegis"),
)  # fmt: skip

WORKFLOWS: Final = (*MORNING_REPORT, *TOOL_FAILURE)
PROMOTED: Final = ["Escalated Garmin failure to Aegis", "Retry attempt 1 failed"]


class Door(Protocol):
    """How a program of agent `sky` reaches its memory."""

    def store(self, line: Line) -> None:
        """Write one memory, with all that the line says."""

    def search(self, query: str) -> list[str]:
        """The texts found for a query, by words, best first."""


class ShellDoor:
    """`echo … >> short_term.jsonl`, and the command line."""

    def __init__(self, home: Outside) -> None:
        self._home = home

    def store(self, line: Line) -> None:
        """Append it, as a shell does."""
        self._home.echo(json.dumps(line).encode() + b"\n")

    def search(self, query: str) -> list[str]:
        """By `skymem recall`."""
        found = self._home.done("recall", query, "--mode", "deterministic")
        return [one["content"] for one in found["results"]]


def carry_out(home: Outside, door: Door) -> None:
    """Do both workflows through a door; the home's keeper promotes, and the door finds it all."""
    for line in WORKFLOWS:
        door.store(line)
    promoted = home.done("promote")
    assert promoted["promoted"] == len(PROMOTED), promoted
    assert door.search("escalated failure to Aegis")[0] == PROMOTED[0]
    assert door.search("Garmin sleep data")[0] == "Garmin sleep data retrieved: 7h 23m"
    assert home.done("fsck")["problems"] == []
    assert home.done("audit", "verify")["valid"]


def held(home: Outside) -> dict[str, list[tuple[Any, ...]]]:
    """What a home holds of `sky`, tier by tier, as far as a reader can tell: not how it is spelled.

    Where a memory came from is the door's to say, and is left out.
    """
    agent = home.paths.agent("sky")
    return {"short": _read(agent.short_term), "long": _read(agent.long_term)}


def _read(path: Path) -> list[tuple[Any, ...]]:
    found = [read_line(line) for line in path.read_bytes().splitlines()]
    return sorted(
        (one.time_us, one.content, one.kind or "", one.importance, _metadata(one)) for one in found
    )


def _metadata(memory: Any) -> str:
    told = {key: value for key, value in memory.metadata.items() if key not in ("origin", "trust")}
    return json.dumps(told, sort_keys=True)
