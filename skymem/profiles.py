"""Profiles and project records: what compress makes of memories, read, and written with evidence.

Rows R9 and R10. One code path for the CLI and the Python API.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from skymem.errors import InvalidMemoryError, UsageError
from skymem.jobs import runner
from skymem.jobs.detail import Outcome, raise_failure, raise_refusal
from skymem.jobs.profile import Update, upsert
from skymem.model.marks import SENSITIVE
from skymem.model.records import (
    PROFILE,
    PROJECT,
    Profile,
    ProjectRecord,
    Statement,
    record_of,
    sections,
)
from skymem.model.spelling import read_line
from skymem.policy.living import Living, Part
from skymem.recall.place import READER_BUSY_MS
from skymem.stores.files import disk_errors
from skymem.stores.lifecycle import RECORD, Lifecycle

if TYPE_CHECKING:
    from skymem.app import Home

CUTOFF_HOURS: Final = 48.0
HOURS_MAX: Final = 24 * 366 * 1000
HOUR_SECONDS: Final = 3600


@dataclass(frozen=True, slots=True)
class Known:
    """An active record as a reader gets it."""

    id: str
    record_type: str
    name: str
    """The project's; "" of a profile."""

    user_id: str | None
    scope: str | None
    sensitive: bool
    ts: float | None
    """When it was made, epoch seconds."""

    evidence_ids: tuple[str, ...]
    lists: Mapping[str, tuple[Statement, ...]]
    """What it says, by list; each statement with the memory it was drawn from."""

    @classmethod
    def of(cls, part: Part) -> "Known":
        """Read an active record."""
        memory, record = part.memory, part.record
        return cls(
            id=part.id,
            record_type=record.RECORD_TYPE,
            name=record.name if isinstance(record, ProjectRecord) else "",
            user_id=memory.scope.get("user_id"),
            scope=memory.scope.get("scope"),
            sensitive=memory.sensitivity == SENSITIVE,
            ts=None if memory.time_us is None else memory.time_us / 1_000_000,
            evidence_ids=memory.evidence_ids,
            lists=dict(sections(record)),
        )

    def as_json(self) -> dict[str, Any]:
        """Spell it."""
        named = {"name": self.name} if self.name else {}
        told: dict[str, Any] = {"id": self.id, "record_type": self.record_type, **named}
        told |= {"user_id": self.user_id, "scope": self.scope, "sensitive": self.sensitive}
        told |= {section: [one.to_json() for one in said] for section, said in self.lists.items()}
        return {**told, "ts": self.ts, "evidence_ids": [*self.evidence_ids]}


def profiles(home: "Home", agent: str, user_id: str | None = None) -> list[Known]:
    """The active profiles, by user: of every user when none is named.

    A user may have several: what is sensitive, and what is of another scope, stands by itself.

    Raises:
        NotAllowedError: this process is not the home's owner.
    """
    found = [one for one in _known(home, agent) if one.record_type == PROFILE]
    return [one for one in found if user_id is None or one.user_id == user_id]


def projects(home: "Home", agent: str, name: str | None = None) -> list[Known]:
    """The active project records, by name; those of one project, in either case, when named.

    Raises:
        NotAllowedError: this process is not the home's owner.
    """
    wanted = None if name is None else name.strip().casefold()
    found = [one for one in _known(home, agent) if one.record_type == PROJECT]
    return [one for one in found if wanted in (None, one.name.strip().casefold())]


def upsert_user_profile(
    home: "Home",
    agent: str,
    *,
    evidence_ids: Sequence[str],
    user_id: str | None = None,
    dry_run: bool = False,
    **said: Sequence[str],
) -> Known:
    """Add to a user's profile what memories bear out; returns the profile as it is then (R10).

    Args:
        home: where.
        agent: whose memory.
        evidence_ids: the memories it rests on, in full or their first letters.
        user_id: whom it is about; whom the evidence is about when left out.
        dry_run: look for the evidence and write nothing.
        said: texts by list: `preferences`, `stable_facts`, `do_not_assume`.

    Raises:
        InvalidMemoryError: there is no evidence, or it does not bear a statement.
        UnknownMemoryError: a memory that is cited is not there.
        SkymemError: what else kept the job from its end.
    """
    if isinstance(evidence_ids, str) or not evidence_ids:
        raise InvalidMemoryError(
            'field "evidence_ids": a profile needs evidence; give a list of ids of memories'
        )
    home.only_owner("write a profile")
    names = dict.fromkeys(home.find(agent, name, dry_run=dry_run).id for name in evidence_ids)
    update = Update(user_id=user_id, evidence_ids=[*names], said=_lists(said))
    detail, outcomes = runner.run(
        home.workplace(dry_run=dry_run),
        "profile",
        [agent],
        dry_run=dry_run,
        table={"profile": upsert(update)},
    )
    raise_refusal(outcomes)
    if not dry_run:
        home.record("profile", detail)
    raise_failure(outcomes)
    return _after(home, agent, outcomes[0], [*names])


def compress_short_to_long(
    home: "Home",
    agent: str,
    cutoff_hours: float = CUTOFF_HOURS,
    *,
    dry_run: bool = False,
    accept_clock: bool = False,
) -> dict[str, Any]:
    """Compress what is older than so many hours, whatever the rules say of age (row R9).

    Returns:
        The compress job's detail.

    Raises:
        UsageError: the hours are no number from 0 on.
    """
    number = type(cutoff_hours) in (int, float)
    if not number or not 0 <= cutoff_hours <= HOURS_MAX:  # NaN is neither
        raise UsageError(f"cutoff_hours {cutoff_hours!r:.40} is no number of hours from 0 on")
    older = home.rules.compress._replace(older_than_seconds=cutoff_hours * HOUR_SECONDS)
    options: dict[str, Any] = {
        "rules": home.rules._replace(compress=older),
        "accept_clock": accept_clock,
    }
    detail, _ = home.run_job("compress", agent=agent, dry_run=dry_run, **options)
    return detail


def _lists(said: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Check the texts: lists of them, under a profile's names."""
    for name, texts in said.items():
        if name not in Profile.SECTIONS:
            raise TypeError(f"unexpected keyword argument {name!r}")
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise InvalidMemoryError(f'field "{name}": not a list of texts')
    return {name: [*texts] for name, texts in said.items()}


def _after(home: "Home", agent: str, outcome: Outcome, names: Sequence[str]) -> Known:
    """The profile as it is now, or would be after a dry run."""
    for plan in outcome.plans:
        for made in plan.additions:
            memory = read_line(made.line)
            return Known.of(Part(made.id, memory, record_of(memory)))
    found = profiles(home, agent)
    wanted = outcome.made or [one.id for one in found if {*names} <= {*one.evidence_ids}]
    return next(one for one in found if one.id in wanted)


def _known(home: "Home", agent: str) -> list[Known]:
    home.only_owner("read profiles")
    work, shelf = home.workplace(), home.shelf(agent)

    def ask() -> Living:
        standings = work.standings(shelf, catalog)
        life = Lifecycle(catalog, agent)
        names = [one.id for one in life.of_kinds((RECORD + PROFILE, RECORD + PROJECT))]
        found = shelf.read(catalog.find(agent, names))
        return Living.of(
            (kept.id, kept.memory) for kept in found if standings.let(kept.id, kept.memory)
        )

    with work.catalog(busy_ms=READER_BUSY_MS) as catalog, disk_errors(shelf.paths.directory):
        living = work.ask(catalog, shelf, ask)
    return [Known.of(part) for key in sorted(living.parts) for part in living.parts[key]]
