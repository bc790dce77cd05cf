"""What rules, numbers and times are called on the page and in the terminal."""

from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final

from skymem.reporting.figures import RuleFigures
from skymem.reporting.svg import said

RULES: Final = MappingProxyType(
    {
        "importance": "importance reaches the threshold",
        "recalled": "recalled often enough",
        "always_tag": "a tag that is always promoted",
        "always_kind": "a kind that is always promoted",
        "line_limit": "short-term was over its limit of lines",
        "compressed": "became part of a summary",
        "no_summary": "no summary speaks of it",
        "merged": "became part of another",
        "duplicate": "another says the same",
        "expired": "its time to live was over",
        "superseded": "something took its place",
        "old_and_unimportant": "old, and not important",
        "archive_size": "archives were over their limit",
        "trash_age": "its time in trash was over",
        "by_hand": "by hand",
        "undone": "a run was undone",
        "withdrawn": "no longer shared",
    }
)
"""By gate."""

WHAT: Final = MappingProxyType(
    {"promoted": "promoted", "archived": "archived", "trashed": "to trash", "gone": "gone for good"}
)


def rule_words(rule: RuleFigures) -> str:
    """What a rule goes by."""
    return RULES.get(rule.gate, rule.gate.replace("_", " "))


def against(rule: RuleFigures) -> str:
    """The values it decided by, and what they were held against."""
    if rule.lowest is None or rule.highest is None:
        return ""
    low, high = said(rule.lowest), said(rule.highest)
    values = low if low == high else f"{low} to {high}"
    return values if rule.threshold is None else f"{values} against {said(rule.threshold)}"


def moment(at: float | None) -> str:
    """A time, in UTC."""
    return "–" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")


def age(at: float | None, until: float) -> str:
    """How long ago something was."""
    if at is None:
        return "–"
    hours = max(0.0, until - at) / 3600
    return f"{hours:.0f} h" if hours < 48 else f"{hours / 24:.0f} d"


def size(count: int) -> str:
    """How much room something takes."""
    amount = float(count)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.3g} {unit}"
        amount /= 1000
    return f"{amount:,.3g} GB"


def milliseconds(amount: float | None) -> str:
    """How long an answer took."""
    return "–" if amount is None else f"{said(amount)} ms"


def share(part: float | None) -> str:
    """A part of a whole."""
    if part is None:
        return "–"
    return f"{part:.1%}" if 0 < part < 0.1 else f"{part:.0%}"
