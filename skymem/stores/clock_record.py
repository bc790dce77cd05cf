"""When the clocks were last seen in order: `state/clock.json` (row X4).

Small and not derived: without it only the last entry of the ledger says what the clock once was.
"""

import json
from typing import Final

from skymem.policy.clock import Seen
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.lock import held
from skymem.stores.status import read_json

SCHEMA_VERSION: Final = 1
LOCK_SECONDS: Final = 30.0


def last_seen(paths: HomePaths) -> Seen | None:
    """What was recorded last; None before the first time, and where it can't be read."""
    found = read_json(paths.clock) or {}
    try:
        return Seen(float(found["wall"]), str(found["boot_id"]), float(found["uptime"]))
    except (KeyError, TypeError, ValueError):
        return None


def damage(paths: HomePaths) -> str:
    """Why the record can't be believed, or "" when it can."""
    if not paths.clock.exists() or last_seen(paths) is not None:
        return ""
    return (
        f"state/{paths.clock.name} can't be read: the clock is held against the last entry of the "
        "ledger (the next run records it anew)"
    )


def was_cut_short(paths: HomePaths) -> bool:
    """Whether a kill left half of a record; recording anew removes it."""
    return any(paths.state.glob(f".{paths.clock.name}.*.new"))


def record_seen(paths: HomePaths, files: Files, seen: Seen) -> None:
    """Record the clocks, found in order; what a kill left of an earlier record is removed.

    Raises:
        DiskError: the record is as before.
        BusyError: another process records for too long.
    """
    document = {"schema_version": SCHEMA_VERSION, **seen._asdict()}
    files.make_directory(paths.state)
    files.make_directory(paths.run)
    with held(paths.run / "clock.lock", "clock", deadline_seconds=LOCK_SECONDS):
        files.remove_left(paths.state, paths.clock.name)
        files.replace(paths.clock, json.dumps(document, allow_nan=False).encode() + b"\n")
