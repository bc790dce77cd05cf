"""What a context costs in process over a long short-term, beside its floor: one recall by words.

Run: python -m benchmarks.context [LINES]
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from statistics import median

from benchmarks.texts import texts

LINES = 5_000
"""Of short-term, and as many of long-term."""

ROUNDS = 5
QUESTION = "which report failed because the database was full?"
KINDS = (None, None, None, None, None, None, "fact", "decision", "rule", "summary")


def lines(tier: str, said: Iterator[str], count: int) -> bytes:
    """Lines of a tier, an hour apart, of kinds as an agent writes them."""
    now = time.time()
    found = []
    for number, text in enumerate(islice(said, count)):
        kind = KINDS[number % len(KINDS)]
        fields = {"ts": now - 3600.0 * (count - number), "type": tier, "content": text}
        fields |= {"importance": number % 10 / 10} | ({"kind": kind} if kind else {})
        found.append(json.dumps(fields) + "\n")
    return "".join(found).encode()


def seconds(work: Callable[[], object]) -> float:
    """How long a call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(root: Path, count: int) -> None:
    """Print the first context, further ones, and one after a line was appended."""
    os.environ["SKYMEM_ENGINE"] = "off"
    import skymem
    from skymem import app

    app.init_home(root)
    place = root / "memory" / "sky"
    place.mkdir(parents=True, exist_ok=True)
    said = iter(texts(2 * count + ROUNDS))
    (place / "short_term.jsonl").write_bytes(lines("short", said, count))
    (place / "long_term.jsonl").write_bytes(lines("long", said, count))
    app.open_home(str(root)).run_job("index")  # catalog and word index are made
    memory = skymem.open_memory("sky", home=str(root))
    first = seconds(lambda: memory.context(QUESTION))
    warm = median(seconds(lambda: memory.context(QUESTION)) for _ in range(ROUNDS))
    floor = median(seconds(lambda: memory.recall(QUESTION)) for _ in range(ROUNDS))
    after = []
    for text in islice(said, ROUNDS):
        memory.remember(text)
        after.append(seconds(lambda: memory.context(QUESTION)))
    print(
        f"context, {count:,} short and as many long: first {first * 1e3:.0f} ms, again "
        f"{warm * 1e3:.0f} ms, after a line was written {median(after) * 1e3:.0f} ms; "
        f"one recall: {floor * 1e3:.0f} ms"
    )


def main() -> None:
    """Measure in a home of its own."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        measure(Path(name), int(sys.argv[1]) if len(sys.argv) > 1 else LINES)


if __name__ == "__main__":
    main()
