"""What the gates that keep memories where they are mean, for a person."""

from types import MappingProxyType
from typing import Final

KEPT: Final = MappingProxyType(
    {
        "another_kind": "like one of another kind",
        "another_origin": "like one from elsewhere",
        "another_place": "like one of another project or section",
        "calibration": "that wait, being more than is usual of their agent",
        "dates": "like another but for dates",
        "direction": "like another but for where from or to",
        "echo": "that say again what was recalled",
        "evidence": "cited by a summary",
        "expires": "that expire",
        "future": "dated in the future",
        "history": "superseded, kept as history",
        "ids": "like another but for ids, paths or versions",
        "importance": "below the threshold",
        "instruction": "that command, from where none is trusted",
        "kind": "of a kind it leaves alone",
        "modality": "like another but for whether it must, may or is said to be so",
        "moment": "that mean the day they were said",
        "names": "like another but for names",
        "negation": "like another but for a negation",
        "never_kind": "of a kind that is never promoted",
        "never_tag": "with a tag that is never promoted",
        "no_time": "without a time",
        "no_ttl": "without a time to live",
        "numbers": "like another but for numbers or units",
        "order": "like another but for who does what, or the order",
        "quantifiers": "like another but for how many",
        "question": "like another, and one of them asks",
        "recalled": "recalled most",
        "restored": "restored of late",
        "ring": "that supersede each other",
        "supersedes": "that supersede what stays",
        "sensitivity": "like one that is not as sensitive",
        "too_young": "too young",
        "whose": "like one of another user, tenant, scope or session",
        "wording": "like another but for its words",
    }
)
"""What the gates that keep memories mean, where their names do not say it."""
