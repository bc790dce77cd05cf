"""Reading on in the ledger as it grows, without ever reading much of it."""

from typing import Any, Final

from skymem.stores.ledger import Ledger

BYTES_MAX: Final = 256 * 1024
"""What is read of a ledger at once: of more only the end, some two thousand decisions."""


class LedgerTail:
    """The last entries, and then what is appended, each once."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._place: int | None = None

    def fresh(self) -> tuple[list[dict[str, Any]], bool]:
        """Read the entries that came since the last call, oldest first; at first the newest.

        Returns:
            The entries, and whether there are more before them that were not read.

        Raises:
            DiskError: the ledger can't be read.
        """
        size = self._ledger.size()
        if self._place is None or self._place > size:  # at first, or another ledger lies there
            self._place = 0
        start = max(self._place, size - BYTES_MAX)
        left_out, self._place = start > self._place, start
        found = []
        # From the middle of a line on: what is left of that one is no entry, and passed over.
        for end, entry in self._ledger.read_from(start):
            self._place = end
            found.append(entry)
        return found, left_out
