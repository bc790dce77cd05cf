"""`skymem playbook`: from a completed flow to a recipe in another conversation's scratchpad."""

import json
from typing import Any

import pytest

from skymem.app import open_home
from skymem.working.scratchpad import Scratchpad
from tests.cli.conftest import Shell, boundary_left_clean, shell

__all__ = ["boundary_left_clean", "shell"]

FLOW: dict[str, Any] = {
    "flow_dact": "report",
    "slots": {"region": "eu"},
    "tool_calls": [{"tool_id": "sql", "args": {"limit": 3, "x": [None, 1.5]}}, {"tool_id": "plot"}],
    "outcome": "A chart",
    "user_query": "show revenue by region for May",
}
OPTIONS = (
    *("--flow", "report", "--query", FLOW["user_query"], "--outcome", "A chart"),
    *("--call", json.dumps(FLOW["tool_calls"][0]), "--call", '{"tool_id": "plot"}'),
    *("--slot", "region=eu"),
)


def stdin(**more: Any) -> bytes:
    return json.dumps({**FLOW, **more}).encode()


def snippets(shell: Shell, session: str) -> list[str]:
    pad = Scratchpad(open_home(str(shell.home)), "sky", session)
    return [one.text for one in pad.read()]


def test_the_next_turn_makes_it_a_playbook_that_is_written_down(shell: Shell) -> None:
    waits = shell("playbook", "complete", "--stdin", "--session", "c1", "--json", stdin=stdin())
    assert waits.json["state"] == "waiting"
    assert shell("playbook", "list").out == ""
    assert shell("playbook", "continued", "--session", "c2").out == ""
    (made,) = shell("playbook", "continued", "--session", "c1", "--json").json["playbooks"]

    assert {name: made[name] for name in FLOW} == FLOW
    listed = shell("playbook", "list", "--json").json["playbooks"]
    assert listed == [made]
    assert "show revenue" in shell("playbook", "list").out
    found = shell("playbook", "find", "revenue by region in June", "--session", "c9", "--json").json
    assert (found["mode"], found["results"][0]["by"]) == ("words", "likeness")
    assert {name: found["results"][0][name] for name in FLOW} == FLOW
    assert len(snippets(shell, "c9")) == 1
    again = shell("playbook", "find", "--flow", "report", "--session", "c9", "--json").json
    assert (again["results"][0]["by"], again["snippet_id"]) == ("flow", None)
    assert len(snippets(shell, "c9")) == 1
    assert shell("playbook", "find", "weather tomorrow").out == ""


def test_a_correction_drops_it(shell: Shell) -> None:
    shell("playbook", "complete", "--stdin", stdin=stdin())
    assert shell("playbook", "corrected", "--dry-run").out == "would be: 1 dropped\n"
    assert shell("playbook", "corrected").out == "1 dropped\n"
    assert shell("playbook", "continued", "--json").json == {"playbooks": []}


def test_options_say_the_same_as_stdin(shell: Shell) -> None:
    first = shell("playbook", "add", *OPTIONS, "--json").json["playbook"]
    second = shell("playbook", "add", "--stdin", "--json", stdin=stdin()).json["playbook"]

    assert {name: first[name] for name in FLOW} == FLOW
    assert (first["count"], second["count"]) == (1, 2)
    assert "went well 2×" in shell("playbook", "find", "--flow", "report").out


@pytest.mark.parametrize(
    ("words", "given", "fault"),
    [
        (["--stdin"], b"[1]", "stdin: not an object but a list"),
        (["--stdin"], b"", "stdin: not JSON"),
        (["--stdin"], b'{"flow_dat": 1}', 'unknown field "flow_dat" (did you mean "flow_dact"?)'),
        (["--stdin"], b'{"slots": {"a": 1, "a": 2}}', "a key stands twice"),
        (["--stdin"], b"{}", 'field "user_query": no text'),
        (["--stdin", "--flow", "x"], b"{}", "leave the other options out"),
        ([*OPTIONS, "--slot", "eu"], b"", "is no pair; give NAME=VALUE"),
        ([*OPTIONS, "--call", "sql"], b"", "--call: not JSON"),
        ([*OPTIONS[:6]], b"", 'field "tool_calls": not a list of calls'),
    ],
)
def test_what_is_no_flow_is_refused(
    shell: Shell, words: list[str], given: bytes, fault: str
) -> None:
    told = shell("playbook", "add", *words, stdin=given)

    assert (told.code, told.out) == (2, "")
    assert fault in told.err
    assert not shell.short_term.exists()


def test_text_of_a_playbook_can_t_command_the_terminal(shell: Shell) -> None:
    odd = "revenue \x1b[31m\u202e\nby region"
    shell("playbook", "add", "--stdin", stdin=stdin(user_query=odd, outcome=odd))

    for words in (["list"], ["find", "revenue by region"]):
        told = shell("playbook", *words).out
        assert "revenue" in told
        assert not {"\x1b", "\u202e"} & set(told)
