"""Twenty thousand memories in and out: batches hold, memory stays flat, slices are short (D9)."""

import time

from tests.engine.conftest import Bench, items, text_of
from tests.engine.index_child import rss_kib

COUNT = 21_000
SLICE_SECONDS_MAX = 3.0
"""Twelve times what a slice aims at, for a machine that has other work."""


def test_twenty_thousand_memories_are_indexed_found_and_dropped(bench: Bench) -> None:
    for start in range(0, COUNT, 1000):
        bench.put(range(start, start + 1000))
    before = rss_kib()
    longest = 0.0
    while True:
        began = time.monotonic()
        more = bench.index.tend()
        longest = max(longest, time.monotonic() - began)
        if not more:
            break
    stats = bench.index.stats("sky", 100)
    found = bench.not_found(range(0, COUNT, 400))
    asked_in_part = [(n, bench.ask(f"memory {n}", 1)[0][0]) for n in range(0, COUNT, 400)]
    grown = rss_kib() - before
    dropped = bench.index.drop("sky", [item.id for item in items(range(100, COUNT))])
    bench.settle()
    left = bench.index.stats("sky", 50)

    assert stats["collections"]["memory"]["chroma"] == COUNT
    assert (stats["missing"], stats["extra"], found) == (0, 0, [])
    assert asked_in_part == [(n, f"m{n}") for n in range(0, COUNT, 400)]
    assert longest < SLICE_SECONDS_MAX
    assert grown < 400 * 1024
    assert dropped == {"dropped": COUNT - 100}
    assert left["collections"]["memory"] == {"memories": 100, "pieces": 100, "chroma": 100}
    assert bench.ask(text_of(50), 1) == [("m50", 1.0)]
    assert bench.seen()["problems"] == []
