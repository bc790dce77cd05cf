"""Where secrets are already: every line and piece of a home is looked at (row X11).

It says file, line, kind and id, and never the secret itself. What a job moves from now on loses its
secrets by itself; what was there before stays until somebody takes it away.
"""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from skymem.model.identity import digest
from skymem.model.memory import Memory
from skymem.model.spelling import read_line
from skymem.model.strict_json import BOM, LineDamage
from skymem.policy.secrets import Guard
from skymem.stores.files import disk_errors
from skymem.stores.lines import TIER_LINE_BYTES_MAX, raw_lines
from skymem.stores.shelf import open_or_none
from skymem.stores.trash import ENVELOPE_BYTES_MAX, opened

if TYPE_CHECKING:
    from skymem.app import Home

PLACES_MAX: Final = 1000
"""So many places are named; the rest is counted."""

REMEDY: Final = (
    "change each of them where it was issued: who could read these files may have it; then "
    "`skymem forget ID` takes a line away and keeps it in trash without the secret; a line of "
    "short-term loses it as a job moves it, and a drain goes by itself some runs later; a piece in "
    "quarantine is taken out by hand; what is no secret goes under "
    "secrets: {allow: [...]} in retention_rules.yaml"
)


@dataclass(frozen=True, slots=True)
class Place:
    """A line or a piece that holds secrets."""

    file: str
    """Relative to the home."""

    line: int
    offset: int
    id: str | None
    """None where it is no memory."""

    kinds: dict[str, int]

    def as_json(self) -> dict[str, Any]:
        """Spell it."""
        return {
            "file": self.file,
            "line": self.line,
            "offset": self.offset,
            "id": self.id,
            "kinds": self.kinds,
        }


@dataclass(slots=True)
class Secrets:
    """What was found."""

    files: int = 0
    count: int = 0
    places: list[Place] | None = None

    def as_json(self) -> dict[str, Any]:
        """Spell it as `skymem doctor --secrets --json` does."""
        places = self.places or []
        kinds = sum((Counter(one.kinds) for one in places), Counter[str]())
        return {
            "files": self.files,
            "found": self.count,
            "kinds": dict(sorted(kinds.items())),
            "places": [one.as_json() for one in places[:PLACES_MAX]],
            **({"remedy": REMEDY} if self.count else {}),
        }


def look_for_secrets(home: "Home", agent: str | None = None) -> Secrets:
    """Look at every file that holds text: tiers, drains, quarantine, trash, saved plans.

    Raises:
        AgentNameError, UsageError: there is no such agent.
        DiskError: a file can't be read.
    """
    home.agents(agent)
    rules = home.rules.secrets
    guard = Guard(rules._replace(on="redact"))
    found = Secrets(places=[])
    root = home.paths.root
    for path in _files(home, agent):
        found.files += 1
        for place in _in_file(path, str(path.relative_to(root)), guard):
            found.count += sum(place.kinds.values())
            if found.places is not None and len(found.places) < PLACES_MAX:
                found.places.append(place)
    return found


def _files(home: "Home", agent: str | None) -> Iterator[Path]:
    root = home.paths.root
    tops = [home.shelf(agent).paths.directory] if agent else [home.paths.memory, root / "plans"]
    for top in tops:
        for directory, _, names in sorted(os.walk(top)):
            yield from (path for name in sorted(names) if (path := Path(directory, name)).is_file())
    if agent is None:
        yield from sorted(path for path in root.glob("*.json*") if path.is_file())


def _in_file(path: Path, name: str, guard: Guard) -> Iterator[Place]:
    if path.is_symlink():
        return
    with disk_errors(path):
        fd = open_or_none(path)
        if fd is None:
            return
        try:
            size = os.fstat(fd).st_size
            most = TIER_LINE_BYTES_MAX + ENVELOPE_BYTES_MAX
            lines = raw_lines(fd, 0, size, most)
            end = 0
            for number, (offset, raw, stop) in enumerate(lines, start=1):
                end = stop
                yield from _in_line(name, number, offset, raw or b"", guard)
            rest = os.pread(fd, min(most, size - end), end)  # a last line that is not ended
            yield from _in_line(name, 0, end, rest, guard)
        finally:
            os.close(fd)


def _in_line(name: str, number: int, offset: int, raw: bytes, guard: Guard) -> Iterator[Place]:
    if not guard.suspects(raw):
        return
    memory, own = _memory(raw.removeprefix(BOM))
    if memory is None:
        _, kinds = guard.text(raw.decode("utf-8", "replace"))
    else:
        _, kinds = guard.fields(memory.fields)
    if kinds:
        named = None if own is None else guard.text(own)[0]
        yield Place(name, number, offset, named, dict(kinds))


def _memory(raw: bytes) -> tuple[Memory | None, str | None]:
    """The memory of a line, and its id; of a line of trash, the one it keeps."""
    try:
        held = opened(raw)
    except LineDamage:
        try:
            memory = read_line(raw)
        except LineDamage:
            return None, None
        return memory, memory.source_id or digest(memory).hex()
    try:
        return held.memory, held.id
    except LineDamage:
        return None, held.id
