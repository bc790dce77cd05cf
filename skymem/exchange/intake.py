"""What comes from elsewhere comes in by the door: never believed more than an import is (X11, X12).

It goes to short-term, in batches that are each durable, and the jobs judge it like anything new.
What is known already is passed over, so that a second import adds nothing and one that was killed
goes on; what was erased does not come back; what can't be read is kept in quarantine.
"""

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import IO, Any, Final

from skymem.app import Home
from skymem.doors import new_lines, take_in
from skymem.errors import (
    DiskError,
    InterruptedRunError,
    InvalidMemoryError,
    SecretRefusedError,
)
from skymem.exchange.sources import Item, Source
from skymem.model.caution import TrustRules
from skymem.model.identity import digest
from skymem.model.memory import Memory
from skymem.model.plan import Damage, Entry
from skymem.model.spelling import compose, read_line
from skymem.model.strict_json import LineDamage
from skymem.policy.form import Admitted
from skymem.policy.secrets import Guard, guard_of
from skymem.policy.trust import most, trust_of
from skymem.policy.uniting import FIELD as DUPLICATES
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

_LINKS: Final = ("supersedes", "evidence_ids", DUPLICATES)
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
        self._come_texts: set[bytes] = set()
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
            self._come_texts.add(_mark(memory))

    def has_line(self, memory: Memory, *, trash: bool = False) -> bool:
        """Whether there is a line that says just this, or has come to where this one goes."""
        own = digest(memory)
        return own in self._lines or own in (self._come_to_trash if trash else self._come)

    def has(self, memory: Memory) -> bool:
        """Whether this came from there before."""
        return _mark(memory) in self._texts

    def has_come(self, memory: Memory) -> bool:
        """Whether the same has come now already."""
        return _mark(memory) in self._come_texts


def _mark(memory: Memory) -> bytes:
    text = f"{memory.foreign_id}\0{memory.searchable}".encode("utf-8", "replace")
    return blake2b(text, digest_size=12).digest()


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
    intake = _Intake(home, agent, source, now, dry_run=dry_run)
    with telling_how_far(intake.tally):
        intake.run()
    return intake.tally


@contextmanager
def telling_how_far(tally: Tally) -> Iterator[None]:
    """Say, where an import is cut short, how many came in: nothing is half done in silence."""
    try:
        yield
    except DiskError as error:
        raise DiskError(str(error.args[0]), f"{error.args[1]}; {_so_far(tally)}") from error
    except InterruptedRunError as error:
        raise InterruptedRunError(f"{error.args[0]} ({_so_far(tally)})") from error


def _so_far(tally: Tally) -> str:
    return f"{tally.imported:,} were imported before it, and importing again goes on"


class _Intake:
    """One import for one agent."""

    def __init__(
        self, home: Home, agent: str, source: Source, now: float, *, dry_run: bool
    ) -> None:
        self.tally = Tally(source.format)
        self._home, self._agent, self._source, self._now = home, agent, source, now
        self._dry_run = dry_run
        self._shelf = home.shelf(agent)
        self._known, self._unread = Known(self._shelf), Unread()
        self._erased = home.workplace(dry_run=dry_run).graveyard().of(agent)
        self._guard = guard_of(home.rules.secrets)

    def run(self) -> None:
        """Take in all there is, batch by batch."""
        batch: list[Admitted] = []
        for item in self._source.items():
            admitted = self._admitted(item)
            if admitted is not None:
                batch.append(admitted)
            if len(batch) >= BATCH_LINES:
                self._take(batch)
        self._take(batch)
        if not self._dry_run:
            self._record()

    def _take(self, batch: list[Admitted]) -> None:
        if batch and not self._dry_run:
            self._home.workplace().check_stop()
            take_in(self._home, self._agent, batch)
        self.tally.imported += len(batch)
        done, passed = self.tally.imported, self.tally.skipped.total()
        self._home.tell(f"import: {done:,} in, {passed:,} passed over")
        batch.clear()

    def _record(self) -> None:
        path, tally = self._source.path, self.tally
        name = blake2b(str(path).encode("utf-8", "replace"), digest_size=6).hexdigest()
        tally.kept = self._unread.settle(self._shelf, f"import_{name}", path.name, self._now)
        if tally.imported:
            counts = {"imported": tally.imported, "skipped": dict(tally.skipped)}
            entry = {"op": "import", "agent": self._agent, "format": tally.format, **counts}
            self._home.workplace().ledger().append([entry], self._now)

    def _admitted(self, item: Item) -> Admitted | None:
        """One item as a line that comes in; None, and counted, where it does not."""
        if item.fields is None and not item.reason:
            self.tally.skip("nothing to remember")
            return None
        try:
            admitted = self._at_the_door(item)
        except SecretRefusedError:
            self.tally.skip("secret", item.place, "there is a secret in it")
            return None
        except RecursionError:
            self._keep_unread(item, "nested too deep")
            return None
        except (InvalidMemoryError, ValueError) as error:
            self._keep_unread(item, str(error).removeprefix("line 1: "))
            return None
        memory = read_line(admitted.raw)
        if why := self._passed_over(item, memory):
            self.tally.skip(why)
            return None
        self._known.add(memory)
        self.tally.redacted.update(admitted.redacted)
        return admitted

    def _at_the_door(self, item: Item) -> Admitted:
        """A line as it may come in.

        Raises:
            SecretRefusedError: the home wants no secrets, and there is one in it.
            InvalidMemoryError, ValueError, RecursionError: it is no memory.
        """
        if item.fields is None:
            raise LineDamage(item.reason)
        if self._home.rules.secrets.on == "refuse":
            kinds = self._guard.fields(item.fields)[1]
            if kinds:
                raise SecretRefusedError(", ".join(sorted(kinds)))
        line = compose(foreign(item.fields, self._home.rules.trust))
        (admitted,) = new_lines(self._home, line, now=self._now)
        return admitted

    def _passed_over(self, item: Item, memory: Memory) -> str:
        """Why it does not come in; "" when it does."""
        if self._erased.bars_import(memory) or self._is_erased(item):
            return "erased"
        theirs = item.fields is not None and self._known.has_line(Memory(item.fields))
        if theirs or self._known.has(memory):
            return "known"
        return "repeat" if self._known.has_come(memory) else ""

    def _is_erased(self, item: Item) -> bool:
        """Whether what was erased is what it said before its secrets were taken out."""
        return item.fields is not None and self._erased.bars_import(Memory(item.fields))

    def _keep_unread(self, item: Item, reason: str) -> None:
        self.tally.skip("unreadable", item.place, reason)
        self._unread.add(without_secrets(self._guard, item.raw), reason)


def without_secrets(guard: Guard, raw: bytes) -> bytes:
    """What is kept unread is kept without its secrets, as far as it is text."""
    text = raw.decode("utf-8", "surrogateescape")
    return guard.text(text)[0].encode("utf-8", "surrogateescape")


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
