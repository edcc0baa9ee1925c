"""Listening: an application and an address in, a running server out.

The socket is opened before anything else, so that a port that is taken is one sentence, and the address that is
announced is one that answers.
"""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from typing import Any

from psdvec.errors import InputError


def open_socket(host: str, port: int) -> socket.socket:
    """Listen at ``host`` and ``port``; any free port, if 0."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"cannot listen at {host}, port {port} ({reason}); give another --port, 0 for any free one"
        ) from error


def address_of(listener: socket.socket) -> str:
    """Return the address to type into a browser on this machine."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def serve(app: Any, listener: socket.socket, *, ready: Callable[[], None] = lambda: None) -> None:
    """Answer until interrupted; ``ready`` is called before the first answer."""
    import uvicorn

    config = uvicorn.Config(
        app, log_level="warning", access_log=False, ws="none", server_header=False, proxy_headers=False,
        limit_concurrency=64, h11_max_incomplete_event_size=64 * 1024, timeout_graceful_shutdown=1,
    )  # fmt: skip
    # The server ends in good order when interrupted and then raises the signal again, for the handlers before it:
    # to close the page is no interruption of unfinished work.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    ready()
    uvicorn.Server(config).run(sockets=[listener])
