"""The soak's writers: two shells that know of no lock, and a process at each of the other doors.

`python -m benchmarks.soak_writers DOOR HOME AGENT NAME RECORD STOP` is one of the latter: it notes
each id it was given, durably, before it goes on. What was noted or counted was acknowledged.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.soak_doors import DOORS, UnansweredError
from tests.acceptance.homes import ROOT

AGENTS = ("sky", "hobbs")
PAUSE_SECONDS = 0.1
LEAVE_SECONDS = 60.0
KINDS = ("fact", "fact", "event", "decision")
UNANSWERED = "?"
"""Noted in an id's place: the door closed before it said whether the text was taken."""

_SAID = (
    "report deploy server database token meeting branch review latency cache disk memory "
    "threshold customer invoice garden sleep heart project deadline friday answer theme postgres "
    "migration index rollback error violin recipe passport ferry winter allergy mortgage "
    "telescope bicycle harvest dentist orchard lantern museum battery compass festival glacier "
    "kitchen library"
)
WORDS = _SAID.split()

# Each echo that the shell did not complain of is noted in $3.
ECHO = """
RANDOM=$5; words=($6); n=0
until [ -d "${1%/*}" ]; do sleep 0.05; done
while [ ! -e "$2" ]; do
  text=""
  for _ in 1 2 3 4 5 6; do text="$text${words[RANDOM % ${#words[@]}]} "; done
  text="$text($4-$n)"
  worth="0.$((RANDOM % 6 + 4))"
  line="{\\"ts\\": $EPOCHSECONDS, \\"content\\": \\"$text\\", \\"importance\\": $worth}"
  echo "$line" >> "$1" && echo "$n $text" >> "$3"
  n=$((n + 1))
  sleep 0.1
done
"""


SEATS = {"python": ("python", "sky"), "python too": ("python", "hobbs"),
         "http": ("http", "sky"), "mcp": ("mcp", "hobbs")}  # fmt: skip
"""Who writes besides the shells: through which door, and for whom."""


class Writers:
    """All of them; those that are no shells may be killed and started anew."""

    def __init__(self, home: Path, scratch: Path, seed: int) -> None:
        self._home = home
        self._seed = seed
        self._stop = scratch / "stop"
        self._records = scratch / "records"
        self._records.mkdir()
        self._lives = 0
        self.seated: dict[str, tuple[str, subprocess.Popen[bytes]]] = {}
        """By seat: the name in its texts, and the process."""

        self.killed: set[str] = set()
        self._shells = [self._shell(number, agent) for number, agent in enumerate(AGENTS)]
        for seat in SEATS:
            self._seat(seat)

    def _shell(self, number: int, agent: str) -> subprocess.Popen[bytes]:
        short_term = self._home / "memory" / agent / "short_term.jsonl"
        name = f"echo{number}"
        place = [str(short_term), str(self._stop), str(self._records / name), name]
        command = ["bash", "-c", ECHO, "bash", *place, str(self._seed + number), " ".join(WORDS)]
        return subprocess.Popen(command)

    def _seat(self, seat: str) -> None:
        door, agent = SEATS[seat]
        name = f"{door}{self._lives}"
        self._lives += 1
        place = [str(self._home), agent, name, str(self._records / name), str(self._stop)]
        command = [sys.executable, "-m", "benchmarks.soak_writers", door, *place]
        self.seated[seat] = name, subprocess.Popen(command, cwd=ROOT)

    def kill_one(self, seat: str) -> bool:
        """End a writer in the middle of whatever it does; another one goes on."""
        name, process = self.seated[seat]
        process.kill()
        process.wait()
        self.killed.add(name)
        self._seat(seat)
        return True

    def close(self) -> None:
        """End whoever is still there."""
        for process in (*self._shells, *(process for _, process in self.seated.values())):
            process.kill()
            process.wait()

    def stop(self) -> list[str]:
        """Let all finish; returns what went wrong with them."""
        self._stop.touch()
        seated = [process for _, process in self.seated.values()]
        codes = [process.wait(LEAVE_SECONDS) for process in (*self._shells, *seated)]
        return [f"a writer ended with {code}" for code in codes if code]

    def acknowledged(self) -> dict[str, str]:
        """Each text that was, and its id, "" where a shell wrote it."""
        found: dict[str, str] = {}
        for record in self._records.iterdir():
            is_shell = record.name.startswith("echo")
            for line in record.read_text().splitlines():
                note, _, text = line.partition(" ")
                if note != UNANSWERED:
                    found[text] = "" if is_shell else note
        return found

    def one_of(self, chance: random.Random) -> tuple[str, str, str] | None:
        """Some agent's memory that was acknowledged with an id: the agent, the id, the text."""
        seat = chance.choice([*self.seated])
        record = self._records / self.seated[seat][0]
        lines = record.read_text().splitlines() if record.exists() else []
        told = [line for line in lines if not line.startswith(UNANSWERED)]
        if not told:
            return None
        note, _, text = chance.choice(told).partition(" ")
        return SEATS[seat][1], note, text

    def maybe(self) -> set[str]:
        """The end of each text that may have been written though nobody was told so."""
        found = set()
        for record in self._records.iterdir():
            lines = record.read_text().splitlines()
            found |= {end_of(line) for line in lines if line.startswith(UNANSWERED)}
            if record.name in self.killed:
                found.add(f"({record.name}-{len(lines)})")
        return found | {f"({name}-0)" for name in self.killed}


def end_of(text: str) -> str:
    """What no other text ends with."""
    return text[text.rfind("(") :]


def texts(name: str) -> Iterator[str]:
    """Texts of different meaning, each with a number of its own."""
    chance, number = random.Random(name), 0
    while True:
        yield f"{' '.join(chance.choices(WORDS, k=6))} ({name}-{number})"
        number += 1


def main(door: str, home: str, agent: str, *told: str) -> None:
    """Remember, note, and rest, until told to stop; `told` are NAME, RECORD and STOP."""
    name, record, stop = told
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    chance = random.Random(name)
    notes = os.open(record, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with DOORS[door](Path(home), agent) as remember:
        for text in texts(name):
            if os.path.exists(stop):
                break
            kind = chance.choice(KINDS)
            try:
                note = remember(text, round(chance.uniform(0.4, 1.0), 2), kind)
            except UnansweredError:
                note = UNANSWERED
            os.write(notes, f"{note} {text}\n".encode())
            os.fdatasync(notes)
            time.sleep(PAUSE_SECONDS)


if __name__ == "__main__":
    main(*sys.argv[1:])
