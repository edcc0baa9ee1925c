"""What a request must be like before anything looks at it, and the headers that every reply carries.

:class:`SecurityMiddleware` wraps an ASGI application. It refuses a foreign Host (a name that somebody pointed at this
machine), a foreign Origin or site (another page in the same browser) and a body that is too large, and it sends the
headers that keep a browser from running anything but the page's own scripts.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from psdvec.errors import InputError

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

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

    def __init__(self, app: Application, *, host: str) -> None:
        self.app, self.host = app, host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it with one sentence."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        headers: dict[str, str] = {}
        for name, value in scope["headers"]:
            headers[name.decode("latin-1")] = value.decode("latin-1")

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = list(message.get("headers", []))
                said = {name.decode("latin-1").lower() for name, _ in own}
                extra = [
                    (name.encode(), value.encode()) for name, value in HEADERS.items() if name not in said
                ]
                message = {**message, "headers": [*own, *extra]}
            await send(message)

        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _reply(send_with_headers, *refusal)
            return
        await self.app(scope, _limited(receive), send_with_headers)

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if not is_own_host(host, listening_at=self.host):
            return (
                403,
                "this page answers only at its own address; open the one that psdvec explore printed",
            )
        origin = headers.get("origin")
        foreign = origin is not None and origin not in (f"http://{host}", f"https://{host}")
        is_api = str(scope["path"]).startswith("/api/")
        if foreign or (
            is_api and headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
        ):
            return (
                403,
                "another site asked, and only this page may; open the address that psdvec explore printed",
            )
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


def _limited(receive: Receive) -> Receive:
    """Return a ``receive`` that stops as soon as the body is larger than allowed."""
    read = 0

    async def receive_limited() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > MAX_BODY:
            raise TooLargeError(TOO_LARGE)
        return message

    return receive_limited


async def _reply(send: Send, status: int, sentence: str) -> None:
    body = json.dumps({"error": sentence}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
