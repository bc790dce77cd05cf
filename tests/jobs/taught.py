"""A home with a history: what is tagged `deploy` is recalled, and the rest never is."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from skymem.jobs.train import train
from skymem.model.plan import Entry
from skymem.stores.home import HomePaths
from skymem.stores.importance_models import in_force
from skymem.stores.naming import Naming
from skymem.stores.recall_events import note_events
from tests.conftest import START, Desk, line

DAY = 86_400.0
SERVICES = ("billing", "search", "ledger", "mail", "auth", "cart", "stock", "media")
SECRET_WORD = "zyxwolf"
"""A word of every memory that is recalled: it must be in no model."""


def history(
    desk: Desk, *, memories: int = 160, importance: float | None = None, strays: bool = False
) -> list[str]:
    """Write memories, one in four a deployment, and ask for those; gives the ids of those.

    With `strays` half of the others were asked for as well, but for the newest quarter.
    """
    desk.shelf().ensure()
    for number in range(memories):
        deploy = number % 4 == 0
        service = SERVICES[number % len(SERVICES)]
        said = f"{service} went out behind flag {number} with {SECRET_WORD}"
        text = said if deploy else f"looked at the {service} page, number {number}"
        tags = ["deploy"] if deploy else ["chat"]
        desk.echo(line(text, importance, ts=START - 40 * DAY + 60 * number, tags=tags))
    desk.run("promote")
    each = [*named(desk)]
    deployed = [name for name, entry in each if "deploy" in entry.memory.tags]
    if strays:
        deployed += [name for name, entry in each[: memories * 3 // 4 - 8] if entry.line % 2]
    for question in range(40):
        desk.clock += 60
        asked = deployed[question % len(deployed) :][:3]
        paths, files = desk.paths, desk.files
        note_events(paths, files, desk.agent, f"q{question}", asked, at=desk.clock)
    desk.clock += 60
    return deployed


def named(desk: Desk) -> Iterator[tuple[str, Entry]]:
    """The memories of short-term, by their ids."""
    with desk.work().catalog() as catalog:
        catalog.catch_up(desk.tiers)
        naming = Naming(desk.agent, catalog)
        for entry in desk.shelf().short_entries():
            if isinstance(entry, Entry):
                naming.name([entry])
                yield entry.id, entry


def trained(desk: Desk, **more: Any) -> dict[str, Any]:
    """Train, a second later; gives what it came to for the desk's agent."""
    desk.clock += 1
    detail, _ = train(desk.work(), [desk.agent], **more)
    found: dict[str, Any] = detail["agents"][desk.agent]
    return found


def model_bytes(desk: Desk) -> dict[str, bytes]:
    """Every model on disk, by its name."""
    directory = desk.paths.importance(desk.agent)
    return {path.name: path.read_bytes() for path in sorted(directory.glob("*"))}


def trained_at(desk: Desk) -> float | None:
    """When the model in force was made; None where there is none."""
    model = in_force(desk.paths, desk.agent, desk.clock)
    return None if model is None else model.trained_at


def desk_in(root: Path) -> Desk:
    return Desk(HomePaths(root))
