"""Which memory was recalled when, by which question: what recall teaches, and what is regretted.

Promise 6: of a question nothing is kept but a hash under the home's key. It is derived from use and
never in the way of an answer: an event that can't be written is lost. Segments, the oldest of which
give way by age and by size. Switched off by `recall_log: false`.
"""

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

from skymem.errors import SkymemError
from skymem.stores.files import Files, disk_errors
from skymem.stores.home import HomePaths
from skymem.stores.home_key import HomeKey, key_path

SEGMENT_BYTES: Final = 1024 * 1024
SEGMENTS_MAX: Final = 32
"""Of one agent: some 150,000 answers."""

KEEP_SECONDS: Final = 400 * 86_400.0
TAIL_BYTES: Final = 64 * 1024
"""Longer than any line that is written."""


class RecallEvent(NamedTuple):
    """A memory stood among the first of an answer."""

    at: float
    """Epoch seconds."""

    id: str
    query: str
    """What tells a question from another, and nothing else of it."""


class Question:
    """Hashes questions of one home, under a key of their own."""

    def __init__(self, key: HomeKey) -> None:
        self._key = HomeKey(key.derived(b"questions of recall"))

    @classmethod
    def of(cls, paths: HomePaths, files: Files) -> "Question | None":
        """With the home's key; None before a job had need of one, and where it is lost.

        Asking changes nothing, and a new key in the place of a lost one would hide the loss.

        Raises:
            SkymemError: it can't be read.
        """
        return cls(HomeKey.of(paths, files)) if key_path(paths).exists() else None

    def hash(self, query: str) -> str:
        """The same for what differs in case and in space around it alone."""
        said = query.strip().casefold()
        return self._key.fingerprint(said.encode("utf-8", "surrogatepass")).hex()


def note_events(
    paths: HomePaths, files: Files, agent: str, query: str, ids: Iterable[str], *, at: float
) -> None:
    """Keep that these were recalled by a question, without waiting for the disk.

    Args:
        paths: the home.
        files: how it is written.
        agent: whose memories.
        query: the question's hash.
        ids: what stood among the first.
        at: epoch seconds.
    """
    named = [*ids]
    if not named:
        return
    line = json.dumps([round(at, 3), query, named], separators=(",", ":")) + "\n"
    directory = paths.recall_events(agent)
    with contextlib.suppress(SkymemError, OSError):
        files.make_directory(directory)
        path = _open_segment(directory, at)
        files.append(path, line.encode(), shared=True, synced=False)
        _drop_old(files, directory, at)


def events_of(paths: HomePaths, agent: str, since: float = 0.0) -> Iterator[RecallEvent]:
    """The events of an agent at or after `since`, epoch seconds, as they were written.

    What can't be read as an event is none.

    Raises:
        DiskError: a segment can't be read.
    """
    segments = _segments(paths.recall_events(agent))
    for number, path in enumerate(segments):
        with disk_errors(path):
            later = segments[number + 1 : number + 2]
            if later and _first(later[0]) < since and _last_at(path) < since:
                continue
            yield from (event for event in _read(path) if event.at >= since)


def take_out_events(
    paths: HomePaths, files: Files, agent: str, has_id: Callable[[str], bool]
) -> int:
    """Take the events of some memories out, durably; returns how many there were (row X5).

    Raises:
        DiskError: a segment can't be read or written.
    """
    taken = 0
    for path in _segments(paths.recall_events(agent)):
        kept: list[bytes] = []
        with disk_errors(path):
            lines = _lines(path)
        before = taken
        for at, query, names in lines:
            staying = [name for name in names if not has_id(name)]
            taken += len(names) - len(staying)
            if staying:
                kept.append(json.dumps([at, query, staying], separators=(",", ":")).encode())
        if taken > before:
            files.replace(path, b"".join(one + b"\n" for one in kept))
    return taken


def _open_segment(directory: Path, at: float) -> Path:
    """Where the next event goes: the newest segment, or a new one behind it when that is full."""
    segments = _segments(directory)
    newest = segments[-1] if segments else None
    if newest is not None and newest.stat().st_size < SEGMENT_BYTES:
        return newest
    # Behind it even where the clock was set back.
    first = max(int(at), _first(newest) + 1 if newest is not None else 0)
    return directory / f"{first:012d}.jsonl"


def _drop_old(files: Files, directory: Path, at: float) -> None:
    segments = _segments(directory)
    for path, later in pairwise(segments):
        if len(segments) > SEGMENTS_MAX or _first(later) < at - KEEP_SECONDS:
            files.unlink(path)
            segments = segments[1:]


def _segments(directory: Path) -> list[Path]:
    try:
        names = sorted(os.listdir(directory))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [directory / name for name in names if name[:12].isdigit() and name[12:] == ".jsonl"]


def _first(segment: Path) -> int:
    return int(segment.name[:12])


def _last_at(path: Path) -> float:
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - TAIL_BYTES))
        for raw in reversed(stream.read().splitlines()):
            line = _line(raw)
            if line is not None:
                return line[0]
    return 0.0


def _read(path: Path) -> Iterator[RecallEvent]:
    for at, query, names in _lines(path):
        for name in names:
            yield RecallEvent(at, name, query)


def _lines(path: Path) -> list[tuple[float, str, list[str]]]:
    try:
        data = path.read_bytes()
    except FileNotFoundError:  # it gave way meanwhile
        return []
    return [line for raw in data.split(b"\n") if (line := _line(raw)) is not None]


def _line(raw: bytes) -> tuple[float, str, list[str]] | None:
    """What a line says; None when it is torn, or nobody's of ours."""
    try:
        found: Any = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list) or len(found) != 3:
        return None
    at, query, names = found
    if type(at) not in (int, float) or not isinstance(query, str) or not isinstance(names, list):
        return None
    return float(at), query, [name for name in names if isinstance(name, str)]
