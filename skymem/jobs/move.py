"""Carrying out a plan that moves lines out of short-term (design §4, "Promotion").

Order: ledger `begin`, durable → quarantine → the target tier, durable → swap → ledger `end`. A kill
at any point leaves a line in its old place, or in both, never in none; ids tell the second from the
first, and the next run finishes (`jobs.recover`).
"""

import errno
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain, count
from typing import Any, Final

from skymem.errors import DiskError
from skymem.jobs.workplace import Workplace
from skymem.model.identity import DIGEST_BYTES, digest
from skymem.model.memory import Memory
from skymem.model.plan import Action, Damage, Decision, Plan
from skymem.model.spelling import read_line
from skymem.model.strict_json import BOM, LineDamage
from skymem.stores.catalog import Catalog
from skymem.stores.edits import Edit
from skymem.stores.ledger import in_batches
from skymem.stores.shelf import Reading, Shelf
from skymem.stores.swap import ShortTermChangedError

_SERIAL: Final = count(1)

Taken = Iterable[tuple[bytes, Memory, Decision]]
DECISION_BYTES: Final = 200
"""What one decision takes in ledger and catalog, with its line's new fields."""

SPARE_BYTES: Final = 64 * 1024
"""For cursors, status files and the names of new files."""

Store = Callable[[Taken], None]
"""Writes the moved lines to their new tier, durably; a kill may leave some, and ids tell which."""


def carry_out(
    plan: Plan,
    work: Workplace,
    shelf: Shelf,
    catalog: Catalog,
    *,
    reading: Reading,
    moving: Action,
    store: Store,
) -> str:
    """Apply `plan` to the short-term file that `reading` has open; returns the run's id.

    Args:
        plan: what to do.
        work: the home.
        shelf: the agent's tiers; its job lock is held.
        catalog: caught up.
        reading: exhausted, of the very content the plan was made from.
        moving: which of its decisions go to the target tier.
        store: writes those lines there.

    Raises:
        ShortTermChangedError: somebody edited short-term meanwhile; nothing was moved.
        DiskError: nothing was lost; the next run finishes or starts over.
    """
    if plan.decisions:
        assert plan.inputs is not None  # noqa: S101  (a plan with decisions comes from a file)
        shelf.swap.check(plan.inputs)
        _check_room(shelf, plan)
    now = work.now()
    run = run_id(plan.job, now)
    seen = _seen(shelf, catalog, reading)
    begun = [_begin(shelf, plan, run)] if plan.decisions else []
    decided = (_spell(decision) for decision in plan.decisions)
    batches = in_batches("decided", decided, op="decide", agent=plan.agent, run=run)
    work.ledger().append(chain(seen, begun, batches), now)
    if plan.decisions:
        _move(plan, shelf, reading, run=run, now=now, moving=moving, store=store)
        end = {"op": "end", "agent": plan.agent, "run": run, "job": plan.job}
        work.ledger().append([end], work.now())
    try:
        catalog.catch_up(shelf.paths)
        _remember_known(catalog, reading, plan)
    except sqlite3.Error as error:  # derived: the next run catches up
        work.degrade(f"catalog: {error}")
    return run


def _check_room(shelf: Shelf, plan: Plan) -> None:
    """Refuse before anything is written what the disk has no room for.

    A run that fails half way costs a ledger entry each time it is tried again.
    """
    moved = sum(decision.end - decision.start for decision in plan.decisions)
    kept = plan.inputs.consumed if plan.inputs is not None else 0
    needed = kept + moved + len(plan.decisions) * DECISION_BYTES + SPARE_BYTES
    disk = os.statvfs(shelf.paths.directory)
    free = disk.f_frsize * (disk.f_bfree if os.geteuid() == 0 else disk.f_bavail)
    if free < needed:
        raise DiskError(
            str(shelf.paths.short_term),
            f"{os.strerror(errno.ENOSPC)}: a run needs {needed:,} bytes, {free:,} are free",
        )


def run_id(job: str, now: float) -> str:
    """Name a run: sorts by time, and no other has it, even if the clock stands still or jumps."""
    stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    return f"{stamp}_{job}_{os.getpid()}_{next(_SERIAL)}"


def _move(
    plan: Plan,
    shelf: Shelf,
    reading: Reading,
    *,
    run: str,
    now: float,
    moving: Action,
    store: Store,
) -> None:
    assert reading.fd is not None  # noqa: S101  (a plan with decisions comes from a file)
    assert plan.inputs is not None  # noqa: S101
    damages = [
        Damage(decision.start, decision.end, decision.reason.note)
        for decision in plan.decisions
        if decision.action == "quarantine"
    ]
    shelf.quarantine.keep(reading.fd, shelf.paths.short_term.name, damages, run, now)
    chosen = [decision for decision in plan.decisions if decision.action == moving]
    if chosen:
        store(_taken(reading, reading.fd, chosen, shelf))
    gone = [Edit(decision.start, decision.end) for decision in plan.decisions]
    shelf.swap.edit(reading.fd, plan.inputs, gone, run, now)


def _taken(
    reading: Reading, fd: int, chosen: Iterable[Decision], shelf: Shelf
) -> Iterator[tuple[bytes, Memory, Decision]]:
    """Read the lines that move, each checked to be the memory the plan decided about."""
    for decision in chosen:
        raw = os.pread(fd, decision.end - decision.start, decision.start)
        if decision.start == 0:
            raw = raw.removeprefix(BOM)
        try:
            memory = read_line(raw)
        except LineDamage:
            raise ShortTermChangedError(str(shelf.paths.short_term)) from None
        at = decision.line * DIGEST_BYTES
        if digest(memory) != reading.digests[at : at + DIGEST_BYTES]:
            raise ShortTermChangedError(str(shelf.paths.short_term))
        yield raw, memory, decision


def _begin(shelf: Shelf, plan: Plan, run: str) -> dict[str, Any]:
    assert plan.inputs is not None  # noqa: S101  (a plan with decisions comes from a file)
    long_term = shelf.paths.long_term
    return {
        "op": "begin",
        "agent": plan.agent,
        "run": run,
        "job": plan.job,
        "short": [plan.inputs.device, plan.inputs.inode],
        "consumed": plan.inputs.consumed,
        "long_size": long_term.stat().st_size if long_term.exists() else 0,
        "decisions": len(plan.decisions),
    }


def _spell(decision: Decision) -> list[Any]:
    reason = decision.reason
    name = decision.id or f"bytes {decision.start}-{decision.end}"
    return [decision.action, name, reason.gate, reason.value, reason.threshold, reason.note]


def _seen(shelf: Shelf, catalog: Catalog, reading: Reading) -> Iterator[dict[str, Any]]:
    """Record what came in since the last run, and what was edited outside (design §4)."""
    agent = shelf.paths.name
    known = catalog.known(agent)
    there = reading.digests
    if known is None:
        yield from _ids("adopt", agent, _digests(there), reading.named)
    elif there.startswith(known[0]):
        yield from _ids("remember", agent, _digests(there, len(known[0])), reading.named)
    else:
        before, after = set(_digests(known[0])), set(_digests(there))
        gone = [known[1].get(one.hex(), one.hex()) for one in before - after]
        moved = catalog.find(agent, gone)
        edited = sorted(name for name in gone if name not in moved)
        yield from in_batches("ids", edited, op="edited outside", agent=agent)
        new = (one for one in _digests(there) if one not in before)
        yield from _ids("remember", agent, new, reading.named)


def _ids(
    op: str, agent: str, digests: Iterable[bytes], named: dict[str, str]
) -> Iterator[dict[str, Any]]:
    ids = (named.get(name, name) for name in (one.hex() for one in digests))
    return in_batches("ids", ids, op=op, agent=agent)


def _digests(joined: bytes | bytearray, start: int = 0) -> Iterator[bytes]:
    return (bytes(joined[at : at + DIGEST_BYTES]) for at in range(start, len(joined), DIGEST_BYTES))


def _remember_known(catalog: Catalog, reading: Reading, plan: Plan) -> None:
    """Record what stays: the digests between those of the lines that left."""
    stays = bytearray()
    at = 0
    for line in sorted(decision.line for decision in plan.decisions if decision.line >= 0):
        stays += reading.digests[at : line * DIGEST_BYTES]
        at = (line + 1) * DIGEST_BYTES
    stays += reading.digests[at:]
    names = {one.hex() for one in _digests(stays)} if reading.named else set()
    named = {key: name for key, name in reading.named.items() if key in names}
    catalog.set_known(plan.agent, bytes(stays), named)
