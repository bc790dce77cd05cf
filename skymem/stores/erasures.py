"""The record of an erasure that has begun: what is to go, and which places are still to do (X5).

Two files under `state/erasures/<agent>/`: `<run>.marks`, one line a memory that goes, and
`<run>.json`, whose existence says that the erasure has begun and must be ended. Ids and keyed
hashes, never text. Both go when the last place is done; then the ledger has what there is to tell.
"""

import contextlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from skymem.errors import SkymemError
from skymem.stores.files import Files, disk_errors
from skymem.stores.home import HomePaths
from skymem.stores.tombstones import Mark

FORMAT: Final = 1


class ErasureDamagedError(SkymemError):
    """{0} can't be read, so an erasure that has begun can't be ended: {1}"""

    exit_code = 20
    hint = "remove the file and erase again, by the same ids"


class Target(NamedTuple):
    """A line that goes, or is said again without what goes."""

    name: str
    """The memory's id."""

    mark: Mark
    why: str
    """`named`, `matched`, `source`, `all`, `copy`, `made_of`; `rewritten` of one that stays."""

    file: str
    """Where it stood, by name in the agent's directory."""


@dataclass(slots=True)
class Place:
    """One place of the home, and what was found and done there."""

    before: int = 0
    after: int = 0
    done: bool = False
    action: str = ""


@dataclass(slots=True)
class Erasure:
    """One erasure of one agent."""

    run: str
    agent: str
    begun: float
    key: str
    """What tells the home's key from another: the marks are hashes under it."""

    everything: bool = False
    """Whether all there is of the agent goes."""

    copies: bool = True
    """Whether what says the very same goes as well, also where a record quotes it of another."""

    said: list[str] = field(default_factory=list)
    """Marks of other words that records are not to quote any more."""

    raws: list[str] = field(default_factory=list)
    """Marks of bytes that are no line, and hold some of it."""

    bridges: dict[str, list[str]] = field(default_factory=dict)
    """What erased memories had superseded and stays, by their ids."""

    places: dict[str, Place] = field(default_factory=dict)
    remote: list[str] = field(default_factory=list)
    """Servers that had vectors of it: what they keep can't be proven."""

    def count(self, place: str) -> Place:
        """The place of this name."""
        return self.places.setdefault(place, Place())


class Erasures:
    """The erasures of an agent that have begun and not ended."""

    def __init__(self, paths: HomePaths, files: Files, agent: str) -> None:
        self.directory = paths.state / "erasures" / agent
        self._files = files

    def open(self) -> list[Erasure]:
        """All of them, oldest first.

        Raises:
            ErasureDamagedError, DiskError: one can't be read.
        """
        if not self.directory.is_dir():
            return []
        return [_read(path) for path in sorted(self.directory.glob("[!.]*.json"))]

    def begin(self, erasure: Erasure, targets: Iterable[Target]) -> None:
        """Record it, durably: from now on it must be ended.

        Raises:
            DiskError: it has not begun.
        """
        self._files.make_directory(self.directory)
        lines = (json.dumps([one.name, *one.mark, one.why, one.file]) for one in targets)
        self._files.replace(self._marks(erasure), (line.encode() + b"\n" for line in lines))
        self.note(erasure)

    def note(self, erasure: Erasure) -> None:
        """Record how far it is, durably."""
        data = json.dumps({"format": FORMAT, **asdict(erasure)}).encode() + b"\n"
        self._files.replace(self.directory / f"{erasure.run}.json", data)

    def targets(self, erasure: Erasure) -> Iterator[Target]:
        """What goes.

        Raises:
            ErasureDamagedError, DiskError: it can't be read.
        """
        path = self._marks(erasure)
        with disk_errors(path), path.open("rb") as stream:
            for raw in stream:
                try:
                    name, own, line, text, why, file = json.loads(raw)
                except ValueError as error:
                    raise ErasureDamagedError(str(path), str(error)) from None
                yield Target(name, Mark(own, line, text), why, file)

    def end(self, erasure: Erasure) -> None:
        """Forget it: all of it is done. The record goes first, as it says what is to be done."""
        for path in (self.directory / f"{erasure.run}.json", self._marks(erasure)):
            with disk_errors(path), contextlib.suppress(FileNotFoundError):
                self._files.unlink(path)
                self._files.fsync_directory(self.directory)

    def tidy(self) -> None:
        """Remove what a kill left before or after its record was there; the job lock is held."""
        if not self.directory.is_dir():
            return
        self._files.remove_left(self.directory)
        with disk_errors(self.directory):
            for path in self.directory.glob("*.marks"):
                if not path.with_suffix(".json").exists():
                    self._files.unlink(path)

    def _marks(self, erasure: Erasure) -> Path:
        return self.directory / f"{erasure.run}.marks"


def _read(path: Path) -> Erasure:
    with disk_errors(path):
        data = path.read_bytes()
    try:
        found: dict[str, Any] = json.loads(data)
        if found.pop("format") != FORMAT:
            raise ValueError("of another format")
        found["places"] = {name: Place(**one) for name, one in found["places"].items()}
        return Erasure(**found)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ErasureDamagedError(str(path), f"{type(error).__name__}: {error}") from None
