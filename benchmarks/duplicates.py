"""What becomes one as it means the same, and what wrongly so, beside the naive rule (row P15).

Three sets. Real near pairs: all texts of the data whose vectors are near, which nobody has
labelled; of those that differ in a number, an id or a negation it is known that they are not the
same. Edited sentences: real ones, each spelled anew (the same) and changed in one thing (another),
by rules that stand here. Hard pairs: `duplicate_pairs.jsonl`, made up and labelled by hand, as no
data has them.

Run: python -m benchmarks.duplicates DATA [--json] [--sentences N]
"""

import argparse
import json
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.recall_data import locomo, longmemeval
from skymem.engine.embedding import Embedder, nothing
from skymem.engine.models import open_embedder
from skymem.model.rules import DuplicateRules, EngineRules
from skymem.policy.alike import copy_key
from skymem.policy.claims import tokens
from skymem.policy.duplicates import difference
from skymem.policy.interval import interval

PAIRS = Path(__file__).with_name("duplicate_pairs.jsonl")
NAIVE = 0.95
SWEEP = (0.75, 0.8, 0.85, 0.88, 0.9, 0.92, 0.95, 0.97)
NEAR = 0.8
SENTENCES = 600
LETTERS = (25, 160)
BEGINNING = 1000
SURELY_OTHER = {"number", "id", "time", "negation"}


class Pair(NamedTuple):
    """Two texts, and whether they say the same."""

    one: str
    other: str
    same: bool


# -- edited sentences ------------------------------------------------------------------------------

_NUMBER = re.compile(r"\b\d+\b")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b")
_SWAPPED = (
    (r"\b(is|are|was|were|can|will|should|must|could|would)\b(?! not|n't)", r"\1 not"),
    (r"\b(\w+)n't\b", r"\1"),
    (r"\ball\b", "some"),
    (r"\balways\b", "sometimes"),
    (r"\bmust\b|\bwill\b", "may"),
    (r"\bfrom\b", "to"),
    (r"\bbefore\b", "after"),
    (r"\bwith\b", "without"),
    (r"\bmore\b", "less"),
)


def changed(sentence: str, names: Sequence[str], words: Sequence[str]) -> Iterator[str]:
    """The sentence with one thing in it changed, so that it says something else."""
    chance = random.Random(sentence)
    if found := _NUMBER.search(sentence):
        yield _NUMBER.sub(str(int(found.group()) + 1), sentence, count=1)
    if found := _NAME.search(sentence):
        other = chance.choice([one for one in names if one != found.group()])
        yield _NAME.sub(other, sentence, count=1)
    for pattern, instead in _SWAPPED:
        if re.search(pattern, sentence):
            yield re.sub(pattern, instead, sentence, count=1)
    plain = re.findall(r"\b[a-z]{5,}\b", sentence)
    if plain:
        word = chance.choice(plain)
        other = chance.choice([one for one in words if one != word])
        yield re.sub(rf"\b{word}\b", other, sentence, count=1)


def respelled(sentence: str) -> Iterator[str]:
    """The sentence spelled in other ways, which all say what it says."""
    if sentence.endswith("."):
        yield sentence[:-1]
    if re.search(r"(?<=\w )(the|an|a) (?=\w{3,})", sentence):
        yield re.sub(r"(?<=\w )(the|an|a) (?=\w{3,})", "", sentence)
    for short, long in ((r"\b(\w{2,})n't\b", r"\1 not"), (r"\b([Ii])t's\b", r"\1t is")):
        if re.search(short, sentence) and not re.search(r"\b(wo|ca|sha)n't", sentence):
            yield re.sub(short, long, sentence)
    yield f"Note that {sentence[0].lower()}{sentence[1:]}"
    yield f"Reminder: {sentence}"


def edited(texts: Sequence[str], most: int) -> list[Pair]:
    """Pairs of real sentences with what was made of them."""
    found = {one for text in texts for one in _sentences(text)}
    chosen = sorted(found)
    random.Random(15).shuffle(chosen)
    names = sorted({name for one in chosen for name in _NAME.findall(one)})
    words = sorted({word for one in chosen for word in re.findall(r"\b[a-z]{5,}\b", one)})
    pairs = []
    for one in chosen[:most]:
        pairs += [
            Pair(one, other, same=False) for other in changed(one, names, words) if other != one
        ]
        pairs += [Pair(one, other, same=True) for other in respelled(one)]
    return pairs


def _sentences(text: str) -> Iterator[str]:
    said = text.partition(": ")[2] or text
    for one in re.split(r"(?<=[.!?])\s+", said):
        if LETTERS[0] <= len(one) <= LETTERS[1] and re.fullmatch(r"[A-Z][\w ,.'%$/-]+\.", one):
            yield one


# -- real texts ------------------------------------------------------------------------------------


def real_sets(data: Path) -> dict[str, list[str]]:
    """The texts of each set of the data that is one agent's."""
    found = {f"locomo {one.agent}": one.lines for one in locomo(data / "locomo/locomo10.json")}
    sample = data / "lme_sample/longmemeval_s_3haystacks.json"
    found |= {f"longmemeval {one.agent}": one.lines for one in longmemeval(sample)}
    sets = {name: [line["content"] for line in lines] for name, lines in found.items()}
    with (data / "bookminder/short_term.jsonl").open() as lines:
        sets["bookminder"] = [json.loads(line)["content"] for line in lines]
    with (data / "mcp_memory/dmetrics-go_memory.jsonl").open() as lines:
        sets["mcp_memory"] = [text for line in lines for text in _observed(json.loads(line))]
    known = json.loads((data / "devbench/devbench_dataset.json").read_text())
    sets["devbench"] = [one["content"] for one in known["memories"]]
    return sets


def _observed(one: dict[str, Any]) -> list[str]:
    if one.get("type") == "entity":
        return [f"{one['name']}: {text}" for text in one["observations"]]
    return [f"{one.get('from')} {one.get('relationType')} {one.get('to')}"]


class Vectors:
    """The model's vectors, each text encoded once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, np.ndarray] = {}

    def of(self, texts: Sequence[str]) -> np.ndarray:
        """The vector of the beginning of each."""
        begun = [self._beginning(text) for text in texts]
        left = list(dict.fromkeys(one for one in begun if one not in self._known))
        if left:
            self._known |= dict(zip(left, self._embedder.encode(left, nothing), strict=True))
        return np.stack([self._known[one] for one in begun])

    def _beginning(self, text: str) -> str:
        return (self._embedder.chunks(text[:BEGINNING]) or ["."])[0]


def near_pairs(texts: Sequence[str], vectors: Vectors) -> list[tuple[str, str, float]]:
    """The pairs of different texts that are near; copies are not what this is about."""
    different = list({copy_key(text): text for text in texts if text.strip()}.values())
    found = vectors.of(different)
    cosines = np.tril(found @ found.T, -1)
    at = np.argwhere(cosines >= NEAR)
    return [(different[one], different[two], float(cosines[one, two])) for one, two in at]


# -- judging ---------------------------------------------------------------------------------------


def judged(pairs: Sequence[Pair], cosines: Sequence[float], merges: Callable[..., bool]) -> Any:
    """Precision, recall and false merges of a rule over labelled pairs."""
    counts: Counter[tuple[bool, bool]] = Counter()
    for pair, cosine in zip(pairs, cosines, strict=True):
        counts[pair.same, merges(pair.one, pair.other, cosine)] += 1
    right, wrong = counts[True, True], counts[False, True]
    same, other = right + counts[True, False], wrong + counts[False, False]
    return {
        "same": same,
        "other": other,
        "merged": right + wrong,
        "false": wrong,
        "precision": right / (right + wrong) if right + wrong else None,
        "recall": right / same,
        "false_rate": wrong / other,
        "false_rate_most": interval(wrong, other)[1],
    }


def ours(least: float) -> Callable[[str, str, float], bool]:
    """Our rule from a likeness on."""
    return lambda one, other, cosine: cosine >= least and not difference(one, other)


def naive(least: float) -> Callable[[str, str, float], bool]:
    """The vectors alone."""
    return lambda _one, _other, cosine: cosine >= least


def labelled(pairs: Sequence[Pair], vectors: Vectors) -> dict[str, Any]:
    """Both rules over labelled pairs, ours at several likenesses."""
    one, other = (
        vectors.of([pair.one for pair in pairs]),
        vectors.of([pair.other for pair in pairs]),
    )
    cosines = [float(each) for each in np.einsum("ij,ij->i", one, other)]
    usual = DuplicateRules().likeness or 1.0
    told = {"ours": judged(pairs, cosines, ours(usual))}
    told["naive"] = judged(pairs, cosines, naive(NAIVE))
    told["sweep"] = {
        str(least): {
            name: judged(pairs, cosines, rule(least))
            for name, rule in (("ours", ours), ("naive", naive))
        }
        for least in SWEEP
    }
    return told


def unlabelled(sets: dict[str, list[str]], vectors: Vectors) -> dict[str, Any]:
    """What each rule would merge of real texts, and what of that is surely wrong."""
    usual = DuplicateRules().likeness or 1.0
    told: dict[str, Any] = {"near": 0, "ours": 0, "naive": 0, "naive_surely_wrong": 0}
    for name, texts in sets.items():
        pairs = near_pairs(texts, vectors)
        print(f"{name}: {len(pairs)} near pairs", file=sys.stderr)
        told["near"] += len(pairs)
        told["ours"] += sum(ours(usual)(*pair) for pair in pairs)
        merged = [pair for pair in pairs if pair[2] >= NAIVE]
        told["naive"] += len(merged)
        told["naive_surely_wrong"] += sum(_surely_other(one, other) for one, other, _ in merged)
    return told


def _surely_other(one: str, other: str) -> bool:
    facts = [
        Counter(token.key for token in tokens(text) if token.what in SURELY_OTHER)
        for text in (one, other)
    ]
    return facts[0] != facts[1]


def hard_pairs() -> list[Pair]:
    """The pairs that were made up."""
    rows = map(json.loads, PAIRS.read_text().splitlines())
    return [Pair(row["one"], row["other"], row["same"]) for row in rows]


def main() -> None:
    """Measure, and tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--sentences", type=int, default=SENTENCES)
    given = parser.parse_args()
    sets = real_sets(given.data)
    with tempfile.TemporaryDirectory() as models:
        vectors = Vectors(open_embedder(EngineRules(), Path(models)))
        told: dict[str, Any] = {"hard pairs": labelled(hard_pairs(), vectors)}
        texts = [text for each in sets.values() for text in each]
        told["edited sentences"] = labelled(edited(texts, given.sentences), vectors)
        told["real near pairs"] = unlabelled(sets, vectors)
    if given.json:
        print(json.dumps(told, indent=1))
        return
    _tell(told)


def _tell(told: dict[str, Any]) -> None:
    print("| set | rule | same | other | merged | false | precision | recall | false, at most |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in ("hard pairs", "edited sentences"):
        for rule in ("ours", "naive"):
            one = told[name][rule]
            precision = "-" if one["precision"] is None else f"{one['precision']:.3f}"
            print(
                f"| {name} | {rule} | {one['same']} | {one['other']} | {one['merged']} "
                f"| {one['false']} | {precision} | {one['recall']:.2f} "
                f"| {one['false_rate_most']:.2%} |"
            )
    for name in ("hard pairs", "edited sentences"):
        for least, rules in told[name]["sweep"].items():
            each = ", ".join(
                f"{rule}: recall {one['recall']:.2f}, false {one['false']}"
                for rule, one in rules.items()
            )
            print(f"{name} from {least}: {each}")
    print(f"real near pairs: {told['real near pairs']}")


if __name__ == "__main__":
    main()
