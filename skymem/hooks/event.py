"""What a coding agent tells a hook on stdin: one JSON object, of which every field may be missing.

The shape is the one Claude Code documents; fields we don't know are passed over, and one of another
type than it should have counts as missing.
"""

import json
from dataclasses import dataclass
from typing import Any, Final

NAME_LETTERS_MAX: Final = 200
TEXT_LETTERS_MAX: Final = 65_536
"""Of a tool's input and answer, what is looked at: secrets leave it before it is cut."""

TELLING: Final = (
    "command", "file_path", "notebook_path", "path", "url", "query", "pattern", "description",
    "prompt",
)  # fmt: skip
"""Of a tool's input, what says what was done; of one with none of these all is told."""

ANSWERS: Final = ("stdout", "stderr", "content", "result", "output", "text", "error")
"""The same of what it answered."""


class NoEventError(ValueError):
    """What came on stdin is no event; says why, without what stood there."""


@dataclass(frozen=True, slots=True)
class Event:
    """What happened."""

    fields: dict[str, Any]

    @classmethod
    def read(cls, data: bytes) -> "Event":
        """Read what came on stdin.

        Raises:
            NoEventError: it is no JSON object.
        """
        try:
            found = json.loads(data.decode())
        except UnicodeDecodeError:
            raise NoEventError("what came on stdin is not UTF-8") from None
        except RecursionError:
            raise NoEventError("what came on stdin is nested too deep") from None
        except ValueError:
            raise NoEventError("what came on stdin is not JSON") from None
        if not isinstance(found, dict):
            raise NoEventError("what came on stdin is no JSON object")
        return cls(found)

    def text(self, name: str, most: int = NAME_LETTERS_MAX) -> str:
        """A field that is a text, as UTF-8 can spell it; "" where it is none."""
        value = self.fields.get(name)
        return utf8(value[:most]) if isinstance(value, str) else ""

    @property
    def prompt(self) -> str:
        """What the user asked."""
        return self.text("prompt", TEXT_LETTERS_MAX).strip()

    @property
    def done(self) -> str:
        """What a tool was told to do, in a few words; "" where nobody says."""
        return _told(self.fields.get("tool_input"), TELLING)

    @property
    def answer(self) -> str:
        """What it answered; "" where it said nothing."""
        return _told(self.fields.get("tool_response"), ANSWERS)


def utf8(text: str) -> str:
    """A text without what UTF-8 can't spell: half a letter that JSON escaped."""
    return text.encode(errors="replace").decode()


def _told(value: Any, telling: tuple[str, ...]) -> str:
    """What a value says to a reader: its telling fields, else all of it as JSON."""
    if isinstance(value, dict):
        parts = [value[name] for name in telling if isinstance(value.get(name), str)]
        value = "\n".join(one for one in parts if one.strip()) or value
    if value in (None, "", {}, []):
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return utf8(text[:TEXT_LETTERS_MAX]).strip()
