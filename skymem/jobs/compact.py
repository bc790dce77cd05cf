"""Compact: trash is emptied of what has lain in it for its grace (promise 5).

After this `restore` no longer works for them. What a living summary cites stays, so that its
evidence can be looked at (row R10).
"""

from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any

from skymem.errors import SkymemError
from skymem.jobs.move import run_id
from skymem.jobs.prepare import ready
from skymem.jobs.workplace import Workplace
from skymem.stores.catalog import Catalog
from skymem.stores.ledger import in_batches
from skymem.stores.lifecycle import Lifecycle
from skymem.stores.shelf import Shelf
from skymem.stores.trash import Held

DAY_SECONDS = 86_400


def compact(
    work: Workplace, agents: Collection[str], *, dry_run: bool = False
) -> tuple[dict[str, Any], int]:
    """Empty each agent's trash of what is past its grace; the detail and the exit code.

    One agent's failure is recorded and does not stop the next.
    """
    started = work.now()
    each: dict[str, dict[str, Any]] = {}
    code = 0
    with work.catalog() as catalog:
        for agent in agents:
            try:
                each[agent] = _one(work, catalog, agent, dry_run=dry_run)
            except SkymemError as error:
                each[agent] = {"ok": False, "acted": 0, "kept": {}, "error": str(error)}
                code = code or error.exit_code
    kept: Counter[str] = sum((Counter(one["kept"]) for one in each.values()), Counter[str]())
    acted = sum(one["acted"] for one in each.values())
    detail: dict[str, Any] = {
        "ok": all(one["ok"] for one in each.values()),
        "job": "compact",
        "started": started,
        "duration_s": round(work.now() - started, 6),
        "eligible": acted + sum(kept.values()),
        "acted": acted,
        "compacted": acted,
        "skipped": dict(kept),
        "degraded": list(work.degraded),
        "agents": each,
    }
    if dry_run:
        detail["dry_run"] = True
    if not acted:
        detail["why"] = "nothing has lain in trash for its grace" if kept else "trash is empty"
    errors = [f"{agent}: {one['error']}" for agent, one in each.items() if "error" in one]
    if errors:
        detail["error"] = "; ".join(errors)
    return detail, code


def _one(work: Workplace, catalog: Catalog, agent: str, *, dry_run: bool) -> dict[str, Any]:
    if dry_run:
        shelf = work.shelf(agent)
        due, kept = work.ask(catalog, shelf, lambda: _due(work, shelf, catalog))
        return {"ok": True, "acted": len(due), "kept": dict(kept)}
    with ready(work, catalog, agent, "compact") as (shelf, _):
        due, kept = _due(work, shelf, catalog)
        if due:
            _empty(work, shelf, due)
            catalog.catch_up(shelf.paths)
    return {"ok": True, "acted": len(due), "kept": dict(kept)}


def _due(work: Workplace, shelf: Shelf, catalog: Catalog) -> tuple[list[Held], Counter[str]]:
    """What has lain long enough, and what stays, by the gate that keeps it."""
    life = Lifecycle(catalog, shelf.paths.name, work.rules.kinds)
    cited = {one.target for one in life.references("evidence")}
    before = work.now() - work.rules.trash.keep_seconds
    due: list[Held] = []
    kept: Counter[str] = Counter()
    for held in shelf.trash.all():
        if held.trashed_at > before:
            kept["too_young"] += 1
        elif held.id in cited:
            kept["evidence"] += 1
        else:
            due.append(held)
    return due, kept


def _empty(work: Workplace, shelf: Shelf, due: Collection[Held]) -> None:
    """Tell the ledger, then take them away, file by file: a kill leaves some for the next run."""
    agent, now = shelf.paths.name, work.now()
    run = run_id("compact", now)
    whose = {"agent": agent, "run": run}
    days = work.rules.trash.keep_seconds / DAY_SECONDS
    decided = [
        ["compact", held.id, "trash_age", round((now - held.trashed_at) / DAY_SECONDS, 3), days]
        for held in due
    ]
    spelled = ([*one, held.run, held.file, -1] for one, held in zip(decided, due, strict=True))
    begin = {"op": "begin", **whose, "job": "compact", "short": [], "decisions": len(due)}
    batches = in_batches("decided", spelled, op="decide", **whose)
    work.ledger().append([begin, *batches], now)
    by_file: dict[Path, set[str]] = {}
    for held in due:  # by file: what was removed twice has its last removal still to come
        by_file.setdefault(shelf.trash.file_of(held.run), set()).add(held.id)
    for path, ids in by_file.items():
        shelf.trash.without(path, ids)
    work.ledger().append([{"op": "end", **whose, "job": "compact"}], work.now())
