"""Import: from what a path stands for into the tiers it belongs to (X12)."""

from pathlib import Path
from typing import Any

from skymem.app import Home
from skymem.errors import NotAllowedError, UsageError
from skymem.exchange.intake import bring_in
from skymem.exchange.own import bring_back
from skymem.exchange.sources import source_of


def import_from(
    home: Home,
    path: Path,
    form: str | None,
    agent: str,
    now: float,
    *,
    named: str | None = None,
    dry_run: bool = False,
) -> dict[str, Any]:
    """Import a file or a directory; returns how many came in, and why others did not.

    Args:
        home: where to.
        path: what.
        form: its format, or None to tell it from what is there.
        agent: for whom, where what is there says nothing of agents.
        now: epoch seconds.
        named: the agent that a person named, if any: of an own export, only this one's.
        dry_run: only say what would come.

    Raises:
        UsageError: nothing that can be imported, or it could be several things.
        ArchiveDamagedError: an own export is not whole; nothing was imported.
        DiskError, InterruptedRunError, BusyError: what came in before stays; do it again.
    """
    home.only_owner("import")
    if not path.exists():
        raise UsageError(f"{path} is not there")
    if any(path.resolve().is_relative_to(own.resolve()) for own in home.paths.own):
        raise UsageError(f"{path} is the home's own; what is in there is remembered already")
    source = source_of(path, form)
    if source.format != "skymem":
        return bring_in(home, agent, source, now, dry_run=dry_run).as_json()
    if home.bound is not None:
        raise NotAllowedError(
            "an export of skymem goes back into every tier as it stands: for the operator; "
            "this is bound to an agent"
        )
    return bring_back(home, path, named, now, dry_run=dry_run).as_json()
