"""The scratchpad from the command line: write, read, promote, report-saved, end (rows W1, W2)."""

import json
from collections.abc import Iterator

import pytest

from skymem.working import at_hand as module
from tests.cli.conftest import Shell
from tests.cli.conftest import shell as shell  # noqa: PLC0414  (the fixture)

PRINCIPLE = "Refunds above the limit always need a manager's approval."
LIKE = "The user prefers short answers."


@pytest.fixture(autouse=True)
def a_process_that_has_just_started() -> Iterator[None]:
    yield
    module._hands.clear()


def test_what_one_process_writes_another_reads(shell: Shell) -> None:
    first = shell("scratchpad", "write", PRINCIPLE, "Two columns.", "--session", "c-1", "--json")
    assert first.json["session"] == "c-1"
    second = shell("scratchpad", "write", LIKE, "--session", "c-1", "--user", "ann", "--remember")
    read = shell("scratchpad", "read", "--session", "c-1", "--json").json
    assert [one["id"] for one in read["snippets"]] == [*first.json["ids"], second.out.strip()]
    last = read["snippets"][-1]
    assert (last["user_id"], last["remember"], last["origin"]) == ("ann", True, "agent")
    assert shell("scratchpad", "read", "--session", "c-1").out.splitlines() == [
        PRINCIPLE,
        "Two columns.",
        LIKE,
    ]
    other = shell("scratchpad", "read")
    assert (other.code, other.out) == (0, "")
    assert "nothing in the scratchpad of default" in other.err


def test_the_environment_names_the_conversation(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKYMEM_SESSION", "c-7")
    shell("scratchpad", "write", "a")
    assert shell("scratchpad", "read", "--session", "c-7").out == "a\n"


def test_a_saved_report_promotes_and_the_books_are_right(shell: Shell) -> None:
    shell("scratchpad", "write", PRINCIPLE, LIKE, "The sample was short yesterday.")
    planned = shell("scratchpad", "report-saved", "--dry-run")
    assert planned.out.count("would go to") == 2
    told = shell("scratchpad", "report-saved")
    assert told.code == 0
    assert "went to business context as " in told.out
    assert "went to preferences as " in told.out
    assert "stays: salience\n    explicit 0 against 1\n    salience 0 against 0.5 (" in told.out
    again = shell("scratchpad", "promote", "--json").json
    assert (again["acted"], again["because"]) == (0, "by_hand")
    status = shell("status", "--json").json
    assert status["last_action"]["action"] == "scratchpad_promote"
    assert [one["text"] for one in shell("pref", "list", "--json").json["preferences"]] == [LIKE]
    assert shell("fsck").code == 0
    assert shell("audit", "verify").code == 0


def test_what_became_of_a_snippet_is_explained(shell: Shell) -> None:
    (name,) = shell("scratchpad", "write", PRINCIPLE, "--json").json["ids"]
    (decided,) = shell("scratchpad", "promote", "--json").json["decisions"]
    told = shell("explain", name)
    assert f"became evidence of {decided['made']}: surprisal 1 against 0.35" in told.out
    theirs = shell("--agent", "docs-sky", "explain", decided["made"])
    assert f"made of 1 memories: {name}" in theirs.out


def test_what_is_erased_is_nowhere_in_business_context_either(shell: Shell) -> None:
    (name,) = shell("scratchpad", "write", PRINCIPLE, "--json").json["ids"]
    shell("scratchpad", "promote")
    shell("--agent", "docs-sky", "promote")
    told = shell("erase", name, "--json")
    assert told.code == 0
    assert [one["agent"] for one in told.json["receipt"]["shared"]] == ["docs-sky"]
    files = [path for path in shell.home.rglob("*") if path.is_file()]
    assert [path for path in files if b"Refunds" in path.read_bytes()] == []


def test_an_end_takes_all_of_one_conversation(shell: Shell) -> None:
    for text in ("a", "b", "A!"):
        shell("scratchpad", "write", text, "--session", "c-1")
    shell("scratchpad", "write", "kept", "--session", "c-2")
    assert (
        "3 snippet(s) would be in trash"
        in shell("scratchpad", "end", "--session", "c-1", "--dry-run").out
    )
    assert len(shell("scratchpad", "end", "--session", "c-1", "--json").json["forgotten"]) == 3
    assert shell("scratchpad", "read", "--session", "c-1").out == ""
    assert shell("scratchpad", "read", "--session", "c-2").out == "kept\n"
    assert shell("scratchpad", "end", "--session", "c-1").out.startswith("0 snippet(s)")


def test_what_a_terminal_would_obey_is_escaped(shell: Shell) -> None:
    shell("scratchpad", "write", "red \x1b[31m alert")
    assert shell("scratchpad", "read").out == "red \\u001b[31m alert\n"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["write", " "], "no text"),
        (["write", "x", "--session", ""], "needs a name"),
        (["write", "x", "--origin", "hearsay"], '"origin"'),
        (["write", "x" * 2001], "2,001 characters"),
        (["write", "x", "--session", "c" * 201], "201 characters"),
        (["write", "x\udcff"], "not UTF-8"),
    ],
)
def test_what_can_not_be_is_refused(shell: Shell, words: list[str], complaint: str) -> None:
    told = shell("scratchpad", *words)
    assert told.code == 2
    assert complaint in told.err
    assert not shell.short_term.exists() or json.dumps("x") not in shell.short_term.read_text()
