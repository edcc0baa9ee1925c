"""Which words changed: a planted change is found, chance is not, and whatever cannot be compared is refused."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import psdvec
from psdvec.errors import InputError, PSDVecError
from psdvec.slices.blocks import context_features
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
        "word", "occurrences old", "occurrences new", "distance", "low", "high", "p", "q", "cosine",
        "cosine low", "cosine high",
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


def test_several_slices_are_compared_all_with_one_another(model):
    found = psdvec.change(
        model, slices={"1": OLD, "2": documents(200, seed=5), "3": NEW}, min_count=5, quiet=True
    )
    assert found.words[0] == "x"
    assert found.vectors.shape == (3, len(found), 10)


def test_a_path_is_the_distance_from_the_first_slice(model):
    found = psdvec.change(
        model, slices={"1": OLD, "2": documents(200, seed=5), "3": NEW}, min_count=5, quiet=True
    )
    x = found.ids["x"]
    assert (found.path[:, 0] == 0).all()
    assert found.path_low[x, 2] > 0.2 > found.path_high[x, 1] - 0.2
    assert abs(found.path[x, 1]) < 0.1
    two = psdvec.change(model, slices={"1": OLD, "3": NEW}, quiet=True)
    np.testing.assert_allclose(two.path[:, 1], two.distance)


def test_contexts_say_what_pulls_a_word_to_each_slice(found):
    pulls = found.contexts("x", topn=10)
    assert {
        name: {int(one.word[1:]) // 20 for one in own if one.word != "x"} for name, own in pulls.items()
    } == {
        "old": {0},
        "new": {1},
    }
    for name, own in pulls.items():
        side = found.slices.index(name)
        assert all(one.counts[side] > one.counts[1 - side] for one in own)
    for word in found.words:
        every = found.contexts(word, topn=1000)
        assert sum(one.share for own in every.values() for one in own) == pytest.approx(1)


def test_passages_are_of_the_slice_and_hold_the_word_with_a_context(found):
    passages = found.passages("x", topn=2, most=2)
    for name, texts in (("old", OLD), ("new", NEW)):
        contexts = {one.word for one in found.contexts("x", topn=2)[name]}
        assert passages[name]
        for one in passages[name]:
            line = one.left + one.word + one.right
            assert one.word == "x"
            assert any(line in text for text in texts)
            assert contexts & set(line.split())


def test_two_other_slices_can_be_asked_for(model):
    three = psdvec.change(model, slices={"1": OLD, "2": OLD[::-1], "3": NEW}, quiet=True)
    assert list(three.contexts("x", between=("2", "3"))) == ["2", "3"]
    with pytest.raises(InputError, match="no slice '4'; choose two of 1, 2, 3"):
        three.contexts("x", between=("1", "4"))
    with pytest.raises(InputError, match="'1' is given twice"):
        three.passages("x", between=("1", "1"))


def test_documents_of_a_unit_are_dealt_together(model):
    """Every text ten times: by themselves they seem ten times as much evidence; as units, they do not."""
    rng = np.random.default_rng(0)
    texts = [OLD[i] for i in rng.permutation(len(OLD))]
    tenfold = [
        {"text": text, "half": str(k % 2), "speaker": str(k)}
        for k, text in enumerate(texts)
        for _ in range(10)
    ]
    apart = psdvec.change(model, tenfold, by="half", quiet=True)
    together = psdvec.change(model, tenfold, by="half", unit="speaker", quiet=True)
    assert (apart.p < 0.05).mean() > 0.3
    assert (together.p < 0.05).mean() < 0.2
    with pytest.raises(InputError, match="no document has a field 'sitting'"):
        psdvec.change(model, tenfold, by="half", unit="sitting", quiet=True)


def test_slices_can_be_counts(model, tmp_path, caplog):
    caplog.set_level("INFO", logger="psdvec")
    counts = {
        name: psdvec.count_pairs(texts, window=5, min_count=1, quiet=True)
        for name, texts in (("old", OLD), ("new", NEW))
    }
    counts["old"].save(tmp_path / "old")
    found = psdvec.change(model, slices={"old": str(tmp_path / "old"), "new": counts["new"]})
    assert "counts know of no documents" in caplog.text
    assert found.words[0] == "x"
    assert found.q[0] < 1e-3
    assert found.contexts("x")["new"]
    assert found.passages("x") == {"old": [], "new": []}
    mixed = psdvec.change(model, slices={"old": counts["old"], "new": NEW}, quiet=True)
    np.testing.assert_allclose(mixed.distance, found.distance)
    again = psdvec.change(None, slices=counts, quiet=True)
    assert again.words[0] == "x"
    other = psdvec.count_pairs(NEW, window=3, min_count=1, quiet=True)
    with pytest.raises(InputError, match="'old' have window=5 and those of 'new' 3"):
        psdvec.change(model, slices={"old": counts["old"], "new": other}, quiet=True)
    for option, value in (("unit", "speaker"), ("window", 3)):
        with pytest.raises(InputError, match=f"{option}={value!r} was given, but counts have no documents"):
            psdvec.change(model, slices=counts, quiet=True, **{option: value})
    with pytest.raises(InputError, match="some slices are counts and some are texts"):
        psdvec.change(None, slices={"old": counts["old"], "new": NEW}, quiet=True)


def test_the_model_is_made_on_the_way(found):
    made = psdvec.change(None, slices={"old": OLD, "new": iter(NEW)}, quiet=True)
    assert made.words[0] == "x"
    assert isinstance(made.embeddings, psdvec.Model)
    assert made.passages("x")["new"]


def test_little_memory_changes_nothing_and_too_little_is_refused(model, found):
    little = psdvec.change(model, slices={"old": OLD, "new": NEW}, memory="2G", quiet=True)
    np.testing.assert_array_equal(little.distance, found.distance)
    with pytest.raises(InputError, match=r"memory=1\.0 MB is too little for these documents"):
        psdvec.change(model, slices={"old": OLD, "new": NEW}, memory="1M", quiet=True)


def test_strips_of_any_size_give_the_same_bits():
    rng = np.random.default_rng(0)
    words = [f"v{number}" for number in range(700)]
    texts = [" ".join(words[i] for i in rng.integers(0, 700, 120)) for _ in range(400)]
    model = psdvec.train(texts, dim=8, min_count=1, quiet=True)
    read = {"a": texts[:200], "b": texts[200:]}
    whole = psdvec.change(model, slices=read, min_count=1, quiet=True)
    used = whole.uses
    ids = np.arange(len(model))
    parts = [used.of(strip) for strip in used.blocks.strips(ids, room=1)]
    assert len(parts) == 3
    np.testing.assert_array_equal(np.concatenate([sums for sums, _ in parts], axis=1), used.of(ids)[0])


def test_killed_work_goes_on_where_it_stopped(model, tmp_path, monkeypatch):
    from psdvec.slices import contrasts, page

    psdvec.change(model, slices={"old": OLD, "new": NEW}, output=tmp_path / "whole", quiet=True)

    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(page, "write_change", fail)
        with pytest.raises(KeyboardInterrupt):
            psdvec.change(model, slices={"old": OLD, "new": NEW}, output=tmp_path / "again", quiet=True)
    assert not (tmp_path / "again").exists()
    with monkeypatch.context() as patch:
        patch.setattr(contrasts, "_measure", fail)  # nothing is measured again
        psdvec.change(model, slices={"old": OLD, "new": NEW}, output=tmp_path / "again", quiet=True)
    one, two = contents(tmp_path / "whole"), contents(tmp_path / "again")
    for name in ("change.csv", "change.json", "change.html"):
        assert one[name] == two[name]


def test_figures_are_drawn_without_a_browser(found, model, run, tmp_path):
    figure = found.plot(topn=5)
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == list(found.words[:5])
    axes = found.plot(["x", "w1"]).axes[0]
    assert axes.get_ylabel() == "distance from old"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["x", "w1"]
    names = [text.get_text() for text in found.plot_map("x").axes[0].texts]
    assert names[:2] == ["old", "new"]
    assert figure._repr_png_().startswith(b"\x89PNG")  # what a notebook asks for
    model.save(tmp_path / "model")
    for name, texts in (("old", OLD), ("new", NEW)):
        (tmp_path / name).write_text("\n".join(texts))
    call = (
        "change",
        tmp_path / "model",
        *(f"--slice={name}={tmp_path / name}" for name in ("old", "new")),
        "--plot",
    )
    for name, begins in (("change.png", b"\x89PNG"), ("change.svg", b"<?xml"), ("change.pdf", b"%PDF")):
        code, _, errors = run(*call, tmp_path / name)
        assert code == 0, errors
        assert (tmp_path / name).read_bytes().startswith(begins)
    before = (tmp_path / "change.svg").read_bytes()
    assert "exists" in run(*call, tmp_path / "change.svg")[2]
    assert run(*call, tmp_path / "change.svg", "--overwrite")[0] == 0
    assert (tmp_path / "change.svg").read_bytes() == before
    assert "ends in .png or .svg or .pdf" in run(*call, tmp_path / "change.doc")[2]


def test_strips_of_an_attempt_with_other_memory_are_not_taken_for_others(tmp_path, monkeypatch):
    """Less memory is free in the second attempt, so that its strips are shorter than those that are kept."""
    from psdvec.slices import change as module
    from psdvec.slices import page

    rng = np.random.default_rng(1)
    words = [f"v{number}" for number in range(600)]
    texts = [" ".join(words[i] for i in rng.integers(0, 600, 120)) for _ in range(200)]
    model, read = psdvec.train(texts, dim=8, min_count=1, quiet=True), {"a": texts[:100], "b": texts[100:]}
    psdvec.change(model, slices=read, min_count=1, output=tmp_path / "whole", quiet=True)

    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(page, "write_change", fail)
        with pytest.raises(KeyboardInterrupt):
            psdvec.change(model, slices=read, min_count=1, output=tmp_path / "again", quiet=True)
    monkeypatch.setattr(module, "_room", lambda *_: 1)
    psdvec.change(model, slices=read, min_count=1, output=tmp_path / "again", quiet=True)
    assert contents(tmp_path / "whole")["change.csv"] == contents(tmp_path / "again")["change.csv"]


def test_what_says_nothing_of_slices_is_refused_before_a_model_is_trained(monkeypatch):
    from psdvec.slices import change as module

    monkeypatch.setattr(module, "train_on", None)
    with pytest.raises(InputError, match="nothing says which document is of which slice"):
        psdvec.change(None, OLD, quiet=True)


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


def test_small_values_of_a_field_are_left_out_and_named(model, caplog):
    caplog.set_level("INFO", logger="psdvec")
    named = [
        {"text": text, "n": name}
        for name, texts in (("a", OLD), ("b", NEW), ("c", NEW[:10]))
        for text in texts
    ]
    assert psdvec.change(model, named, by="n").slices == ("a", "b")
    assert "slices of fewer than 16 documents, left out: c (10)" in caplog.text
    with pytest.raises(InputError, match="fewer than two values of 'n' have 16 documents"):
        psdvec.change(model, named[:205], by="n")


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
    slices = ("--slice", f"old={tmp_path / 'old.txt'}", "--slice", f"new={tmp_path / 'new.txt'}")
    assert run("change", tmp_path / "model", *slices)[0] == 0
    assert run("change", *slices)[1].splitlines()[1].split()[0] == "x"
    assert run("change", tmp_path / "d.jsonl", "--by", "period")[1].splitlines()[1].split()[0] == "x"
    assert run("change", tmp_path / "model", "--slice", "old")[2].startswith(
        "psdvec: --slice 'old' names no slice"
    )
    assert "exists" in run(*by)[2]


def test_a_report_says_what_it_is_and_is_read_again(model, run, tmp_path):
    model.save(tmp_path / "model")
    psdvec.change(tmp_path / "model", slices={"old": OLD, "new": NEW}, output=tmp_path / "report", quiet=True)
    code, output, errors = run("info", tmp_path / "report", "--verify")
    assert code == 0, errors
    assert "words that changed between old and new, in 400 documents" in output
    assert "the model 'model'" in output
    found = psdvec.load(tmp_path / "report")
    assert found["slices"] == ["old", "new"]
    assert found["words"][0]["word"] == "x"
    (tmp_path / "report" / "change.json").write_text("[]")
    with pytest.raises(PSDVecError, match=r"change\.json' is damaged"):
        psdvec.load(tmp_path / "report")


def test_an_output_that_is_there_is_refused_before_anything_is_read(model, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").touch()
    with pytest.raises(InputError, match="mine"):
        psdvec.change(model, tmp_path / "no such file", by="x", output=tmp_path / "mine", quiet=True)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]


def test_counts_that_are_all_0_tell_as_much_as_none():
    vectors = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    unknown = context_features(psdvec.Embeddings(("a", "b", "c"), vectors))
    counted = context_features(psdvec.Embeddings(("a", "b", "c"), vectors, np.zeros(3, np.int64)))
    np.testing.assert_array_equal(counted, unknown)
