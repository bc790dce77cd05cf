"""Which memory was recalled when, by which question: what recall teaches, and what is regretted.

Promise 6: of a question nothing is kept but a hash under the home's key. It is derived from use and
never in the way of an answer: an event that can't be written is lost. Segments, the oldest of which
give way by age and by size. Switched off by `recall_log: false`.

A line is `[time, question, ids]`, and behind these how many milliseconds the answer took, where
that was measured: lines of before have no fourth.
"""

import contextlib
import json
import math
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


class Answered(NamedTuple):
    """One answer that had something."""

    at: float
    """Epoch seconds."""

    query: str
    ids: tuple[str, ...]
    took_ms: float | None = None
    """How long it was looked for; None where nobody measured."""


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
    paths: HomePaths,
    files: Files,
    agent: str,
    query: str,
    ids: Iterable[str],
    *,
    at: float,
    took_ms: float | None = None,
) -> None:
    """Keep that these were recalled by a question, without waiting for the disk.

    Args:
        paths: the home.
        files: how it is written.
        agent: whose memories.
        query: the question's hash.
        ids: what stood among the first.
        at: epoch seconds.
        took_ms: how long the answer was looked for.
    """
    answered = Answered(round(at, 3), query, tuple(ids), took_ms)
    if not answered.ids:
        return
    line = _spelled(answered) + b"\n"
    directory = paths.recall_events(agent)
    with contextlib.suppress(SkymemError, OSError):
        files.make_directory(directory)
        path = _open_segment(directory, at)
        files.append(path, line, shared=True, synced=False)
        _drop_old(files, directory, at)


def events_of(paths: HomePaths, agent: str, since: float = 0.0) -> Iterator[RecallEvent]:
    """The events of an agent at or after `since`, epoch seconds, as they were written.

    What can't be read as an event is none.

    Raises:
        DiskError: a segment can't be read.
    """
    for answered in answers_of(paths, agent, since):
        for name in answered.ids:
            yield RecallEvent(answered.at, name, answered.query)


def answers_of(paths: HomePaths, agent: str, since: float = 0.0) -> Iterator[Answered]:
    """The same, answer by answer.

    Raises:
        DiskError: a segment can't be read.
    """
    segments = _segments(paths.recall_events(agent))
    for number, path in enumerate(segments):
        with disk_errors(path):
            later = segments[number + 1 : number + 2]
            if later and _first(later[0]) < since and _last_at(path) < since:
                continue
            yield from (answered for answered in _lines(path) if answered.at >= since)


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
        for answered in lines:
            staying = tuple(name for name in answered.ids if not has_id(name))
            taken += len(answered.ids) - len(staying)
            if staying:
                kept.append(_spelled(answered._replace(ids=staying)))
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
                return line.at
    return 0.0


def _spelled(answered: Answered) -> bytes:
    at, query, ids, took_ms = answered
    fields = [at, query, ids] if took_ms is None else [at, query, ids, round(took_ms, 1)]
    return json.dumps(fields, separators=(",", ":")).encode()


def _lines(path: Path) -> list[Answered]:
    try:
        data = path.read_bytes()
    except FileNotFoundError:  # it gave way meanwhile
        return []
    return [line for raw in data.split(b"\n") if (line := _line(raw)) is not None]


def _line(raw: bytes) -> Answered | None:
    """What a line says; None when it is torn, or nobody's of ours."""
    try:
        found: Any = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list) or len(found) not in (3, 4):
        return None
    at, query, names, *took = found
    if not (_is_number(at) and isinstance(query, str) and isinstance(names, list)):
        return None
    ids = tuple(name for name in names if isinstance(name, str))
    return Answered(float(at), query, ids, took[0] if took and _is_number(took[0]) else None)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)
