"""The soak's commands: one after the other, as people and monitors run them; some are killed."""

import json
import random
import shlex
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from benchmarks.soak_verbs import (
    BAD_SCHEDULE,
    DOCUMENT,
    EVENT,
    LINE,
    NO_SUCH_MEMORY,
    OTHER_RULES,
    SURE_ANSWER,
    TURN,
    VERBS,
    Verb,
)
from benchmarks.soak_writers import AGENTS, WORDS, end_of
from tests.acceptance.homes import COMMAND

COMMAND_SECONDS = 120.0
PATIENT_SECONDS = 15.0

Memory = tuple[str, str, str]
"""Agent, id and text of one that was acknowledged."""


class Commands:
    """At most one at a time."""

    def __init__(
        self,
        home: Path,
        scratch: Path,
        chance: random.Random,
        some: Callable[[random.Random], Memory | None],
    ) -> None:
        self._home = home
        self._scratch = scratch
        self._chance = chance
        self._some = some
        self._deck: list[Verb] = []
        """What is still to come before any command comes again."""

        self._plan = scratch / "plan.json"
        self._out = scratch / "command.out"
        self._in = scratch / "command.in"
        self.errors = scratch / "command.err"
        """All that they complained of."""

        self.wrong: list[str] = []
        self.counts: Counter[str] = Counter()
        self.codes: Counter[str] = Counter()
        self.longest: dict[str, float] = {}
        """Seconds, by verb."""

        self.written: dict[str, str] = {}
        """Each text whose command ended well, with no id: what it was told is not kept."""

        self.maybe: set[str] = set()
        """The end of each text that a command may have written."""

        self.erased: dict[str, bool] = {}
        """Each text that was to be erased, and whether it was told that it is."""

        self._complains_from = 0
        """Where in `errors` those of the one that runs begin."""

        self._running: subprocess.Popen[bytes] | None = None
        self._verb = VERBS[0]
        self._words: list[str] = []
        self._memory: Memory | None = None
        self._made = ""
        self._number = 0
        self._begun = 0.0
        self._next = 0.0
        self._interrupt_at = float("inf")
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
            self.wrong.append(f"{self._verb.words}: not done in {COMMAND_SECONDS:.0f} s")
            self.kill()
        elif now >= self._interrupt_at:
            self._interrupt_at = float("inf")
            self._running.terminate()

    def kill_one(self, *, bad: bool) -> bool:
        """SIGKILL to one in the middle of whatever it does; `bad` as of `look`."""
        self.look(bad=bad)
        if self._running is None:
            self._start(self._choice(time.monotonic()), bad=bad)
        time.sleep(self._chance.uniform(0, 0.5))
        return self.kill()

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

    def _choice(self, now: float) -> Verb:
        """What is paused is resumed after some seconds: the daemon must have something to do."""
        for name, since in self._paused.items():
            if now - since > 2:
                return next(verb for verb in VERBS if verb.words.startswith(f"resume {name}"))
        self._memory = self._some(self._chance)
        while True:
            if not self._deck:
                self._deck = self._chance.sample(VERBS, len(VERBS))
            verb = self._deck.pop()
            if self._fits(verb):
                return verb

    def _fits(self, verb: Verb) -> bool:
        """Whether what it is about is there."""
        if "{id}" in verb.words:
            return self._memory is not None
        return not verb.words.startswith("apply") or self._plan.exists()

    def _start(self, verb: Verb, *, bad: bool) -> None:
        self._verb, self._was_bad, self._killed = verb, bad, False
        self._begun = time.monotonic()
        self._interrupt_at = self._begun + (PATIENT_SECONDS if verb.interrupted else float("inf"))
        self._number += 1
        agent, name, text = self._memory or (self._chance.choice(AGENTS), "", "")
        filled = {
            "word": self._chance.choice(WORDS), "n": self._number, "id": name,
            "scratch": self._scratch, "ts": int(time.time()), "event": "PostToolUse",
            "plan": self._plan, "home": self._home,
        }  # fmt: skip
        self._words = shlex.split(verb.words.format_map(filled))
        self._made = (verb.writes or verb.may_write).format_map(filled)
        if self._made:
            self.maybe.add(end_of(self._made))
        if self._words[0] == "erase":
            self.erased.setdefault(text, False)
        self._prepare(filled)
        of = ["--agent", agent] if verb.agent or "{id}" in verb.words else []
        command = [*COMMAND, "--home", str(self._home), *of, *self._words]
        with (
            self._in.open("rb") as stdin,
            self._out.open("wb") as out,
            self.errors.open("ab") as errors,
        ):
            self._complains_from = errors.tell()
            self._running = subprocess.Popen(
                command, stdin=stdin, stdout=out, stderr=errors, cwd="/"
            )
        if self._words[0] == "pause":
            self._paused.setdefault(self._words[1], self._begun)

    def _prepare(self, filled: dict[str, object]) -> None:
        """Put what a command reads where it looks, and away what it makes."""
        self._in.write_text(EVENT.format_map(filled))
        (self._scratch / "import.jsonl").write_text(LINE.format_map(filled))
        (self._scratch / "turns.jsonl").write_text(TURN.format_map(filled))
        (self._scratch / "document.md").write_text(DOCUMENT.format_map(filled))
        (self._scratch / "other_rules.yaml").write_text(OTHER_RULES)
        for made in ("export.tar", "backup.tar"):
            (self._scratch / made).unlink(missing_ok=True)

    def _judge(self, code: int) -> None:
        what = self._words[0]
        self.counts[what] += 1
        self.codes[f"{what} {code}"] += 1
        took = time.monotonic() - self._begun
        self.longest[what] = max(took, self.longest.get(what, 0.0))
        if self._killed and code == -9:
            return
        if code == 0:
            self._ended_well(what)
        allowed = code in self._verb.codes or (code == BAD_SCHEDULE and self._was_bad)
        if not allowed and not self._declined(code):
            self.wrong.append(f"{' '.join(self._words)}: ended with {code}: {self._said()}")

    def _declined(self, code: int) -> bool:
        """Whether it was right not to do it: the memory is erased, or there was nothing to do."""
        if code == NO_SUCH_MEMORY and self._memory is not None and self._memory[2] in self.erased:
            return True
        said = self._said()
        return any(code == one and words in said for one, words in self._verb.refusals)

    def _ended_well(self, what: str) -> None:
        if what == "resume":
            self._paused.pop(self._words[1], None)
        if what == "erase" and self._memory is not None:
            self.erased[self._memory[2]] = True
        if self._verb.writes:
            self.written[self._made] = ""
        if what in SURE_ANSWER:
            try:
                json.loads(self._out.read_bytes())
            except ValueError as error:
                self.wrong.append(f"{' '.join(self._words)}: printed no JSON: {error}")

    def _said(self) -> str:
        complaints = self.errors.read_bytes()[self._complains_from :].decode(errors="replace")
        lines = [*self._out.read_text().splitlines(), *complaints.splitlines()]
        return " | ".join(lines)[-600:]
