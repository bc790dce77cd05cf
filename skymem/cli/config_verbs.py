"""Verbs about the two YAML files: config check, show, explain."""

import json
from typing import Annotated, Any

import typer

from skymem.cli import render
from skymem.cli.options import Globals, Json, globals_of

config_app = typer.Typer(no_args_is_help=True, help="The two YAML files of this home.")


@config_app.command("check")
def check(context: typer.Context, as_json: Json = False) -> None:
    """Check both files; every problem at once, each with its line.

    Example: skymem config check
    """
    from skymem.config.effective import check_home_config

    problems = check_home_config(_home_path(globals_of(context)))
    if as_json:
        render.document({"problems": [problem.as_json() for problem in problems]})
    else:
        for problem in problems:
            render.line(str(problem))
        if not problems:
            render.line("both files are fine")
    if problems:
        raise typer.Exit(78)


@config_app.command("show")
def show(context: typer.Context, as_json: Json = False) -> None:
    """Show every effective value and where it came from.

    Example: skymem config show
    """
    from skymem.config.effective import effective_rules, effective_schedule
    from skymem.config.rules_file import read_rules
    from skymem.stores.home import HomePaths
    from skymem.stores.model_record import switched_model

    paths = HomePaths(_home_path(globals_of(context)))
    rules: dict[str, Any] = {**effective_rules(paths.rules)}
    if switched := switched_model(read_rules(paths.rules).engine, paths):
        rules["engine"]["model"] = {"value": switched.model, "source": switched.why}
    schedule = effective_schedule(paths.schedule)
    if as_json:
        render.document({"rules": rules, "schedule": schedule})
        return
    rows = [*_rows("", rules), *_rows("", schedule)]
    render.table(["key", "value", "from"], rows)


@config_app.command("explain")
def explain(
    context: typer.Context,
    key: Annotated[str, typer.Argument(help="A key of either file.")],
    as_json: Json = False,
) -> None:
    """Say what a key means, what it may be and what it is when left out.

    Example: skymem config explain promote_threshold
    """
    from skymem.config import keys

    del context
    found = keys.explain(key).as_json()
    if as_json:
        render.document(found)
        return
    for name, value in found.items():
        render.line(f"{name}: {value}")


def _home_path(spoken: Globals) -> Any:
    """Find the home without reading its files: they may be what is wrong."""
    from skymem.app import locate_home

    return locate_home(spoken.home).path


def _rows(prefix: str, value: Any) -> list[list[str]]:
    """Flatten values with their sources into rows of a table."""
    if isinstance(value, dict) and set(value) == {"value", "source"}:
        return [[prefix, json.dumps(value["value"]), str(value["source"])]]
    items: Any = value.items() if isinstance(value, dict) else enumerate(value)
    rows: list[list[str]] = []
    for key, item in items:
        rows += _rows(f"{prefix}.{key}" if prefix else str(key), item)
    return rows
