"""The configuration keys of the scratchpad: how long it keeps, how much, and what is promoted."""

from typing import Final

from skymem.config.key import RULES_FILE, SCRATCHPAD, TOP, Key
from skymem.config.units import format_duration
from skymem.model.rules import ScratchpadRules

_RULES: Final = ScratchpadRules()


def _from(name: str, default: float, meaning: str) -> Key:
    return Key(
        RULES_FILE, SCRATCHPAD, name, "number", f"{default:g}", meaning, f"{name}: {default:g}",
        "W2", 0, 1,
    )  # fmt: skip


SCRATCHPAD_KEYS: Final = (
    Key(
        RULES_FILE, TOP, "scratchpad", "mapping", "none",
        "How long a conversation's scratchpad keeps, how much, and what of it is promoted.",
        "scratchpad: {keep: 7d}", "W1",
    ),
    Key(
        RULES_FILE, SCRATCHPAD, "keep", "duration", format_duration(_RULES.keep_seconds),
        "How long a snippet is good for after it was last written; what is alike in several "
        "conversations is counted over as long.",
        f"keep: {format_duration(_RULES.keep_seconds)}", "W1", 60, 366 * 86_400,
    ),
    Key(
        RULES_FILE, SCRATCHPAD, "size", "whole number", str(_RULES.size),
        "Snippets of one conversation; the one that was not written for longest leaves.",
        f"size: {_RULES.size}", "W1", 1, _RULES.size,
    ),
    _from(
        "salience", _RULES.salience,
        "How much of a general principle a snippet must be to be promoted.",
    ),
    _from(
        "surprisal", _RULES.surprisal,
        "How far it must be from everything in long-term, to be promoted for what is new in it.",
    ),
    Key(
        RULES_FILE, SCRATCHPAD, "sessions", "whole number", str(_RULES.sessions),
        "In how many conversations it must have been found, to be promoted for that.",
        f"sessions: {_RULES.sessions}", "W2", 2, 1000,
    ),
)  # fmt: skip
"""The table, in the order of the reference."""
