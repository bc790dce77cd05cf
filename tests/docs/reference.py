"""The generated parts of README and docs/: `cog -r` writes them, `cog --check` gates them."""

import contextlib
import importlib
import os
import pkgutil
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from typer.testing import CliRunner

import skymem
from skymem import app as root
from skymem import errors
from skymem.cli.main import app
from skymem.config.keys import reference_markdown
from skymem.model.alarm import ALARMS
from skymem.model.kinds import KINDS

CODES: Final = {
    0: "done; a run that is `degraded` or put a line in quarantine is done, and says so",
    1: "a bug, with its traceback: please report it",
    2: "the command line, or a memory, is not in form",
    10: "there is no home",
    11: "something is held by another process, which is named",
    12: "a daemon already keeps this home",
    20: "damage was found",
    21: "a job would remove more by judgement than its budget, and removed nothing",
    22: "the plan no longer fits",
    23: "`check` found the home degraded, and says why",
    24: "there is no such memory, or the first letters fit several",
    25: "the clock moved since it was last seen, and nothing is removed by it",
    26: "another embedding model finds too little of what the one in use finds",
    30: "not allowed: an agent's name, or another user's home",
    40: "there is no engine, or no model, and the verb is about it",
    74: "the disk is full, read-only or broken",
    78: "the configuration, or the format of the home, is not usable",
    130: "interrupted; nothing is lost",
}
"""What each exit code means; the way out comes with the error itself."""


def commands() -> str:
    """The help of every command, as a terminal of 80 columns shows it."""
    names = [(), *((name,) for name in _top_level()), *_nested()]
    return "\n".join(_help(name) for name in names)


def overview() -> str:
    """All commands, a line each."""
    return _help(()).partition("\n\n")[2]


def exit_codes() -> str:
    """The table of exit codes; an error whose code has no words here stops the generation."""
    hints: dict[int, list[str]] = {code: [] for code in CODES}
    _import_all()
    for error in sorted(_all_errors(errors.SkymemError), key=lambda one: one.__qualname__):
        if error.hint:
            hints[error.exit_code].append(error.hint)
        elif error.exit_code not in hints:
            raise KeyError(error.exit_code)
    lines = ["| code | means | how to go on |", "|---|---|---|"]
    lines += [
        f"| {code} | {CODES[code]} | {'; '.join(dict.fromkeys(hints[code]))} |" for code in CODES
    ]
    return "\n".join(lines) + "\n"


def _import_all() -> None:
    """Know every error; what needs torch defines none."""
    for module in pkgutil.walk_packages(skymem.__path__, "skymem."):
        if not module.name.endswith("__main__"):
            with contextlib.suppress(ModuleNotFoundError):
                importlib.import_module(module.name)


def configuration() -> str:
    """Every key of both YAML files."""
    return reference_markdown()


def alarms() -> str:
    """Each id of an alarm, with what it means and what to do."""
    lines = ["| id | what is wrong | what to do |", "|---|---|---|"]
    lines += [f"| `{name}` | {one.meaning} | {one.remedy} |" for name, one in ALARMS.items()]
    return "\n".join(lines) + "\n"


def measured(name: str) -> str:
    """What a run of a benchmark printed, as it is kept beside it."""
    told = (Path(__file__).parents[2] / "benchmarks" / name).read_text()
    return told if name.endswith(".md") else f"```text\n{told}```\n"


def kinds() -> str:
    """The built-in table of kinds."""
    lines = [
        "| kind | what it is | worth | promote | compress | merge |",
        "|---|---|---|---|---|---|",
    ]
    for kind in KINDS.values():
        may = ["yes" if one else "–" for one in (kind.promote, kind.compress, kind.merge)]
        single = " Only the newest of a user is active." if kind.single else ""
        name, meaning = f"`{kind.name}`", kind.meaning + single
        lines.append(f"| {name} | {meaning} | {kind.importance:g} | {' | '.join(may)} |")
    return "\n".join(lines) + "\n"


@contextmanager
def _lived() -> Iterator[tuple[str, list[float], Callable[..., str]]]:
    """A home of a fixed time without an engine: where it is, its clock, and how it is told things.

    Each command comes a minute after the one before.
    """
    clock = [1_700_000_000.0]
    with tempfile.TemporaryDirectory() as home, pytest.MonkeyPatch.context() as patch:
        patch.setattr(root, "now", lambda: clock[0])
        patch.setenv("SKYMEM_ENGINE", "off")

        def run(*words: str) -> str:
            clock[0] += 60
            return CliRunner().invoke(app, ["--home", home, *words]).stdout

        run("init", home)
        yield home, clock, run


def explained() -> str:
    """What `skymem explain` says of a memory that was promoted and corrected."""
    with _lived() as (_, _, run):
        name = run("remember", "User wants reports at 7am", "--importance", "0.9").strip()
        run("promote")
        run("correct", name, "User wants reports at 8am")
        told = run("explain", name)
    own = f"_{os.getpid()}_"  # of the run's name: the process that made it
    told = re.sub(rf"{own}\d+\]", "_4711_1]", told)
    return f"```text\n$ skymem explain {name[:8]}\n{told}```\n"


def simulated() -> str:
    """What `skymem simulate` says of a week under rules that promote and keep less."""
    with _lived() as (home, clock, run):
        for day, town in enumerate(("Bergen", "Turku", "Oslo", "Lund", "Aarhus", "Kiel", "Visby")):
            clock[0] = 1_700_000_000.0 + day * 86_400
            text, worth = f"The train to {town} leaves at {day + 5}", f"{0.6 + day * 0.05:.2f}"
            run("remember", text, "--importance", worth)
            run("trigger", "memory_rotate_check")
        run("recall", "train Oslo")
        run("remember", "All is said", "--importance", "0.1")
        run("trigger", "memory_rotate_check")
        other = Path(home).with_suffix(".yaml")
        other.write_text("promote_threshold: 0.8\nshort_term_max_lines: 3\n")
        try:
            told = run("simulate", "--rules", str(other), "--since", "2023-11-14")
        finally:
            other.unlink()
    return f"```text\n$ skymem simulate --rules other.yaml --since 2023-11-14\n{told}```\n"


def _all_errors(top: type[errors.SkymemError]) -> Iterator[type[errors.SkymemError]]:
    for error in top.__subclasses__():
        yield error
        yield from _all_errors(error)


def _top_level() -> list[str]:
    return [command.name or "" for command in app.registered_commands]


def _nested() -> list[tuple[str, ...]]:
    return [
        (group.name or "", command.name or "")
        for group in app.registered_groups
        if group.typer_instance is not None
        for command in group.typer_instance.registered_commands
    ]


def _help(name: tuple[str, ...]) -> str:
    told = CliRunner().invoke(app, [*name, "--help"], prog_name="skymem", env={"COLUMNS": "100"})
    title = " ".join(("skymem", *name))
    return f"### `{title}`\n\n```text\n{told.output.rstrip()}\n```\n"
