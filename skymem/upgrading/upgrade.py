"""`skymem upgrade`: a copy that is proven, then step by step to this release's format.

Whoever works on the home is out of it meanwhile: no daemon, no API, no job. Killed anywhere, or on
a full disk, the home is in the format it says, and the next try goes on from there. Appending needs
no lock of these, and goes on: that a line is appended to `short_term.jsonl` holds in every format.
"""

import contextlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from skymem.app import Home
from skymem.daemon.sole import sole_daemon
from skymem.errors import SkymemError
from skymem.exchange.backup import backup, new_file
from skymem.exchange.snapshot import still
from skymem.stores import home_format
from skymem.stores.home_format import must_be_worked_on, read_format, this_release, write_format
from skymem.stores.lock import held
from skymem.upgrading.steps import STEPS, Step

ACTION: Final = "upgrade"
API_SECONDS: Final = 0.5
"""How long the API's lock is waited for: `status` looks at it for an instant."""


def upgrade(
    home: Home,
    now: float,
    copy_to: Path | None = None,
    *,
    dry_run: bool = False,
    steps: Sequence[Step] = STEPS,
) -> dict[str, Any]:
    """Bring a home over to this release's format; returns what was done.

    Args:
        home: the operator's handle.
        now: when, epoch seconds.
        copy_to: the backup to make before; else one beside the home, named after it.
        dry_run: only say what would be done.
        steps: all steps there are.

    Raises:
        NotAllowedError: who asks is bound to an agent, or not the home's owner.
        HomeFormatError: nobody can say in which format it is, or a newer release keeps it.
        DaemonRunningError, BusyError: a daemon, an API or a job works on it.
        UsageError: the backup can't be made there.
        UnsoundHomeError: a file of it is damaged.
        DiskError: the disk refuses; the home is in the format it says.
    """
    home.only_operator()
    home.only_owner("upgrade it")
    found = read_format(home.paths).number
    due = [step.to for step in steps if step.to > found]
    told: dict[str, Any] = {"home": str(home.paths.root), "from": found, "to": found}
    told |= {"steps": due, "backup": None}
    if not due:
        return told
    target = new_file(copy_to or _beside(home, found, now), home)
    told |= {"to": due[-1], "backup": str(target)}
    if dry_run:
        return told | {"dry_run": True}
    with _alone(home):
        backup(home, target, now)
        with still(home.workplace()):
            _take(home, now, steps)
    home.record(ACTION, {"ok": True, "job": ACTION, **told})
    return told


def adopt(home: Home, now: float) -> None:
    """Bring a home over, for who begins to keep it, where that only adds to what stands.

    No copy is needed for that, and it is no reason not to keep a home: `doctor` tells what is.

    Raises:
        HomeFormatError: jobs can't work on the home as it is.
    """
    must_be_worked_on(home.paths)
    if read_format(home.paths).number < home_format.CURRENT:
        with contextlib.suppress(SkymemError):
            _take(home, now, STEPS)


def _take(home: Home, now: float, steps: Sequence[Step]) -> None:
    """Take the steps that are due; each is on record before the home says it is there."""
    ledger = home.workplace().ledger()
    for step in steps:
        found = read_format(home.paths).number
        if step.to <= found:
            continue
        step.take(home)
        entry = {"op": ACTION, "formats": [found, step.to], "release": this_release()}
        ledger.append([entry], now)
        write_format(home.paths, home.files, step.to)


def _beside(home: Home, found: int, now: float) -> Path:
    """Where the backup goes when nobody says: not into the home, whose erasures it would miss."""
    root = home.paths.root.resolve()
    at = datetime.fromtimestamp(now, UTC)
    return root.parent / f"{root.name}-format-{found}-{at:%Y%m%dT%H%M%S}Z.tar"


@contextlib.contextmanager
def _alone(home: Home) -> Iterator[None]:
    """Keep daemon and API out; the API's lock lies where the daemon's made room for it."""
    holder = "skymem upgrade"
    with (
        sole_daemon(home.paths, home.files, holder),
        held(home.paths.api_lock, holder, deadline_seconds=API_SECONDS),
    ):
        yield
