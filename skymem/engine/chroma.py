"""Chroma: the one module that speaks to it, for one generation of an agent's index.

It is imported when first needed (0.7 s) and never asked to embed, to phone home, or to serve
(hazards D8, D15, D16). Its own word counts for nothing: what it refuses is damage or a full disk,
and what it answers is compared with the matrix by who asks.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from skymem.engine.items import COLLECTIONS
from skymem.engine.room import is_full
from skymem.engine.vectors import IndexDamageError, Piece, Vectors
from skymem.errors import DiskError

if TYPE_CHECKING:
    from chromadb.api.client import Client
    from chromadb.api.collection_configuration import CreateCollectionConfiguration
    from chromadb.api.models.Collection import Collection

BATCH_MAX: Final = 1000
"""Rows in one call; Chroma itself takes 5,461 at most (hazard D9)."""

SPACE: Final = "cosine"
CONFIGURATION: Final["CreateCollectionConfiguration"] = {
    "hnsw": {
        "space": SPACE,
        # Of 1,000 vectors among 100,000 random ones, one does not find itself at 200; text is
        # kinder, and a text's own row is a candidate by its hash.
        "ef_search": 200,
        "ef_construction": 200,
        "max_neighbors": 16,
        "sync_threshold": 1000,  # at 40, two of 25 kills ruined the store
    }
}

APART: Final = 0.02
"""By how much equal vectors are kept apart: their cosine is 0.9996 then, 0.9998 with their own."""

_FULL: Final = ("No space left", "database or disk is full", "os error 28", "(code: 13)")
"""How a full disk sounds through Rust and SQLite; where it sounds otherwise, the disk is asked."""


def chroma_version() -> str:
    """The installed version, without the cost of importing it."""
    return metadata.version("chromadb")


class ChromaIndex:
    """One generation: a Chroma path with two collections. A `VectorIndex`."""

    def __init__(self, path: Path, agent: str) -> None:
        """Open the generation at `path`, its collections made where they are not there.

        Raises:
            IndexDamageError: it can't be opened.
            DiskError: the disk is full.
        """
        self.path = path
        with _translated(path):
            self._client = _open(path)
            try:
                self._collections: dict[str, Collection] = {
                    name: self._client.get_or_create_collection(
                        f"{agent}_{name}", embedding_function=None, configuration=CONFIGURATION
                    )
                    for name in COLLECTIONS
                }
                self.batch = min(self._client.get_max_batch_size(), BATCH_MAX)
            except BaseException:
                self._client.close()
                raise

    def upsert(self, collection: str, pieces: Sequence[Piece], vectors: Vectors) -> None:
        """Put pieces in, in the place of those of the same name."""
        with _translated(self.path):
            vectors = apart(pieces, vectors)
            for start in range(0, len(pieces), self.batch):
                part = pieces[start : start + self.batch]
                self._collections[collection].upsert(
                    ids=[piece.name for piece in part],
                    embeddings=vectors[start : start + self.batch],
                    metadatas=[{"d": piece.digest} for piece in part],
                )

    def delete(self, collection: str, names: Sequence[str]) -> None:
        """Take pieces out; unknown names are passed over."""
        with _translated(self.path):
            for start in range(0, len(names), self.batch):
                self._collections[collection].delete(ids=list(names[start : start + self.batch]))

    def nearest(self, collection: str, vectors: Vectors, limit: int) -> list[str]:
        """Names of the pieces nearest to each of `vectors`, roughly, best first."""
        with _translated(self.path):
            found = self._collections[collection].query(
                query_embeddings=np.atleast_2d(vectors), n_results=limit, include=[]
            )
            return [name for names in found["ids"] for name in names]

    def closest(self, collection: str, vectors: Vectors) -> list[float]:
        """The cosine of each of `vectors` to the piece nearest to it, -1.0 where there is none."""
        with _translated(self.path):
            found = self._collections[collection].query(
                query_embeddings=np.atleast_2d(vectors), n_results=1, include=["distances"]
            )
            return [1.0 - far[0] if far else -1.0 for far in found["distances"] or []]

    def count(self, collection: str) -> int:
        """How many pieces it says it holds: read from its SQLite file, so no proof of vectors."""
        with _translated(self.path):
            return self._collections[collection].count()

    def names(self, collection: str, offset: int, limit: int) -> list[str]:
        """Names of the pieces it holds, a page of them."""
        with _translated(self.path):
            found = self._collections[collection].get(
                limit=min(limit, self.batch), offset=offset, include=[]
            )
            return list(found["ids"])

    def vectors(self, collection: str, names: Sequence[str]) -> list[tuple[str, Vectors]]:
        """Pieces with the vectors it holds of them: for the probe, which has no matrix."""
        with _translated(self.path):
            found = self._collections[collection].get(ids=list(names), include=["embeddings"])
            held = found["embeddings"]
            if held is None:
                raise IndexDamageError("it has no vectors")
            return list(zip(found["ids"], held, strict=True))

    def close(self) -> None:
        """Let its files go."""
        self._collections = {}
        with _translated(self.path):
            self._client.close()


def apart(pieces: Sequence[Piece], vectors: Vectors) -> Vectors:
    """Move each vector a little to a side of its own; who asks compares with the matrix anyway.

    Of a hundred equal vectors HNSW links each to others of them alone, so that nothing else is
    found any more: one line that an agent repeats would be damage that no rebuild mends.
    """
    moved = np.array(vectors, np.float32)
    for number, piece in enumerate(pieces):
        key = blake2b(piece.name.encode(), digest_size=8).digest()
        chance = np.random.Generator(np.random.SFC64(int.from_bytes(key, "big")))
        side = chance.standard_normal(moved.shape[1], np.float32)
        moved[number] += APART * side / np.linalg.norm(side)
    return moved


def _open(path: Path) -> "Client":
    os.environ["ANONYMIZED_TELEMETRY"] = "False"
    import chromadb
    from chromadb.config import Settings

    made = chromadb.PersistentClient(str(path), settings=Settings(anonymized_telemetry=False))
    return cast("Client", made)  # which says that it is a ClientAPI, and that has no close


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Tell a full disk and damage apart; whatever else Chroma says is damage.

    A panic of its Rust half derives from BaseException, so that a handler of Exception misses it.
    """
    mask = os.umask(_mask(path))
    try:
        yield
    except BaseException as error:
        if isinstance(error, DiskError | IndexDamageError | MemoryError | ImportError):
            raise
        if _says_full(error) or is_full(path):
            raise DiskError(str(path), "no space left on the disk") from error
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise IndexDamageError(f"{type(error).__name__}: {error}"[:500]) from error
        raise
    finally:
        os.umask(mask)


def _mask(path: Path) -> int:
    """Keep vectors to those the home is for: they can be turned back into words (promise 9)."""
    try:
        shared = os.stat(path).st_mode & stat.S_IRWXG == stat.S_IRWXG
    except OSError:
        shared = False
    return 0o007 if shared else 0o077


def _says_full(error: BaseException) -> bool:
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return True
    return any(sign in str(error) for sign in _FULL)
