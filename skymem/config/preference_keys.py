"""The configuration keys of what a user prefers: preferences and playbooks (rows W3, W7)."""

from typing import Final

from skymem.config.key import PLAYBOOKS, PREFERENCE, RULES_FILE, TOP, Key
from skymem.config.units import format_duration
from skymem.model.preference import TYPES
from skymem.model.rules import PlaybookRules

_PLAYBOOKS: Final = PlaybookRules()
_NUMBER_MAX: Final = 10**15


def _of_preference(name: str, kind: str, default: str, meaning: str, example: str) -> Key:
    return Key(RULES_FILE, PREFERENCE, name, kind, default, meaning, example, "W3")


def _bound(name: str, meaning: str) -> Key:
    return Key(
        RULES_FILE, PREFERENCE, name, "number", "none", meaning, f"{name}: 5", "W3",
        -_NUMBER_MAX, _NUMBER_MAX,
    )  # fmt: skip


PREFERENCE_KEYS: Final = (
    Key(
        RULES_FILE, TOP, "preferences", "mapping", "none",
        "The preferences a user may have, by name. With none declared any name is good.",
        "preferences: {verbosity: {type: word, choices: [terse, full], default: full}}", "W3",
    ),
    Key(
        RULES_FILE, PREFERENCE, "type", "word", "text", "What its value is.",
        "type: word", "W3", choices=TYPES,
    ),
    _of_preference(
        "choices", "list", "any", "The values it may have; of a list, its items.",
        "choices: [brief, normal, deep]",
    ),
    _of_preference(
        "default", "value", "none", "What it is while nobody has said.", "default: normal",
    ),
    _of_preference(
        "related", "list", "none",
        "Other preferences that whoever looks for this one wants to see beside it.",
        "related: []",
    ),
    _of_preference(
        "meaning", "text", "none", "What it is about; it is found by these words, too.",
        "meaning: How deep an analysis goes",
    ),
    _bound("least", "The least value of a number."),
    _bound("most", "The greatest value of a number."),
    Key(
        RULES_FILE, TOP, "playbooks", "mapping", "none", "When a playbook fits what is asked.",
        "playbooks: {likeness: 0.6}", "W7",
    ),
    Key(
        RULES_FILE, PLAYBOOKS, "likeness", "number", f"{_PLAYBOOKS.likeness:g}",
        "Likeness in meaning of what is asked to a playbook's own question from which it fits.",
        f"likeness: {_PLAYBOOKS.likeness:g}", "W7", 0, 1,
    ),
    Key(
        RULES_FILE, PLAYBOOKS, "words", "number", f"{_PLAYBOOKS.words:g}",
        "The same by the words that both have, where there is no engine.",
        f"words: {_PLAYBOOKS.words:g}", "W7", 0, 1,
    ),
    Key(
        RULES_FILE, PLAYBOOKS, "waits", "duration", format_duration(_PLAYBOOKS.waits_seconds),
        "How long a completed flow waits for the user's next turn before it is given up.",
        f"waits: {format_duration(_PLAYBOOKS.waits_seconds)}", "W6", 60, 30 * 86_400,
    ),
)  # fmt: skip
"""The table, in the order of the reference."""
