"""The home as a whole over HTTP: its health, its counts, its jobs."""

from typing import Annotated

from fastapi import APIRouter, Body, Path, Request
from starlette.responses import Response

from skymem.health import health_of
from skymem.metrics import look
from skymem.model.metric import CONTENT_TYPE
from skymem.policy.admit import check_agent_name
from skymem.serve.at_hand import Operators, caller_of, home_of
from skymem.serve.caller import must_be_there
from skymem.serve.refusal import Answer, RefusedError
from skymem.serve.runs import VERBS, Runs
from skymem.serve.shapes import Alive, Health, JobOptions, Run

router = APIRouter()


@router.get("/health/live", tags=["health"], responses={200: {"model": Alive}})
async def live() -> Answer:
    """Whether somebody answers at all; waits for nothing."""
    return Answer({"alive": True})


@router.get(
    "/health/ready",
    tags=["health"],
    responses={200: {"model": Health}},
)
def ready(request: Request) -> Answer:
    """Whether the home can be worked with; `health` and its reasons are those of `skymem check`.

    A home that is degraded is worked with all the same. The reasons, in words (`reasons`) and each
    with its id (`alarms`), are told to the operator alone.
    """
    found = health_of(home_of(request))
    if not caller_of(request).operator:
        found = {"health": found["health"], "reasons": [], "alarms": []}
    return Answer(found)


@router.get(
    "/metrics",
    tags=["health"],
    response_class=Response,
    responses={200: {"content": {CONTENT_TYPE: {"schema": {"type": "string"}}}}},
)
def count(home: Operators) -> Response:
    """The home's counts, for Prometheus."""
    return Response(look(home).text(), media_type=CONTENT_TYPE)


@router.post("/v1/jobs/{name}", tags=["jobs"], status_code=202, responses={202: {"model": Run}})
def start(
    request: Request,
    home: Operators,
    name: Annotated[str, Path(description="A job's verb, or an entry of the schedule.")],
    options: Annotated[JobOptions | None, Body()] = None,
) -> Answer:
    """Start a job, as a child process; ask for what came of it at `/v1/jobs/runs/{id}`."""
    wanted = options or JobOptions(agent=None)
    if name not in _known(request):
        raise RefusedError(404, "there is no such job", hint=f"there are: {', '.join(VERBS)}")
    if wanted.agent is not None:
        must_be_there(home, check_agent_name(wanted.agent))
    run = _runs(request).start(name, wanted.agent, dry_run=wanted.dry_run)
    place = {"location": f"/v1/jobs/runs/{run.id}"}
    return Answer(run.as_json(), 202, place)


@router.get("/v1/jobs/runs/{id}", tags=["jobs"], responses={200: {"model": Run}})
def poll(request: Request, home: Operators, id: str) -> Answer:  # noqa: A002
    """A job that was started here: whether it still runs, and its detail when it has ended.

    Also after a restart of the API; a job in hand when that ended without a word is `lost`.
    """
    return Answer(_runs(request).find(id).as_json())


def _runs(request: Request) -> Runs:
    runs: Runs = request.app.state.runs
    return runs


def _known(request: Request) -> frozenset[str]:
    """What can be started: verbs, and entries of the schedule as it is now."""
    from skymem.config.schedule_file import read_schedule

    entries = read_schedule(home_of(request).paths.schedule).entries
    return frozenset(VERBS) | {one.name for one in entries if one.job != "heartbeat"}
