"""What is pruned and what stays: a row for each rule, and one for each way to remove too much."""

from typing import Any

import pytest

from skymem.model.memory import Memory
from skymem.model.rules import PruneRules
from skymem.policy import prune
from skymem.policy.due import Due, due
from skymem.policy.prune import judged
from tests.policy.pruning import DAY, DAY_US, LONG, NEW, NOW, NOW_US, OLD, WIDTH, World, gates

NONE = PruneRules()
AGED = PruneRules(older_than_seconds=365 * DAY, importance_below=0.3)
ARCHIVED = PruneRules(archive_older_than_seconds=90 * DAY)
ALL = PruneRules(365 * DAY, 0.3, 30 * DAY, 90 * DAY, 1)


def newer(days: float) -> dict[str, Any]:
    """A memory that superseded `old` so many days ago."""
    return {"age": days, "supersedes": ["old"]}


@pytest.mark.parametrize("file", ["", LONG, OLD])
@pytest.mark.parametrize(
    ("fields", "gate"),
    [
        pytest.param({}, "no_ttl", id="no ttl"),
        pytest.param({"ttl_days": 2}, "too_young", id="not yet"),
        pytest.param({"ttl_days": 1}, "expired", id="at its moment"),
        pytest.param({"age": 400, "ttl_days": 30}, "expired", id="long since"),
        pytest.param({"metadata": {"ttl_days": 0.5}}, "expired", id="in metadata"),
        pytest.param({"ttl_days": 0.5, "stability": "permanent"}, "no_ttl", id="permanent"),
        pytest.param({"ttl_days": 0.5, "pinned": True}, "pinned", id="pinned by its line"),
        pytest.param({"ttl_days": -5}, "no_ttl", id="a slip of the sign"),
        pytest.param({"ttl_days": 0}, "no_ttl", id="no days"),
        pytest.param({"expires_at": 30}, "no_ttl", id="days for a moment"),
        pytest.param({"age": None, "ttl_days": 1}, "no_ttl", id="days from no time"),
        pytest.param({"age": -5, "ttl_days": 1}, "too_young", id="yet to come"),
        pytest.param({"age": 900, "importance": 0}, "no_ttl", id="old, and no rule says so"),
    ],
)
def test_what_has_expired_goes_from_every_tier(
    file: str, fields: dict[str, Any], gate: str
) -> None:
    plan = World().put("a", file, **fields).plan()
    if gate == "expired":
        assert gates(plan) == {"a": "expired"}
        assert plan.kept == {}
    else:
        assert (plan.decisions, plan.kept) == ([], {gate: 1})
    assert plan.judged == {}


@pytest.mark.parametrize("file", ["", LONG, OLD])
@pytest.mark.parametrize(
    ("fields", "after", "old", "gate"),
    [
        pytest.param(newer(31), 30, {}, "superseded", id="long enough ago"),
        pytest.param(newer(30), 30, {}, "superseded", id="at the moment"),
        pytest.param(newer(29.9), 30, {}, "too_young", id="not yet"),
        pytest.param(newer(1), 0, {}, "superseded", id="at once, when the rules say so"),
        pytest.param(newer(-3), 30, {}, "too_young", id="by what is yet to come"),
        pytest.param(newer(400), 30, {"age": 5}, "too_young", id="by an older one: since its time"),
        pytest.param({**newer(0), "ts": 7}, 30, {}, "no_time", id="by a clock never set"),
        pytest.param({**newer(0), "ts": None}, 30, {}, "no_time", id="by what has no time"),
        pytest.param(newer(31), 30, {"pinned": True}, "pinned", id="pinned"),
        pytest.param(newer(31), 30, {"stability": "permanent"}, "superseded", id="permanent"),
        pytest.param(newer(31), 30, {"age": None}, "superseded", id="without a time of its own"),
        pytest.param(newer(31), 30, {"age": -1}, "too_young", id="a time yet to come"),
    ],
)
def test_what_was_superseded_goes_after_its_time(
    file: str, fields: dict[str, Any], after: float, old: dict[str, Any], gate: str
) -> None:
    world = World().put("old", file, **{"age": 90, **old}).put("new", **fields)
    plan = world.plan(PruneRules(superseded_after_seconds=after * DAY))
    if gate == "superseded":
        assert gates(plan) == {"old": "superseded"}
        (decision,) = plan.decisions
        assert decision.reason.note == "new"
    else:
        assert plan.decisions == []
        assert plan.kept.get(gate)


@pytest.mark.parametrize("file", [LONG, OLD])
@pytest.mark.parametrize(
    ("fields", "goes"),
    [
        pytest.param({"age": 366}, True, id="old and unimportant"),
        pytest.param({"age": 364}, False, id="not old"),
        pytest.param({"age": 366, "importance": 0.3}, False, id="worth as much as the threshold"),
        pytest.param({"age": 366, "importance": 0.29}, True, id="worth less"),
        pytest.param({"age": 366, "importance": None, "kind": "crumb"}, True, id="worth of a kind"),
        pytest.param({"age": 366, "importance": None, "kind": "rule"}, False, id="a kind of worth"),
        pytest.param({"age": 366, "importance": None}, False, id="worth of none: 0.3"),
        pytest.param({"age": None}, False, id="without a time"),
        pytest.param({"ts": 0}, False, id="1970: a clock never set"),
        pytest.param({"ts": 999_999_999}, False, id="milliseconds short of a digit"),
        pytest.param({"age": -1}, False, id="yet to come"),
        pytest.param({"age": 366, "stability": "permanent"}, False, id="permanent"),
        pytest.param({"age": 366, "kind": "soul"}, False, id="a kind that is permanent"),
        pytest.param({"age": 366, "kind": "soul", "stability": "stable"}, True, id="but not this"),
        pytest.param({"age": 366, "pinned": True}, False, id="pinned"),
    ],
)
def test_what_is_old_and_unimportant_goes_when_rules_say_so(
    file: str, fields: dict[str, Any], *, goes: bool
) -> None:
    plan = World().put("a", file, **fields).plan(AGED)
    assert gates(plan) == ({"a": "old_and_unimportant"} if goes else {})
    assert plan.judged == ({"long" if file == LONG else "archive": 1} if goes else {})
    assert World().put("a", "", **fields).plan(AGED).decisions == []


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param(NONE, id="none"),
        pytest.param(PruneRules(older_than_seconds=1), id="age alone"),
        pytest.param(PruneRules(importance_below=1), id="worth alone"),
        pytest.param(PruneRules(older_than_seconds=0, importance_below=1), id="no age"),
        pytest.param(PruneRules(older_than_seconds=-1, importance_below=1), id="a slip of a sign"),
        pytest.param(
            PruneRules(older_than_seconds=float("nan"), importance_below=1), id="no number"
        ),
        pytest.param(
            PruneRules(older_than_seconds=1, importance_below=float("nan")), id="no worth"
        ),
        pytest.param(PruneRules(archive_older_than_seconds=0), id="archives of no age"),
        pytest.param(PruneRules(archive_older_than_seconds=-1), id="archives of less"),
        pytest.param(PruneRules(archive_bytes_max=0), id="archives of no size"),
        pytest.param(PruneRules(archive_bytes_max=-1), id="archives of a size below"),
    ],
)
def test_rules_that_are_none_remove_nothing_by_judgement(rules: PruneRules) -> None:
    world = World()
    for file in ("", LONG, OLD, NEW):
        world.put(f"a{file}", file, age=5_000, importance=0)
    plan = world.plan(rules)
    assert plan.decisions == []
    assert (plan.judged, plan.judged_later) == ({}, {})


@pytest.mark.parametrize(
    ("file", "ages", "goes"),
    [
        pytest.param(OLD, [300, 200], True, id="long ended"),
        pytest.param(NEW, [300, 200], False, id="old lines that came lately"),
        pytest.param(OLD, [20, 0], False, id="lines that are younger than it"),
        pytest.param("short_term_archive_old.jsonl", [91], True, id="a name without a time"),
        pytest.param("short_term_archive_old.jsonl", [None], False, id="no time at all"),
        pytest.param("short_term_archive_20269999T999999Z.jsonl", [91], True, id="no date"),
        pytest.param("short_term_archive_1780000000.jsonl", [None], True, id="epoch seconds"),
        pytest.param("short_term_archive_2026-06-01.jsonl", [None], True, id="a date"),
        pytest.param("short_term_archive_20260601_120000.jsonl", [None], True, id="plainly"),
        pytest.param("short_term_archive_2026-12-01T12-00-00.jsonl", [300], False, id="lately"),
        pytest.param(OLD, [None, None], True, id="its name alone"),
        pytest.param("short_term_archive_20260601T000000Z_2.jsonl", [300], True, id="a second one"),
        pytest.param("short_term_archive_20990101T000000Z.jsonl", [None], False, id="yet to come"),
        pytest.param("short_term_archive_19700101T000000Z.jsonl", [None], False, id="never set"),
    ],
)
def test_an_archive_goes_by_its_end(file: str, ages: list[float | None], *, goes: bool) -> None:
    world = World()
    for place, age in enumerate(ages):
        world.put(f"a{place}", file, age=age)
    plan = world.plan(ARCHIVED)
    assert gates(plan) == (dict.fromkeys(world.ids(), "archive_age") if goes else {})
    assert plan.judged == ({"archive": len(ages)} if goes else {})


def test_a_line_that_came_to_an_old_archive_stays_until_it_is_old() -> None:
    plan = World().put("a", OLD, age=300).put("b", OLD, age=20).plan(ARCHIVED)
    assert (gates(plan), plan.kept) == ({"a": "archive_age"}, {"too_young": 1})


def test_one_line_from_the_future_stays_and_holds_up_no_other() -> None:
    plan = World().put("a", OLD, age=300).put("b", OLD, age=-300).plan(ARCHIVED)
    assert gates(plan) == {"a": "archive_age"}
    assert plan.kept == {"too_young": 1}
    full = World().put("a", OLD, age=300).put("b", OLD, age=-300)
    assert full.plan(PruneRules(archive_bytes_max=1)).kept == {"future": 1}


@pytest.mark.parametrize(
    ("size", "goes"),
    [
        pytest.param(4 * WIDTH, [], id="all fit"),
        pytest.param(4 * WIDTH - 1, ["a"], id="the oldest line of the oldest archive"),
        pytest.param(2 * WIDTH, ["a", "b"], id="an archive"),
        pytest.param(2 * WIDTH - 1, ["a", "b", "c"], id="and of the next"),
        pytest.param(1, ["a", "b", "c", "d"], id="all"),
    ],
)
def test_archives_that_are_too_big_lose_their_oldest_lines(size: int, goes: list[str]) -> None:
    world = World().put("c", NEW, age=300).put("d", NEW, age=1).put("a", OLD).put("b", OLD)
    world.put("z", LONG, age=900)
    plan = world.plan(PruneRules(archive_bytes_max=size))
    assert {*gates(plan)} == {*goes}
    assert plan.judged == ({"archive": len(goes)} if goes else {})
    for one in plan.decisions:
        assert one.reason.words() == f"archive_size 400 against {size} (oldest first)"


def test_what_expired_makes_room_first() -> None:
    world = World().put("a", OLD).put("b", OLD, ttl_days=0.5).put("c", NEW)
    plan = world.plan(PruneRules(archive_bytes_max=2 * WIDTH))
    assert gates(plan) == {"b": "expired"}


HELD: list[tuple[str, set[str], str]] = [
    ("pinned", {"asked", "judged"}, "pinned"),
    ("evidence", {"asked", "judged"}, "evidence"),
    ("recalled", {"judged"}, "recalled"),
]


@pytest.mark.parametrize(("place", "from_gates", "gate"), HELD)
def test_what_is_held_stays(place: str, from_gates: set[str], gate: str) -> None:
    world = World().put("asked", LONG, ttl_days=0.5).put("judged", LONG, age=400)
    world.put("size", OLD, age=60).put("short", "", ttl_days=0.5)
    getattr(world, place).update(world.ids())
    plan = world.plan(PruneRules(365 * DAY, 0.3, archive_bytes_max=1))
    kept = {*world.ids()} - {*gates(plan)}
    assert kept == from_gates | {"size"} | ({"short"} if "asked" in from_gates else set())
    assert plan.kept == {gate: len(kept)}


def test_an_operators_unpin_outranks_the_line() -> None:
    world = World().put("a", LONG, pinned=True, ttl_days=0.5)
    world.put("b", "", pinned=True, ttl_days=0.5)
    world.unpinned |= {"a", "b"}
    assert gates(world.plan()) == {"a": "expired", "b": "expired"}


@pytest.mark.parametrize(
    ("days", "stays"), [(0, True), (29.9, True), (30, False), (-1, True)], ids=str
)
@pytest.mark.parametrize("gate", ["expired", "superseded", "old_and_unimportant", "archive_size"])
def test_what_was_restored_is_left_alone_for_its_grace(
    gate: str, days: float, *, stays: bool
) -> None:
    world = World().put("old", OLD, age=400, **({"ttl_days": 1} if gate == "expired" else {}))
    if gate == "superseded":
        world.put("new", age=60, supersedes=["old"])
    world.restored["old"] = (gate, NOW_US - round(days * DAY_US))
    plan = world.plan(ALL)
    assert ("old" not in gates(plan)) == stays
    if stays:
        assert plan.kept.pop("restored") == 1


def test_a_line_that_can_not_be_read_as_known_stays() -> None:
    world = World().put("a", LONG, ttl_days=0.5)
    world.unreadable.add("a")
    plan = world.plan()
    assert (plan.decisions, plan.kept) == ([], {"unreadable": 1})


def test_what_a_memory_supersedes_goes_before_it_or_with_it() -> None:
    world = World().put("v1", LONG, age=90, pinned=True)
    world.put("v2", OLD, age=80, supersedes=["v1"]).put("v3", "", age=70, supersedes=["v2"])
    world.put("v4", LONG, age=60, supersedes=["v3"], ttl_days=1)
    held = world.plan(ALL)
    assert held.decisions == []
    assert held.kept == {"pinned": 1, "supersedes": 3}
    world.unpinned.add("v1")
    assert gates(world.plan(ALL)) == {
        "v1": "superseded",
        "v2": "superseded",
        "v3": "superseded",
        "v4": "expired",
    }


def test_a_correction_that_expires_does_not_bring_back_what_it_corrected() -> None:
    world = World().put("old", age=60).put("new", age=10, ttl_days=5, supersedes=["old"])
    plan = world.plan()
    assert plan.decisions == []
    assert plan.kept == {"too_young": 1, "supersedes": 1}


def test_archives_that_are_too_big_free_what_waited() -> None:
    world = World().put("new", OLD, age=60, supersedes=["old"]).put("old", NEW, age=20)
    plan = world.plan(PruneRules(archive_bytes_max=1))
    assert {*gates(plan)} == {"old", "new"}


@pytest.mark.parametrize("elsewhere", [False, True], ids=["nowhere", "its twin in trash"])
def test_what_is_gone_already_holds_up_nothing(*, elsewhere: bool) -> None:
    world = World().put("v2", LONG, age=80, supersedes=["v1"])
    world.put("v3", LONG, age=60, supersedes=["v2"])
    if elsewhere:
        world.put("v1", "", age=90).elsewhere["v1"] = "trash"
    assert gates(world.plan()) == {"v2": "superseded"}


def test_a_ring_is_left_alone() -> None:
    world = World().put("a", age=80, supersedes=["b"]).put("b", age=70, supersedes=["a"])
    world.put("c", age=60, supersedes=["a"])
    plan = world.plan()
    assert (plan.decisions, plan.kept) == ([], {"ring": 1, "no_ttl": 2})


def test_short_term_lines_are_each_decided() -> None:
    world = World(damage=1, elsewhere={"b": "long"})
    world.put("a", "", ttl_days=0.5).put("b", "", ttl_days=0.5).put("a", "", ttl_days=0.5)
    world.put("c", "", ttl_days=5)
    plan = world.plan()
    assert [(one.action, one.id, one.start // WIDTH) for one in plan.decisions[:3]] == [
        ("trash", "a", 0),
        ("repeat", "b", 1),
        ("repeat", "a", 2),
    ]
    assert plan.count("quarantine") == 1
    assert (plan.lines, plan.leaving, plan.kept) == (4, 3, {"too_young": 1})


@pytest.mark.parametrize(
    ("world", "rules", "words"),
    [
        pytest.param(
            World().put("a", ttl_days=0.5), NONE, "expired 0.5 against 0", id="days since it ended"
        ),
        pytest.param(
            World().put("old", age=90).put("new", age=40, supersedes=["old"]),
            NONE,
            "superseded 40 against 30 (new)",
            id="days since, and by what",
        ),
        pytest.param(
            World().put("a", age=400),
            AGED,
            "old_and_unimportant 0.2 against 0.3 (400 d old, over 365 d)",
            id="worth and age",
        ),
        pytest.param(
            World().put("a", "short_term_archive_x.jsonl", age=400),
            ARCHIVED,
            "archive_age 400 against 90",
            id="days since it ended, of an archive",
        ),
    ],
)
def test_a_removal_says_its_value_against_the_threshold(
    world: World, rules: PruneRules, words: str
) -> None:
    (decision,) = world.plan(rules).decisions
    assert decision.reason.words() == words
    assert judged(decision) == (decision.reason.gate not in {"expired", "superseded"})


def test_a_round_takes_no_more_than_its_share_and_counts_what_later_ones_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(prune, "DECISIONS_MAX", 3)
    world = World()
    for n in range(8):
        world.put(f"a{n}", age=400)
    rounds = []
    while world.ids():
        plan = world.plan(AGED)
        rounds.append((len(plan.decisions), plan.judged, plan.judged_later, plan.unfinished))
        world.apply(plan)
    assert rounds == [
        (3, {"long": 3}, {"long": 5}, True),
        (3, {"long": 3}, {"long": 2}, True),
        (2, {"long": 2}, {}, False),
    ]


def test_only_what_may_be_due_is_read_and_once() -> None:
    world = World().put("a", OLD, age=400).put("b", OLD, age=1).put("c", LONG, age=400)
    world.plan(PruneRules(365 * DAY, 0.3, archive_older_than_seconds=500 * DAY))
    assert sorted(world.reads) == ["a", "b", "c"]


def test_what_comes_next_is_known_with_its_moment() -> None:
    memory = Memory({"ts": NOW, "content": "x", "importance": 0.1, "ttl_days": 9})
    found = due(memory, ("new", NOW_US + DAY_US), AGED)
    assert found == [
        Due("expired", NOW_US + 9 * DAY_US, NOW_US + 9 * DAY_US, 0.0),
        Due("superseded", NOW_US + 31 * DAY_US, NOW_US + DAY_US, 30.0, "new"),
        Due("old_and_unimportant", NOW_US + 365 * DAY_US, NOW_US, 0.3, importance=0.1),
    ]
    assert due(memory, None, NONE, pinned=True) == []
