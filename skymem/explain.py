"""Explain: what a memory is, how it came where it is, and what comes next, for any id (row X1)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from skymem.app import READER_BUSY_MS, Home, now
from skymem.errors import SkymemError, UnknownMemoryError
from skymem.jobs.workplace import Workplace
from skymem.model.plan import Damage
from skymem.policy.importance import worth
from skymem.policy.prospects import Gate, Placed, prospects
from skymem.stores.catalog import Catalog
from skymem.stores.files import disk_errors
from skymem.stores.history import Event, history_of, ids_beginning
from skymem.stores.lifecycle import Lifecycle
from skymem.stores.naming import Naming
from skymem.stores.protection import read_protection
from skymem.stores.shelf import Kept, Shelf
from skymem.stores.standings import Standings, living_evidence

ELSEWHERE_AFTER_PROMOTION: Final = ("line_limit", "compressed", "merged")
"""Gates of short-term: what is promoted next does not come to them."""


@dataclass(slots=True)
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
    chain: list[str] = field(default_factory=list)
    """Ids of everything it superseded or is superseded by, oldest first."""

    gates: list[Gate] = field(default_factory=list)
    kept_by: str = ""
    """What keeps it from every job: `pinned`, or `evidence` of a living summary."""

    restored: str = ""
    runs: dict[str, float | None] = field(default_factory=dict)
    """By job, when it runs next."""

    importance: tuple[float, str] = (0.0, "")

    @property
    def state(self) -> str:
        """The tier it is in, or `gone`."""
        return self.kept.tier if self.kept is not None else "gone"

    def next(self) -> list[dict[str, Any]]:
        """What happens to it next, soonest first: of the gates, those that time opens, or are open.

        `at` is when the job that does it runs next, or from when on it may.
        """
        found = []
        promoted = any(gate.gate == "importance" and gate.open for gate in self.gates)
        for gate in self.gates:
            if promoted and gate.gate in ELSEWHERE_AFTER_PROMOTION:
                continue
            opens = None if gate.opens_us is None else gate.opens_us / 1_000_000
            if not gate.open and opens is None:
                continue
            run = self.runs.get(gate.job)
            at = run if gate.open else max(one for one in (opens, run, 0.0) if one is not None)
            found.append({"what": gate.does, "job": gate.job, "gate": gate.gate, "at": at})
        return sorted(found, key=lambda one: (one["at"] is None, one["at"] or 0.0))

    def as_json(self) -> dict[str, Any]:
        """Spell it as `skymem explain --json` does; of the memory all but its text."""
        told: dict[str, Any] = {
            "id": self.id,
            "agent": self.agent,
            "state": self.state,
            "standing": self.standing or None,
            "file": None if self.kept is None else f"memory/{self.agent}/{self.kept.file}",
            "importance": self.importance[0] if self.kept is not None else None,
            "kept_by": self.kept_by or None,
            "superseded_by": self.superseded_by,
            "chain": self.chain,
            "history": [event.as_json() for event in self.history],
            "gates": [_gate_json(gate) for gate in self.gates],
            "next": self.next(),
        }
        return told


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
        return Explanation(own, agent, None, events)
    work, shelf = home.workplace(), home.shelf(agent)
    events = history_of(work.ledger(), agent, kept.id)
    with work.catalog(busy_ms=READER_BUSY_MS) as catalog, disk_errors(shelf.paths.directory):
        return work.ask(catalog, shelf, lambda: _explain(home, work, shelf, catalog, kept, events))


def _explain(  # noqa: PLR0917  (one memory, and all that is known of it)
    home: Home,
    work: Workplace,
    shelf: Shelf,
    catalog: Catalog,
    kept: Kept,
    events: list[Event],
) -> Explanation:
    rules, agent = home.rules, shelf.paths.name
    now_us = round(work.now() * 1_000_000)
    standings = Standings.of(shelf, catalog, now_us, rules.kinds)
    protection = read_protection(shelf.paths.protected)
    protection.forget((), work.now() - rules.restore_grace_seconds)
    life = Lifecycle(catalog, agent, rules.kinds)
    by = standings.chains.superseded().get(kept.id)
    line, lines = _line_of(shelf, catalog, kept)
    restored = protection.restored.get(kept.id)
    placed = Placed(
        kept.id,
        kept.memory,
        kept.tier,
        now_us,
        line,
        lines,
        protection.is_pinned(kept.id, kept.memory),
        restored.gate if restored is not None else "",
        None if by is None else (by.by, by.since_us),
        kept.id in living_evidence(standings, shelf, catalog, rules.kinds),
        _since(shelf, life, kept),
    )
    gates, held = prospects(placed, agent, rules)
    return Explanation(
        kept.id,
        agent,
        kept,
        events,
        "" if kept.tier == "trash" else standings.of_memory(kept.id, kept.memory),
        None if by is None else by.by,
        [] if len(standings.chains.history(kept.id)) < 2 else standings.chains.history(kept.id),
        gates,
        held,
        placed.restored,
        next_runs_by_job(home),
        worth(kept.memory, rules.kinds),
    )


def next_runs_by_job(home: Home) -> dict[str, float | None]:
    """When each job runs next, by the schedule; nothing where that can't be read."""
    from skymem.config.schedule_file import read_schedule
    from skymem.daemon.pauses import read_pauses
    from skymem.daemon.runs import read_runs
    from skymem.daemon.timing import next_runs
    from skymem.jobs.table import steps_of

    try:
        schedule = read_schedule(home.paths.schedule)
        due: Mapping[str, float | None] = next_runs(schedule, read_runs(home.paths), now())
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


def _line_of(shelf: Shelf, catalog: Catalog, kept: Kept) -> tuple[int, int]:
    """A memory's place in short-term, and how many lines there are; (-1, 0) elsewhere."""
    if kept.tier != "short":
        return -1, 0
    naming = Naming(shelf.paths.name, catalog)
    line, lines = -1, 0
    for entry in shelf.short_entries():
        if isinstance(entry, Damage):
            continue
        naming.name([entry])
        if entry.id == kept.id and line < 0:
            line = lines
        lines += 1
    return line, lines


def _since(shelf: Shelf, life: Lifecycle, kept: Kept) -> int | None:
    if kept.tier == "trash":
        found = shelf.trash.find([kept.id]).get(kept.id)
        return None if found is None else round(found.trashed_at * 1_000_000)
    return life.newest_us(kept.file) if kept.tier == "archive" else None


def _gate_json(gate: Gate) -> dict[str, Any]:
    opens = None if gate.opens_us is None else gate.opens_us / 1_000_000
    told = gate._asdict()
    del told["opens_us"]
    return {**told, "opens_at": opens, "does": gate.does}
