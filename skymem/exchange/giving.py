"""Export: an agent's memories into a file, a stream or a directory, in one of the formats (X12)."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, Any

from skymem.app import Home
from skymem.errors import UsageError
from skymem.exchange.backup import new_file, publish
from skymem.exchange.exporting import export, export_to
from skymem.exchange.spelled import FORMATS, SPELLINGS, active, as_markdown
from skymem.exchange.staging import beside, take_place
from skymem.stores.files import Files, Modes


def give(
    home: Home,
    agents: Sequence[str],
    target: Path | IO[bytes],
    now: float,
    *,
    form: str = "skymem",
) -> dict[str, Any]:
    """Write an export; returns what is in it. A file gets its name when it is whole.

    Args:
        home: whose; one that is bound gives its own agent's.
        agents: of whom.
        target: a file or directory to make, which must not be there, or a stream.
        now: epoch seconds.
        form: one of `FORMATS`.

    Raises:
        UsageError: there is something already, or no such format.
        NotAllowedError: who asks is bound to another agent.
        BusyError, DiskError: there is no such file.
    """
    home.only_owner("export")
    for agent in agents:
        home.admit(agent)
    if form not in FORMATS:
        raise UsageError(f"no format {form!r:.40}; there are: {', '.join(FORMATS)}")
    if form == "skymem":
        if isinstance(target, Path):
            return export(home, agents, target, now)
        return export_to(home, agents, target, now)
    if form == "markdown":
        return _markdown(home, agents, target, now)
    if len(agents) != 1:
        raise UsageError(f"{form} holds one agent's memories; name it: --agent NAME")
    return _spelled(home, agents[0], target, now, form)


def _spelled(
    home: Home, agent: str, target: Path | IO[bytes], now: float, form: str
) -> dict[str, Any]:
    count = 0

    def counted() -> Iterator[Any]:
        nonlocal count
        for kept in active(home, agent, now):
            home.workplace().check_stop()
            count += 1
            yield kept

    blocks = SPELLINGS[form](agent, counted())
    if isinstance(target, Path):
        publish(new_file(target, home), chain(blocks, [b""]), Path.stat)
    else:
        for block in blocks:
            target.write(block)
        target.flush()
    file = str(target) if isinstance(target, Path) else "-"
    return {"file": file, "format": form, "agents": [agent], "memories": count}


def _markdown(
    home: Home, agents: Sequence[str], target: Path | IO[bytes], now: float
) -> dict[str, Any]:
    """Write a directory beside, and give it its name when it is whole."""
    if not isinstance(target, Path):
        raise UsageError("markdown makes a directory of files; name one")
    target = new_file(target, home)
    files = Files(Modes())
    count = 0
    with beside(target, "exporting") as staging:
        for agent in agents:
            place = staging / agent if len(agents) > 1 else staging
            files.make_directory(place)
            for name, data in as_markdown(agent, active(home, agent, now)):
                home.workplace().check_stop()
                files.replace(place / name, data)
                count += 1
        take_place(staging, target)
    return {"file": str(target), "format": "markdown", "agents": list(agents), "memories": count}
