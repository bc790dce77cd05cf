"""Undoing an undo: what it had brought back is left alone no longer (promise 10).

That stays where it is; but the rule that had moved it has it again, from the next run of its job.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from skymem.errors import UsageError
from skymem.jobs.move import run_id
from skymem.jobs.prepare import ready
from skymem.jobs.workplace import Workplace
from skymem.stores.catalog import Catalog
from skymem.stores.history import job_of
from skymem.stores.ledger import Ledger, in_batches
from skymem.stores.protection import Protection, read_protection, write_protection


@dataclass(slots=True)
class _Undo:
    """An undo, as the ledger has it."""

    run: str
    agent: str
    of: str
    begun: float
    ended: float = float("inf")
    back: dict[str, str] = field(default_factory=dict)
    """What it brought back, by id, each with the gate of the rule that had moved it."""

    def exempted(self, protection: Protection) -> dict[str, str]:
        """What is still left alone because of it, and of no later one."""
        found = {}
        for name, gate in self.back.items():
            one = protection.restored.get(name)
            if one is not None and one.gate == gate and self.begun <= one.at <= self.ended:
                found[name] = gate
        return found


def lift(
    work: Workplace, catalog: Catalog, run: str, agents: Collection[str], *, dry_run: bool
) -> dict[str, Any]:
    """Drop the exemptions that an undo made; returns the detail, with the ids under `lifted`.

    Raises:
        UsageError: there is no such undo.
        BusyError, DiskError: nothing is lost; do it again.
    """
    found = _found(work.ledger(), run, agents)
    path = work.agent_paths(found.agent).protected
    if dry_run:
        return _detail(found, found.exempted(read_protection(path)))
    with ready(work, catalog, found.agent, "undo") as (shelf, _):
        protection = read_protection(path)
        lifted = found.exempted(protection)
        own = run_id("undo", work.now())
        if lifted:
            whose = {"agent": found.agent, "run": own}
            begin = {"op": "begin", **whose, "job": "undo", "short": [], "of": run}
            each = (["lift", name, gate, None, None, run] for name, gate in lifted.items())
            batches = in_batches("decided", each, op="decide", **whose)
            work.ledger().append([begin, *batches], work.now())
            protection.forget((), work.now() - work.rules.restore_grace_seconds)
            for name in lifted:
                protection.restored.pop(name, None)
            write_protection(path, protection, shelf.files)
            work.ledger().append([{"op": "end", **whose, "job": "undo"}], work.now())
    return {**_detail(found, lifted), **({"runs": [own]} if lifted else {})}


def _found(ledger: Ledger, run: str, agents: Collection[str]) -> _Undo:
    found: _Undo | None = None
    for entry in ledger.mentioning(json.dumps(run).encode()):
        if entry.get("run") != run or entry.get("agent") not in agents:
            continue
        if entry["op"] == "begin" and "of" in entry:
            found = _Undo(run, entry["agent"], entry["of"], entry["ts"])
        elif found is not None and entry["op"] == "decide":
            found.back |= {one[1]: one[2] for one in entry["decided"] if one[0] == "undo"}
        elif found is not None and entry["op"] == "end":
            found.ended = entry["ts"]
    if found is None:
        whose = ", ".join(sorted(agents))
        raise UsageError(f"the ledger has no run {run!r:.80} of {whose}; see: skymem audit log")
    return found


def _detail(found: _Undo, lifted: Collection[str]) -> dict[str, Any]:
    detail: dict[str, Any] = {
        "ok": True,
        "job": "undo",
        "of": found.run,
        "agent": found.agent,
        "acted": len(lifted),
        "restored": [],
        "removed": [],
        "left": {},
        "lifted": [*lifted],
        "again": job_of(found.of),
    }
    if not lifted:
        detail["why"] = "no rule leaves anything alone because of it, or none does any more"
    return detail
