"""The command line with no more of it built than one verb.

Typer builds each command and each of its parameters anew whenever it is called, and that costs more
than most verbs' own work.
"""

import copy

import typer


def with_one_verb(app: typer.Typer, verb: str) -> typer.Typer:
    """`app` with `verb` alone; `app` itself, which says what it has, where it has no such verb."""
    commands = [each for each in app.registered_commands if each.name == verb]
    groups = [each for each in app.registered_groups if each.name == verb]
    if not commands and not groups:
        return app
    one = copy.copy(app)
    one.registered_commands, one.registered_groups = commands, groups
    return one
