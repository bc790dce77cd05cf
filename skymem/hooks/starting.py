"""Starting the process that answers prompts, where none runs: detached, and never waited for."""

import contextlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from skymem.engine.launch import engine_environment
from skymem.engine.settings import LOG_BYTES_MAX
from skymem.hooks import quick
from skymem.stores.lock import holder_of

if TYPE_CHECKING:
    from skymem.app import Home


def ensure(home: "Home", agent: str) -> None:
    """Have it run by the next prompt, unless the environment says otherwise; never fails."""
    off = os.environ.get(quick.OFF_VARIABLE, "").lower() in quick.OFF
    if off or not home.owned or holder_of(home.paths.hook_lock):
        return
    with contextlib.suppress(OSError):  # the next prompt is answered the usual way, and tries again
        home.files.make_directory(home.paths.run)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        log = os.open(home.paths.hook_log, flags, 0o600)
        try:
            if os.fstat(log).st_size > LOG_BYTES_MAX:
                os.ftruncate(log, 0)
            root = str(home.paths.root.absolute())
            subprocess.Popen(
                [sys.executable, "-P", "-m", "skymem.hooks", root, agent],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                cwd="/",
                env=engine_environment(),
                start_new_session=True,  # Ctrl-C at the caller's terminal is not meant for it
            )
        finally:
            os.close(log)
