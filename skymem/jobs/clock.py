"""Holding the clock against the last time: a moved one stops what goes by age (promise 5, X4)."""

from typing import Final

from skymem.errors import ClockMovedError
from skymem.jobs.workplace import Workplace
from skymem.policy.clock import Seen, moved
from skymem.stores.clock_record import last_seen, record_seen, was_cut_short

GO_BY_AGE: Final = ("compress", "merge", "prune", "compact")
"""Jobs that decide by how old something is."""

RECORDED_EVERY_SECONDS: Final = 60.0
"""A run with nothing to do must not cost a write each time."""


def check_clock(work: Workplace, job: str, *, dry_run: bool = False) -> None:
    """Let a job go on if the clock did, and record that it did.

    Raises:
        ClockMovedError: it moved, and the job goes by age; nothing was removed.
        DiskError: what was seen can't be recorded.
    """
    if work.clock_seen is None:
        return
    last, now = _last(work), work.clock_seen()
    how = moved(last, now)
    if how is not None and not work.accept_clock:
        if job in GO_BY_AGE:
            raise ClockMovedError(how)
        work.degrade(f"clock: {how}")
        return
    if not dry_run and (how or not _is_fresh(last, now) or was_cut_short(work.paths)):
        record_seen(work.paths, work.files, now)


def clock_alarm(work: Workplace) -> str:
    """Say that the clock moved, and how to go on; "" when it went on as clocks do.

    Raises:
        DiskError: what is known of it can't be read.
    """
    how = None if work.clock_seen is None else moved(_last(work), work.clock_seen())
    if how is None:
        return ""
    return (
        f"the clock moved: {how}; {', '.join(GO_BY_AGE)} stop (25) until it is set right or, "
        "if it is right now, until one of them is told so: skymem prune --accept-clock"
    )


def _last(work: Workplace) -> Seen | None:
    return last_seen(work.paths) or _by_the_ledger(work)


def _by_the_ledger(work: Workplace) -> Seen | None:
    """The last entry's time: where the record of the clocks is lost, something is known of them."""
    wall = work.ledger().last_written()
    return None if wall is None else Seen(wall, "", 0.0)


def _is_fresh(last: Seen | None, now: Seen) -> bool:
    if last is None or last.boot_id != now.boot_id:
        return False
    return abs(now.wall - last.wall) < RECORDED_EVERY_SECONDS
