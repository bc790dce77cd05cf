"""The matrix: every vector ever encoded for an agent, in one file of float32 rows (row R7).

Rows are written where the register's last row ends, so that what a kill left behind is overwritten
and never shifts what comes after. A row's checksum is in the register and compared when the matrix
is opened: a row cut off, zeroed or swapped is found before it is searched.
"""

import contextlib
import mmap
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from skymem.engine.coarse import BLOCK_ROWS, Coarse
from skymem.engine.room import open_kept
from skymem.engine.vectors import Vectors
from skymem.errors import EngineUnavailableError
from skymem.stores.files import Files, disk_errors

BLOCK_BYTES: Final = 4 * 1024 * 1024
"""Read at once in a scan: little enough to stay in the processor's cache, enough to be quick."""

SHARE_BYTES: Final = 8 * 1024 * 1024
"""Of a scan, what is worth a thread: less takes half a millisecond."""

COMPARED_SHARE_MAX: Final = 0.1
"""Of all rows, those that are compared one by one; with more, all of them in a row are quicker."""

GATHERED_ROWS: Final = 256
"""Of these, so many are copied at once: little enough to be the same piece of memory each time."""

NORM_TOLERANCE: Final = 1e-3
RESIDENT_BYTES_MAX: Final = 192 * 1024 * 1024
"""Mapped pages that may stay in memory after a scan; beyond, they are given back.

They are the file's own, which the kernel may take at any time; to map 100,000 vectors anew took
7 ms of each query."""


class Matrix:
    """Rows of `dimension` numbers in one file. One process writes it."""

    def __init__(self, path: Path, dimension: int, files: Files, threads: int = 1) -> None:
        """Open `path`, made empty where it is not there; `threads` share a scan.

        Raises:
            DiskError: the disk refuses.
        """
        self.path = path
        self.dimension = dimension
        self.stride = 4 * dimension
        self._files = files
        self._view: Vectors = np.empty((0, dimension), np.float32)
        self._map: mmap.mmap | None = None
        self._threads = threads
        self._coarse: Coarse | None = None
        with disk_errors(path):
            known = path.exists()
            self._fd = open_kept(path, files)
            if not known:
                files.fsync_directory(path.parent)
            self.identity = file_identity(self._fd)

    @property
    def on_disk(self) -> int:
        """Whole rows the file has room for."""
        return os.fstat(self._fd).st_size // self.stride

    def write(self, start: int, vectors: Vectors) -> None:
        """Put `vectors` at row `start`; on disk when it returns.

        Raises:
            DiskError: no room; rows before `start` read as before.
            EngineUnavailableError: the vectors are no unit vectors: the model is broken.
        """
        check_vectors(vectors, self.dimension)
        with disk_errors(self.path):
            view = memoryview(np.ascontiguousarray(vectors, np.float32).data).cast("B")
            offset = start * self.stride
            if self._coarse is not None:
                self._coarse.forget(start)
            while view:
                written = os.pwrite(self._fd, view, offset)
                offset += written
                view = view[written:]
            self._files.fsync(self._fd)

    def rows(self, count: int) -> Vectors:
        """The first `count` rows, mapped from the file, not to be written to."""
        if len(self._view) < count:
            with disk_errors(self.path):
                size = os.fstat(self._fd).st_size // self.stride * self.stride
                self._map = mmap.mmap(self._fd, size, prot=mmap.PROT_READ)
            self._view = np.frombuffer(self._map, np.float32).reshape(-1, self.dimension)
        return self._view[:count]

    def blocks(self, count: int) -> Iterator[tuple[int, Vectors]]:
        """The first `count` rows in blocks, each with where it starts; given back afterwards."""
        rows = self.rows(count)
        step = max(1, BLOCK_BYTES // self.stride)
        for start in range(0, count, step):
            yield start, rows[start : start + step]
        self.release(count)

    def products(self, count: int, queries: Vectors) -> Vectors:
        """Of each of the first `count` rows, the product with the nearest of `queries`."""
        rows = self.rows(count)
        found = np.empty(count, np.float32)
        shares = max(1, min(self._threads, count * self.stride // SHARE_BYTES))
        bounds = [count * share // shares for share in range(shares + 1)]
        with ThreadPoolExecutor(shares, "engine-scan") as pool:
            others = [
                pool.submit(_multiply, rows[start:end], queries, found[start:end])
                for start, end in pairwise(bounds[1:])
            ]
            _multiply(rows[: bounds[1]], queries, found[: bounds[1]])
            for one in others:
                one.result()
        self.release(count)
        return found

    def coarsen(self, count: int) -> bool:
        """Make some more of the first `count` rows quick to look through; False at their end."""
        if self._coarse is None:
            if count < BLOCK_ROWS:
                return False
            self._coarse = _coarse(self.dimension)
        if self._coarse is None or count - self._coarse.count < BLOCK_ROWS:
            return False
        start = self._coarse.count
        self._coarse.take(self.rows(count)[start : start + BLOCK_ROWS])
        if self._map is not None:  # most of it is not read again
            self._map.madvise(mmap.MADV_DONTNEED)
        return True

    def nearest(
        self, count: int, queries: Vectors, among: NDArray[np.intp], limit: int
    ) -> NDArray[np.intp]:
        """Of some of the first `count` rows, the `limit` nearest to any of `queries`."""
        if len(among) <= limit:
            return among
        coarse = self._coarse
        if coarse is not None and coarse.count <= count:
            scores = np.empty(count, np.float32)
            off = coarse.scores(queries, scores)
            _multiply(self.rows(count)[coarse.count :], queries, scores[coarse.count :])
            about = scores[among]
            least = np.partition(about, -limit)[-limit] - 2 * off
            possible = among[about >= least]
            if len(possible) <= COMPARED_SHARE_MAX * count:
                among = possible
                products = np.empty(len(among), np.float32)
                rows = self.rows(count)
                for start in range(0, len(among), GATHERED_ROWS):
                    some = slice(start, start + GATHERED_ROWS)
                    _multiply(rows[among[some]], queries, products[some])
                return among[np.argpartition(products, -limit)[-limit:]]
        products = self.products(count, queries)[among]
        return among[np.argpartition(products, -limit)[-limit:]]

    def release(self, count: int) -> None:
        """Give pages back to the kernel, which keeps them cached, so that memory stays flat."""
        if self._map is not None and count * self.stride > RESIDENT_BYTES_MAX:
            self._map.madvise(mmap.MADV_DONTNEED)

    def checksums(self, count: int) -> NDArray[np.uint64]:
        """A checksum of each of the first `count` rows."""
        found = [checksums(block) for _, block in self.blocks(count)]
        return np.concatenate(found) if found else np.empty(0, np.uint64)

    def close(self) -> None:
        """Let the file go; the map goes with the last array that looks into it."""
        self._view = np.empty((0, self.dimension), np.float32)
        self._map = None
        self._coarse = None
        os.close(self._fd)


def _coarse(dimension: int) -> Coarse | None:
    from skymem.engine.onnx import byte_product

    with contextlib.suppress(EngineUnavailableError):
        return Coarse(byte_product(dimension))
    return None


def _multiply(rows: Vectors, queries: Vectors, found: Vectors) -> None:
    """Put into `found` what each row's product with the nearest of `queries` is."""
    step = max(1, BLOCK_BYTES // (rows.itemsize * rows.shape[1]))
    for start in range(0, len(rows), step):
        block, place = rows[start : start + step], found[start : start + step]
        if len(queries) == 1:
            np.dot(block, queries[0], out=place)
        else:
            np.matmul(block, queries.T).max(axis=1, out=place)


def file_identity(file: int | Path) -> tuple[int, int]:
    """Device and inode: the same while the file was not taken away or replaced."""
    status = os.stat(file)
    return status.st_dev, status.st_ino


def check_vectors(vectors: Vectors, dimension: int) -> None:
    """Refuse anything but rows of finite numbers of length 1.

    Raises:
        EngineUnavailableError: the model gave something else.
    """
    if vectors.ndim != 2 or vectors.shape[1] != dimension:
        raise EngineUnavailableError(f"the model gave vectors of shape {vectors.shape}")
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    if not bool(np.all(np.abs(norms - 1) <= NORM_TOLERANCE)):  # NaN fails it too
        raise EngineUnavailableError("the model gave vectors that are not of length 1")


def checksums(vectors: Vectors) -> NDArray[np.uint64]:
    """A checksum of each row: of its bits, weighted by their place, below 2^63 for SQLite."""
    bits = np.ascontiguousarray(vectors, np.float32).view(np.uint32)
    weights = np.arange(1, bits.shape[1] + 1, dtype=np.uint32) * np.uint32(2654435761) | np.uint32(
        1
    )
    return np.asarray((bits * weights).sum(axis=1, dtype=np.uint64))
