"""What became of one memory: what the ledger tells of it, beside where the files have it (row X6).

The ledger tells where a memory went. Of a run that was cut short it can't tell how far that came:
there the memory may be where it was as well, and the files say which.
"""

from collections.abc import Collection, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

TIERS: Final = ("short", "long", "archive", "trash")
GONE: Final = ("compacted", "edited outside", "erased")
"""States in which no file has a memory any more, and none should."""

STATES: Final = (*TIERS, *GONE, "lost", "doubled")
"""Everything that can have become of a memory; the last two must not."""

NEVER_MADE: Final = "never made"
"""What a run that was cut short had announced to make, and may not have come to write."""

_NO_TIER: Final = frozenset((*GONE, NEVER_MADE))
_BROUGHT_BACK: Final = frozenset(("short", "long", "archive"))

_BEFORE: Final = MappingProxyType({"came": frozenset[str](), "made": frozenset((NEVER_MADE,))})
"""Where a memory was before the first that is told of it; else it was put into a tier by hand."""

_WHERE: Final = MappingProxyType({"made": frozenset(("long",)), "back": _BROUGHT_BACK})


class Told(NamedTuple):
    """One thing the ledger tells of a memory."""

    id: str
    what: str
    """Where it went (one of `TIERS` or `GONE`), or `came`, `made`, `back` or `moved`."""

    run: str
    print: bytes | None
    """Of `moved`: the fingerprint of its line at the new place, under the home's key."""


class Place(NamedTuple):
    """One line of an agent's files."""

    id: str
    place: str
    """The tier."""

    file: str
    start: int
    end: int
    print: bytes
    """Fingerprint of its bytes under the home's key."""

    digest: bytes


class Fate(NamedTuple):
    """What became of a memory."""

    id: str
    state: str
    """One of `STATES`; "" when it never came to be."""

    files: Sequence[str]
    """Which have it; short-term is left out where another tier has it: the next job drops that."""

    says: frozenset[str]
    """Where it is by the ledger; nowhere when that never heard of it."""

    run: str
    """Which brought it there, by the ledger."""

    elsewhere: bool
    """Whether it is in another tier than the ledger says, and nothing there explains it."""

    changed: bool
    """Whether its line is not what was put there."""


class Record:
    """What the ledger tells of one memory, taken in entry by entry."""

    def __init__(self, recovered: Collection[str]) -> None:
        """Start with nothing; `recovered` are the runs that were cut short."""
        self._recovered = recovered
        self._was = self._where = frozenset[str]()
        self._known = self._made = self._marked = False
        self._run = ""
        self._print: bytes | None = None

    def take(self, told: Told) -> None:
        """Take in what is told next."""
        if told.what == "moved":
            self._print, self._marked = told.print, True
            return
        if not self._known:
            self._known = True
            self._where = _BEFORE.get(told.what, frozenset(TIERS))
        self._made = self._made or told.what == "made"
        if told.what == "came":
            self._came()
        elif told.what == "compacted" and (there := self._says() - {*_NO_TIER, "trash"}):
            self._goes(there, told.run)  # what was written again since is there
        else:
            self._goes(_WHERE.get(told.what, frozenset((told.what,))), told.run)

    def _came(self) -> None:
        """A line of short-term: of a memory that another tier has, it is a repeat.

        Of one that lies in trash it is none: it was written again.
        """
        says = self._says()
        if not says - _NO_TIER:
            self._goes(frozenset(("short",)), "")
        elif says & {*_NO_TIER, "trash"}:
            self._goes(says | {"short"}, "")

    def _goes(self, where: frozenset[str], run: str) -> None:
        if not run or run != self._run:
            self._was, self._print, self._marked = self._says(), self._known_print(), False
        self._where, self._run = where, run

    def _says(self) -> frozenset[str]:
        return self._was | self._where if self._run in self._recovered else self._where

    def _known_print(self) -> bytes | None:
        """The fingerprint it has now: a run that was cut short did not come to tell it."""
        return None if self._run in self._recovered and not self._marked else self._print

    def fate(self, name: str, places: Sequence[Place]) -> Fate:
        """Hold it against the lines that are there."""
        says = self._says()
        living = [place for place in places if place.place != "trash"]
        last = [place for place in places if place.file == places[-1].file]
        places = living or last  # what was removed twice is in two files of trash
        apart = [place for place in places if place.place != "short"]
        files = [place.file for place in apart or places[:1]]
        there = {"edited outside", *(place.place for place in places)}
        elsewhere = bool(places and says) and len(apart) < 2 and not says & there
        changed = any(self._changed(place) for place in apart)
        state = _state(places, apart, says)
        return Fate(name, state, files, says, self._run, elsewhere, changed)

    def _changed(self, place: Place) -> bool:
        known = self._known_print()
        if known is not None:
            return known != place.print
        return self._made and not place.id.endswith(place.digest.hex())


def _state(places: Sequence[Place], apart: Sequence[Place], says: frozenset[str]) -> str:
    if places:
        return "doubled" if len(apart) > 1 else (*apart, *places)[0].place
    if not says or NEVER_MADE in says:
        return ""
    return next((one for one in GONE if one in says), "lost")
