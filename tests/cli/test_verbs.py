"""What one verb is built alone for, is told as where all of them are built."""

import subprocess
import sys
from typing import Any

import pytest
import typer

from skymem.cli.main import app
from skymem.cli.verbs import command_line
from tests.cli.conftest import Shell

WHOLE: Any = typer.main.get_command(app)


def _help_of(command: Any, verb: str) -> str:
    one = command.commands[verb]
    above = typer.Context(command, info_name="skymem")
    told: str = one.get_help(typer.Context(one, info_name=verb, parent=above))
    return told


@pytest.mark.parametrize("verb", WHOLE.commands)
def test_its_help_is_the_same(verb: str) -> None:
    alone: Any = typer.main.get_command(command_line(verb))

    assert [*alone.commands] == [verb]
    assert _help_of(alone, verb) == _help_of(WHOLE, verb)


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["--help", "promote"],
        ["--home", "promote", "--help", "promote"],
        ["--home=promote", "--help", "promote"],
        ["--agent", "promote", "--log-level=info", "--help"],
    ],
    ids=" ".join,
)
def test_what_asks_for_all_of_them_gets_all(shell: Shell, words: list[str]) -> None:
    told = shell.bare(*words)

    assert told.code == 0
    for verb in WHOLE.commands:
        assert f"\n  {verb} " in told.out


def test_a_verb_there_is_not_is_told_with_one_there_is(shell: Shell) -> None:
    told = shell("promot")

    assert told.code == 2
    assert "promote" in told.err


@pytest.mark.parametrize("before", [["--agent", "ann"], ["--agent=ann"], ["--log-level", "debug"]])
def test_options_may_stand_before_it(shell: Shell, before: list[str]) -> None:
    (shell.home / "memory/ann").mkdir(exist_ok=True)
    assert shell(*before, "remember", "x").code == 0


def test_a_value_that_is_missing_is_told(shell: Shell) -> None:
    assert "requires an argument" in shell.bare("--home").err


@pytest.mark.parametrize(("verb", "module"), [("promote", "job_verbs"), ("trash", "trash_verbs")])
def test_no_other_verbs_are_loaded(verb: str, module: str) -> None:
    code = (
        "import sys; from skymem.cli.verbs import command_line; command_line(sys.argv[1]); "
        "print(*(name for name in sys.modules if name.endswith('_verbs')))"
    )
    told = subprocess.run([sys.executable, "-c", code, verb], check=True, capture_output=True)

    assert told.stdout.decode().split() == [f"skymem.cli.{module}"]
