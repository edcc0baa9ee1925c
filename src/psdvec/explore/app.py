"""The web application: the page, its scripts and the JSON API, behind the checks of ``security``.

:func:`make_app` turns an :class:`~psdvec.explore.api.Api` into an ASGI application. All files that it ever sends are
read at the start and kept by name, so that no part of a request is ever used as a path, as Starlette's ``StaticFiles``
would; nor does their type depend on what a machine takes ``.js`` for. A browser keeps them, and asks each time whether
they are still the same.
"""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import logging
import re
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

import uvicorn
from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from psdvec.errors import InputError, MissingWordError, PSDVecError
from psdvec.explore.api import Answer, Api, Parameters
from psdvec.storage.artefact import parse_json

# What a request must be like before anything looks at it, and the headers that every reply carries.

MAX_BODY = 6_000_000  # bytes: the longest text that may be pasted, as JSON
TOO_LARGE = f"that is more than {MAX_BODY // 1_000_000} MB; paste a few sentences with the new word"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HOST = re.compile(r"(?:\[(?P<address>[0-9a-f:.]+)\]|(?P<name>[^\[\]:]+))(?::[0-9]*)?")
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",  # but for the page's own files, which say otherwise
}


class TooLargeError(InputError):
    """A body turned out larger than allowed while it was read."""


class SecurityMiddleware:
    """Checks every request before ``app``, whose server listens at ``host``, sees it."""

    def __init__(self, app: ASGIApp, *, host: str) -> None:
        self.app, self.host = app, host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it with one sentence."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        read = 0

        async def receive_limited() -> Message:
            """Stop as soon as the body is larger than allowed."""
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > MAX_BODY:
                raise TooLargeError(TOO_LARGE)
            return message

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    own.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope["path"], Headers(scope=scope))
        app = self.app if refusal is None else _error(*refusal)
        await app(scope, receive_limited, send_with_headers)

    def _refusal(self, path: str, headers: Headers) -> tuple[int, str] | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if not is_own_host(host, listening_at=self.host):
            return 403, "this page answers only at its own address; open the one that psdvec explore printed"
        foreign = origin is not None and origin not in (f"http://{host}", f"https://{host}")
        from_elsewhere = headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
        if foreign or (path.startswith("/api/") and from_elsewhere):
            only = "another site asked, and only this page may"
            return 403, f"{only}; open the address that psdvec explore printed"
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > len(str(MAX_BODY)) or int(length) > MAX_BODY:
            return 413, TOO_LARGE
        return None


def is_own_host(header: str, *, listening_at: str) -> bool:
    """Return whether a Host header names this machine, and not a name that somebody else pointed at it.

    >>> is_own_host("localhost:8000", listening_at="127.0.0.1")
    True
    >>> is_own_host("evil.example:8000", listening_at="127.0.0.1")
    False
    >>> is_own_host("[::1].evil.example", listening_at="::1")
    False
    >>> is_own_host("192.168.1.7:8000", listening_at="0.0.0.0")
    True
    """
    parts = _HOST.fullmatch(header.lower())
    name = parts["address"] or parts["name"] if parts else ""
    if name and name in ("localhost", listening_at.lower()):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or listening_at in ("0.0.0.0", "::")


logger = logging.getLogger("psdvec")

TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
SMALL = 1_000  # bytes: an answer shorter than this is sent as it is
QUERIES, ACTIONS = 8, 2  # answered at a time at each address; others wait, which takes no thread
WAITING = 16  # actions, of which each brings a text; further ones are refused
_LEVEL = 4  # of compression: a map of 20,000 words in some hundredths of a second


def make_app(api: Api, *, host: str) -> SecurityMiddleware:
    """Return the application that serves ``api``, for a server that listens at ``host``."""
    contents = read_files()
    tags = {name: f'"{hashlib.sha256(content).hexdigest()[:20]}"' for name, content in contents.items()}

    async def send_file(request: Request) -> Response:
        """Return a file, or say that the one the browser has is the same."""
        name = request.path_params.get("name", "index.html")
        if name not in contents:
            raise HTTPException(404)
        headers = {"etag": tags[name], "cache-control": "no-cache"}
        if tags[name] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(contents[name], media_type=TYPES[name.rpartition(".")[2]], headers=headers)

    routes = [
        Route("/", send_file),
        Route("/static/{name}", send_file),
        *(Route(f"/api/{name}", _endpoint(answer, _read_query)) for name, answer in api.queries.items()),
        *(
            Route(f"/api/{name}", _endpoint(answer, _read_body), methods=["POST"])
            for name, answer in api.actions.items()
        ),
    ]

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        api.close()

    handlers: Mapping[Any, Any] = {HTTPException: _refuse, Exception: _fail}
    packing = [Middleware(GZipMiddleware, minimum_size=SMALL, compresslevel=_LEVEL)]
    inner = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers, middleware=packing)
    return SecurityMiddleware(inner, host=host)


def read_files() -> dict[str, bytes]:
    """Return every file of the page by its name."""
    folder = files("psdvec.explore") / "static"
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


def _endpoint(
    answer: Answer, read: Callable[[Request], Awaitable[Parameters]]
) -> Callable[[Request], Awaitable[Response]]:
    """Return the function that serves one address; the answer itself is computed in a thread.

    Every address has threads of its own, so that many slow questions at one of them do not keep others from theirs.
    """
    acts = read is _read_body
    threads = CapacityLimiter(ACTIONS if acts else QUERIES)
    inside = 0  # being answered or waiting; the limiter itself counts those that wait only a moment later

    async def respond(request: Request) -> Response:
        nonlocal inside
        try:
            parameters = await read(request)
            if acts and inside >= ACTIONS + WAITING:
                return _error(503, f"{WAITING} others are waiting for this already; try again in a moment")
            inside += 1
            try:
                return await to_thread.run_sync(lambda: JSONResponse(answer(parameters)), limiter=threads)
            finally:
                inside -= 1
        except ClientDisconnect:  # nobody is there to read an answer
            return Response(status_code=400)
        except MissingWordError as error:
            return _error(404, str(error), word=error.word, suggestions=list(error.suggest(error.word)))
        except PSDVecError as error:
            return _error(413 if isinstance(error, TooLargeError) else 400, str(error))

    return respond


async def _read_query(request: Request) -> Parameters:
    return Parameters({name: request.query_params.getlist(name) for name in request.query_params})


async def _read_body(request: Request) -> Parameters:
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise InputError("the request is not JSON; send an object with content-type application/json")
    try:
        body = parse_json(await request.body())
    except ValueError as error:
        raise InputError("the request is not valid JSON; send an object") from error
    if not isinstance(body, dict):
        raise InputError("the request is JSON but not an object; send an object")
    return Parameters({name: [value] for name, value in body.items()})


def _error(status: int, sentence: str, **more: Any) -> Response:
    return JSONResponse({"error": sentence, **more}, status_code=status)


async def _refuse(request: Request, error: HTTPException) -> Response:
    not_so = "this address does not answer such requests"
    sentence = not_so if error.status_code == 405 else "there is nothing at this address"
    return _error(error.status_code, f"{sentence}; docs/exploring.md lists the API")


async def _fail(request: Request, error: Exception) -> Response:
    logger.error("%s failed", request.url.path, exc_info=error)
    return _error(500, f"psdvec itself has failed ({type(error).__name__}); see the terminal for more")


# The server: it listens at an address and runs an application until it is interrupted.

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
