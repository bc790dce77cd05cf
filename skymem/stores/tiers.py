"""The files of an agent's tiers, by their names."""

import os
from collections.abc import Iterator
from pathlib import Path

from skymem.stores.home import AgentPaths


def tier_files(agent: AgentPaths) -> Iterator[tuple[str, Path]]:
    """The agent's long-term file and its archives, by name."""
    try:
        names = sorted(os.listdir(agent.directory))
    except FileNotFoundError:
        return
    for name in names:
        archive = name.startswith("short_term_archive_") and name.endswith(".jsonl")
        path = agent.directory / name
        regular = path.is_file() and not path.is_symlink()
        if (name == "long_term.jsonl" or archive) and regular:
            yield name, path


def trash_files(agent: AgentPaths) -> Iterator[tuple[str, Path]]:
    """The agent's trash, by names relative to its directory."""
    for path in sorted(agent.trash.glob("[!.]*.jsonl")):
        if path.is_file() and not path.is_symlink():
            yield f"{agent.trash.name}/{path.name}", path


def tier_of(name: str) -> str:
    """Which tier a file belongs to, by its name in the agent's directory."""
    if name.startswith("trash/"):
        return "trash"
    return "long" if name == "long_term.jsonl" else "archive"
