"""`skymem demo`: a throw-away home where every job can be seen at work, with its reasons."""

import tempfile
from pathlib import Path
from typing import Any, Final

from skymem.app import Home, engine_allowed, init_home, now, open_home
from skymem.errors import SkymemError
from skymem.model.spelling import compose, new_fields

HOUR: Final = 3600.0

_SAMPLES: Final = (
    ("User said hello", ["greeting"], 0.1),
    ("Morning report workflow initiated", ["report"], 0.2),
    ("User wants daily sleep reports at 7am with speech", ["preference", "schedule"], 0.9),
    ("Sleep data retrieved: 7h 23m", ["sleep"], 0.4),
    ("Downloader failed: connection timeout; the proxy needs a restart", ["error"], 0.75),
    ("Listed the files of the project", ["tool"], 0.1),
    ("Decided: the archive moves to the small disk on Sunday", ["decision"], 0.92),
    ("Wrote the weekly summary", ["report"], 0.3),
)

_ESCALATION: Final = (
    b'{"timestamp": "2025-11-08T07:00:10Z", "content": "Escalated the failure to Aegis", '
    b'"score": 9, "metadata": {"type": "escalation", "escalated_to": "Aegis"}}\n'
)

_TORN: Final = b'{"ts": 1700000000, "content": "a writer was kil\n'

_QUESTION: Final = "why could nothing be downloaded?"

_RULES: Final = """\
promote_threshold: 0.70
short_term_max_lines: 4
"""


def run_demo() -> dict[str, Any]:
    """Make the home, run the jobs, and tell the story.

    Returns:
        `home`, `jobs` (their details) and `lines` (the story for a person).
    """
    root = Path(tempfile.mkdtemp(prefix="skymem-demo-"))
    init_home(root)
    (root / "retention_rules.yaml").write_text(_RULES)
    home = open_home(str(root))
    start = now() - len(_SAMPLES) * HOUR
    lines = [
        compose(new_fields(text, ts=start + number * HOUR, tags=tags, importance=importance))
        for number, (text, tags, importance) in enumerate(_SAMPLES)
    ]
    short_term = home.paths.agent("sky").short_term
    home.files.append(short_term, b"".join([*lines, _ESCALATION, _TORN]))
    texts = _texts(home.shelf("sky"))
    _, planned = home.run_job("memory_rotate_check", dry_run=True)
    detail, _ = home.run_job("memory_rotate_check")
    told = [f"A home with {len(_SAMPLES) + 2} lines in short-term: {root}", ""]
    for outcome in planned:
        told.append(f"{outcome.job} decides:")
        for decision in outcome.plans[0].decisions:
            what = texts.get(decision.id, "a line that is no JSON")
            told.append(f"  {decision.action:<10} {what:<58.58} {decision.reason.words()}")
    told += [
        "",
        _sum(detail),
        *_recalled(home),
        "Nothing was deleted: look at",
        *(f"  {path.relative_to(root)}" for path in sorted(root.glob("memory/sky/*.jsonl"))),
        "and ask on: skymem --home " + str(root) + " status",
    ]
    return {"home": str(root), "jobs": [detail], "lines": told}


def _recalled(home: Home) -> list[str]:
    """What is found by meaning, where there is an engine to be had."""
    from skymem.recall.request import ask
    from skymem.recall.search import recall

    if not engine_allowed():
        return []
    try:
        found = recall(home.workplace(), "sky", ask(_QUESTION, limit=2), home.engine)
    except SkymemError as error:
        return ["", f"Recall is not to be had: {error}"]
    told = ["", f'Asked "{_QUESTION}" (skymem recall), it finds:']
    told += [f"  {one.score:.3f} {one.tier:<7} {one.content:.70}" for one in found]
    return [*told, *(f"  degraded: {reason}" for reason in found.degraded), ""]


def _sum(detail: dict[str, Any]) -> str:
    return (
        f"Done: {detail['promoted']} promoted, {detail['archived']} archived, "
        f"{detail['quarantined']} quarantined, {detail['remaining']} remain in short-term."
    )


def _texts(shelf: Any) -> dict[str, str]:
    return {
        entry.digest.hex(): entry.memory.content
        for entry in shelf.short_entries()
        if hasattr(entry, "memory")
    }
