"""Twenty real shapes of secrets are found, whole; what only looks like one is left alone (X11)."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.policy.detectors import _ASSIGNED, may_give_by_name, sign_pattern, spans
from tests.policy.secret_shapes import HARMLESS, NOT_PERSONAL, PERSONAL, SECRETS, Case

GIVING = (
    "pass", "word", "WD", "phra\u017fe", "_pass", "Pwd", "api_\u212aey", "Secret", "to\u212aen",
    "credent\u0130als", "credential", "s", "\u017f", "'", '"]', " ", "\t", "=", ":=", " is ",
    " \u0131s ", " to ", "wa\u017f ", "hunter2hunter2", "Xk9fooBar77",
)  # fmt: skip
"""What names a secret and gives it, in odd letters too."""


@pytest.mark.parametrize("case", SECRETS, ids=lambda case: case[0])
def test_a_secret_is_found_whole_and_nothing_else(case: Case) -> None:
    _, kind, secret, text = case
    whole = text.format(secret())
    (found,) = spans(whole)
    assert (whole[found.start : found.end], found.kind) == (secret(), kind)


@pytest.mark.parametrize("case", SECRETS, ids=lambda case: case[0])
def test_a_line_with_a_secret_has_a_sign_of_it(case: Case) -> None:
    """Only lines with a sign are looked at: none may be missed."""
    _, _, secret, text = case
    assert sign_pattern().search(text.format(secret()).encode())


@pytest.mark.parametrize("text", HARMLESS, ids=lambda text: text[:30])
def test_what_only_looks_like_a_secret_is_left_alone(text: str) -> None:
    assert spans(text) == []


@pytest.mark.parametrize("case", PERSONAL, ids=lambda case: case[0])
def test_personal_data_are_found_where_that_is_asked_for(case: tuple[str, str, str]) -> None:
    kind, data, text = case
    whole = text.format(data)
    assert spans(whole) == []
    assert [(whole[one.start : one.end], one.kind) for one in spans(whole, personal=True)] == [
        (data, kind)
    ]


@pytest.mark.parametrize("text", [*NOT_PERSONAL, *HARMLESS[:10]], ids=lambda text: text[:30])
def test_what_only_looks_personal_is_left_alone(text: str) -> None:
    assert spans(text, personal=True) == []


@given(st.lists(st.sampled_from(GIVING) | st.characters(), max_size=12).map("".join))
def test_a_text_that_gives_a_secret_by_name_is_never_passed_over(text: str) -> None:
    """Only those texts are looked through in which a name stands before what gives it."""
    if _ASSIGNED.search(text):
        assert may_give_by_name(text)


def test_two_secrets_in_one_text_are_two() -> None:
    first, second = SECRETS[2][2](), SECRETS[4][2]()
    assert [one.kind for one in spans(f"{first} and {second}")] == ["github-token", "gitlab-token"]


SLOW = ("a", "pass", "key=", "://x:", "-----BEGIN PRIVATE KEY-----\n", "eyJa.", "aws ", "+1 ",
        "4 ", "a@a.", "basic ", "\u00e9")  # fmt: skip


@pytest.mark.parametrize("piece", SLOW)
def test_no_text_takes_long(piece: str) -> None:
    """A text made to be slow: seconds would be minutes if the time grew with the square."""
    text = piece * (200_000 // len(piece))
    begun = time.monotonic()
    spans(text, personal=True)
    assert time.monotonic() - begun < 20
