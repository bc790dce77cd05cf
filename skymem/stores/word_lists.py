"""Segments of a word index and their lists in its file: written, put together, read."""

import os
from typing import Final, NamedTuple

from skymem.stores.word_file import WordFile
from skymem.stores.word_segments import Rows, Segment, put_together

MERGED: Final = 16
"""Segments of about one size that become one."""

LISTS_AT_ONCE: Final = 250
"""Of each segment that is merged: a million memories are put together in little room."""

_POSTING: Final = "INSERT INTO postings VALUES (?, ?, ?)"
_COLUMNS: Final = "SELECT times, worths, sizes, flags FROM segments {} ORDER BY first"


class Columns(NamedTuple):
    """What weighs each memory of a segment, as bytes of `word_segments.Segment`'s arrays."""

    times: bytes
    worths: bytes
    sizes: bytes
    flags: bytes


EMPTY: Final = Columns(b"", b"", b"", b"")


class WordLists(WordFile):
    """The segments of one word index."""

    def _next(self) -> int:
        (found,) = self._run("SELECT MAX(first + docs) FROM segments")[0]
        return found or 0

    def _write(self, segment: Segment) -> None:
        run = self._next_run()
        columns = (segment.times, segment.worths, segment.sizes, segment.flags)
        self._insert(
            (segment.first, len(segment.times), run), Columns(*(one.tobytes() for one in columns))
        )
        self._run_each(_POSTING, ((run, *each) for each in segment.postings()))
        self._run_each("INSERT OR IGNORE INTO stems VALUES (?, ?)", segment.stems())
        self._merge()

    def _next_run(self) -> int:
        """A number no segment's postings were ever kept under while these are."""
        (found,) = self._run("SELECT MAX(run) FROM segments")[0]
        return (found or 0) + 1

    def _insert(self, place: tuple[int, int, int], columns: Columns) -> None:
        row = (*place, new_state(), *columns)
        self._run("INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def _merge(self) -> None:
        """Put the last segments together as long as there are several of about one size."""
        while True:
            query = "SELECT first, docs, run FROM segments ORDER BY first DESC LIMIT ?"
            last = self._run(query, (MERGED,))[::-1]
            if len(last) < MERGED or last[0][1] > MERGED * last[-1][1]:
                return
            first, run = last[0][0], self._next_run()
            query = _COLUMNS.format("WHERE first >= ?")
            columns = zip(*self._run(query, (first,)), strict=True)
            whole = Columns(*(b"".join(parts) for parts in columns))
            self._run("DELETE FROM segments WHERE first >= ?", (first,))
            self._insert((first, sum(docs for _, docs, _ in last), run), whole)
            parts = [self._postings_of(each) for _, _, each in last]
            self._run_each(_POSTING, ((run, *each) for each in put_together(parts)))
            self._run_each("DELETE FROM postings WHERE run = ?", ((each,) for _, _, each in last))

    def _postings_of(self, run: int) -> Rows:
        """Gives the lists of a segment, the next few at each call, in the order of their keys."""
        query = "SELECT key, docs FROM postings WHERE run = ? AND key > ? ORDER BY key LIMIT ?"
        after = b""

        def some() -> list[tuple[bytes, bytes]]:
            nonlocal after
            rows = self._run(query, (run, after, LISTS_AT_ONCE))
            after = rows[-1][0] if rows else after
            return rows

        return some

    def state(self) -> tuple[int, ...]:
        """Names what `columns` says now; nothing else has that name."""
        return tuple(state for (state,) in self._run("SELECT state FROM segments ORDER BY first"))

    def columns(self) -> Columns:
        """What weighs each memory, by its number."""
        query = _COLUMNS.format("")
        found = self._run(query)
        return Columns(*(b"".join(parts) for parts in zip(*found, strict=True))) if found else EMPTY

    def postings(self, key: bytes) -> bytes:
        """The numbers of memories with a word or a label, ascending: unsigned, 32 bits each."""
        query = (
            "SELECT postings.docs FROM segments CROSS JOIN postings USING (run) "
            "WHERE key = ? ORDER BY first"
        )
        return b"".join(docs for (docs,) in self._run(query, (key,)))


def new_state() -> int:
    """A number that no state of a segment ever had."""
    return int.from_bytes(os.urandom(7))
