"""The soak's writers: two shells that know of no lock, and two processes of the Python API.

`python -m benchmarks.soak_writers HOME AGENT NAME RECORD STOP` is one of the latter: it notes each
id it was given, durably, before it goes on. What was noted or counted was acknowledged.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import skymem
from tests.acceptance.homes import ROOT

AGENTS = ("sky", "hobbs")
PAUSE_SECONDS = 0.1
LEAVE_SECONDS = 30.0

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


class Writers:
    """All four; the API's may be killed and started anew."""

    def __init__(self, home: Path, scratch: Path, seed: int) -> None:
        self._home = home
        self._seed = seed
        self._stop = scratch / "stop"
        self._records = scratch / "records"
        self._records.mkdir()
        self._lives = 0
        self.api: dict[str, tuple[str, subprocess.Popen[bytes]]] = {}
        """By agent: the name in its texts, and the process."""

        self.killed: set[str] = set()
        self._shells = [self._shell(number, agent) for number, agent in enumerate(AGENTS)]
        for agent in AGENTS:
            self._start_api(agent)

    def _shell(self, number: int, agent: str) -> subprocess.Popen[bytes]:
        short_term = self._home / "memory" / agent / "short_term.jsonl"
        name = f"echo{number}"
        place = [str(short_term), str(self._stop), str(self._records / name), name]
        command = ["bash", "-c", ECHO, "bash", *place, str(self._seed + number), " ".join(WORDS)]
        return subprocess.Popen(command)

    def _start_api(self, agent: str) -> None:
        name = f"api{self._lives}"
        self._lives += 1
        place = [str(self._home), agent, name, str(self._records / name), str(self._stop)]
        command = [sys.executable, "-m", "benchmarks.soak_writers", *place]
        self.api[agent] = name, subprocess.Popen(command, cwd=ROOT)

    def kill_one(self, agent: str) -> bool:
        """End the agent's API writer in the middle of whatever it does; another one goes on."""
        name, process = self.api[agent]
        process.kill()
        process.wait()
        self.killed.add(name)
        self._start_api(agent)
        return True

    def close(self) -> None:
        """End whoever is still there."""
        for process in (*self._shells, *(process for _, process in self.api.values())):
            process.kill()
            process.wait()

    def stop(self) -> list[str]:
        """Let all finish; returns what went wrong with them."""
        self._stop.touch()
        api = [process for _, process in self.api.values()]
        codes = [process.wait(LEAVE_SECONDS) for process in (*self._shells, *api)]
        return [f"a writer ended with {code}" for code in codes if code]

    def acknowledged(self) -> dict[str, str]:
        """Each text that was, and its id, "" where a shell wrote it."""
        found: dict[str, str] = {}
        for record in self._records.iterdir():
            is_api = record.name.startswith("api")
            for line in record.read_text().splitlines():
                note, _, text = line.partition(" ")
                found[text] = note if is_api else ""
        return found

    def maybe(self) -> set[str]:
        """The end of each text that a killed writer may have written and not noted any more."""
        found = set()
        for name in self.killed:
            record = self._records / name
            noted = len(record.read_text().splitlines()) if record.exists() else 0
            found.add(f"({name}-{noted})")
        return found


def texts(name: str) -> Iterator[str]:
    """Texts of different meaning, each with a number of its own."""
    chance, number = random.Random(name), 0
    while True:
        yield f"{' '.join(chance.choices(WORDS, k=6))} ({name}-{number})"
        number += 1


def main(home: str, agent: str, name: str, record: str, stop: str) -> None:
    """Remember, note, and rest, until told to stop."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    memory = skymem.open_memory(agent, home=home)
    chance = random.Random(name)
    notes = os.open(record, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for text in texts(name):
        if os.path.exists(stop):
            break
        note = memory.remember(text, importance=round(chance.uniform(0.4, 1.0), 2))
        os.write(notes, f"{note} {text}\n".encode())
        os.fdatasync(notes)
        time.sleep(PAUSE_SECONDS)


if __name__ == "__main__":
    main(*sys.argv[1:])
