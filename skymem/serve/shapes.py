"""What the API takes and gives, as its OpenAPI document tells it."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from skymem.recall.request import LIMIT_MAX

Origin = Literal["user", "agent", "tool", "document", "import"]
Mode = Literal["auto", "fusion", "hybrid", "deterministic", "semantic"]
Tier = Literal["short", "long", "archive"]
MOST = LIMIT_MAX


class Given(BaseModel):
    """A request's body: what is not known is refused, and no text is taken for a number."""

    model_config = ConfigDict(extra="forbid", strict=True)


class NewMemory(Given):
    """One memory to be written to short-term."""

    content: str = Field(min_length=1, examples=["User wants reports at 7am"])
    tags: list[str] = []
    importance: float | None = Field(None, ge=0, le=1, allow_inf_nan=False)
    ts: float | None = Field(None, allow_inf_nan=False, description="Epoch seconds; else now.")
    kind: str | None = None
    ttl_days: float | None = Field(None, gt=0, allow_inf_nan=False)
    metadata: dict[str, Any] | None = None
    origin: Origin = "agent"
    trust: float | None = Field(None, ge=0, le=1, allow_inf_nan=False)


class Correction(Given):
    """What is right."""

    content: str = Field(min_length=1)


class Wanted(Given):
    """What a prompt's block is to be made of."""

    message: str = ""
    user_id: str | None = None
    max_chars: int | None = Field(None, ge=1, le=10_000_000)
    limit: int | None = Field(None, ge=0, le=MOST)
    at: str | None = Field(None, description="ISO 8601, epoch seconds, or an age: 7d, 12h.")
    session: str | None = None
    situation: dict[str, Any] = {}
    documents: int = Field(3, ge=0, le=100)


class JobOptions(Given):
    """How a job is to run."""

    agent: str | None = Field(None, description="For this agent alone; else for everyone.")
    dry_run: bool = False


class Told(BaseModel):
    """An answer: as the CLI's `--json` spells it, so that more may be in it."""

    model_config = ConfigDict(extra="allow")


class Remembered(Told):
    """Ids of what is on disk now."""

    id: str | None
    ids: list[str]


class Memories(Told):
    """Memories, newest first."""

    results: list[dict[str, Any]]


class Found(Told):
    """Memories that answer, best first."""

    results: list[dict[str, Any]]
    mode: str
    degraded: list[str]


class Shown(Told):
    """One memory, whole."""

    id: str
    agent: str
    tier: str
    standing: str | None
    superseded_by: str | None
    survivor: str | None
    memory: dict[str, Any]


class Explained(Told):
    """Why a memory is where it is, and what comes next."""

    id: str
    state: str
    history: list[dict[str, Any]]
    gates: list[dict[str, Any]]
    next: list[dict[str, Any]]


class Block(Told):
    """The block to put into a prompt."""

    text: str
    layers: list[dict[str, Any]]


class Detail(Told):
    """What a run reports."""

    ok: bool
    job: str


class Run(Told):
    """A job that was started here."""

    id: str
    job: str
    state: Literal["running", "done", "failed", "lost"]
    """`lost`: the API ended while it ran, and did not see its end."""

    exit_code: int | None
    detail: dict[str, Any]
    error: str | None


class Health(Told):
    """Whether it is well."""

    health: str
    reasons: list[str]
    alarms: list[dict[str, Any]]


class Alive(Told):
    """That somebody answers."""

    alive: bool


class Complaint(BaseModel):
    """What is wrong, with the exit code of the CLI, and the way out."""

    code: int
    message: str
    hint: str


class Error(BaseModel):
    """A request that was not carried out."""

    error: Complaint
