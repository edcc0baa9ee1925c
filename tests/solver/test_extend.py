import numpy as np
import pytest

from psdvec.counts.matrix import Cooccurrence
from psdvec.counts.vocabulary import Vocabulary
from psdvec.counts.weighting import UNIT
from psdvec.errors import InputError
from psdvec.reference import rounds as rounds_reference
from psdvec.solver import noncore
from psdvec.solver.extend import extend
from psdvec.solver.fit import fit
from psdvec.solver.pmi import margins, word_scales
from psdvec.solver.recipe import RIDGES, make_recipe
from psdvec.solver.ridge import OneWord, Solution, climb, word_cells
from psdvec.solver.setting import prepare
from tests.toy import drawn_counts, fit_recipe

CORE = 40


@pytest.fixture(scope="module")
def counts():
    return drawn_counts(words=70, sentences=1500, topics=3)


@pytest.fixture(scope="module")
def model(counts):
    return fit(counts, dim=8, max_words=CORE)


def vectors_of(model, words):
    return np.stack([model.vectors[model.key_to_index[word]] for word in words])


def test_old_rows_stay_bit_identical(model, counts):
    extended = extend(model, counts)
    assert extended.vectors[:CORE].tobytes() == model.vectors.tobytes()
    assert extended.words[:CORE] == model.words
    assert len(extended) == len(counts)


@pytest.mark.parametrize("ridge", ["auto", "3", "0"])
def test_a_word_alone_gets_the_vector_it_gets_among_others(model, counts, ridge):
    together = extend(model, counts, ridge=ridge)
    for word in counts.vocabulary.words[CORE::9]:
        alone = extend(model, counts, words=[word], ridge=ridge)
        assert alone.vectors[-1].tobytes() == together.vectors[together.key_to_index[word]].tobytes()
        assert alone.deviations[-1] == together.deviations[together.key_to_index[word]]


def test_the_size_of_a_batch_changes_nothing(model, counts, monkeypatch):
    together = extend(model, counts)
    monkeypatch.setattr(noncore, "BATCH", 3)
    assert extend(model, counts, workers=3).vectors.tobytes() == together.vectors.tobytes()


def test_a_then_b_equals_a_and_b_together(model, counts):
    first, second = counts.vocabulary.words[CORE:55], counts.vocabulary.words[55:]
    steps = extend(extend(model, counts, words=first), counts, words=second)
    together = extend(model, counts)
    assert vectors_of(steps, together.words).tobytes() == together.vectors.tobytes()


def test_nothing_to_learn_is_a_no_op(model, counts):
    extended = extend(model, counts, words=list(model.words))
    assert extended == model
    assert extended.learned == extended.thin == ()


def test_words_seen_too_little_are_listed_and_not_invented(model, counts):
    extension = extend(model, counts, min_contexts=10**6)
    assert extension.thin == counts.vocabulary.words[CORE:]
    assert extension.learned == ()
    assert extension.words == model.words


@pytest.mark.parametrize(("ridge", "damping"), [(0.5, 0.0), (7.0, None), (0.0, 0.3)])
@pytest.mark.parametrize("recipe", ["default", "paper"])
def test_the_solution_is_that_of_the_dense_normal_equations(counts, recipe, ridge, damping):
    model = fit_recipe(counts, make_recipe(recipe), dim=6, max_words=CORE)
    word = counts.vocabulary.words[CORE + 5]
    found = extend(model, counts, words=[word], ridge=str(ridge), damping=damping).vectors[-1]
    if damping is None:
        damping = {"default": 0.04, "paper": 0.0}[recipe]
    x = dense_ridge(model, counts, counts.vocabulary.ids[word], ridge, damping)
    np.testing.assert_allclose(found, x[:6], rtol=1e-3, atol=1e-4)


def dense_ridge(model, counts, w, ridge, damping):
    """Solve one word by the normal equations over every core cell, seen or not, in float64."""
    n = len(counts)
    H = rounds_reference.dense_rows(counts.indptr, counts.indices, counts.values, n) / UNIT
    rows, columns = margins(counts)
    s = word_scales(rows, columns, model.constants)
    core = model.core
    order = np.r_[np.arange(core), w]
    W, T, _, _ = rounds_reference.weights_and_targets(H[np.ix_(order, order)], s.take(order), model.constants)
    features = model.vectors[:core] * model.signs
    if model.constant.any():
        features = np.concatenate([features, -model.constant[:, None]], axis=1)
    F = features.astype(float) * s.emphases[:core, None]
    A = (F * W[core, :core, None]).T @ F + ridge * np.eye(F.shape[1])
    A += damping * np.diag((F**2).sum(axis=0))
    b = F.T @ (T[core, :core] / s.emphases[w])
    return np.linalg.solve(A, b)


def test_new_words_join_their_topic(model, counts):
    extended = extend(model, counts)
    V = extended.vectors / np.linalg.norm(extended.vectors, axis=1, keepdims=True)
    nearest = (V[CORE:] @ V[:CORE].T).argmax(axis=1)
    topic = np.array([int(word[1:]) % 3 for word in extended.words])
    assert (topic[:CORE][nearest] == topic[CORE:]).mean() > 0.8


def test_a_word_seen_ten_times_as_often_is_surer(model):
    often = drawn_counts(words=70, sentences=15000, topics=3, seed=5)
    seldom = drawn_counts(words=70, sentences=700, topics=3, seed=6)
    words = [
        word
        for word in seldom.vocabulary.words
        if word not in model.key_to_index and word in often.vocabulary
    ]
    deviations = [
        np.median(extend(model, store, words=words, ridge="1").deviations[CORE:]) for store in (often, seldom)
    ]
    assert deviations[0] < deviations[1]


def test_refreshing_moves_only_the_words_named(model, counts):
    word = model.words[10]
    extension = extend(model, counts, words=[], refresh=[word])
    assert extension.refreshed == (word,)
    changed = (extension.vectors != model.vectors).any(axis=1)
    assert np.flatnonzero(changed).tolist() == [10]


def test_fewer_core_words_give_another_answer(model, counts):
    word = counts.vocabulary.words[CORE]
    full, few = (extend(model, counts, words=[word], core=core).vectors[-1] for core in (None, 20))
    assert not np.allclose(full, few)


def test_unigrams_of_the_same_counts_are_the_same(model, counts):
    one, two = (extend(model, counts, unigrams=choice).vectors for choice in ("corpus", "model"))
    np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-5)


def renamed(counts, *, words=None, **parameters):
    vocabulary = Vocabulary(words or counts.vocabulary.words, counts.vocabulary.counts)
    return Cooccurrence(
        vocabulary,
        counts.indptr,
        counts.indices,
        counts.values,
        {**counts.parameters, **parameters},
        counts.tally,
    )


def test_counts_without_a_common_word_are_refused(model, counts):
    foreign = renamed(counts, words=tuple(f"x{i}" for i in range(len(counts))))
    with pytest.raises(InputError, match="no word in common"):
        extend(model, foreign)


@pytest.mark.parametrize("change", [{"window": 99}, {"weighting": "flat"}, {"tokenizer": "other"}])
def test_counts_made_otherwise_are_refused(model, counts, change):
    with pytest.raises(InputError, match=f"counted with {next(iter(change))}"):
        extend(model, renamed(counts, **change))


def test_words_that_are_nowhere_are_refused(model, counts):
    with pytest.raises(InputError, match="not in the counts, such as 'nowhere'"):
        extend(model, counts, words=["nowhere"])
    with pytest.raises(InputError, match="'nowhere' cannot be refreshed, it is not in the model"):
        extend(model, counts, refresh=["nowhere"])


def test_a_model_of_zero_vectors_is_refused(model, counts):
    from dataclasses import replace

    with pytest.raises(InputError, match="all vectors of the model are zero"):
        extend(replace(model, vectors=np.zeros_like(model.vectors)), counts)


@pytest.mark.parametrize(("batch", "piece"), [(2048, 1 << 16), (3, 7), (1, 1000)])
def test_a_words_pairs_are_its_row_and_its_column_whatever_comes_with_it(counts, monkeypatch, batch, piece):
    monkeypatch.setattr(noncore, "BATCH", batch)
    monkeypatch.setattr(noncore, "_PIECE", piece)
    n = len(counts)
    H = rounds_reference.dense_rows(counts.indptr, counts.indices, counts.values, n) / UNIT
    ids = np.random.default_rng(0).permutation(n)[:20]
    for word, (columns, after, rows, before) in zip(ids, noncore.pairs_of(counts, ids), strict=True):
        assert columns.tolist() == np.flatnonzero(H[word]).tolist()
        assert rows.tolist() == np.flatnonzero(H[:, word]).tolist()
        assert after.tolist() == H[word, columns].tolist()
        assert before.tolist() == H[rows, word].tolist()


@pytest.mark.parametrize("unigrams", ["corpus", "model"])
@pytest.mark.parametrize("changes", [{}, {"saturation": 0.01}, {"background": 0.9, "saturation": 0.1}])
def test_a_seen_pair_weighs_no_less_than_an_unseen_one(counts, unigrams, changes):
    model = fit_recipe(counts, make_recipe("default", **changes), dim=6, max_words=CORE)
    ids = np.arange(CORE, len(counts))
    setting = prepare(
        model, counts, ids, core=None, ridge="1", damping=0.0, unigrams=unigrams, min_contexts=1
    )
    for place, (columns, after, rows, before) in enumerate(noncore.pairs_of(counts, ids)):
        kept = columns < CORE, rows < CORE
        cells = word_cells(
            setting.scales.take(slice(place, place + 1)), setting.old, setting.constants,
            columns[kept[0]], after[kept[0]], rows[kept[1]], before[kept[1]],
        )  # fmt: skip
        assert (cells.weights >= 0).all()


def test_no_ridge_at_all_places_words_with_fewer_contexts_than_dimensions():
    counts = drawn_counts(words=300, sentences=1500, topics=3)
    model = fit_recipe(counts, make_recipe("paper"), dim=60, max_words=200)
    extension = extend(model, counts, ridge="0", min_contexts=2)
    contexts = np.diff(counts.indptr)[[counts.vocabulary.ids[word] for word in extension.learned]]
    assert contexts.min() < 60
    assert np.isfinite(extension.vectors).all()


@pytest.mark.parametrize("option", [{"core": 0}, {"core": -5}, {"min_contexts": 0}])
def test_numbers_of_words_below_one_are_refused(model, counts, option):
    with pytest.raises(InputError, match="give 1 or more"):
        extend(model, counts, **option)


def test_a_negative_damping_is_refused(model, counts):
    with pytest.raises(InputError, match="damping is -1; give 0 or a positive weight"):
        extend(model, counts, damping=-1)


def test_an_unknown_choice_of_unigrams_is_refused(model, counts):
    with pytest.raises(InputError, match="choose one of: corpus, model"):
        extend(model, counts, unigrams="mine")


def test_the_peak_is_found_wherever_it_is():
    for peak in RIDGES:
        trials = OneWord(lambda mu, top=peak: Solution(-np.abs(np.log(mu / top)), mu, None, None), RIDGES)
        climb(trials, len(RIDGES))
        assert trials.best.x == peak
