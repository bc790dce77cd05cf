"""Where the homes to break lie."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

MEMORY_DISK = Path("/dev/shm")


@pytest.fixture
def disk() -> Iterator[Path]:
    """A place in memory where there is one: power is cut in a model, so no disk need turn."""
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK if MEMORY_DISK.is_dir() else None) as path:
        yield Path(path)
