"""What models that are not in use have left on the disk: found by model, and freed (row X10).

Light, as commands use it: no numpy, no chromadb.
"""

import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

from skymem.engine.left_behind import note_left
from skymem.stores.files import Files, disk_errors
from skymem.stores.home import HomePaths
from skymem.stores.status import read_json


def model_of(generation: Path) -> str:
    """The key of the model a generation was made with; "" where that can't be read."""
    return str((read_json(generation / "manifest.json") or {}).get("model", ""))


def free_others(paths: HomePaths, keep: Collection[str], files: Files) -> None:
    """Delete caches and set-by generations of every model but those with the keys `keep`.

    They are derived, and a kill leaves the rest for the next time. What a server has of them is
    noted: the engine deletes it when it opens the agent's index.

    Raises:
        DiskError: one can't be removed.
    """
    for cache in _below(paths.embeddings):
        if cache.name not in keep:
            _remove(cache)
    for beside in paths.generations_beside:
        for generation in _below(beside):
            if model_of(generation) not in keep:
                manifest = read_json(generation / "manifest.json")
                note_left(paths.chroma_store / generation.parent.name, manifest, files)
                _remove(generation)


def _below(top: Path) -> Iterator[Path]:
    """The directories of all agents under `top`."""
    for agent in sorted(top.glob("*")):
        yield from (one for one in sorted(agent.glob("*")) if one.is_dir())


def _remove(directory: Path) -> None:
    with disk_errors(directory):
        shutil.rmtree(directory)
