"""Baskets of items: what is counted, keys that come back as they went in, and the forms that baskets come in."""

from __future__ import annotations

import json
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import psdvec
from psdvec.counts import items as items_module
from psdvec.counts.count import count_pairs
from psdvec.counts.matrix import UNIT, load_counts
from psdvec.counts.vocabulary import Vocabulary, as_key, key_text, kind_of, read_key
from psdvec.errors import InputError, InputWarning
from tests.helpers import cells, contents, count_in_small_runs
from tests.reference import counting

ITEMS = st.sampled_from([3, 14, 15, 92, 65, 35, 89, 793])
BASKETS = st.lists(st.lists(ITEMS, max_size=8), min_size=1, max_size=15).filter(any)
PARTS = st.one_of(st.text(min_size=1), st.integers())
KEYS = st.one_of(PARTS, st.lists(PARTS, min_size=1, max_size=3).map(tuple))
ORDERS = [["red wine", "cheese"], ["cheese", "bread", "cheese"], ["bread"], ["red wine", "bread", "cheese"]]
TABLE = [(number, item) for number, order in enumerate(ORDERS) for item in order]
SCATTERED = [TABLE[i] for i in (0, 2, 5, 6, 1, 3, 4, 7, 8)]


def count(baskets, **options):
    return count_pairs(baskets, items=True, min_count=1, quiet=True, **options)


# What is counted


@pytest.mark.slow
@given(BASKETS, st.integers(1, 3), st.integers(1, 4), st.integers(1, 3))
def test_every_two_items_of_a_basket_are_a_pair_in_both_directions(baskets, min_count, workers, most):
    found = [len({*basket} & {item}) for basket in baskets for item in basket]
    if not found or max(sum(item in basket for basket in baskets) for item in chain(*baskets)) < min_count:
        return
    counts = count_pairs(
        baskets, items=True, min_count=min_count, max_words=most, workers=workers, quiet=True
    )
    assert cells(counts) == counting.count_baskets(baskets, counts.vocabulary.words, UNIT)
    occurrences = [sum(item in basket for basket in baskets) for item in counts.vocabulary.words]
    assert counts.vocabulary.counts.tolist() == occurrences


@pytest.mark.slow
@given(BASKETS, st.randoms(use_true_random=False), st.integers(10, 30))
def test_neither_the_order_of_baskets_and_items_nor_memory_makes_a_difference(
    tmp_path_factory, baskets, random, chunk
):
    folder = tmp_path_factory.mktemp("counts")
    count(baskets, output=folder / "one")
    shuffled = [random.choice([set, list, tuple, np.array])(basket) for basket in baskets if basket]
    random.shuffle(shuffled)
    with pytest.MonkeyPatch.context() as patch:
        count_in_small_runs(patch, chunk=chunk)
        count(shuffled, output=folder / "other", workers=2)
    assert contents(folder / "one") == contents(folder / "other")


def test_an_item_that_is_twice_in_a_basket_counts_once():
    counts = count([["bread", "cheese", "bread"]])
    assert counts.row("bread") == {"cheese": 1.0}
    assert dict(zip(counts.vocabulary, counts.vocabulary.counts.tolist(), strict=True)) == {
        "bread": 1, "cheese": 1,
    }  # fmt: skip


def test_with_a_window_baskets_are_sequences_and_count_as_sentences_do():
    sentences = [list("abcab"), list("cb")]
    ordered = count(sentences, window=2)
    assert cells(ordered) == cells(count_pairs(sentences, min_count=1, window=2))
    assert ordered.parameters["window"] == 2
    assert count([[3, 1, 3]], window=1).row(3) == {1: 1.0}


def test_counts_say_that_they_are_of_items():
    counts = count(ORDERS)
    assert counts.noun == "item"
    assert "3 items" in repr(counts)
    assert counts.parameters["weighting"] == "basket"
    assert "window" not in counts.parameters


# Keys


@given(KEYS)
def test_a_key_is_read_back_from_its_text(key):
    assert read_key(key_text(key), kind_of(key)) == key


@given(st.lists(KEYS, min_size=2, unique=True))
def test_keys_of_one_kind_that_differ_have_different_texts(keys):
    for kind in ("str", "int", "tuple"):
        texts = [key_text(key) for key in keys if kind_of(key) == kind]
        assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(
    ("kind", "text"), [("int", "01"), ("int", "x"), ("tuple", "3"), ("tuple", "[1, 2]"), ("x", "3")]
)
def test_a_text_that_no_key_has_is_refused(kind, text):
    with pytest.raises(InputError, match="is not the text of a key"):
        read_key(text, kind)


@pytest.mark.parametrize("key", [1.5, True, None, "", (), (1, None), b"a", float("nan")])
def test_what_is_no_key_is_refused(key):
    with pytest.raises(InputError, match="keys are strings, whole numbers or tuples"):
        as_key(key)


@pytest.mark.parametrize(
    "keys",
    [(4321, 7, -12), ("red wine", "007", "7"), (("user", 1), ("item", 1), ("item", "1"))],
    ids=["int", "str", "tuple"],
)
def test_keys_come_back_as_they_went_in_also_from_disk(keys, tmp_path):
    baskets = [[keys[0], keys[1]], [keys[1], keys[2]], [keys[0], keys[2], keys[1]]]
    counts = count(baskets, output=tmp_path / "counts")
    assert set(counts.vocabulary.words) == set(load_counts(tmp_path / "counts").vocabulary.words) == set(keys)
    model = psdvec.train(baskets, items=True, min_count=1, dim=2, output=tmp_path / "model", quiet=True)
    loaded = psdvec.load(tmp_path / "model")
    assert loaded == model
    assert loaded.words == model.words
    for key in keys:
        assert key in loaded
        assert loaded[key].shape == (2,)
        assert {other for other, _ in loaded.most_similar(key)} == set(keys) - {key}
        assert loaded.most_similar([(key, 2.0)]) == loaded.most_similar([key]) == loaded.most_similar(key)
    assert loaded[list(keys)].shape == (3, 2)
    assert loaded.similarity(keys[0], keys[1]) == loaded.similarity(keys[1], keys[0])
    loaded.select(keys[:2]).save(tmp_path / "some")
    assert psdvec.load(tmp_path / "some").words == keys[:2]


def test_numbers_of_numpy_are_keys_like_those_of_python():
    counts = count([np.array([5, 6]), [np.int32(5), 7]])
    assert set(counts.vocabulary.words) == {5, 6, 7}
    assert {type(key) for key in counts.vocabulary.words} == {int}
    model = psdvec.train([np.array([5, 6, 7])] * 3, items=True, min_count=1, dim=1, quiet=True)
    assert (model[np.int64(5)] == model[5]).all()


def test_a_number_and_the_string_that_looks_like_it_are_never_the_same():
    with pytest.raises(InputError, match="the keys are of several kinds"):
        count([[1, "1"]])
    with pytest.raises(InputError, match="the keys are of several kinds"):
        Vocabulary.from_counts({1: 2, "1": 3})
    numbers = psdvec.train([[1, 2, 3]] * 3, items=True, min_count=1, dim=1, quiet=True)
    assert "1" not in numbers
    assert numbers.look_up("1") == 1
    with pytest.raises(KeyError, match=r"there is no vector for '1'; did you mean 1\?"):
        numbers["1"]
    with pytest.raises(KeyError, match="there is no vector for 99; the keys are of type int"):
        numbers[99]


def test_items_to_count_may_be_given_by_their_texts():
    assert set(count([[1, 2, 3]], vocabulary=["1", 2]).vocabulary.words) == {1, 2}
    with pytest.raises(InputError, match="'x' is not the text of a key"):
        count([[1, 2, 3]], vocabulary=["x"])
    with pytest.raises(InputError, match="1 was given where keys are of type str"):
        psdvec.count_pairs(["1 2"], vocabulary=[1])


def test_old_vocabularies_have_strings(tmp_path):
    psdvec.count_pairs([["7", "8"]], min_count=1, output=tmp_path / "counts")
    assert "keys" not in json.loads((tmp_path / "counts" / "meta.json").read_text())["parameters"]
    assert set(load_counts(tmp_path / "counts").vocabulary.words) == {"7", "8"}


def test_items_have_no_spelling():
    baskets = [["sku-1", "sku-2", "sku-3"]] * 5
    assert psdvec.train(baskets, items=True, dim=2, quiet=True).subwords is None
    with pytest.raises(InputError, match="items that are no strings have no spelling"):
        psdvec.train([[1, 2, 3]] * 5, items=True, dim=2, changes={"spelling": 0.5}, quiet=True)


# Forms of baskets


class Frame:
    """A table, as far as it matters here."""

    def __init__(self, **columns):
        self.columns, self._values = list(columns), columns

    def __getitem__(self, name):
        return self._values[name]


def test_a_table_gives_the_baskets_of_its_rows_wherever_they_stand():
    orders, skus = zip(*SCATTERED, strict=True)
    frame = Frame(order=list(orders), sku=list(skus), price=[1.0] * 9)
    assert cells(count(frame, basket="order", item="sku")) == cells(count(ORDERS))
    assert cells(count(Frame(skus=ORDERS), item="skus")) == cells(count(ORDERS))


def test_rows_of_a_table_that_do_not_fit_into_memory_are_grouped_on_disk(monkeypatch, tmp_path):
    monkeypatch.setattr(items_module, "_ROWS", 4)
    orders, skus = zip(*SCATTERED, strict=True)
    counts = count(
        Frame(order=list(orders), sku=list(skus)), basket="order", item="sku", output=tmp_path / "c"
    )
    assert cells(counts) == cells(count(ORDERS))
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_tables_of_arrow():
    pyarrow = pytest.importorskip("pyarrow")
    orders, skus = zip(*SCATTERED, strict=True)
    table = pyarrow.table({"order": orders, "sku": skus})
    assert cells(count(table, basket="order", item="sku")) == cells(count(ORDERS))
    assert cells(count(pyarrow.table({"skus": ORDERS}), item="skus")) == cells(count(ORDERS))


def test_frames_of_polars():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(SCATTERED, schema=["order", "sku"], orient="row")
    assert cells(count(frame, basket="order", item="sku")) == cells(count(ORDERS))
    assert cells(count(frame.group_by("order").agg("sku"), item="sku")) == cells(count(ORDERS))


def test_frames_and_groups_of_pandas():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(SCATTERED, columns=["order", "sku"])
    whole = cells(count(ORDERS))
    assert cells(count(frame, basket="order", item="sku")) == whole
    assert cells(count(frame.groupby("order")["sku"])) == whole
    assert cells(count(frame.groupby("order")["sku"].agg(list))) == whole
    with pytest.raises(InputError, match="a DataFrame was grouped"):
        count(frame.groupby("order"))


@pytest.mark.parametrize("name", ["orders.csv", "orders.tsv", "orders.jsonl", "orders.parquet"])
def test_files_give_the_same_baskets_as_lists(name, tmp_path):
    path = tmp_path / name
    if name.endswith("jsonl"):
        path.write_text("".join(json.dumps({"order": o, "sku": s}) + "\n" for o, s in SCATTERED))
    elif name.endswith("parquet"):
        pyarrow = pytest.importorskip("pyarrow")
        orders, skus = zip(*SCATTERED, strict=True)
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.table({"order": orders, "sku": skus}), path)
    else:
        mark = "\t" if name.endswith("tsv") else ","
        path.write_text("".join(f"{o}{mark}{s}{mark}x\n" for o, s in [("order", "sku"), *SCATTERED]))
    assert cells(count(path, basket="order", item="sku")) == cells(count(ORDERS))


def test_numbers_of_json_lines_are_numbers_and_those_of_csv_are_strings(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"o": 1, "i": 7}\n{"o": 1, "i": 8}\n')
    (tmp_path / "a.csv").write_text("o,i\n1,7\n1,8\n")
    (tmp_path / "b.jsonl").write_text('{"i": [7, 8]}\n{"i": [8]}\n')
    assert count(tmp_path / "a.jsonl", basket="o", item="i").row(7) == {8: 1.0}
    assert count(tmp_path / "a.csv", basket="o", item="i").row("7") == {"8": 1.0}
    assert count(tmp_path / "b.jsonl", item="i").row(7) == {8: 1.0}


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ('red wine,cheese\ncheese, bread,cheese\n\nbread\n"red wine",bread,cheese\n', {}),
        ("red wine\tcheese\ncheese\tbread\tcheese\nbread\nred wine\tbread\tcheese", {}),
        ("red wine;cheese\ncheese;bread\nbread\nred wine;bread;cheese", {"separator": ";"}),
    ],
)
def test_each_line_of_a_text_is_a_basket(text, options, tmp_path):
    (tmp_path / "orders.csv").write_text(text)
    assert cells(count(tmp_path / "orders.csv", **options)) == cells(count(ORDERS))


def test_blanks_separate_items_where_nothing_else_does(tmp_path):
    (tmp_path / "retail.dat").write_text("1 2 3\n2 3\n")
    assert count(tmp_path / "retail.dat").row("1") == {"2": 1.0, "3": 1.0}


REFUSED = {
    "a string": (lambda: count(["milk"]), "basket 0 is 'milk', not a list of items"),
    "a dictionary": (lambda: count({1: ["milk"]}), r"give the values\(\) of the dictionary"),
    "a number": (lambda: count(3), "not an iterable of baskets"),
    "nothing": (lambda: count([]), "the baskets hold no items"),
    "empty baskets": (lambda: count([[], []]), "the baskets hold no items"),
    "None among items": (lambda: count([["milk", None]]), "in basket 0, a key is None, of type NoneType"),
    "a float": (lambda: count([[1.0, 2.0]]), "a key is 1.0, of type float"),
    "a list as item": (lambda: count([[["milk"]]]), "basket 0 holds a value that cannot be a key"),
    "an empty string": (lambda: count([["milk", ""]]), "in basket 0, a key is empty"),
    "white space": (lambda: count([["milk", " tea"]]), "the baskets hold ' tea', which begins, ends or is cut"),
    "a set in order": (lambda: count([{"a", "b"}], window=2), "basket 0 is a set, which has no order"),
    "a weighting": (lambda: count(ORDERS, weighting="flat"), "baskets have no distances; give a window too"),
    "a tokenizer": (lambda: count(ORDERS, tokenizer="paper"), "items are no text; leave it out"),
    "a separator": (lambda: count(ORDERS, separator=","), "no file is read"),
    "columns without items": (lambda: count_pairs(ORDERS, basket="a", item="b"), "for baskets, give items=True"),
    "columns of lists": (lambda: count(ORDERS, item="b"), "no table is read"),
    "a column too few": (lambda: count(Frame(o=[1]), basket="o"), "name that of the items too"),
    "no column": (lambda: count(Frame(o=[1])), "which columns hold the baskets and the items is not said"),
    "a column that is not there": (lambda: count(Frame(o=[1]), item="i"), "the table has no column 'i'"),
    "a missing item": (lambda: count(Frame(o=[1], i=[None]), basket="o", item="i"), "row 0 of the table has nothing"),
    "basket weighting of text": (lambda: count_pairs(["a b"], weighting="basket"), "is for baskets of items"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_makes_no_sense_is_refused_in_one_sentence(name):
    call, sentence = REFUSED[name]
    with pytest.raises(InputError, match=sentence):
        call()


def test_a_basket_with_very_many_items_is_refused(monkeypatch):
    monkeypatch.setattr(items_module, "MOST_ITEMS", 3)
    with pytest.raises(
        InputError, match="basket 1 has 4 items, of which each two would be a pair; give a window"
    ):
        count([[1], [1, 2, 3, 4]])


@pytest.mark.parametrize(
    ("name", "text", "options", "sentence"),
    [
        ("a.csv", "o,i\n1,\n", {"basket": "o", "item": "i"}, "row 1 of '.*a.csv' has nothing in column 'i'"),
        ("a.csv", "o,i\n1,2\n", {"basket": "x", "item": "i"}, r"has no column 'x' \(it has: o, i\)"),
        ("a.csv", "o,i\n1,2\n", {"item": "i"}, "has no list of items in column 'i'"),
        ("a.csv", "o,i\n1,2\n", {"item": "i", "separator": ";"}, "a table has its own separator"),
        ("a.jsonl", '{"o": 1}\n', {}, "which columns hold the baskets and the items is not said"),
        ("a.txt", "a b\n", {"separator": "ab"}, "separator is 'ab'; give one character"),
        ("a.txt", 'a,"b\n', {}, "line 1 of '.*a.txt' cannot be cut into items"),
    ],
)
def test_files_that_hold_no_baskets_are_refused(name, text, options, sentence, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=sentence):
        count(tmp_path / name, **options)


# New items later


def test_new_items_are_placed_from_baskets_and_the_old_ones_stay():
    random = np.random.default_rng(0)
    baskets = [random.choice(12, 4, replace=False).tolist() for _ in range(200)]
    model = psdvec.train(baskets, items=True, dim=4, quiet=True)
    new = [[99, 1, 2, 3], [99, 4, 5], [99, 6, 1]]
    larger = psdvec.extend(model, new, items=True, quiet=True)
    assert larger.learned == (99,)
    assert psdvec.extend(model, new, items=True, words=["99"], quiet=True).learned == (99,)
    assert (larger.vectors[:12] == model.vectors).all()
    again = psdvec.extend(model, count(new), quiet=True)
    assert (again[99] == larger[99]).all()
    with pytest.raises(InputError, match="or, for baskets, items=True"):
        psdvec.extend(model, new)
    text = psdvec.train(["a b c d e"] * 5, min_count=1, dim=2, quiet=True)
    with pytest.raises(InputError, match="the model was not trained on baskets"):
        psdvec.extend(text, new, items=True, quiet=True)


def test_counting_that_was_interrupted_goes_on_and_gives_the_same_counts(tmp_path, monkeypatch):
    path = tmp_path / "orders.csv"
    path.write_text("o,i\n" + "".join(f"{o},{i}\n" for o, i in SCATTERED))
    monkeypatch.setattr(items_module, "_ROWS", 4)
    count(path, basket="o", item="i", output=tmp_path / "whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(items_module, "_groups", lambda batches: [][0])
        with pytest.raises(IndexError):
            count(path, basket="o", item="i", output=tmp_path / "resumed")
    assert not (tmp_path / "resumed").exists()
    count(path, basket="o", item="i", output=tmp_path / "resumed")
    assert contents(tmp_path / "resumed") == contents(tmp_path / "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["orders.csv", "resumed", "whole"]


def test_bytes_that_are_no_text_are_replaced_and_counted_or_refused(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"caf\xe9,tea\n")
    with pytest.warns(InputWarning, match="not UTF-8 replaced: 1"):
        counts = count(tmp_path / "a.txt")
    assert counts.tally.replaced_bytes == 1
    assert count(tmp_path / "a.txt", encoding="latin-1").row("café") == {"tea": 1.0}
    with pytest.raises(InputError, match="is not UTF-8; name its encoding"):
        count(psdvec.read_corpus(tmp_path / "a.txt", errors="strict"))
