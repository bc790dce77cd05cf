"""Fsck: every memory that ever came in is in exactly one state, by ledger and files (row X6).

Each agent is looked at under its job lock, after what a kill left half done was finished, so that
nothing is on its way meanwhile. What is missing, doubled or changed is named; nothing is repaired
but the catalog, which is derived.
"""

import os
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from skymem.errors import DiskError
from skymem.jobs.account import Account
from skymem.jobs.fate import STATES, Place
from skymem.jobs.findings import Findings, Named
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
    with closing(Account(work.home_key().check)) as account, work.catalog() as catalog:
        check = _Check(work, catalog, account, findings)
        try:
            check.ledger()
            for agent in agents:
                work.check_stop()
                with disk_errors(work.agent_paths(agent).directory):
                    check.one(agent)
            check.read_ledger()
            for agent in account.agents() if all_agents else ():
                if agent not in findings.memories:
                    check.absent(agent)
        except sqlite3.OperationalError as error:
            raise DiskError("the temporary database of fsck", str(error)) from error
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

    def ledger(self) -> None:
        """Walk the chain, and take in what its entries tell."""
        ledger = self._work.ledger()
        whole = ledger.size()
        self._findings.entries, problems = ledger.verify(
            lambda done, _: self._work.progress("ledger", done, whole), self._told
        )
        for problem in problems:
            self._findings.say("ledger", "", problem)
        if runs := len(self._account.under_another_key):
            message = f"audit/key was lost or replaced: the hashes of {runs} run(s) are of another"
            self._findings.say("key", "", message)

    def one(self, agent: str) -> None:
        """Look at one agent's files while nobody changes them."""
        with ready(self._work, self._catalog, agent, "fsck") as (shelf, finished):
            for run in finished:
                self._findings.say("recovered", agent, f"{run} was cut short; it is finished now")
            for file, damage in shelf.quarantine.taken:
                message = f"{file}: what could not be read is in quarantine/ now: {damage.reason}"
                self._findings.say("set aside", agent, message, file=file)
            self._account.clear()
            self._account.stand(self._tiers(shelf))
            self._account.stand(self._trash(shelf))
            self._beside_catalog(shelf)
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
                if isinstance(entry, Entry):
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
                        yield _in_short(item, f"drains/{path.name}")

    # -- against each other ---------------------------------------------------------------------

    def _beside_catalog(self, shelf: Shelf) -> None:
        """Check the catalog, then read short-term with it; a damaged one is done without."""
        try:
            self._check_catalog(shelf)
            self._account.stand(self._short(shelf))
        except sqlite3.Error as error:
            if self._catalog.temporary:
                raise
            self._work.do_without_file(self._catalog, error)
            message = f"the catalog can't be used ({error}); it is made anew from the files"
            self._findings.say("catalog", shelf.paths.name, message)
            self._catalog.catch_up(shelf.paths)
            self._beside_catalog(shelf)

    def _check_catalog(self, shelf: Shelf) -> None:
        """Make the catalog anew when it is not as the files."""
        agent, database = shelf.paths.name, self._catalog.database
        rows = database.execute(
            "SELECT id, name, start, end FROM memories JOIN files USING (file) "
            "WHERE memories.agent = ? ORDER BY id",
            (agent,),
        )
        wrong = self._account.catalog_differs(rows)
        if wrong:
            database.execute("UPDATE files SET inode = 0, read_to = 0 WHERE agent = ?", (agent,))
            self._catalog.catch_up(shelf.paths)
            message = f"the catalog was wrong about {wrong:,}; it was made anew from the files"
            self._findings.say("catalog", agent, message, count=wrong)

    def read_ledger(self) -> None:
        """Take in what the ledger has told since."""
        for end, entry in self._work.ledger().read_from(self._read_to):
            self._told(end, entry)

    def _told(self, end: int, entry: Mapping[str, Any]) -> None:
        self._account.tell(entry)
        self._read_to = end

    def _sum_up(self, agent: str) -> None:
        states = dict.fromkeys(STATES, 0)
        named = Named()
        for fate in self._account.fates(agent):
            if fate.state:
                states[fate.state] += 1
                named.add(fate)
        self._findings.memories[agent] = {"came_in": sum(states.values()), **states}
        named.say(self._findings, agent)


def _in_short(entry: Entry, file: str) -> Place:
    return Place(entry.id, "short", file, entry.start, entry.end, b"", entry.digest)
