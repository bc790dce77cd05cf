"""Notes: what an agent writes down by kind, and reads again while it holds (rows N1 to N10).

A note is a memory of a kind: it is written through the door `remember` uses, and what is expired or
superseded is no longer read. One code path for the CLI and the Python API.
"""

import difflib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from skymem import doors
from skymem.errors import InvalidMemoryError
from skymem.jobs import runner
from skymem.jobs.detail import raise_failure, raise_refusal
from skymem.jobs.merge_notes import merge_notes as merging
from skymem.model.kinds import Kinds
from skymem.model.memory import Memory
from skymem.model.rules import PruneRules
from skymem.model.spelling import read_line
from skymem.policy.context import RULE, RULE_CONFIDENCE_MIN
from skymem.policy.form import Admitted
from skymem.policy.standing import expires_us, single_of
from skymem.recall.listing import newest_of_kind
from skymem.recall.place import READER_BUSY_MS
from skymem.recall.request import check_limit
from skymem.stores.files import disk_errors
from skymem.stores.protection import read_protection

if TYPE_CHECKING:
    from skymem.app import Home
    from skymem.jobs.workplace import Workplace
    from skymem.stores.shelf import Kept

SCOPE: Final = "user"
"""Whom a note concerns that doesn't say (row N4)."""

NOTES_MAX: Final = 50
"""How many are listed when nobody says."""

ONLY_EXPIRED: Final = PruneRules(superseded_after_seconds=1000 * 366 * 86_400.0)
"""Rules that remove nothing but what has expired: what was superseded has a thousand years."""

_MOVED: Final = frozenset({"ts", "type", "id", "source_id", "promoted_at", "supersedes"})
"""Fields that say when and where a note is, and not what it says."""


@dataclass(frozen=True, slots=True)
class NewNote:
    """What is to be written down (row N4)."""

    kind: str
    content: str
    scope: str = SCOPE
    user_id: str | None = None
    tags: Sequence[str] = ()
    confidence: float = 1.0
    """How sure its writer is, 0 to 1; below 1 it is the line's `trust`."""

    stability: str = "stable"
    ttl_days: float | None = None
    sensitivity: str = "normal"
    evidence: Sequence[str] = ()
    """Paths and URLs; ids of memories, too."""

    job_id: str | None = None

    def as_usual(self, kinds: Kinds) -> "NewNote":
        """The same, as long-lived as is usual for its kind (row N12)."""
        usual = kinds.of(self.kind)
        ttl = usual.ttl_days if self.ttl_days is None else self.ttl_days
        return replace(self, stability=usual.stability, ttl_days=ttl)

    def fields(self) -> dict[str, Any]:
        """Spell what it has beside its text and tags as fields of a line."""
        given = {
            "kind": self.kind,
            "scope": self.scope,
            "user_id": self.user_id,
            "stability": self.stability,
            "ttl_days": self.ttl_days,
            "trust": None if self.confidence == 1 else self.confidence,
            "sensitivity": None if self.sensitivity == "normal" else self.sensitivity,
            "evidence": [*self.evidence] or None,
            "job_id": self.job_id,
        }
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A note as a reader gets it."""

    id: str
    tier: str
    kind: str
    content: str
    ts: float | None
    """When it was written, epoch seconds."""

    scope: str
    user_id: str | None
    tags: tuple[str, ...]
    confidence: float
    stability: str | None
    ttl_days: float | None
    expires_at: float | None
    """When it expires, epoch seconds; None when it never does."""

    sensitivity: str
    evidence: tuple[str, ...]
    evidence_ids: tuple[str, ...]
    supersedes: tuple[str, ...]
    job_id: str | None = field(default=None)

    @classmethod
    def of(cls, name: str, tier: str, memory: Memory) -> "Note":
        """Read a memory as a note; what its line doesn't say is as it is when nobody says it."""
        scope, ends, job = memory.scope, expires_us(memory), memory.field("job_id")
        return cls(
            id=name,
            tier=tier,
            kind=memory.kind or "",
            content=memory.content,
            ts=None if memory.time_us is None else memory.time_us / 1_000_000,
            scope=scope.get("scope", SCOPE),
            user_id=scope.get("user_id"),
            tags=memory.tags,
            confidence=1.0 if memory.trust is None else memory.trust,
            stability=memory.stability,
            ttl_days=memory.ttl_days,
            expires_at=None if ends is None else ends / 1_000_000,
            sensitivity=memory.sensitivity or "normal",
            evidence=memory.evidence,
            evidence_ids=memory.evidence_ids,
            supersedes=memory.supersedes,
            job_id=job if isinstance(job, str) else None,
        )

    def as_json(self) -> dict[str, Any]:
        """Spell it."""
        return {
            name: [*value] if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
        }


class Written(NamedTuple):
    """What came of writing a note."""

    note: Note
    new: bool
    """False when it stood there already, word for word (row N10)."""

    warning: str
    """What its writer should know, or ""."""

    redacted: Mapping[str, int] = MappingProxyType({})
    """Secrets that were taken out of it, by kind."""


class Merged(NamedTuple):
    """What came of merging notes."""

    note: Note
    """The summary."""

    detail: dict[str, Any]


def write_note(home: "Home", agent: str, new: NewNote, *, dry_run: bool = False) -> Written:
    """Write a note to short-term; returns once it is on disk.

    Of a kind of which there is one for each user (`soul`, `agent`, `user`) the new one supersedes
    the present one, and one that says just what the present one says is not written again.

    Raises:
        InvalidMemoryError: a field is outside its range, or a rule has too little to rest on.
        DiskError: it could not be written; nothing of it stays.
    """
    from skymem.app import now

    _check(new, home.rules.kinds)
    extra, moment = new.fields(), now()

    def admitted(supersedes: Sequence[str] = ()) -> tuple[Admitted, Memory]:
        links = {"supersedes": [*supersedes]} if supersedes else {}
        line = doors.new_memory(
            home,
            new.content,
            now=moment,
            tags=new.tags,
            extra={**extra, **links},
        )
        return line, read_line(line.raw)

    line, memory = admitted()
    present = _present(home, agent, memory, dry_run=dry_run)
    if present is not None:
        if _said(present.memory) == _said(memory):
            there = Note.of(present.id, present.tier, present.memory)
            return Written(there, new=False, warning="")
        line, memory = admitted([present.id])
    if not dry_run:
        doors.take_in(home, agent, [line])
    note = Note.of(line.id, "short", memory)
    return Written(note, new=True, warning=_warning(new), redacted=line.redacted)


def get_notes(
    home: "Home",
    agent: str,
    *,
    user_id: str | None = None,
    kind: str | None = None,
    scope: str | None = None,
    tags: Collection[str] = (),
    limit: int = NOTES_MAX,
) -> list[Note]:
    """The active notes of short-term, long-term and archives, newest first (row N5).

    Args:
        home: where.
        agent: whose.
        user_id: only of this user.
        kind: only of this kind; memories of any kind when left out.
        scope: only of this scope; a memory that names none is of `user`.
        tags: only with any of these labels.
        limit: how many, at most.

    Raises:
        UsageError: the limit is outside its range.
        NotAllowedError: this process is not the home's owner.
    """
    check_limit(limit)

    def wanted(memory: Memory) -> bool:
        whose = memory.scope
        return (
            (user_id is None or whose.get("user_id") == user_id)
            and (scope is None or whose.get("scope", SCOPE) == scope)
            and (not tags or not frozenset(tags).isdisjoint(memory.tags))
        )

    home.only_owner("read notes")
    return [
        Note.of(kept.id, kept.tier, kept.memory)
        for kept in _notes(home.workplace(), agent, kind, wanted, limit)
    ]


def prune_expired(
    home: "Home", agent: str, *, dry_run: bool = False, accept_clock: bool = False
) -> dict[str, Any]:
    """Move to trash what has expired, and nothing else, whatever the rules of prune (row N6).

    Returns:
        The prune job's detail; `pruned` is the count.

    Raises:
        SkymemError: what kept the job from its end.
    """
    rules = home.rules._replace(prune=ONLY_EXPIRED)
    options: dict[str, Any] = {"rules": rules, "accept_clock": accept_clock}
    detail, outcomes = home.run_job(
        "prune", action="prune_expired", agent=agent, dry_run=dry_run, **options
    )
    raise_failure(outcomes)
    return detail


def merge_notes(home: "Home", agent: str, ids: Iterable[str], *, dry_run: bool = False) -> Merged:
    """Merge notes into one stable summary that quotes and supersedes them (row N7).

    Args:
        home: where.
        agent: whose.
        ids: two or more, in full or their first letters.
        dry_run: make the summary and write nothing.

    Raises:
        UnknownMemoryError: one is not there.
        InvalidMemoryError: they can't be one: fewer than two, not active, pinned, or of different
            users, tenants, scopes or sessions.
        SkymemError: what else kept the job from its end.
    """
    found = [home.find(agent, name, dry_run=dry_run) for name in dict.fromkeys(ids)]
    work = home.workplace(dry_run=dry_run)
    home.only_owner("merge notes")
    _check_mergeable(work, agent, found)
    job = merging([*dict.fromkeys(kept.id for kept in found)])
    detail, outcomes = runner.run(work, "merge", [agent], dry_run=dry_run, table={"merge": job})
    raise_refusal(outcomes)
    if not dry_run:
        home.record("merge_notes", detail)
    raise_failure(outcomes)
    (outcome,) = outcomes
    if dry_run:
        (made,) = outcome.plans[0].additions
        return Merged(Note.of(made.id, "long", read_line(made.line)), detail)
    kept = home.find(agent, outcome.made[0])
    return Merged(Note.of(kept.id, kept.tier, kept.memory), detail)


def _check(new: NewNote, kinds: Kinds) -> None:
    """Check what is about notes; the form of each field is checked at the door."""
    if new.kind not in kinds:
        near = difflib.get_close_matches(str(new.kind), kinds, 1)
        meant = f' (did you mean "{near[0]}"?)' if near else ""
        raise InvalidMemoryError(
            f'field "kind": {new.kind!r:.40} is in no table{meant}; there are: {", ".join(kinds)}; '
            "others are made under kinds: in retention_rules.yaml"
        )
    sure = new.confidence
    if type(sure) not in (int, float) or not 0 <= sure <= 1:
        raise InvalidMemoryError(f'field "confidence": {sure!r:.40} is not in 0 to 1')
    if new.kind == RULE and sure < RULE_CONFIDENCE_MIN:
        raise InvalidMemoryError(
            f'field "confidence": {sure} is too little for a rule, which needs '
            f"{RULE_CONFIDENCE_MIN} or more"
        )
    if new.kind == RULE and not new.evidence:
        raise InvalidMemoryError('field "evidence": a rule needs some: paths, URLs or ids')


def _warning(new: NewNote) -> str:
    if new.stability == "volatile" and new.ttl_days is None:
        return "a volatile note without a ttl is merged with others of its like after some days"
    if new.stability == "permanent" and new.ttl_days is not None:
        return "a permanent note never expires, whatever its ttl"
    return ""


def _present(home: "Home", agent: str, memory: Memory, *, dry_run: bool) -> "Kept | None":
    """The active note of a single kind that a new one takes the place of (row N10)."""
    if memory.kind not in home.rules.kinds.single() or not home.owned:
        return None  # who may only append can't look; readers take the newest all the same
    wanted = single_of(memory)
    work = home.workplace(dry_run=dry_run)
    found = _notes(work, agent, memory.kind, lambda one: single_of(one) == wanted, 1)
    return found[0] if found else None


def _said(memory: Memory) -> dict[str, Any]:
    return {name: value for name, value in memory.fields.items() if name not in _MOVED}


def _notes(
    work: "Workplace", agent: str, kind: str | None, wanted: Callable[[Memory], bool], limit: int
) -> "list[Kept]":
    shelf = work.shelf(agent)

    def each() -> "Iterator[Kept]":
        met: set[str] = set()
        for kept in newest_of_kind(work, shelf, catalog, kind):
            if kept.id not in met and wanted(kept.memory):  # a line written twice is one memory
                met.add(kept.id)
                yield kept

    with work.catalog(busy_ms=READER_BUSY_MS) as catalog, disk_errors(shelf.paths.directory):
        return work.ask(catalog, shelf, lambda: [*islice(each(), limit)])


def _check_mergeable(work: "Workplace", agent: str, found: "Sequence[Kept]") -> None:
    """Refuse what is no longer active, or pinned: no job moves that."""
    shelf = work.shelf(agent)
    protection = read_protection(shelf.paths.protected)
    with work.catalog(busy_ms=READER_BUSY_MS) as catalog, disk_errors(shelf.paths.directory):
        standings = work.ask(catalog, shelf, lambda: work.standings(shelf, catalog))
    for kept in found:
        state = standings.of_memory(kept.id, kept.memory)
        if kept.tier == "trash":
            raise InvalidMemoryError(
                f"{kept.id} is in trash; bring it back with: skymem restore {kept.id}"
            )
        if state != "active":
            raise InvalidMemoryError(f"{kept.id} is {state}: it is not merged")
        if protection.is_pinned(kept.id, kept.memory):
            raise InvalidMemoryError(
                f"{kept.id} is pinned, and stays as it is; first: skymem unpin {kept.id}"
            )
