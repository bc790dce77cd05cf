"""What the engine's process goes by: the home's rules, and an environment made from them."""

import os
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Final

from skymem.model.rules import EngineRules
from skymem.stores.home import HomePaths

LOG_BYTES_MAX: Final = 1024 * 1024
"""Of the engine's log; beyond it, the log begins anew."""

_KEPT: Final = frozenset(
    {"PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "XDG_CACHE_HOME", "VIRTUAL_ENV"}
)
_KEPT_KINDS: Final = ("LC_", "HF_", "PYTHON", "LD_LIBRARY_")


def clean_environment(given: Mapping[str, str], token: str = "") -> dict[str, str]:
    """What of the caller's environment an engine takes over: it outlives the caller.

    `token` names the variable that holds the token of a server, if one does.
    """
    kept = {
        name: value
        for name, value in given.items()
        if name in _KEPT or name == token or name.startswith(_KEPT_KINDS)
    }
    return {**kept, "MALLOC_ARENA_MAX": "2"}  # read by the C library before anything of ours runs


def prepare_environment(
    rules: EngineRules, paths: HomePaths, environment: MutableMapping[str, str]
) -> None:
    """Set what the libraries read when they are imported: no telemetry, no network (promise 9).

    numpy gets no threads of its own: they wait for each other by spinning, and with another busy
    process a scan takes ten times as long. `matrix` has some that sleep.
    """
    environment["OPENBLAS_NUM_THREADS"] = "1"
    environment["ORT_DISABLE_TELEMETRY"] = "1"
    environment["ANONYMIZED_TELEMETRY"] = "False"
    environment["TOKENIZERS_PARALLELISM"] = "false"
    environment["OMP_NUM_THREADS"] = str(rules.threads)
    if not rules.download:
        environment["HF_HUB_OFFLINE"] = "1"
    home = environment.get("HOME", "")
    if not home or not os.access(home, os.W_OK):  # such as under DynamicUser (hazard E2)
        environment.setdefault("HF_HOME", str(Path(paths.models) / "hub"))
