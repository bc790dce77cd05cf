"""Which id a line of short-term has, and which tier has its memory already (design §3, "Ids").

A writer's own id holds while it is unique in the agent: who has it in another tier has it for good,
else the first one here. A line whose name is taken by other content gets one derived from what it
says; where even that is taken, by a line that was edited by hand, the next one derived from it.
The name of what was erased is taken for good, and the very line is known as erased (row X5).
"""

from collections.abc import Iterator, Sequence
from typing import Final

from skymem.model.identity import DIGEST_BYTES, derived_id
from skymem.model.plan import Entry
from skymem.model.regex import regex
from skymem.stores.catalog import Catalog, Found

ERASED: Final = "erased"
"""Where a line's memory is that was erased: nowhere, and it does not come back."""

_LOOKS_DERIVED: Final = regex(rf"[0-9a-f]{{{2 * DIGEST_BYTES}}}")


class Naming:
    """Names the lines of one pass over short-term, in order."""

    def __init__(self, agent: str, catalog: Catalog) -> None:
        """Use `catalog`, caught up, to tell what other tiers have."""
        self._agent = agent
        self._catalog = catalog
        self._erased = catalog.erased(agent)
        self._claims: dict[str, bytes] = {}
        """Writers' own ids met so far, and the digest of whose they are."""

        self._derived: set[bytes] | None = None
        self.digests = bytearray()
        """Of every line named so far, in order."""

        self.named: dict[str, str] = {}
        """Ids that are not the digest's own: from the digest's hex to the id."""

    def name(self, entries: Sequence[Entry]) -> None:
        """Give each entry its id, its place among the lines, and where its memory is already."""
        own = [entry.memory.source_id for entry in entries]
        first = [name or entry.digest.hex() for name, entry in zip(own, entries, strict=True)]
        found = self._catalog.find(self._agent, first)
        line = len(self.digests) // DIGEST_BYTES
        for entry, claim, name in zip(entries, own, first, strict=True):
            if claim is None and name not in found and not self._claims and not self._erased:
                entry.id = name  # nearly every line: nobody else could have its name
            else:
                self._settle(entry, found)
            entry.line = line
            line += 1
            self.digests += entry.digest
            if self._derived is not None:
                self._derived.add(entry.digest)

    def _settle(self, entry: Entry, found: dict[str, Found]) -> None:
        if self._erased.has_line(entry.digest):
            self._give(entry, next(_names(entry)), ERASED)
            return
        for name in _names(entry):
            if self._erased.has_id(name):
                continue
            there = found.get(name)
            if there is None and name not in found and entry.id:  # a later name: not looked up yet
                there = self._catalog.find(self._agent, [name]).get(name)
            entry.id = name
            if there is not None and there.digest != entry.digest:
                continue
            if self._is_claimed(name, entry):
                continue
            # What lies in trash has come again: whoever writes it means it.
            tier = "" if there is None or there.tier == "trash" else there.tier
            self._give(entry, name, tier)
            return

    def _give(self, entry: Entry, name: str, elsewhere: str) -> None:
        entry.id, entry.elsewhere = name, elsewhere
        if name != entry.digest.hex():
            self.named[entry.digest.hex()] = name

    def _is_claimed(self, name: str, entry: Entry) -> bool:
        """Whether a line before this one has the name for other content; else claim it."""
        if name == entry.memory.source_id:
            if _LOOKS_DERIVED.fullmatch(name) and self._is_derived_here(name, entry.digest):
                return True
            return self._claims.setdefault(name, entry.digest) != entry.digest
        return self._claims.get(name, entry.digest) != entry.digest

    def _is_derived_here(self, name: str, own: bytes) -> bool:
        """Whether an earlier line's derived id is this name; asked for writers of like ids only."""
        if self._derived is None:
            whole = bytes(self.digests)
            starts = range(0, len(whole), DIGEST_BYTES)
            self._derived = {whole[at : at + DIGEST_BYTES] for at in starts}
        wanted = bytes.fromhex(name)
        return wanted != own and wanted in self._derived


def _names(entry: Entry) -> Iterator[str]:
    """The names a line may have, best first."""
    own = entry.memory.source_id
    if own is not None:
        yield own
    attempt = 0
    while True:
        yield derived_id(entry.digest, attempt)
        attempt += 1
