"""Train: learns from an agent's own history what its memories are worth (row P12).

The oldest three quarters of what the history teaches are learned from, the newest quarter is what
the model is tried on: nothing of it was learned from, and none of the figures flatters. A model
that is not surely better than the constant guess and the scoring guide, or worse than the one in
force, is not taken. Until the file of a new one is whole, the old one is in force.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from skymem.jobs.agent_by_agent import agent_by_agent, detail_of
from skymem.jobs.fitting import check_installed, fit
from skymem.jobs.learning import Taught, taught_by
from skymem.jobs.workplace import Workplace
from skymem.model.plan import Plan
from skymem.policy.judging import Verdict, figures, verdict
from skymem.policy.prediction import Model
from skymem.policy.teaching import QUESTIONS_LEAST, SPREAD_LEAST, Lesson, spread_of
from skymem.stores.catalog import Catalog
from skymem.stores.importance_models import in_force, is_set_aside, keep_model

LESSONS_LEAST: Final = 80
"""Fewer say more about chance than about what is worth keeping."""

HELD_OUT: Final = 4
"""One of so many is tried, and not learned from: the newest ones."""


@dataclass(slots=True)
class Trained:
    """What a run came to for one agent."""

    agent: str
    job: str = "train"
    error: str = ""
    exit_code: int = 0
    plans: list[Plan] = field(default_factory=list)
    """None: it moves no memory."""

    taken: bool = False
    gate: str = ""
    """Why no model was taken, as a word: `too_little`, `unchanged`, `set_aside`, `worse`."""

    why: str = ""
    told: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The detail of this agent alone."""
        detail: dict[str, Any] = {"ok": not self.error, "taken": self.taken, **self.told}
        if self.why:
            detail["why"] = self.why
        if self.error:
            detail |= {"error": self.error, "exit_code": self.exit_code}
        return detail


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
    one.gate, one.why = _nothing_to_learn(work, taught, old, one.agent)
    if one.gate:
        return
    work.check_stop()
    model, decided = _learn(work, one.agent, taught, old)
    one.told |= {key: model.told[key] for key in ("taught", "held_out", "figures")}
    one.why = decided.why
    one.gate = "" if decided.taken else "worse"
    if decided.taken and not dry_run:
        with work.job_lock(one.agent, "train"):
            keep_model(work.paths, work.files, model)
    one.taken = decided.taken


def _nothing_to_learn(
    work: Workplace, taught: Taught, old: Model | None, agent: str
) -> tuple[str, str]:
    """The gate that stops it before anything is learned, and why; "" when none does."""
    if missing := _missing(work, taught):
        return "too_little", missing
    if old is not None and old.inputs == taught.inputs:
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


def _learn(work: Workplace, agent: str, taught: Taught, old: Model | None) -> tuple[Model, Verdict]:
    known, held = _split(taught.lessons)
    fitted = fit(known)
    whole = sum(one.weight for one in known)
    usual = sum(one.target * one.weight for one in known) / whole
    model = Model(
        agent=agent,
        trained_at=work.now(),
        inputs=taught.inputs,
        taught_until=known[-1].time_us,
        base=fitted.base,
        coefficients=fitted.coefficients,
    )
    guesses = {
        "model": [model.of_features(dict(one.seen)) for one in held],
        "guide": [one.guide for one in held],
        "constant": [usual] * len(held),
    }
    if old is not None:
        guesses["in_force"] = [old.of_features(dict(one.seen)) for one in held]
    decided = verdict(
        held,
        guesses["model"],
        constant=guesses["constant"],
        guide=guesses["guide"],
        in_force=guesses.get("in_force"),
    )
    threshold = work.rules.for_agent(agent).promote_threshold
    told = {
        **taught.as_json(),
        "taught": len(known),
        "held_out": len(held),
        "threshold": threshold,
        "restraint": fitted.restraint,
        "figures": {name: figures(held, one, threshold).as_json() for name, one in guesses.items()},
    }
    return replace(model, told=told), decided


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
