"""A home that has been through everything, and what `fsck` says of it."""

from pathlib import Path
from typing import Any

from skymem import app, upkeep
from skymem.jobs.findings import Findings
from skymem.jobs.fsck import fsck
from tests.conftest import Desk, line


def look(desk: Desk) -> Findings:
    return fsck(desk.work(), [desk.agent])


def told(found: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """What was found, and about which memory."""
    return [(one["what"], one.get("id", "")) for one in found]


def ids(desk: Desk) -> dict[str, str]:
    """Every living memory's id by its text."""
    with desk.work().catalog() as catalog:
        return {kept.memory.content: kept.id for kept in desk.shelf().find("", catalog)}


def live(desk: Desk, home: app.Home) -> dict[str, str]:
    """A home that has been through everything; returns the ids by text."""
    desk.echo(*(line(f"worth {n}", 0.9) for n in range(6)), b'{"broken\n')
    desk.echo(*(line(f"kept {n}", 0.2) for n in range(6)), line("worth 0", 0.9))
    desk.limit(3)
    desk.run()
    names = ids(desk)
    upkeep.forget_memories(home, "sky", [names["worth 1"], names["kept 0"], names["kept 5"]])
    upkeep.restore_memories(home, "sky", [names["kept 0"]])
    upkeep.forget_memories(home, "sky", [names["worth 2"]])
    upkeep.undo_run(home, None, ["sky"])
    _, (corrected,) = upkeep.correct_memory(home, "sky", names["worth 3"], "worth more")
    upkeep.pin_memory(home, "sky", names["worth 4"])
    desk.echo(line("since", 0.9), line("to be edited", 0.3))
    desk.run("promote")
    left = desk.short_term.read_bytes()
    desk.short_term.write_bytes(left.replace(b"to be edited", b"edited by hand"))
    desk.run("promote")
    upkeep.undo_run(home, corrected.runs[0], ["sky"])
    return names | ids(desk)


def cut(path: Path, text: str) -> None:
    """Take a line out by hand."""
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(one for one in lines if text.encode() not in one))
