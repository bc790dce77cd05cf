"""Laws of pruning: of any agent, in any order, with any rules."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.model.rules import PruneRules
from skymem.policy import prune
from skymem.policy.due import JUDGEMENTS
from skymem.policy.prune import judged
from skymem.policy.standing import Chains, Link, is_expired
from tests.policy.pruning import DAY, DAY_US, LONG, NEW, NOW_US, OLD, WIDTH, World

NAMES = [f"m{n}" for n in range(10)]
AGES = [None, -10, 0, 5, 29, 31, 100, 400, 5_000, 20_000]

one = st.fixed_dictionaries(
    {
        "file": st.sampled_from(["", LONG, OLD, NEW]),
        "age": st.sampled_from(AGES),
    },
    optional={
        "ttl_days": st.sampled_from([-1, 0.5, 7, 30]),
        "importance": st.sampled_from([0.0, 0.2, 0.9]),
        "kind": st.sampled_from(["log", "soul"]),
        "stability": st.sampled_from(["volatile", "permanent"]),
        "pinned": st.just(True),
        "supersedes": st.lists(st.sampled_from(NAMES), min_size=1, max_size=3),
    },
)
few = st.sets(st.sampled_from(NAMES), max_size=2)
grace = st.dictionaries(
    st.sampled_from(NAMES),
    st.tuples(st.sampled_from(["expired", "archive_age"]), st.sampled_from([1, 29, 31])),
    max_size=2,
)
rules_of = st.builds(
    PruneRules,
    st.sampled_from([None, 30 * DAY, 365 * DAY]),
    st.sampled_from([None, 0.3, 1.0]),
    st.sampled_from([0.0, 30.0 * DAY]),
    st.sampled_from([None, 30 * DAY, 365 * DAY]),
    st.sampled_from([None, 1, 2 * WIDTH, 5 * WIDTH]),
)


@st.composite
def worlds(draw: Any) -> World:
    """An agent with up to ten memories anywhere, and what protects some of them."""
    world = World(damage=draw(st.integers(0, 2)))
    for name in draw(st.lists(st.sampled_from(NAMES), unique=True)):
        fields = draw(one)
        world.put(name, fields.pop("file"), **fields)
    for name, _ in world.files.get("", [])[:2]:
        if draw(st.booleans()):  # an exact repeat
            world.files[""] += [pair for pair in world.files[""] if pair[0] == name][:1]
    world.pinned, world.unpinned = draw(few), draw(few)
    world.evidence, world.recalled, world.unreadable = draw(few), draw(few), draw(few)
    world.restored = {
        name: (gate, NOW_US - days * DAY_US) for name, (gate, days) in draw(grace).items()
    }
    short = dict(world.files.get("", ()))
    for name in sorted(draw(few) & {*short}):
        world.elsewhere[name] = "long"
        world.files.setdefault(LONG, []).append((name, short[name]))
    return world


@given(worlds(), rules_of)
def test_every_line_is_decided_exactly_once(world: World, rules: PruneRules) -> None:
    plan = world.plan(rules)
    places = [(decision.file, decision.start) for decision in plan.decisions]
    assert places == sorted(set(places))
    assert plan.count("quarantine") == world.damage
    lines = world.files.get("", [])
    assert plan.lines == len(lines)
    named = [decision.id for decision in plan.decisions if decision.action == "trash"]
    assert len(named) == len(set(named))
    elsewhere = sum(len(rows) for file, rows in world.files.items() if file)
    stays = len(lines) + elsewhere - (len(plan.decisions) - world.damage)
    assert sum(plan.kept.values()) == stays
    by_judgement = [one for one in plan.decisions if judged(one)]
    assert sum(plan.judged.values()) == len(by_judgement)


@given(worlds(), rules_of)
def test_order_is_irrelevant(world: World, rules: PruneRules) -> None:
    plan = world.plan(rules)
    again = world.plan(rules, backwards=True)
    assert (plan.decisions, plan.kept, plan.judged) == (again.decisions, again.kept, again.judged)


@given(worlds(), rules_of)
def test_planning_again_after_applying_finds_nothing(world: World, rules: PruneRules) -> None:
    world.apply(world.plan(rules))
    world.damage = 0
    assert world.plan(rules).decisions == []


@given(worlds(), rules_of)
def test_what_is_held_never_goes(world: World, rules: PruneRules) -> None:
    memories = {name: memory for rows in world.files.values() for name, memory in rows}
    for decision in world.plan(rules).decisions:
        if decision.action != "trash":
            continue
        name = decision.id
        assert name not in world.pinned
        assert name not in world.evidence
        assert not memories[name].pinned or name in world.unpinned
        assert (memories[name].time_us or 0) <= NOW_US
        assert name not in world.unreadable or not decision.file
        at = world.restored.get(name, ("", 0))[1]
        assert NOW_US - at >= 30 * DAY_US
        if decision.reason.gate in JUDGEMENTS:
            assert name not in world.recalled
            assert memories[name].stability != "permanent"


@given(worlds(), rules_of)
def test_nothing_that_was_hidden_comes_back(world: World, rules: PruneRules) -> None:
    before = _active(world)
    world.apply(world.plan(rules))
    assert _active(world) == before & world.ids()


@given(worlds())
def test_without_rules_only_what_was_asked_for_goes(world: World) -> None:
    plan = world.plan(PruneRules())
    assert plan.judged == {}
    assert {one.reason.gate for one in plan.decisions if one.action == "trash"} <= {
        "expired",
        "superseded",
    }


@given(worlds(), rules_of)
def test_less_has_to_go_with_a_budget_of_bytes_that_is_higher(
    world: World, rules: PruneRules
) -> None:
    if rules.archive_bytes_max is None:
        return
    tight = {one.id for one in world.plan(rules).decisions}
    wide = PruneRules(
        rules.older_than_seconds,
        rules.importance_below,
        rules.superseded_after_seconds,
        rules.archive_older_than_seconds,
        rules.archive_bytes_max + WIDTH,
    )
    assert {one.id for one in world.plan(wide).decisions} <= tight


@given(worlds(), rules_of, st.integers(1, 4))
def test_rounds_come_to_what_one_would(world: World, rules: PruneRules, most: int) -> None:
    whole = world.plan(rules)
    first: dict[str, int] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prune, "DECISIONS_MAX", most)
        for number in range(30):
            plan = world.plan(rules)
            if not number:
                first = dict(plan.judged)
                for tier, count in plan.judged_later.items():
                    first[tier] = first.get(tier, 0) + count
                assert first == whole.judged
            world.apply(plan)
            if not plan.unfinished:
                break
        assert world.plan(rules).decisions == []


def _active(world: World) -> set[str]:
    """What a reader would be given."""
    memories = {name: memory for rows in world.files.values() for name, memory in rows}
    links = [
        Link(name, memory.time_us, target)
        for name, memory in memories.items()
        for target in memory.supersedes
    ]
    chains = Chains.of(links, {*memories})
    return {
        name
        for name, memory in memories.items()
        if name not in chains
        and not is_expired(memory, now_us=NOW_US, pinned=world.is_pinned(name, memory))
    }
