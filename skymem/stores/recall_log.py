"""Which memories are recalled most: a bounded count of ids, for canaries and for prune (row X4).

Small, derived from use, and never in the way of an answer: a count that can't be written is lost.
Switched off by `recall_log: false`.
"""

from collections.abc import Iterable
from typing import Final

from skymem.stores.counts import read_counts, write_counts
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.status import read_json

RECALLED: Final = "recalled"

IDS_MAX: Final = 1_000
"""Ids that are counted; beyond it those recalled least, and longest ago, give way."""

MOST: Final = 20
"""Of them, how many count as recalled most."""

TIMES_LEAST: Final = 2
"""Recalled once may be chance."""


def note_recalled(
    paths: HomePaths, files: Files, agent: str, ids: Iterable[str], times: int = 1
) -> None:
    """Count an answer. Two at once may lose one of both: it is a count, not a record.

    What stood in a context counts 0 `times`: nobody asked for it, but it may be said again.
    """
    path = paths.recalled(agent)
    counts = read_counts(path, RECALLED)
    for name in ids:
        counts[name] = counts.pop(name, 0) + times  # the last is the newest
    while len(counts) > IDS_MAX:
        del counts[min(counts, key=lambda name: counts[name])]
    write_counts(path, files, RECALLED, counts)


def most_recalled(paths: HomePaths, agent: str) -> frozenset[str]:
    """The ids recalled most, at most `MOST`."""
    counts = read_counts(paths.recalled(agent), RECALLED)
    often = [name for name, times in counts.items() if times >= TIMES_LEAST]
    return frozenset(sorted(often, key=lambda name: (-counts[name], name))[:MOST])


def recalled_ids(paths: HomePaths, agent: str) -> frozenset[str]:
    """Every id that is counted."""
    return frozenset(read_counts(paths.recalled(agent), RECALLED))


def damage(paths: HomePaths, agent: str) -> str:
    """Why the count can't be believed, or "" when it can."""
    path = paths.recalled(agent)
    if not path.exists() or isinstance((read_json(path) or {}).get(RECALLED), dict):
        return ""
    return (
        f"state/recalled/{path.name} can't be read: which memories are recalled most is not known "
        "(the next recall counts anew)"
    )
