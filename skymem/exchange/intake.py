"""What comes from elsewhere comes in by the door: never believed more than an import is (X11, X12).

It goes to short-term, in batches that are each durable, and the jobs judge it like anything new.
What is known already is passed over, so that a second import adds nothing and one that was killed
goes on; what was erased does not come back; what can't be read is kept in quarantine.
"""

import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import IO, Any, Final, NamedTuple

from skymem.app import Home
from skymem.doors import new_lines, take_in
from skymem.errors import DiskError, InterruptedRunError, InvalidMemoryError
from skymem.exchange.sources import Item, Source
from skymem.model.caution import TrustRules
from skymem.model.identity import digest
from skymem.model.memory import Memory
from skymem.model.plan import Damage, Entry
from skymem.model.spelling import compose, read_line
from skymem.model.strict_json import LineDamage
from skymem.policy.form import Admitted
from skymem.policy.secrets import guard_of
from skymem.policy.trust import most, trust_of
from skymem.stores.lines import entries_of
from skymem.stores.shelf import Shelf
from skymem.stores.trash import Trash

BATCH_LINES: Final = 500
KEPT_BYTES_MAX: Final = 64 * 1024 * 1024
"""Of what can't be read, so much is copied into quarantine; the file itself still has the rest."""

EXAMPLES: Final = 20

_OWN: Final = frozenset(
    {"id", "source_id", "origin", "trust", "pinned", "promoted_at", "committed", "redacted_from"}
)
"""What only this home can say of a memory, wherever a line has it."""

_LINKS: Final = ("supersedes", "evidence_ids")
"""Ids of another place: here they could be anybody's, and a link hides what it points at."""


@dataclass(slots=True)
class Tally:
    """What came of an import."""

    format: str
    imported: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    redacted: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    """Of what was left out and can't be read: where, and why; never what stands there."""

    kept: str = ""
    """Where that is kept, in the home."""

    def skip(self, why: str, place: str = "", reason: str = "") -> None:
        """Count something that does not come in."""
        self.skipped[why] += 1
        if reason and len(self.examples) < EXAMPLES:
            self.examples.append(f"{place}: {reason}")

    def as_json(self) -> dict[str, Any]:
        """Tell it."""
        return {
            "format": self.format,
            "imported": self.imported,
            "skipped": dict(sorted(self.skipped.items())),
            "redacted": dict(sorted(self.redacted.items())),
            "unreadable": self.examples,
            "kept": self.kept,
        }


class Known:
    """What an agent has, in any tier: by what lines say, and by foreign id and text."""

    def __init__(self, shelf: Shelf) -> None:
        """Read every line there is."""
        self._lines: set[bytes] = set()
        self._texts: set[bytes] = set()
        self._come: set[bytes] = set()
        self._come_to_trash: set[bytes] = set()
        for item in shelf.short_entries():
            if isinstance(item, Entry):
                self._note(item.memory, item.digest)
        for _, _, lines in shelf.tier_lines({"long", "archive"}, {}):
            for offset, raw, end in lines:
                for item in entries_of(offset, raw or b"", end, shelf.guard.clean):
                    if isinstance(item, Entry):
                        self._note(item.memory, item.digest)
        self._add_trash(shelf.trash)

    def _add_trash(self, trash: Trash) -> None:
        for held in trash.all():
            try:
                memory = held.memory
            except LineDamage:
                continue
            self._note(memory, digest(memory))

    def _note(self, memory: Memory, own: bytes) -> None:
        self._lines.add(own)
        if memory.foreign_id is not None:
            self._texts.add(_mark(memory))

    def add(self, memory: Memory, *, trash: bool = False) -> None:
        """Know one more, that comes in now; what is removed may be in a tier as well."""
        (self._come_to_trash if trash else self._come).add(digest(memory))
        if memory.foreign_id is not None:
            self._texts.add(_mark(memory))

    def has_line(self, memory: Memory, *, trash: bool = False) -> bool:
        """Whether there is a line that says just this, or has come to where this one goes."""
        own = digest(memory)
        return own in self._lines or own in (self._come_to_trash if trash else self._come)

    def has(self, memory: Memory) -> bool:
        """Whether this came from there before."""
        return _mark(memory) in self._texts


def _mark(memory: Memory) -> bytes:
    text = f"{memory.foreign_id}\0{memory.searchable}".encode("utf-8", "replace")
    return blake2b(text, digest_size=12).digest()


class Brought(NamedTuple):
    """A line on its way through the door."""

    admitted: Admitted
    memory: Memory


class Unread:
    """What can't be read, spooled until it is known how much there is: then into quarantine."""

    def __init__(self) -> None:
        self._spool: IO[bytes] | None = None
        self._damages: list[Damage] = []
        self._size = 0

    def add(self, raw: bytes, reason: str) -> None:
        """Keep one more, while there is room for it."""
        if not raw or self._size + len(raw) > KEPT_BYTES_MAX:
            return
        if self._spool is None:
            self._spool = tempfile.TemporaryFile()  # noqa: SIM115  (closed by `settle`)
        self._spool.write(raw + b"\n")
        self._damages.append(Damage(self._size, self._size + len(raw), reason))
        self._size += len(raw) + 1

    def settle(self, shelf: Shelf, name: str, source: str, now: float) -> str:
        """Put it into quarantine; the same import again replaces it. Returns where, or ""."""
        if self._spool is None:
            return ""
        with self._spool as spool:
            spool.flush()
            shelf.quarantine.keep(spool.fileno(), source, self._damages, name, now)
        return f"{shelf.paths.quarantine.name}/{name}.raw"


def bring_in(home: Home, agent: str, source: Source, now: float, *, dry_run: bool = False) -> Tally:
    """Import what other programs keep, for one agent; returns what came of each.

    Raises:
        NotAllowedError: who asks is bound to another agent.
        DiskError, InterruptedRunError: says how many came in; importing again goes on.
    """
    home.admit(agent, writing=True)
    shelf = home.shelf(agent)
    tally = Tally(source.format)
    known, unread = Known(shelf), Unread()
    erased = home.workplace(dry_run=dry_run).graveyard().of(agent)
    batch: list[Admitted] = []
    try:
        for item in source.items():
            brought = _brought(home, item, now, tally, unread)
            if brought is None:
                continue
            memory = brought.memory
            if erased.bars_import(memory):
                tally.skip("erased")
            elif known.has(memory):
                tally.skip("known")
            elif item.fields is not None and _says_the_same(known, item.fields):
                tally.skip("known")
            else:
                known.add(memory)
                batch.append(brought.admitted)
                tally.redacted.update(brought.admitted.redacted)
                if len(batch) >= BATCH_LINES:
                    _take(home, agent, batch, tally, dry_run=dry_run)
        _take(home, agent, batch, tally, dry_run=dry_run)
    except DiskError as error:
        raise DiskError(str(error.args[0]), f"{error.args[1]}; {_so_far(tally)}") from error
    except InterruptedRunError as error:
        raise InterruptedRunError(f"{error.args[0]}; {_so_far(tally)},") from error
    if not dry_run:
        _record(home, agent, source, tally, unread, now)
    return tally


def _so_far(tally: Tally) -> str:
    return f"{tally.imported:,} were imported before it, and importing again goes on"


def _take(home: Home, agent: str, batch: list[Admitted], tally: Tally, *, dry_run: bool) -> None:
    if batch and not dry_run:
        home.workplace().check_stop()
        take_in(home, agent, batch)
    tally.imported += len(batch)
    home.tell(f"import: {tally.imported:,} in, {tally.skipped.total():,} passed over")
    batch.clear()


def _record(
    home: Home, agent: str, source: Source, tally: Tally, unread: Unread, now: float
) -> None:
    shelf = home.shelf(agent)
    name = blake2b(str(source.path).encode("utf-8", "replace"), digest_size=6).hexdigest()
    tally.kept = unread.settle(shelf, f"import_{name}", source.path.name, now)
    if tally.imported:
        counts = {"imported": tally.imported, "skipped": dict(tally.skipped)}
        entry = {"op": "import", "agent": agent, "format": source.format, **counts}
        home.workplace().ledger().append([entry], now)


def _brought(home: Home, item: Item, now: float, tally: Tally, unread: Unread) -> Brought | None:
    """One item as a line that may come in; None, and counted, where there is none."""
    if item.fields is None:
        if item.reason:
            tally.skip("unreadable", item.place, item.reason)
            unread.add(_harmless(home, item.raw), item.reason)
        else:
            tally.skip("nothing to remember")
        return None
    guard = guard_of(home.rules.secrets)
    try:
        if home.rules.secrets.on == "refuse" and guard.fields(item.fields)[1]:
            tally.skip("secret", item.place, "there is a secret in it")
            return None
        line = compose(foreign(item.fields, home.rules.trust))
        (admitted,) = new_lines(home, line, now=now)
        return Brought(admitted, read_line(admitted.raw))
    except (InvalidMemoryError, ValueError, RecursionError) as error:
        deep = isinstance(error, RecursionError)
        reason = "nested too deep" if deep else str(error).removeprefix("line 1: ")
    tally.skip("unreadable", item.place, reason)
    unread.add(_harmless(home, item.raw), reason)
    return None


def _harmless(home: Home, raw: bytes) -> bytes:
    """What is kept unread is kept without its secrets, as far as it is text."""
    text = raw.decode("utf-8", "surrogateescape")
    return guard_of(home.rules.secrets).text(text)[0].encode("utf-8", "surrogateescape")


def _says_the_same(known: Known, fields: dict[str, Any]) -> bool:
    """Whether the very line is here, from wherever it came."""
    try:
        return known.has_line(Memory(fields))
    except LineDamage:
        return False


def foreign(fields: dict[str, Any], rules: TrustRules) -> dict[str, Any]:
    """The fields of a line of elsewhere as they may stand here.

    Its origin is `import`, its trust what it says of itself and no more than an import has; its id
    becomes `source_id`, or what it says where it has none, by which it is known again.

    Raises:
        LineDamage: it is no memory.
    """
    memory = Memory(fields)
    allowed = most("import", rules)
    said = 1.0 if memory.trust is None else memory.trust
    trust = min(allowed, said if memory.origin is None else trust_of(memory, rules))
    name = memory.source_id or memory.foreign_id or digest(memory).hex()
    kept = _theirs(fields)
    if kept.get("type") == "long":
        kept["type"] = "short"
    inner = fields.get("metadata")
    if isinstance(inner, dict):
        kept["metadata"] = _theirs(inner)
    ours = {"origin": "import", "trust": trust, "source_id": name}
    if memory.spelling == "timestamp" and isinstance(inner, dict):
        return {**kept, "metadata": {**kept["metadata"], **ours}}
    return {**kept, **ours}


def _theirs(fields: dict[str, Any]) -> dict[str, Any]:
    links = {one: f"source_{one}" for one in _LINKS}
    return {links.get(one, one): value for one, value in fields.items() if one not in _OWN}
