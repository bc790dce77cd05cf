"""Restore: what is in trash comes back to its tier, byte for byte (promise 5)."""

from collections.abc import Collection
from typing import Any

from skymem.errors import ElsewhereError
from skymem.jobs.move import run_id
from skymem.jobs.prepare import ready, settle
from skymem.jobs.put_back import Return
from skymem.jobs.workplace import Workplace
from skymem.policy.admit import check_beginning
from skymem.stores.catalog import Catalog
from skymem.stores.ledger import in_batches
from skymem.stores.shelf import Shelf
from skymem.stores.trash import Held


def restore(
    work: Workplace, agent: str, names: Collection[str], *, dry_run: bool = False
) -> dict[str, Any]:
    """Bring memories back; returns the detail, with the ids under `restored`.

    Args:
        work: the home.
        agent: whose trash.
        names: ids, or their first letters.
        dry_run: only say what would come back.

    Raises:
        UnknownMemoryError: one is not in trash; nothing was restored.
        UsageError: a name is empty.
        BusyError, DiskError: nothing is lost; do it again.
    """
    started = work.now()
    with work.catalog() as catalog:
        wanted = _find(work.shelf(agent), names)  # before a restore that was killed is finished
        if dry_run:
            shelf = work.shelf(agent)
            back = work.ask(catalog, shelf, lambda: _back(work, shelf, catalog, wanted, wanted))
            return {**_detail(agent, back, started, started), "dry_run": True}
        run = run_id("restore", work.now())
        with ready(work, catalog, agent, "restore") as (shelf, _):
            lying = shelf.trash.find({one.id for one in wanted})
            _check_back(shelf, catalog, {one.id for one in wanted} - lying.keys())
            held = [lying[one.id] for one in wanted if one.id in lying]
            if held:
                _bring_back(work, shelf, catalog, run, held)
            back = _back(work, shelf, catalog, wanted)
        settle(work, shelf, {run})
    runs = [run] if held else []
    return {**_detail(agent, back, started, work.now()), "runs": runs}


def _back(
    work: Workplace,
    shelf: Shelf,
    catalog: Catalog,
    held: Collection[Held],
    coming: Collection[Held] = (),
) -> list[dict[str, str]]:
    """Say of each that comes back where it is then, and whether readers return it: if active."""
    back = [(one.id, one.memory) for one in coming]
    standings = work.standings(shelf, catalog, coming=back)
    found = []
    for one in held:
        told = {"id": one.id, "tier": one.tier}
        told["standing"] = standings.of_memory(one.id, one.memory)
        if (by := standings.chains.superseded_by(one.id)) is not None:
            told["superseded_by"] = by
        found.append(told)
    return found


def _check_back(shelf: Shelf, catalog: Catalog, names: Collection[str]) -> None:
    """Check that what lies in trash no more has come back, and is not gone for good."""
    for name in sorted(names):
        if not shelf.find(name, catalog):
            raise ElsewhereError(f"{name} is not in trash (agent {shelf.paths.name})")


def _bring_back(
    work: Workplace, shelf: Shelf, catalog: Catalog, run: str, held: Collection[Held]
) -> None:
    agent = shelf.paths.name
    back = Return(work, shelf, catalog)
    for one in held:
        back.add_held(one)
    begin = {"op": "begin", "agent": agent, "run": run, "job": "restore", "short": []}
    end = {"op": "end", "agent": agent, "run": run, "job": "restore"}
    decided = [["restore", one.id, *one.reason[:3], one.run, one.file, -1] for one in held]
    batches = in_batches("decided", decided, op="decide", agent=agent, run=run)
    work.ledger().append([begin, *batches], work.now())
    back.carry_out(run)
    work.ledger().append([end], work.now())


def _find(shelf: Shelf, names: Collection[str]) -> list[Held]:
    """Find each by its id, or by letters that begin just one."""
    exact: dict[str, Held] = {}
    order: dict[str, int] = {}
    begins: dict[str, dict[str, Held]] = {check_beginning(name): {} for name in names}
    for number, held in enumerate(shelf.trash.all()):  # the last removal wins
        order[held.id] = number
        for name in names:
            if held.id == name:
                exact[name] = held
            elif held.id.startswith(name):
                begins[name][held.id] = held
    found: dict[str, Held] = {}
    for name in names:
        near = [exact[name]] if name in exact else [*begins[name].values()]
        if not near:
            raise ElsewhereError(
                f"{name} is not in trash (agent {shelf.paths.name}){_unread(shelf)}"
            )
        if len(near) > 1:
            ids = ", ".join(one.id for one in near[:5])
            raise ElsewhereError(f"{name} is the beginning of several: {ids}")
        found[near[0].id] = near[0]
    return sorted(found.values(), key=lambda one: order[one.id])


def _unread(shelf: Shelf) -> str:
    """Where what is looked for may be all the same."""
    lines = sum(shelf.trash.unreadable(path) for path in shelf.trash.names())
    if not lines:
        return ""
    return f"; it may be in {lines} line(s) there that can't be read: skymem trash list"


def _detail(
    agent: str, restored: Collection[dict[str, str]], started: float, ended: float
) -> dict[str, Any]:
    return {
        "ok": True,
        "job": "restore",
        "started": started,
        "duration_s": round(ended - started, 6),
        "acted": len(restored),
        "agent": agent,
        "restored": list(restored),
    }
