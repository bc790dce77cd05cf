"""How the catalog forgets files that are gone or were rewritten: those, and not all there is.

A memory is kept once, wherever its lines stand. So what a file had to itself goes with it; where
one that goes shares a memory with one that stays, the caller has to read all of them again.
"""

import sqlite3
from collections.abc import Sequence

_SHARED = """
SELECT 1 FROM repeats AS stays WHERE agent = :agent AND file NOT IN ({gone}) AND (
    EXISTS (SELECT 1 FROM memories WHERE memories.agent = stays.agent
            AND memories.id = stays.id AND memories.file IN ({gone}))
    OR EXISTS (SELECT 1 FROM repeats AS goes WHERE goes.agent = stays.agent
               AND goes.id = stays.id AND goes.file IN ({gone})))
LIMIT 1
"""

_OF_FILES = ("memories", "repeats", "links", "files")
_OF_ALL = (*_OF_FILES, "short_indexed", "twice")


def forget_files(database: sqlite3.Connection, agent: str, files: Sequence[int]) -> bool:
    """Forget files of an agent, inside a transaction; costs what they had.

    False, and all of the agent's files are forgotten, where one of these has a line of a memory
    that another one has as well: which of them the catalog knew it by can't be undone.
    """
    gone = ",".join(map(str, files))  # numbers of ours
    shared = database.execute(_SHARED.format(gone=gone), {"agent": agent}).fetchone()
    if shared is not None:
        for table in _OF_ALL:
            database.execute(f"DELETE FROM {table} WHERE agent = ?", (agent,))  # noqa: S608  (ours)
        return False
    for table in _OF_FILES:
        database.execute(
            f"DELETE FROM {table} WHERE agent = ? AND file IN ({gone})",  # noqa: S608  (as above)
            (agent,),
        )
    database.execute("DELETE FROM short_indexed WHERE agent = ?", (agent,))
    return True
