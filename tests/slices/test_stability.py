"""How stable neighbours are: what rests on one document is not, what rests on all is; what is drawn is as fitted."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import psdvec
from psdvec.errors import InputError, MissingWordError, StoreError
from psdvec.progress import SilentProgress
from psdvec.slices.stability import Stability, _compare, _turned, refit
from psdvec.topic_model.documents import read_documents
from psdvec.vectors.embeddings import Embeddings
from tests.helpers import contents

COMMON = [f"w{number}" for number in range(60)]


def documents(seed: int = 0) -> list[str]:
    """Texts in which ``salt`` is beside ``pan`` in many documents; ``moon`` and ``spoon`` stand alike in one only."""
    rng = np.random.default_rng(seed)
    texts = []
    for number in range(240):
        words = [COMMON[i] for i in rng.integers(0, 60, 24)]
        if number % 2:
            words[5:8] = ["oven", "salt" if number % 4 == 1 else "pepper", "pan"]
        elif number % 3 < 2:
            words[rng.integers(2, 22)] = ("moon", "spoon")[number % 3]
        texts.append(" ".join(words))
    return [*texts, " ".join(["orbit moon glow", "orbit spoon glow"] * 10)]


TEXTS = documents()


@pytest.fixture(scope="module")
def model() -> psdvec.Model:
    return psdvec.train(TEXTS, dim=8, min_count=2, window=4, quiet=True)


@pytest.fixture(scope="module")
def found(model) -> Stability:
    return psdvec.stability(model, TEXTS, quiet=True)


def test_a_neighbour_that_rests_on_all_documents_stays_and_one_of_a_single_document_need_not(found):
    firm = {one.word: one for one in found.most_similar("salt", topn=3)}["pan"]
    loose = {one.word: one for one in found.most_similar("moon", topn=3)}["spoon"]
    assert firm.stays > 0.9
    assert loose.stays < firm.stays - 0.2
    assert firm.high - firm.low < loose.high - loose.low


def test_the_neighbours_are_those_of_the_model_and_lie_within_their_bounds(found, model):
    neighbours = found.most_similar("salt", topn=5)
    assert [(one.word, one.cosine) for one in neighbours] == model.most_similar("salt", topn=5)
    assert all(-1 <= one.low <= one.cosine <= one.high <= 1 for one in neighbours)
    assert all(0 <= one.stays <= 1 for one in neighbours)


def test_all_words_stay_where_all_are_asked_for(found, model):
    everything = found.most_similar("salt", topn=len(model) - 1, resamples=5)
    assert {one.stays for one in everything} == {1.0}
    assert len(found.most_similar("salt", topn=10 * len(model), resamples=5)) == len(model) - 1


@pytest.mark.slow
def test_bounds_are_those_of_true_refits(found, model):
    read = read_documents(TEXTS, model, progress=SilentProgress())
    cosines = []
    for seed in range(20):
        e = Embeddings(model.words, refit(model, read, np.random.default_rng(100 + seed), workers=1))
        cosines.append([e.similarity("salt", "pan"), e.similarity("moon", "spoon")])
    for (a, b), true in zip([("salt", "pan"), ("moon", "spoon")], np.array(cosines).T, strict=True):
        _, low, high = found.similarity(a, b)
        assert np.mean((true >= low) & (true <= high)) >= 0.85


def test_words_that_err_alike_are_known_from_the_refits():
    rng = np.random.default_rng(0)
    model = psdvec.train([" ".join(COMMON)] * 3, dim=4, min_count=1, quiet=True)
    vectors = rng.standard_normal((60, 4)).astype(np.float32)
    model = type(model)(**{**model.own_fields(), "vectors": vectors})
    shared = rng.standard_normal((30, 1, 4)) * 0.5  # the first two words err alike, all others by themselves
    refitted = vectors + 0.1 * rng.standard_normal((30, 60, 4))
    refitted[:, :2] += shared
    found = _compare(model, list(refitted.astype(np.float32)), documents=20)
    products = np.mean([one[0].astype(float) @ one[1] for one in found.errors])
    alone = np.mean([one[2].astype(float) @ one[3] for one in found.errors])
    assert products > 5 * abs(alone)


def test_a_rotated_refit_is_no_change_at_all():
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((50, 6))
    rotation = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    np.testing.assert_allclose(_turned(vectors @ rotation, vectors), vectors, atol=1e-5)


@pytest.mark.slow
def test_the_folder_is_the_same_for_any_number_of_threads_and_opens_as_it_was(model, found, tmp_path):
    for name, workers in (("one", 1), ("three", 3)):
        psdvec.stability(model, TEXTS, workers=workers, output=tmp_path / name, quiet=True)
    assert contents(tmp_path / "one") == contents(tmp_path / "three")
    again = psdvec.load(tmp_path / "one")
    assert again.most_similar("salt") == found.most_similar("salt")
    assert again.similarity("salt", "pepper") == found.similarity("salt", "pepper")
    assert again.similarity("salt", "salt").low == pytest.approx(1)
    assert repr(again) == repr(found)
    assert not list(tmp_path.glob("*.work"))


@pytest.mark.slow
def test_refits_that_are_done_are_not_done_again(model, tmp_path, monkeypatch):
    done = []

    def stop_after_two(*arguments, **options):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(0)
        return refit(*arguments, **options)

    monkeypatch.setattr("psdvec.slices.stability.refit", stop_after_two)
    with pytest.raises(KeyboardInterrupt):
        psdvec.stability(model, TEXTS, output=tmp_path / "found", quiet=True)
    assert not (tmp_path / "found").exists()
    monkeypatch.undo()
    monkeypatch.setattr("psdvec.slices.stability.refit", lambda *a, **b: done.append(1) or refit(*a, **b))
    psdvec.stability(model, TEXTS, output=tmp_path / "found", quiet=True)
    assert done == [0, 0, 1, 1]
    psdvec.stability(model, TEXTS, output=tmp_path / "whole", quiet=True)
    assert contents(tmp_path / "found") == contents(tmp_path / "whole")


def test_documents_are_cut_as_those_of_the_model_were(found, model):
    tables = [{"body": text, "kind": "a"} for text in TEXTS] + [{"body": "moon", "kind": "b"}] * 20
    same = psdvec.stability(model, tables, column="body", where={"kind": "a"}, quiet=True)
    assert same.most_similar("moon") == found.most_similar("moon")


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (TEXTS[:3], {}, "there are only 3 documents, and resampling takes 16 or more"),
        (["nothing known here"] * 20, {}, "no document has a word of the model"),
        (TEXTS, {"refits": 0}, "refits"),
        (TEXTS, {"refits": 101}, "give at most 100"),
        (TEXTS, {"seed": -1}, "seed"),
    ],
)
def test_what_cannot_be_resampled_is_refused_in_one_sentence(model, given, options, message):
    with pytest.raises(InputError, match=message):
        psdvec.stability(model, given, quiet=True, **options)


def test_only_a_model_of_text_can_be_fitted_again():
    orders = psdvec.train([["bread", "jam"], ["jam", "tea"]] * 20, items=True, dim=2, quiet=True)
    for other in (orders,):
        with pytest.raises(
            InputError, match="only a model that psdvec has fitted to text can be fitted again"
        ):
            psdvec.stability(other, TEXTS, quiet=True)


def test_questions_that_make_no_sense_are_refused(found):
    with pytest.raises(MissingWordError):
        found.most_similar("nonsense")
    for options, message in (
        ({"resamples": 1}, "give 2 to 100,000"),
        ({"topn": 0}, "topn"),
        ({"seed": -1}, "seed"),
    ):
        with pytest.raises(InputError, match=message):
            found.most_similar("salt", **options)


def test_a_folder_whose_parts_do_not_fit_is_refused(found, tmp_path):
    Stability(found.embeddings, found.middle, found.errors[:, :5], found.axes, found.documents).save(
        tmp_path / "a"
    )
    with pytest.raises(StoreError, match="its parts do not fit together"):
        psdvec.load(tmp_path / "a")
    Stability(found.embeddings, found.middle, found.errors, found.axes * np.nan, found.documents).save(
        tmp_path / "b"
    )
    with pytest.raises(StoreError, match="a number is not finite"):
        psdvec.load(tmp_path / "b")


def test_other_documents_than_the_model_was_fitted_to_are_remarked_on(model, caplog):
    with caplog.at_level("INFO", "psdvec"):
        psdvec.stability(model, TEXTS[:100], refits=1)
    assert "what is said holds for as much text as these documents have" in caplog.text


def test_the_command_line_makes_it_and_shows_it_beside_each_neighbour(model, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model.save("model")
    Path("texts.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    code, out, _ = run("stability", "model", "texts.txt", "-o", "found", "--refits", "2", "-q")
    assert (code, out.split(";")[0]) == (0, f"{len(TEXTS)} documents resampled")
    code, out, _ = run("similar", "model", "salt", "-n", "2", "--stability", "found", "-q")
    first = psdvec.load("found").most_similar("salt", topn=2)[0]
    lines = [line.split() for line in out.splitlines()]
    assert (code, lines[0]) == (0, ["salt", "stays", "low", "high"])
    assert lines[1][-4:] == [f"{first.cosine:.4f}", *(f"{number:.2f}" for number in first[2:])]
    _, out, _ = run("similar", "model", "salt", "-n", "1", "--stability", "found", "--json", "-q")
    assert set(json.loads(out)[0]["neighbours"][0]) >= {"word", "score", "stays", "low", "high"}
    _, out, _ = run("info", "found", "--verify")
    assert f"how stable neighbours are, by 2 refits of {len(TEXTS)} documents" in out


def test_stability_of_another_model_and_of_some_words_only_is_refused(
    model, found, run, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    found.save("found")
    model.take(np.arange(20)).save("other")
    code, _, err = run("similar", "other", "salt", "--stability", "found", "-q")
    assert (code, err) == (1, "psdvec: 'found' is of another model; run psdvec stability with this one\n")
    model.save("model")
    code, _, err = run("similar", "model", "salt", "--stability", "found", "--restrict-vocab", "9", "-q")
    assert code == 1
    assert "leave out --restrict-vocab or --stability" in err
