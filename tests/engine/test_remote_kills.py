"""An engine killed at any moment leaves nothing on the server that nobody knows of (row R14)."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.engine.chroma_server import ChromaServer
from tests.engine.conftest import Bench
from tests.engine.remote_bench import impatient, server, sizes, use, whole

__all__ = ["impatient", "server"]

ROOT = Path(__file__).parents[2]
KILLS = 8


def killed_after(seconds: float, bench: Bench, verb: str, first: int, url: str) -> set[str]:
    """Have a process at work that is killed; what it had acknowledged by then."""
    where = [str(bench.paths.root), verb, str(first), url]
    command = [sys.executable, "-m", "tests.engine.index_child", *where]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        time.sleep(seconds)
        process.kill()
        rest = process.stdout.read().splitlines(keepends=True)
    assert process.returncode == -signal.SIGKILL
    return {name for one in [line, *rest] if one.endswith("\n") for name in json.loads(one)}


@pytest.mark.parametrize("verb", ["fill", "renew"])
def test_after_kills_all_is_there_once_and_nothing_else(
    bench: Bench, server: ChromaServer, verb: str
) -> None:
    chance = random.Random(11)
    acknowledged: set[str] = set()
    for _ in range(KILLS):
        seconds = chance.uniform(0.0, 1.0)
        acknowledged |= killed_after(seconds, bench, verb, len(acknowledged), server.url)
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
