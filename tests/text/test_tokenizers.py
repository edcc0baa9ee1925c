"""What a word is, for each tokenizer."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from psdvec.errors import InputError
from psdvec.text.corpus import read_corpus
from psdvec.text.tokenizer_kernels import fold_case, foldings, is_utf8
from psdvec.text.tokenizers import TOKENIZERS, choose_tokenizer, find_tokenizer, split_spaced, split_words
from tests.reference import counting

SCRIPTS = "abZ1٣ _-.,:;·'\"’éßアカあ漢กא\u05b0\u0301\u00ad\u200d🇩😀\n"


def words(tokenizer: str, text: str) -> list[list[str]]:
    spaced = find_tokenizer(tokenizer)(text.encode()).tobytes().decode()
    return [split_spaced(sentence) for sentence in spaced.split("\n")]


@given(st.text(alphabet=SCRIPTS, max_size=30))
def test_paper_agrees_with_its_definition(text):
    assert words("paper", text) == [counting.words_paper(line) for line in text.split("\n")]


@given(
    st.text(alphabet=SCRIPTS, max_size=30)
    | st.text(alphabet=st.characters(exclude_categories=["Cs", "Z", "Cc"]))
)
def test_unicode_agrees_with_its_definition(text):
    lines = text.split("\n")
    assert words("unicode", text) == [counting.words_unicode(line) for line in lines]
    assert words("unicode-cased", text) == [counting.words_unicode_cased(line) for line in lines]


def test_case_is_folded_as_python_folds_it():
    characters = "".join(chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000)
    text = np.frombuffer(characters.encode(), np.uint8)
    out = np.empty(3 * len(text), np.uint8)
    assert out[: fold_case(text, *foldings(), out)].tobytes() == characters.casefold().encode()


EDGES = [
    bytes([byte])
    for byte in b"\0\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xe1\xec\xed\xee\xef\xf0\xf1\xf3\xf4\xf5\xff"
]


def test_what_is_utf8_is_what_python_decodes_for_all_bytes_at_which_the_rules_change():
    for length in range(4):
        for edges in product(EDGES, repeat=length):
            data = b"".join(edges)
            assert is_utf8(np.frombuffer(data, np.uint8)) == counting.is_utf8(data), data


@given(
    st.lists(st.sampled_from([*EDGES, "é".encode(), "漢".encode(), "😀".encode()]), max_size=12).map(b"".join)
)
def test_what_is_utf8_is_what_python_decodes(data):
    assert is_utf8(np.frombuffer(data, np.uint8)) == counting.is_utf8(data)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_keeping_case_only_leaves_out_the_folding(text):
    assert words("unicode-cased", text.casefold()) == words("unicode", text)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_words_with_their_case_kept_stand_in_the_text(text):
    place = 0
    for word in split_words(text, tokenizer="unicode-cased"):
        place = text.index(word, place) + len(word)


@pytest.mark.slow
def test_unicode_agrees_with_its_definition_on_all_short_texts_of_letters_quotes_and_marks():
    texts = ["".join(text) for length in range(1, 4) for text in product("אa'\"\u05b0 .", repeat=length)]
    assert words("unicode", "\n".join(texts)) == [counting.words_unicode(text) for text in texts]


@given(st.text(alphabet="bcBC19 _-.,:;·'\"カ漢גד\n", max_size=30))
def test_unicode_agrees_with_the_regex_package(text):
    """That package adds a rule for apostrophes before vowels, so this text has none."""
    expected = []
    for line in text.casefold().split("\n"):
        pieces = regex.split(r"(?w)\b", line, flags=regex.V1)
        expected.append([piece for piece in pieces if regex.search(r"[\p{Alphabetic}\p{N}]", piece)])
    assert words("unicode", text) == expected


@pytest.mark.parametrize(
    ("tokenizer", "text", "expected"),
    [
        (
            "paper",
            "Don't DON’T 'quoted' rock'n'roll x2y",
            ["don't", "don't", "quoted", "rock'n'roll", "x", "y"],
        ),
        ("paper", "naïve café", ["na", "ve", "caf"]),
        ("unicode", "Don't ПРИВЕТ Straße 3.14 a_b", ["don't", "привет", "strasse", "3.14", "a_b"]),
        ("unicode", "東京タワー naïve e\u0301tude", ["東", "京", "タワー", "naïve", "e\u0301tude"]),
        ("unicode", "-- ... 😀 ___", []),
        ("unicode-cased", "Das Essen, zum ESSEN (größte)!", ["Das", "Essen", "zum", "ESSEN", "größte"]),
        ("whitespace", "New_York isn't  U.S.A. !", ["New_York", "isn't", "U.S.A.", "!"]),
        ("whitespace", "a\0b\rc\td", ["a", "b", "c", "d"]),
    ],
)
def test_examples(tokenizer, text, expected):
    assert words(tokenizer, text) == [expected]


def test_words_of_one_letter_and_long_words_are_kept():
    long = "pneumonoultramicroscopicsilicovolcanoconiosis"
    for tokenizer in TOKENIZERS:
        assert words(tokenizer, f"i a {long}") == [["i", "a", long]]


def test_an_unknown_tokenizer_is_refused():
    with pytest.raises(
        InputError, match="there is no tokenizer 'spacy'; choose one of unicode, unicode-cased, paper, white"
    ):
        read_corpus("-", tokenizer="spacy")


@pytest.mark.parametrize(
    ("tokenizer", "case", "chosen"),
    [
        ("unicode", None, "unicode"), ("unicode", "fold", "unicode"), ("unicode", "keep", "unicode-cased"),
        ("unicode-cased", None, "unicode-cased"), ("unicode-cased", "keep", "unicode-cased"),
        ("paper", None, "paper"), ("paper", "fold", "paper"),
        ("whitespace", None, "whitespace"), ("whitespace", "keep", "whitespace"),
    ],
)  # fmt: skip
def test_case_chooses_the_tokenizer_that_is_recorded(tokenizer, case, chosen):
    assert choose_tokenizer(tokenizer, case) == chosen
    assert read_corpus("-", tokenizer=tokenizer, case=case).tokenizer == chosen


@pytest.mark.parametrize(
    ("tokenizer", "case", "message"),
    [
        ("paper", "keep", "'paper' puts words into lower case, but case='keep' was given; use tokenizer=\"unicode\""),
        ("whitespace", "fold", "tokenizer 'whitespace' keeps case, but case='fold' was given"),
        ("unicode-cased", "fold", "tokenizer 'unicode-cased' keeps case, but case='fold' was given"),
        ("unicode", "upper", "case='upper' is unknown; choose 'fold' or 'keep'"),
        ("spacy", "keep", "there is no tokenizer 'spacy'"),
    ],
)  # fmt: skip
def test_a_case_that_the_tokenizer_cannot_give_is_refused(tokenizer, case, message):
    with pytest.raises(InputError, match=message):
        read_corpus("-", tokenizer=tokenizer, case=case)
