"""The soak's commands: one after the other, as people and monitors run them; some are killed."""

import json
import random
import subprocess
import time
from collections import Counter
from pathlib import Path

from benchmarks.soak_writers import AGENTS, WORDS
from tests.acceptance.homes import COMMAND

COMMAND_SECONDS = 120.0
ALWAYS = frozenset({0})
BUSY = frozenset({0, 11})
DEGRADED = frozenset({0, 11, 23, 40})
"""The engine is killed now and then: what needs it may have to do without."""

ASKED = DEGRADED | {130, 137}
"""A run of the daemon's: it, or its child, may be killed."""

BAD_SCHEDULE = 78
CODES: dict[tuple[str, ...], frozenset[int]] = {
    ("promote", "--json"): DEGRADED,
    ("rotate", "--json"): BUSY,
    ("trigger", "memory_rotate_check", "--json"): ASKED,
    ("trigger", "index", "--json"): ASKED,
    ("recall", "{word}", "--json"): ALWAYS,
    ("recall", "{word}", "--mode", "semantic", "--json"): frozenset({0, 40}),
    ("status", "--json"): ALWAYS,
    ("check", "--json"): frozenset({0, 20, 23}),
    ("jobs", "--json"): ALWAYS,
    ("pause", "memory_rotate_check", "--json"): ALWAYS,
    ("resume", "memory_rotate_check", "--json"): ALWAYS,
    ("pause", "index", "--json"): ALWAYS,
    ("resume", "index", "--json"): ALWAYS,
}
"""What is run, and what it may end with."""

SURE_ANSWER = ("recall", "status", "jobs", "check")
"""These print a document whenever they end with 0."""


class Commands:
    """At most one at a time."""

    def __init__(self, home: Path, scratch: Path, chance: random.Random) -> None:
        self._home = home
        self._chance = chance
        self._out = scratch / "command.out"
        self.errors = scratch / "command.err"
        """All that they complained of."""

        self.wrong: list[str] = []
        self.counts: Counter[str] = Counter()
        self.codes: Counter[str] = Counter()
        self.longest: dict[str, float] = {}
        """Seconds, by verb."""

        self._running: subprocess.Popen[bytes] | None = None
        self._words: tuple[str, ...] = ()
        self._begun = 0.0
        self._next = 0.0
        self._was_bad = False
        self._killed = False
        self._paused: dict[str, float] = {}

    def look(self, *, bad: bool) -> None:
        """Judge the one that has ended and start another; `bad`: the schedule can't be read now."""
        self._was_bad = self._was_bad or bad
        now = time.monotonic()
        if self._running is None:
            if now >= self._next:
                self._start(self._choice(now), bad=bad)
            return
        code = self._running.poll()
        if code is not None:
            self._judge(code)
            self._running = None
            self._next = now + self._chance.uniform(0, 0.4)
        elif now - self._begun > COMMAND_SECONDS:
            self.wrong.append(f"{' '.join(self._words)}: not done in {COMMAND_SECONDS:.0f} s")
            self.kill()

    def kill(self) -> bool:
        """SIGKILL to the one that runs, if one does."""
        if self._running is None or self._running.poll() is not None:
            return False
        self._running.kill()
        self._killed = True
        return True

    def wait(self) -> None:
        """See the last one to its end."""
        deadline = time.monotonic() + COMMAND_SECONDS
        while self._running is not None and time.monotonic() < deadline:
            self._next = float("inf")
            self.look(bad=False)
            time.sleep(0.05)

    def _choice(self, now: float) -> tuple[str, ...]:
        """What is paused is resumed after some seconds: the daemon must have something to do."""
        for name, since in self._paused.items():
            if now - since > 2:
                return ("resume", name, "--json")
        return self._chance.choice(list(CODES))

    def _start(self, words: tuple[str, ...], *, bad: bool) -> None:
        self._words, self._was_bad, self._killed = words, bad, False
        self._begun = time.monotonic()
        agent = ["--agent", self._chance.choice(AGENTS)] if words[0] == "recall" else []
        spoken = [word.format(word=self._chance.choice(WORDS)) for word in words]
        command = [*COMMAND, "--home", str(self._home), *agent, *spoken]
        with self._out.open("wb") as out, self.errors.open("ab") as errors:
            self._running = subprocess.Popen(command, stdout=out, stderr=errors, cwd="/")
        if words[0] == "pause":
            self._paused.setdefault(words[1], self._begun)

    def _judge(self, code: int) -> None:
        what = " ".join(self._words)
        self.counts[self._words[0]] += 1
        self.codes[f"{self._words[0]} {code}"] += 1
        took = time.monotonic() - self._begun
        self.longest[self._words[0]] = max(took, self.longest.get(self._words[0], 0.0))
        if self._killed and code == -9:
            return
        if self._words[0] == "resume" and code == 0:
            self._paused.pop(self._words[1], None)
        allowed = code in CODES[self._words] or (code == BAD_SCHEDULE and self._was_bad)
        if not allowed:
            self.wrong.append(f"{what}: ended with {code}: {self._said()}")
        elif code == 0 and self._words[0] in SURE_ANSWER:
            self._parse(what)

    def _parse(self, what: str) -> None:
        try:
            json.loads(self._out.read_bytes())
        except ValueError as error:
            self.wrong.append(f"{what}: printed no JSON: {error}")

    def _said(self) -> str:
        lines = [*self._out.read_text().splitlines(), *self.errors.read_text().splitlines()[-3:]]
        return " | ".join(lines)[-600:]
