"""What comes next, in its order: where a memory goes by one gate it never comes to some others."""

import pytest

from skymem.policy.prospects import JOBS, WORDS, Gate, steps

RUNS = {"promote": 50.0, "rotate": 50.0, "compress": 70.0, "merge": 80.0, "prune": 90.0}


def gate(name: str, opens: float | None = None) -> Gate:
    """An open one, or one that opens at a moment."""
    opens_us = None if opens is None else round(opens * 1_000_000)
    return Gate(name, JOBS[name], 1.0, 1.0, opens is None, opens_us)


def told(*gates: Gate, **runs: float | None) -> list[tuple[str, float | None]]:
    return [(step["gate"], step["at"]) for step in steps(gates, {**RUNS, **runs})]


def test_every_gate_has_words_and_a_job() -> None:
    assert WORDS.keys() == JOBS.keys()


def test_what_is_open_comes_with_the_next_run_and_what_time_opens_not_before_its_time() -> None:
    assert told(gate("importance"), gate("expired", 60.0)) == [
        ("importance", 50.0),
        ("expired", 90.0),
    ]
    assert told(gate("expired", 95.0)) == [("expired", 95.0)]


def test_a_closed_gate_that_time_does_not_open_is_none_of_it() -> None:
    closed = Gate("line_limit", "rotate", 1, 9, open=False, opens_us=None)
    assert told(closed) == []


@pytest.mark.parametrize(
    ("gates", "kept"),
    [
        (["importance", "line_limit", "compressed", "merged", "expired"],
         ["importance", "merged", "expired"]),
        (["line_limit", "no_summary", "merged", "superseded"], ["line_limit", "superseded"]),
        (["merged", "expired"], ["merged", "expired"]),
        (["expired", "superseded", "archive_age"], ["expired"]),
    ],
)  # fmt: skip
def test_what_it_comes_to_no_more_is_left_out(gates: list[str], kept: list[str]) -> None:
    assert [name for name, _ in told(*map(gate, gates))] == kept


def test_what_was_archived_is_not_promoted_after() -> None:
    assert told(gate("importance"), gate("compressed"), promote=75.0) == [("compressed", 70.0)]


def test_where_nobody_knows_when_a_job_runs_its_gate_comes_last_with_the_time_it_opens() -> None:
    assert told(gate("merged"), gate("expired"), merge=None) == [("expired", 90.0)]
    assert told(gate("importance"), gate("merged"), promote=None, merge=99.0) == [("merged", 99.0)]
    assert told(gate("expired", 60.0), prune=None) == [("expired", 60.0)]
