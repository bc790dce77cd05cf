"""The durable record of the jobs that the API started, `state/api_runs.json`.

Written by the API alone, whole, as one starts and as it ends: whoever polls after a restart is told
what became of it. Counts and ids, as in the status files, and no text of a memory (promise 6).
"""

import json
from collections.abc import Sequence
from typing import Any, Final

from skymem.errors import SkymemError
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.status import read_json

SCHEMA_VERSION: Final = 1
TYPES: Final[dict[str, tuple[type, ...]]] = {
    "id": (str,),
    "job": (str,),
    "started": (int, float),
    "ended": (int, float, type(None)),
    "exit_code": (int, type(None)),
    "detail": (dict,),
    "error": (str, type(None)),
}


class RunRecords:
    """The file; for the holder of the API's lock."""

    def __init__(self, paths: HomePaths, files: Files) -> None:
        self._path = paths.state / "api_runs.json"
        self._files = files

    def read(self) -> list[dict[str, Any]]:
        """What is on record, oldest first; what can't be read is not."""
        found = (read_json(self._path) or {}).get("runs")
        return [one for one in found if _is_record(one)] if isinstance(found, list) else []

    def write(self, runs: Sequence[dict[str, Any]]) -> None:
        """Put these in its place; a full disk keeps no job from running, and that one is lost."""
        record = {"schema_version": SCHEMA_VERSION, "runs": [*runs]}
        try:
            self._files.make_directory(self._path.parent)
            self._files.replace(self._path, json.dumps(record).encode() + b"\n")
        except SkymemError:
            return


def _is_record(one: Any) -> bool:
    return isinstance(one, dict) and all(
        name in one and isinstance(one[name], kinds) for name, kinds in TYPES.items()
    )
