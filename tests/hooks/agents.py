"""A coding agent as hooks see it: it starts a process, writes an event, and reads the answer."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skymem.model.memory import Memory
from skymem.model.spelling import read_line
from skymem.stores.home import HomePaths

SECONDS = 300
"""When a test gives up."""

PATIENT = {"SKYMEM_HOOK_SECONDS": "200", "SKYMEM_HOOK_STANDBY": "off"}
"""A hook has as long as it likes, and leaves nothing running."""


@dataclass(frozen=True)
class Told:
    code: int
    out: str
    err: str

    @property
    def context(self) -> str:
        found = json.loads(self.out)["hookSpecificOutput"]["additionalContext"]
        assert isinstance(found, str)
        return found

    @property
    def message(self) -> str:
        """What the person is told; "" for nothing."""
        found = json.loads(self.out).get("systemMessage", "") if self.out else ""
        assert isinstance(found, str)
        return found


@dataclass(frozen=True)
class CodingAgent:
    """One that has hooks of a home's agent `sky`."""

    paths: HomePaths

    def calls(self, verb: str, stdin: bytes, **environment: str) -> Told:
        words = ("--home", str(self.paths.root), "--agent", "sky", "hook", verb)
        done = subprocess.run(
            [sys.executable, "-P", "-m", "skymem", *words],
            input=stdin, capture_output=True, timeout=SECONDS, check=False, cwd="/",
            env={**os.environ, **PATIENT, **environment},
        )  # fmt: skip
        return Told(done.returncode, done.stdout.decode(), done.stderr.decode())

    def tells(self, verb: str, event: dict[str, Any], **environment: str) -> Told:
        return self.calls(verb, json.dumps(event).encode(), **environment)

    @property
    def short_term(self) -> Path:
        return self.paths.agent("sky").short_term

    def memories(self) -> list[Memory]:
        if not self.short_term.exists():
            return []
        return [read_line(line) for line in self.short_term.read_bytes().splitlines()]
