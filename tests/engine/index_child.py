"""A process with an index of its own, for what may kill a process: `python -m … HOME VERB N`.

With a URL after that its vectors are on the Chroma server there.
"""

import json
import os
import sys
from pathlib import Path

from skymem.engine import probe
from skymem.model.rules import EngineRules, RemoteRules
from skymem.stores.home import HomePaths
from tests.engine.conftest import Bench, items


def fill(bench: Bench, first: int) -> None:
    """Put memories from `first` on, a few a time, and say of each batch that it is acknowledged."""
    for start in range(first, first + 100_000, 20):
        put = bench.index.put("sky", "memory", items(range(start, start + 20)))
        sys.stdout.write(json.dumps(put["done"]) + "\n")
        sys.stdout.flush()
        if start % 100 == 80:
            bench.index.tend()


def settle(bench: Bench, count: int) -> None:
    """Let the index heal, then look for every memory and tell what it looks like."""
    bench.put(range(0), "memory")
    bench.settle()
    encoded = bench.embedder.encoded
    seen = bench.seen()
    lost = bench.index.missing("sky", "memory", [(f"m{n}", f"d{n}") for n in range(count)])
    bench.put(range(count))
    encoded_again = bench.embedder.encoded - encoded
    bench.settle()
    told = {
        "lost": len(lost["missing"]),
        "epoch": seen["epoch"],
        "problems": seen["problems"],
        "generation": bench.seen()["generation"],
        "encoded": encoded_again,
        "not_found": bench.not_found(range(0, count, 13)),
        "stats": bench.index.stats("sky", 200),
    }
    bench.close()
    sys.stdout.write(json.dumps(told))


def renew(bench: Bench, first: int) -> None:
    """Put some memories and make the index anew, again and again, and say each time that it is."""
    for start in range(first, first + 100_000, 20):
        put = bench.index.put("sky", "memory", items(range(start, start + 20)))
        sys.stdout.write(json.dumps(put["done"]) + "\n")
        sys.stdout.flush()
        bench.index.rebuild("sky")
        bench.settle()


def rss_kib() -> int:
    """What this process has in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4


def open_again(bench: Bench, turns: int) -> None:
    """Open and close the index again and again; tell now and then what the process has open."""
    bench.put(range(50))
    bench.settle()
    descriptors, resident_kib = [], []
    for turn in range(turns):
        bench.close()
        bench.settle()
        if turn % 20 == 19:
            descriptors.append(len(os.listdir("/proc/self/fd")))
            resident_kib.append(rss_kib())
    told = {
        "problems": bench.seen()["problems"],
        "descriptors": descriptors,
        "resident_kib": resident_kib,
    }
    bench.close()
    sys.stdout.write(json.dumps(told))


def raw(generation: Path) -> None:
    """Ask Chroma alone, as a program without our care would; it may not survive it."""
    asked, missed = probe.sample(generation, "sky")
    sys.stdout.write(f"{missed} of {asked}")


if __name__ == "__main__":
    place, verb, number = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    if verb == "raw":
        raw(place)
    else:
        made = Bench(HomePaths(place))
        if len(sys.argv) > 4:
            made.rules = EngineRules(remote=RemoteRules(sys.argv[4]))
        verbs = {"fill": fill, "renew": renew, "settle": settle, "open_again": open_again}
        verbs[verb](made, number)
