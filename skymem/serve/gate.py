"""What every request passes before anything looks at it: where it thinks it is, who it is, size."""

import asyncio
from collections.abc import Sequence
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from skymem.errors import SkymemError
from skymem.serve.caller import Caller, Token, by_token, by_uid, refuse
from skymem.serve.keeper import Keeper
from skymem.serve.refusal import RefusedError, refusal_of

LIVE: Final = "/health/live"
"""Over TCP answered without a token: it tells nothing of the home."""

BODY_BYTES_MIN: Final = 2 * 1024 * 1024
"""So much is always taken; more where `line_max` lets a line be longer."""

BESIDE_A_LINE_BYTES: Final = 64 * 1024

LOCAL_NAMES: Final = ("localhost", "127.0.0.1", "skymem")
"""What a client of the socket may call it. A name that was rebound to this machine is none of them
(hazard H5)."""

_WHO: Final = {"www-authenticate": "Bearer"}


class Gate:
    """Refuses, before the application sees it, what must not come in."""

    def __init__(
        self, app: ASGIApp, *, keeper: Keeper, port: int | None = None, tokens: Sequence[Token] = ()
    ) -> None:
        self._app = app
        self._keeper = keeper
        self._tokens = tokens
        local = {f"{name}:{port}" for name in LOCAL_NAMES if port is not None}
        self._hosts = {name.encode() for name in (*LOCAL_NAMES, *local)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, with its whole body, or answer it here."""
        if scope["type"] != "http":
            return
        try:
            caller = await self._look(scope)
            body = await self._body(scope, receive)
        except SkymemError as error:
            await refusal_of(error).answer()(scope, receive, send)
        except RefusedError as refused:
            headers = _WHO if refused.status == 401 else None
            await refused.answer(headers)(scope, receive, send)
        else:
            if body is not None:
                scope["state"]["caller"] = caller
                await self._app(scope, _once(body, receive), send)

    async def _look(self, scope: Scope) -> Caller | None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) > 1 or (hosts and hosts[0].lower() not in self._hosts):
            raise RefusedError(403, "this host name is not served here", hint="ask for localhost")
        if b"origin" in headers:
            raise RefusedError(403, "no web page may use this", hint="leave the Origin header out")
        uid = scope["state"]["peer_uid"]
        if uid is not None:
            # On threads of their own: whatever keeps the requests of all others, it is not this.
            return await asyncio.to_thread(self._peer, uid)
        scheme, _, shown = headers.get(b"authorization", b"").partition(b" ")
        found = by_token(shown.strip(), self._tokens) if scheme.lower() == b"bearer" else None
        if found is None and scope["path"] != LIVE:
            hint = "send: Authorization: Bearer TOKEN, of api.token_file"
            raise RefusedError(401, "the API's token is missing or wrong", code=30, hint=hint)
        return found

    def _peer(self, uid: int) -> Caller:
        """Who a uid is, by the rules as they are now; one they don't name is refused."""
        home = self._keeper.renewed("api:door")
        caller = by_uid(uid, self._keeper.owner, home.rules.api)
        if not caller.operator and not caller.agents:
            refuse(home, caller, "?")
        return caller

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """All of a request's body; None where the peer is gone before its end."""
        most = max(BODY_BYTES_MIN, self._keeper.home.rules.line_bytes_max + BESIDE_A_LINE_BYTES)
        told = dict(scope["headers"]).get(b"content-length", b"0")
        if told.isdigit() and int(told[:20]) > most:
            raise RefusedError(413, f"the body is longer than {most} bytes")
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            if len(body) > most:
                raise RefusedError(413, f"the body is longer than {most} bytes")
            if not message.get("more_body", False):
                return bytes(body)


def _once(body: bytes, receive: Receive) -> Receive:
    """Give a body that was read already; then what the peer does."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
