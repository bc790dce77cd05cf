"""Complaints about a configuration file, collected so that all of them are told at once."""

import json
from dataclasses import dataclass, field
from typing import Final, Protocol

from skymem.errors import ConfigurationError

_SHOWN_MAX: Final = 60  # characters of the user's own text in a message


class Spot(Protocol):
    """Anything that knows where in its file it stands, both counted from 1."""

    @property
    def line(self) -> int:
        """The line."""

    @property
    def column(self) -> int:
        """The column."""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One complaint: `retention_rules.yaml:12:3: unknown key …`."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message}"

    def as_json(self) -> dict[str, str | int]:
        """The complaint as `skymem config check --json` prints it."""
        return {
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "message": self.message,
        }


@dataclass(slots=True)
class Complaints:
    """What is wrong with one file so far."""

    file: str
    found: list[Problem] = field(default_factory=list)

    def at(self, spot: Spot, message: str) -> None:
        """Note a complaint about what stands at the spot."""
        self.note(spot.line, spot.column, message)

    def note(self, line: int, column: int, message: str) -> None:
        """Note a complaint about a line and column, both counted from 1."""
        self.found.append(Problem(self.file, line, column, _one_line(message)))

    def sorted(self) -> list[Problem]:
        """The complaints in the order of the file."""
        return sorted(self.found)

    def raise_if_any(self) -> None:
        """Raise one ConfigurationError that holds every complaint, one a line."""
        if self.found:
            raise ConfigurationError("\n".join(map(str, self.sorted())))


def shown(text: str) -> str:
    r"""Text from a file, quoted and cut for a message; look-alikes and controls as `\uXXXX`."""
    return json.dumps(text if len(text) <= _SHOWN_MAX else text[: _SHOWN_MAX - 3] + "...")


def _one_line(message: str) -> str:
    """Keep a message to its one line and to what a terminal prints, whatever was quoted in it."""
    return "".join(
        character if character.isprintable() else ascii(character)[1:-1] for character in message
    )
