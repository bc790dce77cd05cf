"""The whole life of memories in whatever order: jobs, people, kills, undoing, and time that passes.

A state machine keeps, forgets, corrects, sums up and takes back on one home, in an order that
hypothesis chooses, and looks after each act that came to its end where every memory is.
"""

import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from skymem import app, upkeep
from skymem.errors import UnknownMemoryError, UsageError
from skymem.jobs import runner
from skymem.jobs.compact import compact
from skymem.jobs.fsck import fsck
from skymem.jobs.undo import UNDOABLE
from skymem.jobs.workplace import Workplace
from skymem.model.memory import Memory
from skymem.model.plan import Entry
from skymem.model.rules import AgentRules, BudgetRules, MergeRules, PruneRules, RetentionRules
from skymem.model.spelling import read_line
from skymem.model.strict_json import LineDamage
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.protection import read_protection
from tests.conftest import Desk, line

from .test_any_order_of_events import MEMORY, DyingFiles, PowerCut

WHOLE = os.environ.get("SKYMEM_FAULTS") == "all"
EXAMPLES = 600 if WHOLE else 60  # in CI the same every time
DAY = 86_400.0
JOBS = ["compress", "merge", "promote", "rotate", "prune"]
RULES = RetentionRules(
    AgentRules(0.7, 6),
    prune=PruneRules(30 * DAY, 0.3, archive_older_than_seconds=300 * DAY),
    merge=MergeRules(after_seconds=DAY, batch=2),
    budget=BudgetRules(per_run=1.0, per_30_days=1.0),
)

Made = dict[str, Any]
MADE: st.SearchStrategy[Made] = st.fixed_dictionaries(
    {"importance": st.sampled_from([0.1, 0.5, 0.9]), "age": st.sampled_from([0.0, 4.0, 45.0])},
    optional={
        "kind": st.sampled_from(["fact", "preference", "log", "soul"]),
        "stability": st.sampled_from(["volatile", "permanent"]),
        "ttl_days": st.sampled_from([1, 20]),
        "pinned": st.just(True),
        "id": st.just(True),
        "supersedes": st.integers(0, 20),
    },
)


NOTE: Made = {"importance": 0.5, "age": 45.0, "kind": "log", "stability": "volatile"}
MANY = st.lists(MADE | st.just(NOTE), min_size=1, max_size=8)


class Clocked(app.Home):
    """A home under the desk's clock."""

    desk: Desk

    def workplace(self, *, dry_run: bool = False) -> Workplace:
        return replace(self.desk.work(), rehearsing=dry_run)


class Lives(RuleBasedStateMachine):
    """One home. `kept` are the memories that were acknowledged and not compacted since."""

    seen: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp(prefix="skymem-life-", dir=MEMORY))
        self.desk = Desk(HomePaths(self.base / "home"), RULES)
        self.desk.shelf().ensure()
        self.kept: set[str] = set()
        self.texts = 0
        self.cut = False
        """Whether a killed act waits to be finished."""

        self.repeats = False
        """Whether short-term may still have what one brought elsewhere: the next job drops it."""

    def teardown(self) -> None:
        shutil.rmtree(self.base)

    # -- what is there --------------------------------------------------------------------------

    def home(self) -> Clocked:
        home = Clocked(self.desk.paths, "", self.desk.files, self.desk.rules)
        home.desk = self.desk
        return home

    def tiers(self) -> dict[str, Counter[str]]:
        found = {
            tier: Counter(memory.content for memory in self.memories(tier))
            for tier in ("short", "long", "archive")
        }
        found["short"].update(memory.content for memory in self.desk.rests())
        lying = [held.memory.content for held in self.desk.shelf().trash.all()]
        return {**found, "trash": Counter(lying)}

    def memories(self, tier: str) -> list[Memory]:
        """Those of a tier; a kill may have left half a line."""
        found = []
        for raw in self.desk.raw(tier):
            try:
                found.append(read_line(raw))
            except LineDamage:
                assert self.cut
        return found

    def ids(self) -> dict[str, str]:
        """Every living memory's tier, by its id."""
        with self.desk.work().catalog() as catalog:
            shelf = self.desk.shelf()
            catalog.catch_up(shelf.paths)
            stored = [memory.source_id for memory in self.moved()]
            names = [name for name in stored if name is not None]
            found = {name: one.tier for name, one in catalog.find("sky", names).items()}
            living = [one for one in shelf.find("", catalog) if one.tier == "short"]
        return {**found, **{one.id: "short" for one in living}}

    def moved(self) -> list[Memory]:
        return self.memories("long") + self.memories("archive")

    # -- those who act --------------------------------------------------------------------------

    @initialize(many=MANY)
    def begin(self, many: list[Made]) -> None:
        self.remember(many=many)

    @rule(many=MANY)
    def remember(self, many: list[Made]) -> None:
        lines = []
        for one in many:
            fields = dict(one)
            text = f"m{self.texts} is here."
            if fields.pop("id", False):
                fields["id"] = f"i{self.texts}"
            if "supersedes" in fields:
                fields["supersedes"] = [f"i{fields['supersedes']}"]
            self.texts += 1
            at = self.desk.clock - fields.pop("age") * DAY
            lines.append(line(text, fields.pop("importance"), at, **fields))
            self.kept.add(text)
        self.desk.shelf().append(lines)

    def act(self, what: str, doing: Callable[[], object], steps: int | None) -> None:
        """Do it, on a disk that dies at a step when one is given, and look when it is over."""
        self.desk.clock += 1
        self.desk.files = Files() if steps is None else DyingFiles(steps)
        before = self.tiers()
        try:
            doing()
        except PowerCut:
            self.cut = self.repeats = True
            self.seen["killed " + what] += 1
            return
        except (UnknownMemoryError, UsageError):
            assert what not in JOBS
            self.seen["refused"] += 1
            return
        finally:
            self.desk.files = Files()
        self.seen[what] += self.tiers() != before
        self.cut = False
        self.repeats = self.repeats and what not in {*JOBS, "forget"}
        self.check()

    @rule(job=st.sampled_from(JOBS), steps=st.none() | st.none() | st.integers(0, 90))
    def run_a_job(self, job: str, steps: int | None) -> None:
        protection = read_protection(self.desk.tiers.protected)
        pinned = self.pinned_places()
        entries = len(self.desk.ledger())

        def doing() -> None:
            detail = runner.run(self.desk.work(), job, ["sky"])[0]
            assert detail["ok"], detail

        whole = not self.cut
        self.act(job, doing, steps)
        if whole:
            for text, place in pinned.items():
                assert place in self.where(text), f"{text} is pinned, and has left {place}"
        oldest = self.desk.clock - self.desk.rules.restore_grace_seconds
        for entry in self.desk.ledger()[entries:]:
            for action, name, gate, *_ in entry.get("decided", ()):
                held = protection.restored.get(name)
                if held is not None and held.at > oldest and action not in ("repeat", "restore"):
                    assert gate != held.gate, f"{name} was restored, and {gate} took it again"

    @rule(days=st.sampled_from([0.0, 3.0]))
    def run_them_all(self, days: float) -> None:
        self.desk.clock += days * DAY
        for job in JOBS:
            self.run_a_job(job=job, steps=None)

    def pinned_places(self) -> dict[str, str]:
        """The texts of what is pinned, and each one's tier; what is in trash is nobody's."""
        protection = read_protection(self.desk.tiers.protected)
        found: dict[str, str] = {}
        for entry in self.desk.shelf().short_entries():
            if isinstance(entry, Entry) and protection.is_pinned(
                entry.memory.source_id or entry.digest.hex(), entry.memory
            ):
                found[entry.memory.content] = "short"
        for tier in ("long", "archive"):
            for memory in self.memories(tier):
                if protection.is_pinned(str(memory.source_id), memory):
                    found[memory.content] = tier
        return found

    def where(self, text: str) -> list[str]:
        return [tier for tier, texts in self.tiers().items() if texts[text]]

    def some_id(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted(self.ids())))

    @precondition(lambda self: bool(self.ids()))
    @rule(data=st.data(), steps=st.none() | st.integers(0, 90))
    def forget(self, data: st.DataObject, steps: int | None) -> None:
        name = self.some_id(data)
        self.act("forget", lambda: upkeep.forget_memories(self.home(), "sky", [name]), steps)

    @precondition(lambda self: bool(self.tiers()["trash"]))
    @rule(data=st.data(), steps=st.none() | st.integers(0, 80))
    def restore(self, data: st.DataObject, steps: int | None) -> None:
        lying = {held.id: held.line for held in self.desk.shelf().trash.all()}
        names = data.draw(st.lists(st.sampled_from(sorted(lying)), min_size=1, unique=True))
        self.act("restore", lambda: upkeep.restore_memories(self.home(), "sky", names), steps)
        if not self.cut:
            raw = {each for tier in ("short", "long", "archive") for each in self.desk.raw(tier)}
            assert all(lying[name] in raw for name in names), "restored with other bytes"

    @rule(data=st.data(), steps=st.none() | st.integers(0, 90))
    def undo(self, data: st.DataObject, steps: int | None) -> None:
        runs = [e["run"] for e in self.desk.ledger() if e["op"] == "begin" and e["job"] in UNDOABLE]
        run = data.draw(st.none() | st.sampled_from(runs[-6:])) if runs else None
        self.act("undo", lambda: upkeep.undo_run(self.home(), run, ["sky"]), steps)

    @precondition(lambda self: bool(self.ids()))
    @rule(data=st.data(), pinned=st.booleans(), steps=st.none() | st.integers(0, 20))
    def pin(self, data: st.DataObject, pinned: bool, steps: int | None) -> None:
        name = self.some_id(data)
        self.act("pin", lambda: upkeep.pin_memory(self.home(), "sky", name, pinned=pinned), steps)
        self.seen["pins"] += 1

    @precondition(lambda self: bool(self.ids()))
    @rule(data=st.data(), steps=st.none() | st.integers(0, 60))
    def correct(self, data: st.DataObject, steps: int | None) -> None:
        name = self.some_id(data)
        text = f"m{self.texts} is right."
        self.texts += 1
        self.act("correct", lambda: upkeep.correct_memory(self.home(), "sky", name, text), steps)
        if self.where(text):
            self.kept.add(text)

    @rule(steps=st.none() | st.integers(0, 60), days=st.sampled_from([0.0, 31.0]))
    def empty_trash(self, steps: int | None, days: float) -> None:
        """What is gone afterwards had lain its time, and nothing that is there cites it."""
        self.desk.clock += days * DAY
        before = {held.memory.content: held for held in self.desk.shelf().trash.all()}

        def doing() -> None:
            detail, _ = compact(self.desk.work(), ["sky"])
            assert detail["ok"], detail

        due = self.desk.clock + 1 - self.desk.rules.trash.keep_seconds
        whole = not self.cut
        cited = {name for memory in self.moved() for name in memory.evidence_ids}
        gone = set()

        def emptied() -> None:
            doing()
            gone.update(self.kept - {text for texts in self.tiers().values() for text in texts})
            self.kept -= gone & before.keys()

        self.act("compact", emptied, steps)
        if self.cut:
            there = {text for texts in self.tiers().values() for text in texts}
            gone = self.kept - there
            self.kept &= there
        for text in gone:
            assert text in before, f"{text} was not in trash"
            assert before[text].trashed_at <= due, f"{text} has not lain its time"
            assert not (whole and before[text].id in cited), f"{text} is evidence"

    @rule(seconds=st.sampled_from([3600.0, 3 * DAY, 10 * DAY, 40 * DAY]))
    def let_time_pass(self, seconds: float) -> None:
        """Ledger and files agree about every memory first, whatever was done or cut short."""
        self.act("add up", self.add_up, None)
        self.desk.clock += seconds

    def add_up(self) -> None:
        assert not fsck(self.desk.work(), ["sky"]).problems
        self.seen["sums"] += 1

    @rule()
    def lose_the_catalog(self) -> None:
        self.desk.delete_catalog()

    # -- what holds -----------------------------------------------------------------------------

    def check(self) -> None:
        tiers = self.tiers()
        for text in self.kept:
            places = [tier for tier, texts in tiers.items() if texts[text]]
            if self.repeats and len(places) > 1 and tiers["short"][text]:
                places.remove("short")
            assert len(places) == 1, f"{text} is in {places}"
            assert tiers[places[0]][text] == 1, f"{text} is in {places[0]} twice"
        ids = Counter(memory.source_id for memory in self.moved())
        ids.update(held.id for held in self.desk.shelf().trash.all())
        assert not [name for name, count in ids.items() if count > 1 or name is None]
        self.check_found()
        self.check_resolving(ids)
        ledger = self.desk.ledger()
        ops = Counter(entry["op"] for entry in ledger)
        assert ops["begin"] == ops["end"]
        assert not self.desk.work().ledger().verify()[1]
        assert not list(self.desk.tiers.directory.rglob(".*.new"))

    def check_found(self) -> None:
        """The catalog has each memory where the files have it."""
        with self.desk.work().catalog() as catalog:
            catalog.catch_up(self.desk.tiers)
            for tier in ("long", "archive"):
                for memory in self.memories(tier):
                    name = str(memory.source_id)
                    place = catalog.find("sky", [name])[name]
                    raw = (self.desk.tiers.directory / place.file).read_bytes()
                    found = json.loads(raw[place.start : place.end])
                    assert (place.tier, found["content"]) == (tier, memory.content)
            for held in self.desk.shelf().trash.all():
                assert catalog.find("sky", [held.id])[held.id].tier == "trash"

    def check_resolving(self, stored: Counter[str | None]) -> None:
        """What a memory cites is somewhere, or in short-term under the id of its words."""
        short = {
            entry.memory.source_id or entry.digest.hex()
            for entry in self.desk.shelf().short_entries()
            if isinstance(entry, Entry)
        }
        for memory in self.moved():
            lost = set(memory.evidence_ids) - stored.keys() - short
            assert not lost, f"{memory.content!r} cites {lost}"


def test_a_life_in_any_order_loses_and_doubles_nothing() -> None:
    Lives.seen.clear()
    run_state_machine_as_test(
        Lives,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=30,
            deadline=None,
            derandomize=not WHOLE,
            suppress_health_check=list(HealthCheck),
        ),
    )
    # What never happened was not tested.
    for act in (*JOBS, "forget", "restore", "undo", "correct", "compact", "pins", "sums"):
        assert Lives.seen[act] > 0, Lives.seen
    assert sum(n for act, n in Lives.seen.items() if act.startswith("killed")) > 0
