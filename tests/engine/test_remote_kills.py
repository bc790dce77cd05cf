"""An engine killed at any moment leaves nothing on the server that nobody knows of (row R14)."""

import random
from pathlib import Path

import pytest

from tests.engine.chroma_server import ChromaServer
from tests.engine.conftest import Bench, killed_after
from tests.engine.remote_bench import impatient, server, sizes, use, whole

__all__ = ["impatient", "server"]

ROOT = Path(__file__).parents[2]
KILLS = 8


@pytest.mark.parametrize("verb", ["fill", "renew"])
def test_after_kills_all_is_there_once_and_nothing_else(
    bench: Bench, server: ChromaServer, verb: str
) -> None:
    chance = random.Random(11)
    acknowledged: set[str] = set()
    for _ in range(KILLS):
        seconds = chance.uniform(0.0, 1.0)
        acknowledged |= killed_after(
            seconds, str(bench.paths.root), verb, str(len(acknowledged)), server.url
        )
    use(bench, server.url)
    pairs = [(name, f"d{name[1:]}") for name in sorted(acknowledged)]
    missing = bench.index.missing("sky", "memory", pairs)["missing"]
    bench.tend_until(lambda: whole(bench), "it has caught up")
    stats = bench.index.stats("sky", 100)
    generation = bench.generation().name

    assert len(acknowledged) >= 20 * KILLS
    assert missing == []
    assert (stats["missing"], stats["extra"], stats["owed"]) == (0, 0, 0)
    assert len(server.collections()) == 2
    assert all(name.endswith(generation) for name in server.collections())
    assert sizes(server)[0] == 0
    assert sizes(server)[1] >= len(acknowledged)
