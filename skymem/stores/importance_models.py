"""The models of what an agent's memories are worth: `state/importance/<agent>/<UTC>.json` (P12).

One small file each, written whole and never changed; the newest that is not of the future is in
force, so that what was decided at a moment can be decided again. The last `KEPT` stay. Going back
gives the newest another name, under which it is not in force and not taken again as it was.
"""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from skymem.policy.prediction import Model, model_of
from skymem.stores.files import Files, disk_errors
from skymem.stores.home import HomePaths
from skymem.stores.status import read_json

KEPT: Final = 5
SET_ASIDE: Final = ".set_aside"
MEANINGS: Final = ".meanings"
"""Of what lies beside a model and goes with it: see `stores/meanings.py`."""


def models_of(paths: HomePaths, agent: str) -> list[Model]:
    """Those that can be read, oldest first; one that can't is as if it were not there."""
    found = (_read(path, agent) for path in _files(paths, agent))
    return sorted((one for one in found if one is not None), key=lambda one: one.trained_at)


def in_force(paths: HomePaths, agent: str, now: float) -> Model | None:
    """The model that counts at a moment, epoch seconds; None where there is none.

    One that was made for memories as another version looks at them does not count.
    """
    for path in reversed(_files(paths, agent)):
        model = _read(path, agent)
        if model is not None and model.is_usable and model.trained_at <= now:
            return model
    return None


def is_set_aside(paths: HomePaths, agent: str, inputs: str) -> bool:
    """Whether a model of the very same history was gone back from."""
    found = (_read(path, agent) for path in _files(paths, agent, SET_ASIDE))
    return any(one is not None and one.inputs == inputs for one in found)


def damaged(paths: HomePaths, agent: str) -> list[str]:
    """Names of files that should be models and can't be read."""
    return [path.name for path in _files(paths, agent) if _read(path, agent) is None]


def keep_model(paths: HomePaths, files: Files, model: Model) -> Path:
    """Put a model in force, durably, and let go of what is beyond `KEPT`.

    For who holds the agent's job lock.

    Raises:
        DiskError: the model that was in force still is.
    """
    directory = paths.importance(model.agent)
    files.make_directory(directory)
    files.remove_left(directory)
    path = model_path(paths, model)
    data = json.dumps(model.as_json(), indent=1, allow_nan=False, ensure_ascii=True)
    files.replace(path, data.encode() + b"\n")
    for suffix in ("", SET_ASIDE):
        for old in _files(paths, model.agent, suffix)[:-KEPT]:
            with disk_errors(old):
                files.unlink(old)
    _let_go_of_meanings(directory, files)
    return path


def _let_go_of_meanings(directory: Path, files: Files) -> None:
    """Remove what was told about models that are no longer there."""
    with disk_errors(directory):
        for path in directory.glob(f"*{MEANINGS}"):
            if not path.with_suffix(".json").exists():
                files.unlink(path)


def model_path(paths: HomePaths, model: Model) -> Path:
    """Where a model lies, or will."""
    return paths.importance(model.agent) / name_of(model.trained_at)


def set_aside(paths: HomePaths, files: Files, model: Model) -> None:
    """Take a model out of force for good, durably; the one before it is in force then.

    Raises:
        DiskError: it still is.
    """
    path = model_path(paths, model)
    with disk_errors(path):
        files.rename(path, path.with_name(path.name + SET_ASIDE))
        files.fsync_directory(path.parent)


def name_of(trained_at: float) -> str:
    """What the file of a model is called."""
    return f"{datetime.fromtimestamp(trained_at, UTC):%Y%m%dT%H%M%S_%f}Z.json"


def files_ending(paths: HomePaths, agent: str, ending: str) -> list[Path]:
    """What is kept of an agent's models and ends so, oldest first; nothing half written.

    Raises:
        DiskError: it can't be looked for.
    """
    directory = paths.importance(agent)
    with disk_errors(directory):
        try:
            names = sorted(os.listdir(directory))
        except (FileNotFoundError, NotADirectoryError):
            return []
    return [directory / name for name in names if name.endswith(ending) and name[0] != "."]


def _files(paths: HomePaths, agent: str, suffix: str = "") -> list[Path]:
    return files_ending(paths, agent, f"Z.json{suffix}")


def _read(path: Path, agent: str) -> Model | None:
    try:
        model = model_of(read_json(path) or {})
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return model if model.agent == agent else None
