"""The rows that need an engine: recall by meaning, and `index` against very many that are owed."""

import os
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from statistics import median

from benchmarks.daemon import rss_bytes
from benchmarks.recall_home import AGENT
from benchmarks.recall_speed import PIECE, wait_for_index
from benchmarks.scale_process import Figures, Process
from benchmarks.texts import texts
from skymem import app, open_memory
from skymem.stores.cursors import IndexCursors
from skymem.stores.status import read_json

QUERIES = 30
SLICE_SECONDS = 60.0
SLICES = ("of it", "more of it")
"""The first one starts the engine."""

AT_WORK_SECONDS = 20.0
"""Into a slice, when recall is asked: the engine is up then."""


def by_meaning(home: Path, vectors: int) -> Figures:
    """Recall in the default mode, warm: this process's work, and the engine's memory."""
    os.environ.pop("SKYMEM_ENGINE", None)
    opened = app.open_home(str(home))
    try:
        wait_for_index(opened)
        pass_some(opened, vectors)
        return asked(home, opened)
    finally:
        opened.engine().leave()


def pass_some(home: app.Home, vectors: int) -> None:
    """Have the catalog know what has a vector, as the job that made them would."""
    epoch = str(home.engine().query(AGENT, "deadline", 1)["epoch"])
    with home.workplace().catalog() as catalog:
        cursors = IndexCursors(catalog, AGENT, epoch)
        for piece in islice(cursors.pieces("long", PIECE), vectors // PIECE):
            cursors.passed(piece)


def asked(home: Path, opened: app.Home) -> Figures:
    """Questions, one after the other: the medians, the engine's memory, and what recall said."""
    memory, took, worked, said = open_memory(AGENT, home=str(home)), [], [], dict[str, None]()
    memory.recall("warm up")
    for number, text in enumerate(texts(QUERIES, 7)):
        start, cpu = time.perf_counter(), time.process_time()
        found = memory.recall(f"question {number}: {text[:60]}", limit=10)
        took.append(time.perf_counter() - start)
        worked.append(time.process_time() - cpu)
        said |= dict.fromkeys(found.degraded)
    return {
        "wall_s": round(median(took), 4),
        "cpu_s": round(median(worked), 4),
        "rss_mb": round(rss_bytes(engine_of(opened)) / 1024**2, 1),
        "said": [*said],
    }


def engine_of(home: app.Home) -> int:
    """The process that is the home's engine."""
    return int((read_json(home.paths.engine_status) or {})["pid"])


def index_what_is_owed(home: Path) -> Iterator[tuple[str, Figures]]:
    """Some of it, in slices that are then told to stop; in the last one recall is asked."""
    os.environ.pop("SKYMEM_ENGINE", None)
    opened = app.open_home(str(home))
    try:
        for number in range(len(SLICES)):
            owed = owed_of(opened)
            slice_ = Process(home, "index", engine=True, seconds=SLICE_SECONDS)
            if number == len(SLICES) - 1:
                time.sleep(AT_WORK_SECONDS)
                if slice_.is_running():
                    yield "recall by meaning, while indexing", asked(home, opened)
            found = slice_.figures()
            done = owed - owed_of(opened)
            found |= {
                "owed": owed,
                "texts_per_s": round(done / found["wall_s"], 1),
                "engine_rss_mb": round(rss_bytes(engine_of(opened)) / 1024**2, 1),
            }
            yield f"index, {SLICE_SECONDS:.0f} s {SLICES[number]}", found
    finally:
        opened.engine().leave()


def owed_of(home: app.Home) -> int:
    """How many the index is owed."""
    detail, _ = home.run_job("index", dry_run=True)
    return int(detail["eligible"])
