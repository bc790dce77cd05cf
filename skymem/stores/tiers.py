"""The files of an agent's tiers, by their names."""

import os
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Final

from skymem.stores.home import AgentPaths

ARCHIVES: Final = "short_term_archive_"
_NAME: Final = attrgetter("name")


def tier_files(agent: AgentPaths) -> Iterator[tuple[str, Path]]:
    """The agent's long-term file and its archives, by name."""
    for name in tier_names(agent):
        yield name, agent.directory / name


def tier_names(agent: AgentPaths) -> list[str]:
    """The names alone, in their order."""
    return sorted(one.name for one in _regular(agent.directory, _is_tier))


def tier_states(agent: AgentPaths) -> dict[str, os.stat_result]:
    """By name what the disk says of each: years of archives are looked at often, so at once."""
    return _states(_regular(agent.directory, _is_tier))


def trash_files(agent: AgentPaths) -> Iterator[tuple[str, Path]]:
    """The agent's trash, by names relative to its directory."""
    for name in sorted(one.name for one in _regular(agent.trash, _is_trash)):
        yield f"{agent.trash.name}/{name}", agent.trash / name


def trash_states(agent: AgentPaths) -> dict[str, os.stat_result]:
    """By such a name what the disk says of each."""
    found = _states(_regular(agent.trash, _is_trash))
    return {f"{agent.trash.name}/{name}": status for name, status in found.items()}


def _is_tier(name: str) -> bool:
    return (name.startswith(ARCHIVES) and name.endswith(".jsonl")) or name == "long_term.jsonl"


def _is_trash(name: str) -> bool:
    return name.endswith(".jsonl") and not name.startswith(".")


def _regular(directory: Path, wanted: Callable[[str], bool]) -> list["os.DirEntry[str]"]:
    """Files that are no links, in no order."""
    try:
        with os.scandir(directory) as found:
            return [one for one in found if wanted(one.name) and one.is_file(follow_symlinks=False)]
    except FileNotFoundError:
        return []


def _states(files: Iterable["os.DirEntry[str]"]) -> dict[str, os.stat_result]:
    found = {}
    for one in sorted(files, key=_NAME):
        try:
            found[one.name] = one.stat(follow_symlinks=False)
        except FileNotFoundError:  # it went meanwhile
            continue
    return found


def tier_of(name: str) -> str:
    """Which tier a file belongs to, by its name in the agent's directory."""
    if name.startswith("trash/"):
        return "trash"
    return "long" if name == "long_term.jsonl" else "archive"
