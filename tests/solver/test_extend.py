import os
import subprocess
import sys

import numpy as np
import pytest
from examples.sample import make_text

from psdvec.counts.count import count_pairs
from psdvec.counts.matrix import UNIT, Cooccurrence
from psdvec.counts.vocabulary import Vocabulary
from psdvec.errors import InputError
from psdvec.options import RIDGES, make_recipe, parse_ridge
from psdvec.solver import ridge as cpu_ridge
from psdvec.solver.extend import extend
from psdvec.solver.fit import fit
from psdvec.solver.pmi import WordScales, margins, word_scales
from psdvec.solver.ridge import CALIBRATION, Cells, Regressors, prepare, solve_word, word_cells
from psdvec.solver.train import train
from psdvec.storage import artefact
from psdvec.text.corpus import read_corpus
from psdvec.vectors import model as model_module
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.model import read_model
from tests.reference import ridge as ridge_reference
from tests.reference import rounds as rounds_reference
from tests.toy import drawn_counts, fit_recipe

CORE = 40
TEXT = make_text("text").splitlines()
MEDICAL = make_text("medical").splitlines()


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


@pytest.mark.parametrize("name", ["words", "refresh"])
def test_the_letters_of_a_string_are_not_taken_for_words(model, counts, name):
    with pytest.raises(InputError, match=f"{name} is one string, 'aspirin'; give a list"):
        extend(model, counts, **{name: "aspirin"})


@pytest.mark.parametrize("ridge", ["auto", "3", "0"])
def test_a_word_alone_gets_the_vector_it_gets_among_others(model, counts, ridge):
    together = extend(model, counts, ridge=ridge)
    for word in counts.vocabulary.words[CORE::9]:
        alone = extend(model, counts, words=[word], ridge=ridge)
        assert alone.vectors[-1].tobytes() == together.vectors[together.key_to_index[word]].tobytes()
        assert alone.deviations[-1] == together.deviations[together.key_to_index[word]]


def test_the_size_of_a_batch_changes_nothing(model, counts, monkeypatch):
    together = extend(model, counts)
    monkeypatch.setattr(cpu_ridge, "BATCH", 3)
    assert extend(model, counts, workers=3).vectors.tobytes() == together.vectors.tobytes()


def test_a_then_b_equals_a_and_b_together(model, counts):
    first, second = counts.vocabulary.words[CORE:55], counts.vocabulary.words[55:]
    steps = extend(extend(model, counts, words=first), counts, words=second)
    together = extend(model, counts)
    assert vectors_of(steps, together.words).tobytes() == together.vectors.tobytes()


def test_nothing_to_learn_is_a_no_op(model, counts):
    extended = extend(model, counts, words=list(model.words))
    assert extended == model
    assert extended.learned == ()
    assert not extended.unplaced


@pytest.mark.parametrize("core", [None, 25])
@pytest.mark.parametrize(
    ("ridge", "damping"), [("0.5", 0.0), ("7", None), ("0", 0.3), ("auto", None), ("auto", 0.0)]
)
@pytest.mark.parametrize("recipe", ["default", "paper"])
def test_a_word_is_what_the_dense_equations_make_of_all_its_cells(counts, recipe, ridge, damping, core):
    model = fit_recipe(counts, make_recipe(recipe), dim=6, max_words=CORE)
    word = counts.vocabulary.words[CORE + 5]
    extension = extend(model, counts, words=[word], ridge=ridge, damping=damping, core=core)
    eta = {"default": 0.04, "paper": 0.0}[recipe] if damping is None else damping
    mean = prior_mean(model, word)
    whole = dense_cells(model, counts, counts.vocabulary.ids[word], core or CORE)
    cells = ridge_reference.around(whole, mean)
    best = max(
        parse_ridge(ridge)(1), key=lambda mu: ridge_reference.log_evidence(cells, ridge=mu, damping=eta)
    )
    x = mean + ridge_reference.solve(cells, ridge=best, damping=eta)
    np.testing.assert_allclose(extension.rows[-1], x[:6], rtol=1e-3, atol=5e-4)
    found = prepare_one(model, counts, word, ridge=ridge, damping=eta, core=core)
    spread = CALIBRATION * ridge_reference.deviation(cells, ridge=best, damping=eta)
    np.testing.assert_allclose(found[1], spread, rtol=0.05 if recipe == "default" and ridge == "7" else 1e-3)


def prior_mean(model, word):
    """Return q of equation (16), written out; zeros without spelling."""
    mean = np.zeros(model.dim + bool(model.constant.any()))
    if model.subwords is not None:
        p = model.subwords.predict([word])[0]
        mean[: model.dim] = model.subwords.share * model.subwords.length * p / model.stretch
    return mean


def prepare_one(model, counts, word, **options):
    """Return what is solved for one word, before it is shown: x, the constant direction last, and its deviation."""
    ids = np.array([counts.vocabulary.ids[word]])
    setting = prepare(model, counts, ids, unigrams="corpus", min_contexts=1, **options)
    (placed,) = cpu_ridge.solve_words(setting, counts)
    return placed.vector, placed.deviation


def dense_cells(model, counts, w, core):
    """Return all cells of one word with the first core words, and their features, in float64."""
    H = rounds_reference.dense_rows(counts.indptr, counts.indices, counts.values, len(counts)) / UNIT
    scales = word_scales(*margins(counts), model.constants)
    features = model.rows[:core] * model.signs
    if model.constant.any():
        features = np.concatenate([features, -model.constant[:core, None]], axis=1)
    old = scales.take(slice(core))
    return ridge_reference.word_cells(
        H[w, :core], H[:core, w], scales.take(slice(w, w + 1)), old, features * old.emphases[:, None],
        constants=model.constants,
    )  # fmt: skip


def test_damping_holds_the_fitted_values_whichever_core_words_enter(model, counts):
    """With fewer core words, their features are no longer orthogonal to each other: all of η Σ f fᵀ counts."""
    features = prepare(
        model, counts, np.array([CORE]), core=20, ridge="1", damping=0.5, unigrams="corpus", min_contexts=1
    ).regressors
    F = features.features.astype(float)
    held = 0.5 * 2 * F.T @ F
    np.testing.assert_allclose(features.damping, held, rtol=1e-5, atol=1e-6 * held.max())
    assert np.abs(held - np.diag(np.diag(held))).max() > 0.01 * np.diag(held).max()


def test_a_cap_of_its_own_is_the_quantile_of_the_pairs_of_core_words_with_others(counts):
    recipe = make_recipe("original", cut=0.1)
    model = fit_recipe(counts, recipe, dim=6, max_words=CORE)
    H = rounds_reference.dense_rows(counts.indptr, counts.indices, counts.values, len(counts)) / UNIT
    block = np.sort(H[:CORE, CORE:][H[:CORE, CORE:] > 0])
    setting = prepare(
        model, counts, np.array([CORE]), core=None, ridge="1", damping=0.0, unigrams="corpus", min_contexts=1
    )
    assert setting.constants.cap == pytest.approx(block[int(0.9 * block.size)] ** 0.5)
    assert setting.constants.cap < model.constants.cap


def test_with_a_cap_of_their_own_words_still_do_not_depend_on_their_batch(counts):
    model = fit_recipe(counts, make_recipe("original"), dim=6, max_words=CORE)
    first, second = counts.vocabulary.words[CORE:55], counts.vocabulary.words[55:]
    steps = extend(extend(model, counts, words=first), counts, words=second)
    together = extend(model, counts)
    assert vectors_of(steps, together.words).tobytes() == together.vectors.tobytes()


@pytest.fixture(scope="module", params=["unicode", "whitespace", "none"])
def farm(request):
    """A model, and a function that makes of lines what its own text was."""
    cut = [line.split() for line in TEXT] if request.param == "none" else TEXT
    how = {} if request.param == "none" else {"tokenizer": request.param, "numbers": "merge"}
    counts = count_pairs(cut, **how, window=7, weighting="flat", quiet=True)
    give = (lambda lines: [line.split() for line in lines]) if request.param == "none" else list
    return fit(counts, dim=8, quiet=True), give


def test_a_text_is_counted_as_that_of_the_model_was(farm):
    model, give = farm
    how = {name: model.counting[name] for name in ("tokenizer", "numbers") if name in model.counting}
    how = {} if how.get("tokenizer") == "none" else how
    counts = count_pairs(give(MEDICAL), **how, window=7, weighting="flat", min_count=1, quiet=True)
    assert extend(model, give(MEDICAL), min_count=1, quiet=True) == extend(model, counts, quiet=True)


def test_of_a_text_new_words_are_learned_that_are_seen_often_and_old_ones_are_contexts_also_if_not(farm):
    model, give = farm
    lines = [*MEDICAL, "the horse drank quinine in berlin"]
    found = extend(model, give(lines), min_contexts=1, quiet=True)
    assert found.learned
    assert (found.occurrences >= 5).all()
    assert "quinine" not in found
    assert "quinine" in extend(model, give(lines), words=["quinine"], min_contexts=1, quiet=True).learned
    assert "quinine" in extend(model, give(lines), min_count=1, min_contexts=1, quiet=True).learned
    with pytest.raises(InputError, match="min_count is 0; give 1 or more"):
        extend(model, give(lines), min_count=0, quiet=True)


def test_a_file_and_an_open_corpus_are_texts_too(tmp_path):
    model = train(TEXT, dim=8, quiet=True)
    (tmp_path / "medical.txt").write_text("\n".join(MEDICAL))
    from_file = extend(model, tmp_path / "medical.txt", output=tmp_path / "larger", quiet=True)
    assert from_file == extend(model, MEDICAL, quiet=True) == read_model(tmp_path / "larger")
    assert from_file == extend(model, read_corpus(tmp_path / "medical.txt"), quiet=True)
    assert "medical.txt" in [one["name"] for one in from_file.provenance["read"]]


def test_counts_may_be_held_to_frequent_words_too(model, counts):
    rare = int(np.median(counts.vocabulary.counts[CORE:]))
    found = extend(model, counts, min_count=rare)
    assert 0 < len(found.learned) < len(counts) - CORE
    assert (found.occurrences >= rare).all()


def test_a_text_for_vectors_that_do_not_say_how_theirs_was_counted_is_refused(model):
    plain = Embeddings(model.words, model.vectors)
    with pytest.raises(InputError, match="do not say how their text was counted; count the new text"):
        extend(plain, ["a text"])
    with pytest.raises(InputError, match="5 is nothing that can be counted"):
        extend(model, 5)


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


def test_refreshing_from_the_same_counts_keeps_a_fitted_words_deviation(counts):
    same = fit(counts, dim=8)
    refreshed = extend(same, counts, words=[], refresh=same.words[:20])
    assert same.subwords is not None
    assert refreshed.deviations == pytest.approx(same.deviations, rel=0.01)


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


def test_a_model_of_zero_vectors_is_refused(model, counts):
    from dataclasses import replace

    with pytest.raises(InputError, match="all vectors of the model are zero"):
        extend(replace(model, rows=np.zeros_like(model.rows)), counts)


@pytest.mark.parametrize("batch", [2048, 3, 1])
def test_a_words_pairs_are_its_row_and_its_column_whatever_comes_with_it(counts, monkeypatch, batch):
    monkeypatch.setattr(cpu_ridge, "BATCH", batch)
    n = len(counts)
    H = rounds_reference.dense_rows(counts.indptr, counts.indices, counts.values, n) / UNIT
    ids = np.random.default_rng(0).permutation(n)[:20]
    for word, (columns, after, rows, before) in zip(ids, cpu_ridge.pairs_of(counts, ids), strict=True):
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
    for place, (columns, after, rows, before) in enumerate(cpu_ridge.pairs_of(counts, ids)):
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
    with pytest.raises(InputError, match="damping is -1; give a weight from 0"):
        extend(model, counts, damping=-1)


def test_an_unknown_choice_of_unigrams_is_refused(model, counts):
    with pytest.raises(InputError, match="choose one of: corpus, model"):
        extend(model, counts, unigrams="mine")


def random_problem(generator):
    """Return a small regression of one word whose evidence may have several peaks, and the same cell by cell."""
    m, k = int(generator.integers(3, 25)), int(generator.integers(1, 12))
    features = (generator.standard_normal((m, k)) * 10 ** generator.uniform(-2, 2, k)).astype(np.float32)
    weights = 10 ** generator.uniform(-2, 0, m)
    signal = features @ (generator.standard_normal(k) * 10 ** generator.uniform(-2, 1, k))
    targets = signal * generator.integers(0, 2) + generator.standard_normal(m)
    nothing = np.zeros((k, k))
    regressors = Regressors(features, nothing, np.zeros(k), 0.0, 0, nothing, np.zeros(k))
    cells = Cells(np.arange(m), weights, weights * targets, float(weights @ targets**2), seen=m)
    word = WordScales(*[np.ones(1)] * 6, rho=np.zeros(1))
    return (cells, word, regressors), ridge_reference.WordCells(weights, targets, features.astype(float))


def test_the_ridge_of_greatest_evidence_is_found_where_the_evidence_has_several_peaks(counts, model):
    generator = np.random.default_rng(0)
    fooled = 0
    for _ in range(400):
        problem, cells = random_problem(generator)
        found, _ = solve_word(*problem, model.constants, ridges=RIDGES)
        evidences = np.array([ridge_reference.log_evidence(cells, ridge=mu, damping=0.0) for mu in RIDGES])
        x = ridge_reference.solve(cells, ridge=RIDGES[evidences.argmax()], damping=0.0)
        near_ties = [
            ridge_reference.solve(cells, ridge=mu, damping=0.0)
            for mu, one in zip(RIDGES, evidences, strict=True)
            if one > evidences.max() - 1e-3
        ]
        assert any(np.allclose(found, one, rtol=1e-3, atol=1e-3 * np.abs(x).max()) for one in near_ties)
        climbed = next((i for i in range(7) if evidences[i + 1] <= evidences[i]), 7)
        fooled += bool(evidences[climbed] < evidences.max() - 1)
    assert fooled > 5, "a search that stops at the first fall would have passed"


@pytest.mark.slow
def test_no_blas_uses_threads_of_its_own_while_a_word_is_solved(counts, model, tmp_path):
    """In a process of its own, since SciPy's BLAS must not have been loaded before."""
    counts.save(tmp_path / "counts")
    model.save(tmp_path / "model")
    program = """
import sys
import psdvec
from psdvec.solver import ridge as cpu_ridge
from threadpoolctl import threadpool_info

solve = cpu_ridge.solve_word
def asking(*given, **options):
    found = solve(*given, **options)
    print({one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"})
    return found

cpu_ridge.solve_word = asking
psdvec.extend(sys.argv[1], sys.argv[2], words=[sys.argv[3]], quiet=True)
"""
    word = counts.vocabulary.words[CORE]
    command = [sys.executable, "-c", program, tmp_path / "model", tmp_path / "counts", word]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    said = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert said.stdout == "{1}\n"


def test_the_model_and_the_counts_are_read_once(model, counts, tmp_path, monkeypatch):
    """Each file is compared with its checksum once, and each vector looked at once."""
    model.save(tmp_path / "model")
    counts.save(tmp_path / "counts")
    digested, looked_at = [], []
    digest_file, rows_not_finite = artefact.digest_file, model_module.rows_not_finite
    monkeypatch.setattr(
        artefact, "digest_file", lambda path, **how: digested.append(path) or digest_file(path, **how)
    )
    monkeypatch.setattr(
        model_module, "rows_not_finite", lambda array: looked_at.append(array.shape) or rows_not_finite(array)
    )
    extended = extend(tmp_path / "model", tmp_path / "counts")
    assert len(extended.learned) == 30
    assert sorted(digested) == sorted(
        path
        for name in ("model", "counts")
        for path in (tmp_path / name).iterdir()
        if path.name != "meta.json"
    )
    assert looked_at.count(model.vectors.shape) == 2  # vectors and rows


def test_what_is_refused_is_refused_before_anything_is_read(tmp_path):
    for options in ({"device": "nonsense"}, {"workers": 0}):
        with pytest.raises(InputError, match=r"device|workers"):
            extend(tmp_path / "no model", tmp_path / "no counts", **options)
