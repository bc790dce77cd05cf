"""Which memories no job may touch, and for how long: `memory/<agent>/protected.json`.

An operator's pins and unpins outrank the `pinned` of a line, whose bytes never change; what was
restored is left alone by the rule that removed it for a grace (promise 10).
"""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from skymem.errors import SkymemError
from skymem.model.memory import Memory
from skymem.stores.files import Files, disk_errors


class ProtectionDamagedError(SkymemError):
    """{0} can't be read, so no job knows what is pinned: {1}"""

    exit_code = 20
    hint = "put a copy of it back, or remove it: then nothing is pinned but by its own line"


BY_A_PERSON: Final = ("by_hand", "undone")


class Restored(NamedTuple):
    """A memory that was brought back."""

    at: float
    """Epoch seconds."""

    gate: str
    """Of the rule that had removed it, and is not to do so again within the grace."""


@dataclass(slots=True)
class Protection:
    """What is protected, of one agent."""

    pinned: dict[str, float] = field(default_factory=dict)
    """Ids and when an operator pinned them, epoch seconds."""

    unpinned: dict[str, float] = field(default_factory=dict)
    """Ids whose own line says `pinned`, and when an operator said otherwise."""

    restored: dict[str, Restored] = field(default_factory=dict)

    @property
    def ids(self) -> set[str]:
        """The memories that something is on record about."""
        return {*self.pinned, *self.unpinned, *self.restored}

    def is_pinned(self, name: str, memory: Memory) -> bool:
        """Whether every job leaves this memory where it is."""
        if name in self.pinned:
            return True
        return memory.pinned and name not in self.unpinned

    def pin(self, name: str, now: float) -> None:
        """Protect a memory from every job."""
        self.unpinned.pop(name, None)
        self.pinned.setdefault(name, now)

    def unpin(self, name: str, memory: Memory, now: float) -> None:
        """Let jobs have it again, whatever its line says."""
        self.pinned.pop(name, None)
        if memory.pinned:
            self.unpinned.setdefault(name, now)

    def restore(self, gates: Mapping[str, str], now: float) -> None:
        """Exempt memories, by id, from the gate that had removed them.

        A person's own hand is no rule: what it removed keeps the exemption that it had.
        """
        by_rule = {name: gate for name, gate in gates.items() if gate not in BY_A_PERSON}
        self.restored |= {name: Restored(now, gate) for name, gate in by_rule.items()}

    def forget(self, names: Collection[str], ended_before: float) -> None:
        """Drop what concerns memories that are gone, and graces that began before a time."""
        for name in names:
            self.pinned.pop(name, None)
            self.unpinned.pop(name, None)
        self.restored = {
            name: one
            for name, one in self.restored.items()
            if one.at >= ended_before and name not in names
        }


def read_protection(path: Path) -> Protection:
    """Read the file; one that isn't there protects nothing.

    Raises:
        ProtectionDamagedError: it is there and can't be read: who destroys must not guess.
        DiskError: the disk refuses.
    """
    with disk_errors(path):
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return Protection()
    try:
        document = json.loads(data)
        return Protection(
            _times(document["pinned"].items()),
            _times(document["unpinned"].items()),
            {
                str(name): Restored(float(one["ts"]), str(one["gate"]))
                for name, one in document["restored"].items()
            },
        )
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ProtectionDamagedError(str(path), f"{type(error).__name__}: {error}") from None


def write_protection(path: Path, protection: Protection, files: Files) -> None:
    """Put the file in its place, whole; returns once it is durable.

    Raises:
        DiskError: it is as before.
    """
    document = {
        "schema_version": 1,
        "pinned": protection.pinned,
        "unpinned": protection.unpinned,
        "restored": {
            name: {"ts": one.at, "gate": one.gate} for name, one in protection.restored.items()
        },
    }
    files.replace(path, json.dumps(document, allow_nan=False).encode() + b"\n")


def _times(pairs: Iterable[tuple[Any, Any]]) -> dict[str, float]:
    return {str(name): float(value) for name, value in pairs}
