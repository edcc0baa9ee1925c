"""Which words changed: a planted change is found, chance is not, and whatever cannot be compared is refused."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import psdvec
from psdvec.errors import InputError
from tests.helpers import contents

WORDS = [f"w{number}" for number in range(40)]


def documents(number: int, *, seed: int, changed: bool = False) -> list[str]:
    """Texts of two subjects, words 0 to 19 and 20 to 39; ``x`` is of the first or, ``changed``, of the second."""
    rng = np.random.default_rng(seed)
    texts = []
    for _ in range(number):
        subject = int(rng.integers(2))
        words = [WORDS[i] for i in rng.integers(20 * subject, 20 * subject + 20, 30)]
        if subject == int(changed):
            words[5:25:6] = ["x"] * len(words[5:25:6])
        texts.append(" ".join(words))
    return texts


OLD, NEW = documents(200, seed=1), documents(200, seed=2, changed=True)


@pytest.fixture(scope="module")
def model() -> psdvec.Model:
    return psdvec.train([*OLD, *NEW], dim=10, quiet=True)


@pytest.fixture(scope="module")
def found(model) -> psdvec.Change:
    return psdvec.change(model, slices={"old": OLD, "new": NEW}, quiet=True)


def test_the_word_that_changed_comes_first_and_no_other_is_called_so(found):
    assert found.words[0] == "x"
    assert found.low[0] > 0.2
    assert found.q[0] < 1e-3
    assert (found.q[1:] > 0.01).all()
    assert (found.low < found.distance).all()
    assert (found.distance < found.high).all()


def test_it_lies_near_other_words_in_each_slice(found):
    near = found.neighbours("x", topn=5)
    assert {name: {int(word[1:]) // 20 for word, _ in words} for name, words in near.items()} == {
        "old": {0},
        "new": {1},
    }
    with pytest.raises(InputError, match="'nonsense' is not among the 41 words"):
        found.neighbours("nonsense")


def test_halves_of_one_slice_do_not_differ(model):
    same = psdvec.change(model, slices={"a": OLD[::2], "b": OLD[1::2]}, quiet=True)
    assert (same.p < 0.05).mean() < 0.2
    assert (same.low <= 0).mean() > 0.9


def test_the_folder_is_the_same_for_any_number_of_threads(model, tmp_path):
    records = [{"text": text, "period": "old"} for text in OLD] + [
        {"text": text, "period": "new"} for text in NEW
    ]
    for workers in (1, 3):
        psdvec.change(
            model, records, by="period", workers=workers, output=tmp_path / str(workers), quiet=True
        )
    one, three = (contents(tmp_path / str(workers)) for workers in (1, 3))
    assert one["change.csv"] == three["change.csv"]
    assert one["change.html"] == three["change.html"]


def test_the_table_has_a_row_for_each_word(model, tmp_path, found):
    psdvec.change(model, slices={"old": OLD, "new": NEW}, output=tmp_path / "report", quiet=True)
    rows = list(csv.reader((tmp_path / "report" / "change.csv").read_text(encoding="utf-8").splitlines()))
    assert rows[0] == [
        "word", "occurrences old", "occurrences new", "distance", "low", "high", "p", "q", "cosine"
    ]  # fmt: skip
    assert [row[0] for row in rows[1:]] == list(found.words)
    assert int(rows[1][1]) == sum(text.split().count("x") for text in OLD)


def test_words_of_one_slice_are_listed_apart(model):
    only = [f"{text} x x" for text in OLD]
    found = psdvec.change(
        model, slices={"with": only, "without": [text.replace("x", "") for text in NEW]}, quiet=True
    )
    assert found.only["with"][0][0] == "x"
    assert "x" not in found.words


def test_several_slices_are_steps_in_order(model):
    found = psdvec.change(
        model, slices={"1": OLD, "2": documents(200, seed=5), "3": NEW}, min_count=5, quiet=True
    )
    assert found.words[0] == "x"
    assert found.vectors.shape == (3, len(found), 10)


def test_dates_are_put_into_years(model, caplog):
    caplog.set_level("INFO", logger="psdvec")
    dated = [
        {"text": text, "date": f"{year}-{month:02d}-{day:02d}"}
        for year, texts in ((1990, OLD), (1991, NEW))
        for text, month, day in zip(texts, np.arange(200) % 12 + 1, np.arange(200) % 28 + 1, strict=True)
    ]
    found = psdvec.change(model, dated, by="date")
    assert found.slices == ("1990", "1991")
    assert "slices are by year" in caplog.text
    assert found.words[0] == "x"


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ({}, "nothing says which document is of which slice"),
        ({"slices": {"a": OLD}}, "there is only 1 slice"),
        ({"slices": {"a": OLD, "b": NEW[:10]}}, "the slice 'b' has 10 documents, and a test takes 16 or more"),
        ({"slices": {"a": OLD, "b": NEW}, "by": "x"}, "give either slices, or documents and by"),
        ({"slices": {"a": ["zz"] * 20, "b": ["zz"] * 20}}, "no document has a word with a vector"),
        ({"slices": {"a": OLD[:20], "b": NEW[:20]}, "min_count": 9999}, "occurs 9999 times or more in every slice"),
        ({"slices": {"a": OLD, "b": NEW}, "permutations": 5}, "permutations=5 does not do; give 20 to 100,000"),
        ({"documents": [{"text": text, "n": f"v{n}"} for n, text in enumerate(OLD)], "by": "n"}, "200 values"),
        ({"documents": [{"text": text, "n": 20_000_000 + n} for n, text in enumerate(OLD)], "by": "n"}, "and no dates"),
        ({"documents": [{"text": text, "n": 1} for text in OLD], "by": "n"}, "has only one value, '1'"),
        ({"documents": [{"text": text} for text in OLD], "by": "n"}, "no document has a field 'n'"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused_in_one_sentence(model, call, sentence):
    with pytest.raises(InputError, match=sentence):
        psdvec.change(model, quiet=True, **call)


def test_the_command_writes_a_report(run, tmp_path, model):
    model.save(tmp_path / "model")
    lines = [{"text": text, "period": name} for name, texts in (("old", OLD), ("new", NEW)) for text in texts]
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "old.txt").write_text("\n".join(OLD))
    (tmp_path / "new.txt").write_text("\n".join(NEW))
    by = ("change", tmp_path / "model", tmp_path / "d.jsonl", "--by", "period", "-o", tmp_path / "report")
    code, output, errors = run(*by)
    assert code == 0, errors
    assert output.splitlines()[1].split()[0] == "x"
    assert "x" in (tmp_path / "report" / "change.html").read_text(encoding="utf-8")
    assert "a report; open change.html in it" in run("info", tmp_path / "report")[1]
    slices = ("--slice", f"old={tmp_path / 'old.txt'}", "--slice", f"new={tmp_path / 'new.txt'}")
    assert run("change", tmp_path / "model", *slices)[0] == 0
    assert run("change", tmp_path / "model", "--slice", "old")[2].startswith(
        "psdvec: --slice 'old' names no slice"
    )
    assert "exists" in run(*by)[2]


def test_an_output_that_is_there_is_refused_before_anything_is_read(model, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").touch()
    with pytest.raises(InputError, match="mine"):
        psdvec.change(model, tmp_path / "no such file", by="x", output=tmp_path / "mine", quiet=True)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]
