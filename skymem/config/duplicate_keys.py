"""The configuration keys of `merge: duplicates:` (row P15)."""

from typing import Final

from skymem.config.key import DUPLICATES, MERGE, RULES_FILE, Key
from skymem.model.rules import DuplicateRules

_RULES: Final = DuplicateRules()

DUPLICATE_KEYS: Final = (
    Key(
        RULES_FILE, MERGE, "duplicates", "mapping", "none",
        "When memories that say the same in other words become one.",
        f"duplicates: {{likeness: {_RULES.likeness:g}}}", "P15",
    ),
    Key(
        RULES_FILE, DUPLICATES, "likeness", "number", f"{_RULES.likeness:g}",
        "Likeness in meaning from which they may; all they say must agree. none: nobody looks.",
        f"likeness: {_RULES.likeness:g}", "P15", 0.5, 1,
    ),
    Key(
        RULES_FILE, DUPLICATES, "on_promotion", "true or false", "false",
        "Whether promote looks as well, and asks the engine for it; merge does in any case.",
        "on_promotion: true", "P15",
    ),
)  # fmt: skip
"""In the order in which they stand in the file."""
