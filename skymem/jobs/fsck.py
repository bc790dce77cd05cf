"""Fsck: every memory that ever came in is in exactly one state, by ledger and files (row X6).

Each agent is looked at under its job lock, after what a kill left half done was finished, so that
nothing is on its way meanwhile. What is missing, doubled or changed is named; nothing is repaired
but the catalog, which is derived.
"""

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from skymem.jobs.account import Account, Place
from skymem.jobs.prepare import ready
from skymem.jobs.rehearse import open_reading
from skymem.jobs.seen import remember_known, seen
from skymem.jobs.workplace import Workplace
from skymem.model.plan import Damage, Entry, Plan
from skymem.model.strict_json import BOM, LineDamage
from skymem.stores.catalog import Catalog
from skymem.stores.files import disk_errors
from skymem.stores.lines import (
    TIER_LINE_BYTES_MAX,
    entries_of,
    last_newline_end,
    raw_lines,
    read_entries,
)
from skymem.stores.naming import Naming
from skymem.stores.shelf import Shelf
from skymem.stores.tiers import tier_files, tier_of, trash_files
from skymem.stores.trash import ENVELOPE_BYTES_MAX, opened

NAMED_MAX: Final = 1000
"""So many memories of one agent are named for one sort of trouble; the rest is counted."""

SERIOUS: Final = ("ledger", "lost", "doubled", "changed outside")
"""What must not be; whatever else is told is worth knowing."""


@dataclass(slots=True)
class Findings:
    """What was found."""

    entries: int = 0
    """Of the ledger."""

    problems: list[dict[str, Any]] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    memories: dict[str, dict[str, int]] = field(default_factory=dict)
    """By agent, how many are in which state, and how many came in."""

    @property
    def valid(self) -> bool:
        """Whether the sum balances, and nothing is wrong."""
        return not self.problems

    def as_json(self) -> dict[str, Any]:
        """Spell it as `skymem fsck --json` does."""
        return {
            "valid": self.valid,
            "entries": self.entries,
            "problems": self.problems,
            "notes": self.notes,
            "memories": self.memories,
        }

    def say(self, what: str, agent: str, message: str, **more: Any) -> None:
        """Add one finding."""
        found = {"what": what, "agent": agent, **more, "message": message}
        (self.problems if what in SERIOUS else self.notes).append(found)

    def name_each(self, what: str, agent: str, found: Iterable[tuple[str, str]]) -> None:
        """Add a finding for each memory: its id, and what about it."""
        count = 0
        for name, about in found:
            count += 1
            if count <= NAMED_MAX:
                self.say(what, agent, f"{name} {about}", id=name)
        if count > NAMED_MAX:
            self.say(what, agent, f"and {count - NAMED_MAX:,} more", more=count - NAMED_MAX)


def fsck(work: Workplace, agents: Collection[str], *, all_agents: bool = True) -> Findings:
    """Look at agents' memories, and at the ledger.

    Args:
        work: the home.
        agents: whose memories.
        all_agents: whether that is everybody: then whoever the ledger alone knows is looked at
            as well, whose directory is gone.

    Raises:
        BusyError: a job works on an agent for too long.
        DiskError, KeyDamagedError: something can't be read.
        InterruptedRunError: a signal asked to stop.
    """
    findings = Findings()
    whole = work.ledger().size()
    findings.entries, problems = work.ledger().verify(
        lambda done, _: work.progress("ledger", done, whole)
    )
    for problem in problems:
        findings.say("ledger", "", problem)
    with closing(Account()) as account, work.catalog() as catalog:
        check = _Check(work, catalog, account, findings)
        for agent in agents:
            work.check_stop()
            with disk_errors(work.paths.agent(agent).directory):
                check.agent(agent)
        check.read_ledger()
        for agent in account.agents() if all_agents else ():
            if agent not in findings.memories and agent:
                check.absent(agent)
    return findings


class _Check:
    """One look at a home."""

    def __init__(
        self, work: Workplace, catalog: Catalog, account: Account, findings: Findings
    ) -> None:
        self._work = work
        self._catalog = catalog
        self._account = account
        self._findings = findings
        self._read_to = 0

    def agent(self, agent: str) -> None:
        """Look at one agent's files while nobody changes them."""
        with ready(self._work, self._catalog, agent, "fsck") as (shelf, finished):
            for run in finished:
                self._findings.say("recovered", agent, f"{run} was cut short; it is finished now")
            self._account.clear()
            self._account.begin()
            self._account.stand(self._tiers(shelf))
            self._account.stand(self._trash(shelf))
            self._account.end()
            self._check_catalog(shelf)
            self._account.begin()
            self._account.stand(self._short(shelf))
            self._account.end()
            self.read_ledger()
        self._sum_up(agent)

    def absent(self, agent: str) -> None:
        """Tell of an agent whose directory is gone."""
        self._account.clear()
        self._sum_up(agent)

    # -- what stands where ----------------------------------------------------------------------

    def _tiers(self, shelf: Shelf) -> Iterator[Place]:
        for name, path in tier_files(shelf.paths):
            self._work.check_stop()
            for line, (offset, raw, end) in enumerate(self._lines(path, shelf, 0), start=1):
                if raw is None:
                    self._unreadable(shelf, name, line, "too long")
                    continue
                for entry in entries_of(offset, raw, end):
                    if isinstance(entry, Damage):
                        self._unreadable(shelf, name, line, entry.reason)
                    else:
                        text = raw[entry.start - offset : entry.end - offset]
                        yield self._place(name, entry, text)

    def _place(self, name: str, entry: Entry, text: bytes) -> Place:
        own = entry.memory.source_id or entry.digest.hex()
        bare = text.removeprefix(BOM) if entry.start == 0 else text
        mark = self._work.home_key().fingerprint(bare.rstrip(b"\n"))
        return Place(own, tier_of(name), name, entry.start, entry.end, mark, entry.digest)

    def _trash(self, shelf: Shelf) -> Iterator[Place]:
        key = self._work.home_key()
        for name, path in trash_files(shelf.paths):
            lines = self._lines(path, shelf, ENVELOPE_BYTES_MAX)
            for line, (offset, raw, end) in enumerate(lines, start=1):
                if raw is not None and not raw.strip():
                    continue
                try:
                    held = opened(raw or b"")
                    (inner,) = entries_of(1, held.line, end)  # no file's start: no BOM
                    if isinstance(inner, Damage):
                        raise LineDamage(inner.reason)
                except (LineDamage, ValueError) as damage:
                    self._unreadable(shelf, name, line, str(damage))
                    continue
                mark = key.fingerprint(held.line)
                yield Place(held.id, "trash", name, offset, end, mark, inner.digest)

    def _lines(
        self, path: Path, shelf: Shelf, around: int
    ) -> Iterator[tuple[int, bytes | None, int]]:
        what = f"fsck {shelf.paths.name}"
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            stop = last_newline_end(fd, os.fstat(fd).st_size)
            for found in raw_lines(fd, 0, stop, TIER_LINE_BYTES_MAX + around):
                self._work.progress(what, found[2], stop)
                yield found
        finally:
            os.close(fd)

    def _unreadable(self, shelf: Shelf, name: str, line: int, why: str) -> None:
        message = f"{name}: line {line} can't be read: {why}"
        self._findings.say("unreadable", shelf.paths.name, message, file=name, line=line)

    def _short(self, shelf: Shelf) -> Iterator[Place]:
        """What readers count as short-term; what came since the last run is told to the ledger."""
        agent, work = shelf.paths.name, self._work
        reading = open_reading(work, shelf, self._catalog, "fsck")
        try:
            for entry in reading.entries():
                if isinstance(entry, Entry) and not entry.elsewhere:
                    yield _in_short(entry, shelf.paths.short_term.name)
            work.ledger().append(seen(agent, self._catalog, reading), work.now())
            remember_known(self._catalog, reading, Plan("fsck", agent))
        finally:
            reading.close()
        naming = Naming(agent, self._catalog)
        for path, start in shelf.drains.tails():  # a writer still has it: taken over later
            with path.open("rb") as stream:
                fd = stream.fileno()
                stop = last_newline_end(fd, os.fstat(fd).st_size)
                for item in read_entries(fd, start, stop, shelf.rules.line_bytes_max):
                    if isinstance(item, Entry):
                        naming.name([item])
                        if not item.elsewhere:
                            yield _in_short(item, f"drains/{path.name}")

    # -- against each other ---------------------------------------------------------------------

    def _check_catalog(self, shelf: Shelf) -> None:
        """Make the catalog anew when it is not as the files."""
        agent, database = shelf.paths.name, self._catalog.database
        rows = database.execute(
            "SELECT id, name, start, end FROM memories JOIN files USING (file) "
            "WHERE memories.agent = ?",
            (agent,),
        )
        wrong = self._account.catalog_differs(rows)
        if wrong:
            database.execute("UPDATE files SET inode = 0, read_to = 0 WHERE agent = ?", (agent,))
            self._catalog.catch_up(shelf.paths)
            message = f"the catalog was wrong about {wrong:,}; it was made anew from the files"
            self._findings.say("catalog", agent, message, count=wrong)

    def read_ledger(self) -> None:
        """Take in what the ledger has told since the agent before."""
        ledger = self._work.ledger()
        whole = ledger.size()
        self._account.begin()
        for end, entry in ledger.read_from(self._read_to):
            self._account.tell(entry)
            self._read_to = end
            self._work.progress("ledger", end, whole)
        self._account.end()

    def _sum_up(self, agent: str) -> None:
        account, findings = self._account, self._findings
        states = account.states(agent)
        came = account.came_in(agent)
        findings.memories[agent] = {"came_in": came, **states}
        if came != sum(states.values()):
            message = f"{came:,} came in, and {sum(states.values()):,} are accounted for"
            findings.say("lost", agent, message)
        findings.name_each(
            "lost", agent, ((one.id, _last_known(one.what, one.run)) for one in account.lost(agent))
        )
        findings.name_each(
            "doubled",
            agent,
            ((name, f"stands in {' and in '.join(files)}") for name, files in account.doubled()),
        )
        findings.name_each(
            "changed outside",
            agent,
            (
                (name, f"in {file} is not what was put there")
                for name, file in account.changed(agent)
            ),
        )
        findings.name_each(
            "unrecorded",
            agent,
            ((name, f"in {file} came in by hand") for name, file in account.unrecorded(agent)),
        )


def _in_short(entry: Entry, file: str) -> Place:
    return Place(entry.id, "short", file, entry.start, entry.end, b"", entry.digest)


def _last_known(what: str, run: str) -> str:
    where = {"back": "a tier it was brought back to"}.get(what, what)
    return f"is in no file; the ledger last had it in {where}{f' ({run})' if run else ''}"
