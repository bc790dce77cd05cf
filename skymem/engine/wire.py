"""What client and engine say to each other: frames of JSON on a UNIX socket.

A frame is four bytes of length, most significant first, and one JSON object. The first one of a
connection is a greeting, in both directions. Framing, greeting and `leave` never change: by them
an engine of any version can be asked to go (design §5). Light, as the client uses it.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any, Final, Self

import orjson

from skymem.errors import (
    BusyError,
    DiskError,
    EngineUnavailableError,
    SkymemError,
    UsageError,
)
from skymem.model.rules import EngineRules

PROTOCOL: Final = 3
HEADER_BYTES: Final = 4
FRAME_BYTES_MAX: Final = 32 * 1024 * 1024
"""Bounds what one connection can make the engine, or a client, hold in memory."""

GOODBYE: Final[Mapping[str, Any]] = {"goodbye": True}
"""Said instead of an answer: what was asked was not begun; ask the next engine."""

_ERRORS: Final[Mapping[str, type[SkymemError]]] = {
    "busy": BusyError,
    "disk": DiskError,
    "unavailable": EngineUnavailableError,
    "usage": UsageError,
}


class FrameError(ValueError):
    """These bytes are no frame of ours."""


@dataclass(frozen=True, slots=True)
class Greeting:
    """Who speaks: the first frame in each direction."""

    protocol: int
    version: str
    settings: str
    """`settings_key` of the rules the speaker goes by."""

    current: bool = True
    """The engine's settings are what the home's file says now; asked only when yours differ."""

    def frame(self) -> bytes:
        """Make the frame that says it."""
        return pack({"hello": asdict(self)})

    @classmethod
    def read(cls, frame: Mapping[str, Any]) -> Self:
        """Take a greeting out of a frame; what it does not say counts as oldest.

        Raises:
            FrameError: this is no greeting.
        """
        hello = frame.get("hello")
        if not isinstance(hello, dict):
            raise FrameError("the first frame is no greeting")
        protocol = hello.get("protocol")
        return cls(
            protocol=protocol if isinstance(protocol, int) else 0,
            version=str(hello.get("version", "")),
            settings=str(hello.get("settings", "")),
            current=hello.get("current") is not False,
        )

    def age(self) -> tuple[tuple[int, ...], int]:
        """Order greetings by the release that speaks: the greater is the newer one."""
        numbers = (part for part in self.version.split("."))
        return tuple(int(part) if part.isdecimal() else -1 for part in numbers), self.protocol


def settings_key(rules: EngineRules) -> str:
    """Name the settings an engine runs under; how long it idles is no reason for a new one."""
    told = rules._asdict() | {"idle_seconds": 0.0}
    told["remote"] = rules.remote._asdict() if rules.remote else None
    return sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]


def pack(value: Mapping[str, Any]) -> bytes:
    """Make a frame.

    Raises:
        FrameError: it would be larger than `FRAME_BYTES_MAX`.
        TypeError: it is not JSON.
    """
    try:
        body = orjson.dumps(value)
    except orjson.JSONEncodeError:
        # A lone surrogate, which a text may hold: escaped, it gets through as it is.
        body = json.dumps(value, allow_nan=False).encode()
    if len(body) > FRAME_BYTES_MAX:
        raise FrameError(f"{len(body)} bytes are more than a frame holds ({FRAME_BYTES_MAX})")
    return len(body).to_bytes(HEADER_BYTES, "big") + body


def body_size(header: bytes) -> int:
    """Read how many bytes follow the header.

    Raises:
        FrameError: more than a frame holds.
    """
    size = int.from_bytes(header, "big")
    if size > FRAME_BYTES_MAX:
        raise FrameError(f"a frame of {size} bytes is too large (limit {FRAME_BYTES_MAX})")
    return size


def unpack(body: bytes) -> dict[str, Any]:
    """Read the body of a frame.

    Raises:
        FrameError: it is no JSON object.
    """
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        value = _unpack_slowly(body)
    if not isinstance(value, dict):
        raise FrameError("a frame must hold a JSON object")
    return value


def _unpack_slowly(body: bytes) -> Any:
    """Read what holds escaped lone surrogates, which orjson refuses."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise FrameError("a frame must hold JSON") from error


def error_frame(error: SkymemError) -> dict[str, Any]:
    """Say in a frame what went wrong."""
    for kind, known in _ERRORS.items():
        if type(error) is known:
            return {"error": {"kind": kind, "args": [str(each) for each in error.args]}}
    return {"error": {"kind": "unavailable", "args": [str(error)]}}


def raise_error(frame: Mapping[str, Any]) -> None:
    """Raise the error a frame tells of; nothing where it tells of none.

    Raises:
        BusyError, DiskError, EngineUnavailableError, UsageError: as the engine said.
    """
    error = frame.get("error")
    if not isinstance(error, dict):
        return
    arguments = [str(each) for each in error.get("args") or [""]]
    kind = _ERRORS.get(str(error.get("kind")), EngineUnavailableError)
    wanted = 2 if kind in {BusyError, DiskError} else 1
    raise kind(*(arguments + [""] * wanted)[:wanted])
