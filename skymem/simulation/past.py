"""The recorded past of a home, as far as it can be lived again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from pathlib import PurePath
from typing import Any, Final, NamedTuple

from skymem.app import Home
from skymem.config.schedule_file import read_schedule
from skymem.errors import ConfigurationError, UsageError
from skymem.jobs.workplace import Workplace
from skymem.model.schedule import Schedule
from skymem.policy.admit import agent_name_fault
from skymem.policy.standing import Link
from skymem.policy.vectored import without_vector
from skymem.simulation.lines import Line, lines_of
from skymem.simulation.moments import Action, JobSteps, actions_of
from skymem.simulation.steps import Came, Recalled, Step, runs_of, steps_told
from skymem.simulation.whereabouts import Whereabouts
from skymem.stores.files import disk_errors
from skymem.stores.home_key import HomeKey
from skymem.stores.importance_models import MEANINGS, models_of, name_of
from skymem.stores.recall_events import events_of

READ_TRIES: Final = 3
"""So often the home is read anew that was changed while it was read."""


class Size(NamedTuple):
    """What one tier takes."""

    lines: int = 0
    bytes: int = 0
    vectors: int = 0
    """Memories that should have a vector, one at least."""


@dataclass(slots=True)
class Past:
    """Everything a replay needs; nothing in it points into the home."""

    since: float
    until: float
    recorded_since: float
    """From when on it is known of every job when it ran; before that the schedule is believed."""

    before: list[Mapping[str, Any]]
    """Of the ledger, up to then: budgets, shares and what teaches go by it."""

    entries: list[Mapping[str, Any]]
    """Of the ledger, since then."""

    steps: list[Step]
    lines: dict[str, dict[str, Line]]
    """By agent and id."""

    begin: Whereabouts
    """Where everything was when it begins."""

    old: dict[str, dict[str, Size]]
    """By agent, what each tier takes now."""

    unseen: dict[str, list[bytes]] = field(default_factory=dict)
    """By agent, what came since the last run."""

    gone: dict[str, set[str]] = field(default_factory=dict)
    """By agent, memories of that time whose text nobody has any more."""

    recalled_before: list[Step] = field(default_factory=list)
    """What an agent's answers had before it begins: rules may go by it."""

    models: dict[str, bytes] = field(default_factory=dict)
    """Models of importance, and what the engine told for them, by their place in the home: each
    counts from when it was trained, or told."""

    trained: dict[str, float] = field(default_factory=dict)
    """When, of those that were not gone back from."""

    by_vectors: set[str] = field(default_factory=set)
    """Agents whose models since then go by vectors: without the engine none is trained again."""

    key: HomeKey | None = None
    """Under which the lines that moved were hashed."""

    notes: list[str] = field(default_factory=list)

    @property
    def agents(self) -> list[str]:
        """Whose past it is."""
        return sorted({*self.lines, *self.gone})


def past_of(home: Home, since: float, until: float) -> Past:
    """Read the past of a home; nothing is written.

    Raises:
        UsageError: nothing is recorded since then.
        DiskError: it can't be read.
    """
    work = home.workplace(dry_run=True)
    for _ in range(READ_TRIES):
        size = work.ledger().size()
        entries = [entry for _, entry in work.ledger().read_from(0)]
        lines = _lines(work, entries)
        if work.ledger().size() == size:
            break
        work.check_stop()
    if not entries:
        raise UsageError("the ledger is empty: no run has been here, so there is no past to replay")
    past = _split(entries, lines, (since, until))
    past.key = work.home_key()
    _read_models(work, past)
    _tell_steps(work, past, entries)
    _measure(past, entries)
    return past


def _lines(work: Workplace, entries: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Line]]:
    moved: dict[str, dict[str, bytes]] = {}
    for entry in entries:
        if entry["op"] == "moved":
            own = moved.setdefault(entry["agent"], {})
            for name, before, _ in entry["moved"]:
                own.setdefault(name, bytes.fromhex(before))  # it left short-term first
    told = {str(entry["agent"]) for entry in entries if "agent" in entry}
    agents = {*work.agents(), *(one for one in told if not agent_name_fault(one))}
    return {agent: lines_of(work, agent, moved.get(agent, {})) for agent in sorted(agents)}


def _split(
    entries: Sequence[Mapping[str, Any]],
    lines: dict[str, dict[str, Line]],
    span: tuple[float, float],
) -> Past:
    """See where everything was at first, and what happened since."""
    since, until = span
    begin = Whereabouts(returning=frozenset(_returning(entries)))
    first = float(entries[0]["ts"])
    before: list[Mapping[str, Any]] = []
    later: list[Mapping[str, Any]] = []
    for entry in entries:
        if entry["ts"] < since and not later:
            begin.tell(entry)
            before.append(entry)
        else:
            later.append(entry)
    begin.begin_counting()
    past = Past(max(since, first), until, until, before, later, [], lines, begin, {})
    if since < first:
        past.notes.append(f"the ledger begins at {_spoken(first)}: it is replayed from there")
    if not later:
        last = _spoken(float(entries[-1]["ts"]))
        raise UsageError(f"nothing is recorded since then; the last of it is of {last}")
    return past


def _spoken(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _returning(entries: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for entry in entries:
        for action, name, *_ in entry.get("decided", ()):
            if action in ("restore", "undo"):
                yield entry["agent"], name


def _tell_steps(work: Workplace, past: Past, entries: Sequence[Mapping[str, Any]]) -> None:
    runs = {name: told for name, told in runs_of(past.entries).items() if told.agent in past.lines}
    told = [
        step for step in steps_told(past.entries, runs_of(entries)) if step.what.agent in past.lines
    ]
    jobs = JobSteps(told, runs)
    actions = [
        one for one in actions_of(work.paths.status / "actions.jsonl") if one.ended >= past.since
    ]
    trainings = [*_trainings(past, actions)]
    past.recorded_since = min((one.started for one in actions), default=past.until)
    if past.recorded_since <= past.since + _first_gap(past):
        past.recorded_since = past.since
    steps = [*told, *jobs.recorded([*actions, *trainings]), *jobs.left(past.recorded_since)]
    if past.recorded_since > past.since:
        schedule = _schedule(work)
        steps += jobs.by_schedule(schedule, past.since, past.recorded_since)
    steps += _recalls(work, past)
    past.steps = sorted(
        (step for step in steps if step.what.agent in past.lines),
        key=lambda step: (step.at, step.seq, step.rank),
    )


def _first_gap(past: Past) -> float:
    """What the first run may take to be recorded."""
    return 60.0 if past.entries else 0.0


def _schedule(work: Workplace) -> Schedule:
    try:
        return read_schedule(work.paths.schedule)
    except ConfigurationError:  # the daemon does not start by it either
        return Schedule()


def _read_models(work: Workplace, past: Past) -> None:
    for agent in past.lines:
        directory = work.paths.importance(agent)
        with disk_errors(directory):
            files = [*directory.glob("[!.]*Z.json*"), *directory.glob(f"[!.]*Z{MEANINGS}")]
            for path in sorted(files):
                past.models[str(path.relative_to(work.paths.root))] = path.read_bytes()
        for model in models_of(work.paths, agent):
            path = directory / name_of(model.trained_at)
            past.trained[str(path.relative_to(work.paths.root))] = model.trained_at
            if model.meaning is not None and model.trained_at >= past.since:
                past.by_vectors.add(agent)


def _trainings(past: Past, actions: Sequence[Action]) -> Iterator[Action]:
    """Those that left a model, and no result."""
    for place, at in past.trained.items():
        agent = PurePath(place).parent.name
        known = (one for one in actions if one.job == "train" and agent in one.agents)
        if at >= past.since and not any(one.started <= at <= one.ended for one in known):
            yield Action(at, at, "train", (agent,))


def _recalls(work: Workplace, past: Past) -> Iterator[Step]:
    if not work.rules.recall_log:
        return
    for agent in past.lines:
        events = events_of(work.paths, agent)
        for (at, query), own in groupby(events, key=lambda one: (one.at, one.query)):
            step = Step(at, 1 << 62, 4, Recalled(agent, query, tuple(one.id for one in own)))
            if at < past.since:
                past.recalled_before.append(step)
            elif at <= past.until:
                yield step


def _measure(past: Past, entries: Sequence[Mapping[str, Any]]) -> None:
    """Count what there is, and what is gone."""
    known: dict[str, set[str]] = {}
    for entry in entries:
        if entry["op"] in ("adopt", "remember"):
            known.setdefault(entry["agent"], set()).update(entry["ids"])
    for agent, lines in past.lines.items():
        past.old[agent] = sizes_of(lines)
        for name, line in _each(lines):
            if line.tier == "short" and name not in known.get(agent, ()):
                past.unseen.setdefault(agent, []).append(line.came)
        wanted = set(past.begin.spots.get(agent, ()))
        for step in past.steps:
            if isinstance(step.what, Came) and step.what.agent == agent:
                wanted.update(step.what.ids)
        past.gone[agent] = {name for name in wanted if name not in lines}


def sizes_of(lines: Mapping[str, Line]) -> dict[str, Size]:
    """What each tier takes."""
    sizes: dict[str, Size] = {}
    spared = _without_vector(lines)
    for name, line in _each(lines):
        count, size, due = sizes.get(line.tier, Size())
        has = line.tier != "trash" and name not in spared
        sizes[line.tier] = Size(count + 1, size + len(line.stands), due + has)
    return sizes


def _without_vector(lines: Mapping[str, Line]) -> frozenset[str]:
    links: list[Link] = []
    removed: dict[str, Sequence[str]] = {}
    for name, line in _each(lines):
        if line.tier == "trash":
            removed[name] = line.memory.supersedes
        elif line.tier != "short":
            links += [Link(name, line.memory.time_us, one) for one in line.memory.supersedes]
    return without_vector(links, removed)


def _each(lines: Mapping[str, Line]) -> Iterator[tuple[str, Line]]:
    """Each line once, by the first of its names."""
    met: set[int] = set()
    for name, line in lines.items():
        if id(line) not in met:
            met.add(id(line))
            yield name, line
