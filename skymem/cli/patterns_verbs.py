"""The verb about what several tenants have in common: patterns list."""

import typer

from skymem.cli import render
from skymem.cli.options import Json, globals_of

patterns_app = typer.Typer(no_args_is_help=True, help="What several tenants have in common.")


@patterns_app.command("list")
def patterns_list(context: typer.Context, as_json: Json = False) -> None:
    """List what enough tenants that give patterns have in common, without anything of one's own.

    With --agent before the verb: as that agent gets it, which is nothing where its tenant does not
    take patterns. Which tenants give and take stands under `patterns:` in retention_rules.yaml.

    Example: skymem patterns list
    """
    from skymem.working.patterns import Patterns, patterns

    spoken = globals_of(context)
    home = spoken.open_to_use()
    if spoken.agent is None and home.bound is None:
        found, taken = patterns(home), True
    else:
        (agent,) = home.agents(spoken.bound_agent())
        own = Patterns(home, agent)
        found, taken = own.list(), own.taken
    if as_json:
        least = home.rules.patterns.tenants_least
        told = [one.as_json() for one in found]
        render.document({"patterns": told, "tenants_least": least, "taken": taken})
        return
    for one in found:
        render.line(f"{one.tenants} tenants  {one.kind}  {render.harmless(one.text)}")
    if not taken:
        render.complain("this agent's tenant takes no patterns (patterns: take: in the rules)")
    elif not found:
        render.complain("no pattern; who gives any stands under patterns: give: in the rules")
