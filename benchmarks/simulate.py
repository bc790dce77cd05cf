"""A simulation of ninety days of runs every ten minutes, beside its floor: the lines' parse.

Run: python -m benchmarks.simulate
"""

import json
import os
import random
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from skymem import app
from skymem.jobs import runner
from skymem.jobs.table import COMBINED
from skymem.jobs.workplace import Workplace
from skymem.model.spelling import read_line
from skymem.simulation.simulate import Asked, simulate
from skymem.stores.fleeting import FleetingFiles
from skymem.stores.home import HomePaths

START: Final = 1_700_006_400.0
DAYS: Final = 90
EVERY_SECONDS: Final = 600
BUSY: Final = 0.03
"""Runs before which something came."""

OTHER: Final = "promote_threshold: 0.5\nshort_term_max_lines: 50\n"
DECAY: Final = OTHER + "promote: {decay: {per_day: 0.01, floor: 0.3}}\n"


class Lived:
    """A home with a past: whatever found something ran, and all of it is recorded."""

    def __init__(self, root: Path) -> None:
        app.init_home(root)
        self.paths = HomePaths(root)
        self.paths.rules.write_text("promote_threshold: 0.7\nshort_term_max_lines: 100\n")
        self.rules = app.open_home(str(root)).rules
        self.files = FleetingFiles()
        self.clock = START
        self.lines: list[bytes] = []

    def live(self) -> int:
        """Ninety days; returns how many runs there were."""
        chance = random.Random(4)
        runs = DAYS * 86_400 // EVERY_SECONDS
        work = Workplace(self.paths, self.files, self.rules, lambda: self.clock, lambda: None)
        status: list[bytes] = []
        idle: dict[str, Any] = {}
        for number in range(runs):
            self.clock = START + number * EVERY_SECONDS
            if not idle or chance.random() < BUSY:
                self._say(work, chance, number)
                detail, _ = runner.run(work, COMBINED, ["sky"])
                work.batch = ""
                idle = {**detail, "acted": 0}
            else:
                detail = {**idle, "started": self.clock}
            record = {"ts": self.clock, "action": COMBINED, "detail": detail, "seq": number + 1}
            status.append(json.dumps(record).encode() + b"\n")
        self.files.make_directory(self.paths.status)
        self.files.append(self.paths.status / "actions.jsonl", b"".join(status))
        return runs

    def _say(self, work: Workplace, chance: random.Random, number: int) -> None:
        lines = []
        for each in range(chance.randrange(1, 9)):
            fields = {
                "ts": self.clock - chance.uniform(0, 500),
                "type": "short",
                "content": f"seen at {number}.{each}: " + "some words of a usual length " * 4,
                "tags": ["work"],
                "importance": round(chance.random(), 2),
            }
            lines.append(json.dumps(fields).encode() + b"\n")
        self.lines += lines
        shelf = work.shelf("sky")
        shelf.ensure()
        shelf.append(lines)


def main() -> None:
    """Print what a simulation takes, by other rules and by a threshold that falls."""
    os.environ["SKYMEM_ENGINE"] = "off"
    with tempfile.TemporaryDirectory() as name:
        lived = Lived(Path(name) / "home")
        runs = lived.live()
        start = time.perf_counter()
        for line in lived.lines:
            read_line(line)
        floor = time.perf_counter() - start
        home = app.open_home(str(lived.paths.root))
        for what, text in (("other rules", OTHER), ("with decay", DECAY)):
            rules = Path(name) / "other.yaml"
            rules.write_text(text)
            begin, processor = time.perf_counter(), time.process_time()
            ((_, found),) = simulate(home, Asked(rules, START, lived.clock))
            seconds, used = time.perf_counter() - begin, time.process_time() - processor
            print(
                f"simulate, {what}: {found.runs:,} runs ({found.still:,} at which nothing could "
                f"change) over {len(lived.lines):,} lines in {seconds:.1f} s ({used:.1f} s of "
                f"processor, {runs / seconds:,.0f} runs/s); floor, the lines' parse: {floor:.2f} s"
            )


if __name__ == "__main__":
    main()
