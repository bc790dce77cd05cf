"""The API as an application: its routes, its errors, its gate (row M7).

FastAPI, because the OpenAPI document comes out of the same declarations that check a request, and
pydantic and uvicorn are here already with chromadb. Its documentation pages, which would load
scripts from elsewhere, are off.
"""

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from skymem.errors import SkymemError
from skymem.serve import home_routes, memory_routes
from skymem.serve.caller import Token
from skymem.serve.gate import Gate
from skymem.serve.keeper import Keeper
from skymem.serve.refusal import RefusedError, refusal_of
from skymem.serve.runs import Runs
from skymem.serve.shapes import Error

COMPLAINTS_MAX: Final = 10
REFUSALS: Final[dict[int | str, dict[str, Any]]] = {
    400: {"model": Error, "description": "What was sent can't be read, or is no agent's name."},
    401: {"model": Error, "description": "Over TCP: the token is missing or wrong."},
    403: {"model": Error, "description": "Not allowed; another's memories are on record as that."},
    404: {"model": Error, "description": "There is no such memory, agent, job or path."},
    408: {"model": Error, "description": "The request did not arrive in time."},
    409: {"model": Error, "description": "Busy, or it no longer fits."},
    413: {"model": Error, "description": "The body is too long."},
    415: {"model": Error, "description": "The body is of another kind."},
    422: {"model": Error, "description": "A value can't be."},
    500: {"model": Error, "description": "A bug."},
    503: {"model": Error, "description": "Something that is needed is not there now."},
    507: {"model": Error, "description": "The disk is full, read-only or broken."},
}


def make_app(
    keeper: Keeper, runs: Runs, *, port: int | None = None, tokens: Sequence[Token] = ()
) -> FastAPI:
    """Put the application together for one home."""
    app = FastAPI(
        title="skymem",
        version=version("skymem"),
        summary="The keeper of AI agents' memory.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        responses=REFUSALS,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.keeper, app.state.runs = keeper, runs
    app.include_router(memory_routes.router)
    app.include_router(home_routes.router)
    app.add_exception_handler(SkymemError, _ours)
    app.add_exception_handler(RefusedError, _refused)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Exception, _bug)
    app.add_middleware(Gate, keeper=keeper, port=port, tokens=tokens)
    return app


def _ours(_request: Request, error: Exception) -> Response:
    assert isinstance(error, SkymemError)  # noqa: S101  (as it was registered)
    return refusal_of(error).answer()


def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)  # noqa: S101
    return error.answer()


def _of_http(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    headers = dict(error.headers) if error.headers else None
    return RefusedError(error.status_code, str(error.detail)).answer(headers)


def _invalid(_request: Request, error: Exception) -> Response:
    """Say which values can't be, without saying them: the client knows, and a log needs not."""
    assert isinstance(error, RequestValidationError)  # noqa: S101
    found = error.errors()
    status = 400 if any(one["type"] == "json_invalid" for one in found) else 422
    each = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found[:COMPLAINTS_MAX]]
    return RefusedError(status, "; ".join(each)).answer()


def _bug(_request: Request, _error: Exception) -> Response:
    """Its traceback is in the log: whoever registered this raises it on."""
    return RefusedError(500, "a bug; its traceback is in the API's log", code=1).answer()
