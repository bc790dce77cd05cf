"""A home's own files that work stops on, or knows less by, when they are damaged: a look at each.

Cheap, as the status is: small files are read whole, of the others it is seen what they are and how
they end. What stands in the lines of the tiers is told by `stores.damages`.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from skymem.app import Home
from skymem.daemon import pauses, runs
from skymem.errors import SkymemError
from skymem.stores import (
    clock_record,
    ledger_head,
    model_record,
    recall_log,
    violations,
    word_file,
)
from skymem.stores.catalog_file import catalog_path
from skymem.stores.files import disk_errors
from skymem.stores.home import AgentPaths, HomePaths
from skymem.stores.home_format import read_format
from skymem.stores.home_key import HomeKey, is_lost, key_path
from skymem.stores.protection import read_protection

TIER_NAMES: Final = ("long_term.jsonl", "short_term_archive_*.jsonl", "trash/[!.]*.jsonl")
"""Short-term is looked at where its lines are counted."""


class Finding(NamedTuple):
    """What is wrong with a file, and how to go on."""

    problem: bool
    """Whether a verb stops on it, or something is lost; else it is made anew by itself."""

    text: str


class _Look(NamedTuple):
    """A file, and what to ask about it where it is a regular file or isn't there."""

    path: Path
    damage: Callable[[], str] = lambda: ""
    made_anew: bool = False


def look_at_files(home: Home, agents: Sequence[str]) -> Iterator[Finding]:
    """Look at the files of the home, and at those of these agents."""
    whose = [home.workplace().agent_paths(agent) for agent in agents]
    looks = [*_of_home(home)]
    for own in whose:
        looks += _of_agent(home, own)
    places = [*home.paths.own, home.paths.words, *(one for own in whose for one in own.directories)]
    for place in places:
        if os.path.lexists(place) and not os.path.isdir(place):
            yield Finding(problem=True, text=f"{place} is no directory; move away what is there")
    for look in looks:
        try:
            if damage := _damage(look):
                yield Finding(problem=not look.made_anew, text=damage)
        except SkymemError as error:
            yield Finding(problem=True, text=str(error))


def _damage(look: _Look) -> str:
    """What is wrong with a file; one that a verb stops on raises.

    Raises:
        SkymemError: it is none, or can't be read.
    """
    # These tell no lie, and raise nothing, of what may not be looked into.
    if os.path.islink(look.path) or (os.path.exists(look.path) and not os.path.isfile(look.path)):
        raise SkymemError(f"{look.path} is no regular file; put one there")
    with disk_errors(look.path):
        return look.damage()


def _of_home(home: Home) -> Iterator[_Look]:
    paths, status = home.paths, home.status_files()
    yield _Look(paths.format, partial(_format, paths))
    yield _Look(key_path(paths), partial(_key, home))
    yield _Look(home.workplace().ledger().path, partial(_ledger, home))
    yield _Look(ledger_head.head_path(paths), partial(ledger_head.damage, paths), made_anew=True)
    yield _Look(paths.model_record, partial(model_record.damage, paths))
    yield _Look(paths.clock, partial(clock_record.damage, paths), made_anew=True)
    yield _Look(pauses.paused_path(paths), partial(pauses.damage, paths))
    yield _Look(violations.violations_path(paths), partial(violations.damage, paths))
    yield _Look(runs.runs_path(paths), partial(runs.damage, paths), made_anew=True)
    for path in (catalog_path(paths), status.last_action, status.actions, status.heartbeat):
        yield _Look(path)


def _of_agent(home: Home, own: AgentPaths) -> Iterator[_Look]:
    yield _Look(own.protected, partial(_protected, own.protected))
    recalled = partial(recall_log.damage, home.paths, own.name)
    yield _Look(home.paths.recalled(own.name), recalled, made_anew=True)
    words = home.paths.words_of(own.name)
    yield _Look(words, partial(word_file.damage, words), made_anew=True)
    for pattern in TIER_NAMES:
        yield from map(_Look, sorted(own.directory.glob(pattern)))


def _format(paths: HomePaths) -> str:
    read_format(paths)
    return ""


def _key(home: Home) -> str:
    HomeKey.of(home.paths, home.files, make=False)
    if not is_lost(home.paths, home.workplace().ledger()):
        return ""
    return (
        f"{key_path(home.paths)} is missing, and hashes in the ledger can't be checked without it; "
        "put it back from a backup (else the next run makes a new one)"
    )


def _ledger(home: Home) -> str:
    wrong = home.workplace().ledger().looks_wrong()
    return wrong and (
        f"audit/ledger.jsonl is not as it was written: {wrong}; skymem audit verify reads it "
        "whole; put it back from a backup, or to live with what is left: "
        "rm state/ledger_head.json"
    )


def _protected(path: Path) -> str:
    read_protection(path)
    return ""
