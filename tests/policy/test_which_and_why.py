"""Which lines leave short-term, and why: one row for each rule, then the laws."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.model.identity import digest
from skymem.model.kinds import KINDS
from skymem.model.memory import Memory
from skymem.model.plan import Damage, Decision, Entry, Plan
from skymem.model.rules import AgentRules, RetentionRules
from skymem.policy import promote, rotate
from skymem.policy.importance import worth
from skymem.policy.promote import plan_promote
from skymem.policy.rotate import plan_rotate

WIDTH = 100  # bytes of each line, as far as offsets go


def entries(*items: dict[str, Any] | None, elsewhere: Sequence[int] = ()) -> list[Entry | Damage]:
    """Lines as a reading gives them; None is damage, `elsewhere` are places long-term has."""
    found: list[Entry | Damage] = []
    owners: dict[str | None, bytes] = {}
    line = 0
    for place, fields in enumerate(items):
        start = place * WIDTH
        if fields is None:
            found.append(Damage(start, start + WIDTH, "not JSON"))
            continue
        memory = Memory({"ts": place, "content": "x", **fields})
        entry = Entry(start, start + WIDTH, memory, digest(memory))
        first = owners.setdefault(memory.source_id, entry.digest)
        own = memory.source_id if first == entry.digest else None
        entry.id = own or entry.digest.hex()
        entry.line = line
        entry.elsewhere = "long" if place in elsewhere else ""
        line += 1
        found.append(entry)
    return found


def acts(plan: Plan) -> list[str]:
    """The action for each place, `-` for a line that stays; a place decided twice fails."""
    places = [decision.start // WIDTH for decision in plan.decisions]
    assert len(places) == len(set(places))
    size = max([*places, plan.lines + plan.count("quarantine") - 1], default=-1) + 1
    found = dict(zip(places, plan.decisions, strict=True))
    return [found[place].action if place in found else "-" for place in range(size)]


WORTH = {"importance": 0.9}
LOW = {"importance": 0.2}


@pytest.mark.parametrize(
    ("fields", "threshold", "action"),
    [
        pytest.param({"importance": 0.7}, 0.7, "promote", id="at the threshold"),
        pytest.param({"importance": 0.6999999}, 0.7, "-", id="just below"),
        pytest.param({"importance": 1}, 1.0, "promote", id="the highest"),
        pytest.param({"importance": 0}, 0.0, "promote", id="a threshold of zero takes all"),
        pytest.param({"score": 7}, 0.7, "promote", id="score 7 is 0.7 (row M5)"),
        pytest.param({"score": 6}, 0.7, "-", id="score 6"),
        pytest.param({"score": 6}, 0.6, "promote", id="the agent's own threshold"),
        pytest.param({}, 0.7, "-", id="no importance, no kind"),
        pytest.param({"kind": "decision"}, 0.7, "promote", id="no importance: its kind decides"),
        pytest.param({"metadata": {"type": "escalation"}}, 0.7, "promote", id="kind in metadata"),
        pytest.param({"kind": "nobody knows"}, 0.7, "-", id="unknown kind"),
        pytest.param({"kind": "decision", "importance": 0.1}, 0.7, "-", id="given counts first"),
        pytest.param({"type": "long", "importance": 0.1}, 0.7, "-", id="a mark is no reason"),
    ],
)
def test_a_memory_is_promoted_from_the_threshold_on(
    fields: dict[str, Any], threshold: float, action: str
) -> None:
    plan = plan_promote(entries(fields), "sky", AgentRules(threshold))
    assert acts(plan) == [action]
    assert plan.kept == ({"importance": 1} if action == "-" else {})


@pytest.mark.parametrize(
    ("kind", "importance"), [(kind.name, kind.importance) for kind in KINDS.values()]
)
def test_a_kind_without_importance_counts_as_the_guide_says(kind: str, importance: float) -> None:
    found = worth(Memory({"ts": 1, "content": "x", "kind": kind}))
    assert found == (importance, f"none given; {kind} in the scoring guide")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"importance": 0.85}, "importance 0.85 against 0.7 (given)"),
        ({"kind": "goal"}, "importance 0.8 against 0.7 (none given; goal in the scoring guide)"),
    ],
)
def test_a_promotion_says_its_value_against_the_threshold(
    fields: dict[str, Any], words: str
) -> None:
    (decision,) = plan_promote(entries(fields), "sky", AgentRules()).decisions
    assert decision.reason.words() == words


@pytest.mark.parametrize(
    ("lines", "elsewhere", "expected"),
    [
        pytest.param([WORTH, WORTH], [], ["promote", "promote"], id="two times, two memories"),
        pytest.param(
            [{**WORTH, "ts": 1}, {**WORTH, "ts": 1}], [], ["promote", "repeat"], id="exact repeat"
        ),
        pytest.param([{**LOW, "ts": 1}, {**LOW, "ts": 1}], [], ["-", "-"], id="repeats that stay"),
        pytest.param([WORTH, LOW], [0, 1], ["repeat", "repeat"], id="long-term has them"),
        pytest.param([None, WORTH, None], [], ["quarantine", "promote", "quarantine"], id="damage"),
        pytest.param([], [], [], id="nothing there"),
    ],
)
def test_promote_decides_about_repeats_and_damage(
    lines: list[dict[str, Any] | None], elsewhere: list[int], expected: list[str]
) -> None:
    plan = plan_promote(entries(*lines, elsewhere=elsewhere), "sky", AgentRules())
    assert acts(plan) == expected


def many(count: int) -> list[dict[str, Any] | None]:
    return [{} for _ in range(count)]


@pytest.mark.parametrize(
    ("lines", "limit", "elsewhere", "expected"),
    [
        pytest.param(many(3), 3, [], ["-"] * 3, id="at the limit"),
        pytest.param(many(4), 3, [], ["archive", "-", "-", "-"], id="one over: the oldest"),
        pytest.param(
            [{"ts": 9}, {"ts": 1}, {"ts": 5}], 2, [], ["archive", "-", "-"], id="by line, not time"
        ),
        pytest.param(
            [{"ts": 1}, {"ts": 2}, {"ts": 1}, {"ts": 3}],
            3,
            [],
            ["archive", "-", "repeat", "-"],
            id="a repeat leaves with its twin",
        ),
        pytest.param(
            [{"ts": 1}, {"ts": 2}, {"ts": 2}, {"ts": 3}],
            2,
            [],
            ["archive", "archive", "repeat", "-"],
            id="a repeat counts as a line",
        ),
        pytest.param(
            [{}, {}, {}], 2, [1], ["-", "repeat", "-"], id="what the archive has makes room"
        ),
        pytest.param([{}, {}], 2, [0], ["repeat", "-"], id="and leaves within the limit as well"),
        pytest.param([None, {}, {}, None], 1, [], ["quarantine", "archive", "-", "quarantine"]),
        pytest.param([WORTH, LOW], 1, [], ["archive", "-"], id="worth does not matter here"),
        pytest.param(
            [{"id": "w", "ts": 1}, {}, {"id": "w", "ts": 1}],
            1,
            [],
            ["archive", "-", "repeat"],
            id="a writer's own id repeated",
        ),
        pytest.param([], 1, [], [], id="nothing there"),
    ],
)
def test_rotate_takes_the_oldest_lines_over_the_limit(
    lines: list[dict[str, Any] | None], limit: int, elsewhere: list[int], expected: list[str]
) -> None:
    plan = plan_rotate(entries(*lines, elsewhere=elsewhere), "sky", AgentRules(0.7, limit))
    assert acts(plan) == expected


def test_two_ids_of_a_writer_are_two_memories_though_they_say_the_same() -> None:
    plan = plan_rotate(
        entries({"id": "a", "ts": 1}, {"id": "b", "ts": 1}, {"ts": 2}), "sky", AgentRules(0.7, 2)
    )
    assert acts(plan) == ["archive", "-", "-"]


def test_an_archived_line_says_how_many_there_were_against_the_limit() -> None:
    (decision,) = plan_rotate(entries({}, {}, {}), "sky", AgentRules(0.7, 2)).decisions
    assert decision.reason.words() == "line_limit 3 against 2 (oldest first)"


def test_an_agent_has_its_own_rules_and_the_others_the_homes() -> None:
    own = AgentRules(0.6, 100)
    rules = RetentionRules(agents={"hobbs": own})
    assert rules.for_agent("hobbs") is own
    assert rules.for_agent("sky") == AgentRules(0.7, 5000)


@pytest.mark.parametrize("job", ["promote", "rotate"])
def test_a_round_takes_no_more_than_its_share_and_says_so(
    job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(promote, "DECISIONS_MAX", 3)
    monkeypatch.setattr(rotate, "DECISIONS_MAX", 3)
    plan_of = plan_promote if job == "promote" else plan_rotate
    rules = AgentRules(0.0, 1)
    lines: list[dict[str, Any] | None] = [{"ts": n} for n in range(6)]
    rounds = []
    while lines:
        plan = plan_of(entries(*lines), "sky", rules)
        rounds.append((len(plan.decisions), plan.unfinished))
        leaving = {decision.start // WIDTH for decision in plan.decisions}
        lines = [fields for place, fields in enumerate(lines) if place not in leaving]
        if not plan.unfinished:
            break
    expected = [(3, True), (3, False)] if job == "promote" else [(3, True), (2, False)]
    assert rounds == expected
    assert len(lines) == (0 if job == "promote" else 1)


# -- laws -------------------------------------------------------------------------------------

items = st.lists(
    st.one_of(
        st.none(),
        st.fixed_dictionaries(
            {"ts": st.integers(0, 6), "importance": st.sampled_from([0.1, 0.7, 0.9])},
            optional={"id": st.sampled_from(["a", "b"]), "kind": st.just("log")},
        ),
    ),
    max_size=25,
)
PLANS = [plan_promote, plan_rotate]
rules_of = st.builds(
    AgentRules()._replace,
    promote_threshold=st.sampled_from([0.0, 0.5, 0.7, 1.0]),
    short_term_max_lines=st.integers(1, 12),
)


@pytest.mark.parametrize("plan_of", PLANS)
@given(items, st.sets(st.integers(0, 24)), rules_of)
def test_every_line_is_decided_exactly_once(
    plan_of: Any, lines: list[dict[str, Any] | None], elsewhere: set[int], rules: AgentRules
) -> None:
    plan = plan_of(entries(*lines, elsewhere=list(elsewhere)), "sky", rules)
    assert len(acts(plan)) == len(lines)
    assert plan.count("quarantine") == lines.count(None)
    assert plan.leaving + sum(plan.kept.values()) == plan.lines == len(lines) - lines.count(None)
    starts = [decision.start for decision in plan.decisions]
    assert starts == sorted(starts)


@pytest.mark.parametrize("plan_of", PLANS)
@given(items, st.sets(st.integers(0, 24)), rules_of)
def test_planning_again_over_what_was_kept_moves_nothing(
    plan_of: Any, lines: list[dict[str, Any] | None], elsewhere: set[int], rules: AgentRules
) -> None:
    before = entries(*lines, elsewhere=list(elsewhere))
    leaving = {decision.start for decision in plan_of(before, "sky", rules).decisions}
    kept = [entry for entry in before if entry.start not in leaving]
    assert plan_of(kept, "sky", rules).decisions == []


@given(items, rules_of)
def test_rotation_leaves_the_limit_and_nothing_below_it_but_twins(
    lines: list[dict[str, Any] | None], rules: AgentRules
) -> None:
    before = [entry for entry in entries(*lines) if isinstance(entry, Entry)]
    plan = plan_rotate(before, "sky", rules)
    stays = len(before) - plan.leaving
    assert stays <= rules.short_term_max_lines
    last = [one for one in plan.decisions if one.action == "archive"][-1:]
    for decision in last:  # without the last memory that left there were too many
        copies = Counter(entry.id for entry in before)[decision.id]
        assert stays + copies > rules.short_term_max_lines


@given(items, rules_of)
def test_a_memory_leaves_once_however_often_it_stands_there(
    lines: list[dict[str, Any] | None], rules: AgentRules
) -> None:
    for plan in (
        plan_promote(entries(*lines), "sky", rules),
        plan_rotate(entries(*lines), "s", rules),
    ):
        moved = [one.id for one in plan.decisions if one.action in ("promote", "archive")]
        assert len(moved) == len(set(moved))
        repeats = {one.id for one in plan.decisions if one.action == "repeat"}
        assert repeats <= set(moved)


@given(items, rules_of)
def test_a_plan_survives_being_saved(lines: list[dict[str, Any] | None], rules: AgentRules) -> None:
    plan = plan_promote(entries(*lines), "sky", rules)
    again = Plan.from_json(plan.to_json())
    assert again == plan
    assert all(isinstance(decision, Decision) for decision in again.decisions)
