"""What memories are worth by the model in force: how good it is, what it says and why (row P12)."""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from skymem.app import READER_BUSY_MS, Home
from skymem.errors import UsageError
from skymem.jobs.learning import Found, memories_of
from skymem.jobs.meaning import look_at_one, nearest
from skymem.jobs.predicting import Predicting
from skymem.jobs.workplace import Workplace
from skymem.policy.importance import worth
from skymem.policy.prediction import Model, Predicted
from skymem.stores.files import disk_errors
from skymem.stores.importance_models import damaged, in_force, models_of, set_aside
from skymem.stores.shelf import Kept

DAY_SECONDS: Final = 86_400


def models_overview(home: Home, agents: Sequence[str]) -> dict[str, Any]:
    """By agent, the model in force with its figures, and which others are kept."""
    work = home.workplace()
    now = work.now()
    found = {agent: _overview(home, agent, now) for agent in agents}
    return {"predict": home.rules.importance.predict, "agents": found}


def _overview(home: Home, agent: str, now: float) -> dict[str, Any]:
    model = in_force(home.paths, agent, now)
    kept = [one.trained_at for one in models_of(home.paths, agent)]
    told: dict[str, Any] = {"model": None, "kept": kept, "damaged": damaged(home.paths, agent)}
    if model is not None:
        age = round((now - model.trained_at) / DAY_SECONDS, 3)
        features = len(model.coefficients)
        about = {"trained_at": model.trained_at, "age_days": age, "features": features}
        by = "text" if model.meaning is None else "vectors"
        told["model"] = {**about, "goes_by": by, "inputs": model.inputs, **model.told}
    return told


def why(home: Home, agent: str, name: str) -> dict[str, Any]:
    """What one memory is worth, who says so, and what a prediction is made of.

    The parts name words of the memory: this is for who may read it, and is kept nowhere.

    Raises:
        UnknownMemoryError: no tier has it.
    """
    kept = home.find(agent, name)
    work, shelf = home.workplace(), home.shelf(agent)
    predicted: Predicted | None = None
    with work.catalog(busy_ms=READER_BUSY_MS) as catalog, disk_errors(shelf.paths.directory):
        model = in_force(home.paths, agent, work.now())
        look_at_one(work, agent, kept.id, kept.memory.searchable)
        if model is not None:
            predicting = Predicting.with_meanings(work, catalog, model)
            predicted = work.ask(catalog, shelf, lambda: predicting.why(kept.memory, kept.id))
        counts = Predicting.by_rules(work, catalog, agent)
        own = None if counts is None else counts.of(kept.memory, kept.id)
    value, source = weighed = worth(kept.memory, home.rules.kinds, own)
    return {
        "id": kept.id,
        "agent": agent,
        "importance": value,
        "importance_source": weighed.origin,
        "source": source,
        "threshold": home.rules.for_agent(agent).promote_threshold,
        "prediction": None if model is None else _told(work, kept, model, predicted),
    }


def _told(
    work: Workplace, kept: Kept, model: Model, predicted: Predicted | None
) -> dict[str, Any] | None:
    if predicted is None:
        return None
    by: dict[str, Any] = {}
    if model.meaning is not None:
        by = {"by": predicted.by}
    if predicted.by == "vectors":
        by["nearest"] = nearest(work, model.agent, kept.id, kept.memory.searchable)
    return {
        **by,
        "importance": predicted.importance,
        "trained_at": model.trained_at,
        "log_odds": round(predicted.log_odds, 6),
        "base": predicted.base,
        "parts": [{"feature": one.shown, "adds": round(one.value, 6)} for one in predicted.parts],
        "unknown": predicted.unknown,
    }


def second_opinions(home: Home, agent: str, most: int) -> dict[str, Any]:
    """The memories whose given importance and the model's differ most, the widest apart first.

    Of each what is known of its meaning counts; no engine is asked. What was given counts all the
    same: this is for who looks whether it should.
    """
    work, shelf = home.workplace(), home.shelf(agent)
    told: dict[str, Any] = {"agent": agent, "model": None, "memories": []}
    with work.catalog(busy_ms=READER_BUSY_MS) as catalog, disk_errors(shelf.paths.directory):
        model = in_force(home.paths, agent, work.now())
        if model is None:
            return told
        predicting = Predicting.with_meanings(work, catalog, model)

        def widest() -> list[dict[str, Any]]:
            opinions = _opinions(predicting, memories_of(shelf, catalog))
            return heapq.nsmallest(most, opinions, key=lambda one: (-one["differs"], one["id"]))

        found = work.ask(catalog, shelf, widest)
    return {**told, "model": model.trained_at, "memories": found}


def _opinions(predicting: Predicting, every: Iterable[Found]) -> Iterator[dict[str, Any]]:
    for one in every:
        given = one.memory.importance
        if given is not None:
            predicted = predicting.why(one.memory, one.id)
            yield {
                "id": one.id,
                "tier": one.tier,
                "importance": given,
                "predicted": predicted.importance,
                "differs": round(abs(given - predicted.importance), 3),
                "by": predicted.by,
            }


def roll_back(home: Home, agent: str, *, dry_run: bool = False) -> dict[str, Any]:
    """Take the model in force out of force; the one before it counts again, or the guide.

    Raises:
        NotAllowedError: this is bound to an agent: that is the operator's.
        UsageError: there is none.
    """
    home.only_operator()
    work = home.workplace(dry_run=dry_run)
    started = work.now()
    before = in_force(home.paths, agent, started)
    if before is None:
        raise UsageError(f"agent {agent} has no model in force to go back from")
    older = [one for one in models_of(home.paths, agent) if one.trained_at < before.trained_at]
    after = next((one for one in reversed(older) if one.is_usable), None)
    detail: dict[str, Any] = {
        "ok": True,
        "job": "importance",
        "started": started,
        "agent": agent,
        "acted": 1,
        "rolled_back": before.trained_at,
        "in_force": None if after is None else after.trained_at,
    }
    if dry_run:
        return {**detail, "dry_run": True}
    with work.job_lock(agent, "importance"):
        set_aside(home.paths, home.files, before)
    detail["duration_s"] = round(work.now() - started, 6)
    home.record("importance", detail)
    return detail
