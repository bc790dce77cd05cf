"""What recall finds of LoCoMo, beside its floors and its goal, and how long the best mode takes.

Run: python -m benchmarks.recall_goals DIRECTORY   (where locomo10.json is, or locomo/ with it)

All modes are asked each question in turn, so that what a busy machine costs it costs all of them.
`benchmarks/recall_quality.py` tells the rest: categories, other question sets, what each part adds.
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.recall_data import Haystack, Question, locomo, pooled
from benchmarks.recall_quality import MODES, Bm25, fill, measured, patiently, recalling
from skymem import app

BEST: Final = "fusion"
BESIDE: Final = "hybrid"
"""What the best mode may not be slower than."""

FLOORS: Final = {
    "pooled": (0.70, "BM25 with a stemmer 0.50, a simple recipe 0.68"),
    "each conversation alone": (0.74, "BM25 with a stemmer 0.55, a simple recipe 0.72"),
}
"""The goal for recall@10, and what others reach on the same questions, from `BASELINES.md`."""

NAMES: Final = {"deterministic": "words", "semantic": "MiniLM alone", "hybrid": "hybrid"}
FILE: Final = "locomo10.json"


class Asked:
    """Each question in every mode: what was found, and how long it took."""

    def __init__(self, home: str, haystacks: Sequence[Haystack]) -> None:
        self._haystacks = haystacks
        self._found: dict[tuple[str, str, Question], list[str]] = {}
        self._took: dict[str, list[float]] = {mode: [] for mode in MODES}
        rankings = {mode: recalling(home, mode) for mode in MODES}
        for one in haystacks:
            for question in one.questions:
                for mode, ranking in rankings.items():
                    start = time.perf_counter()
                    self._found[mode, one.agent, question] = ranking(one.agent, question)
                    self._took[mode].append(time.perf_counter() - start)

    def recall(self, mode: str, *, held_out: bool = False) -> float:
        """Recall@10 of a mode, of all questions or of those that no weight was chosen on."""
        told = measured(lambda agent, question: self._found[mode, agent, question], self._haystacks)
        return float((told["held_out"] if held_out else told)["recall@10"])

    def plain(self) -> float:
        """What a plain search box finds of the same."""
        boxes = {one.agent: Bm25(one.lines) for one in self._haystacks}
        told = measured(lambda agent, question: boxes[agent].ranked(question.text), self._haystacks)
        return float(told["recall@10"])

    def milliseconds(self, mode: str) -> float:
        """The median."""
        return median(self._took[mode]) * 1000

    def told(self, name: str) -> Iterator[str]:
        """The lines that are printed."""
        goal, others = FLOORS[name]
        count = sum(len(one.questions) for one in self._haystacks)
        beside = ", ".join(f"{word} {self.recall(mode):.2f}" for mode, word in NAMES.items())
        yield (
            f"recall quality, LoCoMo turns, {name}, {count:,} questions: recall@10 of {BEST} "
            f"{self.recall(BEST):.3f} (goal ≥ {goal:.2f}), "
            f"{self.recall(BEST, held_out=True):.3f} of those nothing was chosen on"
        )
        yield f"  floors: plain BM25 {self.plain():.2f}, {beside}; elsewhere {others}"
        took, other = self.milliseconds(BEST), self.milliseconds(BESIDE)
        yield f"  {BEST} {took:.1f} ms, {took / other:.2f} of {BESIDE}, asked in turn (goal ≤ 1)"


def data_in(directory: Path | None) -> Path | None:
    """LoCoMo's file, if it is there."""
    if directory is None:
        return None
    found = (directory / FILE, directory / "locomo" / FILE)
    return next((path for path in found if path.is_file()), None)


def main(directory: Path | None) -> None:
    """Fill a home, ask everything, and tell; or tell that it was not measured, and how it is."""
    data = data_in(directory)
    if data is None:
        print(
            f"recall quality: not measured, as no {FILE} was given (goal: recall@10 ≥ 0.70 pooled, "
            "≥ 0.74 each conversation alone); python -m benchmarks --data DIRECTORY, with the file "
            "of github.com/snap-research/locomo in it"
        )
        return
    os.environ.pop("SKYMEM_ENGINE", None)
    conversations = locomo(data)
    with tempfile.TemporaryDirectory() as home, patiently():
        app.init_home(Path(home))
        whole = [pooled(conversations)]
        fill(home, [*conversations, *whole])
        for name, haystacks in zip(FLOORS, (whole, conversations), strict=True):
            for line in Asked(home, haystacks).told(name):
                print(line, flush=True)
        app.open_home(home).engine().leave()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
