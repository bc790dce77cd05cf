"""An agent's name is on the allow-list or it is refused: it becomes a directory and a lock."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.errors import AgentNameError
from skymem.policy.admit import agent_name_fault, check_agent_name


@pytest.mark.parametrize(
    "name", ["sky", "hobbs", "a", "0", "no", "null", "0123", "1e3", "true", "a_b-c", "x" * 64]
)
def test_a_plain_lower_case_name_is_given_back_as_it_is(name: str) -> None:
    assert check_agent_name(name) == name


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        pytest.param("", "it is empty", id="empty"),
        pytest.param("Sky", "the capital letter S", id="twin in another case"),
        pytest.param("ѕky", r"U\+0455", id="twin in another script"),
        pytest.param("sky\u0301", r"U\+0301", id="combining mark"),
        pytest.param("ſky", r"U\+017F", id="folds onto s"),
        pytest.param("١٢", r"U\+0661", id="digits of another script"),
        pytest.param("..", r"'\.'", id="parent directory"),
        pytest.param("a/b", "'/'", id="path"),
        pytest.param("/etc", "'/'", id="absolute path"),
        pytest.param("a\0b", r"U\+0000", id="NUL"),
        pytest.param("sky\n", r"U\+000A", id="trailing newline"),
        pytest.param("sky ", r"U\+0020", id="trailing space"),
        pytest.param("\ud800", r"U\+D800", id="lone surrogate"),
        pytest.param("-rf", "it starts with '-'", id="looks like an option"),
        pytest.param("_x", "it starts with '_'", id="starts with an underscore"),
        pytest.param("x" * 65, "it has 65 characters", id="too long"),
        pytest.param("x" * 300, "it has 300 characters", id="longer than a file name"),
    ],
)
def test_anything_else_is_refused_with_its_reason(name: str, reason: str) -> None:
    with pytest.raises(AgentNameError, match=reason) as caught:
        check_agent_name(name)
    assert caught.value.exit_code == 30


@given(st.text(max_size=80))
def test_a_name_is_allowed_exactly_when_it_is_on_the_list(name: str) -> None:
    allowed = re.compile(r"\A[a-z0-9][a-z0-9_-]{0,63}\Z").match(name) is not None
    assert (agent_name_fault(name) is None) == allowed


def test_the_message_stays_short_however_long_the_name() -> None:
    with pytest.raises(AgentNameError) as caught:
        check_agent_name("x" * 1_000_000)
    assert len(str(caught.value)) < 300
