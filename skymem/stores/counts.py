"""Small counts beside the memories: derived from use, and never in the way of what is counted.

A count that can't be written is lost, and two at once may lose one of both: no record rests on it.
"""

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from skymem.errors import SkymemError
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.status import read_json

REDACTED: Final = "redacted"


def read_counts(path: Path, name: str) -> dict[str, int]:
    """The counts of a file, empty where there are none that can be read."""
    found = (read_json(path) or {}).get(name)
    if not isinstance(found, dict):
        return {}
    return {str(key): times for key, times in found.items() if type(times) is int}


def write_counts(path: Path, files: Files, name: str, counts: Mapping[str, int]) -> None:
    """Replace the counts of a file; not synced: losing them in a power cut costs nothing."""
    with contextlib.suppress(SkymemError, OSError):
        files.make_directory(path.parent)
        for leftover in path.parent.glob(f".{path.name}.*.new"):
            if not os.path.exists(f"/proc/{leftover.name.split('.')[-2]}"):
                leftover.unlink()  # its process was killed between writing and renaming it
        temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
        with open(temporary, "w", opener=_private) as stream:
            stream.write(json.dumps({name: dict(counts)}))  # at once: json.dump takes 10 ms
        os.replace(temporary, path)


def note_redacted(paths: HomePaths, files: Files, agent: str, kinds: Mapping[str, int]) -> None:
    """Count secrets that were taken out of an agent's memories, by kind (row X11)."""
    if not kinds:
        return
    path = paths.redacted(agent)
    counts = read_counts(path, REDACTED)
    for kind, times in kinds.items():
        counts[kind] = counts.get(kind, 0) + times
    write_counts(path, files, REDACTED, counts)


def redacted_of(paths: HomePaths, agent: str) -> dict[str, int]:
    """How many secrets of which kind were taken out of an agent's memories."""
    return dict(sorted(read_counts(paths.redacted(agent), REDACTED).items()))


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
