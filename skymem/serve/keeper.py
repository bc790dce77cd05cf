"""The home that the API serves, with the rules that are in force now."""

import os
import sys
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path

from skymem.app import Home, open_home
from skymem.errors import ConfigurationError
from skymem.stores.home import HomePaths

Stamp = tuple[tuple[int, int, int] | None, ...]
"""How the files looked that say how a home is worked on: its rules, its format."""


@dataclass(slots=True)
class Keeper:
    """Gives every request a handle of its own, by the rules as they were last usable.

    A file of rules that is being edited, or is faulty, changes nothing (hazards F4, G8).
    """

    home: Home
    stamp: Stamp = ()
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Remember how the rules and the format looked when the home was opened."""
        self.stamp = _stamp(self.home.paths)

    @property
    def owner(self) -> int:
        """Whose home it is: the operator's uid."""
        return os.geteuid()

    def renewed(self, door: str) -> Home:
        """As `handle`, by the rules as they are now.

        Raises:
            DiskError: the home is not there any more.
            HomeTooNewError: a newer release has taken it over meanwhile.
        """
        self.home.paths.must_be_there()
        stamp = _stamp(self.home.paths)
        with self.lock:
            if stamp != self.stamp:
                self._reread(stamp)
        return self.handle(door)

    def handle(self, door: str) -> Home:
        """A handle for one request, bound to nobody yet."""
        return replace(self.home, door=door, _ready={}, _engine=None)

    def _reread(self, stamp: Stamp) -> None:
        try:
            found = open_home(str(self.home.paths.root), lenient=False)
        except ConfigurationError as error:
            text = str(error).split("\n", maxsplit=1)[0]
            sys.stderr.write(f"skymem: the API goes by the rules it read before: {text}\n")
        else:
            self.home = replace(self.home, rules=found.rules, faults=())
        self.stamp = stamp


def _stamp(paths: HomePaths) -> Stamp:
    return tuple(map(_look, (paths.rules, paths.format)))


def _look(path: Path) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
