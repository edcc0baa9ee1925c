"""The server: it listens at an address and runs an application until it is interrupted.

The socket is opened before anything else, so that a port in use is reported in one sentence, and the address that is
announced is one that answers. A :class:`Connection` whose client does not send its request takes nobody's place.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from psdvec.errors import InputError

CONNECTIONS = 64  # open at a time, as long as some of them wait for their clients
REQUEST_SECONDS = 20.0  # within which a request must be there, to its last byte


def open_socket(host: str, port: int) -> socket.socket:
    """Listen at ``host`` and ``port``; 0 is any free port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"cannot listen at {host}, port {port} ({reason}); give another port; port=0 is any free one"
        ) from error


def address_of(listener: socket.socket) -> str:
    """Return the address to type into a browser on this machine."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


class Connection(H11Protocol):
    """A connection that is closed if a request does not arrive in time, or sooner if others need the room.

    uvicorn would wait for the rest of a request for ever, and refuse everybody else while there are many such.
    """

    since = 0.0  # when the client's turn began
    _deadline: asyncio.TimerHandle | None = None

    @property
    def waits(self) -> bool:
        """Whether it is the client's turn: to send the rest of a request or another one, or to read the answer."""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room, and let time run."""
        others = [one for one in self.connections if isinstance(one, Connection) and one.waits]
        surplus = max(len(self.connections) + 1 - CONNECTIONS, 0)
        for one in sorted(others, key=lambda one: one.since)[:surplus]:
            one.drop()
        super().connection_made(transport)
        self.since = self.loop.time()
        self._expect()

    def data_received(self, data: bytes) -> None:
        """Stop the time when the request is complete; a byte now and then does not set it back."""
        super().data_received(data)
        if not self.waits:
            self._stop()
        elif self._deadline is None:
            self._expect()

    def on_response_complete(self) -> None:
        """Let uvicorn close a connection on which nothing more comes."""
        self._stop()
        self.since = self.loop.time()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the time."""
        self._stop()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """End with the server, without waiting for the rest of a request."""
        if self.waits and self.cycle is not None and not self.cycle.response_complete:
            self.drop()
        else:
            super().shutdown()

    def drop(self) -> None:
        """Close the connection at once, whatever is still under way on it."""
        self.connections.discard(self)
        self.transport.abort()

    def _expect(self) -> None:
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self.drop)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def serve(app: Any, listener: socket.socket, *, ready: Callable[[], None] = lambda: None) -> None:
    """Answer requests until interrupted; ``ready`` is called before the first."""
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, ws="none", server_header=False, proxy_headers=False,
        http=Connection, limit_concurrency=2 * CONNECTIONS, h11_max_incomplete_event_size=64 * 1024,
        timeout_graceful_shutdown=1,
    )  # fmt: skip
    # When interrupted, uvicorn shuts down in good order and then raises the signal again for the handlers that were
    # there before. Closing the explorer does not interrupt unfinished work, so those do nothing.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    ready()
    uvicorn.Server(config).run(sockets=[listener])
