"""Sky, Hobbs and Aegis through a day: shared by rule, kept apart in all else, every sum balanced.

Real jobs on real files under a clock that is passed in. Each agent works through handles bound to
it; what crosses is refused, and on record, and nothing else is.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from skymem.errors import NotAllowedError
from skymem.jobs.finding import find
from skymem.model.plan import Entry
from skymem.model.rules import AgentRules, CompressRules, PruneRules, RetentionRules, ShareRule
from skymem.policy.share import shared_from
from skymem.stores.shelf import tier_entries
from skymem.stores.tiers import tier_files
from skymem.stores.violations import read_violations
from tests.conftest import START, line
from tests.jobs.team import Team

AGENTS: Final = ("sky", "hobbs", "aegis")
HOUR: Final = 3600.0
RULES: Final = RetentionRules(
    AgentRules(0.7, 12),
    share=(
        ShareRule("sky", ("hobbs", "aegis"), kinds=("decision",), trust_min=0.6),
        ShareRule("hobbs", ("sky",), tags=("ops",), trust_max=0.7),
    ),
    compress=CompressRules(older_than_seconds=8 * HOUR),
    prune=PruneRules(superseded_after_seconds=1 * HOUR),
)


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> "Day":
    """The day, lived."""
    made = Day(Team(tmp_path_factory.mktemp("day") / "home", RULES, START))
    for hour in range(0, 24, 2):
        made.team.clock = START + hour * HOUR
        made.work(hour)
        made.keep(hour)
    return made


class Day:
    """What happens, and what of it was not allowed."""

    def __init__(self, team: Team) -> None:
        self.team = team
        self.crossed: list[tuple[str, str]] = []
        """Who reached for whose memories."""

    def work(self, hour: int) -> None:
        """Each agent writes down what it sees; now and then one reaches too far."""
        at = self.team.clock
        for number, agent in enumerate(AGENTS):
            more: dict[str, Any] = {"tags": ["ops"]} if hour % 4 == 0 else {}
            self.team.remember(
                agent,
                line(f"{agent} decided {hour}", 0.8, at + number, kind="decision", **more),
                line(f"{agent} knows {hour}", 0.9, at + number, kind="fact", **more),
                line(f"{agent} saw {hour}", 0.2, at + number, kind="log", ttl_days=0.25),
                line(f"{agent} hides {hour}", 0.9, at + number, kind="decision",
                     sensitivity="sensitive"),
                line(f"{agent} doubts {hour}", 0.9, at + number, kind="decision", trust=0.4),
            )  # fmt: skip
        if hour == 6:
            self._cross("sky", "hobbs")
        if hour == 12:
            self._cross("aegis", "sky")
        if hour == 14:
            self._cross_by_id("hobbs", "aegis")

    def keep(self, hour: int) -> None:
        """What the schedule runs; at night more."""
        jobs = ["memory_rotate_check", "share"]
        jobs += ["compress", "merge", "prune"] if hour in (10, 22) else []
        for job in jobs:
            detail = self.team.run(job)
            assert detail["ok"], detail
        if hour == 8:  # sky thinks better of its first decision, and forgets its second
            gone = self.team.id_of("sky", "sky decided 0")
            said = line("sky decided anew", 0.9, self.team.clock, kind="decision",
                        supersedes=[gone])  # fmt: skip
            self.team.remember("sky", said)
            self.team.forget("sky", self.team.id_of("sky", "sky decided 2"))

    def _cross(self, who: str, whose: str) -> None:
        with pytest.raises(NotAllowedError):
            self.team.work(bound=who).shelf(whose)
        self.crossed.append((who, whose))

    def _cross_by_id(self, who: str, whose: str) -> None:
        name = self.team.id_of(whose, f"{whose} knows 2")
        with pytest.raises(NotAllowedError):
            find(self.team.work(bound=who), who, name)
        self.crossed.append((who, whose))

    def stands(self, agent: str) -> Iterator[tuple[str, bool]]:
        """The text of each memory in an agent's tiers, and whether it is a copy."""
        shelf = self.team.work().shelf(agent)
        for entry in shelf.short_entries():
            assert isinstance(entry, Entry)  # none is damaged
            yield entry.memory.content, shared_from(entry.memory) is not None
        for _, path in tier_files(shelf.paths):
            for one in tier_entries(path):
                yield one.memory.content, shared_from(one.memory) is not None


def test_the_sum_of_memories_is_balanced_and_the_ledger_whole(day: Day) -> None:
    day.team.check()
    entries, problems = day.team.work().ledger().verify()

    assert problems == []
    assert entries > 100


def test_nobody_has_what_no_rule_shares(day: Day) -> None:
    for agent in AGENTS:
        for text, copied in day.stands(agent):
            whose, what, *_ = text.split()
            if whose in AGENTS and whose != agent:
                assert copied, f"{agent} has {text!r}"
                assert what not in ("hides", "saw"), f"{agent} has {text!r}"


def test_what_the_rules_share_is_there_with_its_origin(day: Day) -> None:
    of_sky = {f"sky decided {hour}" for hour in range(4, 24, 2)} | {"sky decided anew"}
    copies = {agent: {one.content for one in day.team.copies(agent)} for agent in AGENTS}
    of_hobbs = {f"hobbs {what} {hour}" for what in ("decided", "knows") for hour in range(0, 24, 4)}

    assert copies["aegis"] == copies["hobbs"] == of_sky
    assert copies["sky"] == of_hobbs
    assert {one.trust for one in day.team.copies("sky")} == {0.7}


def test_what_was_taken_back_is_withdrawn_everywhere(day: Day) -> None:
    for agent in ("hobbs", "aegis"):
        held = day.team.work().shelf(agent).trash.all()
        withdrawn = {one.memory.content for one in held if one.reason.gate == "withdrawn"}

        assert withdrawn == {"sky decided 0", "sky decided 2"}


def test_each_crossing_is_on_record_and_no_other(day: Day) -> None:
    listed = day.team.work().violations().listed()
    counts = {agent: one.open for agent, one in read_violations(day.team.paths).items()}

    assert [(one["agent"], one["whose"]) for one in listed] == day.crossed
    assert counts == {"sky": 1, "aegis": 1, "hobbs": 1}


def test_no_text_is_in_the_ledger(day: Day) -> None:
    text = Path(day.team.paths.audit / "ledger.jsonl").read_text()

    assert not any(word in text for word in ("decided 0", "knows", "hides", "doubts"))


def test_running_it_all_again_changes_nothing_more(day: Day) -> None:
    for job in ("memory_rotate_check", "share", "share"):
        assert day.team.run(job)["ok"]
    before = {agent: sorted(day.stands(agent)) for agent in AGENTS}
    day.team.run("share")

    assert {agent: sorted(day.stands(agent)) for agent in AGENTS} == before
    day.team.check()
