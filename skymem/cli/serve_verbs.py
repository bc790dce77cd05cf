"""Verbs that open a door for other programs: serve."""

import os
from pathlib import Path
from typing import Annotated

import typer

from skymem.cli import render
from skymem.cli.options import DryRun, Json, globals_of

EXTRA = "pip install 'skymem[api]'"


def serve(
    context: typer.Context,
    socket: Annotated[
        Path | None,
        typer.Option("--socket", metavar="PATH", help="Listen there; else run/api.sock."),
    ] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Serve this home's API on a UNIX socket until SIGTERM or Ctrl-C.

    Who asks is told by the uid of its process, and works as the agents that `api:` of
    retention_rules.yaml names for it; the home's owner as any. With --dry-run it says where it
    would listen; with --json as well, as one document.

    Example: skymem serve
    """
    from skymem.errors import UsageError

    home = globals_of(context).open()
    home.only_operator()
    home.program = "api"
    try:
        from skymem.serve.service import serve as serve_home
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] == "skymem":
            raise
        raise UsageError(f"the API needs {missing.name}: {EXTRA}") from None
    if not dry_run:
        raise typer.Exit(serve_home(home, socket, os.environ))
    rules = home.rules.api
    path = str(home.paths.api_socket if socket is None else socket.absolute())
    tcp = None if rules.tcp_port is None else f"127.0.0.1:{rules.tcp_port}"
    if as_json:
        agents = {str(uid): [*names] for uid, names in rules.agents.items()}
        render.document({"socket": path, "tcp": tcp, "agents": agents})
        return
    render.line(f"would listen on {path}{f' and {tcp}' if tcp else ''}")
    for uid, names in rules.agents.items():
        render.line(f"  uid {uid}: {', '.join(names)}")
