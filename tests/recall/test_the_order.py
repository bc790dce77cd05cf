"""The order of what words find, held to its definition over lines of every kind."""

import json
import os
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skymem.model.identity import digest
from skymem.model.spelling import read_line
from skymem.policy import rank
from skymem.policy.importance import worth
from skymem.recall import lexicon, tiers
from skymem.recall.glance import TOKENS_MAX, Glance
from skymem.stores import word_lists, words
from tests.conftest import START, Desk, line
from tests.recall.conftest import Ask

HOUR = 3600.0
DETERMINISTIC = {"mode": "deterministic"}
ARCHIVE = "short_term_archive_20231114.jsonl"
WORDS = ["tea", "Tea", "report", "straße", "STRASSE", "茶を飲", "\u212a", "k", "tax"]
CONTENT = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)
LINE = st.fixed_dictionaries(
    {"content": CONTENT},
    optional={
        "ts": st.one_of(
            st.integers(0, 20).map(lambda hours: START - hours * HOUR),
            st.just("2023-11-14T21:00:00Z"),
            st.floats(START - 9, START + 9),
            st.none(),
        ),
        "importance": st.sampled_from([0, 0.2, 0.5, 1, 1e-3]),
        "tags": st.lists(st.sampled_from(WORDS), max_size=2),
        "metadata": st.fixed_dictionaries({"ts": st.integers(0, 5)}),
    },
)
TIER = st.sampled_from(["short_term.jsonl", "long_term.jsonl", ARCHIVE])


def reference(desk: Desk, query: str, bias: float) -> list[tuple[float, str]]:
    """Every memory, weighed and sorted the plain way."""
    wanted = rank.tokens(query)
    found = {}
    for memory in desk.memories("short") + desk.memories("archive") + desk.memories("long"):
        own = rank.tokens_of(memory.content, memory.tags)
        hours = 0.0
        if memory.time_us is not None:
            hours = max(0.0, (desk.clock * 1e6 - memory.time_us) / 3.6e9)
        recent = 0.0 if memory.time_us is None else 1 / (1 + hours)
        importance = worth(memory).importance
        score = len(wanted & own) / len(wanted) * (1 - bias) + recent * bias + importance * 0.15
        name = memory.source_id or digest(memory).hex()
        when = -1 if memory.time_us is None else memory.time_us
        found[name] = (-round(score, 9), -importance, -when, name)
    return [(-one[0], one[3]) for one in sorted(found.values())]


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    lines=st.lists(st.tuples(TIER, LINE, st.booleans()), max_size=30),
    query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join),
    weighed=st.tuples(st.integers(1, 12), st.sampled_from([0.0, 0.35, 1.0])),
)
def test_the_order_is_that_of_the_definition(
    desk: Desk,
    ask: Ask,
    lines: list[tuple[str, dict[str, Any], bool]],
    query: str,
    weighed: tuple[int, float],
) -> None:
    limit, bias = weighed
    for path in desk.tiers.directory.glob("*.jsonl"):
        path.unlink()
    for name, fields, escaped in lines:
        with (desk.tiers.directory / name).open("ab") as stream:
            stream.write(json.dumps(fields, ensure_ascii=escaped).encode() + b"\n")
    found = ask(query, limit=limit, recency_bias=bias, **DETERMINISTIC)
    expected = reference(desk, query, bias)[:limit]

    assert [(round(one.score, 9), one.id) for one in found] == expected


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    rounds=st.lists(
        st.tuples(
            st.lists(st.tuples(TIER, LINE), max_size=9), st.integers(0, 3), st.integers(0, 4)
        ),
        max_size=4,
    ),
    query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join),
    weighed=st.tuples(st.integers(1, 6), st.sampled_from([0.0, 0.35, 1.0]), st.integers(0, 2)),
)
def test_it_is_that_of_the_definition_however_the_index_came_about(
    desk: Desk,
    ask: Ask,
    rounds: list[tuple[list[tuple[str, dict[str, Any]]], int, int]],
    query: str,
    weighed: tuple[int, float, int],
) -> None:
    limit, bias, ties = weighed
    directory = desk.tiers.directory
    for path in (*directory.glob("*.jsonl"), *desk.paths.words.glob("*")):
        path.unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "BATCH", 3)
        patch.setattr(word_lists, "MERGED", 2)
        patch.setattr(lexicon, "TIES", ties)
        patch.setattr(tiers, "LOOKED_UP_TIMES", 1)
        for lines, leaving, batches in rounds:
            # The reader's time is up after so many batches: of some files nothing is new.
            ticks = iter([0.0] * (batches + 1))
            patch.setattr(tiers, "time", SimpleNamespace(monotonic=lambda t=ticks: next(t, 9.0)))
            for name, fields in lines:
                with (directory / name).open("ab") as stream:
                    stream.write(json.dumps(fields).encode() + b"\n")
            if leaving:  # some go, and the rest stands in another order
                rest = desk.raw("long")[leaving:]
                new = directory / "new"
                new.write_bytes(b"".join(one + b"\n" for one in reversed(rest)))
                os.replace(new, desk.tiers.long_term)
            found = ask(query, limit=limit, recency_bias=bias, **DETERMINISTIC)
            expected = reference(desk, query, bias)[:limit]
            assert [(round(one.score, 9), one.id) for one in found] == expected


@settings(max_examples=300)
@given(
    fields=LINE,
    query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
    bias=st.floats(0, 1),
    escaped=st.booleans(),
)
def test_a_glance_never_turns_a_line_away_that_reaches(
    fields: dict[str, Any], query: str, bias: float, escaped: bool
) -> None:
    raw = json.dumps(fields, ensure_ascii=escaped).encode()
    memory = read_line(raw)
    wanted = rank.tokens(query)
    now_us = round(START * 1_000_000)
    score = rank.deterministic(
        rank.text_score(wanted, rank.tokens_of(memory.searchable, memory.tags)),
        rank.recency(memory.time_us, now_us),
        worth(memory).importance,
        bias,
    )

    assert Glance(wanted, bias, now_us).reaches(raw, score)


def test_a_file_that_was_rewritten_when_time_is_up_is_read_from_its_beginning(
    desk: Desk, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = [line(f"tea {n}", ts=START - n * HOUR) for n in range(9)]
    desk.tiers.long_term.write_bytes(b"".join(old))
    assert len(ask("tea", **DETERMINISTIC)) == 9
    monkeypatch.setattr(tiers, "CATCH_UP_SECONDS", -1.0)
    new = desk.tiers.directory / "new"
    new.write_bytes(line("tea report") + b"".join(old[3:]))
    os.replace(new, desk.tiers.long_term)
    found = ask("tea report", **DETERMINISTIC)

    assert found[0].content == "tea report"
    assert sorted(one.content for one in found[1:]) == [f"tea {n}" for n in range(3, 9)]


def test_most_lines_that_can_not_be_among_the_best_are_not_read() -> None:
    glance = Glance(rank.tokens("morning report"), 0.35, round(START * 1_000_000))
    old = START - 999 * HOUR

    assert not glance.reaches(line("tea", 1.0, ts=old), 0.4)
    assert glance.reaches(line("tea", 1.0, ts=START), 0.4)
    assert glance.reaches(line("a report", 1.0, ts=old), 0.4)
    assert not glance.reaches('{"ts": 5, "content": "Grüße"}'.encode(), 0.4)
    assert glance.reaches(b'{"ts": 5, "content": "\\u0072eport"}', 0.4)
    assert glance.reaches(b'{"\\u0074s": 1700000000, "content": "x"}', 0.4)


def test_of_a_query_of_many_words_no_line_is_looked_through_for_each() -> None:
    now_us = round(START * 1_000_000)
    few, many = (
        Glance(rank.tokens(" ".join(f"word{n}" for n in range(count))), 0.35, now_us)
        for count in (TOKENS_MAX, TOKENS_MAX + 1)
    )
    old = line("tea", 0.0, ts=START - 999 * HOUR)

    assert not few.reaches(old, 0.9)
    assert many.reaches(old, 0.9)  # it is read instead, which costs a tenth for a page of words
