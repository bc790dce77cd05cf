"""What skymem exported comes back: each line to its own tier, as it stood, under its own id (X12).

The export is read twice: first against its hashes, so that nothing comes of a damaged one, then
line by line, in batches that are each durable. What the agent has already is passed over, so that
an import that was killed goes on where it was, and importing again adds nothing.
"""

import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from skymem.app import Home
from skymem.doors import new_lines
from skymem.errors import InvalidMemoryError, SecretRefusedError
from skymem.exchange.backup import known
from skymem.exchange.container import ArchiveDamagedError, Member, Reading
from skymem.exchange.exporting import KIND, SHORT, TOP
from skymem.exchange.intake import (
    BATCH_LINES,
    Known,
    Tally,
    Unread,
    foreign,
    telling_how_far,
    without_secrets,
)
from skymem.exchange.sources import opened as opened_file
from skymem.jobs.move import run_id
from skymem.jobs.prepare import ready
from skymem.jobs.workplace import Workplace
from skymem.model.identity import digest
from skymem.model.memory import Memory
from skymem.model.spelling import compose, read_line
from skymem.model.strict_json import BOM, LineDamage
from skymem.policy.admit import agent_name_fault
from skymem.stores.catalog import Catalog
from skymem.stores.lines import TIER_LINE_BYTES_MAX
from skymem.stores.protection import read_protection, write_protection
from skymem.stores.shelf import Shelf
from skymem.stores.tombstones import Tombstones
from skymem.stores.trash import ENVELOPE_BYTES_MAX, Held, opened

LINES: Final = re.compile(
    r"(short_term|long_term|short_term_archive_[A-Za-z0-9_-]+|trash/[A-Za-z0-9][A-Za-z0-9_.-]*)"
    r"\.jsonl"
)
OTHERS: Final = re.compile(r"protected\.json|agent\.md|quarantine/[A-Za-z0-9][A-Za-z0-9_.-]*")
ACTIONS: Final = {"long_term.jsonl": "promote"}
PROTECTED_BYTES_MAX: Final = 256 * 1024 * 1024


def bring_back(
    home: Home, path: Path, named: str | None, now: float, *, dry_run: bool = False
) -> Tally:
    """Import an own export; returns what came of each line.

    Args:
        home: the operator's handle.
        path: the export.
        named: of an export of one agent, under whose name it comes; of several, which one comes.
        now: epoch seconds.
        dry_run: only say what would come.

    Raises:
        ArchiveDamagedError: it is not whole, or holds what no export of ours does.
        HomeTooNewError: it is of a home in a newer format.
        UnknownMemoryError, UsageError: it has nothing of that agent.
        DiskError, InterruptedRunError, BusyError: what came in stays; importing again goes on.
    """
    tally = Tally("skymem")
    with opened_file(path) as fd:
        manifest = _pass(fd, path, lambda member, _: _check(path, member))
        whose = _whose(manifest, named)
        with ExitStack() as stack:
            back = _Back(home, whose, now, tally, stack, dry_run=dry_run)
            with telling_how_far(tally):
                _pass(fd, path, back.take)
                back.end()
    return tally


def _pass(fd: int, path: Path, take: Callable[[Member, Iterator[bytes]], None]) -> dict[str, Any]:
    with open(f"/proc/self/fd/{fd}", "rb") as stream:
        return known(Reading(stream, str(path), (TOP,)).whole(KIND, take), path)


def _check(path: Path, member: Member) -> None:
    parts = member.name.split("/", 2)
    if len(parts) != 3 or agent_name_fault(parts[1]) is not None:
        raise ArchiveDamagedError(str(path), f"{member.name!r:.80} is no agent's")
    if not LINES.fullmatch(parts[2]) and not OTHERS.fullmatch(parts[2]):
        raise ArchiveDamagedError(str(path), f"{member.name!r:.80} is no file of an export")


def _whose(manifest: dict[str, Any], named: str | None) -> dict[str, str]:
    """From the agents of an export to the agents here."""
    agents = sorted({str(one["name"]).split("/")[1] for one in manifest["files"]})
    if named is None:
        return {one: one for one in agents}
    if len(agents) == 1:
        return {agents[0]: named}
    return {one: one for one in agents if one == named}


@dataclass(slots=True)
class _Place:
    """One agent that is imported into."""

    shelf: Shelf
    catalog: Catalog
    known: Known
    erased: Tombstones
    unread: Unread
    run: str
    names: set[str] = field(default_factory=set)
    """Of memories that have come to long-term and archives: each has one place."""


class _Back:
    """One import of an own export."""

    def __init__(
        self,
        home: Home,
        whose: dict[str, str],
        now: float,
        tally: Tally,
        stack: ExitStack,
        *,
        dry_run: bool,
    ) -> None:
        self._home, self._whose, self._now, self._tally = home, whose, now, tally
        self._dry_run = dry_run
        self._work: Workplace = home.workplace(dry_run=dry_run)
        self._stack = stack
        self._agent = ""
        self._place: _Place | None = None

    def take(self, member: Member, blocks: Iterator[bytes]) -> None:
        """Take in one file of the export."""
        _, agent, name = member.name.split("/", 2)
        if agent not in self._whose:
            return
        place = self._at(self._whose[agent])
        if LINES.fullmatch(name):
            self._lines(place, name, blocks)
        elif name == "protected.json":
            self._protection(place, member, blocks)
        else:
            self._file(place, name, blocks)

    def end(self) -> None:
        """Settle the last agent."""
        place = self._place
        if place is not None and not self._dry_run:
            kept = place.unread.settle(place.shelf, "import_skymem", "export", self._now)
            self._tally.kept = kept or self._tally.kept
            place.catalog.catch_up(place.shelf.paths)
        self._place = None
        self._stack.close()

    def _at(self, agent: str) -> _Place:
        if self._place is not None and agent == self._agent:
            return self._place
        self.end()
        self._agent = agent
        self._home.admit(agent, writing=True)
        catalog = self._stack.enter_context(self._work.catalog())
        if self._dry_run:
            shelf = self._work.shelf(agent)
        else:
            self._home.make_ready(agent)
            work = self._work
            shelf, _ = self._stack.enter_context(ready(work, catalog, agent, "import"))
        erased = self._work.graveyard().of(agent)
        run = run_id("import", self._now)
        self._place = _Place(shelf, catalog, Known(shelf), erased, Unread(), run)
        return self._place

    # -- lines ----------------------------------------------------------------------------------

    def _lines(self, place: _Place, name: str, blocks: Iterator[bytes]) -> None:
        batch: list[tuple[str, bytes]] = []
        number = 0
        for number, raw in enumerate(_split(blocks), start=1):
            line = self._line(place, name, number, raw)
            if line is None:
                continue
            batch.append(line)
            if len(batch) >= BATCH_LINES:
                self._write(place, name, batch)
        self._write(place, name, batch)

    def _line(
        self, place: _Place, name: str, number: int, raw: bytes | None
    ) -> tuple[str, bytes] | None:
        """One line as it is to stand in its tier, with its id; None, and counted, where not."""
        if raw is not None and not raw.strip():
            return None
        try:
            if raw is None:
                raise LineDamage("longer than any line may be")
            if name.startswith("trash/"):
                return self._removed(place, opened(raw))
            return self._living(place, raw.removeprefix(BOM))
        except SecretRefusedError:
            self._tally.skip("secret", f"{name}:{number}", "there is a secret in it")
        except LineDamage as damage:
            self._tally.skip("unreadable", f"{name}:{number}", str(damage))
            place.unread.add(without_secrets(place.shelf.guard, raw or b""), str(damage))
        return None

    def _living(self, place: _Place, line: bytes) -> tuple[str, bytes] | None:
        memory = read_line(line)
        own = memory.source_id or digest(memory).hex()
        clean = self._clean(place, own, line, memory, trash=False)
        return None if clean is None else (own, clean.rstrip(b"\n") + b"\n")

    def _removed(self, place: _Place, held: Held) -> tuple[str, bytes] | None:
        clean = self._clean(place, held.id, held.line, held.memory, trash=True)
        return None if clean is None else (held.id, held.saying(clean).envelope())

    def _clean(
        self, place: _Place, own: str, line: bytes, memory: Memory, *, trash: bool
    ) -> bytes | None:
        """A line without its secrets; None, and counted, where it does not come."""
        if self._passed_over(place, memory, own, trash=trash):
            return None
        clean = place.shelf.guard.admit(line, memory)
        if clean.kinds and self._passed_over(place, clean.memory, own, trash=trash):
            return None
        self._tally.redacted.update(clean.kinds)
        place.known.add(clean.memory, trash=trash)
        return clean.raw

    def _passed_over(self, place: _Place, memory: Memory, own: str, *, trash: bool) -> bool:
        erased = place.erased
        if erased and (erased.has_id(own) or erased.bars_import(memory)):
            self._tally.skip("erased")
        elif place.known.has_line(memory, trash=trash):
            self._tally.skip("known")
        else:
            return False
        return True

    def _write(self, place: _Place, name: str, batch: list[tuple[str, bytes]]) -> None:
        """Make a batch durable in its file; who has a name that is taken goes by the door."""
        if not batch:
            return
        self._work.check_stop()
        agent = place.shelf.paths.name
        there = {} if name == SHORT else place.catalog.find(agent, [own for own, _ in batch])
        trash = name.startswith("trash/")
        lines: list[tuple[str, bytes]] = []
        others: list[bytes] = []
        for own, raw in batch:
            if own in there or (own in place.names and name != SHORT and not trash):
                others.append(raw)
                continue
            lines.append((own, raw))
            if name != SHORT and not trash:
                place.names.add(own)
        if not self._dry_run:
            self._append(place, name, lines)
        self._tally.imported += len(lines)
        for raw in others:
            if trash:
                self._tally.skip("name taken")
            else:
                self._by_the_door(place, name, raw)
        self._home.tell(f"import: {self._tally.imported:,} in")
        batch.clear()

    def _append(self, place: _Place, name: str, lines: list[tuple[str, bytes]]) -> None:
        shelf = place.shelf
        if name == SHORT:
            shelf.append([raw for _, raw in lines])
            return
        if not lines:
            return
        path = shelf.paths.directory / name
        shelf.files.make_directory(path.parent)
        shelf.files.append(path, b"".join(raw for _, raw in lines))
        action = ACTIONS.get(name, "trash" if name.startswith("trash/") else "archive")
        decided = [[action, own, "import", None, None, "", name, -1] for own, _ in lines]
        entry = {"op": "decide", "agent": shelf.paths.name, "run": place.run, "decided": decided}
        self._work.ledger().append([entry], self._now)

    def _by_the_door(self, place: _Place, name: str, raw: bytes) -> None:
        """A memory whose id another one has here: it comes in as one from elsewhere."""
        try:
            fields = foreign(read_line(raw).fields, self._home.rules.trust)
            (admitted,) = new_lines(self._home, compose(fields), now=self._now)
        except (InvalidMemoryError, ValueError) as error:
            self._tally.skip("unreadable", name, str(error))
            return
        memory = read_line(admitted.raw)
        if place.known.has(memory) or place.known.has_come(memory):
            self._tally.skip("known")
            return
        place.known.add(memory)
        if not self._dry_run:
            place.shelf.append([admitted.raw])
        self._tally.imported += 1

    # -- other files ----------------------------------------------------------------------------

    def _protection(self, place: _Place, member: Member, blocks: Iterator[bytes]) -> None:
        """Add who is pinned there to who is pinned here; what was said here stands."""
        if self._dry_run or member.size > PROTECTED_BYTES_MAX:
            return
        with tempfile.NamedTemporaryFile() as spool:
            for block in blocks:
                spool.write(block)
            spool.flush()
            theirs = read_protection(Path(spool.name))
        ours = read_protection(place.shelf.paths.protected)
        said = {*ours.pinned, *ours.unpinned}
        ours.pinned |= {own: at for own, at in theirs.pinned.items() if own not in said}
        ours.unpinned |= {own: at for own, at in theirs.unpinned.items() if own not in said}
        ours.restored = {**theirs.restored, **ours.restored}
        write_protection(place.shelf.paths.protected, ours, place.shelf.files)

    def _file(self, place: _Place, name: str, blocks: Iterator[bytes]) -> None:
        """A file that is kept as it is, where there is none of its name."""
        path = place.shelf.paths.directory / name
        if path.exists() or self._dry_run:
            return
        place.shelf.files.make_directory(path.parent)
        place.shelf.files.replace(path, blocks)


def _split(blocks: Iterator[bytes]) -> Iterator[bytes | None]:
    """Yield lines without their newlines; None for one that is too long, which is not held."""
    rest, skipping = b"", False
    most = TIER_LINE_BYTES_MAX + ENVELOPE_BYTES_MAX
    for block in blocks:
        pieces = (rest + block).split(b"\n")
        rest = pieces.pop()
        for piece in pieces:
            yield None if skipping or len(piece) > most else piece
            skipping = False
        if skipping or len(rest) > most:
            rest, skipping = b"", True
    if skipping or rest:
        yield None if skipping else rest
