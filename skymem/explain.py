"""Explain: what a memory is, how it came where it is, and what comes next, for any id (row X1)."""

from collections.abc import Mapping
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from typing import Any, Final

from skymem.app import READER_BUSY_MS, Home, engine_allowed
from skymem.errors import SkymemError, UnknownMemoryError
from skymem.jobs.foretell import Foretelling
from skymem.jobs.meaning import look_at_one
from skymem.jobs.predicting import Predicting
from skymem.jobs.workplace import Workplace
from skymem.policy.importance import Worth, worth
from skymem.policy.prospects import Exemption, Gate, Looked, steps
from skymem.policy.share import Source, shared_from
from skymem.stores.catalog import Catalog
from skymem.stores.files import disk_errors
from skymem.stores.history import Event, history_of, ids_beginning
from skymem.stores.shelf import Kept, Shelf

NOT_RUNNING: Final = "the engine does not run, and explain starts none"
NOT_ALLOWED: Final = "SKYMEM_ENGINE=off keeps the engine from being used"

_UNSAID: Final = Worth(0.0, "")
"""Of a memory that is gone."""


@dataclass(slots=True, kw_only=True)
class Explanation:
    """Everything there is to say of one memory."""

    id: str
    agent: str
    kept: Kept | None
    """Where it is; None when it is gone."""

    history: list[Event]
    standing: str = ""
    """`active`, `expired` or `superseded`; "" when it is in trash or gone."""

    superseded_by: str | None = None
    chain: Mapping[str, str | None] = field(default_factory=dict)
    """Ids of everything that it, or what took its place, superseded, oldest first; each with the
    one that took its own place, the last with None."""

    gates: list[Gate] = field(default_factory=list)
    kept_by: str = ""
    """`pinned`: every job leaves it where it is. `evidence`: a living summary rests on it, and no
    job removes it."""

    exemption: Exemption | None = None
    runs: Mapping[str, float | None] = field(default_factory=dict)
    """By job, when it runs next."""

    importance: Worth = _UNSAID
    predicted: float | None = None
    """What a model says it is worth, where one is asked about it."""

    alike: Looked | None = None
    """What says the same, of an active memory of short-term or long-term; None of any other."""

    @property
    def state(self) -> str:
        """The tier it is in, or `gone`."""
        return self.kept.tier if self.kept is not None else "gone"

    @property
    def source(self) -> Source | None:
        """Whose memory it is a copy of, and which; None of the agent's own."""
        return None if self.kept is None else shared_from(self.kept.memory)

    def next(self) -> list[dict[str, Any]]:
        """What happens to it next, soonest first; see `steps`."""
        found = steps(self.gates, self.runs)
        if self.alike is None or not self.alike.merging or self.alike.once:
            return found
        names = ", ".join(one.id for one in self.alike.merging)
        job = self.alike.job
        what = f"made one with {names}, as they say the same"
        step = {"what": what, "job": job, "gate": "duplicate", "at": self.runs.get(job)}
        return sorted([step, *found], key=lambda one: (one["at"] is None, one["at"] or 0.0))

    def as_json(self) -> dict[str, Any]:
        """Spell it as `skymem explain --json` does; of the memory all but its text."""
        told: dict[str, Any] = {
            "id": self.id,
            "agent": self.agent,
            "state": self.state,
            "standing": self.standing or None,
            "file": None if self.kept is None else f"memory/{self.agent}/{self.kept.file}",
            **self._importance(),
            "shared_from": self.source._asdict() if self.source is not None else None,
            "kept_by": self.kept_by or None,
            "superseded_by": self.superseded_by,
            "chain": [*self.chain],
            "chain_by": {name: by for name, by in self.chain.items() if by is not None},
            "history": [event.as_json() for event in self.history],
            "restored": None if self.exemption is None else self.exemption.as_json(),
            "gates": [_gate_json(gate) for gate in self.gates],
            "duplicates": None if self.alike is None else self.alike.as_json(),
            "next": self.next(),
        }
        return told

    def _importance(self) -> dict[str, Any]:
        if self.kept is None:
            return dict.fromkeys(("importance", "importance_source", "predicted"))
        value, _ = self.importance
        source = self.importance.origin
        return {"importance": value, "importance_source": source, "predicted": self.predicted}


def explain(home: Home, agent: str, name: str) -> Explanation:
    """Explain a memory, by its id or the first letters of it, in any tier or gone.

    Raises:
        UnknownMemoryError: no tier has it and the ledger never heard of it.
        DiskError: what is to be read can't be.
    """
    try:
        kept = home.find(agent, name)
    except UnknownMemoryError:
        ledger = home.workplace().ledger()
        gone = ids_beginning(ledger, agent, name)
        own = name if name in gone or len(gone) != 1 else gone.pop()
        events = history_of(ledger, agent, own)
        if not events:
            raise
        return Explanation(id=own, agent=agent, kept=None, history=events)
    work, shelf = home.workplace(), home.shelf(agent)
    runs = next_runs_by_job(home, work.now())
    running = home.running_engine()
    work.engine = None if running is None else lambda: running
    with (
        work.catalog(busy_ms=READER_BUSY_MS) as catalog,
        disk_errors(shelf.paths.directory),
        nullcontext() if running is None else closing(running),
    ):
        return work.ask(catalog, shelf, lambda: _explain(work, shelf, catalog, kept, runs))


def _explain(
    work: Workplace,
    shelf: Shelf,
    catalog: Catalog,
    kept: Kept,
    runs: Mapping[str, float | None],
) -> Explanation:
    kinds, agent = work.rules.kinds, shelf.paths.name
    standings = work.standings(shelf, catalog)
    chains = standings.chains
    look_at_one(work, agent, kept.id, kept.memory.searchable)
    predicting = Predicting.by_rules(work, catalog, agent)
    chain = chains.history(kept.id)
    foretelling = Foretelling(work, shelf, catalog, kept)
    why = NOT_RUNNING if engine_allowed() else NOT_ALLOWED
    held = "pinned" if foretelling.pinned else "evidence" if foretelling.cited else ""
    return Explanation(
        id=kept.id,
        agent=agent,
        kept=kept,
        history=history_of(work.ledger(), agent, kept.id),
        standing="" if kept.tier == "trash" else standings.of_memory(kept.id, kept.memory),
        superseded_by=chains.superseded_by(kept.id),
        chain={one: chains.superseded_by(one) for one in chain} if len(chain) > 1 else {},
        gates=foretelling.gates(),
        kept_by=held,
        exemption=None if kept.tier == "trash" else foretelling.exemption,
        runs=runs,
        importance=worth(kept.memory, kinds, _counting(predicting, kept)),
        predicted=_predicted(work, predicting, kept),
        alike=foretelling.alike(work.engine, why),
    )


def _counting(predicting: Predicting | None, kept: Kept) -> Worth | None:
    return None if predicting is None else predicting.of(kept.memory, kept.id)


def _predicted(work: Workplace, predicting: Predicting | None, kept: Kept) -> float | None:
    """What the model says, where it counts or is asked for a second opinion."""
    second = work.rules.importance.predict == "second_opinion"
    if predicting is None or not (second or kept.memory.importance is None):
        return None
    return predicting.why(kept.memory, kept.id).importance


def next_runs_by_job(home: Home, now: float) -> dict[str, float | None]:
    """When each job runs next, by the schedule; nothing where that can't be read."""
    from skymem.config.schedule_file import read_schedule
    from skymem.daemon.pauses import read_pauses
    from skymem.daemon.runs import read_runs
    from skymem.daemon.timing import next_runs
    from skymem.jobs.table import steps_of

    try:
        schedule = read_schedule(home.paths.schedule)
        due: Mapping[str, float | None] = next_runs(schedule, read_runs(home.paths), now)
    except SkymemError:
        return {}
    paused = read_pauses(home.paths)
    found: dict[str, float | None] = {}
    for entry in schedule.entries:
        at = due.get(entry.name)
        if entry.enabled and entry.name not in paused and at is not None:
            for job in steps_of(entry.job):
                known = found.get(job)
                found[job] = at if known is None else min(known, at)
    return found


def _gate_json(gate: Gate) -> dict[str, Any]:
    told = gate._asdict()
    opens_us, kept = told.pop("opens_us"), told.pop("kept")
    opens = None if opens_us is None else opens_us / 1_000_000
    return {**told, "kept_by": kept or None, "opens_at": opens, "does": gate.does}
