"""A sign left on disk while Chroma is at work, so that the next engine knows what killed this one.

A damaged HNSW file ends the process without a word (hazard D1). The sign is two small writes to an
open file, never synced: it has to outlive the process, not the machine.
"""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from skymem.engine.room import open_kept
from skymem.stores.files import Files

BYTES: Final = 512
NAME: Final = "engine-at-work.json"


class LeftBehind(NamedTuple):
    """What a dead engine was at."""

    agent: str
    generation: str


class AtWork:
    """The sign of this engine."""

    def __init__(self, path: Path, files: Files) -> None:
        """Take the file over; what a dead engine left in it is in `left_behind`.

        Raises:
            DiskError: it can't be opened.
        """
        self._fd = open_kept(path, files)
        self.left_behind = _read(os.pread(self._fd, BYTES, 0))

    @contextlib.contextmanager
    def doing(self, agent: str, generation: str, operation: str) -> Iterator[None]:
        """Show the sign for the block."""
        self._show(
            {"agent": agent, "generation": generation, "operation": operation, "pid": os.getpid()}
        )
        try:
            yield
        finally:
            self._show({})

    def _show(self, sign: dict[str, object]) -> None:
        # Padded, so that one write replaces the last one whole. A full disk can't refuse bytes that
        # are there already; and where it does the first time, only a hint is lost.
        with contextlib.suppress(OSError):
            os.pwrite(self._fd, json.dumps(sign).encode().ljust(BYTES - 1) + b"\n", 0)

    def close(self) -> None:
        """Leave no sign."""
        self._show({})
        os.close(self._fd)


def _read(data: bytes) -> LeftBehind | None:
    try:
        sign = json.loads(data)
        return LeftBehind(sign["agent"], sign["generation"])
    except (ValueError, KeyError, TypeError):
        return None
