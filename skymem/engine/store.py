"""One agent's vectors as they are kept: matrix and register together, healed when opened.

Order of a put: rows to the matrix and on disk, then one durable transaction of the register. A kill
between the two leaves rows nobody points to, which the next put overwrites (rows P6, R7).
"""

import contextlib
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from skymem.engine.matrix import Matrix, checksums, file_identity
from skymem.engine.register import Entry, Register, RegisterDamageError
from skymem.engine.room import MIB
from skymem.engine.vectors import Vectors
from skymem.stores.files import Files, disk_errors

HASH_BYTES: Final = 16
UNUSED_ROWS_MIN: Final = 10_000
"""Fewer rows that nobody points to are kept: who needs them again encodes nothing."""

REGISTER: Final = "register.db"
MATRIX: Final = "vectors.f32"
ENTRY_BYTES: Final = 1024
"""Of the register and its journal, a memory: measured 420."""


def text_hash(text: str) -> bytes:
    """What a text is known by; the text itself is kept nowhere."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES).digest()


def set_aside_register(directory: Path, files: Files) -> None:
    """Put a damaged register out of the way; what it pointed to is of no use without it."""
    path = directory / REGISTER
    with disk_errors(path):
        for suffix in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{path}{suffix}")
        with contextlib.suppress(FileNotFoundError):
            os.rename(path, f"{path}.unreadable")
        files.fsync_directory(directory)


class Store:
    """Matrix and register of one agent and one model."""

    def __init__(self, directory: Path, dimension: int, files: Files, threads: int = 1) -> None:
        """Open them, made where they are not there; what is damaged in them is dropped first.

        A scan is shared by `threads`.

        Raises:
            DiskError: the disk refuses.
            RegisterDamageError: damaged in a way that making it anew does not help.
        """
        self.directory = directory
        self.dimension = dimension
        self._files = files
        self._threads = threads
        self.problems: list[str] = []
        """What was found damaged at opening, in words."""

        files.make_directory(directory)
        self.register = self._open_register()
        try:
            self.matrix = self._open_matrix(directory / self._matrix_name())
        except BaseException:
            self.register.close()
            raise
        try:
            self.count = self.register.row_count()
            self._drop_damaged_rows()
            self._remove_other_matrices()
            self._bits = self._load_bits()
            self._identity = file_identity(directory / REGISTER)
        except BaseException:
            self.close()
            raise

    def _open_register(self) -> Register:
        path = self.directory / REGISTER
        try:
            return Register(path, self._files)
        except RegisterDamageError as damage:
            self.problems.append(f"{path} could not be read ({damage}); it was made anew")
            set_aside_register(self.directory, self._files)
            return Register(path, self._files)

    def _open_matrix(self, path: Path) -> Matrix:
        return Matrix(path, self.dimension, self._files, self._threads)

    def _matrix_name(self) -> str:
        return self.register.get("matrix") or MATRIX

    def _drop_damaged_rows(self) -> None:
        registered = self.register.checks()
        on_disk = min(self.count, self.matrix.on_disk)
        sums = self.matrix.checksums(on_disk)
        rows = np.array([row for row, _ in registered], np.int64)
        expected = np.array([check for _, check in registered], np.uint64)
        whole = rows < on_disk
        whole[whole] = sums[rows[whole]] == expected[whole]
        lost = [int(row) for row in rows[~whole]]
        if lost:
            name = self.matrix.path.name
            self.problems.append(f"{len(lost)} of {len(rows)} vectors in {name} were damaged")
            self.register.lose_rows(lost)
            self.count = self.register.row_count()

    def _remove_other_matrices(self) -> None:
        with disk_errors(self.directory):
            for name in os.listdir(self.directory):
                if name.startswith("vectors") and name != self.matrix.path.name:
                    os.unlink(self.directory / name)

    def _load_bits(self) -> NDArray[np.uint8]:
        bits = np.zeros(max(1024, self.count), np.uint8)
        query = "SELECT DISTINCT row, collection FROM pieces JOIN items USING (item)"
        found = np.array(self.register.ask(query), np.int64).reshape(-1, 2)
        for code in (1, 2):
            bits[found[found[:, 1] == code, 0]] |= np.uint8(code)
        return bits

    @property
    def size(self) -> int:
        """Vectors in the largest file: rows here, or pieces in Chroma, where texts repeat."""
        return max(self.count, self.register.pieces_count())

    def is_there(self) -> bool:
        """Whether the files that are open are still those on the disk."""
        try:
            return (
                file_identity(self.directory / REGISTER) == self._identity
                and file_identity(self.matrix.path) == self.matrix.identity
                and self.matrix.on_disk >= self.count
            )
        except FileNotFoundError:
            return False

    def close(self) -> None:
        """Let the files go."""
        self.register.close()
        self.matrix.close()

    # -- writing --------------------------------------------------------------------------------

    def bytes_of(self, new_rows: int, entries: int) -> int:
        """What a put of so much writes, at most."""
        return new_rows * self.matrix.stride + (entries + new_rows) * ENTRY_BYTES

    def put(
        self,
        encoded: Mapping[bytes, Vectors],
        entries: Sequence[tuple[str, str, Sequence[bytes]]],
        code: int,
    ) -> None:
        """Keep new vectors, and register memories (id, digest, hashes of their pieces).

        Raises:
            DiskError: no room; everything is as before.
        """
        rows = self.register.rows_of([one for _, _, hashes in entries for one in hashes])
        new = [one for one in encoded if one not in rows]
        if new:
            vectors = np.stack([encoded[one] for one in new]).astype(np.float32, copy=False)
            self.matrix.write(self.count, vectors)
            rows.update(zip(new, range(self.count, self.count + len(new)), strict=True))
        with self.register.writing():
            if new:
                checks = checksums(vectors).tolist()
                self.register.add_rows(self.count, new, checks)
            self.register.put(
                [
                    Entry(memory_id, code, digest, [rows[one] for one in hashes])
                    for memory_id, digest, hashes in entries
                ]
            )
        self.count += len(new)
        self._mark([rows[one] for _, _, hashes in entries for one in hashes], code)

    def drop(self, ids: Sequence[str]) -> int:
        """Forget memories; their vectors stay in the cache until they are compacted away."""
        with self.register.writing():
            return self.register.remove(ids)

    def _mark(self, rows: Sequence[int], code: int) -> None:
        if self.count > len(self._bits):
            grown = np.zeros(max(self.count, 2 * len(self._bits)), np.uint8)
            grown[: len(self._bits)] = self._bits
            self._bits = grown
        self._bits[list(rows)] |= np.uint8(code)

    # -- reading --------------------------------------------------------------------------------

    def vectors(self, rows: Sequence[int] | NDArray[np.int64]) -> Vectors:
        """The vectors of some rows, copied."""
        return self.matrix.rows(self.count)[np.asarray(rows, np.int64)]

    def scan(self, queries: Vectors, mask: int, limit: int) -> NDArray[np.int64]:
        """The rows nearest to any of `queries`, among those some memory of `mask` points to.

        A row may have lost its memory since: who ranks them asks the register.
        """
        used = np.flatnonzero(self._bits[: self.count] & np.uint8(mask))
        return self.matrix.nearest(self.count, queries, used, limit)

    def used(self, mask: int) -> int:
        """How many rows a scan for `mask` can find, at most."""
        return int(np.count_nonzero(self._bits[: self.count] & np.uint8(mask)))

    def picked(self, size: int) -> list[tuple[int, int]]:
        """Up to `size` rows picked by chance of what Chroma has, each with its collection's code.

        A row that belongs to both is in the list for one of them.
        """
        query = (
            "SELECT row, collection FROM pieces JOIN items USING (item) "
            "WHERE row >= ? AND stored ORDER BY row LIMIT 1"
        )
        if self.count <= size:
            starts = list(range(self.count))
        else:
            starts = [secrets.randbelow(self.count) for _ in range(size)]
        return sorted({row for start in starts for row in self.register.ask(query, (start,))})

    # -- compaction -----------------------------------------------------------------------------

    def wants_compaction(self) -> bool:
        """Whether more rows are unused than a cache is worth."""
        if self.count <= UNUSED_ROWS_MIN:
            return False
        return self.register.unused_count() > max(UNUSED_ROWS_MIN, self.count // 2)

    def compact(self) -> None:
        """Go over to a new matrix without the rows nobody points to; a kill leaves the old one.

        Raises:
            DiskError: no room; everything is as before.
        """
        kept = self.register.used_rows()
        _, _, number = self.matrix.path.stem.partition("-")
        path = self.directory / f"vectors-{int(number or 1) + 1}.f32"
        self._files.replace(path, self._kept_blocks(kept))
        fresh = self._open_matrix(path)
        try:
            self.register.renumber(kept, path.name)
        except BaseException:
            fresh.close()
            raise
        self.matrix.close()
        self.matrix = fresh
        self.count = len(kept)
        self._bits = self._load_bits()
        self._remove_other_matrices()

    def purge(self) -> None:
        """Keep no row that nobody points to, nor what damage and kills have left beside (row X5).

        Raises:
            DiskError: no room; everything is as before.
        """
        with disk_errors(self.directory):
            for suffix in ("", "-wal", "-shm"):
                (self.directory / f"{REGISTER}.unreadable{suffix}").unlink(missing_ok=True)
        self._files.remove_left(self.directory)
        self.compact()
        self.register.shred()

    def _kept_blocks(self, kept: Sequence[int]) -> Iterator[bytes]:
        step = max(1, MIB // self.matrix.stride)
        for start in range(0, len(kept), step):
            yield self.vectors(kept[start : start + step]).tobytes()
        self.matrix.release(self.count)
