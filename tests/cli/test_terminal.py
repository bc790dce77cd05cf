"""Text that came from a memory, a file or a name is harmless on a terminal; JSON keeps it whole."""

import json
import os

import pytest

from tests.cli.conftest import Shell

EVIL = "\x1b]0;owned\x07\x1b[2Jfirst\r\nsecond\u202e\u2028\x9b31m\ud800"


@pytest.fixture
def name(shell: Shell) -> str:
    line = json.dumps({"content": EVIL, EVIL: 1, "tags": [EVIL], "importance": 0.9})
    return shell("remember", "--stdin", stdin=line.encode()).out.strip()


def _is_plain(text: str) -> bool:
    return all(one.isprintable() or one == "\n" for one in text)


def test_show_escapes_what_a_terminal_would_obey(shell: Shell, name: str) -> None:
    told = shell("show", name)

    assert _is_plain(told.out)
    assert told.out.count("\n") == 6  # the head, and one line for each of five fields
    assert r"\u001b]0;owned\u0007" in told.out


def test_json_keeps_the_text_as_it_is_and_is_plain_too(shell: Shell, name: str) -> None:
    told = shell("show", name, "--json")

    assert told.out.isascii()
    assert told.json["memory"]["content"] == EVIL


def test_no_verb_about_the_home_prints_memory_text(shell: Shell, name: str) -> None:
    for words in (["promote", "--dry-run"], ["promote"], ["status"], ["doctor"], ["jobs"]):
        told = shell(*words)
        assert _is_plain(told.out + told.err)
        assert "owned" not in told.out + told.err


def test_a_directory_name_is_harmless_in_an_alarm(shell: Shell) -> None:
    (shell.home / "memory/\x1b[2J").mkdir()

    for words in (["status"], ["doctor"]):
        told = shell(*words)
        assert _is_plain(told.out)
        assert "[2J" in told.out


@pytest.mark.parametrize("words", [["show", "\x1b[2J"], ["--agent", "\x1b[2J", "remember", "x"]])
def test_what_was_typed_is_harmless_in_the_error(shell: Shell, words: list[str]) -> None:
    assert _is_plain(shell(*words).err)


@pytest.mark.parametrize(
    "words",
    [["status"], ["jobs"], ["--help"], ["recall", "--help"], ["--version"]],
    ids=" ".join,
)
def test_a_reader_that_closes_the_pipe_is_no_error(shell: Shell, words: list[str]) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    told = shell.process(*words, stdout=write_end)
    os.close(write_end)

    assert (told.code, told.err) == (0, "")


def test_a_terminal_without_unicode_gets_escapes(shell: Shell) -> None:
    told = shell.process("status", env={**os.environ, "PYTHONIOENCODING": "ascii"})

    assert told.code == 0
    assert r"\u2013" in told.out
