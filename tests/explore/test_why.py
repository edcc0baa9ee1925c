"""Why two words are near: shares that add up, the contexts that were planted, and what taking them out does."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import psdvec
from psdvec.counts.matrix import Cooccurrence
from psdvec.errors import InputError, MissingWordError
from psdvec.explore.contexts import ContextIndex
from psdvec.solver.extend import show_placed
from psdvec.solver.ridge import solve_words
from psdvec.vectors.embeddings import cosine
from tests.toy import drawn_counts

RECIPES = st.sampled_from(["default", "paper", "original", "graph"])


def without_cells(counts: Cooccurrence, pairs: set[frozenset[str]]) -> Cooccurrence:
    """Return counts without some pairs of words, in either order."""
    words = counts.vocabulary.words
    rows = np.repeat(np.arange(len(words)), np.diff(counts.indptr))
    kept = np.array(
        [frozenset((words[i], words[j])) not in pairs for i, j in zip(rows, counts.indices, strict=True)]
    )
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=len(words)))])
    return replace(counts, indptr=indptr, indices=counts.indices[kept], values=counts.values[kept])


def placed(index: ContextIndex, word: str):
    return index._placed(word, *index._pairs([word]))


def near(word: str, other: str, contexts: list[str]) -> set[frozenset[str]]:
    return {frozenset((one, context)) for one in (word, other) for context in contexts}


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 99), RECIPES, st.sampled_from([None, 30]), st.sampled_from([40, 400]))
def test_the_shares_add_up_to_the_similarity(seed, recipe, core, sentences):
    counts = drawn_counts(seed=seed, sentences=sentences)
    model = psdvec.fit(counts, dim=5, recipe=recipe, core=core, quiet=True)
    one, two = np.random.default_rng(seed).choice(len(model), 2, replace=False)
    found = psdvec.why(model, model.words[one], model.words[two], counts=counts, quiet=True)
    assert sum(share for _, share in found.rows()) == pytest.approx(found.similarity, abs=1e-6)
    assert found.similarity == model.similarity(model.words[one], model.words[two])
    shares = [one.share for one in found.contexts]
    assert shares == sorted(shares, reverse=True)


@pytest.fixture(scope="module")
def counts():
    return drawn_counts(words=80, sentences=600)


@pytest.fixture(scope="module")
def model(counts):
    return psdvec.fit(counts, dim=8, core=60, quiet=True)


def test_shares_are_what_the_terms_of_both_solutions_add(model, counts):
    """Done the slow way: a vector for each context, with the matrix of the equation itself."""
    index = ContextIndex(model, counts)
    found = index.shares("w70", "w3")
    expected = np.zeros(model.core)
    for word, other in (("w70", "w3"), ("w3", "w70")):
        one = placed(index, word)
        unit = model[other] / np.linalg.norm(model[other])
        F = one.setting.regressors.features[one.cells.rows]
        vectors = np.linalg.solve(one.solved.whole, (one.cells.targets[:, None] * F).T)[: model.dim]
        expected[one.cells.rows] += one.scale * (model.stretch * unit) @ vectors / 2
    np.testing.assert_allclose(found.contexts, expected[found.rows], atol=1e-7)


def test_placed_words_are_explained_and_fitted_ones_nearly(model, counts):
    index = ContextIndex(model, counts)
    one, two = model.words[65], model.words[72]
    assert abs(index.shares(one, two).rest) < 1e-4
    assert index.without(one, two) == pytest.approx(model.similarity(one, two), abs=1e-3)
    x = placed(index, "w3").solved.x[: model.dim].astype(np.float32)
    assert cosine(x, model.rows[model.key_to_index["w3"]]) > 0.9


def test_solving_exactly_is_solving(model, counts):
    index = ContextIndex(model, counts)
    for word in ("w3", "w70"):
        i = counts.vocabulary.ids[word]
        (found,) = solve_words(index._setting.take(slice(i, i + 1)), counts, workers=1)
        np.testing.assert_allclose(found.vector, placed(index, word).solved.x, rtol=1e-3, atol=1e-4)


def test_a_context_that_was_planted_comes_first():
    rng = np.random.default_rng(0)
    fill = [f"f{i}" for i in range(40)]
    lines = [[*rng.choice(fill, 6)] for _ in range(400)]
    lines += [[*rng.choice(fill, 2), word, "fever", *rng.choice(fill, 2)] for word in ("pill", "drop") * 40]
    counts = psdvec.count_pairs(lines, min_count=1, window=3, quiet=True)
    found = psdvec.why(psdvec.fit(counts, dim=10, quiet=True), "pill", "drop", counts=counts, topn=1)
    assert found.contexts[0].word == "fever"
    assert found.contexts[0].seen == found.contexts[0].seen_other > 0
    assert found.without < found.solved


@pytest.mark.parametrize(
    ("word", "other", "contexts"),
    [
        ("w60", "w72", ["w0", "w5"]),
        ("w3", "w70", ["w0", "w1", "w3"]),  # one of the two is a context of the other
        ("w3", "w4", ["w3", "w4", "w7"]),
        ("w3", "w4", []),
    ],
)
@pytest.mark.parametrize("recipe", ["default", "paper"])
def test_without_contexts_is_what_a_refresh_from_counts_without_them_gives(
    counts, recipe, word, other, contexts
):
    model = psdvec.fit(counts, dim=8, core=60, recipe=recipe, quiet=True)
    fewer = without_cells(counts, near(word, other, contexts))
    refreshed = psdvec.extend(model, fewer, words=[], refresh=[word, other], min_contexts=1, quiet=True)
    expected = refreshed.similarity(word, other)
    assert ContextIndex(model, counts).without(word, other, contexts) == pytest.approx(expected, abs=1e-6)


def test_a_fall_is_the_slope_where_some_of_what_a_context_adds_is_taken_off(model, counts):
    """Off both sides of the equations of the two words; nothing else moves."""
    index, names = ContextIndex(model, counts), (model.words[65], model.words[72])
    found = index.shares(*names)

    def similarity(row: int, part: float) -> float:
        vectors = []
        for name in names:
            one = placed(index, name)
            F = one.setting.regressors.features[one.cells.rows].astype(float)
            off = part * (one.cells.rows == row)
            A = one.solved.whole - F.T @ ((off * one.cells.weights)[:, None] * F)
            b = one.solved.whole @ one.solved.x - (off * one.cells.targets) @ F
            x = np.linalg.solve(A, b)[: model.dim].astype(np.float32)
            seen = counts.vocabulary.counts[[counts.vocabulary.ids[name]]]
            vectors.append(show_placed(model, [name], x[None], seen)[0][0])
        return cosine(*vectors)

    for k in np.argsort(-np.abs(found.falls))[:5]:
        slope = (similarity(found.rows[k], -0.01) - similarity(found.rows[k], 0.01)) / 0.02
        assert slope == pytest.approx(found.falls[k], rel=0.01)


def test_words_without_any_context_left_have_no_similarity(model, counts):
    assert ContextIndex(model, counts).without("w70", "w75", list(model.words[:60])) is None


def test_passages_show_the_words_near_the_contexts(tmp_path):
    lines = [
        "A cat ate the fish.",
        "The dog ate meat!",
        "Cars need fuel, a lot.",
        "Every bus needs fuel.",
    ] * 5
    counts = psdvec.count_pairs(lines, min_count=1, window=3, quiet=True)
    model = psdvec.fit(counts, dim=4, quiet=True)
    found = psdvec.why(model, "Cars", "bus", counts=counts, topn=2, texts=lines, passages=2, quiet=True)
    (one, two) = found.passages["cars", "fuel"]
    assert (one.left, one.word, one.right) == ("", "Cars", " need fuel, a lot.")
    assert (one.document, two.document) == ("2", "6")
    assert found.to_dict()["contexts"][0]["passages"][0]["of"] in ("cars", "bus")
    assert "cars, bus" in repr(found)
    pytest.importorskip("pandas")
    assert list(found.to_frame().columns) == ["share", "fall", "near cars", "near bus"]


def test_counts_are_found_beside_the_model(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("the cat ate fish\nthe dog ate meat\n" * 9)
    psdvec.train(text, output=tmp_path / "model", keep=tmp_path / "kept", min_count=1, dim=3, quiet=True)
    found = psdvec.why(tmp_path / "model", "cat", "dog", quiet=True)
    assert {"ate", "the"} <= {one.word for one in found.contexts}
    (tmp_path / "kept").rename(tmp_path / "moved")
    with pytest.raises(InputError, match="not beside it; give counts=FOLDER"):
        psdvec.why(tmp_path / "model", "cat", "dog", quiet=True)
    with pytest.raises(InputError, match="not beside it; give counts=FOLDER"):
        psdvec.why(psdvec.load(tmp_path / "model"), "cat", "dog", quiet=True)


def test_what_cannot_be_explained_is_said_in_a_sentence(model, counts):
    with pytest.raises(MissingWordError, match="there is no vector for 'nonsense'"):
        psdvec.why(model, "w3", "nonsense", counts=counts)
    with pytest.raises(InputError, match="'w3' is given twice; give two different words"):
        psdvec.why(model, "w3", "w3", counts=counts)
    with pytest.raises(InputError, match="not those that 'w3' has its vector from: it occurs"):
        psdvec.why(model, "w3", "w4", counts=drawn_counts(words=80, sentences=300, seed=1))
    with pytest.raises(InputError, match="'w79' is not in these counts; give the counts"):
        psdvec.why(model, "w3", "w79", counts=drawn_counts(words=70))
    with pytest.raises(InputError, match="these counts with 3; count again with window 4"):
        psdvec.why(model, "w3", "w4", counts=drawn_counts(window=3))
    plain = psdvec.Embeddings(model.words, np.array(model.vectors))
    with pytest.raises(InputError, match="without the scales of a fit"):
        psdvec.why(plain, "w3", "w4", counts=counts)
    with pytest.raises(InputError, match="there are none; give texts"):
        psdvec.why(model, "w3", "w4", counts=counts, column="body")


def test_words_refreshed_from_new_counts_are_explained_by_them(model):
    later = drawn_counts(words=80, sentences=300, seed=1)
    names = [word for word in model.words[60:] if word in later.vocabulary.ids][:2]
    refreshed = psdvec.extend(model, later, words=[], refresh=names, min_contexts=1, quiet=True)
    found = psdvec.why(refreshed, *names, counts=later, quiet=True)
    assert abs(found.unexplained) < 1e-3
    assert found.solved == pytest.approx(found.similarity, abs=1e-3)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("why")
    (folder / "text.txt").write_text("A cat ate fish.\nThe dog ate meat.\n" * 9)
    psdvec.train(
        folder / "text.txt", output=folder / "model", keep=folder / "counts", min_count=1, dim=3, quiet=True
    )
    return folder


def test_the_command_shows_shares_that_add_up_and_sentences(run, kept):
    code, text, _ = run("why", kept / "model", "Cat", "dog", "--text", kept / "text.txt", "-n", "2")
    assert code == 0
    table, said, *passages = text.split("\n\n")
    shares = [float(line.split()[-1]) for line in table.splitlines()[1:]]
    assert sum(shares[:-1]) == pytest.approx(shares[-1], abs=0.0005)
    assert "without the contexts named" in said
    assert "  A [cat] ate fish.  (1)" in text
    assert len(passages) == 2


def test_the_command_answers_in_json(run, kept):
    code, text, _ = run("why", kept / "model", "cat", "dog", "--json", "--topn", "3")
    found = json.loads(text)
    parts = ("other contexts", "spelling", "background", "not explained")
    total = sum(one["share"] for one in found["contexts"]) + sum(found[part] for part in parts)
    assert (code, len(found["contexts"])) == (0, 3)
    assert total == pytest.approx(found["similarity"], abs=1e-6)


def test_the_command_says_which_counts_it_needs(run, kept, tmp_path):
    (kept / "model").rename(tmp_path / "model")
    code, _, said = run("why", tmp_path / "model", "cat", "dog")
    (tmp_path / "model").rename(kept / "model")
    assert (code, said.count("\n")) == (1, 1)
    assert "give --counts FOLDER" in said
