"""The configuration keys of patterns that tenants share (row W10)."""

from typing import Final

from skymem.config.key import PATTERNS, RULES_FILE, TOP, Key
from skymem.model.rules import PatternRules

_RULES: Final = PatternRules()

PATTERN_KEYS: Final = (
    Key(
        RULES_FILE, TOP, "patterns", "mapping", "none",
        "Which tenants give what many have in common, and which take it; off for all others.",
        "patterns: {give: [acme, globex, initech], take: [acme]}", "W10",
    ),
    Key(
        RULES_FILE, PATTERNS, "give", "list", "none",
        "Tenants whose playbooks and business context are looked at.", "give: [acme, globex]",
        "W10",
    ),
    Key(
        RULES_FILE, PATTERNS, "take", "list", "none",
        "Tenants that get what is found.", "take: [acme]", "W10",
    ),
    Key(
        RULES_FILE, PATTERNS, "tenants_least", "whole number", str(_RULES.tenants_least),
        "How many tenants must have a pattern in common for any to get it.",
        f"tenants_least: {_RULES.tenants_least}", "W10", 2, 1000,
    ),
)  # fmt: skip
"""The table, in the order of the reference."""
