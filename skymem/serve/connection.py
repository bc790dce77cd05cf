"""One connection: who is at the other end, and how long it may take (the way of uvicorn's own).

Neither a peer that sends half a request, nor one that sends it slowly, nor one that does not read
its answer keeps a place for long.
"""

import asyncio
import json
import socket
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from skymem.engine.socket_file import peer_uid

ARRIVAL_SECONDS: Final = 20.0
"""What a request may take from its first byte, or the connection's start, to its last."""

READING_SECONDS: Final = 20.0
"""How long a peer may leave an answer unread."""

CONNECTIONS_MAX: Final = 200
"""Beyond it one is told so and closed: descriptors are few. `limit_concurrency` comes before."""

_WAITING: Final = (h11.IDLE, h11.SEND_BODY)
_BUSY: Final = (503, "too many connections; try again")
_SLOW: Final = (408, "the request did not arrive in time")


class Connection(H11Protocol):
    """A connection with the uid of its peer, under `state` of each request, and with deadlines."""

    _late: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Look who it is."""
        made = transport.get_extra_info("socket")
        uid = peer_uid(made) if made.family == socket.AF_UNIX else None
        self.app_state = {**self.app_state, "peer_uid": uid}
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS_MAX:
            self._say_and_close(*_BUSY)
        else:
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Take its deadlines along."""
        super().connection_lost(exc)
        self._late = _cancelled(self._late)
        self._unread = _cancelled(self._unread)

    def data_received(self, data: bytes) -> None:
        """Take what came, and wait for the rest no longer than a request may take."""
        if not self.transport.is_closing():
            super().data_received(data)
            self._watch()

    def pause_writing(self) -> None:
        """Give a peer that doesn't read a while."""
        super().pause_writing()
        self._unread = self.loop.call_later(READING_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """It reads again."""
        super().resume_writing()
        self._unread = _cancelled(self._unread)

    def _watch(self) -> None:
        if self.conn.their_state not in _WAITING:
            self._late = _cancelled(self._late)
        elif self._late is None:
            self._late = self.loop.call_later(ARRIVAL_SECONDS, self._too_slow)

    def _too_slow(self) -> None:
        self._late = None
        if self.timeout_keep_alive_task is not None:
            return  # between two requests: that timer has it
        last: RequestResponseCycle | None = self.cycle  # there is none before the first request
        halfway = self.conn.their_state is h11.SEND_BODY
        if halfway and last is not None and last.response_started:
            self.transport.close()  # it was answered without what is still to come
        else:
            self._say_and_close(*_SLOW)

    def _say_and_close(self, status: int, message: str) -> None:
        said: dict[str, Any] = {"error": {"code": 2, "message": message, "hint": ""}}
        body = json.dumps(said).encode()
        head = f"HTTP/1.1 {status} Refused\r\nconnection: close\r\ncontent-type: application/json"
        self.transport.write(f"{head}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)
        self.transport.close()


def _cancelled(timer: asyncio.TimerHandle | None) -> asyncio.TimerHandle | None:
    """Call a timer off; gives None, which stands in its place."""
    if timer is not None:
        timer.cancel()
    return None
