"""One process of the race: runs jobs, appends by the API, or holds the file open.

`worker.py VERB HOME STOP NAME UID`: works as that user until the file STOP is there, then prints
what it did.
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from skymem import app
from skymem.stores.files import Files

SWAPS_MIN = 12


class Counting(Files):
    """Real disk, counting what tells that there was a race."""

    swaps = 0
    late_lines = 0

    def append(self, path: Path, data: bytes, *, shared: bool = False, synced: bool = True) -> int:
        if path.name == "short_term.jsonl":  # a job appends there only what came late
            self.late_lines += data.count(b"\n")
        return super().append(path, data, shared=shared, synced=synced)

    def rename(self, source: Path, target: Path) -> None:
        super().rename(source, target)
        if target.name == "short_term.jsonl":
            self.swaps += 1


def run_jobs(home: app.Home, _stop: Path, seconds: str) -> dict[str, Any]:
    """Promote and rotate: once for 0 seconds, else so long and until it was a race."""
    files = Counting(home.files.modes)
    home.files = files
    runs = held = 0
    errors: list[str] = []
    end = time.monotonic() + float(seconds)
    while runs == 0 or (seconds != "0" and (time.monotonic() < end or not enough(files))):
        detail, _ = home.run_job("memory_rotate_check")
        runs += 1
        held += sum(one.get("held", 0) for one in detail["agents"].values())
        if not detail["ok"]:
            errors.append(detail["error"])
    counts = {"runs": runs, "held": held, "swaps": files.swaps, "late": files.late_lines}
    return {**counts, "errors": errors}


def enough(files: Counting) -> bool:
    return files.swaps > SWAPS_MIN and files.late_lines > 0


def append_by_api(home: app.Home, stop: Path, name: str) -> dict[str, Any]:
    """Append as `remember` does, one line a call."""
    shelf = home.shelf("sky")
    written = 0
    while not stop.exists():
        shelf.append([spell(name, written)])
        written += 1
        time.sleep(0.005)
    return {"written": written}


def hold_open(home: app.Home, stop: Path, name: str) -> dict[str, Any]:
    """Open the file once and go on writing to it, across swaps and a bit beyond the end."""
    written = 0
    deadline = None
    with home.shelf("sky").paths.short_term.open("ab", buffering=0) as stream:
        while deadline is None or time.monotonic() < deadline:
            stream.write(spell(name, written))
            written += 1
            time.sleep(0.005)
            if deadline is None and stop.exists():
                deadline = time.monotonic() + 0.5
    return {"written": written}


def spell(name: str, number: int) -> bytes:
    importance = 0.9 if number % 3 == 0 else 0.2
    fields = {"ts": 1_700_000_000 + number, "content": f"{name}-{number}", "importance": importance}
    return json.dumps(fields).encode() + b"\n"


def become(uid: int) -> None:
    """Drop to an ordinary user, who may not be able to read what is imported late: do it before."""
    if uid != os.getuid():
        with tempfile.TemporaryDirectory() as place:
            app.init_home(Path(place))
            rehearsal = app.open_home(place)
            rehearsal.shelf("sky").append([spell("a", 0), spell("a", 1)])
            rehearsal.run_job("memory_rotate_check")
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)


VERBS = {"jobs": run_jobs, "api": append_by_api, "hold": hold_open}

if __name__ == "__main__":
    verb, place, stop, name, uid = sys.argv[1:]
    become(int(uid))
    done = VERBS[verb](app.open_home(place), Path(stop), name)
    print(json.dumps(done))  # noqa: T201
