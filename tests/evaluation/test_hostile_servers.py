"""Test sets from a server that means ill: nothing of what it sends is kept, and it keeps nobody waiting."""

from __future__ import annotations

import gc
import hashlib
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread

import pytest

from psdvec.evaluation import testsets as fetch
from psdvec.evaluation.testsets import Address, TestSet, cache_folder, fetch_testsets

DATA = b"good better rough rougher\n" * 100
OK = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(DATA)
REDIRECT = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: "
Answer = Callable[[socket.socket], None]


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@contextmanager
def serving(answer: Answer) -> Iterator[str]:
    """Answer every connection on this machine, until the block ends."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection, suppress(OSError):
                    connection.recv(1 << 16)
                    answer(connection)

        thread = Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/x.txt"
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(timeout=10)


def entry(url: str, data: bytes = DATA) -> TestSet:
    origin = Address(url, hashlib.sha256(data).hexdigest())
    return TestSet("x", "analogies", "X", "X", ("x.txt",), "", "", origin=origin)


def problem_with(answer: Answer) -> str:
    """Fetch from a server that gives this ``answer``, and return why nothing came of it."""
    with serving(answer) as url:
        (fetched,) = fetch_testsets([entry(url)])
    assert fetched.path is None
    assert not cache_folder().exists() or not list(cache_folder().iterdir())
    assert "\n" not in str(fetched.problem)
    return str(fetched.problem)


def endless(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        connection.sendall(b"x" * (1 << 16))


def test_a_server_that_means_well_is_served_from():
    with serving(lambda connection: connection.sendall(OK + DATA)) as url:
        (fetched,) = fetch_testsets([entry(url)])
    assert fetched.path is not None
    assert fetched.path.read_bytes() == DATA


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (OK + DATA[:-9], "could not be reached"),
        (OK, "could not be reached"),
        (b"", "could not be reached"),
        (b"\0" * 1000, "could not be reached"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000 + b"\r\n", "could not be reached"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n", "could not be reached"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nx", "could not be reached"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nx", "could not be reached"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n" + DATA[:9], "is not the known one"),
        (OK + DATA.replace(b"g", b"G"), "is not the known one"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + DATA + b"more", "is not the known one"),
        (b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", "could not be downloaded"),
        (REDIRECT + b"file:///etc/passwd\r\n\r\n", "could not be downloaded"),
        (REDIRECT + b"/x.txt\r\n\r\n", "could not be downloaded"),
        (REDIRECT + b"http://127.0.0.1:1/\r\n\r\n", "could not be reached"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_nothing_that_is_not_the_file_is_kept(sent, why):
    assert why in problem_with(lambda connection: connection.sendall(sent))


# urllib leaves the connection to the collector.
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_a_redirection_to_what_is_no_address_is_not_followed():
    assert "could not be reached" in problem_with(lambda one: one.sendall(REDIRECT + b"http://[::1\r\n\r\n"))
    gc.collect()


def test_a_body_without_end_is_given_up(monkeypatch):
    monkeypatch.setattr(fetch, "_LARGEST", 1_000_000)
    assert "sends without end" in problem_with(endless)


def test_a_body_that_trickles_is_given_up(monkeypatch):
    monkeypatch.setattr(fetch, "_MINUTES", 0)
    assert "sends without end" in problem_with(lambda connection: connection.sendall(OK + DATA[:1]))


def test_a_server_that_says_nothing_is_given_up(monkeypatch):
    monkeypatch.setattr(fetch, "_SECONDS", 0.2)
    assert "could not be reached" in problem_with(lambda connection: connection.recv(1))
