"""Topics that were planted are found; new documents and new words enter later; what is saved is what was learned."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import psdvec
from psdvec.errors import InputError, StoreError
from psdvec.storage.artefact import META, open_artefact, seal, verify_artefact
from psdvec.topic_model.documents import times_of
from psdvec.topic_model.learn import Space
from psdvec.topic_model.page import (
    as_html,
    columns_of_documents,
    columns_of_sizes,
    columns_of_topics,
    hierarchy,
    read_topics,
    sizes_over,
)
from psdvec.topic_model.topics import (
    Topics,
    describe_topics,
    label_of,
    representatives,
    smallest_within_error,
    topics,
    with_words,
)
from psdvec.vectors.embeddings import Embeddings
from tests.helpers import contents, put_right, replace_array
from tests.topic_model.planted import NAMES, SILENT, WORDS, planted_texts, planted_vectors, topic_of

E = planted_vectors()
TEXTS = planted_texts()


def find(number=4, texts=TEXTS, e: Embeddings = E, **options) -> Topics:
    return topics(e, texts, number, **{"min_documents": 1, "progress": SILENT, **options})


@pytest.fixture(scope="module")
def found() -> Topics:
    records = [{"text": text, "year": 1990 + i % 3, "id": f"d{i}"} for i, text in enumerate(TEXTS)]
    return find(texts=records, by="year")


def planted_order(found: Topics) -> list[str]:
    return [topic_of(words) for words in found.top_words(WORDS)]


@pytest.mark.parametrize("quick", [False, True])
def test_planted_topics_are_found_with_their_words_and_documents(quick: bool):
    found = find(quick=quick)
    order = planted_order(found)
    assert sorted(order) == sorted(NAMES)
    for name, words in zip(order, found.top_words(WORDS), strict=True):
        assert {word.rstrip("0123456789") for word in words} == {name}
    best = [order[k] for k in found.proportions.argmax(axis=1)]
    assert best == [NAMES[i % 4] for i in range(len(TEXTS))]
    assert found.diversity > 0.7


def test_in_the_quick_way_a_document_has_one_topic():
    assert ((find(quick=True).proportions > 0).sum(axis=1) == 1).all()


def test_a_document_about_two_things_has_two_topics(found):
    order = planted_order(found)
    farm, sea = order.index("farm"), order.index("sea")
    shares = found.transform(["farm1 farm2 farm3 sea1 sea2 sea3 " * 4])[0]
    assert shares[farm] == pytest.approx(0.5, abs=0.1)
    assert shares[sea] == pytest.approx(0.5, abs=0.1)
    assert np.count_nonzero(shares) == 2


def test_common_words_belong_to_no_topic(found):
    assert found.transform(["the0 the1 the2 the3 the4 " * 6])[0].sum() < 0.5
    assert found.transform(["farm0 farm1 farm2 farm3 " * 6])[0].sum() > 0.9


def test_a_topic_lies_among_its_words(found):
    for name, nearest, alone in zip(
        planted_order(found), found.nearest_words(WORDS), found.exclusive_words(5), strict=True
    ):
        assert topic_of(nearest) == name
        assert {word.rstrip("0123456789") for word in alone} == {name}
    np.testing.assert_allclose(np.linalg.norm(found.vectors, axis=1), 1.0, rtol=1e-6)


def test_new_documents_move_no_topic_and_get_what_old_ones_have(found):
    before = found.tilts.copy()
    shares = found.transform(TEXTS[:8])
    assert np.array_equal(found.tilts, before)
    np.testing.assert_allclose(shares, found.proportions[:8], atol=0.05)


def test_words_that_no_document_had_enter_by_their_vectors(found):
    text = "banknew0 banknew1 " * 10
    assert not found.transform([text]).any()
    k = planted_order(found).index("bank")
    assert found.transform([text], model=E)[0].argmax() == k
    assert found.chance_of("banknew0", E).argmax() == k
    old, new = found.space, with_words(found.space, E)
    assert new.words[: len(old.words)] == old.words
    assert "banknew0" in new.words
    n = len(old.words)
    np.testing.assert_array_equal(new.chances(found.tilts)[:n], old.chances(found.tilts))
    np.testing.assert_array_equal(found.transform(TEXTS[:5], model=E), found.transform(TEXTS[:5]))


def test_a_model_of_another_dimension_and_a_word_without_a_vector_are_refused(found):
    with pytest.raises(InputError, match="the model has 3 dimensions and the topics 12; give the model"):
        found.transform(["x"], model=Embeddings(("x",), np.ones((1, 3), dtype=np.float32)))
    with pytest.raises(InputError, match="'banknew0' is not among the topics' words; give a model"):
        found.chance_of("banknew0")


def test_two_topics_can_be_made_one_and_the_others_stay(found):
    merged = found.merge(3, 1)
    assert len(merged) == 3
    np.testing.assert_array_equal(merged.tilts[[0, 2]], found.tilts[[0, 2]])
    np.testing.assert_allclose(merged.proportions[:, 1], found.proportions[:, [1, 3]].sum(axis=1), rtol=1e-6)
    assert merged.sizes.sum() == pytest.approx(found.sizes.sum())
    order = planted_order(found)
    both = {word.rstrip("0123456789") for word in merged.top_words(2 * WORDS)[1]}
    assert both == {order[1], order[3]}
    assert merged.labels[1] == ", ".join(merged.top_words(3)[1])
    for wrong, sentence in (
        ((0, 4), "there is no topic 4"),
        ((2, 2), "topic 2 was to be merged with itself"),
    ):
        with pytest.raises(InputError, match=sentence):
            found.merge(*wrong)


def test_seed_words_make_the_first_topics_and_name_them():
    found = find(seed_words={"finance": ["bank1", "bank2"], "ocean": ["sea0", "unheard"]})
    assert found.labels[:2] == ("finance", "ocean")
    assert planted_order(found)[:2] == ["bank", "sea"]
    assert sorted(planted_order(found)) == sorted(NAMES)


@pytest.mark.parametrize("seed", range(4))
def test_a_seeded_topic_is_about_its_words_wherever_the_others_begin(seed: int):
    found = find(seed_words={"ocean": ["sea3"]}, seed=seed)
    assert planted_order(found)[0] == "sea"
    assert found.chance_of("sea3").argmax() == 0


def test_seed_words_that_cannot_be_met_are_refused():
    with pytest.raises(
        InputError, match=r"none of the seed words of 'x' \(un, heard\) are in enough documents"
    ):
        find(seed_words={"x": ["un", "heard"]})
    with pytest.raises(InputError, match="more topics than were asked for, 2 instead of 1"):
        find(1, seed_words={"a": ["bank1"], "b": ["sea1"]})


def test_the_number_of_topics_can_be_found():
    texts = planted_texts(documents=300)
    assert 4 <= len(find("auto", texts)) <= 10


def test_of_numbers_that_are_as_good_the_smallest_is_taken():
    same = {n: np.array([-3.0, -3.2, -3.1]) for n in (20, 5, 10)}
    assert smallest_within_error(same) == 5
    assert smallest_within_error({**same, 50: np.array([-1.0, -1.1, -1.0])}) == 50


def test_numbers_of_topics_are_compared_document_by_document():
    """Documents differ far more among themselves than numbers do; but one number is better at every one."""
    hard = np.random.default_rng(0).normal(-8.0, 2.0, size=50)
    better = 0.1 + 0.01 * np.random.default_rng(1).standard_normal(50)
    assert smallest_within_error({5: hard, 20: hard + better}) == 20


def test_sizes_are_shares_of_all_words_and_topics_come_by_size(found):
    words = (found.proportions * found.lengths[:, None]).sum(axis=0)
    np.testing.assert_allclose(found.sizes, words / found.lengths.sum(), rtol=1e-5)
    assert (np.diff(found.sizes) <= 0).all()
    seeded = find(seed_words={"finance": ["bank1"]})
    np.testing.assert_allclose(np.sort(seeded.sizes), np.sort(found.sizes), atol=0.02)


@pytest.mark.parametrize("seed", range(1, 8))
def test_another_seed_finds_the_same_topics(seed: int):
    assert sorted(planted_order(find(seed=seed))) == sorted(NAMES)


def test_many_dates_are_put_together_and_many_other_values_shortened(found):
    days = [f"{1900 + i % 90}-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(len(found.names))]
    sizes = sizes_over(replace(found, fields={"day": tuple(days)}), "day")
    assert len(set(days)) > 100 >= len(sizes.values)
    assert set(sizes.values) <= {str(year) for year in range(1900, 1990)}
    names = tuple(f"n{i}" for i in range(len(found.names)))
    page = as_html(replace(found, fields={"name": names}), describe_topics(found))
    assert f"{len(names) - 100:,} more are in the table of sizes" in page
    assert page.count('<tr role="row"><th scope="row"') < 250


def test_sizes_over_a_field_are_means_with_intervals(found):
    sizes = sizes_over(found, "year")
    assert sizes.values == ("1990", "1991", "1992")
    assert sizes.documents == (40, 40, 40)
    for v in range(3):
        own = found.proportions[v::3].astype(float)
        np.testing.assert_allclose(sizes.means[v], own.mean(axis=0))
        assert (sizes.low[v] <= sizes.means[v]).all()
        assert (sizes.means[v] <= sizes.high[v]).all()
    with pytest.raises(InputError, match=r"the topics have no field 'month' \(they have: year\)"):
        sizes_over(found, "month")


def test_documents_without_a_value_are_left_out_of_sizes_and_counted(found):
    years = ("10", None, "9", *found.fields["year"][3:])
    sizes = sizes_over(replace(found, fields={"year": years}), "year")
    assert sizes.missing == 1
    assert sizes.values[:2] == ("9", "10")
    assert np.isnan(sizes.low[0]).all()


def test_topics_join_until_one_is_left(found):
    joined = hierarchy(found)
    assert len(joined) == 3
    assert sorted(number for step in joined for number in step["joined"]) == list(range(6))
    assert [step["at"] for step in joined] == sorted((step["at"] for step in joined), reverse=True)
    assert hierarchy(find(1)) == []


def test_documents_that_stand_for_a_topic_are_about_it(found):
    for k, stand in enumerate(representatives(found)):
        assert len(stand) == 3
        for document in stand:
            i = found.names.index(document["name"])
            assert found.proportions[i].argmax() == k


@pytest.fixture(scope="module")
def folder(found, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("topics") / "out"
    found.save(path)
    return path


def test_what_is_written_at_once_is_what_is_saved_later(tmp_path: Path):
    find(output=tmp_path / "once").save(tmp_path / "later")
    assert contents(tmp_path / "later") == contents(tmp_path / "once")


def test_saved_and_loaded_topics_are_the_same(found, folder: Path, tmp_path: Path):
    again = psdvec.load(folder)
    assert again.labels == found.labels
    assert again.fields == found.fields
    assert again.names == found.names
    assert again.top_words() == found.top_words()
    assert again.bounds == found.bounds
    np.testing.assert_array_equal(again.tilts, found.tilts)
    np.testing.assert_array_equal(again.proportions, found.proportions)
    np.testing.assert_array_equal(again.transform(TEXTS[:3]), found.transform(TEXTS[:3]))
    again.save(tmp_path / "again")
    assert contents(tmp_path / "again") == contents(folder)
    verify_artefact(open_artefact(folder))
    assert repr(again) == "Topics(4 topics, 120 documents, 40 words)"


def test_tables_say_what_the_arrays_say(found, folder: Path):
    described = json.loads((folder / "topics.json").read_text())
    assert [one["words"] for one in described] == found.top_words()
    rows = list(csv.reader((folder / "proportions.csv").read_text(encoding="utf-8").splitlines()))
    assert rows[0] == ["document", "year", "topic 0", "topic 1", "topic 2", "topic 3"]
    assert rows[5][:2] == ["d4", "1991"]
    np.testing.assert_allclose(
        [[float(cell) for cell in row[2:]] for row in rows[1:]], found.proportions, atol=6e-5
    )
    np.testing.assert_array_equal(np.load(folder / "proportions.npy"), found.proportions)
    sizes = list(csv.reader((folder / "sizes-year.csv").read_text(encoding="utf-8").splitlines()))
    assert len(sizes) == 1 + 3 * 4
    assert len(json.loads((folder / "hierarchy.json").read_text())) == 3


def test_fields_of_any_name_have_a_table_each(found, tmp_path: Path):
    year = found.fields["year"]
    names = ("année", "a/b", "a.b", "a b", "../up", "x" * 300)
    replace(found, fields=dict.fromkeys(names, year)).save(tmp_path / "out")
    assert len(list((tmp_path / "out").glob("sizes-*.csv"))) == len(names)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
    assert set(psdvec.load(tmp_path / "out").fields) == set(names)


def test_halves_of_characters_in_names_are_replaced_and_not_fatal(tmp_path: Path):
    half = "\ud800"
    records = [
        {"text": f"{text} {half}", half: f"a{half}", "id": f"{half}{i}"} for i, text in enumerate(TEXTS)
    ]
    found = find(texts=records, by=half, seed_words={half: ["sea1"]}, output=tmp_path / "out")
    assert found.names[3] == "?3"
    assert found.fields["?"][0] == "a?"
    assert found.labels[0] == "?"
    assert psdvec.load(tmp_path / "out").names == found.names


def test_nothing_is_written_over_unless_it_is_asked(found, folder: Path):
    with pytest.raises(InputError, match="exists"):
        found.save(folder)
    found.save(folder, overwrite=True)
    assert len(psdvec.load(folder)) == 4


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hold", -1.0), ("hold", None), ("hold", True), ("prior", [0.0, 0.5]), ("prior", [-1e308, 0.5]),
        ("prior", [0.1]), ("labels", ["a"]), ("labels", [1, 2, 3, 4]), ("tokenizer", "spacy"), ("tokenizer", 3),
        ("bounds", ["x"]), ("fields", ["month"]), ("fields", 7), ("topics", 5), ("documents", None), ("dim", 2),
    ],
)  # fmt: skip
def test_a_folder_that_says_what_cannot_be_is_refused(found, tmp_path: Path, name: str, value):
    found.save(tmp_path / "out")
    meta = json.loads((tmp_path / "out" / META).read_text())
    meta["parameters"][name] = value
    meta.pop("checksum")
    (tmp_path / "out" / META).write_text(json.dumps(seal(meta)))
    with pytest.raises(StoreError, match=r"out' is damaged .*; make it again"):
        read_topics(tmp_path / "out")


@pytest.mark.parametrize("name", ["vectors", "tilts", "expected", "shares", "lengths"])
def test_numbers_of_another_byte_order_are_refused_though_all_checksums_are_right(
    found, tmp_path: Path, name: str
):
    found.save(tmp_path / "out")
    array = np.load(tmp_path / "out" / f"{name}.npy")
    replace_array(tmp_path / "out", name, array.astype(array.dtype.newbyteorder(">")))
    with pytest.raises(StoreError, match="holds numbers of type >"):
        read_topics(tmp_path / "out")


@pytest.mark.parametrize(
    "name", ["vectors", "tilts", "expected", "proportions", "shares", "weights", "coherence", "lengths"]
)
@pytest.mark.parametrize("value", [np.inf, -1e30, 1e30])
def test_a_folder_whose_numbers_cannot_be_is_refused(found, tmp_path: Path, name: str, value: float):
    damaged = {"vectors": "space", "shares": "space", "weights": "space"}.get(name, name)
    whole = getattr(found, damaged)
    array = (getattr(whole, name) if damaged == "space" else whole).copy()
    array.flat[0] = value
    changed = replace(whole, **{name: array}) if damaged == "space" else array
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("psdvec.topic_model.page.as_html", lambda *_: "")
        patch.setattr("psdvec.topic_model.page.describe_topics", lambda *_: [])
        patch.setattr("psdvec.topic_model.page.hierarchy", lambda *_: [])
        patch.setattr("psdvec.topic_model.page._size_rows", lambda *_: iter(()))
        replace(found, **{damaged: changed}).save(tmp_path / "out")
    with pytest.raises(StoreError, match=f"its {name} hold a value that cannot be"):
        read_topics(tmp_path / "out")


def test_numbers_of_topics_that_make_no_sense_are_refused():
    with pytest.raises(InputError, match="topics is 0; give 1 or more"):
        find(0)
    with pytest.raises(InputError, match="min_documents is -1; give 1 or more"):
        find(2, min_documents=-1)


def test_a_name_leaves_out_what_tells_little_and_topic_words_stay_as_they_are():
    words = ("q", "the", "m4", "god", "often", "faith", "bible")
    weights = np.array([1, 1, 1, 1, 0.4, 1, 1], float)
    shares = np.full(7, 1 / 7)
    space = Space(words, np.eye(7, dtype=np.float32), shares, weights, 7)
    assert label_of(space, np.arange(7)) == "god, faith, bible"
    assert label_of(space, np.arange(5)) == "god, q, the"  # where nothing better is left


def test_lines_of_documents_are_kept_and_shown(tmp_path: Path):
    e = Embeddings(("cat", "dog", "loan", "bank"), np.float32([[1, 0.1], [1, 0], [0, 1], [0.1, 1]]))
    records = [
        {"text": text, "title": f"<{i}> title"}
        for i, text in enumerate(["cat dog " * 9, "loan bank " * 9] * 3)
    ]
    found = topics(e, records, 2, min_documents=1, output=tmp_path / "topics", quiet=True)
    assert found.lines[0] == "<0> title"
    assert read_topics(tmp_path / "topics").lines == found.lines
    assert "&lt;0&gt; title" in (tmp_path / "topics" / "topics.html").read_text()


def test_tables_have_a_row_for_each_topic_document_and_value(found):
    columns = columns_of_topics(found)
    assert list(columns) == ["topic", "label", "words", "share", "documents", "coherence", "example"]
    assert {len(values) for values in columns.values()} == {len(found)}
    assert [words.split(", ")[:3] for words in columns["words"]] == [words[:3] for words in found.top_words()]
    assert sum(columns["documents"]) == len(TEXTS)
    own = columns_of_documents(found)
    assert list(own) == ["id", "topic", "label", "share", "title", "year"]
    assert own["id"] == found.names
    for i, k in enumerate(own["topic"]):
        assert own["share"][i] == found.proportions[i, k] == found.proportions[i].max()
    over = columns_of_sizes(found, "year")
    assert {len(values) for values in over.values()} == {3 * len(found)}
    sizes = sizes_over(found, "year")
    for value, k, mean in zip(over["value"], over["topic"], over["mean"], strict=True):
        assert mean == sizes.means[sizes.values.index(value), k]


def test_a_document_without_a_topic_has_none_and_a_field_of_any_name_is_kept():
    found = find(texts=[{"text": text, "label": "x"} for text in [*TEXTS, "nothing known"]], by="label")
    assert found.main[-1] == -1
    own = columns_of_documents(found)
    assert (own["topic"][-1], own["label"][-1], own["share"][-1]) == (None, None, 0)
    assert set(own["field label"]) == {"x"}


def test_data_frames_hold_the_tables(found):
    pytest.importorskip("pandas")
    frame = found.to_frame()
    assert frame.index.name == "topic"
    np.testing.assert_allclose(frame["share"], found.sizes)
    documents = found.to_frame(documents=True)
    assert list(documents.index) == list(found.names)
    assert documents["topic"].tolist() == found.main.tolist()
    assert len(found.to_frame(by="year")) == 3 * len(found)
    with pytest.raises(InputError, match="either of documents or by a field"):
        found.to_frame(documents=True, by="year")


def labels_of(axes) -> list[str]:
    return [text.get_text() for text in axes.get_yticklabels()]


def test_a_figure_has_a_bar_for_each_topic_with_its_words(found):
    pytest.importorskip("matplotlib")
    axes = found.plot().axes[0]
    order = np.argsort(-found.sizes, kind="stable")
    np.testing.assert_allclose([bar.get_width() for bar in axes.patches], 100 * found.sizes[order])
    for k, name in zip(order, labels_of(axes), strict=True):
        assert name.startswith(found.labels[k])
        assert set(name.split(", ")) <= set(found.top_words()[k])
    assert len(found.plot(topn=2).axes[0].patches) == 2
    assert labels_of(found.plot(3).axes[0])[0].startswith(found.labels[3])


def test_a_figure_over_times_has_a_line_with_a_band_for_each_topic(found):
    pytest.importorskip("matplotlib")
    axes, sizes = found.plot([1, 0], by="year").axes[0], sizes_over(found, "year")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [found.labels[1], found.labels[0]]
    np.testing.assert_allclose(axes.lines[0].get_ydata(), 100 * sizes.means[:, 1])
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), [1990, 1991, 1992])
    assert len(axes.collections) == 2  # bands
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1990", "1991", "1992"]


def test_a_figure_over_other_values_has_dots_with_intervals_side_by_side(found):
    pytest.importorskip("matplotlib")
    parties = replace(found, fields={"party": tuple(["$a$", "b"][i % 2] for i in range(len(TEXTS)))})
    figure = parties.plot(by="party", topn=3)
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["$a$ (60)", "b (60)"]
    assert len(labels_of(axes)) == 3
    assert [len(line.get_xdata()) for line in axes.lines if line.get_marker() == "o"] == [3, 3]
    assert not any(text.get_parse_math() for text in axes.get_legend().get_texts())  # dollars are dollars


@pytest.mark.parametrize("by", [None, "year", "party", "gap"])
def test_names_in_a_figure_are_not_cut_and_do_not_cover_each_other(found, by):
    pytest.importorskip("matplotlib")
    long = tuple(f"{'wonderful' * 3}, {'things' * 4}, {k}" for k in range(4))
    fields = {**found.fields, "party": tuple(f"party of {'people' * 9} {i % 7}" for i in range(len(TEXTS)))}
    fields["gap"] = tuple(f"{(1950, 2010)[i % 2] + 2 * (i % 5)}" for i in range(len(TEXTS)))
    figure = replace(found, labels=long, fields=fields).plot(by=by)
    figure.draw_without_rendering()
    axes, whole = figure.axes[0], figure.bbox
    (left, right), (foot, top) = axes.get_xlim(), sorted(axes.get_ylim())  # beyond, ticks are not drawn
    names = [text for text in axes.get_xticklabels() if left <= text.get_position()[0] <= right]
    names += [text for text in axes.get_yticklabels() if foot <= text.get_position()[1] <= top]
    names += [axes.xaxis.label, axes.yaxis.label]
    legend = axes.get_legend().get_texts() if axes.get_legend() else []
    boxes = [
        text.get_window_extent()
        for text in [*names, *axes.texts, *legend]
        if text.get_text() and text.get_visible()
    ]
    for place, box in enumerate(boxes):
        assert box.x0 >= whole.x0 - 1
        assert box.x1 <= whole.x1 + 1
        assert not box.padded(-1).count_overlaps(boxes[:place])


def test_figures_of_topics_that_are_not_there_are_refused(found):
    with pytest.raises(InputError, match="there is no topic 9; topics are numbered from 0 to 3"):
        found.plot([0, 9])
    with pytest.raises(InputError, match=r"have no field 'party'"):
        found.plot(by="party")


def test_times_are_numbers_months_or_days_in_their_order():
    assert list(times_of(["2020-11", "2020-12", "2021-01"])) == [24250, 24251, 24252]
    days = list(times_of(["2020-11-30", "2020-12-01", "2021-01-01"]))
    assert days == sorted(days)
    for values in (["a", "1"], ["2020", "2020-11"], ["2020-11", "2020-11-01"], ["07", "7"], ["1"], []):
        assert times_of(values) == {}


def test_parts_of_documents_show_the_words_of_their_topic_and_are_kept(tmp_path: Path):
    e = Embeddings(("cat", "dog", "loan", "bank"), np.float32([[1, 0.1], [1, 0], [0, 1], [0.1, 1]]))
    texts = ["Dear <Sir>, " * 40 + f"{words} " * 9 for words in ("the Cat & a dog", "a loan of the bank")] * 3
    found = topics(e, texts, 2, min_documents=1, output=tmp_path / "topics", quiet=True)
    for stand in describe_topics(found):
        for document in stand["documents"]:
            marked = {piece.lower() for piece in document["snippet"].split("**")[1::2]}
            assert marked == set(stand["words"][:2])
    assert read_topics(tmp_path / "topics").snippets == found.snippets
    page = (tmp_path / "topics" / "topics.html").read_text()
    assert "the <b>Cat</b> &amp; a <b>dog</b>" in page
    assert topics(e, iter(texts), 2, min_documents=1, quiet=True).snippets == {}
    assert topics(e, [text.split() for text in texts], 2, min_documents=1, quiet=True).snippets == {}


def test_snippets_that_are_none_are_refused(found, tmp_path: Path):
    for number, wrong in enumerate(({"999": "x"}, {"1": 3}, {"a": "x"}, ["x"])):
        place = tmp_path / str(number)
        found.save(place)
        assert "snippets.json" in open_artefact(place, kind="topics", version=1).files
        (place / "snippets.json").write_text(json.dumps(wrong))
        put_right(place, place / "snippets.json")
        with pytest.raises(StoreError, match="is damaged"):
            read_topics(place)
