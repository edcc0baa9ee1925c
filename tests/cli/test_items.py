"""Baskets of items on the command line: from a table or lines to a model, its neighbours, and new items."""

from __future__ import annotations

import json

import numpy as np
import pytest

import psdvec


@pytest.fixture
def orders(tmp_path):
    """A table of which the rows of an order do not stand together, and the same orders as numbers in JSON lines."""
    random = np.random.default_rng(0)
    rows = [(order, int(item)) for order in range(300) for item in random.choice(12, 4, replace=False)]
    rows = [rows[i] for i in random.permutation(len(rows))]
    (tmp_path / "orders.csv").write_text("order_id,sku\n" + "".join(f"{o},{i}\n" for o, i in rows))
    (tmp_path / "orders.jsonl").write_text(
        "".join(json.dumps({"order_id": o, "sku": i}) + "\n" for o, i in rows)
    )
    return tmp_path


COLUMNS = ("--items", "--basket", "order_id", "--item", "sku")


@pytest.mark.parametrize(("name", "key"), [("orders.csv", "7"), ("orders.jsonl", 7)])
def test_a_table_of_orders_becomes_a_model_of_items(run, orders, name, key):
    code, out, _ = run("train", orders / name, "-o", orders / "model", *COLUMNS, "--dim", 4)
    assert code == 0
    assert "12 vectors of 4 dimensions" in out
    assert psdvec.load(orders / "model")[key].shape == (4,)
    code, out, _ = run("similar", orders / "model", "7", "--json")
    assert code == 0
    assert json.loads(out)[0]["word"] == "7"
    assert len(json.loads(out)[0]["neighbours"]) == 10
    _, out, _ = run("info", orders / "model")
    assert "item vectors, and what places new items" in out
    assert "12: 12 fitted together" in out


def test_new_items_are_learned_from_a_file(run, orders):
    run("train", orders / "orders.jsonl", "-o", orders / "model", *COLUMNS, "--dim", 4)
    (orders / "new.jsonl").write_text(
        "".join(json.dumps({"order_id": 1, "sku": sku}) + "\n" for sku in (99, 1, 2, 3, 4, 5))
    )
    code, out, _ = run("extend", orders / "model", orders / "new.jsonl", "-o", orders / "larger", *COLUMNS)
    assert code == 0
    assert "1 items learned" in out
    assert 99 in psdvec.load(orders / "larger")


def test_counts_of_baskets_speak_of_items(run, orders):
    (orders / "lines.txt").write_text("red wine, cheese\ncheese, bread\n")
    code, out, _ = run("count", orders / "lines.txt", "-o", orders / "counts", "--items", "--dry-run")
    assert code == 0
    assert "count all items that occur at least 5 times, and pairs with weighting basket, gaps keep" in out
    code, out, _ = run("count", orders / "lines.txt", "-o", orders / "counts", "--items", "--min-count", 1)
    assert code == 0
    assert "4 items read in 2 baskets" in out
    assert "3 items and 7 pairs" in out
    _, out, _ = run("info", orders / "counts")
    assert "counts of items and of pairs of items" in out
    assert "4 items in 2 baskets" in out


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--items", "--basket", "order_id"), "name that of the items too: --item"),
        (
            ("--items", "--tokenizer", "paper"),
            "items are no text, which could be cut; leave out the tokenizer",
        ),
        (("--items", "--column", "sku"), "leave column out"),
        (("--items", "--stop-words", "en"), "leave out the stop words"),
        (("--items", "--basket", "order_id", "--item", "sku", "--where", "sku=none"), "nothing has sku=none"),
        (("--basket", "order_id"), "for baskets, give --items"),
        (("--items", "--weighting", "flat"), "baskets have no distances"),
    ],
)
def test_options_that_do_not_fit_are_refused(run, orders, options, sentence):
    code, _, err = run("count", orders / "orders.csv", "-o", orders / "counts", *options)
    assert code == 1
    assert sentence in err


def test_baskets_come_through_a_pipe(run, tmp_path):
    code, out, _ = run(
        "count", "-", "-o", tmp_path / "counts", "--items", "--min-count", 1, stdin="1 2 3\n2 3\n"
    )
    assert code == 0
    assert "5 items read in 2 baskets" in out
