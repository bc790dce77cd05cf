"""What a route works with: the home as its caller may touch it, bound for this one request."""

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

from fastapi import Depends, Path, Request

from skymem.app import Home
from skymem.serve.caller import Caller, bind, must_be_there, only_operator
from skymem.serve.keeper import Keeper

Name = Annotated[str, Path(description="An agent's name.", examples=["sky"])]
Id = Annotated[str, Path(description="An id, or its first letters.")]


class Desk(NamedTuple):
    """A home bound to one agent."""

    home: Home
    agent: str


def home_of(request: Request) -> Home:
    """A handle to the home, bound to nobody: for what looks at the caller itself."""
    keeper: Keeper = request.app.state.keeper
    made: Callable[..., Any] = request.scope["endpoint"]
    home = keeper.handle(f"api:{made.__name__}")
    home.program = "api"
    return home


def caller_of(request: Request) -> Caller:
    """Who asks."""
    caller: Caller = request.state.caller
    return caller


def operators(request: Request) -> Home:
    """The whole home, for the operator alone.

    Raises:
        NotAllowedError: somebody else asks.
    """
    home = home_of(request)
    only_operator(home, caller_of(request))
    return home


def writing(request: Request, agent: Name) -> Desk:
    """One agent's memory, which may be the first of it.

    Raises:
        AgentNameError, NotAllowedError.
    """
    return Desk(bind(home_of(request), caller_of(request), agent), agent)


def reading(request: Request, agent: Name) -> Desk:
    """One agent's memory; there has to be one.

    Raises:
        AgentNameError, NotAllowedError; RefusedError: 404.
    """
    desk = writing(request, agent)
    must_be_there(desk.home, agent)
    return desk


Writing = Annotated[Desk, Depends(writing)]
Reading = Annotated[Desk, Depends(reading)]
Operators = Annotated[Home, Depends(operators)]
