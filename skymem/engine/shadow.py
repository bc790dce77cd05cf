"""The shadow: a second engine of a home that makes the index of the next model (row X10).

The same server with other paths and another model, the one the home's record says is wanted; a
command of its own, `python -m skymem.engine.shadow HOME`. The engine goes on undisturbed: what
kills the shadow, be it memory, a damaged index or a person, kills no answer.
"""

import sys
import time
from collections.abc import Callable
from typing import Final

from skymem.engine.client import Engine
from skymem.errors import EngineUnavailableError
from skymem.model.rules import EngineRules
from skymem.stores.files import Files
from skymem.stores.home import HomePaths, ShadowPaths
from skymem.stores.lock import holder_of, never_stopped
from skymem.stores.model_record import ModelRecord

COMMAND: Final = (sys.executable, "-P", "-m", "skymem.engine.shadow")

IDLE_SECONDS: Final = 60.0
"""It is asked all the time; who asked it may have been killed."""

LEAVE_SECONDS: Final = 60.0
"""For it to answer what it has in hand, and to close its index."""

LOOK_SECONDS: Final = 0.02


def shadow_rules(rules: EngineRules, record: ModelRecord) -> EngineRules:
    """The configured settings with the model that is wanted next.

    Raises:
        EngineUnavailableError: none is.
    """
    if not record.wanted:
        raise EngineUnavailableError("no change of model is under way")
    return rules._replace(model=record.wanted, idle_seconds=IDLE_SECONDS)


def shadow_of(
    paths: HomePaths,
    files: Files,
    rules: EngineRules,
    model: str,
    stop: Callable[[], str] = never_stopped,
) -> Engine:
    """Connect to the shadow with this model, which is started by the first call."""
    wanted = rules._replace(model=model, idle_seconds=IDLE_SECONDS)
    return Engine(ShadowPaths(paths.root), files, wanted, stop=stop, command=COMMAND)


def dismiss_shadow(paths: HomePaths, files: Files) -> None:
    """Have a shadow that runs close its index and leave; wait until it is gone.

    Raises:
        EngineUnavailableError: it does not leave.
    """
    beside = ShadowPaths(paths.root)
    deadline = time.monotonic() + LEAVE_SECONDS
    while holder := holder_of(beside.engine_lock):
        if time.monotonic() > deadline:
            raise EngineUnavailableError(f"{holder} makes an index and does not leave")
        Engine(beside, files, EngineRules(), start=False).leave()
        time.sleep(LOOK_SECONDS)


if __name__ == "__main__":
    from skymem.engine.__main__ import end, main

    end(main(sys.argv[1:], shadow=True))
