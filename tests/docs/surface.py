"""What the command line takes, verb by verb, read off the command line itself.

The man page and the completions are made of it: Typer has its own Click inside, which `click-man`
can't walk, and its own completion starts the whole program at each Tab.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import typer

from skymem.cli.main import app

FILES: Final = re.compile(r"\b(FILE|PATH|DIR)")
WORDS: Final = re.compile(r"[a-z-]+(\|[a-z-]+)+")


@dataclass(frozen=True)
class Option:
    """An option of a verb."""

    names: tuple[str, ...]
    metavar: str
    """What its value is called; "" for a flag."""

    help: str
    repeated: bool

    @property
    def values(self) -> list[str]:
        """The values there are, where they can be told."""
        return self.metavar.split("|") if WORDS.fullmatch(self.metavar) else []

    @property
    def takes_file(self) -> bool:
        """Whether its value is the name of a file."""
        return bool(FILES.search(self.metavar))


@dataclass(frozen=True)
class Verb:
    """A verb, a group of verbs, or the command itself."""

    path: tuple[str, ...]
    usage: str
    help: str
    arguments: dict[str, str]
    """Of each that there is something to say of, what that is."""

    options: list[Option]
    verbs: dict[str, str]
    """Of a group: what each of its verbs does."""

    takes_file: bool
    """Whether an argument is the name of a file."""

    @property
    def name(self) -> str:
        """As one types it after `skymem`."""
        return " ".join(self.path)

    @property
    def summary(self) -> str:
        """What it does, in a line."""
        return " ".join(self.help.split("\n\n", maxsplit=1)[0].split())


def surface() -> Iterator[Verb]:
    """The command itself, then each verb and group, as the help shows them."""
    root = typer.main.get_command(app)
    yield from _walk(root, root.context_class(root, info_name="skymem"), ())


def _walk(command: Any, context: Any, path: tuple[str, ...]) -> Iterator[Verb]:
    verbs: dict[str, Any] = {
        name: one for name, one in getattr(command, "commands", {}).items() if not one.hidden
    }
    options: list[Option] = []
    arguments: dict[str, str] = {}
    takes_file = False
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if parameter.param_type_name == "option" and record is not None:
            options.append(_option(*record, repeated=parameter.multiple))
        elif parameter.param_type_name == "argument":
            arguments |= dict([record]) if record is not None and record[1] else {}
            takes_file |= bool(FILES.search(parameter.metavar or str(parameter.name).upper()))
    yield Verb(
        path,
        command.get_usage(context).removeprefix("Usage: "),
        command.help or "",
        arguments,
        options,
        {name: " ".join((one.help or "").split("\n\n")[0].split()) for name, one in verbs.items()},
        takes_file,
    )
    for name, one in verbs.items():
        inside = context.__class__(one, info_name=name, parent=context)
        yield from _walk(one, inside, (*path, name))


def _option(spelled: str, told: str, *, repeated: bool) -> Option:
    """An option as its line of the help has it: `-x, --long NAME`."""
    names = re.findall(r"(?:^|, |/ ?)(--?[\w-]+)", spelled)
    metavar = spelled.split(names[-1], maxsplit=1)[1].strip()
    return Option(tuple(names), metavar, told, repeated)
