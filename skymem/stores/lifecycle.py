"""What the catalog knows of the life of memories: which expire, which are old, what refers to what.

Each question costs what it finds and not what is stored, so that a run with nothing to do is as
cheap at a million memories as at a thousand (design §7).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from skymem.model.kinds import KINDS, Kinds
from skymem.model.plan import Stored
from skymem.stores.aspects import REMOVED
from skymem.stores.catalog import LOOKUP_IDS, Catalog

# The planner, which has no statistics, would read the whole table: each question names its index.
_STORED: Final = (
    "SELECT id, tier, name, start, end, time_us, importance, kind "
    "FROM memories {} CROSS JOIN files USING (file) "
    "WHERE memories.agent = ? AND tier IN ('long', 'archive') AND {}"
)
_LASTING: Final = (
    "SELECT id FROM memories CROSS JOIN files USING (file) "
    "WHERE memories.agent = ? AND tier IN ('long', 'archive') "
    "AND (expires_us IS NULL OR expires_us > ?) AND id IN ({})"
)
_OF_FILE: Final = (
    "SELECT id, tier, name, start, end, time_us, importance, kind "
    "FROM files CROSS JOIN memories INDEXED BY memories_by_place USING (file) "
    "WHERE files.agent = ? AND name = ? AND tier IN ('long', 'archive') ORDER BY start"
)
# Each the next after one: the planner would walk through all there are to find the different ones.
_WORTHS: Final = """
SELECT importance FROM memories INDEXED BY memories_by_worth
WHERE agent = ? AND importance IS NOT NULL AND importance > ? ORDER BY importance LIMIT 1
"""
_KINDS: Final = """
SELECT kind FROM memories INDEXED BY memories_unweighed
WHERE agent = ? AND importance IS NULL AND kind > ? ORDER BY kind LIMIT 1
"""
_BY_KIND: Final = "kind = ? AND kind <> ''"

RECORD: Final = "record:"
"""Before the `record_type` of a structured record, where the catalog keeps a kind."""


DIFFERENT_MAX: Final = 1000
"""Worths, or kinds, that are asked for one by one: some microseconds each."""


class Reference(NamedTuple):
    """One memory refers to another."""

    source: str
    target: str
    time_us: int | None
    """When the one that refers happened."""


class Lifecycle:
    """The long-term and archives of one agent, as the caught-up catalog knows them."""

    def __init__(self, catalog: Catalog, agent: str, kinds: Kinds = KINDS) -> None:
        """Look at `catalog`; a memory without importance is worth what `kinds` says of its kind."""
        self._database = catalog.database
        self._agent = agent
        self._kinds = kinds

    def expired(self, now_us: int) -> list[Stored]:
        """Those whose time to live is over."""
        return self._select("INDEXED BY memories_by_expiry", "expires_us <= ?", now_us)

    def lasting(self, ids: Sequence[str], moment_us: int) -> set[str]:
        """Which of these ids are of a memory whose time to live goes on at a moment, or is none."""
        found: set[str] = set()
        for first in range(0, len(ids), LOOKUP_IDS):
            batch = ids[first : first + LOOKUP_IDS]
            query = _LASTING.format(",".join("?" * len(batch)))
            rows = self._database.execute(query, (self._agent, moment_us, *batch))
            found.update(name for (name,) in rows)
        return found

    def old(self, before_us: int, importance_below: float) -> list[Stored]:
        """Those that happened before a time and are worth less than a number.

        Worths are few, as a rule, and each has its memories by time: what is worth more is not
        looked at, however old. Where nearly each memory has a worth of its own, the old are.
        """
        worths = self._different(_WORTHS, float("-inf"))
        kinds = self._different(_KINDS, "")
        if worths is None or kinds is None:
            worthless = "time_us < ? AND (importance IS NULL OR importance < ?)"
            values = (before_us, importance_below)
            found = self._select("INDEXED BY memories_by_time", worthless, *values)
            return [one for one in found if one.importance < importance_below]
        index, where = "INDEXED BY memories_by_worth", "importance = ? AND time_us < ?"
        found = [
            one
            for worth in worths
            if worth < importance_below
            for one in self._select(index, where, worth, before_us)
        ]
        index = "INDEXED BY memories_unweighed"
        where = "importance IS NULL AND kind = ? AND time_us < ?"
        for kind in ("", *kinds):
            if self._kinds.of(kind or None).importance < importance_below:
                found += self._select(index, where, kind, before_us)
        return found

    def _different(self, query: str, after: Any) -> list[Any] | None:
        """The different answers, in order, from one to the next; None where they are too many."""
        found: list[Any] = []
        while row := self._database.execute(query, (self._agent, after)).fetchone():
            after = row[0]
            found.append(after)
            if len(found) > DIFFERENT_MAX:
                return None
        return found

    def unlimited(self, before_us: int) -> list[Stored]:
        """Volatile ones without a time to live that happened before a time (row N8)."""
        index = "INDEXED BY memories_unlimited"
        return self._select(index, "unlimited = 1 AND time_us < ?", before_us)

    def pinned(self) -> list[str]:
        """Ids of those whose own line says that they are pinned."""
        query = (
            "SELECT id FROM memories INDEXED BY memories_pinned CROSS JOIN files USING (file) "
            "WHERE memories.agent = ? AND pinned = 1 AND tier IN ('long', 'archive') ORDER BY id"
        )
        return [row[0] for row in self._database.execute(query, (self._agent,))]

    def named(self, ids: Iterable[str]) -> list[Stored]:
        """Those with these ids."""
        return [one for name in ids for one in self._select("NOT INDEXED", "id = ?", name)]

    def in_file(self, name: str) -> list[Stored]:
        """Those of one file, in its order."""
        rows = self._database.execute(_OF_FILE, (self._agent, name))
        return [self._stored(row) for row in rows]

    def of_kinds(self, kinds: Iterable[str]) -> list[Stored]:
        """Those of these kinds."""
        index = "INDEXED BY memories_by_kind"
        return [one for kind in kinds for one in self._select(index, _BY_KIND, kind)]

    def beginnings(self, kind: str, letters: int) -> dict[str, int]:
        """How many of a kind have an id that begins so, by its first letters."""
        query = (
            "SELECT substr(id, 1, ?), COUNT(*) FROM memories INDEXED BY memories_by_kind "
            "CROSS JOIN files USING (file) WHERE memories.agent = ? AND kind = ? AND kind <> '' "
            "AND tier IN ('long', 'archive') GROUP BY 1"
        )
        return dict(self._database.execute(query, (letters, self._agent, kind)).fetchall())

    def same_words(self, words: bytes) -> list[Stored]:
        """Those that say the same but for case and punctuation."""
        return self._select("INDEXED BY memories_by_words", "words = ?", words)

    def repeated(self) -> list[Stored]:
        """Those of long-term whose words stand there more than once."""
        rows = self._database.execute(
            "SELECT words FROM twice WHERE agent = ? ORDER BY words", (self._agent,)
        ).fetchall()
        found: list[Stored] = []
        for (words,) in rows:
            same = [one for one in self.same_words(words) if one.tier == "long"]
            found += same if len(same) > 1 else []
        return found

    def is_searched(self, job: str) -> bool:
        """Whether a job has been through all of it, as it is, and found nothing."""
        row = self._database.execute(
            "SELECT files FROM searched WHERE agent = ? AND job = ?", (self._agent, job)
        ).fetchone()
        return row is not None and row[0] == self.state()

    def note_searched(self, job: str) -> None:
        """Note that a job has been through all of it, as it is, and found nothing."""
        if not self.is_searched(job):
            self._database.execute(
                "INSERT OR REPLACE INTO searched VALUES (?, ?, ?)",
                (self._agent, job, self.state()),
            )

    def fresh(self, job: str, under: str, end: int, limit: int) -> list[Stored]:
        """Those of long-term before a place that a job has not been through, in file order.

        Args:
            job: which.
            under: the rules it goes by: by others it has been through nothing.
            end: a place in long-term.
            limit: how many, at most.
        """
        file, inode, begins = self._gone_through(job, under)
        if not inode:
            return []
        where = "memories.file = ? AND start >= ? AND start < ? ORDER BY start LIMIT ?"
        return self._select("INDEXED BY memories_by_place", where, file, begins, end, limit)

    def is_fresh(self, job: str, under: str, name: str) -> bool:
        """Whether a memory of long-term is one that a job has not been through."""
        file, _, begins = self._gone_through(job, under)
        query = "SELECT file, start FROM memories WHERE agent = ? AND id = ?"
        row = self._database.execute(query, (self._agent, name)).fetchone()
        return row is not None and row[0] == file and row[1] >= begins

    def note_gone_through(self, job: str, under: str, end: int) -> None:
        """Note that a job has been through long-term up to a place, by rules it names."""
        _, inode, _ = self._gone_through(job, under)
        self._database.execute(
            "INSERT OR REPLACE INTO searched VALUES (?, ?, ?)",
            (self._agent, job, f"{inode} {end} {under}"),
        )

    def waiting(self, job: str) -> frozenset[str]:
        """Those that a job passed over for a reason that passes."""
        query = "SELECT id FROM waiting WHERE agent = ? AND job = ?"
        return frozenset(row[0] for row in self._database.execute(query, (self._agent, job)))

    def set_waiting(self, job: str, names: frozenset[str]) -> None:
        """Note all that a job passed over for a reason that passes."""
        known = self.waiting(job)
        for name in sorted(known - names):
            self._database.execute(
                "DELETE FROM waiting WHERE agent = ? AND job = ? AND id = ?",
                (self._agent, job, name),
            )
        for name in sorted(names - known):
            self._database.execute(
                "INSERT OR REPLACE INTO waiting VALUES (?, ?, ?)", (self._agent, job, name)
            )

    def _gone_through(self, job: str, under: str) -> tuple[int, int, int]:
        """Long-term's file and inode, 0 where there is none, and how far a job has been."""
        row = self._database.execute(
            "SELECT file, inode FROM files WHERE agent = ? AND tier = 'long'", (self._agent,)
        ).fetchone()
        if row is None:
            return 0, 0, 0
        noted = self._database.execute(
            "SELECT files FROM searched WHERE agent = ? AND job = ?", (self._agent, job)
        ).fetchone()
        inode, _, rest = str(noted[0]).partition(" ") if noted else ("", "", "")
        end, _, rules = rest.partition(" ")
        is_same = (inode, rules) == (str(row[1]), under)
        return int(row[0]), int(row[1]), int(end) if is_same else 0

    def state(self) -> str:
        """What tells the tiers as they are from what they were or will be."""
        rows = self._database.execute(
            "SELECT name, inode, read_to, mtime_ns FROM files WHERE agent = ? ORDER BY name",
            (self._agent,),
        )
        return repr(rows.fetchall())

    def count(self, tier: str) -> int:
        """How many memories a tier has."""
        query = "SELECT COALESCE(SUM(memories), 0) FROM files WHERE agent = ? AND tier = ?"
        return int(self._database.execute(query, (self._agent, tier)).fetchone()[0])

    def before(self, file: str, start: int) -> str | None:
        """The id of the memory that stands before a place in a file."""
        row = self._database.execute(
            "SELECT id FROM files CROSS JOIN memories INDEXED BY memories_by_place USING (file) "
            "WHERE files.agent = ? AND name = ? AND start < ? ORDER BY start DESC LIMIT 1",
            (self._agent, file, start),
        ).fetchone()
        return None if row is None else str(row[0])

    def end_of(self, file: str, name: str) -> int | None:
        """Where a memory ends in a file; None when it is not in it."""
        row = self._database.execute(
            "SELECT end FROM memories CROSS JOIN files USING (file) "
            "WHERE memories.agent = ? AND id = ? AND name = ?",
            (self._agent, name, file),
        ).fetchone()
        return None if row is None else int(row[0])

    def newest_us(self, file: str) -> int | None:
        """When the newest memory of a file happened."""
        row = self._database.execute(
            "SELECT newest_us FROM files WHERE agent = ? AND name = ?", (self._agent, file)
        ).fetchone()
        return None if row is None or row[0] is None else int(row[0])

    def references(self, relation: str) -> Iterator[Reference]:
        """Every reference of this sort that a memory of long-term or an archive has."""
        query = (
            "SELECT source, target, time_us FROM links "
            "JOIN memories ON memories.agent = links.agent AND memories.id = links.source "
            "WHERE links.agent = ? AND relation = ?"
        )
        for row in self._database.execute(query, (self._agent, relation)):
            yield Reference(*row)

    def removed(self) -> dict[str, list[str]]:
        """What each memory in trash supersedes, where it supersedes any."""
        query = "SELECT source, target FROM links WHERE agent = ? AND relation = ?"
        found: dict[str, list[str]] = {}
        for source, target in self._database.execute(query, (self._agent, REMOVED)):
            found.setdefault(source, []).append(target)
        return found

    def newest_first(self, since_us: int | None) -> Iterator[str]:
        """Ids of memories since a time, newest first; None: all, those without a time last."""
        late, values = ("", ()) if since_us is None else ("AND time_us >= ? ", (since_us,))
        query = (
            "SELECT id FROM memories INDEXED BY memories_by_time "  # noqa: S608  (two constants)
            "CROSS JOIN files USING (file) WHERE memories.agent = ? "
            f"AND tier IN ('long', 'archive') {late}ORDER BY time_us DESC, id"
        )
        for (name,) in self._database.execute(query, (self._agent, *values)):
            yield name

    def _select(self, index: str, condition: str, *values: Any) -> list[Stored]:
        rows = self._database.execute(_STORED.format(index, condition), (self._agent, *values))
        return [self._stored(row) for row in rows]

    def _stored(self, row: Sequence[Any]) -> Stored:
        name, tier, file, start, end, time_us, importance, kind = row
        worth = self._kinds.of(kind or None).importance if importance is None else importance
        return Stored(name, tier, file, start, end, time_us, worth)
