"""Does a model tell what will be asked for, better than the scoring guide and the constant guess?

Run: python benchmarks/importance.py --data DIRECTORY [--json]

DIRECTORY holds `locomo/locomo10.json` and the samples beside it. A memory is worth keeping when it
answers a question that is asked later: in LoCoMo the turns that are a question's evidence, in
LongMemEval every turn of a session that answers one. None of them carries an importance.

- **labels**: learned from nine conversations, tried on the tenth, each in turn; likewise the three
  haystacks of LongMemEval. What a model can know of a stranger's memories.
- **home**: each conversation in a home of its own, every question of the first half asked by the
  real recall (words alone), then `skymem train`; judged by what answers the second half. What one
  learns from its own use, through all that lies between.
- **devbench** has thirty memories: what `skymem train` says to so few.

Each is measured by text alone and with the vectors of the embedding model (`text and vectors`;
in a home only where `skymem train` took them, which starts an engine of its own). Cue rules beside
the guide are measured as well: decision, goal and error words, a question, a log
line. `top` is the precision when as many are taken as are worth it, `auc` how often what is worth
it is put before what is not: neither needs a threshold. The console log `bookminder` beside the
others has no labels, no importance and no questions, so nothing can be measured with it.
"""

import argparse
import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, Final

if __package__ in {None, ""}:  # run as a script: what it imports stands beside it
    sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.recall_data import Haystack, devbench, locomo, longmemeval
from skymem import app, open_memory
from skymem.engine.embedding import Embedder
from skymem.engine.items import ALIKE_CHARACTERS
from skymem.engine.models import open_embedder
from skymem.jobs.fitting import fit, fit_meaning
from skymem.model.memory import Memory
from skymem.model.rules import EngineRules
from skymem.policy.features import features
from skymem.policy.importance import expected
from skymem.policy.judging import figures
from skymem.policy.prediction import Meaning, Model
from skymem.policy.teaching import Lesson
from skymem.stores.importance_models import in_force

THRESHOLD: Final = 0.7
CUES: Final = {
    "cue: a choice": 0.3,
    "cue: a goal": 0.2,
    "cue: an error": 0.2,
    "cue: asked to be remembered": 0.5,
    "form: a question": -0.1,
    "form: a log line": -0.1,
}
"""What a rule of cues would add to the guide, as one would set it by hand."""

Guess = Callable[[Lesson], float]


class Meanings:
    """The vectors of memories, each encoded once, by their ids."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, list[float]] = {}

    @property
    def key(self) -> str:
        """Of the embedding model."""
        return self._embedder.identity.key

    def read(self, haystacks: Sequence[Haystack]) -> None:
        """Encode what is to be measured."""
        for one in haystacks:
            begun = {
                line["id"]: (self._embedder.chunks(line["content"][:ALIKE_CHARACTERS]) or ["."])[0]
                for line in one.lines
            }
            vectors = self._embedder.encode(list(begun.values()))
            self._known |= dict(zip(begun, vectors.tolist(), strict=True))

    def of(self, one: Lesson) -> list[float]:
        """The vector of a memory."""
        return self._known[one.id]


def lessons_of(one: Haystack) -> list[Lesson]:
    """Its memories in the order of their time, each with whether anybody asked for it."""
    gold: set[str] = set().union(*(question.gold for question in one.questions))
    by_session = any(question.by_session for question in one.questions)
    return [lesson(line, line["session" if by_session else "id"] in gold) for line in one.lines]


def lesson(line: dict[str, Any], asked: bool) -> Lesson:  # noqa: FBT001
    """One memory, as `skymem train` would see it."""
    memory = Memory({key: value for key, value in line.items() if key != "session"})
    seen = tuple((each.key, each.value) for each in features(memory))
    time_us = memory.time_us or 0
    return Lesson(line["id"], time_us, float(asked), 1.0, expected(memory.kind).importance, seen)


def guesses(model: Model, usual: float, meanings: Meanings) -> dict[str, Guess]:
    """Everyone who says what a memory is worth."""

    def with_vectors(one: Lesson) -> float:
        meaning = model.meaning
        share = None if meaning is None else meaning.share(meanings.of(one))
        return model.of_features(dict(one.seen), share)

    return {
        "text alone": lambda one: model.of_features(dict(one.seen)),
        "text and vectors": with_vectors,
        "scoring guide": lambda one: one.guide,
        "guide and cues": with_cues,
        "constant guess": lambda _one: usual,
    }


def with_cues(one: Lesson) -> float:
    """The guide, with what cue rules would add."""
    added = sum(CUES.get(key, 0.0) for key, _ in one.seen)
    return min(1.0, max(0.0, one.guide + added))


def measured(held: Sequence[Lesson], guess: Guess) -> dict[str, Any]:
    """How good one of them is on memories nothing was learned from."""
    predicted = [guess(one) for one in held]
    told = figures(held, predicted, THRESHOLD).as_json()
    ranked = sorted(zip(predicted, held, strict=True), key=lambda pair: -pair[0])
    worthy = sum(one.target for one in held)
    tied = {round(one, 9) for one in predicted}
    best = [one.target for _, one in ranked[: round(worthy)]]
    told["top"] = round(mean(best), 4) if len(tied) > 1 and best else round(worthy / len(held), 4)
    told["auc"] = auc(ranked)
    told["share"] = round(worthy / len(held), 4)
    return told


def auc(ranked: Sequence[tuple[float, Lesson]]) -> float | None:
    """How often one that is worth it stands before one that is not; a tie counts half."""
    above = wins = 0.0
    groups: dict[float, list[float]] = {}
    for guess, one in ranked:
        groups.setdefault(guess, []).append(one.target)
    for guess in sorted(groups, reverse=True):
        worthy = sum(groups[guess])
        others = len(groups[guess]) - worthy
        wins += others * (above + worthy / 2)
        above += worthy
    others = len(ranked) - above
    return round(wins / (above * others), 4) if above and others else None


def averaged(each: Sequence[dict[str, Any]]) -> dict[str, float]:
    """The mean of figures; of a share of nothing, over those that have one."""
    names = (
        "mae",
        "brier",
        "log_loss",
        "precision",
        "recall",
        "promoted",
        "calibration",
        "auc",
        "top",
    )
    found = {name: [one[name] for one in each if one[name] is not None] for name in names}
    return {name: round(mean(values), 4) for name, values in found.items() if values}


def model_from(taught: Sequence[Lesson], meanings: Meanings) -> tuple[Model, float]:
    """What some lessons and their vectors teach, and what the usual memory of them is worth."""
    fitted = fit(taught)
    by = fit_meaning(taught, fitted.tried, [meanings.of(one) for one in taught])
    meaning = Meaning(meanings.key, by.base, by.scale, by.usual, tuple(by.weights))
    usual = mean(one.target for one in taught)
    model = Model("bench", 0.0, "", 0, fitted.base, fitted.coefficients, meaning=meaning)
    return model, usual


def by_labels(haystacks: Sequence[Haystack], meanings: Meanings) -> dict[str, Any]:
    """Learn from all but one, and try on that; each in turn."""
    each = [lessons_of(one) for one in haystacks]
    told: dict[str, list[dict[str, Any]]] = {}
    for number, held in enumerate(each):
        taught = [one for other in each[:number] + each[number + 1 :] for one in other]
        for name, guess in guesses(*model_from(taught, meanings), meanings).items():
            told.setdefault(name, []).append(measured(held, guess))
    memories = sum(len(one) for one in each)
    share = mean(one["share"] for one in told["text alone"])
    return {
        "memories": memories,
        "worth keeping": round(share, 4),
        **{name: averaged(found) for name, found in told.items()},
    }


def in_homes(haystacks: Sequence[Haystack], meanings: Meanings) -> dict[str, Any]:
    """Let each home learn from its own recall, and judge by what is asked after that."""
    told: dict[str, list[dict[str, Any]]] = {}
    taken = by_vectors = 0
    whys = []
    for one in haystacks:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
            model, usual, why = lived(Path(name), one)
        whys.append(why)
        taken += model is not None
        by_vectors += model is not None and model.meaning is not None
        later = one._replace(questions=one.questions[1::2])
        held = lessons_of(later)
        each = guesses(model or Model("bench", 0.0, "", 0, 0.0, {}), usual, meanings)
        if model is None:  # then the guide goes on counting
            each["text alone"] = each["text and vectors"] = each["scoring guide"]
        for guess, of in each.items():
            told.setdefault(guess, []).append(measured(held, of))
    share = mean(one["share"] for one in told["text alone"])
    return {
        "homes": len(haystacks),
        "models taken": taken,
        "of those by vectors": by_vectors,
        "worth keeping": round(share, 4),
        "not taken": [why for why in whys if why],
        **{name: averaged(found) for name, found in told.items()},
    }


def lived(root: Path, one: Haystack) -> tuple[Model | None, float, str]:
    """Fill a home, ask the first half of its questions, and train."""
    app.init_home(root)
    home = app.open_home(str(root))
    home.make_ready("sky")
    spelled = (json.dumps(line) + "\n" for line in one.lines)
    home.paths.agent("sky").short_term.write_text("".join(spelled))
    home.run_job("promote")
    home.workplace().home_key()  # as any job that moves a memory: without it no recall is noted
    memory = open_memory("sky", home=str(root))
    for question in one.questions[::2]:
        memory.recall(question.text)
    with engine_of(home):
        detail, _ = home.run_job("train")
    told = detail["agents"]["sky"]
    by = told.get("by", {})
    usual = by.get("recall", 0) / max(1, told.get("lessons", 0))
    model = in_force(home.paths, "sky", app.now())
    return model, usual, "" if told["taken"] else told["why"]


@contextlib.contextmanager
def engine_of(home: app.Home) -> Iterator[None]:
    """Let a home use an engine, which ends with it."""
    off = os.environ.pop("SKYMEM_ENGINE")
    try:
        yield
        home.engine().leave()
    finally:
        os.environ["SKYMEM_ENGINE"] = off


def speed(one: Haystack, meanings: Meanings) -> float:
    """Microseconds of one prediction."""
    model, _ = model_from(lessons_of(one), meanings)
    memories = [Memory({"ts": 1, "content": line["content"]}) for line in one.lines]
    start = time.process_time()
    for memory in memories:
        model.of(memory)
    return (time.process_time() - start) / len(memories) * 1e6


def everything(data: Path) -> dict[str, Any]:
    """Measure each set that is there."""
    meanings = Meanings(open_embedder(EngineRules(), data))
    conversations = locomo(data / "locomo" / "locomo10.json")
    meanings.read(conversations)
    told: dict[str, Any] = {"LoCoMo, labels": by_labels(conversations, meanings)}
    told["LoCoMo, home"] = in_homes(conversations, meanings)
    sample = data / "lme_sample" / "longmemeval_s_3haystacks.json"
    if sample.exists():
        strangers = longmemeval(sample)
        meanings.read(strangers)
        told["LongMemEval, labels"] = by_labels(strangers, meanings)
    bench = data / "devbench" / "devbench_dataset.json"
    if bench.exists():
        few = devbench(bench)
        meanings.read(few)
        told["devbench, home"] = in_homes(few, meanings)
    told["microseconds of a prediction"] = round(speed(conversations[0], meanings), 1)
    return told


def main() -> None:
    """Measure, and tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the directory of the data sets")
    parser.add_argument("--json", action="store_true", help="one document on stdout")
    options = parser.parse_args()
    os.environ["SKYMEM_ENGINE"] = "off"
    told = everything(options.data)
    if options.json:
        sys.stdout.write(json.dumps(told, indent=2) + "\n")
        return
    for scope, found in told.items():
        sys.stdout.write(f"{scope}\n" if isinstance(found, dict) else f"{scope}: {found}\n")
        for name, value in found.items() if isinstance(found, dict) else ():
            shown = value
            if isinstance(value, dict):
                shown = "  ".join(f"{key} {number:.3f}" for key, number in value.items())
            sys.stdout.write(f"  {name:<16} {shown}\n")


if __name__ == "__main__":
    main()
