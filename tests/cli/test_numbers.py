"""Every number a verb takes, of every verb: one that can't be meant is refused, with words (2)."""

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from skymem.cli.main import app
from tests.cli.conftest import Shell

VALUES = ["nan", "inf", "-inf", "-1", "1e308", "1e400", "9" * 30, "9" * 400]
SHARES = {"--max-loss"}
"""Options whose number is a percentage."""

TIMES = {"--at", "--since", "--until"}
ARGUMENTS = {
    "apply": ["{plan}"],
    "archive search": ["x"],
    "note write": ["log", "x"],
    "pref find": ["x"],
    "recall": ["x"],
    "remember": ["x"],
    "scratchpad write": ["x"],
}


def _options(group: Any, before: tuple[str, ...] = ()) -> Iterator[str]:
    for name, command in group.commands.items():
        path = (*before, name)
        if hasattr(command, "commands"):
            yield from _options(command, path)
            continue
        for parameter in command.params:
            described = getattr(parameter, "type_descriptor", None)
            is_number = getattr(described, "annotation", None) in (int, float)
            if is_number or {*parameter.opts} & (SHARES | TIMES):
                yield " ".join((*path, parameter.opts[0]))


OPTIONS = [*_options(typer.main.get_command(app))]


def test_the_options_are_found() -> None:
    """Or nothing would be tried below."""
    assert {"remember --ttl-days", "recent --hours", "index --batch-size"} <= {*OPTIONS}
    assert {"prune --max-loss", "apply --max-loss", "audit log --since"} <= {*OPTIONS}


@pytest.mark.parametrize("option", OPTIONS)
def test_it_is_refused(shell: Shell, option: str) -> None:
    shell("remember", "there", "--importance", "0.9")
    plan = str(shell.home / "plan.json")
    shell("promote", "--plan", plan)
    before = shell.snapshot()
    *verb, name = option.split()
    words = [word.format(plan=plan) for word in ARGUMENTS.get(" ".join(verb), [])]
    for value in VALUES:
        told = shell(*verb, *words, f"{name}={value}{'%' if name in SHARES else ''}")

        assert (told.code, told.out) == (2, ""), value
        assert name.lstrip("-") in told.err.replace("_", "-"), value
        assert "JSON compliant" not in told.err
    assert shell.snapshot() == before
