"""A home as it was at a moment: every line in the tier it was in then, as it stood there."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from skymem.jobs.workplace import Workplace
from skymem.model.plan import Entry, Reason
from skymem.model.spelling import moved, promoted, read_line
from skymem.simulation.bench import Bench
from skymem.simulation.lines import Line
from skymem.simulation.whereabouts import SHORT_FILE, Spot, Whereabouts
from skymem.stores.naming import Naming
from skymem.stores.protection import Protection, Restored, write_protection
from skymem.stores.tiers import tier_of
from skymem.stores.trash import Held

ENTRIES_AT_ONCE: Final = 1000
_UNKNOWN: Final = Reason("by_hand")


def lay_out(
    work: Workplace, begin: Whereabouts, lines: Mapping[str, Mapping[str, Line]], at: float
) -> None:
    """Write every agent's tiers as they were at a moment."""
    for agent, own in lines.items():
        shelf = work.shelf(agent)
        shelf.ensure()
        files: dict[str, list[bytes]] = {}
        repeated = Counter(begin.again.get(agent, ()))
        trash: dict[str, list[Held]] = {}
        for name, spot in begin.spots.get(agent, {}).items():
            line = own.get(name)
            if line is None:
                continue
            if spot.tier == "trash":
                held = _held(name, spot, line)
                trash.setdefault(held.run, []).append(held)
            else:
                files.setdefault(_file(spot), []).append(_spelled(name, spot, line))
            if repeated[name]:
                files.setdefault(SHORT_FILE, []).extend([line.came] * repeated[name])
        for file, each in files.items():
            work.files.append(shelf.paths.directory / file, b"".join(each))
        for run, held_there in trash.items():
            shelf.trash.keep(run, (held.envelope() for held in held_there))
        _protect(work, agent, begin, at)


def tell_before(work: Bench, before: Sequence[Mapping[str, Any]]) -> None:
    """Begin the ledger with what it had up to then: a job goes by what others did before it.

    What was under way at that very moment counts as done.
    """
    if not before:
        return
    path = work.ledger().path
    work.files.make_directory(path.parent)
    for first in range(0, len(before), ENTRIES_AT_ONCE):
        each = before[first : first + ENTRIES_AT_ONCE]
        lines = (json.dumps(one, separators=(",", ":")) for one in each)
        work.files.append(path, "".join(f"{line}\n" for line in lines).encode())
    open_runs = {one["run"]: one for one in before if one["op"] == "begin"}
    for one in before:
        if one["op"] == "end":
            open_runs.pop(one["run"], None)
    ends = (
        {"op": "end", "agent": one["agent"], "run": one["run"], "job": one["job"]}
        for one in open_runs.values()
    )
    work.ledger().append(ends, work.now())


def know_short_term(work: Bench, begin: Whereabouts) -> None:
    """What stands in short-term then was seen by a run before, and does not come in again."""
    for agent in begin.spots:
        shelf = work.shelf(agent)
        work.kept.catch_up(shelf.paths)
        naming = Naming(agent, work.kept)
        naming.name([one for one in shelf.short_entries() if isinstance(one, Entry)])
        work.kept.set_known(agent, bytes(naming.digests), naming.named)


def _file(spot: Spot) -> str:
    if spot.tier == "short":
        return SHORT_FILE
    if spot.tier == "long":
        return "long_term.jsonl"
    stamp = datetime.fromtimestamp(spot.since, UTC).strftime("%Y%m%dT%H%M%SZ")
    return f"short_term_archive_{stamp}.jsonl"


def _spelled(name: str, spot: Spot, line: Line) -> bytes:
    if spot.made:
        return line.stands
    if spot.tier == "short":
        return line.came
    memory = read_line(line.came)
    if spot.tier == "long":
        return promoted(line.came, memory, name, int(spot.since))
    return moved(line.came, memory, name)


def _held(name: str, spot: Spot, line: Line) -> Held:
    tier = "short" if spot.file == SHORT_FILE else tier_of(spot.file)
    stood = _spelled(name, spot._replace(tier=tier), line).strip(b"\n")
    reason = spot.reason or _UNKNOWN
    return Held(name, tier, spot.file, spot.run, spot.since, reason, spot.after, stood)


def _protect(work: Workplace, agent: str, begin: Whereabouts, at: float) -> None:
    protection = Protection()
    for name, pinned in begin.pinned.get(agent, {}).items():
        (protection.pinned if pinned else protection.unpinned)[name] = at
    for name, (since, gate) in begin.restored.get(agent, {}).items():
        if since >= at - work.rules.restore_grace_seconds:
            protection.restored[name] = Restored(since, gate)
    if protection.ids:
        path = work.shelf(agent).paths.protected
        write_protection(path, protection, work.files)
