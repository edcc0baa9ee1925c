"""The web application: the page, its scripts and the JSON API, behind the checks of ``security``.

:func:`make_app` turns an :class:`~psdvec.explore.api.Api` into an ASGI application. All files that it ever sends are
read at the start and kept by name, so that no part of a request is ever used as a path.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from psdvec.errors import InputError, MissingWordError, PSDVecError
from psdvec.explore.api import Answer, Api
from psdvec.explore.request import Parameters
from psdvec.explore.security import SecurityMiddleware, TooLargeError
from psdvec.storage.json_text import parse_json

logger = logging.getLogger("psdvec")

TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


def make_app(api: Api, *, host: str) -> SecurityMiddleware:
    """Return the application that serves ``api``, for a server that listens at ``host``."""
    contents = read_files()

    async def page(request: Request) -> Response:
        return _file(contents, "index.html")

    async def static(request: Request) -> Response:
        return _file(contents, request.path_params["name"])

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


def read_files() -> dict[str, bytes]:
    """Return every file of the page by its name, including plotly's script."""
    folder = files("psdvec.explore") / "static"
    contents = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
    contents["plotly.js"] = (files("plotly") / "package_data" / "plotly.min.js").read_bytes()
    return contents


def _file(contents: Mapping[str, bytes], name: str) -> Response:
    if name not in contents:
        raise HTTPException(404)
    return Response(contents[name], media_type=TYPES[name.rpartition(".")[2]])


def _endpoint(
    answer: Answer, read: Callable[[Request], Awaitable[Parameters]]
) -> Callable[[Request], Awaitable[Response]]:
    """Return the function that serves one address; the answer itself is computed in a thread."""

    async def respond(request: Request) -> Response:
        try:
            return JSONResponse(await run_in_threadpool(answer, await read(request)))
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
