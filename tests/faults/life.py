"""Homes in the middle of their life, a verb to break on each, and where every memory then is."""

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skymem import app, upkeep
from skymem.jobs.fsck import fsck
from skymem.stores.files import Files

from . import world
from .world import AGENT, drain_rest, line, read, write_old

RULES = """\
promote_threshold: 0.7
short_term_max_lines: 1000
prune:
  older_than: 30d
  importance_below: 0.2
"""
VARYING = re.compile(rb'"(promoted_at|archived_at|ts)": ?\d+(\.\d+)?')

Verb = Callable[[app.Home], object]


@dataclass(frozen=True, slots=True)
class Life:
    """A home as it is before the verb, and the verb."""

    make: Callable[[Path], None]
    verb: Verb
    moves: int
    """How many of the memories that were there an undisturbed verb brings elsewhere."""

    made: int = 0
    """How many memories it makes."""

    waits: bool = False
    """Whether, once killed, it may leave in short-term what it has summed up."""


@dataclass(slots=True)
class Places:
    """Every line of every memory, by its text."""

    lines: dict[str, dict[str, list[bytes]]] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)
    cited: set[str] = field(default_factory=set)

    def of(self, name: str) -> list[str]:
        """The tiers it is in, each once."""
        return sorted(self.lines.get(name, {}))

    def tiers(self) -> dict[str, list[str]]:
        return {name: self.of(name) for name in self.lines}

    torn: bool = False
    """Whether a line may be half written."""

    def add(self, tier: str, data: bytes) -> None:
        for raw in data.split(b"\n"):
            try:
                fields = json.loads(raw or b"null")
            except ValueError:
                assert self.torn, f"damage in {tier}: {raw!r}"
                continue
            if fields is None:
                continue
            own = raw
            name = fields.get("id")
            if tier == "trash":
                own = raw[-1 - fields["bytes"] : -1]
                assert json.loads(own) == fields["memory"]
                fields = fields["memory"]
            self.lines.setdefault(fields["content"], {}).setdefault(tier, []).append(own)
            self.cited.update(fields.get("evidence_ids", ()))
            if name:
                self.ids.append(name)


def look(root: Path, *, torn: bool = False) -> Places:
    """Read a home with nothing of ours; every line must be whole, unless a fault is fresh."""
    places = Places(torn=torn)
    agent = root / AGENT
    places.add("short", read(agent / "short_term.jsonl"))
    for drain in sorted(agent.glob("drains/[!.]*.jsonl")):
        places.add("short", drain_rest(drain))
    places.add("long", read(agent / "long_term.jsonl"))
    for tier, pattern in (
        ("archive", "short_term_archive_*.jsonl"),
        ("trash", "trash/[!.]*.jsonl"),
    ):
        for path in sorted(agent.glob(pattern)):
            places.add(tier, path.read_bytes())
    return places


def spelled(raw: bytes) -> bytes:
    """A line without the times at which a run spelled it."""
    return VARYING.sub(rb'"\1": 0', raw.strip())


def opened(root: Path, files: Files | None = None) -> app.Home:
    home = app.open_home(str(root))
    if files is not None:
        home.files = files
    return home


def ledger_of(root: Path) -> list[dict[str, Any]]:
    return [entry for _, entry in opened(root).workplace().ledger().read_from(0)]


def check_records(root: Path) -> None:
    """The ledger is whole, every run has its end, nothing half made stays, what is kept reads."""
    findings = fsck(opened(root).workplace(), ["sky"])
    assert findings.entries
    assert not findings.problems, findings.problems
    ops = Counter(entry["op"] for entry in ledger_of(root))
    assert ops["begin"] == ops["end"], "a run was never finished"
    left = [str(path.relative_to(root)) for path in root.rglob(".*.new")]
    assert not left, f"temporary files stay: {left}"
    for path in [*root.glob("status/**/*.json"), *root.glob(f"{AGENT}/protected.json")]:
        json.loads(path.read_bytes())


# -- the homes ------------------------------------------------------------------------------------


def stored(name: str, importance: float = 0.5, **more: Any) -> bytes:
    return line(name, importance, id=f"id-{name}", **more).replace(b'"short"', b'"long"', 1)


def base(root: Path, short: bytes, long: bytes = b"", archive: bytes = b"") -> None:
    """A home whose tiers hold these, and a memory or two that nothing happens to."""
    app.init_home(root)
    (root / "retention_rules.yaml").write_text(RULES)
    write_old(root / AGENT / "short_term.jsonl", line("stays", 0.5) + short + line("last", 0.4))
    write_old(root / AGENT / "long_term.jsonl", stored("stays long") + long + stored("last long"))
    if archive:
        name = "short_term_archive_20231101T000000Z"
        write_old(root / AGENT / f"{name}.jsonl", stored("stays archived") + archive)
        write_old(root / AGENT / f"{name}_2.jsonl", stored("alone archived", 0.5, ttl_days=2))


OVER = {"ttl_days": 1}


def with_due(root: Path) -> None:
    """Something due in every tier, in two ways, and a whole archive."""
    base(
        root,
        line("over", 0.5, **OVER) + line("kept", 0.6) + line("dull", 0.1),
        stored("over long", 0.5, **OVER) + stored("kept long", 0.6) + stored("dull long", 0.1),
        stored("over archived", 0.5, **OVER) + stored("dull archived", 0.1),
    )


def with_trash(root: Path) -> None:
    with_due(root)
    assert opened(root).run_job("prune")[0]["acted"] == 6


def with_old_trash(root: Path) -> None:
    """Half of the trash has lain for its grace."""
    with_trash(root)
    (path,) = root.glob(f"{AGENT}/trash/*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    old = [re.sub(rb'"trashed_at":[\d.]+', b'"trashed_at":%d.0' % world.OLD, one) for one in lines]
    path.write_bytes(b"".join(lines[:2] + old[2:4]))
    run = "20231101T000000.000000Z_prune_1_1"
    older = b"".join(old[4:]).replace(path.stem.encode(), run.encode())
    (path.parent / f"{run}.jsonl").write_bytes(older)


def with_notes(root: Path) -> None:
    """Notes to merge in short-term and in long-term."""
    note = {"kind": "log", "stability": "volatile"}
    base(
        root,
        b"".join(line(f"event {n} took {n}0 ms", 0.3, **note) for n in range(3)),
        b"".join(stored(f"event {n} cost {n} kr", 0.3, **note) for n in range(4, 6)),
    )


def with_chat(root: Path) -> None:
    """Facts that become a profile and a project."""
    base(
        root,
        line("User prefers tea.", 0.5, kind="preference")
        + line("User lives in Oslo.", 0.5, kind="fact")
        + line("Ship v2.1 by June.", 0.5, kind="project", tags=["project:apollo"])
        + line("What time is it?", 0.5, kind="request"),
    )


def with_worth(root: Path) -> None:
    base(root, line("worth one", 0.9) + line("kept", 0.3) + line("worth two", 0.8))


def full(root: Path) -> None:
    base(root, line("early", 0.3) + line("later", 0.3) + line("later still", 0.3))
    rules = root / "retention_rules.yaml"
    rules.write_text(RULES.replace("1000", "2"))


def after(make: Callable[[Path], None], job: str) -> Callable[[Path], None]:
    """The home once a job has run on it."""

    def made(root: Path) -> None:
        make(root)
        detail = opened(root).run_job(job)[0]
        assert detail["ok"], detail

    return made


def running(job: str) -> Verb:
    return lambda home: home.run_job(job)


def undoing(home: app.Home) -> object:
    """Take back the one run there was."""
    runs = [e["run"] for _, e in home.workplace().ledger().read_from(0) if e["op"] == "begin"]
    return upkeep.undo_run(home, runs[0], ["sky"])


def forgetting(home: app.Home) -> object:
    return upkeep.forget_memories(home, "sky", (), "over|kept")


def restoring(home: app.Home) -> object:
    """Bring back whatever lies in trash."""
    lying = [held.id for held in home.shelf("sky").trash.all()]
    if not lying:  # a killed one is finished by whatever comes next
        return home.run_job("promote")
    return upkeep.restore_memories(home, "sky", lying)


def correcting(home: app.Home) -> object:
    if b'"corrected"' in (read(home.paths.agent("sky").long_term).rpartition(b"\n")[0]):
        return home.run_job("promote")
    return upkeep.correct_memory(home, "sky", "id-kept long", "corrected")


def pinning(home: app.Home) -> object:
    return upkeep.pin_memory(home, "sky", "id-kept long")


LIVES = {
    "prune": Life(with_due, running("prune"), 6),
    "forget": Life(with_due, forgetting, 5),
    "restore": Life(with_trash, restoring, 6),
    "compact": Life(with_old_trash, running("compact"), 4),
    "merge": Life(with_notes, running("merge"), 3, 1, waits=True),
    "compress": Life(with_chat, running("compress"), 4, 2),
    "correct": Life(with_due, correcting, 0, 1),
    "pin": Life(with_due, pinning, 0),
    "undo promote": Life(after(with_worth, "promote"), undoing, 2),
    "undo rotate": Life(after(full, "rotate"), undoing, 3),
    "undo prune": Life(after(with_due, "prune"), undoing, 6),
    "undo compress": Life(after(with_chat, "compress"), undoing, 6),
    "undo merge": Life(after(with_notes, "merge"), undoing, 4),
}
