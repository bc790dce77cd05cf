"""What the meaning of memories adds to what a model says of them, as the engine told it once (P12).

`state/importance/<agent>/<UTC>Z.meanings` lies beside its model and goes with it: lines of
`[epoch seconds, {id: log-odds}]`. Numbers of ids, of no text. What is in it is not asked again, and
is what everything goes by: a promotion, a dry run, `explain`, a replay of the past. So what was
decided at a moment can be decided again, with or without the engine. It is derived: what is lost of
it is asked again.
"""

import contextlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from skymem.errors import SkymemError
from skymem.policy.prediction import Model
from skymem.stores.files import Files, disk_errors
from skymem.stores.home import HomePaths
from skymem.stores.importance_models import MEANINGS, files_ending, model_path

BYTES_MAX: Final = 4 * 1024 * 1024
"""About 80,000 memories; beyond it the older half goes."""

BEGAN_SECONDS: Final = 60.0
"""A run asks after it began: what it learned within this counts for it from its beginning on."""


def known_meanings(paths: HomePaths, model: Model, now: float) -> dict[str, float]:
    """By id, what the engine told about a model's memories up to a moment.

    Raises:
        DiskError: it can't be read.
    """
    found: dict[str, float] = {}
    for at, told in _lines(_path(paths, model)):
        if at <= now + BEGAN_SECONDS:
            found |= told
    return found


def told_at(paths: HomePaths, model: Model) -> list[float]:
    """When anything was told: a moment at which a decision may become another one.

    Raises:
        DiskError: it can't be read.
    """
    return [at for at, _ in _lines(_path(paths, model))]


def note_meanings(
    paths: HomePaths, files: Files, model: Model, told: Mapping[str, float], *, at: float
) -> None:
    """Keep what was told, durably; where it can't be written, it is asked again."""
    path = _path(paths, model)
    line = json.dumps([round(at, 3), dict(told)], separators=(",", ":")) + "\n"
    with contextlib.suppress(SkymemError, OSError):
        if path.exists() and path.stat().st_size > BYTES_MAX:
            kept = _spelled(_lines(path))
            files.replace(path, b"".join(kept[len(kept) // 2 :]))
        files.append(path, line.encode(), shared=True)


def take_out_meanings(
    paths: HomePaths, files: Files, agent: str, has_id: Callable[[str], bool]
) -> int:
    """Take out what was told of some memories, durably; returns of how many (row X5).

    Raises:
        DiskError: a file can't be read or written.
    """
    taken = 0
    for path in meanings_of(paths, agent):
        kept, before = [], taken
        for at, told in _lines(path):
            staying = {name: share for name, share in told.items() if not has_id(name)}
            taken += len(told) - len(staying)
            kept.append((at, staying))
        if taken > before:
            files.replace(path, b"".join(_spelled(one for one in kept if one[1])))
    return taken


def meanings_of(paths: HomePaths, agent: str) -> list[Path]:
    """The files of an agent, one for each model, oldest first."""
    return files_ending(paths, agent, MEANINGS)


def _path(paths: HomePaths, model: Model) -> Path:
    return model_path(paths, model).with_suffix(MEANINGS)


def _spelled(lines: Iterable[tuple[float, dict[str, float]]]) -> list[bytes]:
    return [json.dumps([*one], separators=(",", ":")).encode() + b"\n" for one in lines]


def _lines(path: Path) -> Iterator[tuple[float, dict[str, float]]]:
    with disk_errors(path):
        try:
            data = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return
    for raw in data.split(b"\n"):
        if (line := _line(raw)) is not None:
            yield line


def _line(raw: bytes) -> tuple[float, dict[str, float]] | None:
    """What a line says; None when it is torn, or nobody's of ours."""
    try:
        at, told = json.loads(raw)
        numbers = {str(name): float(share) for name, share in told.items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    whole = type(at) in (int, float) and all(map(math.isfinite, numbers.values()))
    return (float(at), numbers) if whole else None
