"""The server: it listens at an address and runs an application until it is interrupted.

The socket is opened before anything else, so that a port in use is reported in one sentence, and the address that is
announced is one that answers.
"""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from typing import Any

from psdvec.errors import InputError


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


def serve(app: Any, listener: socket.socket, *, ready: Callable[[], None] = lambda: None) -> None:
    """Answer requests until interrupted; ``ready`` is called before the first."""
    import uvicorn

    config = uvicorn.Config(
        app, log_level="warning", access_log=False, ws="none", server_header=False, proxy_headers=False,
        limit_concurrency=64, h11_max_incomplete_event_size=64 * 1024, timeout_graceful_shutdown=1,
    )  # fmt: skip
    # When interrupted, uvicorn shuts down in good order and then raises the signal again for the handlers that were
    # there before. Closing the explorer does not interrupt unfinished work, so those do nothing.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    ready()
    uvicorn.Server(config).run(sockets=[listener])
