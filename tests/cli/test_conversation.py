"""`conversation summarize` as a shell sees it (row W11)."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Shell

TURNS = [
    {"role": "user", "content": "We decided to ship Apollo on 3 May."},
    {"role": "assistant", "content": "I will tell Ann."},
]
MORE = [{"role": "user", "content": "The budget is 900 euros."}]


def spelled(turns: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(turn).encode() + b"\n" for turn in turns)


def test_turns_come_as_lines_or_as_an_array_from_a_file_or_stdin(
    shell: Shell, tmp_path: Path
) -> None:
    file = tmp_path / "turns.json"
    file.write_text(json.dumps(TURNS, indent=2))
    words = ["conversation", "summarize"]
    one = shell(*words, "--force", "--json", stdin=spelled(TURNS)).json
    other = shell(*words, str(file), "--force", "--json").json
    assert one["id"] == other["id"]
    assert one["text"].endswith("- assistant: I will tell Ann.")
    printed = shell(*words, "--force", stdin=spelled(TURNS))
    assert printed.out == one["text"] + "\n"
    assert not shell.short_term.exists()


def test_the_last_summary_of_the_session_is_rolled_on(shell: Shell) -> None:
    words = ["conversation", "summarize", "--session", "s1", "--store", "--force"]
    first = shell(*words, "--json", stdin=spelled(TURNS)).json
    second = shell(*words, "--json", stdin=spelled([*TURNS, *MORE])).json
    assert first["written"]
    assert second["line"]["supersedes"] == [first["id"]]
    assert (second["turns"], len(second["replaces"])) == (3, 1)
    again = shell(*words, stdin=spelled(MORE))
    assert again.out == second["text"] + "\n"
    assert "nothing was said since the last summary" in again.err
    assert "--force" not in again.err, "it was given"
    shown = shell("show", second["id"], "--json").json
    assert shown["memory"]["record_type"] == "conversation"


def test_it_is_told_when_it_is_too_early_and_when_not_all_fits(shell: Shell) -> None:
    (shell.home / "retention_rules.yaml").write_text("conversation: {summary_chars: 100}\n")
    early = shell("conversation", "summarize", stdin=spelled(TURNS))
    assert (early.code, early.out) == (0, "")
    assert "no new summary: 2 new turns of 20" in early.err
    assert "--force makes one now" in early.err
    full = shell("conversation", "summarize", "--force", stdin=spelled([*TURNS, *MORE]))
    assert "facts did not fit; raise summary_chars" in full.err


def test_who_keeps_what_was_printed_hands_it_in(shell: Shell, tmp_path: Path) -> None:
    last = tmp_path / "last.json"
    last.write_text(shell("conversation", "summarize", "--force", "--json",
                          stdin=spelled(TURNS)).out)  # fmt: skip
    words = ["conversation", "summarize", "--force", "--previous", str(last)]
    assert "Apollo" in shell(*words, stdin=spelled(MORE)).out
    last.write_text('{"line": null}')
    told = shell(*words, stdin=spelled(MORE))
    assert (told.code, told.err) == (
        2,
        f'skymem: {last}: field "line": there is no summary in it\n',
    )


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b'{"role": "user"}\n\n{"role": ""}\n', 'stdin:1: field "content" is missing'),
        (b'{"role": "user"}\n\n{"role": ""}\n', 'stdin:3: field "role": say who speaks'),
        (b'{"role": "user", "content": \n', "stdin:1: "),
        (b'\xff{"role"\n', "stdin:1: "),
        (b'[\n{"role": "user", "content": "a"},\n{"role": 1}]', 'stdin:3: field "role"'),
        (b'[\n{"role": "user", "content": "a"}\n{}]', "stdin:3: no JSON; is the array whole?"),
        (b'[{"role": "user", "content": "a"}', "stdin:1: no JSON; is the array whole?"),
        (b'[{"role": "user", "content": "a"},\n]', "stdin:1: no JSON; is the array whole?"),
        (b"[{\n'role'", "stdin:2: no JSON; is the array whole?"),
        (b"[]\n[]", "stdin:1: something stands behind the array"),
        (b"[\n\xff]", "stdin:2: not UTF-8"),
        (b'["x"]', "stdin:1: not an object like"),
        (b"[" * 100_000, "stdin:1: no JSON"),
    ],
)
def test_what_is_no_turn_is_told_with_line_and_field(shell: Shell, data: bytes, told: str) -> None:
    answer = shell("conversation", "summarize", "--force", stdin=data)
    assert (answer.code, answer.out) == (2, "")
    assert told in answer.err


def test_the_wrong_file_is_told_in_a_few_lines(shell: Shell, tmp_path: Path) -> None:
    answer = shell("conversation", "summarize", stdin=b"{}\n" * 500)
    assert answer.err.count("\n") == 21
    assert answer.err.endswith("and 480 more\n")
    missing = shell("conversation", "summarize", str(tmp_path / "none"))
    assert (missing.code, missing.err) == (
        2,
        f"skymem: {tmp_path / 'none'} can't be read: No such file or directory\n",
    )
