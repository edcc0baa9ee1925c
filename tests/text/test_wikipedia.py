"""Dumps become text: all articles, in order, whatever the compression; errors say what is wrong with a dump."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import random
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from psdvec.errors import InputError
from psdvec.progress import LogProgress
from psdvec.text import wikipedia as dump_module
from psdvec.text.streams import open_stream
from psdvec.text.wikipedia import Dump, Extraction, extract, read_pages

DATA = Path(os.environ.get("PSDVEC_DATA", Path(__file__).parents[3] / "shared" / "data")) / "wikixml"

HEADER = """<mediawiki xml:lang="ltg">
  <siteinfo><namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="1" case="first-letter">Talk</namespace>
      <namespace key="6" case="first-letter">Fails</namespace>
      <namespace key="14" case="first-letter">Kategoreja</namespace>
  </namespaces></siteinfo>
"""


def page(
    title: str,
    text: str,
    *,
    number: int = 1,
    namespace: int | None = 0,
    redirect: bool = False,
    revisions: int = 1,
) -> str:
    revision = f"<revision><id>{number}77</id><text bytes='9' xml:space='preserve'>{{}}</text></revision>\n"
    old = "".join(revision.format(f"old revision {place}") for place in range(revisions - 1))
    return (
        f"  <page>\n<title>{escape(title)}</title>\n"
        + (f"<ns>{namespace}</ns>\n" if namespace is not None else "")
        + f"<id>{number}</id>\n"
        + ('<redirect title="x" />\n' if redirect else "")
        + old
        + revision.format(escape(text, {'"': "&quot;"}))
        + "</page>\n"
    )


def make_dump(*pages: str) -> bytes:
    return (HEADER + "".join(pages) + "</mediawiki>\n").encode()


def numbered(count: int) -> bytes:
    texts = (f"article {'xyz'[place % 3]} " + "words and words " * (place % 50) for place in range(count))
    return make_dump(*(page(f"T{place}", text, number=place) for place, text in enumerate(texts)))


def run(folder: Path, data: bytes, form: str = "paper", **options: object) -> tuple[list[str], Extraction]:
    source, output = folder / "dump", folder / "corpus.txt"
    source.write_bytes(data)
    done = extract(source, output, form=form, overwrite=True, **options)  # type: ignore[arg-type]
    return output.read_text(encoding="utf-8").splitlines(), done


def test_articles_are_kept_one_per_line_and_everything_else_is_counted(tmp_path: Path) -> None:
    data = make_dump(
        page("Cat", "A '''cat''' is an [[animal]].\n\nIt sleeps."),
        page("Kitty", "#REDIRECT [[Cat]]", redirect=True),
        page("Pussy", "#redirect [[Cat]]"),
        page("Talk:Cat", "I like cats.", namespace=1),
        page("Stub", "{{stub}}"),
        page("Dog", "Dogs &amp; [[Fails:Dog.jpg|thumb|a dog]]friends [[Kategoreja:Dogs]]"),
    )
    lines, done = run(tmp_path, data)
    assert lines == ["a cat is an animal it sleeps", "dogs friends"]
    assert done == Extraction(pages=6, articles=2, words=9, redirects=2, other_namespaces=1, too_short=1)
    assert str(done).startswith("6 pages read, 2 articles kept with 9 words; skipped: 2 redirects")


def test_text_as_it_stands_is_the_default(tmp_path: Path) -> None:
    source, output = tmp_path / "dump", tmp_path / "corpus.txt"
    source.write_bytes(
        make_dump(page("A", 'The "Čaks", 中文 & <b>x</b>.'), page("B", "Béésh bee akʼeʼelchíhí"))
    )
    extract(source, output)
    assert output.read_text(encoding="utf-8").splitlines() == [
        'The "Čaks", 中文 & x.',
        "Béésh bee akʼeʼelchíhí",
    ]


def test_jsonl_keeps_id_and_title(tmp_path: Path) -> None:
    lines, _ = run(tmp_path, make_dump(page('A & "B"', "Čaks\nx", number=42)), form="jsonl")
    assert [json.loads(line) for line in lines] == [{"id": 42, "title": 'A & "B"', "text": "Čaks x"}]


def test_the_last_of_several_revisions_counts(tmp_path: Path) -> None:
    assert run(tmp_path, make_dump(page("A", "new", revisions=3)))[0] == ["new"]


def test_a_page_without_text_is_too_short(tmp_path: Path) -> None:
    empty = page("A", "x").replace(
        "<text bytes='9' xml:space='preserve'>x</text>", '<text xml:space="preserve" />'
    )
    assert run(tmp_path, make_dump(empty, page("B", "b")))[1].too_short == 1


def test_old_dumps_tell_the_namespace_in_the_title(tmp_path: Path) -> None:
    data = make_dump(page("Talk:A", "a", namespace=None), page("Alien: Two", "b", namespace=None))
    assert run(tmp_path, data)[0] == ["b"]


def test_articles_with_few_words_are_skipped_on_request(tmp_path: Path) -> None:
    data = make_dump(page("A", "one two"), page("B", "one two three"), page("C", ""))
    assert run(tmp_path, data, min_words=3)[0] == ["one two three"]
    assert run(tmp_path, data, min_words=0)[0] == ["one two", "one two three", ""]


@pytest.mark.parametrize("limit", [1, 2, 500, 2000])
def test_limit_stops_at_that_article_whatever_the_batches(
    tmp_path: Path, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dump_module, "_BATCH", 5000)
    lines, done = run(tmp_path, numbered(1000), limit=limit)
    assert len(lines) == done.articles == done.pages == min(limit, 1000)


@pytest.mark.parametrize("compress", [bytes, bz2.compress, gzip.compress, lzma.compress, zstandard.compress])
def test_compression_does_not_matter(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    data = numbered(300)
    middle = len(data) // 2
    lines, _ = run(tmp_path, compress(data[:middle]) + compress(data[middle:]))
    assert lines == run(tmp_path, data)[0]


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(workers=st.integers(1, 5), batch=st.integers(1, 30_000))
def test_neither_workers_nor_batches_change_a_byte(
    tmp_path_factory: pytest.TempPathFactory, workers: int, batch: int
) -> None:
    folder = tmp_path_factory.mktemp("workers")
    data = numbered(200)
    expected = run(folder, data, workers=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dump_module, "_BATCH", batch)
        assert run(folder, data, workers=workers) == expected


def real_dumps() -> list[Path]:
    found = [*DATA.glob("*.xml"), *DATA.glob("*.xml.bz2")]
    try:
        import gensim
    except ImportError:
        return found
    return [
        *found,
        *(Path(gensim.__file__).parent / "test" / "test_data").glob("enwiki-latest*shortened.bz2"),
    ]


@pytest.mark.parametrize("path", real_dumps() or [None], ids=lambda path: path.name[:6] if path else "none")
def test_all_articles_of_real_dumps_are_found(path: Path | None, tmp_path: Path) -> None:
    if path is None:
        pytest.skip("no real dumps here: neither PSDVEC_DATA nor ../shared/data nor gensim")
    expected = articles_by_parser(path)
    lines = tmp_path / "all.jsonl"
    done = extract(path, lines, form="jsonl", min_words=0)
    records = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
    assert [(record["id"], record["title"]) for record in records] == expected
    assert done.articles == len(expected)
    for record in records:
        assert not any(mark in record["text"] for mark in ("{{", "[[", "|", "<ref", "__NOTOC__", "''")), (
            record
        )


def articles_by_parser(path: Path) -> list[tuple[int, str]]:
    with bz2.open(path) if path.suffix == ".bz2" else path.open("rb") as file:
        root = ElementTree.parse(file).getroot()
    space = root.tag.removesuffix("mediawiki")
    return [
        (int(each.findtext(f"{space}id") or 0), each.findtext(f"{space}title") or "")
        for each in root.iter(f"{space}page")
        if each.findtext(f"{space}ns") == "0" and each.find(f"{space}redirect") is None
    ]


@pytest.mark.parametrize("compress", [bytes, bz2.compress, gzip.compress], ids=["plain", "bzip2", "gzip"])
@pytest.mark.parametrize("seed", range(5))
def test_all_whole_pages_of_a_truncated_dump_are_kept(
    tmp_path: Path, compress: Callable[[bytes], bytes], seed: int
) -> None:
    packed = compress(numbered(400))
    cut = random.Random(seed).randrange(len(HEADER) + 200, len(packed) - 20)
    if compress is bz2.compress:
        halves = [bz2.compress(part) for part in (numbered(400)[:20_000], numbered(400)[20_000:])]
        packed, cut = b"".join(halves), len(halves[0]) + 100
    with pytest.raises(
        InputError, match=r"truncated: .* byte \d+.*; the last good page is 'T\d+' \(id \d+\)"
    ) as info:
        run(tmp_path, packed[:cut])
    kept = (tmp_path / "corpus.txt.partial").read_text(encoding="utf-8").splitlines()
    assert kept == run(tmp_path, numbered(400))[0][: len(kept)]
    assert f"{len(kept)} articles up to it are kept in '{tmp_path / 'corpus.txt.partial'}'" in str(info.value)


def test_a_damaged_block_is_named_and_what_comes_before_is_kept(tmp_path: Path) -> None:
    streams = [bz2.compress(part) for part in (numbered(400)[:20_000], numbered(400)[20_000:])]
    damaged = bytearray(streams[1])
    damaged[200:264] = bytes(64)
    with pytest.raises(
        InputError, match=r"is damaged: its bzip2 data .* byte \d+ .*the last good page is 'T\d+'"
    ):
        run(tmp_path, streams[0] + damaged)
    assert (tmp_path / "corpus.txt.partial").stat().st_size > 1000
    assert not (tmp_path / "corpus.txt").exists()


def test_a_page_without_end_is_named_by_its_offset(tmp_path: Path) -> None:
    data = make_dump(page("A", "a"), page("B", "b").replace("</page>", ""), page("C", "c"))
    offset = data.index(b"<page>", data.index(b"<page>") + 1)
    with pytest.raises(
        InputError, match=rf"the page at byte {offset} of its XML is not whole.*last good page is 'A'"
    ):
        run(tmp_path, data)
    assert (tmp_path / "corpus.txt.partial").read_text() == "a\n"


@pytest.mark.parametrize("place", ["<mediawiki", "<siteinfo>", "  <page>"])
def test_entity_bombs_are_refused(tmp_path: Path, place: str) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>'
    data = make_dump(page("A", "a"), page("B", "b")).replace(
        place.encode(), bomb.encode() + place.encode(), 1
    )
    with pytest.raises(InputError, match="declaration"):
        run(tmp_path, data)


def test_gigantic_pages_are_refused_and_never_held_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dump_module, "MAX_PAGE", 3_000_000)
    data = make_dump(page("A", "a"), page("B", "x " * 10_000_000))
    with pytest.raises(InputError, match=r"a page of more than 3\.0 MB, at byte \d+ .*last good page is 'A'"):
        run(tmp_path, data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"just some text", "not a MediaWiki dump: it begins with b'just some text'"),
        (b"<html><body/></html>", "not a MediaWiki dump"),
        (bz2.compress(b"no dump either"), "not a MediaWiki dump"),
    ],
)
def test_what_is_not_a_dump_is_refused_before_any_work(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(tmp_path, data)
    assert [path.name for path in tmp_path.iterdir()] == ["dump"]


def test_an_output_that_exists_is_refused_first(tmp_path: Path) -> None:
    output = tmp_path / "corpus.txt"
    output.write_text("precious")
    with pytest.raises(InputError, match="exists already; choose another output, or give overwrite=True"):
        extract(tmp_path / "missing", output)
    with pytest.raises(InputError, match="is a folder"):
        extract(tmp_path / "missing", tmp_path, overwrite=True)
    with pytest.raises(InputError, match="is the dump itself"):
        extract(output, output, overwrite=True)
    assert output.read_text() == "precious"


def test_other_errors_leave_no_files(tmp_path: Path) -> None:
    class Interrupting(LogProgress):
        def stage(self, *args: object, **options: object) -> object:  # type: ignore[override]
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, numbered(3), progress=Interrupting())
    assert [path.name for path in tmp_path.iterdir()] == ["dump"]


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=300))
def test_random_bytes_in_a_dump_never_crash(tmp_path_factory: pytest.TempPathFactory, noise: bytes) -> None:
    data = make_dump(page("A", "a"), page("B", "NOISE")).replace(b"NOISE", noise)
    try:
        lines, _ = run(tmp_path_factory.mktemp("noise"), data)
        assert lines[0] == "a"
    except InputError:
        pass


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 500), min_size=1))
def test_the_size_of_reads_does_not_change_the_pages(sizes: list[int]) -> None:
    data = numbered(20)

    class Trickle(io.BytesIO):
        name, raw_position = "trickle", 0
        turn = 0

        def read(self, size: int | None = -1, /) -> bytes:
            self.turn += 1
            return super().read(min(size or 0, sizes[self.turn % len(sizes)]))

    source = Dump(Trickle(data))  # type: ignore[arg-type]
    titles = [each.title for batch in source.batches() for each in read_pages(batch.xml, source.namespaces)]
    assert titles == [f"T{place}" for place in range(20)]


def psdvec(*arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    code = "from psdvec.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], input=given, capture_output=True, check=False
    )


@pytest.mark.slow
def test_the_command_reads_standard_input_and_reports_what_it_did() -> None:
    done = psdvec(
        "extract", "-", "-o", "-", "--paper", given=bz2.compress(make_dump(page("A", "The '''cat'''.")))
    )
    assert (done.returncode, done.stdout) == (0, b"the cat\n")
    assert b"1 pages read, 1 articles kept" in done.stderr


@pytest.mark.slow
def test_the_command_fails_with_one_line_on_a_truncated_dump(tmp_path: Path) -> None:
    done = psdvec("extract", "-", "-o", str(tmp_path / "out.txt"), given=numbered(9)[:-200])
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert b"psdvec: standard input is truncated" in done.stderr
    assert len((tmp_path / "out.txt.partial").read_text().splitlines()) == 8


@pytest.mark.slow
def test_memory_stays_the_same_however_long_the_dump(tmp_path: Path) -> None:
    path = tmp_path / "dump.bz2"
    body = numbered(3000)[len(HEADER) : -len("</mediawiki>\n")]
    path.write_bytes(bz2.compress(HEADER.encode()) + bz2.compress(body) * 20 + bz2.compress(b"</mediawiki>"))
    code = (
        "import sys, psdvec.text.wikipedia as w; from psdvec.system import peak_memory\n"
        "w.extract(sys.argv[1], sys.argv[2], limit=3000, workers=2); first = peak_memory()\n"
        "w.extract(sys.argv[1], sys.argv[2], overwrite=True, workers=2); print(peak_memory() - first)\n"
    )
    arguments = [sys.executable, "-c", code, str(path), str(tmp_path / "out")]
    grown = int(subprocess.run(arguments, capture_output=True, check=True).stdout)
    with open_stream(path) as stream:
        size = sum(len(data) for data in iter(lambda: stream.read(1 << 20), b""))
    assert size > 25_000_000
    assert grown < 20_000_000


def without(data: bytes, tag: bytes, place: int) -> bytes:
    """Leave out one of several tags of a dump."""
    parts = data.split(tag)
    return tag.join(parts[: place + 1]) + tag.join([b"", *parts[place + 1 :]])[len(tag) :]


@pytest.mark.parametrize("tag", [b"<page>", b"</page>", b"<text bytes='9' xml:space='preserve'>", b"</text>"])
@pytest.mark.parametrize("place", range(3))
def test_a_page_that_is_not_whole_is_never_left_out_in_silence(
    tmp_path: Path, tag: bytes, place: int
) -> None:
    data = make_dump(page("A", "a"), page("B", "b"), page("C", "c"))
    assert data.count(tag) == 3
    damaged = without(data, tag, place)
    assert damaged.count(tag) == 2
    with pytest.raises(InputError, match=r"is damaged: the page .*download the dump again"):
        run(tmp_path, damaged)


def test_a_page_inside_another_is_not_left_out_in_silence(tmp_path: Path) -> None:
    data = make_dump(page("A", "a"), page("B", "b")).replace(b"</page>\n<page>", b"<page>", 1)
    data = data.replace(b"</mediawiki>", b"</page></mediawiki>")
    with pytest.raises(InputError, match="is not whole"):
        run(tmp_path, data)


@pytest.mark.parametrize("element", ["id", "ns", "title"])
def test_an_element_that_is_no_such_thing_is_refused_with_its_page(tmp_path: Path, element: str) -> None:
    name = f"<{element}>".encode()
    data = make_dump(page("A", "a"), page("B", "b")).replace(name, name + b"9" * 5000 + b"<", 1)
    with pytest.raises(InputError, match=f"where <{element}> should be; download the dump again"):
        run(tmp_path, data)


@pytest.mark.parametrize(
    "before", ["<!-- -->" * 124, "<!-- -- - >" * 50, "<?x?>" * 190, " " * 999, "<!--" * 200]
)
def test_whatever_stands_before_the_first_element_is_passed_over_once(tmp_path: Path, before: str) -> None:
    with pytest.raises(InputError, match=r"is not a MediaWiki dump|contains a declaration"):
        run(tmp_path, f"{before}x".encode())
    dump = make_dump(page("A", "a"))
    for aside in ("<!-- a -- b --> <!---->\n", "\ufeff", '<?xml version="1.0"?>\n<!-- c -->'):
        assert run(tmp_path, aside.encode() + dump)[0] == ["a"]
