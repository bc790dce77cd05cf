"""The configuration keys of `share:`, what other agents may read of one agent (row P17)."""

from typing import Final

from skymem.config.key import RULES_FILE, SHARE, TOP, Key

SHARE_KEYS: Final = (
    Key(
        RULES_FILE, TOP, "share", "list", "none",
        "What other agents may read of one, as copies; `skymem share` makes and withdraws them.",
        "share: [{from: sky, to: [hobbs], kinds: [decision]}]", "P17",
    ),
    Key(
        RULES_FILE, SHARE, "from", "agent", "required", "Whose long-term memories are shared.",
        "from: sky", "P17",
    ),
    Key(
        RULES_FILE, SHARE, "to", "list", "required", "The agents that get a copy.",
        "to: [hobbs, aegis]", "P17",
    ),
    Key(
        RULES_FILE, SHARE, "tags", "list", "none",
        "Shares what has any of these labels. A rule needs tags, kinds or both: then both count.",
        "tags: [ops]", "P17",
    ),
    Key(
        RULES_FILE, SHARE, "kinds", "list", "none", "Shares what is of any of these kinds.",
        "kinds: [decision, fact]", "P17",
    ),
    Key(
        RULES_FILE, SHARE, "trust_min", "number", "0", "What is trusted less is not shared.",
        "trust_min: 0.6", "P17", 0, 1,
    ),
    Key(
        RULES_FILE, SHARE, "trust_max", "number", "1", "No copy is trusted more than this.",
        "trust_max: 0.8", "P17", 0, 1,
    ),
)  # fmt: skip
"""The table, in the order of the reference."""
