"""Who may send requests, how large they may be, and that nothing in them is ever used as a path or a program."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psdvec.errors import InputError
from psdvec.explore.api import Api
from psdvec.explore.app import HEADERS, MAX_BODY, SMALL, is_own_host, read_files
from psdvec.explore.models import add_words
from tests.explore.clients import client_of

JSON = {"content-type": "application/json"}


@pytest.fixture
def client(api: Api):
    return client_of(api)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "evil.example:8765", "127.0.0.1.evil.example", "localhost.evil.example", "", "10.0.0.1",
        "[::1].evil.example", "[::1]x:80", "[::1", "::1]", "[localhost]", "127.0.0.1:x", "127.0.0.1:1:2", "[]", ":80",
        "[fe80::1]:8765",
    ],
)  # fmt: skip
def test_a_foreign_host_is_refused(client, host):
    for path in ("/", "/api/info", "/static/main.js"):
        reply = client.get(path, headers={"host": host})
        assert reply.status_code == 403
        assert "open the one that psdvec explore printed" in reply.json()["error"]


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:1", "LOCALHOST", "[::1]:8765", "127.0.0.1"])
def test_this_machine_under_its_own_names_is_welcome(client, host):
    assert client.get("/api/info", headers={"host": host}).status_code == 200


def test_a_wildcard_address_takes_numbers_but_no_names():
    assert is_own_host("192.168.1.7:8765", listening_at="0.0.0.0")
    assert not is_own_host("evil.example:8765", listening_at="0.0.0.0")
    assert is_own_host("box.lan:8765", listening_at="box.lan")
    assert not is_own_host("192.168.1.7:8765", listening_at="127.0.0.1")


@given(st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126), max_size=40))
def test_only_this_machines_names_pass_for_it(header):
    if is_own_host(header, listening_at="127.0.0.1"):
        assert re.match(r"(?i)\[?(localhost|127\.|::1|0*:|::ffff:127\.)", header)


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:9999", "http://localhost:8765"]
)
def test_a_foreign_origin_is_refused(client, origin):
    assert client.get("/api/info", headers={"origin": origin}).status_code == 403
    reply = client.post("/api/extend", json={"text": "x"}, headers={"origin": origin})
    assert reply.status_code == 403
    assert "another site asked" in reply.json()["error"]


def test_the_pages_own_origin_is_welcome(client):
    headers = {"origin": "http://127.0.0.1:8765", "sec-fetch-site": "same-origin"}
    assert client.get("/api/info", headers=headers).status_code == 200


def test_another_site_may_link_to_the_page_but_not_ask(client):
    headers = {"sec-fetch-site": "cross-site"}
    assert client.get("/", headers=headers).status_code == 200
    assert client.get("/api/info", headers=headers).status_code == 403


@pytest.mark.parametrize("length", ["9" * 5000, str(MAX_BODY + 1), "-1", "x"])
def test_a_length_that_no_body_may_have_is_refused(client, length):
    reply = client.post("/api/extend", content=b"{}", headers={"content-length": length})
    assert reply.status_code == 413


def test_every_reply_carries_the_headers(client):
    replies = [
        client.get("/"),
        client.get("/api/info"),
        client.get("/nothing"),
        client.delete("/api/info"),
        client.get("/", headers={"host": "evil.example"}),
        client.get("/api/similar", params={"word": "unknown"}),
    ]
    assert [reply.status_code for reply in replies] == [200, 200, 404, 405, 403, 404]
    for reply in replies:
        for name, value in HEADERS.items():
            if name != "cache-control" or "etag" not in reply.headers:
                assert reply.headers[name] == value


def test_no_script_but_the_pages_own_may_run():
    policy = dict(part.strip().split(" ", 1) for part in HEADERS["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert "unsafe" not in HEADERS["content-security-policy"]
    assert policy["connect-src"] == "'self'"


def test_ten_megabytes_are_refused_in_one_sentence(client):
    reply = client.post("/api/extend", json={"text": "word " * 2_000_000})
    assert reply.status_code == 413
    assert reply.json()["error"] == "that is more than 6 MB; paste a few sentences with the new word"


def test_a_body_of_unknown_length_is_limited_too(client):
    sent = 0

    def pieces():
        nonlocal sent
        yield b'{"text": "'
        for _ in range(1000):
            sent += 100_000
            yield b"x" * 100_000

    reply = client.post("/api/extend", content=pieces(), headers=JSON)
    assert reply.status_code == 413
    assert "content-length" not in reply.request.headers
    assert sent > MAX_BODY


@pytest.mark.parametrize("length", ["-1", "x", str(MAX_BODY + 1), "9" * 30])
def test_a_length_that_makes_no_sense_is_refused(client, length):
    headers = {**JSON, "content-length": length}
    assert client.post("/api/extend", content=b"{}", headers=headers).status_code == 413


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/%2e%2e/errors.py", "/static//etc/passwd",
        "/static/%2fetc%2fpasswd", "/static/main.js%00.html", "/static/", "/../../etc/passwd", "/static/..\\app.py",
        "/api/../static/../api.py",
    ],
)  # fmt: skip
def test_no_path_reaches_the_file_system(client, path, monkeypatch):
    monkeypatch.setattr("pathlib.Path.open", None)
    monkeypatch.setattr("pathlib.Path.read_bytes", None)
    monkeypatch.setattr("builtins.open", None)
    assert client.get(path).status_code == 404


def test_questions_open_no_file(client, monkeypatch):
    client.get("/api/map")
    client.get("/api/contexts", params={"word": "guitar"})
    monkeypatch.setattr("pathlib.Path.open", None)
    monkeypatch.setattr("builtins.open", None)
    for word in ("../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "guitar"):
        for name in ("similar", "contexts", "compare"):
            assert client.get(f"/api/{name}", params={"word": word}).status_code in (200, 404)
    assert client.get("/static/main.js").status_code == 200


@given(
    name=st.sampled_from(["similar", "analogy", "odd", "contexts", "compare", "map"]),
    parameters=st.lists(
        st.tuples(
            st.sampled_from(["word", "other", "a", "b", "c", "topn", "model", "layout", "add"]),
            st.one_of(
                st.text(max_size=120), st.sampled_from(["guitar", "piano", "1", "2", "true", "pca", "lute"])
            ),
        ),
        max_size=7,
    ),
)
def test_any_question_gets_an_answer_or_a_sentence(models, name, parameters):
    api = Api(models)
    text = "&".join(f"{key}={quote(value, errors='replace')}" for key, value in parameters)
    reply = client_of(api).get(f"/api/{name}?{text}")
    assert reply.status_code in (200, 400, 404)
    assert (reply.status_code == 200) == ("error" not in reply.json())


# The page's own files


def test_the_page_has_no_inline_script_and_loads_nothing_from_elsewhere():
    contents = {name: content.decode() for name, content in read_files().items()}
    page = contents["index.html"]
    assert not re.findall(r"<script(?![^>]*\bsrc=)", page)
    assert not re.findall(r"\son\w+\s*=", page)
    assert not re.findall(r"\sstyle\s*=", page)
    for name, text in contents.items():
        outside = set(re.findall(r"(?:https?:)?//[\w.-]+\.\w+", re.sub(r"//\s.*", "", text)))
        assert outside <= {"http://www.w3.org"}, name


def test_no_script_can_turn_a_word_into_html():
    for name, content in read_files().items():
        if name.endswith(".js"):
            found = re.findall(
                rb"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|srcdoc",
                content,
            )
            assert not found, name


def test_scripts_import_only_what_is_there():
    contents = read_files()
    for name, content in contents.items():
        for wanted in re.findall(rb"/static/(\w[\w.-]+)", content):
            assert wanted.decode() in contents, name


def test_the_pages_files_are_small_and_kept_by_the_browser(client):
    """150 kB is what a first visit may cost, all files together."""
    total = 0
    for name, content in read_files().items():
        reply = client.get(f"/static/{name}", headers={"accept-encoding": "gzip"})
        assert reply.content == content
        assert len(content) < SMALL or reply.headers["content-encoding"] == "gzip"
        assert "no-store" not in reply.headers["cache-control"]
        again = client.get(f"/static/{name}", headers={"if-none-match": reply.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert client.get(f"/static/{name}", headers={"if-none-match": '"other"'}).status_code == 200
        total += int(reply.headers["content-length"])
    assert total < 150_000


def test_answers_are_compressed_only_for_those_who_take_it(client):
    packed = client.get("/api/map?layout=pca", headers={"accept-encoding": "gzip"})
    plain = client.get("/api/map?layout=pca", headers={"accept-encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.json() == plain.json()
    assert plain.headers["cache-control"] == "no-store"


def test_a_pasted_name_of_a_file_is_a_text_and_opens_nothing(models, tmp_path):
    file = tmp_path / "secret"
    file.write_text("the zither plays a guitar tune with the violin and the drum in a band\n" * 5)
    with pytest.raises(InputError, match="does not occur in the text"):
        add_words(models[0].model, str(file), word="zither")
