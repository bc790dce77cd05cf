"""One line that says what a run did; `status` and the job verbs print it."""

from collections.abc import Mapping
from typing import Any, Final

_DONE: Final = (
    ("promoted", "{promoted} {would}promoted"),
    (
        "compressed",
        "{compressed} {would}compressed ({profile} profile(s) and {projects} project(s) written)",
    ),
    ("context", "{context} {would}added to business context, {preferences} to preferences"),
    ("merged", "{merged} {would}merged into {batches}"),
    ("shared", "{shared} {would}shared, {withdrawn} {would}withdrawn"),
    ("taken_in", "{taken_in} chunk(s) {would}taken in"),
    ("trashed", "{trashed} {would}moved to trash"),
    ("forgotten", "{forgotten} {would}forgotten"),
    ("rewritten", "{erased} {would}erased for good, {rewritten} said again without"),
    ("corrected", "{corrected} {would}corrected"),
    ("restored", "{restored} {would}brought back"),
    ("compacted", "{compacted} {would}gone for good"),
    ("models", "{models} model(s) {would}taken"),
    ("pinned", "{pinned} pinned"),
    ("unpinned", "{unpinned} unpinned"),
    ("archived", "{archived} {would}archived"),
    ("embedded", "{embedded:,} embedded, {pending:,} pending"),
    ("indexed", "{indexed:,} indexed"),
    ("remaining", "{remaining} remain in short-term"),
)
"""What is told of a detail that has the key, in this order."""

_WHERE_ANY: Final = (
    ("removed", "{removed} of its own {would}moved to trash"),
    ("repeats", "{repeats} repeated"),
    ("quarantined", "{quarantined} quarantined"),
    ("unasked", "the summarizer {asks} about {unasked}"),
    ("taken_out", "{taken_out:,} without a line taken out"),
    ("let_go", "{let_go:,} superseded taken out"),
)

_LISTS: Final = ("restored", "removed", "pinned", "unpinned")
"""Keys that list ids, which are counted."""


def summary(detail: dict[str, Any]) -> str:
    """Say what a run did, in one line."""
    planned = bool(detail.get("dry_run"))
    words = {
        **detail,
        "would": "would be " if planned else "",
        "asks": "would be asked" if planned else "was not asked",
    }
    words |= {key: len(detail[key]) for key in _LISTS if isinstance(detail.get(key), list)}
    parts = [said.format_map(words) for key, said in _DONE if detail.get(key) is not None]
    parts += [said.format_map(words) for key, said in _WHERE_ANY if detail.get(key)]
    why = f" ({detail['why']})" if "why" in detail else ""
    return f"{detail['job']}: {', '.join(parts) or 'done'}{why}"


def building_words(building: Mapping[str, Any]) -> str:
    """How far an index is that is being filled."""
    rate, left = building.get("per_second") or 0, building.get("left_s")
    ends = "" if left is None else f", {left:,.0f} s left"
    done, whole = building["done"], building["of"]
    return f"its index is being filled: {done:,} of {whole:,} ({rate:,.0f}/s{ends})"
