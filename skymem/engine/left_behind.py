"""What stays on a Chroma server that this home does not use any more: told of until it is deleted.

The list is beside the generations, `left_on_servers.json`: a home that comes back to the server
deletes what it left there, and otherwise its operator is told where the vectors are (promise 9).
Light: `doctor` reads it.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from skymem.stores.files import Files

NAME: Final = "left_on_servers.json"
PLACE: Final = ("server", "tenant", "database")


def left_on_servers(directory: Path) -> list[dict[str, Any]]:
    """What is noted beside an agent's generations: place and collections of each."""
    try:
        found = json.loads((directory / NAME).read_bytes())
    except (OSError, ValueError):
        return []
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def note_left(directory: Path, manifest: Mapping[str, Any] | None, files: Files) -> None:
    """Note that the collections a manifest tells of stay where they are, if that is a server.

    Raises:
        DiskError: the disk refuses.
    """
    if manifest is None or not manifest.get("server"):
        return
    left = {key: manifest.get(key) for key in (*PLACE, "collections")}
    keep_noted(directory, [*left_on_servers(directory), left], files)


def keep_noted(directory: Path, left: Sequence[Mapping[str, Any]], files: Files) -> None:
    """Write the list anew; an empty one is no file.

    Raises:
        DiskError: the disk refuses.
    """
    if left:
        files.replace(directory / NAME, json.dumps(list(left), indent=1).encode() + b"\n")
    else:
        (directory / NAME).unlink(missing_ok=True)
