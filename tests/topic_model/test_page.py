"""The page of topics: well-formed, alone, and safe from what words and names hold."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from psdvec.topic_model.page import as_html, place_names, places_of
from psdvec.topic_model.topics import Topics, describe_topics, topics
from psdvec.vectors.embeddings import Embeddings
from tests.helpers import Page
from tests.topic_model.planted import SILENT, planted_texts, planted_vectors

EVIL = "<script>alert('&\"')</script>"


def page_of(found: Topics) -> Page:
    return Page(as_html(found, describe_topics(found)))


@pytest.fixture(scope="module")
def found() -> Topics:
    records = [{"text": text, "year": 1990 + i % 5} for i, text in enumerate(planted_texts(documents=40))]
    return topics(planted_vectors(), records, 4, by="year", min_documents=1, progress=SILENT)


def test_the_page_is_well_formed_and_shows_every_topic(found):
    page = page_of(found)
    ids = {value for name, value in page.attributes if name == "id"}
    assert ids >= {f"topic-{k}" for k in range(4)}
    links = {value for name, value in page.attributes if name == "href"}
    assert links >= {f"#topic-{k}" for k in range(4)}
    assert all(link.startswith("#") for link in links)
    text = " ".join(page.texts)
    for label in found.labels:
        assert label in text
    assert "Topics over year" in text


def test_a_document_of_very_many_words_does_not_decide_what_documents_are_about(found):
    shares = np.zeros_like(found.proportions)
    shares[:, 1], shares[0] = 1, (1, 0, 0, 0)
    lengths = np.where(np.arange(40) == 0, 1e6, found.lengths)
    source = as_html(replace(found, proportions=shares, lengths=lengths), describe_topics(found))
    assert f"most about: {found.labels[1]};" in source


def test_the_page_needs_nothing_from_elsewhere(found):
    source = as_html(found, describe_topics(found))
    assert not re.search(r"https?:|//|@import|url\(|\bsrc=", source)
    assert "script" not in page_of(found).tags


def test_words_names_and_fields_are_escaped(found):
    words = (EVIL, *(f"{EVIL}{i}" for i in range(1, len(found.space.words))))
    evil = replace(
        found,
        space=replace(found.space, words=words),
        labels=(EVIL,) * 4,
        names=(EVIL,) * 40,
        fields={EVIL: (EVIL, None) * 20},
    )
    page = page_of(evil)
    assert "script" not in page.tags
    assert any(EVIL in text for text in page.texts)


def test_topics_that_are_alike_have_a_map_and_a_single_one_has_none():
    e = Embeddings(("a", "b"), np.ones((2, 3), dtype=np.float32))
    alike = page_of(topics(e, ["a b", "b a", "a a"], 2, min_documents=1, progress=SILENT))
    numbers = [value for name, value in alike.attributes if name in ("cx", "cy", "r")]
    assert len(numbers) == 2 * 2 * 3  # on the wide map and on the narrow one
    assert all(np.isfinite(float(value)) for value in numbers)
    alone = page_of(topics(e, ["a b"], 1, min_documents=1, progress=SILENT))
    assert "svg" not in alone.tags
    assert "1 topic in 1 document" in alone.texts


def test_narrow_screens_have_a_map_of_their_own_whose_names_are_within_it(found):
    source = as_html(replace(found, labels=("l" * 40, *found.labels[1:])), describe_topics(found))
    maps = re.findall(r'<svg class="(\w+)" viewBox="0 0 (\d+) \d+".*?</svg>', source)
    assert [kind for kind, _ in maps] == ["wide", "narrow"] * 2  # the map, and topics over the years
    assert "svg.narrow { display: none; }" in source
    narrow = source[source.index('<svg class="narrow"') :]
    names = re.findall(r'<text x="([\d.]+)" [^>]*>([^<]*)</text>', narrow[: narrow.index("</svg>")])
    assert len(names) >= 4
    for x, name in names:
        assert 3 * len(name) <= float(x) <= 400 - 3 * len(name)


def test_names_over_a_field_are_whole_where_there_is_room_and_whole_words_where_there_is_not(found):
    labels = ("innovations, digital, economy", "budget, taxes, spending", *found.labels[2:])
    source = as_html(replace(found, labels=labels), describe_topics(found))
    wide, narrow = re.findall(r"<svg[^>]*topics over year.*?</svg>", source)
    for label in labels[:2]:
        assert f">{label}</text>" in wide
        assert f">{label}</text>" not in narrow
    assert ">innovations</text>" in narrow
    assert ">budget, taxes</text>" in narrow
    assert "…" not in wide + narrow


def test_a_single_topic_beside_the_largest_has_a_name_over_a_field(found, monkeypatch):
    for largest, others in ((3, False), (2, True)):
        monkeypatch.setattr("psdvec.topic_model.page._LARGEST", largest)
        assert any(text == "2 others" for text in page_of(found).texts) == others
        assert "1 others" not in page_of(found).texts


def test_months_and_days_are_drawn_as_times(found):
    days = tuple(f"2020-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(len(found.names)))
    for values in (days, tuple(day[:7] for day in days)):
        source = as_html(replace(found, fields={"date": values}), describe_topics(found))
        assert 'aria-label="topics over date' in source
        assert f"{min(values)}</text>" in source


def test_a_name_does_not_cover_the_line_below_it():
    for y in (0.1 * i for i in range(5000)):
        assert (
            place_names([("one", 50, y, "strong"), ("feeds, keeps", 50, y + 15.0, "more")], 400).count(
                "<text"
            )
            == 2
        )


def test_the_map_names_a_topic_as_it_was_named(found):
    named = replace(found, labels=("money", *found.labels[1:]))
    source = as_html(named, describe_topics(named))
    assert re.search(r'class="strong"[^>]*>money</text>', source)
    assert f'aria-label="topic 0: money, {", ".join(named.top_words()[0][:2])} (' in source


def test_places_on_the_map_keep_distances_that_a_plane_can_hold():
    angles = np.array([0.0, 0.4, 1.1, 2.0])
    vectors = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(4)])
    places = places_of(vectors)
    for i in range(4):
        for j in range(4):
            wanted = np.linalg.norm(vectors[i] - vectors[j])
            assert np.linalg.norm(places[i] - places[j]) == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize(
    "values",
    [
        ("1999", "2001"),
        ("7", "07"),
        ("9" * 5000, "1"),
        ("spring", "autumn"),
        ("5",),
        ("²", "1"),
        ("-1", "1.5"),
    ],
)
def test_any_values_of_a_field_are_shown(found, values):
    of = tuple(values[i % len(values)] for i in range(40))
    text = " ".join(page_of(replace(found, fields={"when": of})).texts)
    assert "Topics over when" in text
    assert all(value in text for value in values)
