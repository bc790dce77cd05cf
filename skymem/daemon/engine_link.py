"""The daemon and the engine, where a service manager keeps the daemon (design §5).

There the engine is to run inside the service: under its limits, and ended with it. So a command
from outside does not start one but asks the daemon to, and the daemon says goodbye to it in the
end. Elsewhere whoever needs an engine starts it.
"""

import contextlib
import os
import threading
import time
from collections.abc import MutableMapping
from typing import Final

from skymem.daemon.ask import INSIDE
from skymem.daemon.journal import Journal
from skymem.engine.client import Engine
from skymem.engine.launch import START_SECONDS, Launcher
from skymem.errors import SkymemError
from skymem.model.rules import EngineRules
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.lock import holder_of, never_stopped

LEAVE_SECONDS: Final = 5.0
"""How long the engine gets to close its index before the service is ended with all that is left."""

LOOK_SECONDS: Final = 0.05


class EngineLink:
    """The daemon's end."""

    def __init__(
        self,
        paths: HomePaths,
        files: Files,
        journal: Journal,
        environment: MutableMapping[str, str],
        *,
        managed: bool,
    ) -> None:
        self._paths = paths
        self._files = files
        self._journal = journal
        self._managed = managed
        environment[INSIDE] = "1"

    def look(self) -> None:
        """Start the engine if somebody asked for it, on a thread of its own."""
        with contextlib.suppress(OSError):
            os.unlink(self._paths.engine_wanted)
            threading.Thread(target=self._start, name="engine start", daemon=True).start()

    def _start(self) -> None:
        launcher = Launcher(self._paths, self._files, never_stopped)
        try:
            launcher.ensure(time.monotonic() + START_SECONDS)
        except SkymemError as error:
            self._journal.error("can't start the engine", error=error)

    def say_goodbye(self) -> None:
        """Have the engine close its index, where it would be ended with the service otherwise."""
        if not self._managed:
            return
        engine = Engine(self._paths, self._files, EngineRules(), start=False)
        with contextlib.suppress(SkymemError):
            engine.leave(deadline_seconds=LEAVE_SECONDS)
        until = time.monotonic() + LEAVE_SECONDS
        while holder_of(self._paths.engine_lock) and time.monotonic() < until:
            time.sleep(LOOK_SECONDS)
