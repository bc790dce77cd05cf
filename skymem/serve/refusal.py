"""What goes wrong on the way of a request, as an HTTP answer: status, code, sentence, way out."""

import json
from typing import Any, Final

from starlette.responses import JSONResponse

from skymem.errors import (
    AgentNameError,
    BusyError,
    ClockMovedError,
    ConfigurationError,
    DegradedError,
    DiskError,
    EngineUnavailableError,
    HomeFormatError,
    HomeNotFoundError,
    InterruptedRunError,
    InvalidMemoryError,
    LossBudgetError,
    NotAllowedError,
    SkymemError,
    StalePlanError,
    UnknownMemoryError,
    UsageError,
)

STATUSES: Final[dict[type[SkymemError], int]] = {
    AgentNameError: 400,
    NotAllowedError: 403,
    UnknownMemoryError: 404,
    BusyError: 409,
    StalePlanError: 409,
    LossBudgetError: 409,
    ClockMovedError: 409,
    UsageError: 422,
    InvalidMemoryError: 422,
    HomeNotFoundError: 503,
    ConfigurationError: 503,
    HomeFormatError: 503,
    DegradedError: 503,
    EngineUnavailableError: 503,
    InterruptedRunError: 503,
    DiskError: 507,
}
"""The first that an error is one of decides; a bug is 500."""

USAGE: Final = UsageError.exit_code


class Answer(JSONResponse):
    """One JSON document; any text can be in it, a lone surrogate too."""

    def render(self, content: Any) -> bytes:
        """Spell it in ASCII, which no reader's encoding can spoil."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


class RefusedError(Exception):
    """A request that is not carried out, and why."""

    def __init__(self, status: int, message: str, *, code: int = USAGE, hint: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.hint = hint

    def answer(self, headers: dict[str, str] | None = None) -> Answer:
        """What the client gets."""
        told = {"code": self.code, "message": self.message, "hint": self.hint}
        return Answer({"error": told}, self.status, headers)


def refusal_of(error: SkymemError) -> RefusedError:
    """Say an error of the program's as HTTP does; the code is what the CLI would end with."""
    status = next((found for kind, found in STATUSES.items() if isinstance(error, kind)), 500)
    message = str(error)
    if error.hint:
        message = message.removesuffix(f"; {error.hint}")
    return RefusedError(status, message, code=error.exit_code, hint=error.hint)
