"""Which memories are recalled most: a bounded count of ids, for canaries (row X4).

Small, derived from use, and never in the way of an answer: a count that can't be written is lost.
Switched off by `recall_log: false`.
"""

import contextlib
import json
import os
from collections.abc import Iterable
from typing import Any, Final

from skymem.errors import SkymemError
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.status import read_json

IDS_MAX: Final = 1_000
"""Ids that are counted; beyond it those recalled least, and longest ago, give way."""

MOST: Final = 20
"""Of them, how many count as recalled most."""

TIMES_LEAST: Final = 2
"""Recalled once may be chance."""


def note_recalled(paths: HomePaths, files: Files, agent: str, ids: Iterable[str]) -> None:
    """Count an answer. Two at once may lose one of both: it is a count, not a record."""
    path = paths.recalled(agent)
    counts = _counts(read_json(path))
    for name in ids:
        counts[name] = counts.pop(name, 0) + 1  # the last is the newest
    while len(counts) > IDS_MAX:
        del counts[min(counts, key=lambda name: counts[name])]
    with contextlib.suppress(SkymemError, OSError):
        files.make_directory(path.parent)
        for leftover in path.parent.glob(f".{path.name}.*.new"):
            if not os.path.exists(f"/proc/{leftover.name.split('.')[-2]}"):
                leftover.unlink()  # its process was killed between writing and renaming it
        temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
        with open(temporary, "w", opener=_private) as stream:
            stream.write(json.dumps({"recalled": counts}))  # at once: json.dump takes 10 ms
        os.replace(temporary, path)  # not synced: losing it in a power cut costs nothing


def most_recalled(paths: HomePaths, agent: str) -> frozenset[str]:
    """The ids recalled most, at most `MOST`."""
    counts = _counts(read_json(paths.recalled(agent)))
    often = [name for name, times in counts.items() if times >= TIMES_LEAST]
    return frozenset(sorted(often, key=lambda name: (-counts[name], name))[:MOST])


def damage(paths: HomePaths, agent: str) -> str:
    """Why the count can't be believed, or "" when it can."""
    path = paths.recalled(agent)
    if not path.exists() or isinstance((read_json(path) or {}).get("recalled"), dict):
        return ""
    return (
        f"state/recalled/{path.name} can't be read: which memories are recalled most is not known "
        "(the next recall counts anew)"
    )


def _counts(document: dict[str, Any] | None) -> dict[str, int]:
    found = (document or {}).get("recalled")
    if not isinstance(found, dict):
        return {}
    return {str(name): times for name, times in found.items() if type(times) is int}


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
