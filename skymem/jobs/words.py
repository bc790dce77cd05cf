"""Word indexes are kept up to date by the jobs, so that a reader rarely has to (rows R2, R5).

No job lock is held: what an index lacks is found in the lines, and each batch is whole in itself.
Where nothing is new no index is opened.
"""

import sqlite3
from collections.abc import Sequence
from typing import Final

from skymem.errors import SkymemError
from skymem.jobs.workplace import Workplace
from skymem.stores.catalog import Catalog
from skymem.stores.lifecycle import Lifecycle
from skymem.stores.word_file import WordIndexBusyError, WordIndexError
from skymem.stores.words import WordIndex

JOB: Final = "words"
"""Under which the catalog notes what the word index has come to."""

GONE_MIN: Final = 10_000
"""Numbers of memories that are no more, from which it is worth making an index anew."""


def keep_words(
    work: Workplace, catalog: Catalog, agents: Sequence[str], *, force: bool = False
) -> None:
    """Take what is new to each agent's index; `force` makes them anew. Never fails the job."""
    for agent in agents:
        if work.stop():
            return
        try:
            _keep(work, catalog, agent, force=force)
        except WordIndexBusyError:
            continue  # who writes to it does this
        except (WordIndexError, SkymemError) as error:
            work.degrade(f"word index: {error}")
        except sqlite3.Error as error:
            work.degrade(f"catalog: {error}")


def _keep(work: Workplace, catalog: Catalog, agent: str, *, force: bool) -> None:
    life = Lifecycle(catalog, agent)
    there = work.paths.words_of(agent).exists()
    if catalog.temporary or (there and not force and life.is_searched(JOB)):
        return
    shelf = work.shelf(agent)
    with work.words(agent) as index:
        if force or _mostly_gone(index):
            index.begin_anew()
        if index.catch_up(shelf, catalog, lambda: bool(work.stop())):
            life.note_searched(JOB)


def _mostly_gone(index: WordIndex) -> bool:
    given, there = index.count()
    return given - there > max(GONE_MIN, there)
