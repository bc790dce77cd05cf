"""What a terminal can show: whether it is one, has colours, and which letters it has.

Looked at once, before anything is drawn on it.
"""

import sys
from collections.abc import Mapping
from typing import Final, NamedTuple

from skymem.errors import UsageError

PLAIN: Final[Mapping[str, str]] = {
    "…": "~", "–": "-", "—": "-", "─": "-", "━": "=", "│": "|", "›": ">", "·": ".", "→": ">",
    "↑": "^", "↓": "v", "“": '"', "”": '"', "‘": "'", "’": "'", "×": "x",
    **dict.fromkeys("╭╮╰╯┌┐└┘├┤┬┴┼", "+"),
}  # fmt: skip
"""What stands for our own letters on a terminal that has them not."""


class Terminal(NamedTuple):
    """What may be drawn."""

    colours: bool
    encoding: str

    def spelled(self, text: str) -> str:
        """The text in the letters this terminal has, each as wide as before."""
        try:
            text.encode(self.encoding)
        except UnicodeEncodeError:
            return "".join(map(self._letter, text))
        return text

    def _letter(self, one: str) -> str:
        from rich.cells import cell_len

        try:
            one.encode(self.encoding)
        except UnicodeEncodeError:
            return PLAIN.get(one, "?") * cell_len(one)
        return one


def terminal_of(environment: Mapping[str, str]) -> Terminal:
    """Look at the terminal this process has.

    Raises:
        UsageError: it has none.
    """
    for name in ("stdout", "stdin", "stderr"):
        stream = getattr(sys, f"__{name}__")
        if stream is None or not stream.isatty():
            raise UsageError(
                f"skymem top is for a terminal, and {name} is none; "
                "for programs: skymem status --json, or skymem status --follow --json"
            )
    encoding = sys.__stderr__.encoding if sys.__stderr__ is not None else "ascii"
    return Terminal(has_colours(environment), encoding)


def has_colours(environment: Mapping[str, str]) -> bool:
    """Whether its name is that of one with colours, and nobody asked for none (no-color.org)."""
    name = environment.get("TERM", "")
    return not (
        environment.get("NO_COLOR")
        or name.startswith(("vt", "dumb", "unknown"))
        or name.endswith(("-m", "-mono"))
        or not name
    )
