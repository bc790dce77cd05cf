"""Making a home: its two commented YAML files, its format, the first agent's directory."""

import os
from pathlib import Path

from skymem.jobs.workplace import DEFAULT_AGENT
from skymem.stores import home_format
from skymem.stores.files import Files
from skymem.stores.home import FORMAT_FILE, RULES_FILE, SCHEDULE_FILE, HomePaths
from skymem.stores.home_format import must_be_known, write_format


def init_home(path: Path, *, dry_run: bool = False) -> list[str]:
    """Make a home: the two commented YAML files, its format and the first agent's directory.

    Never overwrites: what is there stays, and a home that holds anything stays in its format.
    Returns the names it made.

    Raises:
        HomeTooNewError: there is one that a newer release keeps.
        DiskError: the place can't be written.
    """
    from skymem.config.shipped import shipped_file

    files, paths = Files(), HomePaths(path)
    must_be_known(paths)
    holds = any(os.path.lexists(one) for one in (paths.format, paths.memory, paths.audit))
    missing = [name for name in (RULES_FILE, SCHEDULE_FILE) if not (path / name).exists()]
    directory = paths.agent(DEFAULT_AGENT).directory
    made = [] if directory.exists() else [str(directory.relative_to(path))]
    created = [*missing, *([] if holds else [FORMAT_FILE]), *made]
    if not dry_run:
        files.make_directory(path)
        for name in missing:
            files.replace(path / name, shipped_file(name))
        if not holds:
            write_format(paths, files, home_format.CURRENT)
        files.make_directory(directory)
    return created
