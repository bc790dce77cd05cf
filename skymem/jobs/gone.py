"""Does a line go with an erasure, does it stay, or is it said again without it? (row X5)."""

from collections.abc import Callable, Iterable
from typing import Final

from skymem.model.memory import Memory
from skymem.model.plan import Damage, Entry
from skymem.model.spelling import compose
from skymem.policy.erasing import Erased, WithdrawnError, revised
from skymem.stores.erasures import Erasure, ErasureDamagedError, Target
from skymem.stores.tombstones import Marker

NOTHING: Final = b""
REWRITTEN: Final = "rewritten"


class Gone:
    """What goes with one erasure, by its marks."""

    def __init__(self, erasure: Erasure, targets: Iterable[Target], marker: Marker) -> None:
        """Know what goes.

        Raises:
            ErasureDamagedError: its marks were made under another key.
        """
        if erasure.key != marker.check:
            raise ErasureDamagedError(erasure.run, "its marks are under another key: audit/key")
        self._marker = marker
        self.everything = erasure.everything
        self._raws = frozenset(erasure.raws)
        ids: set[str] = set()
        lines: set[str] = set()
        said = {*erasure.said}
        for one in targets:
            if one.why != REWRITTEN:
                ids.add(one.mark.id)
                lines.add(one.mark.line)
                said |= {one.mark.text} - {""} if erasure.copies else set()
        self._ids, self._lines, self._said = ids, lines, said
        bridges = {name: tuple(below) for name, below in erasure.bridges.items()}
        self._erased = Erased(self.has_id, bridges, self._is_said)

    @property
    def has_id(self) -> Callable[[str], bool]:
        """Whether the memory of an id goes."""
        return lambda name: self._marker.of_id(name) in self._ids

    def _is_said(self, text: str) -> bool:
        return self._marker.of_text(text) in self._said

    def has_raw(self, raw: bytes) -> bool:
        """Whether bytes that are no line go."""
        return bool(raw.strip()) and self._marker.of_bytes(raw) in self._raws

    def place_of(self, own: str, memory: Memory, line_digest: bytes) -> bytes | None:
        """What takes the place of a memory's line: nothing, a new line, or None: it stays."""
        if self._marker.of_line(line_digest) in self._lines:
            return NOTHING
        try:
            fields = revised(memory, own, self._erased)
        except WithdrawnError:
            return NOTHING
        return None if fields is None else compose(fields)

    def place_of_item(self, raw: bytes, item: Entry | Damage) -> bytes | None:
        """The same of an entry of a file, given with its bytes."""
        if isinstance(item, Damage):
            return NOTHING if self.has_raw(raw) else None
        return self.place_of(name_of(item), item.memory, item.digest)


def name_of(entry: Entry) -> str:
    """The id of an entry: its own where nobody has named it."""
    return entry.id or entry.memory.source_id or entry.digest.hex()
