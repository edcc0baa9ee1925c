"""The contract that every method keeps, and each method compared with a small dense computation."""

from __future__ import annotations

import inspect
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
import scipy.linalg
from scipy import sparse as scipy_sparse

from psdvec import formats
from psdvec.counts.count import count_pairs
from psdvec.counts.vocabulary import Vocabulary
from psdvec.errors import InputError, MissingExtraError, import_extra
from psdvec.evaluation.evaluate import evaluate, solve_analogies
from psdvec.evaluation.tagging import TaggingData, evaluate_tagging
from psdvec.evaluation.tasks import Analogies, Choices, Pairs
from psdvec.methods import METHODS, glove, matrices, method_named, sparse
from psdvec.methods import glove as glove_kernel
from psdvec.methods.gensim import write_text
from psdvec.methods.matrices import context_matrix, leading_singular_vectors
from psdvec.methods.psd import paper_core
from psdvec.methods.run import fit_method, parse_settings, settings_of
from psdvec.storage.artefact import open_artefact
from psdvec.text.corpus import read_corpus
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.model import read_model, write_model
from psdvec.vectors.neighbours import lengths_of, sparse_vectors
from tests.helpers import needs_gensim
from tests.reference import glove as glove_reference
from tests.toy import drawn_counts

SMALL = {"glove": {"epochs": 3}, "fasttext": {"buckets": 100}, "sparse": {"factor": 2}}


def sentences(words: int = 30, amount: int = 300, seed: int = 0) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    chance = 1 / np.arange(1, words + 1)
    lines = rng.choice(words, size=(amount, 10), p=chance / chance.sum())
    return [[f"w{i}" for i in line] for line in lines]


def fit(name: str, text: list[list[str]], *, dim: int = 6, seed: int = 0, vocabulary=None):
    """Fit as the command line does, with one worker, on the counts of ``text`` or on the text itself."""
    counts = count_pairs(text, min_count=1, window=3, vocabulary=vocabulary)
    function = METHODS[name].function
    options = {"dim": dim, "seed": seed, "workers": 1, "vocabulary": counts.vocabulary}
    taken = {key: value for key, value in options.items() if key in inspect.signature(function).parameters}
    source = counts if METHODS[name].reads == "counts" else text
    return function(source, **taken, **SMALL.get(name, {}))


def numbers(vectors) -> np.ndarray:
    return np.asarray(vectors.vectors)


def width(name: str, words: int, dim: int) -> int:
    return {"ppmi": words, "sparse": 2 * dim}.get(name, dim)


@pytest.fixture(
    params=[pytest.param(name, marks=needs_gensim if METHODS[name].package else ()) for name in METHODS]
)
def name(request):
    return request.param


@pytest.mark.slow
def test_vectors_are_finite_one_per_word_in_the_vocabulary_s_order(name):
    text = sentences()
    vectors = fit(name, text)
    words = count_pairs(text, min_count=1).vocabulary.words
    assert tuple(vectors.words) == words
    assert numbers(vectors).shape == (len(words), width(name, len(words), 6))
    assert numbers(vectors).dtype == np.float32
    assert np.isfinite(numbers(vectors)).all()
    assert numbers(vectors).any(axis=1).sum() > len(words) / 2


def test_the_same_seed_gives_the_same_vectors(name):
    one, two = (fit(name, sentences(), seed=3) for _ in range(2))
    assert numbers(one).tobytes() == numbers(two).tobytes()


def test_words_without_pairs_get_finite_vectors(name):
    text = [*sentences(), ["alone"], ["single"]]
    vectors = fit(name, text)
    assert np.isfinite(numbers(vectors)).all()
    if name not in ("psd", "psd-unreg", "psd-original"):  # these leave out words that no ridge can place
        assert {"alone", "single"} <= set(vectors.words)


def test_more_dimensions_than_words_are_filled_up(name):
    text = sentences(words=18, amount=800)
    vectors = fit(name, text, dim=40)
    assert numbers(vectors).shape == (18, width(name, 18, 40))
    assert np.isfinite(numbers(vectors)).all()


def test_vectors_survive_being_written_and_read(name, tmp_path):
    text = sentences()
    count_pairs(text, min_count=1, window=3, output=tmp_path / "counts")
    (tmp_path / "text").write_text("\n".join(map(" ".join, text)))
    made = fit_method(
        name, tmp_path / "counts", output=tmp_path / "model", dim=6, workers=1, settings=SMALL.get(name),
        corpus=None if METHODS[name].reads == "counts" else [tmp_path / "text"],
    )  # fmt: skip
    again = formats.load(tmp_path / "model")
    assert tuple(again.words) == tuple(made.words)
    assert numbers(again).tobytes() == numbers(made).tobytes()


def test_loading_the_list_of_methods_loads_none_of_them():
    code = "import sys, psdvec.methods, psdvec.methods.run; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not set(loaded.split()) & {"numba", "scipy", "gensim", "sklearn"}


# Settings


def test_settings_are_read_by_the_types_of_the_method():
    assert parse_settings("fasttext", ["skipgram=false", "window=2"]) == {"skipgram": False, "window": 2}
    assert parse_settings("sparse", ["vectors=some/where"]) == {"vectors": "some/where"}
    assert settings_of("glove") == {"x_max": 10.0, "alpha": 0.75, "eta": 0.05, "epochs": 25}


@pytest.mark.parametrize(
    ("method", "text", "message"),
    [
        ("glove", "xmax=3", "its settings are x_max, alpha, eta, epochs"),
        ("psdvec", "x=3", "its settings are smoothing, background"),
        ("psd", "diagonal=1", "give true or false"),
        ("glove", "epochs=many", "give a whole number"),
        ("glove", "eta=much", "give a number"),
        ("glove", "eta", "has no value"),
        ("svd", "add_contexts=1", "give true or false"),
    ],
)
def test_wrong_settings_are_explained(method, text, message):
    with pytest.raises(InputError, match=message):
        parse_settings(method, [text])


def test_an_unknown_method_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match="choose one of psdvec, psdvec-plain, psd,"):
        method_named("lsa")


def test_text_is_asked_for_where_it_is_needed_and_nowhere_else(tmp_path):
    drawn_counts().save(tmp_path / "counts")
    with pytest.raises(InputError, match="give the corpus as well"):
        fit_method("word2vec", tmp_path / "counts", output=tmp_path / "x")
    with pytest.raises(InputError, match="leave out the corpus"):
        fit_method("svd", tmp_path / "counts", output=tmp_path / "x", corpus=["text"])
    assert not (tmp_path / "x").exists()


def test_the_command_fits_by_any_method(tmp_path, run):
    counts, model = tmp_path / "counts", tmp_path / "model"
    drawn_counts().save(counts)
    code, out, _ = run("fit", counts, "-o", model, "--method", "svd", "--dim", 4, "--set", "power=0", "-q")
    assert (code, "60 vectors of 4 dimensions" in out) == (0, True)
    np.testing.assert_array_equal(
        read_model(model).vectors, matrices.fit_svd(drawn_counts(), dim=4, power=0.0).vectors
    )
    assert open_artefact(model).parameters["settings"]["power"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "svd", "--rounds", 2], "--rounds works with the method psdvec only"),
        (["--method", "svd", "--max-words", 2], "--max-words works with the method psdvec only"),
        (["--method", "svd", "--dry-run"], "--dry-run works with the method psdvec only"),
        (["--method", "word2vec"], "give the corpus as well"),
        (["--method", "lsa"], "there is no method 'lsa'"),
        (["--set", "shift=1"], "the method psdvec has no setting 'shift'"),
        (["--corpus", "text.txt"], "reads only counts"),
    ],
)
def test_the_command_explains_what_does_not_fit_a_method(tmp_path, run, arguments, message):
    drawn_counts().save(tmp_path / "counts")
    code, _, said = run("fit", tmp_path / "counts", "-o", tmp_path / "model", *arguments)
    assert code == 1
    assert message in said
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    "call",
    [
        lambda counts: matrices.fit_svd(counts, dim=0),
        lambda counts: matrices.fit_svd(counts, shift=0),
        lambda counts: matrices.fit_cca(counts, root=0),
        lambda counts: glove.fit(counts, dim=0),
        lambda counts: glove.fit(counts, epochs=0),
    ],
)
def test_numbers_that_make_no_sense_are_refused(call):
    with pytest.raises(InputError, match="give"):
        call(drawn_counts())


# Each method against the formula, dense


def dense_counts(counts) -> np.ndarray:
    H = np.zeros((len(counts), len(counts)))
    for i in range(len(counts)):
        cells = slice(counts.indptr[i], counts.indptr[i + 1])
        H[i, counts.indices[cells]] = counts.values[cells] / 720720
    return H + H.T


def dense_ppmi(X: np.ndarray, *, shift: float, smoothing: float) -> np.ndarray:
    smooth = X.sum(axis=0) ** smoothing / (X.sum(axis=0) ** smoothing).sum()
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(X / X.sum(axis=1, keepdims=True) / smooth / shift), 0)


@pytest.mark.parametrize(("shift", "smoothing"), [(1.0, 0.75), (5.0, 1.0)])
def test_ppmi_is_the_formula(shift, smoothing):
    counts = drawn_counts()
    found = matrices.fit_ppmi(counts, shift=shift, context_smoothing=smoothing)
    expected = dense_ppmi(dense_counts(counts), shift=shift, smoothing=smoothing)
    np.testing.assert_allclose(numbers(found), expected, atol=1e-5)


def gram(vectors: np.ndarray) -> np.ndarray:
    return vectors @ vectors.T  # what is left of vectors when rotations and signs do not count


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_svd_is_numpy_s(power):
    counts = drawn_counts()
    U, s, _ = np.linalg.svd(dense_ppmi(dense_counts(counts), shift=1, smoothing=0.75))
    expected = U[:, :7] * s[:7] ** power
    found = matrices.fit_svd(counts, dim=7, power=power)
    np.testing.assert_allclose(gram(numbers(found)), gram(expected), atol=1e-3 * s[0] ** (2 * power))


def test_svd_adds_contexts_of_unit_length():
    counts = drawn_counts()
    U, s, Vt = np.linalg.svd(dense_ppmi(dense_counts(counts), shift=1, smoothing=0.75))
    word, context = (side[:, :7] * np.sqrt(s[:7]) for side in (U, Vt.T))
    expected = sum(side / np.linalg.norm(side, axis=1, keepdims=True) for side in (word, context))
    np.testing.assert_allclose(
        gram(numbers(matrices.fit_svd(counts, dim=7, add_contexts=True))), gram(expected), atol=2e-3
    )


@pytest.mark.slow
def test_singular_vectors_of_a_larger_matrix_are_arpack_s():
    rng = np.random.default_rng(0)
    decay = rng.standard_normal((900, 40)) * 0.8 ** np.arange(40)
    noise = scipy_sparse.random_array((900, 900), density=0.02, rng=rng)
    matrix = scipy_sparse.csr_array(decay @ rng.standard_normal((40, 900)) * (noise.toarray() > 0))
    U, s, Vt = scipy_sparse.linalg.svds(matrix, k=6, random_state=0)
    found = leading_singular_vectors(matrix, rank=6, seed=0)
    np.testing.assert_allclose(found.values, s[::-1], rtol=1e-3)
    np.testing.assert_allclose(
        (found.left * found.values) @ found.right.T, (U * s) @ Vt, atol=2e-2 * np.abs((U * s) @ Vt).max()
    )


def test_plain_cca_is_the_generalised_eigenproblem():
    counts = drawn_counts()
    C = dense_counts(counts)
    words, contexts = np.diag(C.sum(axis=1)), np.diag(1 / C.sum(axis=0))
    _, directions = scipy.linalg.eigh(C @ contexts @ C.T, words)
    U = np.sqrt(words) @ directions[:, ::-1][:, :5]
    expected = U / np.linalg.norm(U, axis=1, keepdims=True)
    found = matrices.fit_cca(counts, dim=5, root=1.0, context_smoothing=1.0, power=0.0)
    np.testing.assert_allclose(gram(numbers(found)), gram(expected), atol=5e-3)


def test_cca_takes_roots_and_smooths_contexts():
    X = context_matrix(drawn_counts())
    dense = X.toarray()
    expected = np.sqrt(dense) / np.sqrt(
        np.sqrt(dense.sum(axis=1))[:, None] * np.sqrt(dense.sum(axis=0)) ** 0.75
    )
    found = matrices.correlations(X, root=0.5, context_smoothing=0.75)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-12)


# GloVe


def glove_case(dim: int = 5):
    generator = np.random.default_rng(0)
    pairs = glove.weigh_pairs(context_matrix(drawn_counts()), x_max=10, alpha=0.75, generator=generator)
    return pairs, glove.first_vectors(60, dim, generator)


def test_a_pass_of_glove_equals_its_slow_twin():
    pairs, vectors = glove_case()
    slow, squares = vectors.astype(np.float64), np.ones(vectors.shape)
    arrays = (pairs.rows, pairs.columns, pairs.logs, pairs.weights)
    fast_squares = np.ones_like(vectors)
    for _ in range(2):
        expected = glove_reference.pass_over_pairs(*arrays, slow, squares, eta=0.05)
        found = glove_kernel.pass_over_pairs(*arrays, vectors, fast_squares, 0.05, 0, len(pairs.rows))
        assert found == pytest.approx(expected, rel=1e-4)
    np.testing.assert_allclose(vectors, slow, atol=1e-4)
    np.testing.assert_allclose(fast_squares, squares, rtol=1e-3)


def test_the_steps_of_glove_go_down_the_gradient_of_its_loss():
    pairs, vectors = glove_case()
    place = (slice(0, 1),) * 4
    one = [getattr(pairs, name)[place[0]] for name in ("rows", "columns", "logs", "weights")]
    before = vectors.astype(np.float64)
    after = before.copy()
    glove_reference.pass_over_pairs(*one, after, np.ones(before.shape), eta=1e-3)

    def loss(values):
        return glove_reference.loss(*one, values[:, :, :-1], values[:, :, -1])

    for index in np.argwhere(after != before):
        moved = before.copy()
        moved[tuple(index)] += 1e-6
        slope = (loss(moved) - loss(before)) / 1e-6
        assert (after - before)[tuple(index)] == pytest.approx(-1e-3 * slope, rel=1e-2, abs=1e-9)
    assert len(np.argwhere(after != before)) == 2 * 6


def test_the_loss_of_glove_falls_with_one_thread_and_with_several(monkeypatch):
    for threads in (1, 3):
        pairs, vectors = glove_case()
        arrays = (pairs.rows, pairs.columns, pairs.logs, pairs.weights)
        before = glove_reference.loss(*arrays, vectors[:, :, :-1], vectors[:, :, -1])
        monkeypatch.setattr(glove, "thread_limit", lambda threads=threads: threads)
        losses = list(glove.descend(pairs, vectors, eta=0.05, epochs=15))
        assert all(later < earlier for earlier, later in pairwise(losses[:6]))
        assert glove_reference.loss(*arrays, vectors[:, :, :-1], vectors[:, :, -1]) < before / 3


def test_pairs_weigh_by_their_counts_up_to_one():
    pairs, _ = glove_case()
    counts = np.exp(pairs.logs.astype(np.float64))
    np.testing.assert_allclose(pairs.weights, np.minimum((counts / 10) ** 0.75, 1), rtol=1e-5)


# Sparse vectors and sparse coding


def both_kinds(words: int = 40):
    matrix = scipy_sparse.random_array((words, 25), density=0.3, rng=np.random.default_rng(1), format="csr")
    names = tuple(f"w{i}" for i in range(words))
    return Embeddings(names, sparse_vectors(matrix)), Embeddings(names, matrix.toarray().astype(np.float32))


def test_sparse_vectors_answer_as_dense_ones_do():
    rows, dense = both_kinds()
    assert [w for w, _ in rows.most_similar("w3", topn=5)] == [w for w, _ in dense.most_similar("w3", topn=5)]
    assert rows.similarity("w1", "w2") == pytest.approx(dense.similarity("w1", "w2"), abs=1e-6)
    assert rows.doesnt_match(["w1", "w5", "w7"]) == dense.doesnt_match(["w1", "w5", "w7"])
    assert rows.rank("w1", "w9") == dense.rank("w1", "w9")
    np.testing.assert_allclose(rows["w4"], dense["w4"])
    np.testing.assert_allclose(rows[["w4", "w5"]], dense[["w4", "w5"]])
    ask = {"positive": ["w1", "w2"], "negative": ["w3"], "topn": 3}
    assert [w for w, _ in rows.most_similar(**ask)] == [w for w, _ in dense.most_similar(**ask)]
    assert [w for w, _ in rows.most_similar_cosmul(**ask)] == [w for w, _ in dense.most_similar_cosmul(**ask)]


@pytest.mark.parametrize("oov", ["skip", "zero", "mean"])
def test_sparse_vectors_score_as_dense_ones_do(oov, monkeypatch):
    monkeypatch.setattr("psdvec.evaluation.evaluate._NUMBERS", 200)  # four pairs at a time
    rng = np.random.default_rng(2)
    words = [f"w{i}" for i in range(40)] + ["missing"]
    tasks = [
        Pairs("pairs", tuple(tuple(rng.choice(words, 2, replace=False)) for _ in range(30)), rng.random(30)),
        Choices("choices", tuple(tuple(rng.choice(words, 4, replace=False)) for _ in range(20))),
        Analogies(
            "analogies", tuple(tuple(rng.choice(words, 4, replace=False)) for _ in range(20)), ("a",) * 20
        ),
    ]
    rows, dense = both_kinds()
    report = evaluate({"rows": rows, "dense": dense}, tasks, oov=oov, resamples=0)
    for task, metric in report.columns:
        one, other = (report.get(model, task, metric).items.outcomes for model in ("rows", "dense"))
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_analogies_of_sparse_rows_are_taken_block_by_block(monkeypatch):
    rows, dense = both_kinds()
    questions = np.random.default_rng(3).integers(40, size=(30, 3))
    expected = solve_analogies(dense.vectors, lengths_of(dense.vectors), questions)
    monkeypatch.setattr("psdvec.evaluation.evaluate._COLUMNS", 7)
    found = solve_analogies(rows.vectors, lengths_of(rows.vectors), questions)
    assert found.tolist() == expected.tolist()


def test_sparse_vectors_go_into_a_model_folder_and_nowhere_else(tmp_path):
    rows, dense = both_kinds()
    write_model(rows, tmp_path / "model")
    again = read_model(tmp_path / "model")
    np.testing.assert_array_equal(np.asarray(again.vectors), dense.vectors)
    assert not (tmp_path / "model" / "vectors.safetensors").exists()
    with pytest.raises(InputError, match="only be saved as a model folder"):
        formats.save(rows, tmp_path / "rows.txt")


def test_sparse_vectors_are_no_features_of_a_tagger():
    rows, _ = both_kinds()
    with pytest.raises(InputError, match="too many features"):
        evaluate_tagging({"ppmi": rows}, TaggingData("toy", (), (), (), ()))


def test_sparse_codes_are_sparse_and_give_back_the_vectors():
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((12, 8))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    chosen = np.array([rng.permutation(12)[:2] for _ in range(400)])
    vectors = (atoms[chosen] * rng.uniform(0.5, 1, (400, 2, 1))).sum(axis=1).astype(np.float32)
    given = Embeddings(tuple(f"w{i}" for i in range(400)), vectors)
    plain = sparse.encode(given, factor=2, l1=0.05, workers=1)
    assert plain.vectors.shape == (400, 16)
    assert np.mean(plain.vectors == 0) > 0.6
    # the codes keep the geometry: words with the same two atoms are near each other, others less so
    cosines = np.corrcoef([given.similarity("w0", w) for w in given.words[1:]],
                          [plain.similarity("w0", w) for w in plain.words[1:]])  # fmt: skip
    assert cosines[0, 1] > 0.7
    positive = sparse.encode(given, factor=2, l1=0.05, nonnegative=True, workers=1)
    assert positive.vectors.min() >= 0
    harder = sparse.encode(given, factor=2, l1=0.3, workers=1)
    assert np.mean(harder.vectors == 0) > np.mean(plain.vectors == 0)


def test_given_vectors_are_coded_without_a_corpus(tmp_path):
    counts = drawn_counts()
    counts.save(tmp_path / "counts")
    given = matrices.fit_svd(counts, dim=6)
    write_model(given, tmp_path / "svd")
    made = fit_method(
        "sparse", tmp_path / "counts", output=tmp_path / "model", settings={"vectors": str(tmp_path / "svd")}
    )
    assert made.vectors.shape == (60, 30)
    np.testing.assert_array_equal(made.vectors, sparse.encode(given).vectors)


@pytest.mark.slow
def test_codes_and_dictionary_are_no_worse_than_scikit_learn_s():
    from sklearn.decomposition import DictionaryLearning

    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 6)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    theirs = DictionaryLearning(
        n_components=12, alpha=0.1, fit_algorithm="lars", transform_algorithm="lasso_lars", transform_alpha=0.1,
        max_iter=30, random_state=0,
    )  # fmt: skip
    codes = theirs.fit_transform(X).astype(np.float32)
    D, A = theirs.components_.astype(np.float32), np.zeros((150, 12), np.float32)
    known = sparse.objective(X, D, codes, l1=0.1)
    sparse.lower_codes(X, D, A, l1=0.1, nonnegative=False, steps=500)
    assert known * (1 - 1e-3) < sparse.objective(X, D, A, l1=0.1) < known * (1 + 1e-5)
    values = [known]
    for _ in range(5):
        D = sparse.better_dictionary(X, D, A)
        values.append(sparse.objective(X, D, A, l1=0.1))
        sparse.lower_codes(X, D, A, l1=0.1, nonnegative=False, steps=200)
        values.append(sparse.objective(X, D, A, l1=0.1))
    assert all(later <= earlier * (1 + 1e-5) for earlier, later in pairwise(values))


# Text for gensim


def test_text_is_handed_on_as_it_is_tokenised(tmp_path):
    (tmp_path / "in.txt").write_text("One\ttwo,  THREE!\n\n\nvier\x0bfünf\n", encoding="utf-8")
    corpus = read_corpus(tmp_path / "in.txt")
    assert write_text(corpus, tmp_path / "out.txt") == 5
    lines = (tmp_path / "out.txt").read_text(encoding="utf-8").split("\n")
    assert [line.split() for line in lines if line.strip()] == list(corpus)


def test_a_package_that_has_no_release_for_this_python_is_not_said_to_be_installed_by_an_extra(monkeypatch):
    monkeypatch.setattr("psdvec.errors._NOT_YET", {"no_such_package": (3, 11)})
    with pytest.raises(
        MissingExtraError, match=r"it has no release for Python 3\.11 and newer; use Python 3\.10"
    ):
        import_extra("no_such_package", extra="compare", purpose="training")


@needs_gensim
def test_text_without_words_is_refused(tmp_path):
    with pytest.raises(InputError, match="holds no words"):
        METHODS["word2vec"].function([], vocabulary=Vocabulary(("a",), np.array([1])), dim=3)


@needs_gensim
def test_skipgram_and_cbow_differ():
    counts = count_pairs(sentences(), min_count=1)
    one, two = (
        METHODS[name].function(sentences(), vocabulary=counts.vocabulary, dim=4, workers=1, alpha=0.025)
        for name in ("skipgram", "word2vec")
    )
    assert np.abs(one.vectors - two.vectors).max() > 1e-4


@needs_gensim
@pytest.mark.parametrize("name", ["fasttext", "fasttext-words"])
def test_the_power_by_which_fasttext_draws_wrong_answers_matters(name):
    counts = count_pairs(sentences(), min_count=1)
    options = {"vocabulary": counts.vocabulary, "dim": 4, "workers": 1, **SMALL.get(name, {})}
    even, steep = (METHODS[name].function(sentences(), **options, exponent=power) for power in (0.0, 1.0))
    assert np.abs(even.vectors - steep.vectors).max() > 1e-4


@needs_gensim
def test_how_words_are_spelled_matters_to_fasttext_but_not_without_subwords():
    text = sentences()
    spelled = [[{"w0": "umbrella", "w1": "umbrellas"}.get(word, word) for word in line] for line in text]
    for name, matters in (("fasttext", True), ("fasttext-words", False)):
        plain, other = (numbers(fit(name, lines)) for lines in (text, spelled))
        assert np.array_equal(plain, other) is not matters


def test_the_paper_s_core_is_a_third_and_never_too_large():
    assert [paper_core(n) for n in (1, 9, 60_000, 180_000)] == [1, 3, 20_000, 25_000]
