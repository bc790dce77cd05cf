"""`kinds:` changes what is usual for a kind or adds one, and says what makes no sense."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.config.effective import effective_rules
from skymem.config.kinds_section import kind_values
from skymem.config.rules_file import examine_rules, read_rules
from skymem.errors import ConfigurationError
from skymem.model.kinds import KINDS, Kind, Kinds


def kinds_of(tmp_path: Path, text: str) -> Kinds:
    path = tmp_path / "retention_rules.yaml"
    path.write_text(f"kinds:\n  {text}\n")
    return read_rules(path).kinds


@pytest.mark.parametrize(
    ("text", "name", "changed"),
    [
        pytest.param("fact: {importance: 0.9}", "fact", {"importance": 0.9}, id="importance"),
        pytest.param("log: {ttl: 12h}", "log", {"ttl_days": 0.5}, id="ttl"),
        pytest.param("log: {ttl: none}", "log", {"ttl_days": None}, id="no ttl"),
        pytest.param(
            "log: {stability: permanent}",
            "log",
            {"stability": "permanent", "ttl_days": None},
            id="what is made permanent loses its ttl",
        ),
        pytest.param(
            "soul: {stability: stable, ttl: 365d}",
            "soul",
            {"stability": "stable", "ttl_days": 365.0},
            id="what is permanent no more may have one",
        ),
        pytest.param("agent: {single: false}", "agent", {"single": False}, id="several"),
        pytest.param("crumb: {}", "crumb", {}, id="nothing said"),
    ],
)
def test_a_kind_is_changed_in_what_is_said_and_in_nothing_else(
    text: str, name: str, changed: dict[str, Any], tmp_path: Path
) -> None:
    kinds = kinds_of(tmp_path, text)
    usual = KINDS[name]
    expected = {field: getattr(usual, field) for field in Kind._fields} | changed
    assert {field: getattr(kinds[name], field) for field in Kind._fields} == expected
    assert {each: kinds[each] for each in kinds if each != name} == {
        each: KINDS[each] for each in KINDS if each != name
    }


@pytest.mark.parametrize("name", ["no", "null", "0123", "true", "häuslich", "a b", "user/likes"])
def test_a_kind_of_ones_own_is_called_as_it_is_written(name: str, tmp_path: Path) -> None:
    kind = kinds_of(tmp_path, f"{name}: {{importance: 0.6, compress: true}}")[name]
    assert (kind.name, kind.importance, kind.compress, kind.promote) == (name, 0.6, True, True)
    assert kind.meaning


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("fact: 3", '2:3: kind "fact" says nothing (such as fact: {importance: 0.6})'),
        ("fact:", '2:3: kind "fact" says nothing'),
        ("fact: {importance: 2}", "2:22: importance: 2 is not in 0 to 1"),
        ("fact: {stability: firm}", "is not one of volatile, stable, permanent"),
        ("fact: {ttl: 30}", 'has no unit (is it "30s", '),
        ("fact: {ttl: 0d}", "is not in 1s to"),
        ("fact: {ttl_days: 30}", 'unknown key "ttl_days" (did you mean "ttl"?)'),
        ("fact: {promote: yes}", "is not a truth value (write true)"),
        ("fact: {importance: none}", "is not a number"),
        ("soul: {ttl: 30d}", '2:10: ttl: kind "soul" is permanent, never expires (remove ttl'),
        ("x: {ttl: 1d, stability: permanent}", "is permanent, never expires"),
        ('"": {promote: false}', 'kind "" is no name (use 1 to 64 characters'),
        ('" fact": {promote: false}', "is no name"),
        ('"a\\nb": {promote: false}', "is no name"),
        ("x" * 65 + ": {promote: false}", "is no name"),
        ("fact: {}\n  fact: {}", 'duplicate key "fact"'),
    ],
)
def test_each_fault_is_told_with_its_place_and_the_way_out(
    text: str, complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        kinds_of(tmp_path, text)
    [told] = str(caught.value).splitlines()
    assert complaint in told


def test_every_kind_is_shown_with_where_each_value_comes_from(tmp_path: Path) -> None:
    path = tmp_path / "retention_rules.yaml"
    path.write_text("kinds:\n  log:\n    ttl: none\n  recipe:\n    merge: true\n")
    shown: Any = effective_rules(path)["kinds"]
    assert list(shown) == [*KINDS, "recipe"]
    assert shown["log"]["ttl"] == {"value": "none", "source": "retention_rules.yaml:3"}
    assert shown["recipe"]["merge"] == {"value": True, "source": "retention_rules.yaml:5"}
    assert shown["summary"]["ttl"] == {"value": "7d", "source": "default"}


KIND_RULES = st.builds(
    Kind,
    st.just("mine"),
    st.just("A kind of this home."),
    st.integers(0, 100).map(lambda hundredths: hundredths / 100),
    st.sampled_from(["volatile", "stable"]),
    st.none() | st.integers(1, 100_000).map(lambda hours: hours / 24),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)


@given(KIND_RULES)
def test_a_kind_as_it_is_shown_can_be_written_and_means_the_same(
    tmp_path_factory: pytest.TempPathFactory, kind: Kind
) -> None:
    path = tmp_path_factory.getbasetemp() / "shown_kinds.yaml"
    words = {name: str(value).lower() for name, value in kind_values(kind).items()}
    lines = [f"    {name}: {word}" for name, word in words.items()]
    path.write_text("\n".join(["kinds:", "  mine:", *lines, ""]))
    reading = examine_rules(path)
    assert [str(problem) for problem in reading.complaints.found] == []
    read = reading.rules.kinds["mine"]
    assert kind_values(read) == kind_values(kind)
    assert read.ttl_days == pytest.approx(kind.ttl_days) if kind.ttl_days else not read.ttl_days
