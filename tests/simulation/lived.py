"""Homes that live for months in seconds: their clock is set, and nothing waits for the disk."""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from skymem import app
from skymem.config.rules_file import read_rules
from skymem.jobs import runner
from skymem.jobs.compact import compact
from skymem.jobs.forget import Wanted, forget
from skymem.jobs.restore import restore
from skymem.jobs.table import COMBINED
from skymem.jobs.undo import undo
from skymem.jobs.workplace import Workplace
from skymem.model.rules import RetentionRules
from skymem.stores.fleeting import FleetingFiles
from skymem.stores.home import HomePaths
from skymem.stores.recall_events import note_events
from skymem.stores.recall_log import note_recalled
from skymem.stores.status import StatusFiles

START: Final = 1_700_006_400.0
DAY: Final = 86_400.0
DAYS: Final = 90
ROUND_SECONDS: Final = DAY
AGENTS: Final = ("hobbs", "sky")

UNDER_A: Final = """
promote_threshold: 0.7
short_term_max_lines: 20
trash: {keep: 365d}
prune: {older_than: 40d, importance_below: 0.3}
compress: {older_than: 5d}
"""
UNDER_B: Final = """
promote_threshold: 0.5
short_term_max_lines: 12
trash: {keep: 14d}
prune: {older_than: 20d, importance_below: 0.6}
compress: {older_than: 6d}
promote:
  decay: {per_day: 0.02, floor: 0.3}
  always_tags: [critical]
  recalled: {times: 1, queries: 1}
"""

Decision = tuple[Any, ...]
"""Agent, action, id, gate, value, threshold, note, run without its process."""


@dataclass(frozen=True)
class Deed:
    """Something done by hand."""

    at: float
    agent: str
    what: str
    ids: tuple[str, ...]


@dataclass
class Life:
    """A home, and what is done in it."""

    root: Path
    rules_text: str
    clock: float = START
    deeds: list[Deed] = field(default_factory=list)
    actions: bool = True
    """Whether results are recorded."""

    def __post_init__(self) -> None:
        app.init_home(self.root)
        self.paths = HomePaths(self.root)
        self.paths.rules.write_text(self.rules_text)
        self.rules: RetentionRules = read_rules(self.paths.rules)
        self.files = FleetingFiles()

    def work(self) -> Workplace:
        return Workplace(self.paths, self.files, self.rules, lambda: self.clock, lambda: None)

    def job(self, name: str) -> None:
        self.clock += 1
        if name == "compact":
            detail, _ = compact(self.work(), self.agents())
        else:
            detail, _ = runner.run(self.work(), name, self.agents())
        if self.actions:
            StatusFiles(self.paths, self.files).write_action(name, detail, self.clock)

    def agents(self) -> list[str]:
        return self.work().agents()

    def say(self, agent: str, *lines: bytes) -> None:
        shelf = self.work().shelf(agent)
        shelf.ensure()
        shelf.append(lines)

    def place(self, agent: str, name: str) -> str:
        """The tier a memory is in, else ""."""
        with self.work().catalog() as catalog:
            found = self.work().shelf(agent).find(name, catalog)
            return found[0].tier if found and found[0].id == name else ""

    def do(self, deed: Deed) -> None:
        """Do it as far as it can be done here."""
        self.clock += 1
        tiers = {name: self.place(deed.agent, name) for name in deed.ids}
        if deed.what == "recall":
            there = [name for name, tier in tiers.items() if tier not in ("", "trash")]
            if there:
                note_recalled(self.paths, self.files, deed.agent, there)
                at = self.clock
                note_events(self.paths, self.files, deed.agent, "0a", there, at=at)
        elif deed.what == "forget":
            table = {"forget": forget(Wanted(ids=deed.ids))}
            runner.run(self.work(), "forget", [deed.agent], table=table)
        elif deed.what == "restore":
            lying = [name for name, tier in tiers.items() if tier == "trash"]
            if lying:
                restore(self.work(), deed.agent, lying)
        elif deed.what == "undo":
            self.undo(deed)

    def undo(self, deed: Deed) -> None:
        """Take back the run that promoted a memory, where one did."""
        for entry in self.work().ledger().read_from(0):
            told = entry[1]
            if told["op"] == "decide" and told["agent"] == deed.agent:
                for action, name, *_ in told["decided"]:
                    if (action, name) == ("promote", deed.ids[0]):
                        undo(self.work(), told["run"], [deed.agent])
                        return


def decisions(entries: Sequence[dict[str, Any]]) -> list[Decision]:
    """Every decision of a ledger, comparable across homes."""
    found: list[Decision] = []
    for entry in entries:
        for one in entry.get("decided", ()) if entry["op"] == "decide" else ():
            note = _without_process(one[5])
            found.append((entry["agent"], *one[:5], note, _without_process(entry["run"])))
        for one in entry.get("added", ()) if entry["op"] == "add" else ():
            run = _without_process(entry["run"])
            found.append((entry["agent"], "made", one[1], one[0], *map(tuple, one[2:]), run))
    return found


def _without_process(run: str) -> str:
    """A run's name, or a note that is one, without what tells processes apart."""
    parts = run.split("_")
    return "_".join(parts[:2]) if len(parts) == 4 and parts[2].isdigit() else run


def ninety_days(
    life: Life, seed: int = 1, deeds: Sequence[Deed] | None = None, days: int = DAYS
) -> None:
    """Live: what comes is the same for every home; without `deeds` they are thought of here."""
    chance = random.Random(seed)
    for number in range(round(days * DAY / ROUND_SECONDS)):
        life.clock = START + number * ROUND_SECONDS
        for agent in AGENTS:
            life.say(agent, *_lines(chance, agent, number, life.clock))
        life.job(COMBINED)
        if number % 2 == 1:
            life.job("compress")
            life.job("prune")
        if number % 7 == 2:
            life.job("merge")
            life.job("compact")
        wanted = (
            _thought_of(life, random.Random(seed + number), number)
            if deeds is None
            else [
                one for one in deeds if life.clock < one.at <= START + (number + 1) * ROUND_SECONDS
            ]
        )
        for deed in wanted:
            life.clock = deed.at - 1
            life.do(deed)
            life.deeds.append(deed)


def _lines(chance: random.Random, agent: str, number: int, now: float) -> list[bytes]:
    lines = []
    for each in range(chance.choice((1, 2, 3, 4))):
        kind = chance.choice(("fact", "log", "decision", None, None))
        fields: dict[str, Any] = {
            "ts": round(now - chance.uniform(0, 50_000), 3),
            "type": "short",
            "content": f"{agent} saw {chance.choice(_THINGS)} number {number}.{each}",
            "importance": round(chance.random(), 2),
            "tags": chance.sample(("critical", "trip", "work"), chance.randrange(3)),
        }
        if kind:
            fields["kind"] = kind
        if chance.random() < 0.3:
            fields["ttl_days"] = chance.randrange(3, 60)
        if chance.random() < 0.2:
            del fields["importance"]
        if chance.random() < 0.1:
            fields["id"] = f"own-{number}-{each}"
        line = json.dumps(fields).encode() + b"\n"
        if chance.random() < 0.2:
            stamp = f"2023-11-15T{number % 24:02}:00:{each:02}.5Z"
            other = {"timestamp": stamp, "content": fields["content"], "score": 7 + each}
            line = json.dumps(other, separators=(",", ":")).encode() + b"\n"
        lines.append(line)
        if chance.random() < 0.05:
            lines.append(line)
    return lines


_THINGS: Final = ("a heron", "the blue door", "port 8080", "train 14", "a bill of 30 EUR")


def _thought_of(life: Life, chance: random.Random, number: int) -> list[Deed]:
    """What a person does now and then, with what is there."""
    wanted: list[tuple[str, Callable[[str], list[str]]]] = []
    if number % 2 == 1:
        wanted.append(("recall", lambda agent: _of_tiers(life, agent)))
    if number in (20, 66):
        wanted.append(("forget", lambda agent: _of_tiers(life, agent)))
    if number in (44, 50, 70):
        wanted.append(
            (
                "restore",
                lambda agent: sorted(one.id for one in life.work().shelf(agent).trash.all()),
            )
        )
    if number in (30, 56):
        wanted.append(("undo", lambda agent: _promoted(life, agent)))
    deeds = []
    for place, (what, names) in enumerate(wanted):
        agent = chance.choice(AGENTS)
        if there := names(agent):
            at = life.clock + 100 * (place + 1)
            deeds.append(Deed(at, agent, what, (chance.choice(there),)))
    return deeds


def _of_tiers(life: Life, agent: str) -> list[str]:
    """Ids of what came of late, and is not gone: those of a few days."""
    came = [
        name
        for entry in ledger(life)
        if entry["op"] in ("adopt", "remember") and entry["agent"] == agent
        for name in entry["ids"]
    ]
    return [name for name in came[-40::8] if life.place(agent, name) not in ("", "trash")]


def _promoted(life: Life, agent: str) -> list[str]:
    found = [one for one in decisions(ledger(life)) if one[0] == agent and one[1] == "promote"]
    return [one[2] for one in found[-5:]]


def ledger(life: Life) -> list[dict[str, Any]]:
    return [entry for _, entry in life.work().ledger().read_from(0)]
