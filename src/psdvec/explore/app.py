"""The web application: the page, its scripts and the JSON API, behind the checks of ``security``.

:func:`make_app` turns an :class:`~psdvec.explore.api.Api` into an ASGI application. All files that it ever sends are
read and compressed at the start and kept by name, so that no part of a request is ever used as a path. A browser
keeps them, and asks each time whether they are still the same.
"""

from __future__ import annotations

import gzip
import hashlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from psdvec.errors import InputError, MissingWordError, PSDVecError
from psdvec.explore.api import Answer, Api
from psdvec.explore.request import Parameters
from psdvec.explore.security import SecurityMiddleware, TooLargeError
from psdvec.storage.arrays import parse_json

logger = logging.getLogger("psdvec")

TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
SMALL = 1_000  # bytes: an answer shorter than this is sent as it is
QUERIES, ACTIONS = 8, 2  # answered at a time at each address; others wait, which takes no thread
WAITING = 16  # actions, of which each brings a text; further ones are refused
_ANSWER_LEVEL = 4  # of compression: a map of 20,000 words in some hundredths of a second


@dataclass(frozen=True)
class PageFile:
    """A file of the page: its ``content``, ``packed`` by gzip too, its ``kind``, and a ``tag`` that changes with it."""

    content: bytes
    packed: bytes
    kind: str
    tag: str


def make_app(api: Api, *, host: str) -> SecurityMiddleware:
    """Return the application that serves ``api``, for a server that listens at ``host``."""
    contents = read_files()

    async def page(request: Request) -> Response:
        return _file(contents, "index.html", request)

    async def static(request: Request) -> Response:
        return _file(contents, request.path_params["name"], request)

    routes = [
        Route("/", page),
        Route("/static/{name}", static),
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
    return SecurityMiddleware(
        Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers), host=host
    )


def read_files() -> dict[str, PageFile]:
    """Return every file of the page by its name."""
    folder = files("psdvec.explore") / "static"
    return {file.name: _pack(file.name, file.read_bytes()) for file in folder.iterdir() if file.is_file()}


def _pack(name: str, content: bytes) -> PageFile:
    tag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
    return PageFile(content, gzip.compress(content, 9, mtime=0), TYPES[name.rpartition(".")[2]], tag)


def _file(contents: Mapping[str, PageFile], name: str, request: Request) -> Response:
    """Return a file, compressed if the browser takes that; or say that the one it has is the same."""
    if name not in contents:
        raise HTTPException(404)
    file = contents[name]
    headers = {"etag": file.tag, "cache-control": "no-cache", "vary": "accept-encoding"}
    if file.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if not _takes_gzip(request):
        return Response(file.content, media_type=file.kind, headers=headers)
    return Response(file.packed, media_type=file.kind, headers={**headers, "content-encoding": "gzip"})


def _takes_gzip(request: Request) -> bool:
    return "gzip" in request.headers.get("accept-encoding", "")


def _answer(request: Request, value: Any) -> Response:
    """Return a value as JSON, compressed if it is long."""
    response = JSONResponse(value)
    if len(response.body) < SMALL or not _takes_gzip(request):
        return response
    headers = {"content-encoding": "gzip", "vary": "accept-encoding"}
    packed = gzip.compress(response.body, _ANSWER_LEVEL)
    return Response(packed, media_type="application/json", headers=headers)


def _endpoint(
    answer: Answer, read: Callable[[Request], Awaitable[Parameters]]
) -> Callable[[Request], Awaitable[Response]]:
    """Return the function that serves one address; the answer itself is computed in a thread.

    Every address has threads of its own, so that many slow questions at one of them do not keep others from theirs.
    """
    acts = read is _read_body
    threads = CapacityLimiter(ACTIONS if acts else QUERIES)

    async def respond(request: Request) -> Response:
        try:
            parameters = await read(request)
            if acts and threads.statistics().tasks_waiting >= WAITING:
                sentence = f"{WAITING} others are waiting for this already; try again in a moment"
                return JSONResponse({"error": sentence}, status_code=503)
            return await to_thread.run_sync(lambda: _answer(request, answer(parameters)), limiter=threads)
        except ClientDisconnect:  # nobody is there to read an answer
            return Response(status_code=400)
        except MissingWordError as error:
            suggestions = list(error.suggest(error.word))
            body = {"error": str(error), "word": error.word, "suggestions": suggestions}
            return JSONResponse(body, status_code=404)
        except PSDVecError as error:
            status = 413 if isinstance(error, TooLargeError) else 400
            return JSONResponse({"error": str(error)}, status_code=status)

    return respond


async def _read_query(request: Request) -> Parameters:
    values: dict[str, list[Any]] = {}
    for name, value in request.query_params.multi_items():
        values.setdefault(name, []).append(value)
    return Parameters(values)


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


async def _refuse(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    sentence = (
        "this address does not answer such requests" if status == 405 else "there is nothing at this address"
    )
    return JSONResponse({"error": f"{sentence}; docs/exploring.md lists the API"}, status_code=status)


async def _fail(request: Request, error: Exception) -> Response:
    logger.error("%s failed", request.url.path, exc_info=error)
    sentence = f"psdvec itself has failed ({type(error).__name__}); see the terminal for more"
    return JSONResponse({"error": sentence}, status_code=500)
