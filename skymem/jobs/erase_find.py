"""What an erasure is about: memories that are meant, their copies, what is made of them (row X5).

Two passes over all an agent has, trash and quarantine too. The first finds what is meant, the
second what says the same words; what is made of either is said again without it, or goes as well.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path, PurePath
from typing import Final, NamedTuple

from skymem.jobs.erase_united import UnitedFound
from skymem.jobs.rehearse import open_reading
from skymem.jobs.workplace import Workplace
from skymem.model.identity import digest
from skymem.model.memory import Memory
from skymem.model.plan import Damage, Entry
from skymem.model.strict_json import LineDamage
from skymem.policy.alike import copy_key
from skymem.policy.erasing import Erased, WithdrawnError, revised, statements_of
from skymem.policy.loose import WORDS_MIN, holds, loosened
from skymem.stores.catalog import Catalog
from skymem.stores.erasures import Target
from skymem.stores.lines import TIER_LINE_BYTES_MAX, entries_of, last_newline_end, read_entries
from skymem.stores.shelf import Shelf, open_or_none
from skymem.stores.tiers import tier_files, tier_of
from skymem.stores.tombstones import Mark, Marker
from skymem.stores.trash import Held

SHORT: Final = "short-term"
LONG: Final = "long-term"
ARCHIVES: Final = "archives"
TRASH: Final = "trash"
QUARANTINE: Final = "quarantine"

_PLACES: Final = {"long": LONG, "archive": ARCHIVES}

QUOTED_MAX: Final = 200
"""Of more texts it is not looked who quotes them."""


@dataclass(frozen=True, slots=True)
class Sought:
    """What is to be erased."""

    ids: Collection[str] = ()
    pattern: "re.Pattern[str] | None" = None
    source: str = ""
    """An origin, or what it came from: a document's file, a path or a URL."""

    everything: bool = False
    copies: bool = True
    """Whether other memories that say the very same go as well."""

    made_of: Collection[str] = ()
    """Ids of another agent's memories: what was made of them is meant."""

    def why(self, name: str, memory: Memory) -> str:
        """Why a memory is meant; "" when it is not."""
        if self.everything:
            return "all"
        if name in self.ids:
            return "named"
        if self.pattern is not None and self.pattern.search(memory.searchable):
            return "matched"
        if self.made_of and not {*memory.evidence_ids}.isdisjoint(self.made_of):
            return "made_of"
        return "source" if self.source and _is_from(memory, self.source) else ""


def _is_from(memory: Memory, source: str) -> bool:
    """Whether a memory came from there: by its origin, its evidence, or the file it names."""
    named = [memory.origin, *memory.evidence]
    named += [memory.field(key) for key in ("source", "file", "document", "path")]
    named += [memory.payload.get(key) for key in ("source", "file", "document", "path")]
    texts = [one for one in named if isinstance(one, str)]
    return any(one == source or PurePath(one).name == source for one in texts)


class Piece(NamedTuple):
    """One line, or what is none, as it stands somewhere."""

    place: str
    file: str
    """By name in the agent's directory."""

    raw: bytes
    id: str = ""
    memory: Memory | None = None
    digest: bytes = b""


@dataclass(slots=True)
class Found:
    """What an erasure is about; the texts are for this process only."""

    targets: list[Target] = field(default_factory=list)
    raws: list[str] = field(default_factory=list)
    bridges: dict[str, list[str]] = field(default_factory=dict)
    places: Counter[str] = field(default_factory=Counter)
    """Lines and pieces that go or change, by place."""

    texts: list[str] = field(default_factory=list)
    quoting: list[str] = field(default_factory=list)
    """Ids of memories that stay, and have the words of one that goes among theirs."""

    said: list[str] = field(default_factory=list)
    """Marks of words that records quote, and that match."""

    same: list[str] = field(default_factory=list)
    """Ids of copies that stay, as it was asked."""

    def ids(self, *why: str) -> list[str]:
        """The ids of those that go, or change, for one of these reasons; of all when none."""
        return sorted({one.name for one in self.targets if not why or one.why in why})


def pieces(work: Workplace, shelf: Shelf, catalog: Catalog) -> Iterator[Piece]:
    """Yield everything an agent has, as a job finds it; `catalog` is caught up."""
    yield from _in_short(work, shelf, catalog)
    for name, path in tier_files(shelf.paths):
        for raw, item in lines_of(path):
            yield _piece(_PLACES[tier_of(name)], name, raw, item)
    yield from _in_trash(shelf)
    for index in shelf.quarantine.indexes():
        for _, raw in shelf.quarantine.pieces(index):
            yield Piece(QUARANTINE, f"{shelf.quarantine.directory.name}/{index.stem}.raw", raw)


def _in_trash(shelf: Shelf) -> Iterator[Piece]:
    for path in shelf.trash.names():
        file = f"{shelf.trash.directory.name}/{path.name}"
        for raw, held in shelf.trash.lines(path):
            memory = memory_of(held)
            if memory is None or held is None:
                yield Piece(TRASH, file, raw)
            else:
                yield Piece(TRASH, file, held.line, held.id, memory, digest(memory))


def memory_of(held: Held | None) -> Memory | None:
    """What a line of trash holds; None where it can't be read."""
    try:
        return None if held is None else held.memory
    except LineDamage:
        return None


def _in_short(work: Workplace, shelf: Shelf, catalog: Catalog) -> Iterator[Piece]:
    reading = open_reading(work, shelf, catalog, "erase")
    if work.rehearsing:
        reading.waiting = shelf.drains.tails()
    try:
        for item in reading.entries():
            raw = b""
            if isinstance(item, Damage) and reading.fd is not None and item.end <= reading.size:
                raw = os.pread(reading.fd, item.end - item.start, item.start)
            yield _piece(SHORT, shelf.paths.short_term.name, raw, item)
    finally:
        reading.close()


def _piece(place: str, file: str, raw: bytes, item: Entry | Damage) -> Piece:
    if isinstance(item, Damage):
        return Piece(place, file, raw)
    own = item.id or item.memory.source_id or item.digest.hex()
    return Piece(place, file, raw, own, item.memory, item.digest)


def lines_of(path: Path) -> Iterator[tuple[bytes, Entry | Damage]]:
    """Yield each entry of a file of a tier with its bytes; the last, too, if it lacks its newline.

    Raises:
        DiskError, NotAllowedError: it can't be read.
    """
    fd = open_or_none(path)
    if fd is None:
        return
    try:
        size = os.fstat(fd).st_size
        stop = last_newline_end(fd, size)
        rest = os.pread(fd, size - stop, stop) if size - stop <= TIER_LINE_BYTES_MAX else b""
        ended = read_entries(fd, 0, stop, TIER_LINE_BYTES_MAX)
        for item in chain(ended, entries_of(stop, rest, size) if rest.strip() else ()):
            length = min(item.end - item.start, TIER_LINE_BYTES_MAX)
            yield os.pread(fd, length, item.start), item
    finally:
        os.close(fd)


class _Finder:
    """One search."""

    def __init__(self, sought: Sought, marker: Marker, united: UnitedFound) -> None:
        self._sought = sought
        self._marker = marker
        self._met: dict[tuple[str, bytes], Target] = {}
        self._gone: set[str] = set()
        """The ids of those that go."""

        self._keys: dict[str, str] = {}
        """Texts that go, by what their copies have in common."""

        self._lengths = (0, 0)
        self._long: list[str] = []
        """Those of them that are looked for in others."""

        self._linking: list[Piece] = []
        """What refers to others: few lines do."""

        self._quotes: list[Piece] = []
        """Records that match as they are."""

        self._united = united
        self.found = Found()

    def first(self, piece: Piece) -> None:
        """Take in what is meant, and note what refers to others."""
        memory = piece.memory
        if memory is None:
            return
        said = [str(one.get("text")) for one in statements_of(memory)]
        if memory.evidence_ids or memory.supersedes or said:
            self._linking.append(piece)
            self._united.note(piece.id, memory)
        why = self._sought.why(piece.id, memory)
        if why == "matched" and said:  # it may be what it quotes that matches: that goes
            self._quotes.append(piece)
            self.found.said += map(self._marker.of_text, filter(self._matches, said))
        elif why:
            self._take(piece, why)
            if memory.searchable.strip() and not self._sought.everything:
                self._keys.setdefault(copy_key(memory.searchable), memory.searchable)

    def between(self) -> None:
        """Know which texts go, before the second pass."""
        lengths = [len(text) for text in self._keys.values()]
        self._lengths = (min(lengths) // 2 - 4, max(lengths) * 2 + 4) if lengths else (1, 0)
        self.found.texts = list(self._keys.values())
        bare = [text.strip().rstrip(".。!") for text in self.found.texts]
        self._long = [text for text in bare if len(text) >= WORDS_MIN]

    @property
    def is_about_nothing(self) -> bool:
        """Whether nothing is meant: then no copy can be, nor a piece."""
        sought = self._sought
        return not (self._met or self._quotes or sought.pattern or sought.everything)

    def second(self, piece: Piece) -> None:
        """Take in copies, and what can't be read and has the words."""
        memory = piece.memory
        if memory is None:
            if self._is_of_it(piece.raw):
                self.found.raws.append(self._marker.of_bytes(piece.raw))
                self.found.places[piece.place] += 1
            return
        if (piece.id, piece.digest) in self._met:
            self.found.places[piece.place] += 1
            return
        text = memory.searchable
        low, high = self._lengths
        same = low <= len(text) <= high and copy_key(text) in self._keys
        if same or self._united.goes(piece.id, self._gone):
            if self._sought.copies:
                self._take(piece, "copy")
                self.found.places[piece.place] += 1
                if text not in self.found.texts:
                    self.found.texts.append(text)
            else:
                self.found.same.append(piece.id)
        elif len(self._long) <= QUOTED_MAX and any(one in text for one in self._long):
            self.found.quoting.append(piece.id)

    def _matches(self, text: str) -> bool:
        pattern = self._sought.pattern
        return pattern is not None and bool(pattern.search(text))

    def _is_said(self, text: str) -> bool:
        """Whether words that a record quotes go, whosesoever they are."""
        return self._matches(text) or (self._sought.copies and copy_key(text) in self._keys)

    def _erased(self) -> Erased:
        bridges = {name: tuple(below) for name, below in self.found.bridges.items()}
        return Erased(self._gone.__contains__, bridges, self._is_said)

    def _is_of_it(self, raw: bytes) -> bool:
        """Whether bytes that are no line hold what is to go, as far as that can be told."""
        if not raw.strip():
            return False
        if self._sought.everything:
            return True
        said = loosened(raw)
        if self._matches(said):
            return True
        return any(holds(said, text) for text in self._keys.values())

    def last(self) -> None:
        """Decide about what is made of what goes, until nothing more goes for it."""
        while sum(self._decide(piece) for piece in self._waiting()) or self._match_again():
            continue
        self._bridge()
        erased = self._erased()
        for piece in self._waiting():
            assert piece.memory is not None  # noqa: S101  (only memories refer to others)
            if revised(piece.memory, piece.id, erased) is not None:
                mark = Mark("", self._marker.of_line(piece.digest), "")
                self._put(piece, Target(piece.id, mark, "rewritten", piece.file))
                self.found.places[piece.place] += 1
        self.found.targets = list(self._met.values())
        ours = {one.name for one in self.found.targets}
        self.found.quoting = sorted({*self.found.quoting} - ours)

    def _waiting(self) -> list[Piece]:
        return [one for one in self._linking if (one.id, one.digest) not in self._met]

    def _decide(self, piece: Piece) -> bool:
        """Whether nothing is left of a memory without what goes: then it goes, too."""
        assert piece.memory is not None  # noqa: S101
        try:
            revised(piece.memory, piece.id, self._erased())
        except WithdrawnError:
            self._take(piece, "made_of")
            self.found.places[piece.place] += 1
            return True
        return False

    def _match_again(self) -> bool:
        """Take the records that match still, without what goes; whether there was one."""
        erased, taken = self._erased(), False
        for piece in self._quotes:
            if (piece.id, piece.digest) in self._met or piece.memory is None:
                continue
            fields = revised(piece.memory, piece.id, erased)
            left = piece.memory if fields is None else Memory(fields)
            if self._matches(left.searchable):
                self._take(piece, "matched")
                self.found.places[piece.place] += 1
                taken = True
        return taken

    def _bridge(self) -> None:
        """Note what the erased had superseded and stays: what superseded them has it from now."""
        below = {
            one.id: [name for name in one.memory.supersedes if name != one.id]
            for one in self._linking
            if one.memory is not None and one.id in self._gone
        }
        for name in below:
            ahead, reached = [name], set[str]()
            while ahead:
                for each in below.get(ahead.pop(), ()):
                    if each not in reached:
                        reached.add(each)
                        ahead.append(each)
            if staying := sorted(reached - self._gone):
                self.found.bridges[name] = staying

    def _take(self, piece: Piece, why: str) -> None:
        assert piece.memory is not None  # noqa: S101
        text = piece.memory.searchable
        marker = self._marker
        mark = Mark(
            marker.of_id(piece.id),
            marker.of_line(piece.digest),
            marker.of_text(text) if text.strip() and why != "made_of" else "",
        )
        self._put(piece, Target(piece.id, mark, why, piece.file))
        self._gone.add(piece.id)

    def _put(self, piece: Piece, target: Target) -> None:
        self._met.setdefault((piece.id, piece.digest), target)


def find(work: Workplace, shelf: Shelf, catalog: Catalog, sought: Sought, marker: Marker) -> Found:
    """Find what an erasure is about; changes nothing. `catalog` is caught up.

    Raises:
        DiskError: something can't be read.
        InterruptedRunError: a signal asked to stop.
    """
    finder = _Finder(sought, marker, UnitedFound.of(shelf))

    def go_through(take: Callable[[Piece], None]) -> None:
        for number, piece in enumerate(pieces(work, shelf, catalog)):
            if not number % 10_000:
                work.check_stop()
            take(piece)

    go_through(finder.first)
    if finder.is_about_nothing:
        return finder.found
    finder.between()
    go_through(finder.second)
    finder.last()
    return finder.found
