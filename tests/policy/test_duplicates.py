"""Row P15: near is not the same; whatever is changed in one of two memories keeps them apart."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.model.memory import Memory
from skymem.policy.duplicates import DUPLICATE, difference, judge
from tests.policy.test_alike import NO_COPIES

PAIRS = Path(__file__).parents[2] / "benchmarks/duplicate_pairs.jsonl"
HARD = [json.loads(row) for row in PAIRS.read_text().splitlines()]
OTHER = [(row["about"], row["one"], row["other"]) for row in HARD if not row["same"]]
GATES = {
    "number": {"numbers", "ids", "moment"},
    "unit": {"numbers"},
    "version": {"ids", "numbers"},
    "path": {"ids"},
    "id": {"ids", "numbers"},
    "negation": {"negation"},
    "question": {"question"},
    "modality": {"modality", "wording"},
    "quantifier": {"quantifiers"},
    "who": {"order"},
    "moment": {"moment"},
}
WORDS = st.sampled_from(
    """
    ann bob repo user prefers not all from to 3 5 2026-03-04 the a on in must may v1.2 ? , : .
    Fridays Kiel is are dark 20 GB docs/a.md can't DB
    """.split()  # noqa: SIM905  (a list of them is no easier to read)
)
TEXTS = st.lists(WORDS, max_size=9).map(" ".join)


def memory(text: str, **more: Any) -> Memory:
    return Memory({"content": text, "ts": 1_700_000_000.0, "kind": "fact", **more})


@pytest.mark.parametrize(("about", "one", "other"), OTHER)
def test_no_pair_that_says_something_else_is_a_duplicate(about: str, one: str, other: str) -> None:
    gate = difference(one, other)
    assert gate in GATES.get(about, {gate} - {""})


@pytest.mark.parametrize(("one", "other"), NO_COPIES)
def test_what_is_no_copy_is_no_duplicate_either(one: str, other: str) -> None:
    assert difference(one, other)


@given(TEXTS, TEXTS)
def test_it_is_the_same_whichever_comes_first(one: str, other: str) -> None:
    assert difference(one, other) == difference(other, one)


@given(TEXTS)
def test_a_text_says_what_it_says_unless_that_depends_on_the_day(text: str) -> None:
    assert difference(text, text) in ("", "moment")


@given(st.lists(WORDS, min_size=1, max_size=7), st.integers(0, 99), st.integers(1, 9))
def test_any_other_number_keeps_them_apart(words: list[str], number: int, more: int) -> None:
    place = len(words) // 2
    one, other = (
        " ".join([*words[:place], str(value), *words[place:]]) for value in (number, number + more)
    )
    assert difference(one, other)


NEGATABLE = re.compile(r"\b(prefers|must|may|is|are)\b")


@given(st.lists(WORDS, min_size=1, max_size=7))
def test_any_negation_more_and_any_other_name_keeps_them_apart(words: list[str]) -> None:
    text = " ".join([*words, "and Carla must go"])
    assert difference(text, NEGATABLE.sub(r"\1 not", text, count=1))
    assert difference(text, text.replace("Carla", "Clara"))


@pytest.mark.parametrize(
    ("gate", "more"),
    [
        ("another_kind", {"kind": "preference"}),
        ("whose", {"user_id": "bob"}),
        ("whose", {"session": "s2"}),
        ("sensitivity", {"sensitivity": "sensitive"}),
        ("another_origin", {"origin": "web"}),
        ("another_origin", {"trust": 0.2}),
        ("another_place", {"tags": ["project:x", "goal"]}),
    ],
)
def test_what_they_are_must_be_the_same_as_well(gate: str, more: dict[str, Any]) -> None:
    one, other = memory("The repo uses pnpm"), memory("The repository uses pnpm", **more)
    assert judge(one, other, 0.97, 0.9).gate == gate
    assert judge(other, one, 0.97, 0.9).gate == gate


def test_it_tells_the_cosine_against_the_threshold() -> None:
    one, other = memory("The repo uses pnpm"), memory("The repository uses pnpm")
    assert judge(one, other, 0.97, 0.92).words() == "duplicate 0.97 against 0.92"
    assert judge(one, other, 0.91, 0.92).words() == "likeness 0.91 against 0.92"
    assert judge(one, memory("The repo uses npm"), 0.97, 0.92).gate == "wording"
    assert DUPLICATE == "duplicate"


def test_pages_are_no_facts() -> None:
    assert difference("word " * 300, "word " * 300 + ".") == "length"
