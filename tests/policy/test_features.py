"""What a model sees of a memory: numbers about it, and none of its words (P12, promise 6)."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.model.memory import Memory
from skymem.policy.features import BUCKETS, features, values


def seen(content: str, **fields: object) -> dict[str, float]:
    memory = Memory({"ts": 1, "content": content, **fields})
    return {one.key: one.value for one in features(memory)}


@pytest.mark.parametrize(
    ("content", "form"),
    [
        ("Shall we go?", "form: a question"),
        ("- one\n- two\n", "form: a list"),
        ("```\nx = 1\n```", "form: code"),
        ("2026-11-29T03:04:05 INFO started", "form: a log line"),
        ("see src/model.py", "form: a path"),
        ("it is on https://example.org", "form: an address"),
        ("on 2026-11-29 we met", "form: a date"),
        ("then Maria came", "form: a name"),
        ("we never deploy on fridays", "cue: negation"),
        ("we decided to wait", "cue: a choice"),
        ("please remember this", "cue: asked to be remembered"),
    ],
)
def test_the_form_and_the_cues_of_a_text_are_seen(content: str, form: str) -> None:
    assert form in seen(content)
    assert form not in seen("tea and cake")


def test_kind_tags_and_origin_are_seen_and_those_of_the_writers_own_hashed() -> None:
    found = seen("tea", kind="decision", tags=["Ops"], origin="tool")
    assert {"kind: decision", "origin: tool"} <= found.keys()
    own = seen("tea", kind="recipe", tags=["ops"], origin="somewhere else")
    assert "origin: unsaid" in own
    assert found.keys() & own.keys() & {key for key in found if key[0] == "#"}, "tags fold case"
    assert not any("recipe" in key or "ops" in key for key in own)


def test_a_word_is_seen_by_its_stem_and_told_as_it_stands() -> None:
    one, other = seen("deployments"), seen("deployment")
    assert {key for key in one if key[0] == "#"} == {key for key in other if key[0] == "#"}
    shown = {feature.shown for feature in features(Memory({"ts": 1, "content": "deployments"}))}
    assert "word “deployments”" in shown


def test_what_others_say_already_is_seen() -> None:
    memory = Memory({"ts": 1, "content": "tea"})
    found = {one.key: one.value for one in features(memory, 2)}
    assert found["repeats"] == 0.5
    assert "repeats" not in {one.key for one in features(memory)}


@given(st.text(max_size=300), st.lists(st.text(max_size=20), max_size=3))
def test_no_key_is_of_the_memorys_making(content: str, tags: list[str]) -> None:
    memory = Memory({"ts": 1, "content": content, "tags": tags})
    found = features(memory)
    assert found == features(memory)
    assert len({one.key for one in found}) == len(found)
    usual = {one.key for one in features(Memory({"ts": 1, "content": ""}))}
    for one in found:
        if one.key[0] == "#":
            assert 0 <= int(one.key[1:]) < BUCKETS
        else:
            ours = one.key.split(":")[0] in {"kind", "origin", "length", "form", "cue"}
            assert ours or one.key in {*usual, "no tags", "repeats"}


def test_a_page_costs_what_a_line_does() -> None:
    found = seen("word " * 100_000 + "zebra")
    assert len(found) < 20


@given(st.text("a/.~ p y@:9-2\n", max_size=12), st.integers(0, 5))
def test_the_quick_way_sees_the_same(text: str, repeats: int) -> None:
    memory = Memory({"ts": 1, "content": text, "tags": ["a", "A"], "kind": "odd"})
    seen = {one.key: one.value for one in features(memory, repeats)}
    assert values(memory, repeats) == seen
    path = r"\w/\w|\s[~.]?/\w|\w\.(?:py|md)\b"
    assert ("form: a path" in seen) == bool(re.search(path, text))
    assert ("form: an address" in seen) == bool(re.search(r"://|\w@\w", text))
    assert ("form: a date" in seen) <= ("form: a number" in seen)
