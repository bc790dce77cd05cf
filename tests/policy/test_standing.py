"""Which memories are active: expiry and supersede chains, a row for each rule, then the laws."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.model.memory import Memory
from skymem.policy.standing import (
    Chains,
    Link,
    Single,
    expires_us,
    is_expired,
    plausible_expiry,
    single_of,
    standing,
)

DAY_US = 86_400_000_000
NOW = 1_700_000_000
NOW_US = NOW * 1_000_000


def memory(**fields: Any) -> Memory:
    return Memory({"ts": NOW, "content": "x", **fields})


@pytest.mark.parametrize(
    ("fields", "days"),
    [
        pytest.param({}, None, id="without a ttl it never does"),
        pytest.param({"ttl_days": 30}, 30, id="days from its own time"),
        pytest.param({"ttl_days": 0.5}, 0.5, id="half a day"),
        pytest.param({"metadata": {"ttl_days": 7}}, 7, id="in metadata"),
        pytest.param({"expires_at": NOW + 86_400}, 1, id="a moment"),
        pytest.param({"expires_at": NOW + 86_400, "ttl_days": 9}, 1, id="a moment outranks days"),
        pytest.param({"expires_at": NOW + 86_400, "ttl_days": -9}, 1, id="a slip beside a moment"),
        pytest.param({"ttl_days": 30, "stability": "permanent"}, None, id="permanent"),
        pytest.param({"ttl_days": 30, "stability": "volatile"}, 30, id="volatile"),
        pytest.param({"stability": "volatile"}, None, id="volatile without a ttl is kept (N8)"),
        pytest.param({"kind": "log"}, None, id="a kind's usual ttl is not imputed"),
        pytest.param({"ttl_days": 0}, None, id="no days: a slip"),
        pytest.param({"ttl_days": -30}, None, id="a slip of the sign"),
        pytest.param({"ttl_days": 1e308}, None, id="more days than there are"),
        pytest.param({"ttl_days": 10**400}, None, id="a number beyond any float"),
        pytest.param({"ttl_days": "30"}, None, id="days as text are none"),
        pytest.param({"ttl_days": True}, None, id="true is no number of days"),
        pytest.param({"expires_at": 30}, None, id="days where a moment belongs"),
        pytest.param({"expires_at": NOW}, None, id="ends as it begins"),
        pytest.param({"expires_at": NOW - 1}, None, id="ends before it begins"),
        pytest.param({"expires_at": "never"}, None, id="no time at all"),
        pytest.param({"ts": None, "ttl_days": 1}, None, id="days from an unknown time"),
        pytest.param({"ts": None, "expires_at": 30}, None, id="a slip, time unknown"),
        pytest.param({"ts": None, "expires_at": NOW + 86_400}, 1, id="a moment, time unknown"),
        pytest.param({"ts": 1, "ttl_days": 30}, -NOW / 86_400 + 30, id="long ago is long ago"),
    ],
)
def test_a_memory_expires_when_its_line_says_so(fields: dict[str, Any], days: float | None) -> None:
    found = expires_us(memory(**fields))
    if days is None:
        assert found is None
    else:
        expected = NOW_US + round(days * DAY_US) + (1_000_000 if fields.get("ts") == 1 else 0)
        assert found == pytest.approx(expected, abs=2_000_000)


def test_what_is_pinned_never_expires() -> None:
    one = memory(ttl_days=1)
    assert expires_us(one, pinned=True) is None
    assert not is_expired(one, now_us=NOW_US + 9 * DAY_US, pinned=True)


def test_a_memory_is_expired_from_the_very_moment_on() -> None:
    one = memory(ttl_days=1)
    assert not is_expired(one, now_us=NOW_US + DAY_US - 1)
    assert is_expired(one, now_us=NOW_US + DAY_US)


@pytest.mark.parametrize(
    ("time_us", "expiry_us", "expected"),
    [
        (NOW_US, None, None),
        (NOW_US, NOW_US + 1, NOW_US + 1),
        (NOW_US, NOW_US, None),
        (None, NOW_US, NOW_US),
        (None, 30_000_000, None),
        (NOW_US, 10**30, None),
    ],
)
def test_an_expiry_that_cannot_be_meant_is_none(
    time_us: int | None, expiry_us: int | None, expected: int | None
) -> None:
    assert plausible_expiry(time_us, expiry_us) == expected


def chains(*links: tuple[str, int | None, str], living: str | None = None) -> Chains:
    return Chains.of([Link(*one) for one in links], None if living is None else {*living})


@pytest.mark.parametrize(
    ("links", "living", "by"),
    [
        pytest.param([], None, {}, id="nothing"),
        pytest.param([("b", 2, "a")], None, {"a": "b"}, id="one for another"),
        pytest.param([("a", 1, "a")], None, {}, id="itself"),
        pytest.param([("b", 2, "a"), ("c", 3, "b")], None, {"a": "b", "b": "c"}, id="a chain"),
        pytest.param([("b", 1, "a"), ("c", 3, "b")], "abc", {"a": "b", "b": "c"}, id="all there"),
        pytest.param([("b", 2, "a"), ("c", 3, "b")], "ab", {"a": "b"}, id="head in trash: back"),
        pytest.param([("b", 2, "a"), ("c", 3, "b")], "ac", {}, id="the middle one is gone"),
        pytest.param([("b", 2, "a")], "b", {}, id="what is not there is nothing"),
        pytest.param([("b", 2, "a"), ("b", 2, "c")], None, {"a": "b", "c": "b"}, id="a merge"),
        pytest.param([("b", 2, "a"), ("b", 2, "a")], None, {"a": "b"}, id="said twice"),
        pytest.param([("b", 2, "a"), ("c", 3, "a")], None, {"a": "c"}, id="a fork: the newest"),
        pytest.param([("b", 3, "a"), ("c", 3, "a")], None, {"a": "c"}, id="same time: by id"),
        pytest.param([("b", None, "a"), ("c", 1, "a")], None, {"a": "c"}, id="a time before none"),
        pytest.param([("b", 1, "a")], None, {"a": "b"}, id="what clocks say is no matter"),
        pytest.param(
            [("c", 3, "a"), ("c", 3, "b"), ("b", 2, "a")],
            None,
            {"a": "c", "b": "c"},
            id="an active superseder first",
        ),
        pytest.param(
            [("b", 9, "a"), ("x", 10, "b"), ("c", 2, "a")],
            None,
            {"a": "c", "b": "x"},
            id="an active superseder before a newer one that is not",
        ),
        pytest.param([("a", 1, "b"), ("b", 2, "a")], None, {"a": "b"}, id="a ring of two"),
        pytest.param([("a", 1, "b"), ("b", 1, "a")], None, {"a": "b"}, id="same time: greatest id"),
        pytest.param(
            [("a", 1, "b"), ("b", 3, "c"), ("c", 2, "a")],
            None,
            {"c": "b", "a": "c"},
            id="a ring of three: only the newest is active",
        ),
        pytest.param(
            [("a", 1, "b"), ("b", 2, "a"), ("x", 9, "a")],
            None,
            {"a": "x"},
            id="a ring with its loser superseded from outside",
        ),
        pytest.param(
            [("a", 1, "b"), ("b", 2, "a"), ("x", 9, "b")],
            None,
            {"b": "x", "a": "b"},
            id="a ring with its winner superseded from outside",
        ),
        pytest.param(
            [("a", 1, "b"), ("b", 2, "a"), ("b", 2, "z"), ("a", 1, "y")],
            None,
            {"a": "b", "z": "b", "y": "a"},
            id="under a ring",
        ),
    ],
)
def test_what_took_a_memorys_place(
    links: list[tuple[str, int | None, str]], living: str | None, by: dict[str, str]
) -> None:
    for order in itertools.permutations(links):
        found = chains(*order, living=living)
        assert {name: one.by for name, one in found.superseded().items()} == by
        assert len(found) == len(by)
        for name in "abcxyz":
            assert found.superseded_by(name) == by.get(name)


def test_since_when_is_when_its_superseder_happened() -> None:
    found = chains(("b", 2, "a"), ("d", None, "c"))
    assert found.superseded() == {"a": ("b", 2), "c": ("d", None)}


@pytest.mark.parametrize("name", ["v1", "v2", "v3", "side"])
def test_a_chain_is_told_whole_from_any_of_its_members(name: str) -> None:
    found = chains(("v2", 20, "v1"), ("v3", 30, "v2"), ("v3", 30, "side"))
    assert found.head(name) == "v3"
    assert found.history(name) == ["v1", "side", "v2", "v3"]


def test_a_ring_has_a_history_too() -> None:
    found = chains(("a", 1, "b"), ("b", 3, "c"), ("c", 2, "a"))
    assert found.history("a") == ["a", "c", "b"]
    assert found.rings == {"a", "b", "c"}


def test_what_has_no_chain_is_its_own_head_and_history() -> None:
    assert chains().head("a") == "a"
    assert chains().history("a") == ["a"]


def one_soul(name: str, time_us: int | None, user: str = "u") -> Single:
    return Single(name, time_us, ("soul", user, ""))


@pytest.mark.parametrize(
    ("singles", "by"),
    [
        pytest.param([one_soul("a", 1)], {}, id="the only one"),
        pytest.param([one_soul("a", 1), one_soul("b", 2)], {"a": "b"}, id="the newest"),
        pytest.param([one_soul("a", 1), one_soul("b", 1)], {"a": "b"}, id="same time: by id"),
        pytest.param([one_soul("a", 5), one_soul("b", None)], {"b": "a"}, id="no time is oldest"),
        pytest.param([one_soul("a", 1), one_soul("b", 2, "v")], {}, id="one for each user"),
        pytest.param([one_soul("a", 1), one_soul("a", 1)], {}, id="the same one twice"),
    ],
)
def test_of_a_single_kind_only_the_newest_is_active(
    singles: list[Single], by: dict[str, str]
) -> None:
    for order in itertools.permutations(singles):
        found = Chains.of([], None, order)
        assert {name: one.by for name, one in found.superseded().items()} == by


def test_a_superseded_soul_does_not_compete_however_new() -> None:
    found = Chains.of([Link("b", 2, "c")], None, [one_soul("b", 2), one_soul("c", 9)])
    assert found.superseded() == {"c": ("b", 2)}
    third = Chains.of(
        [Link("b", 2, "c")], None, [one_soul("b", 2), one_soul("c", 9), one_soul("d", 1)]
    )
    assert third.superseded() == {"c": ("b", 2), "d": ("b", 2)}
    assert third.history("d") == ["d", "c", "b"]


def test_what_there_is_one_of_is_a_kind_for_a_user() -> None:
    assert single_of(memory(kind="soul", user_id="u")) == ("soul", "u", "")
    assert single_of(memory(kind="soul", user_id="u", tenant="t")) == ("soul", "u", "t")
    assert single_of(memory(metadata={"kind": "user"})) == ("user", "", "")


@pytest.mark.parametrize(
    ("name", "fields", "pinned", "state"),
    [
        ("head", {}, False, "active"),
        ("old", {}, False, "superseded"),
        ("head", {"ttl_days": 1}, False, "expired"),
        ("head", {"ttl_days": 1}, True, "active"),
        ("old", {"ttl_days": 1}, False, "expired"),
        ("old", {"ttl_days": 1}, True, "superseded"),
        ("head", {"ttl_days": 1, "stability": "permanent"}, False, "active"),
    ],
)
def test_a_memory_has_one_standing(
    name: str, fields: dict[str, Any], pinned: bool, state: str
) -> None:
    linked = chains(("head", 1, "old"))
    later = NOW_US + 2 * DAY_US
    assert standing(name, memory(**fields), linked, now_us=later, pinned=pinned) == state


# -- laws -------------------------------------------------------------------------------------

NAMES = "abcdefgh"
times = st.fixed_dictionaries({name: st.one_of(st.none(), st.integers(0, 3)) for name in NAMES})
pairs = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=20)


@given(pairs, times, st.one_of(st.none(), st.sets(st.sampled_from(NAMES))))
def test_chains_end_at_one_active_head_in_any_order(
    named: list[tuple[str, str]], when: dict[str, int | None], living: set[str] | None
) -> None:
    links = [Link(source, when[source], target) for source, target in named]
    found = Chains.of(links, living)
    again = Chains.of(reversed(links), living)
    assert found.superseded() == again.superseded()
    there = {*NAMES} if living is None else living
    targets = {b for a, b in named if a != b and a in there and b in there}
    assert {*found.superseded()} <= targets
    for name in NAMES:
        head = found.head(name)
        assert head not in found
        assert found.history(name)[-1] == head
        assert name in found.history(name)
        assert len({*found.history(name)}) == len(found.history(name))
    for name, one in found.superseded().items():
        assert (one.by, name) in named


@given(pairs, times)
def test_nothing_that_nobody_names_is_hidden_and_somebody_stays(
    named: list[tuple[str, str]], when: dict[str, int | None]
) -> None:
    found = Chains.of([Link(a, when[a], b) for a, b in named])
    hidden = {name for name in NAMES if name in found}
    assert hidden < {*NAMES}
    for name in NAMES:  # whoever is named and yet active won its ring: it names on, back to itself
        if name not in hidden and any(b == name != a for a, b in named):
            assert name in _reached(named, name)


def _reached(named: list[tuple[str, str]], first: str) -> set[str]:
    found: set[str] = set()
    waiting = [first]
    while waiting:
        at = waiting.pop()
        new = {b for a, b in named if a == at != b} - found
        found |= new
        waiting += new
    return found


def test_a_hundred_thousand_links_are_worked_out_without_a_stack() -> None:
    length = 100_000
    names = [f"{n:06}" for n in range(length)]
    links = [Link(names[n], n, names[n - 1]) for n in range(1, length)]
    straight = Chains.of(links)
    assert straight.head(names[0]) == names[-1]
    assert straight.history(names[5]) == names
    ring = Chains.of([*links, Link(names[0], 0, names[-1])])
    assert ring.head(names[0]) == names[-1]
    assert names[-1] not in ring
    star = Chains.of(Link("head", 1, name) for name in names)
    assert len(star) == length
