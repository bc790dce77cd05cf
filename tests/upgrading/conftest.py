"""A home as the first release that could make one left it, kept as a file."""

import tarfile
from pathlib import Path

import pytest

from skymem.app import Home, open_home

FIRST_RELEASE = Path(__file__).parent / "homes/first_release.tar.gz"
"""Made by that release itself: `init`, `remember`, a torn line, `promote`, `remember`."""

TEXTS = [
    "Said after the last run",
    "The cat is fed at noon",
    "The staging server is called heron",
    "The user wants the report at 7 in the morning",
    "hello",
]


def put(root: Path) -> Home:
    """Lay that home down at a place, and open it."""
    root.mkdir(parents=True)
    with tarfile.open(FIRST_RELEASE) as kept:
        kept.extractall(root, filter="data")
    return open_home(str(root))


def contents(root: Path) -> dict[str, bytes]:
    """What stands in a home: every file that is neither derived nor a lock, with its bytes."""
    passed_over = ("state/", "run/", "rag/")
    found = {str(path.relative_to(root)): path for path in root.rglob("*") if path.is_file()}
    return {
        name: path.read_bytes()
        for name, path in found.items()
        if not name.startswith(passed_over) and not name.endswith(".lock")
    }


@pytest.fixture
def old(tmp_path: Path) -> Home:
    """That home, in a place of its own."""
    return put(tmp_path / "home")
