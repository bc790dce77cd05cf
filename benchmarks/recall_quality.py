"""How well each mode of recall finds what answers a question, beside plain BM25 and plain vectors.

Run: python benchmarks/recall_quality.py --data DIRECTORY [--json] [--parts] [--every N] [--alone]

LoCoMo at turn level, all questions but the adversarial ones, each conversation alone and all of
them in one agent; with it the samples of LongMemEval and devbench where they lie beside it. The
weights of `policy/fusion.py` were chosen on the conversations of even number; "held_out" is the
questions of the others. `--parts` tells what is lost without each part; `--alone` leaves the
samples out. How far it is, it says on stderr.
"""

import argparse
import json
import math
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

if __package__ in {None, ""}:  # run as a script: what it imports stands beside it
    sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.recall_data import (
    Haystack,
    Question,
    devbench,
    locomo,
    longmemeval,
    pooled,
)
from skymem import app, open_memory
from skymem.policy import fusion
from skymem.policy.rank import tokens
from skymem.recall import meaning

MODES = ("deterministic", "semantic", "hybrid", "fusion")
TOP = 10
WITHOUT: dict[str, dict[str, Any]] = {
    "words": {"WORDS": 0.0},
    "meaning": {"MEANING": 0.0},
    "what stands around": {"AROUND": (0.0, 0.0)},
    "substance and question": {"SUBSTANCE": 0.0, "QUESTION": 0.0},
    "times": {"TIME_NAMED": 0.0, "PERIOD": 0.0},
    "recency and importance": {"RECENCY": 0.0, "IMPORTANCE": 0.0},
}

PATIENT: dict[str, Any] = {"ANSWER_SECONDS": 120.0, "START_SECONDS": 120.0}
"""What is measured is what is found, not how soon: a busy machine finds as much."""

Ranking: TypeAlias = Callable[[str, Question], list[str]]
"""An agent and a question to ids, best first."""

Scored: TypeAlias = tuple[str, Question, dict[str, float]]


class Bm25:
    """Plain Okapi BM25 over words as they are: what a search box does."""

    def __init__(self, lines: Sequence[dict[str, Any]], k1: float = 1.2, b: float = 0.75) -> None:
        self._ids = [line["id"] for line in lines]
        self._counts = [Counter(_words(line["content"])) for line in lines]
        lengths = [sum(counts.values()) for counts in self._counts]
        mean = sum(lengths) / len(lengths)
        self._norms = [k1 * (1 - b + b * length / mean) for length in lengths]
        self._k1 = k1
        self._having: dict[str, list[int]] = {}
        for place, counts in enumerate(self._counts):
            for word in counts:
                self._having.setdefault(word, []).append(place)

    def ranked(self, text: str) -> list[str]:
        """Ids, best first."""
        scores: Counter[int] = Counter()
        for word in tokens(text):
            having = self._having.get(word, [])
            idf = fusion.rarity(len(having), len(self._ids))
            for place in having:
                count = self._counts[place][word]
                scores[place] += idf * count * (self._k1 + 1) / (count + self._norms[place])  # type: ignore[assignment]
        best = sorted(scores, key=lambda place: (-scores[place], place))
        return [self._ids[place] for place in best[:200]]


def _words(text: str) -> list[str]:
    return [word for part in text.split() for word in sorted(tokens(part))]


def main() -> None:
    """Fill a home, ask everything in every mode, and tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the directory of locomo10.json")
    parser.add_argument("--json", action="store_true", help="one document on stdout")
    parser.add_argument("--parts", action="store_true", help="also without each part of fusion")
    parser.add_argument("--every", type=int, default=1, help="only each Nth question")
    parser.add_argument("--alone", action="store_true", help="LoCoMo alone, without the samples")
    options = parser.parse_args()
    conversations = locomo(options.data / "locomo10.json")
    samples = {} if options.alone else _samples(options.data.parent)
    with tempfile.TemporaryDirectory() as name, patiently():
        app.init_home(Path(name))
        whole = pooled(conversations)
        fill(name, [*conversations, whole, *(one for sets in samples.values() for one in sets)])
        told = {
            "pooled": _every_mode(name, [whole], options.every),
            "per_conversation": _every_mode(name, conversations, options.every),
        }
        for sample, haystacks in samples.items():
            told[sample] = _every_mode(name, haystacks, 1)
        if options.parts:
            told["pooled_without"] = dict(_without_each(name, whole, options.every))
        app.open_home(name).engine().leave()
    told["baselines"] = _baselines(options.data.parent / "BASELINES.md")
    if options.json:
        sys.stdout.write(json.dumps(told, indent=2) + "\n")
    else:
        _print(told)


def _samples(data: Path) -> dict[str, list[Haystack]]:
    files = {
        "longmemeval": (longmemeval, data / "lme_sample/longmemeval_s_3haystacks.json"),
        "devbench": (devbench, data / "devbench/devbench_dataset.json"),
    }
    return {name: read(path) for name, (read, path) in files.items() if path.exists()}


def fill(name: str, haystacks: Sequence[Haystack]) -> None:
    """Write each to an agent's long-term, and index it."""
    home = app.open_home(name)
    for one in haystacks:
        paths = home.paths.agent(one.agent)
        paths.directory.mkdir(parents=True, exist_ok=True)
        with paths.long_term.open("w") as stream:
            stream.writelines(json.dumps(line) + "\n" for line in one.lines)
    detail, _ = home.run_job("index")
    sys.stderr.write(f"{detail['embedded']} embedded in {detail['duration_s']:.0f} s\n")


def _every_mode(name: str, haystacks: Sequence[Haystack], every: int) -> dict[str, Any]:
    searches = {one.agent: Bm25(one.lines) for one in haystacks}

    def plain(agent: str, asked: Question) -> list[str]:
        return searches[agent].ranked(asked.text)

    told = {"bm25": measured(plain, haystacks, every)}
    for mode in MODES:
        told[mode] = measured(recalling(name, mode), haystacks, every)
        figures = told[mode]
        sys.stderr.write(
            f"{mode} of {len(haystacks)} agents: {figures['questions']} questions, "
            f"recall@10 {figures['recall@10']:.3f}\n"
        )
    return told


def recalling(name: str, mode: str) -> Ranking:
    """Recall in a mode, from the home of that name; what can't be had in it stops everything."""
    opened = cache(lambda agent: open_memory(agent, home=name))

    def ranked(agent: str, asked: Question) -> list[str]:
        memory = opened(agent)
        found = memory.recall(asked.text, mode=mode, limit=5 * TOP if asked.by_session else TOP)
        if found.mode != mode or found.degraded:
            raise RuntimeError(f"{mode} answered as {found.mode}: {found.degraded}")
        return [one.id for one in found]

    return ranked


def measured(ranking: Ranking, haystacks: Sequence[Haystack], every: int = 1) -> dict[str, Any]:
    """How well a ranking finds what answers, of each Nth question."""
    scored: list[Scored] = []
    for one in haystacks:
        session_of = {line["id"]: line.get("session", "") for line in one.lines}
        for asked in one.questions[::every]:
            found = ranking(one.agent, asked)
            if asked.by_session:
                found = list(dict.fromkeys(session_of[name] for name in found))
            scored.append((one.agent, asked, _figures(found, asked.gold)))
    told = _means(scored)
    told["by_category"] = {
        category: _means([item for item in scored if item[1].category == category])
        for category in sorted({asked.category for _, asked, _ in scored})
    }
    held_out = [item for item in scored if _is_held_out(item[1])]
    if held_out:
        told["held_out"] = _means(held_out)
    return told


def _is_held_out(asked: Question) -> bool:
    """Whether it is about a LoCoMo conversation of odd number."""
    number = min(asked.gold).partition("-")[0]
    return not asked.by_session and number.isdigit() and int(number) % 2 == 1


def _figures(found: Sequence[str], gold: frozenset[str]) -> dict[str, float]:
    hits = [name in gold for name in found[:TOP]]
    gains = sum(1 / math.log2(place + 2) for place, hit in enumerate(hits) if hit)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(TOP, len(gold))))
    return {
        "recall@5": sum(hits[:5]) / len(gold),
        "recall@10": sum(hits) / len(gold),
        "mrr": next((1 / (place + 1) for place, hit in enumerate(hits) if hit), 0.0),
        "ndcg@10": gains / ideal,
    }


def _means(scored: Sequence[Scored]) -> dict[str, Any]:
    told: dict[str, Any] = {"questions": len(scored)}
    for name in ("recall@5", "recall@10", "mrr", "ndcg@10"):
        told[name] = round(sum(figures[name] for *_, figures in scored) / len(scored), 4)
    return told


def _without_each(name: str, whole: Haystack, every: int) -> Iterator[tuple[str, Any]]:
    for part, values in WITHOUT.items():
        with _set(fusion, values):
            yield part, measured(recalling(name, "fusion"), [whole], every)


def patiently() -> AbstractContextManager[None]:
    """Wait for the engine as long as it takes."""
    return _set(meaning, PATIENT)


@contextmanager
def _set(module: ModuleType, values: dict[str, Any]) -> Iterator[None]:
    before = {name: getattr(module, name) for name in values}
    for name, value in values.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


def _baselines(path: Path) -> dict[str, dict[str, str]]:
    """What others reach on the same questions, as the data's own page says."""
    if not path.exists():
        return {}
    found: dict[str, dict[str, str]] = {}
    title = ""
    for line in path.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("## "):
            title = line[3:]
        elif line.startswith("| ") and len(cells) > 4 and cells[1].isdigit():
            found.setdefault(title, {})[cells[0]] = cells[4]
    return found


def _print(told: dict[str, Any]) -> None:
    for scope, modes in told.items():
        if scope == "baselines":
            continue
        sys.stdout.write(f"{scope}\n")
        for mode, figures in modes.items():
            line = "  ".join(f"{key} {value:.3f}" for key, value in figures.items() if "@" in key)
            rest = figures.get("held_out")
            beside = f"  held out: recall@10 {rest['recall@10']:.3f}" if rest else ""
            sys.stdout.write(f"  {mode:<24} {line}  mrr {figures['mrr']:.3f}{beside}\n")


if __name__ == "__main__":
    main()
