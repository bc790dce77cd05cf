"""The home that the API serves, with the rules that are in force now."""

import os
import sys
import threading
from dataclasses import dataclass, field, replace

from skymem.app import Home, open_home
from skymem.errors import ConfigurationError
from skymem.stores.home import HomePaths
from skymem.stores.stamp import Stamp, stamp_of

Stamps = tuple[Stamp | None, ...]
"""How the files looked that say how a home is worked on: its rules, its format."""


@dataclass(slots=True)
class Keeper:
    """Gives every request a handle of its own, by the rules as they were last usable.

    A file of rules that is being edited, or is faulty, changes nothing (hazards F4, G8).
    """

    home: Home
    stamps: Stamps = ()
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Remember how the rules and the format looked when the home was opened."""
        self.stamps = _stamps(self.home.paths)

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
        stamps = _stamps(self.home.paths)
        with self.lock:
            if stamps != self.stamps:
                self._reread(stamps)
        return self.handle(door)

    def handle(self, door: str) -> Home:
        """A handle for one request, bound to nobody yet."""
        return replace(self.home, door=door, _ready={}, _engine=None)

    def _reread(self, stamps: Stamps) -> None:
        try:
            found = open_home(str(self.home.paths.root), lenient=False)
        except ConfigurationError as error:
            text = str(error).split("\n", maxsplit=1)[0]
            sys.stderr.write(f"skymem: the API goes by the rules it read before: {text}\n")
        else:
            self.home = replace(self.home, rules=found.rules, faults=())
        self.stamps = stamps


def _stamps(paths: HomePaths) -> Stamps:
    return stamp_of(paths.rules), stamp_of(paths.format)
