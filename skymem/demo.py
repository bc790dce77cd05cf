"""`skymem demo`: a throw-away home where every job can be seen at work, with its reasons."""

import tempfile
from pathlib import Path
from typing import Any, Final

from skymem.app import Home, engine_allowed, init_home, now, open_home
from skymem.errors import SkymemError
from skymem.jobs.summary import summary
from skymem.model.plan import Plan
from skymem.model.spelling import compose, new_fields

HOUR: Final = 3600.0
JOBS: Final = ("memory_rotate_check", "compress", "merge", "prune")

DAY: Final = 24 * HOUR

_OLD: Final[tuple[tuple[str, float, dict[str, Any]], ...]] = (
    ("User prefers metric units", 0.6, {"kind": "preference"}),
    (
        "The summary goes to the printer on floor 2",
        0.5,
        {"kind": "project", "tags": ["project:report"]},
    ),
    ("The door code for today is 4711", 0.4, {"ttl_days": 1}),
)
"""Three days old: two of them are to be compressed, and one has expired."""

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
short_term_max_lines: 7
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
    short_term = home.shelf("sky").paths.short_term
    lines = [*_lines(now()), _ESCALATION, _TORN]
    home.files.append(short_term, b"".join(lines))
    texts = _texts(home.shelf("sky"))
    told = [f"A home with {len(lines)} lines in short-term: {root}"]
    details = []
    for job in JOBS:
        _, planned = home.run_job(job, dry_run=True)
        told += [line for outcome in planned for line in _decided(outcome.plans[0], texts)]
        detail, _ = home.run_job(job)
        details.append(detail)
        told.append(f"done: {summary(detail)}")
    told += [
        *_recalled(home),
        "Nothing is gone: what was removed lies in trash. Look at",
        *(f"  {path.relative_to(root)}" for path in sorted(root.glob("memory/sky/*.jsonl"))),
        *(f"  {path.relative_to(root)}" for path in sorted(root.glob("memory/sky/trash/*.jsonl"))),
        "and ask on:",
        f"  skymem --home {root} status",
        f"  skymem --home {root} explain {next(iter(texts))[:12]}",
        f"  skymem --home {root} undo",
    ]
    return {"home": str(root), "jobs": details, "lines": told}


def _lines(at: float) -> list[bytes]:
    """The samples, the oldest last but for the greeting: rotate takes the first line."""
    start = at - len(_SAMPLES) * HOUR
    found = [
        new_fields(text, ts=start + number * HOUR, tags=tags, importance=importance)
        for number, (text, tags, importance) in enumerate(_SAMPLES)
    ]
    found += [
        new_fields(text, ts=at - 3 * DAY, importance=importance, extra=extra)
        for text, importance, extra in _OLD
    ]
    return [compose(fields) for fields in found]


def _decided(plan: Plan, texts: dict[str, str]) -> list[str]:
    """What one plan decides, and what it makes, for a person."""
    told = ["", f"{plan.job} decides:"]
    for decision in plan.decisions:
        what = texts.get(decision.id, "a line that is no JSON")
        told.append(f"  {decision.action:<10} {what:<52.52} {decision.reason.words()}")
    told += [f"  writes     a {one.what} that cites {len(one.evidence)}" for one in plan.additions]
    return told if len(told) > 2 else []


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


def _texts(shelf: Any) -> dict[str, str]:
    return {
        entry.digest.hex(): entry.memory.content
        for entry in shelf.short_entries()
        if hasattr(entry, "memory")
    }
