"""How far the vector index has come with each file of the tiers; derived, kept in the catalog.

A cursor holds within one epoch of the index: when that was made anew, or lost something, it has
another epoch and everything is asked about again (design §5, row P11). And it holds for the lines
it was told of: where the catalog read them anew meanwhile, it does not move.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from skymem.stores.catalog import Catalog
from skymem.stores.home import HomePaths
from skymem.stores.status import read_json
from skymem.stores.vectorless import LetGo, vectorless

TIERS: Final = ("long", "archive")

_AT: Final = "CASE WHEN epoch = ? THEN indexed_to ELSE 0 END"
_INDEXED: Final = "CASE WHEN epoch = ? THEN indexed ELSE 0 END"


class Place(NamedTuple):
    """Where a memory lies that the index may not have."""

    id: str
    digest: str
    start: int
    end: int


class Piece(NamedTuple):
    """A run of memories of one file, beyond its cursor."""

    file: int
    name: str
    begins: int
    """Where the cursor stood, or stands once the piece before is passed."""

    places: list[Place]
    reaches: int
    """The cursor once all of them are indexed."""


class IndexCursors:
    """The cursors of one agent, in one epoch of its index."""

    def __init__(self, catalog: Catalog, agent: str, epoch: str) -> None:
        """Look at `catalog`, caught up; an empty `epoch` is that of an index that isn't there."""
        self._catalog = catalog
        self._agent = agent
        self._epoch = epoch

    @property
    def epoch(self) -> str:
        """The epoch the cursors are about."""
        return self._epoch

    def owed(self, tier: str) -> int:
        """How many memories of a tier are beyond the cursors; costs the same, however many.

        Of long-term and archives, those that should have a vector.
        """
        query = (
            f"SELECT name, memories - {_INDEXED}, {_AT} FROM files "  # noqa: S608  (constants)
            "WHERE agent = ? AND tier = ? AND (epoch <> ? OR indexed_to < read_to)"
        )
        values = (self._epoch, self._epoch, self._agent, tier, self._epoch)
        rows = self._catalog.database.execute(query, values).fetchall()
        beyond: int = sum(max(0, left) for _, left, _ in rows)
        if beyond and tier in TIERS:
            beyond -= self._vectorless({name: at for name, _, at in rows})
        return beyond + (self._coming_back() if tier == "long" else 0)

    def _coming_back(self) -> int:
        """How many of long-term the index had let go and should have again."""
        noted = LetGo(self._catalog, self._agent, self._epoch)
        if not noted.is_owed():
            return 0
        back = self._catalog.find(self._agent, noted.back(noted.look())).values()
        cursors = {one.file: self.reaches(one.file) for one in back if one.tier == "long"}
        return sum(one.tier == "long" and one.start < cursors[one.file] for one in back)

    def _vectorless(self, cursors: Mapping[str, int]) -> int:
        """How many memories that should have no vector are beyond the cursors of these files."""
        names = sorted(vectorless(self._catalog, self._agent))
        found = self._catalog.find(self._agent, names).values()
        return sum(one.file in cursors and one.start >= cursors[one.file] for one in found)

    def pieces(self, tier: str, limit: int) -> Iterator[Piece]:
        """Yield what is beyond the cursors, at most `limit` at a time; each is to be passed."""
        query = (
            f"SELECT file, name, read_to, {_AT} FROM files "  # noqa: S608  (a constant)
            "WHERE agent = ? AND tier = ? AND (epoch <> ? OR indexed_to < read_to) ORDER BY name"
        )
        found = self._catalog.database.execute(
            query, (self._epoch, self._agent, tier, self._epoch)
        ).fetchall()
        for file, name, read_to, start in found:
            at = start
            while at < read_to:
                places = self._places(file, at, limit)
                begins, at = at, places[-1].end if len(places) == limit else read_to
                yield Piece(file, name, begins, places, at)

    def _places(self, file: int, at: int, limit: int) -> list[Place]:
        query = (
            "SELECT id, digest, start, end FROM memories "
            "WHERE file = ? AND start >= ? ORDER BY start LIMIT ?"
        )
        rows = self._catalog.database.execute(query, (file, at, limit))
        return [Place(name, digest.hex(), start, end) for name, digest, start, end in rows]

    def passed(self, piece: Piece, reaches: int | None = None) -> bool:
        """Record that all of a piece, or of it what ends by `reaches`, is in the index.

        False, and nothing is recorded, where other lines are there by now: another process saw that
        the file was rewritten, and the catalog may know it, or another one, by the same number.
        """
        reaches = piece.reaches if reaches is None else reaches
        database = self._catalog.database
        database.execute("BEGIN IMMEDIATE")
        try:
            same = self._still_says(piece, reaches)
            if same:
                self._advance(piece.file, reaches)
        except BaseException:
            if database.in_transaction:
                database.execute("ROLLBACK")
            raise
        database.execute("COMMIT")
        return same

    def _advance(self, file: int, reaches: int) -> None:
        """Move a file's cursor on, and count what it passes; backwards it does not move."""
        database = self._catalog.database
        query = f"SELECT {_AT} FROM files WHERE file = ?"  # noqa: S608  (a constant)
        at = database.execute(query, (self._epoch, file)).fetchone()[0]
        database.execute(
            f"UPDATE files SET indexed = {_INDEXED} + (SELECT COUNT(*) FROM memories "  # noqa: S608
            "WHERE memories.file = files.file AND start >= ? AND start < ?), "
            "epoch = ?, indexed_to = ? WHERE file = ? AND (epoch <> ? OR indexed_to < ?)",
            (self._epoch, at, reaches, self._epoch, reaches, file, self._epoch, reaches),
        )

    def _still_says(self, piece: Piece, reaches: int) -> bool:
        """Whether the lines up to `reaches` are those the piece was made of, and those before."""
        query = f"SELECT {_AT} FROM files WHERE file = ? AND agent = ? AND name = ?"  # noqa: S608
        found = self._catalog.database.execute(
            query, (self._epoch, piece.file, self._agent, piece.name)
        ).fetchone()
        if found is None or found[0] < piece.begins:
            return False
        wanted = [place for place in piece.places if place.end <= reaches]
        now = self._places(piece.file, piece.begins, len(wanted) + 1)
        return [place for place in now if place.end <= reaches] == wanted

    def begin_again(self) -> None:
        """Forget how far the index has come: everything is asked about again."""
        self._catalog.database.execute(
            "UPDATE files SET epoch = '', indexed_to = 0, indexed = 0 WHERE agent = ?",
            (self._agent,),
        )

    def reaches(self, name: str) -> int:
        """Up to where a file is in the index."""
        query = f"SELECT {_AT} FROM files WHERE agent = ? AND name = ?"  # noqa: S608  (a constant)
        found = self._catalog.database.execute(query, (self._epoch, self._agent, name)).fetchone()
        return int(found[0]) if found is not None and self._epoch else 0

    def ids(self, tier: str) -> Iterator[str]:
        """Yield the ids of all the memories of a tier."""
        query = (
            "SELECT id FROM memories JOIN files USING (file) "
            "WHERE files.agent = ? AND files.tier = ?"
        )
        for row in self._catalog.database.execute(query, (self._agent, tier)):
            yield row[0]

    def short_known(self, known: bytes) -> bool:
        """Whether short-term, as hashed in `known`, is indexed whole."""
        query = "SELECT epoch, known FROM short_indexed WHERE agent = ?"
        row = self._catalog.database.execute(query, (self._agent,)).fetchone()
        return row is not None and (row[0], bytes(row[1])) == (self._epoch, known)

    def short_passed(self, known: bytes) -> None:
        """Record that short-term, as hashed in `known`, is in the index."""
        self._catalog.database.execute(
            "INSERT OR REPLACE INTO short_indexed VALUES (?, ?, ?)",
            (self._agent, self._epoch, known),
        )


def places_of(
    catalog: Catalog, agent: str, names: Sequence[str]
) -> dict[tuple[str, str], list[Place]]:
    """Where memories of long-term and archives lie, by tier and file; in no order."""
    found: dict[tuple[str, str], list[Place]] = {}
    for name, one in catalog.find(agent, names).items():
        if one.tier in TIERS:
            place = Place(name, one.digest.hex(), one.start, one.end)
            found.setdefault((one.tier, one.file), []).append(place)
    return found


def index_epoch(paths: HomePaths, agent: str) -> str:
    """The epoch of an agent's index, as the engine wrote it beside it; "" where there is none."""
    found = read_json(paths.chroma_store / agent / "current.json") or {}
    epoch = found.get("epoch")
    return epoch if isinstance(epoch, str) else ""


def rag_pending(paths: HomePaths, catalog: Catalog, agent: str) -> int:
    """How many long-term memories the vector index does not have yet (row P11)."""
    return IndexCursors(catalog, agent, index_epoch(paths, agent)).owed("long")
