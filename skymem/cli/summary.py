"""One line that says what a run did; `status` and the job verbs print it."""

from typing import Any


def summary(detail: dict[str, Any]) -> str:
    """Say what a run did, in one line."""
    would = "would be " if detail.get("dry_run") else ""
    parts = []
    if "promoted" in detail:
        parts.append(f"{detail['promoted']} {would}promoted")
    if "archived" in detail:
        parts.append(f"{detail['archived']} {would}archived")
    if "embedded" in detail:
        parts.append(f"{detail['embedded']:,} embedded, {detail['pending']:,} pending")
    if detail.get("indexed") is not None:
        parts.append(f"{detail['indexed']:,} indexed")
    if detail.get("remaining") is not None:
        parts.append(f"{detail['remaining']} remain in short-term")
    for key, words in (("repeats", "repeated"), ("quarantined", "quarantined")):
        if detail.get(key):
            parts.append(f"{detail[key]} {words}")
    why = f" ({detail['why']})" if "why" in detail else ""
    return f"{detail['job']}: {', '.join(parts)}{why}"
