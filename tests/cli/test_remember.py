"""Writing: `remember` checks the form, takes all or nothing, and says the id."""

import json
import re

import pytest

from tests.cli.conftest import Shell

GOOD = (
    b'{"ts": 1699999995, "type": "short", "content": "one", "importance": 0.85, "extra": [1.50]}\n'
    b'{"timestamp": "2025-11-08T12:34:56.789Z", "content": "two", "score": 8, "metadata": {}}\n'
)


def test_both_spellings_come_in_by_stdin_byte_for_byte(shell: Shell) -> None:
    told = shell("remember", "--stdin", "--json", stdin=GOOD)

    assert told.code == 0
    assert len(told.json["ids"]) == 2
    assert shell.short_term.read_bytes() == GOOD


def test_a_last_line_without_newline_is_whole_when_it_comes_by_stdin(shell: Shell) -> None:
    shell("remember", "--stdin", stdin=GOOD.rstrip(b"\n"))

    assert shell.short_term.read_bytes() == GOOD


def test_a_bom_at_the_start_of_stdin_is_passed_over_as_in_a_file(shell: Shell) -> None:
    told = shell("remember", "--stdin", stdin=b"\xef\xbb\xbf" + GOOD)

    assert told.code == 0
    assert shell.short_term.read_bytes() == GOOD


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        pytest.param(b"not json", "line 3: not JSON", id="no JSON"),
        pytest.param(b'["a"]', "line 3: not an object but a list", id="a list"),
        pytest.param(b'{"ts": 1}', 'line 3: field "content" is missing', id="no content"),
        pytest.param(b"{}", 'line 3: field "content" is missing', id="nothing"),
        pytest.param(b"{ }", 'line 3: field "content" is missing', id="nothing but a space"),
        pytest.param(b'{"content": 7}', 'line 3: field "content": not text', id="number as text"),
        pytest.param(b'{"content": "x", "score": 11}', 'field "score": 11', id="score beyond 10"),
        pytest.param(b'{"content": "x", "importance": -1}', '"importance": -1', id="below 0"),
        pytest.param(b'{"content": "x", "content": "y"}', "line 3: ", id="field twice"),
        pytest.param(b'{"content": "x", "ts": "soon"}', '"ts"', id="no time"),
        pytest.param(b'{"content": "\xff"}', "line 3: ", id="no UTF-8"),
    ],
)
def test_one_bad_line_keeps_all_out_and_is_named(shell: Shell, bad: bytes, says: str) -> None:
    told = shell("remember", "--stdin", stdin=GOOD + bad + b"\n" + GOOD)

    assert (told.code, told.out) == (2, "")
    assert says in told.err
    assert not shell.short_term.exists()


def test_every_bad_line_is_named_at_once(shell: Shell) -> None:
    told = shell("remember", "--stdin", stdin=b'{"x": 1}\n' + GOOD + b"[]\n")

    assert [text.split(":")[1] for text in told.err.splitlines()] == [" line 1", " line 4"]


@pytest.mark.parametrize("importance", ["nan", "inf", "-0.1", "1.5"])
def test_an_importance_outside_its_range_is_named(shell: Shell, importance: str) -> None:
    refused = shell("remember", "x", "--importance", importance)

    assert refused.code == 2
    assert 'field "importance"' in refused.err
    assert "is not in 0 to 1" in refused.err


def test_the_options_become_fields_of_the_line(shell: Shell) -> None:
    options = ["--importance", "0.9", "--tag", "a", "--tag", "b", "--kind", "fact"]
    shell("remember", "x", *options, "--ttl-days", "30", "--meta", "tool=grep")
    found = json.loads(shell.short_term.read_text())

    assert found.pop("ts") > 1_700_000_000
    assert found == {
        "type": "short",
        "content": "x",
        "tags": ["a", "b"],
        "importance": 0.9,
        "kind": "fact",
        "ttl_days": 30,
        "metadata": {"tool": "grep"},
    }


def test_the_id_that_was_told_finds_the_memory_in_every_tier(shell: Shell) -> None:
    name = shell("remember", "x", "--importance", "0.9").out.strip()
    tiers = [shell("show", name, "--json").json["tier"]]
    shell("promote")
    tiers.append(shell("show", name, "--json").json["tier"])

    assert tiers == ["short", "long"]


DRY = [
    ["remember", "y", "--dry-run"],
    ["promote", "--dry-run"],
    ["rotate", "--dry-run"],
    ["trigger", "memory_rotate_check", "--dry-run"],
    ["run", "--once", "--dry-run"],
    ["run", "--dry-run"],
    ["init", "--dry-run"],
]


@pytest.mark.parametrize("words", DRY, ids=" ".join)
def test_a_dry_run_changes_nothing(shell: Shell, words: list[str]) -> None:
    shell("remember", "x", "--importance", "0.9")
    before = shell.snapshot()

    assert shell(*words).code == 0
    assert shell.snapshot() == before


def test_a_rehearsal_does_not_read_as_if_it_had_been_done(shell: Shell) -> None:
    name = shell("remember", "x").out.strip()
    for words, verb in (
        (["remember", "y"], "remember"),
        (["note", "write", "log", "y"], "write"),
        (["pin", name], "pin"),
        (["unpin", name], "unpin"),
    ):
        assert re.fullmatch(rf"would {verb} [0-9a-f]{{24}}\n", shell(*words, "--dry-run").out), (
            words
        )
        assert shell(*words, "--dry-run", "--json").json["dry_run"] is True
        assert shell(*words).out.startswith("would") is False
        assert "dry_run" not in shell(*words, "--json").json


@pytest.mark.parametrize("stdin", [b"", b"\n \n"])
def test_nothing_on_stdin_is_told_and_is_no_error(shell: Shell, stdin: bytes) -> None:
    assert shell("remember", "--stdin", "--json", stdin=stdin).json == {"id": None, "ids": []}
    told = shell("remember", "--stdin", stdin=stdin)

    assert (told.code, told.out) == (0, "")
    assert told.err == "skymem: nothing came on stdin, so nothing was remembered\n"
    assert not shell.short_term.exists()


def test_a_dry_run_says_each_decision_with_its_reason(shell: Shell) -> None:
    name = shell("remember", "x", "--importance", "0.9").out.strip()
    told = shell("promote", "--dry-run")

    assert name[:12] in told.out
    assert "importance 0.9 against 0.7" in told.out
    assert "1 would be promoted" in told.out


def test_a_plan_holds_no_text_of_a_memory(shell: Shell) -> None:
    shell("remember", "the-secret", "--importance", "0.9", "--tag", "the-tag")
    plan = shell.home / "plan.json"
    shell("promote", "--plan", str(plan))

    assert b"the-secret" not in plan.read_bytes()
    assert b"the-tag" not in plan.read_bytes()


def test_init_never_overwrites(shell: Shell) -> None:
    rules = shell.home / "retention_rules.yaml"
    rules.write_text("promote_threshold: 0.9\n")
    told = shell("init", "--json")

    assert told.json["created"] == []
    assert rules.read_text() == "promote_threshold: 0.9\n"


def test_a_run_that_did_nothing_says_why(shell: Shell) -> None:
    empty = shell("promote")
    shell("remember", "x", "--importance", "0.1")
    low = shell("promote")

    assert "(short-term is empty)" in empty.out
    assert "(none of 1 line(s) reaches the threshold)" in low.out


@pytest.mark.parametrize("option", [["--importance", "0.9"], ["--tag", "z"], ["--kind", "fact"]])
def test_options_beside_stdin_are_refused_rather_than_left_out(
    shell: Shell, option: list[str]
) -> None:
    refused = shell("remember", "--stdin", *option, stdin=b'{"content": "a"}\n')

    assert refused.code == 2
    assert "carry their own fields" in refused.err
