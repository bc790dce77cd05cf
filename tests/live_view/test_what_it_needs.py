"""`skymem top` where there is no terminal, no extra, or no such agent: told before it draws."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from skymem.live_view.terminal import Terminal, has_colours
from tests.live_view import conftest

Start = Callable[..., conftest.Terminal]
WITHOUT_TEXTUAL = """
import sys
sys.modules["textual"] = None
from skymem.cli.entry import main
main()
"""


def test_in_a_pipe_it_says_what_is_for_programs(home: Path) -> None:
    program = [sys.executable, "-m", "skymem", "--home", str(home), "top"]
    done = subprocess.run(program, check=False, capture_output=True, text=True)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "skymem status --json" in done.stderr
    assert "status --follow" in done.stderr


def test_without_the_extra_it_names_it(home: Path, top: Start) -> None:
    seen = top(program=[sys.executable, "-c", WITHOUT_TEXTUAL, "--home", str(home), "top"])

    assert seen.end() == 2
    assert seen.text.split("\n")[0] == "skymem: skymem top needs textual: pip install 'skymem[top]'"


def test_an_agent_that_is_not_there_is_told_before_anything_is_drawn(top: Start) -> None:
    seen = top("--agent", "nobody")

    assert seen.end() == 2
    assert 'no agent "nobody" here' in seen.text
    assert b"\x1b[?1049h" not in seen.written


@pytest.mark.parametrize(
    ("environment", "colours"),
    [
        ({"TERM": "xterm-256color"}, True),
        ({"TERM": "xterm-256color", "NO_COLOR": ""}, True),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, False),
        ({"TERM": "linux"}, True),
        ({"TERM": "vt100"}, False),
        ({"TERM": "dumb"}, False),
        ({"TERM": "xterm-mono"}, False),
        ({}, False),
    ],
)
def test_colours_are_where_the_terminal_has_them(
    environment: dict[str, str], *, colours: bool
) -> None:
    assert has_colours(environment) == colours


def test_letters_a_terminal_has_not_are_spelled_as_wide_in_those_it_has() -> None:
    text = "› sky …  ╭──╮ 記 é"

    assert Terminal(colours=True, encoding="utf-8").spelled(text) == text
    assert Terminal(colours=True, encoding="latin-1").spelled(text) == "> sky ~  +--+ ?? é"
    assert Terminal(colours=True, encoding="ascii").spelled(text) == "> sky ~  +--+ ?? ?"
