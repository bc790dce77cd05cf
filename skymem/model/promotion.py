"""What else decides about a promotion beside the threshold: age, tags, kinds, recall, calibration.

Rows P13 and P14. `policy.earning` says how they go together; without a key set, importance alone
counts against the threshold (row P6), and what recall teaches.
"""

from typing import Literal, NamedTuple

Calibrate = Literal["none", "history", "strict"]


class DecayRules(NamedTuple):
    """The threshold falls with the age of a memory (row P13)."""

    per_day: float = 0.0
    """By how much each day; 0 lets it stand."""

    floor: float = 0.5
    """It never falls below this."""


class RecalledRules(NamedTuple):
    """How often a memory is recalled before that alone promotes it."""

    times: int = 3
    """The same question on the same day counts once; 0 teaches nothing."""

    queries: int = 2
    """Different questions among them."""

    within_seconds: float = 30 * 86_400.0
    """What is longer ago counts no more."""


class PromotionRules(NamedTuple):
    """The section `promote:`, of the home or of one agent."""

    decay: DecayRules = DecayRules()
    recalled: RecalledRules = RecalledRules()
    always_tags: tuple[str, ...] = ()
    """Casefolded, as all four."""

    never_tags: tuple[str, ...] = ()
    always_kinds: tuple[str, ...] = ()
    never_kinds: tuple[str, ...] = ()
    calibrate: Calibrate = "history"
    """Whether what is far more than usual waits: never; by the agent's own history; or before it
    has one too, where nearly all its importances are the same."""


USUAL_PROMOTION = PromotionRules()
