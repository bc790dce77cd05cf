"""A kill at any moment loses no memory that was acknowledged, and leaves no index that is wrong."""

import json
import random
from pathlib import Path

from tests.engine.conftest import Bench, killed_after

ROOT = Path(__file__).parents[2]
KILLS = 16


def test_no_acknowledged_memory_is_missing_after_sixteen_kills(bench: Bench) -> None:
    chance = random.Random(7)
    acknowledged: set[str] = set()
    for _ in range(KILLS):
        acknowledged |= killed_after(
            chance.uniform(0.0, 1.5), str(bench.paths.root), "fill", str(len(acknowledged))
        )
    pairs = [(name, f"d{name[1:]}") for name in sorted(acknowledged)]
    missing = bench.index.missing("sky", "memory", pairs)["missing"]
    numbers = sorted(int(name[1:]) for name in acknowledged)
    bench.settle()
    stats = bench.index.stats("sky", 100)

    assert len(acknowledged) > 20 * KILLS
    assert missing == []
    assert bench.not_found(range(0, numbers[-1], 9)) == []
    assert (stats["missing"], stats["extra"], stats["owed"]) == (0, 0, 0)
    assert stats["sample"]["found"] > 0.9 * stats["sample"]["asked"] > 50


def test_a_generation_is_probed_after_a_crash_with_it_open_and_given_up_after_two(
    bench: Bench,
) -> None:
    bench.put(range(50))
    bench.settle()
    name = bench.generation().name
    bench.close()
    sign = bench.paths.run / "engine-at-work.json"
    assert json.loads(sign.read_text()) == {}

    sign.write_text(json.dumps({"agent": "sky", "generation": name, "operation": "open"}))
    assert bench.index.tend()
    assert bench.index._open["sky"].keeper._child is not None
    bench.settle()
    assert bench.generation().name == name
    bench._index = None  # as if it died

    for _ in range(2):
        sign.write_text(json.dumps({"agent": "sky", "generation": name, "operation": "open"}))
        last = bench.index
        bench._index = None
    bench._index = last
    bench.settle()

    assert bench.generation().name != name
    assert bench.not_found(range(50)) == []
    (aside,) = (bench.paths.rag / "set_aside").iterdir()
    assert aside.name == f"sky-{name}-the-engine-died-twice-with-it-open"
