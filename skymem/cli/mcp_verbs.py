"""The verb that serves one agent's memory to a model's client: mcp."""

import typer

from skymem.cli.options import globals_of

EXTRA = "pip install 'skymem[mcp]'"


def mcp(context: typer.Context) -> None:
    """Serve one agent's memory over MCP on stdin and stdout, until the client closes them.

    It is for the client to start: see docs/doors.md, "MCP". Which agent is said by --agent or
    $SKYMEM_AGENT, once; no other can be reached through it.

    Example: skymem mcp
    """
    from skymem.errors import UsageError

    spoken = globals_of(context)
    agent = spoken.bound_agent()
    home = spoken.open_to_use(appending=True)
    try:
        from skymem.serve.mcp import serve
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] == "skymem":
            raise
        raise UsageError(f"MCP needs {missing.name}: {EXTRA}") from None
    serve(home, agent)
