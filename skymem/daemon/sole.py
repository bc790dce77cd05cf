"""One daemon for a home, by a lock it holds for its life."""

import contextlib
from collections.abc import Iterator
from typing import Final

from skymem.errors import BusyError, DaemonRunningError, DiskError
from skymem.stores.files import Files
from skymem.stores.home import FORMAT_FILE, HomePaths
from skymem.stores.lock import held

LOCK_SECONDS: Final = 0.5
"""`status` and `check` look at the lock for an instant: that is no second daemon."""


@contextlib.contextmanager
def sole_daemon(paths: HomePaths, files: Files, holder: str = "skymem run") -> Iterator[None]:
    """Hold the home's daemon lock for the block.

    Raises:
        DaemonRunningError: another daemon does.
        DiskError: the home has no place for the lock.
    """
    files.make_directory(paths.run)
    with contextlib.ExitStack() as stack:
        try:
            lock = held(paths.daemon_lock, holder, deadline_seconds=LOCK_SECONDS)
            stack.enter_context(lock)
        except BusyError as error:
            raise DaemonRunningError(error.args[1]) from None
        with contextlib.suppress(DiskError):  # what a kill left beside the home's format
            files.remove_left(paths.root, FORMAT_FILE)
        yield
