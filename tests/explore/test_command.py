"""The command itself: a real process that listens, answers, and ends in good order."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.parse
import urllib.request
from contextlib import ExitStack, suppress

import pytest
import uvicorn

from psdvec.cli.query import explore
from psdvec.explore.api import Api
from psdvec.explore.app import CONNECTIONS, Connection, address_of, make_app, open_socket
from psdvec.maps.drawing import WORDS
from tests.explore.servers import running

PATIENCE = 300  # seconds, on a busy machine


def test_it_announces_an_address_that_answers_and_ends_quietly(library):
    with running(library.model, library.other, "--counts", library.counts) as (address, process):
        with urllib.request.urlopen(f"{address}api/info", timeout=PATIENCE) as reply:
            models = json.load(reply)["models"]
        assert [one["name"] for one in models] == ["model", "other"]
        assert "start the explorer with --counts FOLDER" in models[1]["no_contexts"]
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
        assert process.stderr.read() == ""


def test_it_ends_at_once_while_a_map_is_being_drawn(library):
    with running(library.model, "--points", 30) as (address, process):
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(f"{address}api/map", b'{"layout": "neighbours"}', headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
            assert json.load(reply) == {"state": "running"}
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        assert process.stderr.read() == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    "begun",
    [
        b"GET /api/info HTTP/1.1\r\nhost: 127.0.0.1\r\nx-half: ",
        b"POST /api/extend HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        b'content-length: 100\r\n\r\n{"text": "',
        b"",
    ],
    ids=["half a header", "half a body", "nothing"],
)
def test_an_honest_request_is_answered_while_many_half_sent_ones_are_open(library, begun):
    with running(library.plain) as (address, process), ExitStack() as stack:
        port = urllib.parse.urlsplit(address).port
        for _ in range(3 * CONNECTIONS):
            half = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE))
            half.sendall(begun)
        for _ in range(3):
            with urllib.request.urlopen(f"{address}api/info", timeout=PATIENCE) as reply:
                assert json.load(reply)["models"][0]["name"] == "plain.txt"
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        assert process.stderr.read() == ""


def test_a_request_that_is_not_complete_in_time_is_given_up(library, monkeypatch):
    monkeypatch.setattr("psdvec.explore.app.REQUEST_SECONDS", 0.0)
    listener = open_socket("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(make_app(Api([]), host="127.0.0.1"), http=Connection, ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    with socket.create_connection(listener.getsockname(), timeout=PATIENCE) as half:
        half.sendall(b"GET /api/info HTTP/1.1\r\n")
        with suppress(ConnectionResetError):
            assert half.recv(1) == b""
    server.should_exit = True
    thread.join(PATIENCE)


def test_as_many_words_are_on_the_map_as_fit_and_train_draw():
    assert inspect.signature(explore).parameters["points"].default == WORDS


def test_it_listens_on_this_machine_only(library):
    with running(library.plain) as (address, _):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
        port = int(address.rsplit(":", 1)[1].strip("/"))
        with pytest.raises(OSError), socket.create_connection(("::1", port), timeout=2):
            pass


def test_addresses_are_ones_that_a_browser_can_open():
    for host, expected in (("127.0.0.1", "http://127.0.0.1:"), ("0.0.0.0", "http://127.0.0.1:")):
        with open_socket(host, 0) as listener:
            assert address_of(listener).startswith(expected)


def test_a_port_that_is_taken_is_one_sentence(run, library):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, _, err = run("explore", library.plain, "--port", port, "--no-open")
    assert code == 1
    assert f"cannot listen at 127.0.0.1, port {port}" in err
    assert "give another port; --port 0 is any free one" in err


def test_wrong_calls_are_one_sentence(run, library, tmp_path):
    assert run("explore", tmp_path / "none", "--no-open")[0] == 1
    code, _, err = run("explore", library.model, "--counts", library.counts, "--counts", library.counts)
    assert code == 1
    assert "counts were given 2 times for 1 models" in err
    code, _, err = run("explore", library.counts, "--no-open")
    assert code == 1
    assert "holds counts, not word vectors" in err
    assert run("explore", library.model, "--port", "70000")[0] == 2


def test_a_missing_package_is_named_with_its_pip_line(run, library, monkeypatch):
    real = importlib.import_module

    def without_starlette(name, *rest):
        if name == "starlette":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", without_starlette)
    code, _, err = run("explore", library.model, "--no-open")
    assert code == 1
    assert "pip install 'psdvec[explore]'" in err


def test_the_command_line_loads_no_web_server_until_it_is_asked_to():
    code = "import sys, psdvec.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not set(loaded.split()) & {"starlette", "uvicorn", "sklearn"}
