"""Train: learns from an agent's own history what its memories are worth (row P12).

The oldest three quarters of what the history teaches are learned from, the newest quarter is what
the model is tried on: nothing of it was learned from, and none of the figures flatters. A model
that is not surely better than the constant guess and the scoring guide, or worse than the one in
force, is not taken. Until the file of a new one is whole, the old one is in force.

What the texts mean is learned from as well, where the engine gives their vectors; it counts if it
is surely better than the text alone.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from skymem.jobs.agent_by_agent import AgentResult, agent_by_agent, detail_of
from skymem.jobs.fitting import Fitted, check_installed, fit, fit_meaning
from skymem.jobs.learning import Taught, taught_by
from skymem.jobs.meaning import (
    TRAIN_SECONDS,
    Meanings,
    Vectors,
    ask_meanings,
    runs,
)
from skymem.jobs.workplace import Workplace
from skymem.policy.judging import Verdict, figures, is_surely_better, verdict
from skymem.policy.prediction import Meaning, Model
from skymem.policy.teaching import QUESTIONS_LEAST, SPREAD_LEAST, Lesson, spread_of
from skymem.stores.catalog import Catalog
from skymem.stores.importance_models import in_force, is_set_aside, keep_model

LESSONS_LEAST: Final = 80
"""Fewer say more about chance than about what is worth keeping."""

HELD_OUT: Final = 4
"""One of so many is tried, and not learned from: the newest ones."""


@dataclass(slots=True)
class Trained(AgentResult):
    """What a run came to for one agent."""

    job: str = "train"
    taken: bool = False
    gate: str = ""
    """Why no model was taken, as a word: `too_little`, `unchanged`, `set_aside`, `worse`."""

    why: str = ""
    told: dict[str, Any] = field(default_factory=dict)

    def counts(self) -> dict[str, Any]:
        """Whether a model was taken, and why not."""
        found = {"taken": self.taken, **self.told}
        return {**found, "why": self.why} if self.why else found


def train(
    work: Workplace, agents: Collection[str], *, dry_run: bool = False
) -> tuple[dict[str, Any], list[Trained]]:
    """Train a model for each agent; in a dry run none is taken.

    One agent's failure is recorded and does not stop the next.

    Raises:
        UsageError: scikit-learn is not installed.
    """
    check_installed()
    started = work.now()
    each = [Trained(agent) for agent in agents]
    agent_by_agent(work, each, lambda catalog, one: _one(work, catalog, one, dry_run=dry_run))
    why, numbers = _why_none(each), _numbers(each)
    told = detail_of(work, "train", each, numbers, started=started, why=why, dry_run=dry_run)
    return told, each


def _one(work: Workplace, catalog: Catalog, one: Trained, *, dry_run: bool) -> None:
    shelf = work.shelf(one.agent)
    taught = work.ask(catalog, shelf, lambda: taught_by(work, shelf, catalog))
    one.told = taught.as_json()
    old = in_force(work.paths, one.agent, work.now())
    if missing := _missing(work, taught):
        one.gate, one.why = "too_little", missing
        return
    meanings = _who_embeds(work, one.agent, dry_run=dry_run)
    one.gate, one.why = _nothing_new(work, taught, old, meanings.model, one.agent)
    if one.gate:
        return
    if meanings.model:
        texts, key = taught.texts, meanings.model
        meanings = ask_meanings(work, one.agent, texts, seconds=TRAIN_SECONDS, model=key)
    _say_by_text_alone(work, one.agent, meanings)
    work.check_stop()
    model, decided = _learn(work, one.agent, taught, meanings, old)
    one.told |= {key: model.told[key] for key in ("taught", "held_out", "vectors", "figures")}
    one.why = decided.why
    one.gate = "" if decided.taken else "worse"
    if decided.taken and not dry_run:
        with work.job_lock(one.agent, "train"):
            keep_model(work.paths, work.files, model)
    one.taken = decided.taken


def _who_embeds(work: Workplace, agent: str, *, dry_run: bool) -> Meanings:
    """The embedding model whose vectors may be learned from, or why there is none."""
    if work.rules.importance.vectors == "off":
        return Meanings("", [], "importance: vectors: off")
    if dry_run and not runs(work):
        return Meanings("", [], "the engine does not run; a training that is no dry run starts it")
    return ask_meanings(work, agent, [], seconds=TRAIN_SECONDS)


def _say_by_text_alone(work: Workplace, agent: str, meanings: Meanings) -> None:
    if meanings.why and work.engine is not None and work.rules.importance.vectors != "off":
        work.degrade(f"train {agent}: by text alone: {meanings.why}")


def _nothing_new(
    work: Workplace, taught: Taught, old: Model | None, embeds: str, agent: str
) -> tuple[str, str]:
    """The gate that stops it before anything is learned, and why; "" when none does."""
    if old is not None and old.inputs == taught.inputs:
        # By vectors it may come out better; without the engine it would forget what they taught.
        tried = old.told.get("vectors", {}).get("model", "")
        if embeds in {"", tried}:
            return "unchanged", "its history teaches what the model in force was made from"
    if is_set_aside(work.paths, agent, taught.inputs):
        return "set_aside", "its history teaches what made the model that was gone back from"
    return "", ""


def _missing(work: Workplace, taught: Taught) -> str:
    """What a history lacks; "" when it has enough."""
    known, held = _split(taught.lessons)
    if len(taught.lessons) >= LESSONS_LEAST:
        if all(spread_of([one.target for one in part]) >= SPREAD_LEAST for part in (known, held)):
            return ""
        return "its memories are all worth about the same: nothing tells them apart"
    lacks = []
    if not work.rules.recall_log:
        lacks.append("recall is not on record (recall_log: false)")
    elif taught.answers < QUESTIONS_LEAST:
        lacks.append(f"{taught.answers} of {QUESTIONS_LEAST} answers of recall are on record")
    if taught.rater.given and not taught.rater.teaches:
        share = f"{taught.rater.same:.0%} of {taught.rater.given:,} are one number"
        lacks.append(f"the importance given tells nothing apart ({share})")
    elif taught.rater.given < LESSONS_LEAST:
        lacks.append(f"{taught.rater.given:,} memories were given an importance")
    told = f"{len(taught.lessons):,} of {LESSONS_LEAST} memories teach anything"
    return f"too little history: {told}; {'; '.join(lacks)}" if lacks else f"too little: {told}"


class _Parts(NamedTuple):
    known: Sequence[Lesson]
    held: Sequence[Lesson]


def _split(lessons: Sequence[Lesson]) -> _Parts:
    """By time: what is learned from, and what it is tried on."""
    place = len(lessons) - len(lessons) // HELD_OUT
    return _Parts(lessons[:place], lessons[place:])


def _learn(
    work: Workplace, agent: str, taught: Taught, meanings: Meanings, old: Model | None
) -> tuple[Model, Verdict]:
    known, held = _split(taught.lessons)
    fitted = fit(known)
    model = Model(
        agent=agent,
        trained_at=work.now(),
        inputs=taught.inputs,
        taught_until=known[-1].time_us,
        base=fitted.base,
        coefficients=fitted.coefficients,
    )
    vectors = [] if meanings.why else meanings.vectors[len(known) :]
    guesses = {
        "model": _guessed(model, held, meanings.model, vectors),
        "guide": [one.guide for one in held],
        "constant": [_usual(known)] * len(held),
    }
    by_vectors: dict[str, Any] = {"model": "", "taken": False, "why": meanings.why}
    decided = _decided(held, guesses)
    if decided.taken and any(vectors):
        work.check_stop()
        model, by_vectors = _with_meanings(model, fitted, taught, meanings, guesses)
    if old is not None:
        guesses["in_force"] = _guessed(old, held, meanings.model, vectors)
        decided = _decided(held, guesses) if decided.taken else decided
    threshold = work.rules.for_agent(agent).promote_threshold
    told = {
        **taught.as_json(),
        "taught": len(known),
        "held_out": len(held),
        "threshold": threshold,
        "restraint": fitted.restraint,
        "vectors": by_vectors,
        "figures": {name: figures(held, one, threshold).as_json() for name, one in guesses.items()},
    }
    return replace(model, told=told), decided


def _with_meanings(
    model: Model,
    fitted: Fitted,
    taught: Taught,
    meanings: Meanings,
    guesses: dict[str, list[float]],
) -> tuple[Model, dict[str, Any]]:
    """Learn from vectors as well; what it says with them takes its place if it is surely better.

    Gives the model as it is then, and what came of it. What it says by text alone stays what is
    asked where there are no vectors, and so it had to be good enough by itself.
    """
    known, held = _split(taught.lessons)
    told = fit_meaning(known, fitted.tried, meanings.vectors[: len(known)])
    meaning = Meaning(meanings.model, told.base, told.scale, told.usual, tuple(told.weights))
    both = replace(model, meaning=meaning)
    guessed = _guessed(both, held, meanings.model, meanings.vectors[len(known) :])
    sure, less = is_surely_better(held, guessed, guesses["model"])
    guesses["text"], guesses["vectors"] = guesses["model"], guessed
    if sure:
        guesses["model"] = guessed
    why = f"{'' if sure else 'not surely better: '}{less} than by text alone"
    found = {"model": meanings.model, "taken": sure, "why": why, "restraint": told.restraint}
    return both if sure else model, found


def _usual(known: Sequence[Lesson]) -> float:
    whole = sum(one.weight for one in known)
    return sum(one.target * one.weight for one in known) / whole


def _guessed(model: Model, held: Sequence[Lesson], embeds: str, vectors: Vectors) -> list[float]:
    """What a model says of memories; by their vectors as well, where those are of its kind."""
    meaning = model.meaning
    if meaning is None or meaning.model != embeds or not vectors:
        return [model.of_features(dict(one.seen)) for one in held]
    shares = map(meaning.share, vectors)
    return [
        model.of_features(dict(one.seen), share) for one, share in zip(held, shares, strict=True)
    ]


def _decided(held: Sequence[Lesson], guesses: Mapping[str, list[float]]) -> Verdict:
    return verdict(
        held,
        guesses["model"],
        constant=guesses["constant"],
        guide=guesses["guide"],
        in_force=guesses.get("in_force"),
    )


def _numbers(each: Sequence[Trained]) -> dict[str, Any]:
    taken = sum(one.taken for one in each)
    return {
        "eligible": sum(one.told.get("lessons", 0) for one in each),
        "acted": taken,
        "models": taken,
        "skipped": dict(Counter(one.gate for one in each if one.gate)),
    }


def _why_none(each: Sequence[Trained]) -> str:
    whys = [f"{one.agent}: {one.why}" for one in each if one.why and not one.error]
    failed = any(one.error for one in each)
    return "; ".join(whys) or ("it failed" if failed else "there is no agent yet")
