"""Making a home: the two YAML files with their comments, and the first agent's directory."""

from pathlib import Path

from skymem.config.shipped import shipped_file
from skymem.jobs.workplace import DEFAULT_AGENT
from skymem.stores.files import Files
from skymem.stores.home import RULES_FILE, SCHEDULE_FILE, HomePaths


def init_home(path: Path, *, dry_run: bool = False) -> list[str]:
    """Make a home: the two commented YAML files and the first agent's directory.

    Never overwrites: what is there stays. Returns the names it made.

    Raises:
        DiskError: the place can't be written.
    """
    files = Files()
    missing = [name for name in (RULES_FILE, SCHEDULE_FILE) if not (path / name).exists()]
    directory = HomePaths(path).agent(DEFAULT_AGENT).directory
    created = [*missing, *([] if directory.exists() else [str(directory.relative_to(path))])]
    if not dry_run:
        files.make_directory(path)
        for name in missing:
            files.replace(path / name, shipped_file(name))
        files.make_directory(directory)
    return created
