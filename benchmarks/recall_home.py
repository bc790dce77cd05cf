"""A home to recall from: lines as agents write them, and a made-up vector for each."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.texts import each_text
from skymem import app

AGENT = "sky"
KIND = "decision"
"""A hundredth of the memories is of it."""

TAG = "audit"
"""One memory in ten thousand has it."""

FIRST_TS = 1_600_000_000
SECONDS_APART = 60
CONVERSATION = 40
"""Memories of a conversation; every other conversation has a name."""


def fill(name: str, count: int, *, vectors: bool) -> None:
    """Make a home of `count` memories in long-term; encoding them would take hours."""
    app.init_home(Path(name))
    directory = app.open_home(name).paths.agent(AGENT).directory
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "long_term.jsonl").open("w") as stream:
        for number, text in enumerate(each_text(count)):
            stream.write(json.dumps(_line(number, text)) + "\n")
    if vectors:  # in another process: this one's memory and libraries stay as a client's are
        subprocess.run([sys.executable, "-m", "benchmarks.filled_index", name], check=True)


def since(count: int) -> float:
    """The time from which the newest tenth is."""
    return float(FIRST_TS + SECONDS_APART * (count - count // 10))


def _line(number: int, text: str) -> dict[str, Any]:
    line: dict[str, Any] = {
        "id": f"m{number}",
        "ts": FIRST_TS + SECONDS_APART * number,
        "content": text,
        "kind": KIND if number % 100 == 7 else "observation",
        "tags": [f"topic{number % 50}", *([TAG] if number % 10_000 == 17 else [])],
        "importance": number * 7 % 11 / 10,
    }
    if number // CONVERSATION % 2:
        line["session"] = f"conversation {number // CONVERSATION}"
    return line
