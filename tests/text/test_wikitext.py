"""What becomes of markup, by example; and the fast kernels agree with their slow twins."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psdvec.text import wikitext
from psdvec.text import wikitext as markup
from psdvec.text import wikitext as prose
from psdvec.text.wikitext import LANGUAGES, TAGS, Stripper
from tests.reference import wikitext as wikitext_reference

STRIPPER = Stripper(["Eʼelyaaígíí", "Kategoreja"])
NAMESPACES = {b"file", b"image", b"media", b"category", "eʼelyaaígíí".encode(), b"kategoreja"}
CODES = {language.encode() for language in LANGUAGES}

TOKENS = [
    *("{{", "}}", "{", "}", "{|", "|}", "|", "|-", "[[", "]]", "[", "]", "[http://x.y ", "https://a.b", "//"),
    *("<ref>", "<ref name=a>", "<ref/>", "</ref>", "<ref", "<math>", "</math>", "<br>", "<b>", "</b>", "<x>"),
    *(
        "<!--",
        "-->",
        "<nowiki>",
        "</nowiki>",
        "<",
        ">",
        "/",
        "File:",
        "Category:",
        "fr:",
        "Fr:",
        ":",
        "thumb",
    ),
    *("\n", "\n\n", "=", "==", "*", "#", ";", "----", "'", "''", "'''", "____", "__NOTOC__", "_", " ", "\t"),
    *(
        "a",
        "b c",
        "don't",
        "’",
        "é",
        "中",
        "&lt;",
        "&nbsp;",
        "&#123;",
        "&",
        "(",
        ")",
        "(, )",
        ",",
        "\x01",
        "9",
    ),
]
pages = st.lists(st.sampled_from(TOKENS), max_size=40).map("".join)


def text_of(page: str) -> str:
    return STRIPPER.texts([page.encode()])[0]


def words_of(page: str) -> str:
    return STRIPPER.words([page.encode()])[0]


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("a {{x|{{y}}|{{z|{{w}}}}}} b", "a b"),
        ("a{{cite}}.", "a."),
        ("a{{spaced dash}}b", "a b"),
        ("a {{{parameter|default}}} b", "a b"),
        ("a\n{| class=x\n! h\n|-\n| c {| d |} \n{|\n| inner\n|}\n|}\nb", "a b"),
        ("a<ref>note</ref> b<ref name=x /> c", "a b c"),
        ("E<math>mc^2</math>. <code>x = [[1]]</code><pre>y</pre>z", "E. z"),
        ("a <!-- b\n\n {{ --> c", "a c"),
        ("[[File:Cat.jpg|thumb|A [[cat]] that [[sit|sits]]]] Cats", "Cats"),
        ("[[Image:Cat.jpg]][[media:Cat.ogg|listen]]Cats", "Cats"),
        ("[[Eʼelyaaígíí:Cat.jpg|thumb|Cat]] Cats [[kategoreja:Cats]]", "Cats"),
        ("Cats\n[[Category:Cats|*]]\n[[fr:Chat]]\n[[zh-min-nan:Niau]]", "Cats"),
        ("[[Category :Cats]] [[ file_: x]] Cats", "Cats"),
        ("[[:Category:Cats]] and [[:fr:Chat]]", "Category:Cats and fr:Chat"),
        ("[[It: Chapter Two]] and [[CSI: Miami|]]", "It: Chapter Two and CSI: Miami"),
        ("[[cat]]s and [[Dog (animal)|dogs]]", "cats and dogs"),
        ("[http://x.org the site] and [https://y.org] and http://z.org/a?b=c end", "the site and and end"),
        ("== History ==\n=== ''Early'' ===\n* one\n** two", "History Early one two"),
        ("# three\n: four\n; five", "three four five"),
        ("----\n'''bold''' ''italic'' '''''both''''' don't '''L''''s", "bold italic both don't L's"),
        ("__NOTOC__ __KEIN_INHALT__ snake__case", "snake__case"),
        ("<div style='x'>a</div><br/>b <span>c</span><sub>2</sub>", "a b c2"),
        ("AT&amp;T &ndash; caf&eacute;&nbsp;&#66; &lt;b", "AT&T – café B < b"),
        ("<nowiki>[[not a link]] ''x''</nowiki>", "not a link x"),
        ("Cat ({{lang|la|felis}}) and ({{IPA|x}}; born 1900) f() run", "Cat and (born 1900) f() run"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("a<table><tr><td>cell</td></tr></table>b", "a b"),
        ("a<gallery>\nFile:x.jpg|caption\n</gallery>b", "a b"),
        ("line one\n\nline\u2028two\u00a0end", "line one line two end"),
    ],
)
def test_markup_becomes_text(page: str, text: str) -> None:
    assert text_of(page) == text


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("before {{unclosed after [[link]]", "before unclosed after link"),
        ("before {{outer {{inner}} after", "before outer after"),
        ("before }} after", "before after"),
        ("before <ref>unclosed after <ref>closed</ref> end", "before unclosed after end"),
        ("before <ref name=x after", "before ref name=x after"),
        ("before <!-- after", "before after"),
        ("before [[unclosed after", "before unclosed after"),
        ("before ]] after", "before after"),
        ("before [[unclosed\n\nafter a]] end", "before unclosed after a end"),
        ("[[File:x.jpg|thumb|unclosed\nafter", "after"),
        ("[[File:x.jpg|thumb|unclosed\n\nafter [[link]] a]] end", "after link a end"),
        ("{| unclosed\n| cell\nafter", "after"),
        ("a\n| row of a table that a template began\n|}\nb", "a b"),
        ("{{Infobox\n| name = x\n| born = {{date}}\nafter", "Infobox after"),
    ],
)
def test_unbalanced_markup_takes_no_more_than_its_line_with_it(page: str, text: str) -> None:
    assert text_of(page) == text


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("The cat’s 9 lives, the dogs' 'home'", "the cat's lives the dogs home"),
        ("Gödel, naïve, Пётр, 中文, mp3 and 1990s are no English words", "and are no english words"),
        ("well-known — “so to say” U.S.A.", "well known so to say u s a"),
        ("soft\u00adhyphen rock 'n' roll", "softhyphen rock n roll"),
        ("", ""),
        ("42 !", ""),
    ],
)
def test_words_are_english_and_lower_case(page: str, words: str) -> None:
    assert words_of(page) == words


@settings(deadline=None)
@given(pages)
def test_no_markup_remains_whatever_the_nesting(page: str) -> None:
    text = text_of(page)
    assert not re.search(r"\{\{|\}\}|\[\[|\]\]|\||<[a-zA-Z/!]|[\n\r\0\1]|  ", text)
    assert text == text.strip(" ")
    assert re.fullmatch(r"(?:[a-z](?:[a-z']*[a-z])?(?: (?!$)|$))*", words_of(page))


@settings(deadline=None)
@given(st.lists(pages, max_size=5))
def test_pages_of_a_batch_do_not_affect_each_other(pages: list[str]) -> None:
    encoded = [page.encode() for page in pages]
    assert STRIPPER.texts(encoded) == [text_of(page) for page in pages]
    assert STRIPPER.words(encoded) == [words_of(page) for page in pages]


@pytest.mark.slow
@settings(deadline=None)
@given(st.one_of(pages, st.text(), st.binary().map(lambda data: data.decode("latin-1"))))
def test_the_kernels_agree_with_their_twins(page: str) -> None:
    text = page.replace("\0", " ").replace("\2", " ").encode()
    stripped = markup.strip_markup(np.frombuffer(text + b"\0", np.uint8), *STRIPPER._tables)
    assert stripped.tobytes() == wikitext_reference.strip_markup(text, TAGS, NAMESPACES, CODES) + b"\0"


@settings(deadline=None)
@given(st.one_of(st.text(alphabet="\1 (),;:.|<>[]{}ab9é\u00a0\u2003/!"), st.text()))
def test_the_kernel_that_tidies_agrees_with_its_twin(text: str) -> None:
    text = text.replace("\0", " ").encode("utf-8", "replace").decode()
    source = np.frombuffer(text.encode() + b"\0", np.uint8)
    target = np.empty(len(source) * 3 // 2 + 1, np.uint8)
    size = prose.tidy_text(source, target)
    assert target[:size].tobytes().decode() == wikitext_reference.tidy_text(text) + "\0"


@settings(deadline=None)
@given(st.one_of(st.text(alphabet="aZ'’é9-\u00ad 中\u0301"), st.text()))
def test_the_kernel_for_words_agrees_with_its_twin(text: str) -> None:
    text = text.replace("\0", " ").encode("utf-8", "replace").decode()

    def character_class(code: int) -> int:
        return wikitext._character_class(code) if code < 0x10000 else prose.FOREIGN

    expected = wikitext_reference.english_words(text, character_class)
    source = np.frombuffer(text.encode() + b"\0", np.uint8)
    target = np.empty(len(source) + 1, np.uint8)
    size = prose.english_words(source, target, wikitext._character_classes())
    assert target[:size].tobytes().decode() == expected + "\0"


@pytest.mark.parametrize(
    "token",
    ["{{", "}}", "[[", "]]", "<!--", "<ref>", "<", "[[File:", "'", "=", "\n|", "\n{|", "(", "_", "[http://"],
)
def test_a_megabyte_of_one_token_takes_no_time(token: str) -> None:
    text_of(token * (1_000_000 // len(token)))


def test_broken_utf8_is_not_an_error() -> None:
    assert STRIPPER.words([b"a\xff\xe2\x80 b\xc3"]) == ["a b"]
    assert STRIPPER.texts([b"a\xff b &amp; \xe2"])[0].startswith("a")
    # A NUL, to a decoder that is not strict: the mark of a page's end.
    for broken in (b"a \x80\x80 b", b"a \xc0\x80 b"):
        assert STRIPPER.words([broken, b"c"]) == ["a b", "c"]
