"""The configuration keys of `promote:`, of the home and of one agent (rows P13, P14)."""

from typing import Final

from skymem.config.key import AGENT, DECAY, PROMOTE, RECALLED, RULES_FILE, TOP, Key
from skymem.config.units import format_duration
from skymem.model.promotion import USUAL_PROMOTION

_DECAY: Final = USUAL_PROMOTION.decay
_RECALLED: Final = USUAL_PROMOTION.recalled


def _words(name: str, meaning: str, example: str) -> Key:
    return Key(RULES_FILE, PROMOTE, name, "list", "none", meaning, f"{name}: {example}", "P14")


PROMOTE_KEYS: Final = (
    Key(
        RULES_FILE, TOP, "promote", "mapping", "none",
        "What else decides about a promotion beside `promote_threshold`.",
        "promote: {always_tags: [critical]}", "P13, P14",
    ),
    Key(
        RULES_FILE, AGENT, "promote", "mapping", "as at the top level",
        "The agent's own `promote`, with the same keys: what it does not say is as for everyone.",
        "promote: {never_tags: [draft]}", "P13, P14",
    ),
    Key(
        RULES_FILE, PROMOTE, "decay", "mapping", "none",
        "Lets the threshold fall with a memory's age.",
        "decay: {per_day: 0.01, floor: 0.5}", "P13",
    ),
    Key(
        RULES_FILE, DECAY, "per_day", "number", f"{_DECAY.per_day}",
        "By how much the threshold falls each day; 0 lets it stand.",
        "per_day: 0.01", "P13", 0, 1,
    ),
    Key(
        RULES_FILE, DECAY, "floor", "number", f"{_DECAY.floor}",
        "The threshold never falls below this.", "floor: 0.5", "P13", 0, 1,
    ),
    Key(
        RULES_FILE, PROMOTE, "recalled", "mapping", "none",
        "How often a memory is recalled before that alone promotes it.",
        "recalled: {times: 3, queries: 2}", "issue 10",
    ),
    Key(
        RULES_FILE, RECALLED, "times", "whole number", str(_RECALLED.times),
        "How often; the same question on the same day counts once. 0: recall promotes nothing.",
        "times: 3", "issue 10", 0, 10_000,
    ),
    Key(
        RULES_FILE, RECALLED, "queries", "whole number", str(_RECALLED.queries),
        "By how many different questions.", "queries: 2", "issue 10", 1, 10_000,
    ),
    Key(
        RULES_FILE, RECALLED, "within", "duration", format_duration(_RECALLED.within_seconds),
        "Recalls longer ago than this count no more.", "within: 30d", "issue 10",
        3600, 400 * 86_400,
    ),
    _words("always_tags", "Promotes what has any of these labels.", "[critical, user_goal]"),
    _words("never_tags", "Never promotes what has any of these: before all else.", "[draft]"),
    _words("always_kinds", "Promotes what is of any of these kinds.", "[decision]"),
    _words("never_kinds", "Never promotes what is of any of these.", "[log]"),
    Key(
        RULES_FILE, PROMOTE, "calibrate", "word", USUAL_PROMOTION.calibrate,
        "Whether what is far more than usual of an agent waits in short-term: never, by its own "
        "history, or before it has one too, where nearly all its importances are the same.",
        "calibrate: strict", "issue 10", choices=("none", "history", "strict"),
    ),
)  # fmt: skip
"""The table, in the order of the reference."""
