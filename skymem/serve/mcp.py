"""MCP over stdio: one agent's memory as tools for a model's client (row M7).

Nothing but the protocol goes to stdout; the end of stdin, SIGTERM and Ctrl-C end it.
"""

import logging
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from typing import Any, Final, cast

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, ValidationError

from skymem.app import Home, open_home
from skymem.errors import SkymemError
from skymem.serve.mcp_table import INSTRUCTIONS, TOOLS
from skymem.serve.mcp_tools import Answer, Desk, Tool
from skymem.serve.mcp_wire import Lines, take_stdin

PROGRAM: Final = "mcp"


@dataclass(slots=True)
class Stopping:
    """The signal that ends it: jobs in hand look at it between two steps."""

    name: str = ""

    def asked(self) -> str:
        """Name the signal that came, or ""."""
        return self.name


@dataclass(frozen=True, slots=True)
class Door:
    """One agent's home, opened anew for each call: by the rules as they are then."""

    root: str
    agent: str
    stopping: Stopping = field(default_factory=Stopping)

    def call(self, tool: Tool, arguments: Mapping[str, Any]) -> types.CallToolResult:
        """Carry out a call; what keeps it from being done is told in a sentence."""
        try:
            answer = self._carry_out(tool, arguments)
        except ValidationError as error:
            return _refused(_sentence(error))
        except SkymemError as error:
            return _refused(" ".join(str(error).split("\n")))
        text = [types.TextContent(type="text", text=answer.text)]
        told = tool.gives.model_validate(answer.told).model_dump(mode="json")
        return types.CallToolResult(content=[*text], structured_content=told)

    def _carry_out(self, tool: Tool, arguments: Mapping[str, Any]) -> Answer:
        home = self._open(tool)
        given = dict(arguments)
        if isinstance(whose := given.get("agent"), str) and "agent" not in tool.takes.model_fields:
            home.admit(whose)  # its own may be named; another's is refused, and on record
            del given["agent"]
        return tool.do(Desk(home, self.agent), tool.takes.model_validate(given))

    def _open(self, tool: Tool) -> Home:
        stop = self.stopping.asked
        home = open_home(self.root, stop=stop, appending=tool.appends, lenient=True)
        home.program, home.door = PROGRAM, f"{PROGRAM}:{tool.name}"
        return home.bind(self.agent)


def serve(home: Home, agent: str) -> None:
    """Serve one agent's memory on stdio, until the client has had enough or a signal comes."""
    try:
        anyio.run(_serve, Door(str(home.paths.root), agent))
    except* (BrokenPipeError, ConnectionResetError):
        logging.getLogger("skymem").info("the client has gone")


async def _serve(door: Door) -> None:
    server = _server(door)
    lines = cast("anyio.AsyncFile[str]", Lines(take_stdin()))
    async with anyio.create_task_group() as group:
        group.start_soon(_await_signal, door.stopping, group.cancel_scope.cancel)
        async with stdio_server(stdin=lines) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
        group.cancel_scope.cancel()


async def _await_signal(stopping: Stopping, cancel: Callable[[], None]) -> None:
    """End it at the first signal; a second one, after that, ends the process at once."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            stopping.name = signal.Signals(number).name
            break
    cancel()


def _server(door: Door) -> "Server[dict[str, Any]]":
    one = anyio.CapacityLimiter(1)  # in the order in which they were asked, as one agent acts

    async def listed(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(tool) for tool in TOOLS.values()])

    async def called(_context: Any, asked: types.CallToolRequestParams) -> types.CallToolResult:
        if (tool := TOOLS.get(asked.name)) is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {asked.name!r:.60}")
        work = partial(door.call, tool, asked.arguments or {})
        return await anyio.to_thread.run_sync(work, limiter=one)

    return Server(
        "skymem",
        version=version("skymem"),
        title=f"Memory of {door.agent}",
        instructions=INSTRUCTIONS.format(agent=door.agent),
        on_list_tools=listed,
        on_call_tool=called,
    )


def _described(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=_schema(tool.takes),
        output_schema=_schema(tool.gives),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.reads,
            destructive_hint=tool.destroys,
            idempotent_hint=tool.reads or tool.repeats,
            open_world_hint=False,
        ),
    )


def _schema(shape: type[BaseModel]) -> dict[str, Any]:
    return shape.model_json_schema()


def _refused(sentence: str) -> types.CallToolResult:
    text = types.TextContent(type="text", text=sentence)
    return types.CallToolResult(content=[text], is_error=True)


def _sentence(error: ValidationError) -> str:
    """What is wrong with the arguments, and never what was in them."""
    first, *others = error.errors(include_url=False, include_input=False, include_context=False)
    place = ".".join(str(part) for part in first["loc"]) or "arguments"
    more = f" (and {len(others)} more)" if others else ""
    return f"{place}: {first['msg'][:1].lower()}{first['msg'][1:]}{more}"
