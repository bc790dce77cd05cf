"""How fast recall is, by size: warm in each mode, with filters, cold as a whole process.

Beside each size stands its floor, measured in the same run: a Chroma query and one encode, in
process. A million memories have no vectors here, and are asked by words alone.

Run: python benchmarks/recall_speed.py [SIZES…] [--json] [--plot FILE] [--homes DIRECTORY]

Each size is told of as it is done, on stderr with `--json`. With `--homes` a home that was made
there before is used again. `python -m benchmarks.recall_plot` draws several runs in one.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any, TextIO

if not __package__:  # run as a script: what it needs lies beside its directory
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    os.environ["PYTHONPATH"] = sys.path[0]

from benchmarks.indexing import rss_megabytes
from benchmarks.recall_home import AGENT, KIND, TAG, fill, since
from benchmarks.texts import texts
from skymem import app, open_memory
from skymem.agent import AgentMemory
from skymem.errors import BusyError, EngineUnavailableError
from skymem.stores.cursors import IndexCursors

SIZES = (1_000, 10_000, 100_000, 1_000_000)
WITH_VECTORS_MAX = 100_000
QUERIES = 100
FILTERED_QUERIES = 30
COLD_ROUNDS = 5
LIMIT = 10
PIECE = 1000
OPEN_SECONDS = 900.0
"""For an index to be opened and verified; one that was damaged is made anew, in some minutes."""

MODES = ("deterministic", "semantic", "hybrid", "fusion")

Figures = dict[str, Any]


def timed(call: Callable[[str], object], queries: Sequence[str]) -> Figures:
    """Milliseconds of the calls: wall time, and what this process worked of it."""
    call("warm up")
    took, worked = [], []
    for query in queries:
        start, cpu = time.perf_counter(), time.process_time()
        call(query)
        took.append((time.perf_counter() - start) * 1000)
        worked.append((time.process_time() - cpu) * 1000)
    p50, p99 = median(took), quantiles(took, n=100, method="inclusive")[98]
    return {"p50_ms": p50, "p99_ms": p99, "client_cpu_p50_ms": median(worked)}


def build(name: str, count: int) -> Figures:
    """Make the word index, as a job does, in a process of its own."""
    code = (
        "import sys, time; from pathlib import Path; from skymem import app\n"
        "home = app.open_home(sys.argv[1]); work = home.workplace()\n"
        f"shelf = home.shelf({AGENT!r})\n"
        "with work.catalog() as catalog:\n"
        "    catalog.catch_up(shelf.paths)\n"
        f"    with work.words({AGENT!r}) as words:\n"
        "        wall, cpu = time.perf_counter(), time.process_time()\n"
        "        words.catch_up(shelf, catalog)\n"
        "        print(time.perf_counter() - wall, time.process_time() - cpu)\n"
        # Its own peak: `getrusage` would tell that of the process it was forked from.
        "peak = Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0]\n"
        "print(int(peak) / 1024)"
    )
    told = subprocess.check_output([sys.executable, "-c", code, name], text=True).split()
    seconds, cpu, rss = map(float, told)
    return {"seconds": seconds, "per_second": count / seconds, "cpu_s": cpu, "rss_mb": rss}


def say(text: str) -> None:
    """Tell how far it is, beside the figures."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def wait_for_index(home: app.Home) -> None:
    """Wait until the index is open and verified: until then the engine has other work too.

    Raises:
        SystemExit: it is not, in all the time there is.
    """
    engine, ends = home.engine(), time.monotonic() + OPEN_SECONDS
    while True:
        try:
            found = engine.stats(AGENT, 1)
        except (BusyError, EngineUnavailableError) as error:
            why = str(error)
        else:
            if found["sample"]["asked"]:
                return
            why = "; ".join(found["problems"]) or str(found["building"] or "it is being opened")
        if time.monotonic() > ends:
            engine.leave()
            raise SystemExit(f"the index was not usable in {OPEN_SECONDS:.0f} s: {why}")
        say(f"waiting for the index: {why}")
        time.sleep(2.0)


def pass_cursors(home: app.Home) -> None:
    """Have the catalog know that the index has all there is, as the job that made it would."""
    epoch = str(home.engine().query(AGENT, "deadline", 1)["epoch"])
    with home.workplace().catalog() as catalog:
        cursors = IndexCursors(catalog, AGENT, epoch)
        for piece in cursors.pieces("long", PIECE):
            cursors.passed(piece)


def warm(memory: AgentMemory, modes: Sequence[str], count: int) -> Figures:
    """Each mode without and with filters."""
    queries = [f"question {number}: {text[:60]}" for number, text in enumerate(texts(QUERIES, 7))]
    filters: dict[str, dict[str, Any]] = {
        "": {},
        "kind": {"kind": KIND},
        "tag": {"tags": TAG},
        "since": {"since": since(count)},
    }
    found: Figures = {}
    for mode in modes:
        for which, given in filters.items():

            def ask(text: str, mode: str = mode, given: dict[str, Any] = given) -> object:
                return memory.recall(text, limit=LIMIT, mode=mode, **given)

            some = queries[:FILTERED_QUERIES] if which else queries
            found[f"{mode} {which}".strip()] = timed(ask, some)
    return found


def cold_seconds(name: str, *words: str) -> float:
    """One `skymem recall` as a whole process."""
    command = [sys.executable, "-m", "skymem", "--home", name, "recall", *words]
    took = []
    for _ in range(COLD_ROUNDS):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        took.append(time.perf_counter() - start)
    return median(took)


def floor_ms(name: str) -> float:
    """A Chroma query and one encode, in a process of their own."""
    queries = [text[:60] for text in texts(QUERIES, 7)]
    command = [sys.executable, "-m", "benchmarks.raw_recall", name, str(LIMIT), *queries]
    return float(subprocess.check_output(command, text=True))


def client_rss(name: str, mode: str) -> float:
    """Memory of a process that opens the home and recalls once, in MB."""
    code = (
        "import sys, skymem; from pathlib import Path\n"
        f"skymem.open_memory({AGENT!r}, home=sys.argv[1]).recall('deadline', mode=sys.argv[2])\n"
        "print(Path('/proc/self/status').read_text().split('VmRSS:')[1].split()[0])"
    )
    command = [sys.executable, "-c", code, name, mode]
    return float(subprocess.check_output(command, text=True)) / 1024


def disk(name: str) -> Figures:
    """Megabytes of the lines, of the word index, and of vectors and what finds them."""
    paths = app.open_home(name).paths
    places = {
        "lines": [paths.memory],
        "word_index": [paths.words],
        "vectors": [paths.chroma_store, paths.state / "embeddings"],
    }
    return {
        what: sum(
            file.stat().st_size for place in where for file in place.rglob("*") if file.is_file()
        )
        / 1024**2
        for what, where in places.items()
    }


@contextlib.contextmanager
def filled(count: int, directory: str | None) -> Iterator[str]:
    """A home of that many memories, one that was made before where there is one."""
    vectors = count <= WITH_VECTORS_MAX
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(directory or temporary) / str(count)
        made = place / "made"
        if not made.exists():
            say(f"{count:,} memories: making the home")
            place.mkdir(parents=True)
            fill(str(place), count, vectors=vectors)
            made.touch()
        yield str(place)


def measure(name: str, count: int) -> Figures:
    """The figures of one size."""
    vectors = count <= WITH_VECTORS_MAX
    home = app.open_home(name)
    for words in home.paths.words.glob("*"):
        words.unlink()
    say(f"{count:,} memories: floor and word index")
    floor = floor_ms(name) if vectors else None
    found: Figures = {"memories": count, "build": build(name, count), "floor_ms": floor}
    memory = open_memory(AGENT, home=name)
    engine = home.engine()
    if vectors:
        wait_for_index(home)
        pass_cursors(home)
    say(f"{count:,} memories: warm")
    found["warm"] = warm(memory, MODES if vectors else MODES[:1], count)
    say(f"{count:,} memories: cold")
    found["cold_s"] = {"deterministic": cold_seconds(name, "deadline", "--mode", MODES[0])}
    found["rss_mb"] = {"client": client_rss(name, "auto" if vectors else MODES[0])}
    if vectors:
        found["cold_s"]["auto"] = cold_seconds(name, "deadline")
        found["rss_mb"]["engine"] = rss_megabytes(home)
        engine.leave()
    found["disk_mb"] = disk(name)
    found["load"] = os.getloadavg()[0]
    return found


def tell(found: Figures, to: TextIO) -> None:
    """Print the figures of one size."""
    for line in told(found):
        print(line, file=to, flush=True)


def told(found: Figures) -> Iterator[str]:
    """Spell them."""
    made, floor = found["build"], found["floor_ms"]
    yield (
        f"recall, {found['memories']:,} memories: word index in {made['seconds']:.1f} s, "
        f"{made['per_second']:,.0f}/s (goal ≥ 10,000), {made['rss_mb']:.0f} MB (goal < 300); "
        f"load {found['load']:.1f} of {os.cpu_count()} cores"
    )
    if floor is not None:
        yield f"  floor, a Chroma query and one encode: {floor:.1f} ms"
    for name, took in found["warm"].items():
        ratio = "" if floor is None else f", {took['p50_ms'] / floor:.2f} of the floor"
        yield (
            f"  {name}: {took['p50_ms']:.1f} ms, p99 {took['p99_ms']:.1f} (goal ≤ 100){ratio}, "
            f"{took['client_cpu_p50_ms']:.1f} of it this process's work"
        )
    for name, seconds in found["cold_s"].items():
        yield f"  cold process, {name}: {seconds:.2f} s (goal ≤ 0.6)"
    yield "  memory: " + ", ".join(f"{name} {mb:.0f} MB" for name, mb in found["rss_mb"].items())
    yield "  disk: " + ", ".join(f"{name} {mb:.1f} MB" for name, mb in found["disk_mb"].items())


def main(words: Sequence[str] = ()) -> None:
    """Measure each size."""
    reader = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    reader.add_argument("sizes", nargs="*", type=int, metavar="SIZE")
    reader.add_argument("--json", action="store_true", help="one JSON list instead of lines")
    reader.add_argument("--plot", metavar="FILE", help="draw the curve; needs the extra `bench`")
    reader.add_argument(
        "--homes", metavar="DIRECTORY", help="where homes are kept for the next run"
    )
    asked = reader.parse_args(words)
    os.environ.pop("SKYMEM_ENGINE", None)
    found = []
    for count in asked.sizes or SIZES:
        with filled(count, asked.homes) as name:
            found.append(measure(name, count))
        tell(found[-1], sys.stderr if asked.json else sys.stdout)
    if asked.json:
        print(json.dumps(found, indent=2))
    if asked.plot:
        from benchmarks.recall_plot import draw

        draw(found, Path(asked.plot))


if __name__ == "__main__":
    main(sys.argv[1:])
