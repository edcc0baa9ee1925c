from __future__ import annotations

import copy
import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from psdvec.errors import InputError
from psdvec.evaluation.evaluate import evaluate
from psdvec.evaluation.tasks import read_task
from psdvec.formats import load, save
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.lookup import INSTEAD

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def gensim(consumer):
    consumer("gensim.models")
    return consumer("gensim")


@pytest.fixture(scope="module")
def files(gensim, tmp_path_factory) -> dict[str, Path]:
    """Gensim's own copies of the test sets; every seventh of the analogies."""
    data = Path(gensim.__file__).parent / "test" / "test_data"
    lines = (data / "questions-words.txt").read_text().splitlines(keepends=True)
    some = tmp_path_factory.mktemp("sets") / "questions.txt"
    some.write_text("".join(line for i, line in enumerate(lines) if line.startswith(":") or i % 7 == 0))
    return {"pairs": data / "wordsim353.tsv", "simlex": data / "simlex999.txt", "analogies": some}


@pytest.fixture(scope="module")
def trained(gensim, files):
    """A model trained by gensim, with some words in several cases and some words of the test sets missing."""
    generator = np.random.default_rng(0)
    rows = [item for name in ("pairs", "simlex", "analogies") for item in read_task(files[name]).items]
    sentences = [[*rows[i], *rows[(i + 1) % len(rows)]] for i in generator.permutation(len(rows))[:-150]]
    sentences += [[word.lower() for word in sentence] for sentence in sentences[::3]]
    model = gensim.models.Word2Vec(sentences, vector_size=20, min_count=3, epochs=8, seed=1, workers=1)
    return model.wv


@pytest.fixture(scope="module")
def ours(trained) -> Embeddings:
    counts = [trained.get_vecattr(word, "count") for word in trained.index_to_key]
    return Embeddings(tuple(trained.index_to_key), trained.vectors, np.array(counts))


@pytest.mark.parametrize("name", ["pairs", "simlex"])
@pytest.mark.parametrize("ignore_case", [True, False])
def test_similarity_scores_equal_gensims(trained, ours, files, name: str, ignore_case: bool):
    _, spearman, missing = trained.evaluate_word_pairs(files[name], case_insensitive=ignore_case)
    score = evaluate(ours, [read_task(files[name], name="x")], ignore_case=ignore_case).get("model", "x")
    # The two round cosines differently, which may exchange the ranks of two pairs that are nearly alike.
    assert score.value == pytest.approx(spearman[0], abs=1e-4)
    assert 100 * (1 - score.covered / score.total) == pytest.approx(missing)


@pytest.mark.parametrize("ignore_case", [True, False])
def test_analogy_scores_equal_gensims_in_every_section(trained, ours, files, ignore_case: bool):
    overall, sections = trained.evaluate_word_analogies(files["analogies"], case_insensitive=ignore_case)
    task = read_task(files["analogies"], name="x")
    score = evaluate(ours, [task], methods=["3cosadd"], ignore_case=ignore_case).get("model", "x")
    assert score.value == overall
    assert 0.01 < overall < 0.99
    for section in sections[:-1]:
        right, size = len(section["correct"]), len(section["correct"]) + len(section["incorrect"])
        value, count = score.sections[section["section"]]
        assert (count, round(value * count) if count else 0) == (size, right)


def test_restricting_the_vocabulary_equals_gensims(trained, ours, files):
    limit = len(ours) // 2
    overall, _ = trained.evaluate_word_analogies(files["analogies"], restrict_vocab=limit)
    task = read_task(files["analogies"], name="x")
    assert (
        evaluate(ours, [task], methods=["3cosadd"], restrict_vocab=limit).get("model", "x").value == overall
    )


def assert_same_ranking(found, expected) -> None:
    assert [word for word, _ in found] == [word for word, _ in expected]
    assert [score for _, score in found] == pytest.approx(
        [score for _, score in expected], rel=1e-5, abs=1e-6
    )


def test_queries_answer_as_gensims(trained, ours):
    generator = np.random.default_rng(2)
    for _ in range(50):
        a, b, c, d = generator.choice(ours.words, size=4, replace=False).tolist()
        assert_same_ranking(ours.most_similar(a), trained.most_similar(a))
        assert_same_ranking(ours.most_similar([a, b], [c]), trained.most_similar([a, b], [c]))
        assert_same_ranking(
            ours.most_similar(a, restrict_vocab=99), trained.most_similar(a, restrict_vocab=99)
        )
        assert_same_ranking(
            ours.most_similar([(a, 0.5), b], ours[c]), trained.most_similar([(a, 0.5), b], [trained[c]])
        )
        assert_same_ranking(ours.most_similar_cosmul([a, b], [c]), trained.most_similar_cosmul([a, b], [c]))
        assert ours.similarity(a, b) == pytest.approx(trained.similarity(a, b), abs=1e-6)
        assert ours.distance(a, b) == pytest.approx(trained.distance(a, b), abs=1e-6)
        assert ours.n_similarity([a, b], [c, d]) == pytest.approx(
            trained.n_similarity([a, b], [c, d]), abs=1e-6
        )
        assert ours.doesnt_match([a, b, c, d]) == trained.doesnt_match([a, b, c, d])
        near = trained.most_similar(a)[7][0]  # further down, rounding decides the order
        assert ours.rank(a, near) == trained.rank(a, near) == 8
        assert set(ours.closer_than(a, near)) == set(trained.closer_than(a, near))
        assert np.array_equal(ours.get_vector(a, norm=True), trained.get_vector(a, norm=True))
        assert np.array_equal(ours[[a, b]], trained[[a, b]])
    assert ours.most_similar(a, topn=None) == pytest.approx(trained.most_similar(a, topn=None), abs=1e-6)


def test_other_names_of_gensims_answer_as_gensims(trained, ours):
    assert ours.vector_size == trained.vector_size == 20
    generator = np.random.default_rng(3)
    for _ in range(50):
        a, b, c = words = generator.choice(ours.words, size=3, replace=False).tolist()
        weights = generator.standard_normal(3)
        assert_same_ranking(ours.similar_by_word(a, 7), trained.similar_by_word(a, 7))
        assert_same_ranking(
            ours.similar_by_word(a, restrict_vocab=99), trained.similar_by_word(a, restrict_vocab=99)
        )
        assert_same_ranking(
            ours.similar_by_vector(ours[a] - ours[b]), trained.similar_by_vector(trained[a] - trained[b])
        )
        assert_same_ranking(ours.analogy(a, b, c), trained.most_similar([b, c], [a]))
        assert_same_ranking(ours.analogy(a, b, c, method="3cosmul"), trained.most_similar_cosmul([b, c], [a]))
        assert ours.get_vecattr(a, "count") == trained.get_vecattr(a, "count")
        for options in ({}, {"pre_normalize": False}, {"post_normalize": True}, {"weights": weights}):
            assert ours.get_mean_vector(words, **options) == pytest.approx(
                trained.get_mean_vector(words, **options), abs=1e-6
            )
        mixed = [a, "not-a-word", ours[b]]
        assert ours.get_mean_vector(mixed) == pytest.approx(trained.get_mean_vector(mixed), abs=1e-6)
    for both in (ours, trained):
        with pytest.raises(KeyError):
            both.get_mean_vector(mixed, ignore_missing=False)


def test_trivial_names_of_gensims_answer_as_gensims(trained, ours):
    for both in (ours, trained):
        assert (both.get_index(ours.words[3]), both.get_index("not-a-word", "other")) == (3, "other")
        assert both.get_index("not-a-word", default=-1) == -1
        with pytest.raises(KeyError):
            both.get_index("not-a-word")
    trained.fill_norms(force=True)
    ours.fill_norms()
    ours.fill_norms(force=True)
    assert np.array_equal(ours.norms, trained.norms)
    generator = np.random.default_rng(6)
    for _ in range(50):
        a, b = generator.choice(ours.words, size=2, replace=False).tolist()
        assert np.array_equal(ours.word_vec(a), trained.get_vector(a))
        assert np.array_equal(ours.get_vector(a, True), trained.get_vector(a, True))
        assert ours.cosine_similarities(ours[a], ours.vectors[:9]) == pytest.approx(
            trained.cosine_similarities(trained[a], trained.vectors[:9]), abs=1e-6
        )
        for options in ({}, {"topn": 3}):
            assert ours.relative_cosine_similarity(a, b, **options) == pytest.approx(
                trained.relative_cosine_similarity(a, b, **options), abs=1e-6
            )


@pytest.mark.parametrize(
    "clip",
    [{"clip_start": 40}, {"clip_end": 40}, {"clip_start": 7, "clip_end": 90}, {"clip_start": 5, "clip_end": 10**6},
     {"clip_start": 40, "clip_end": 50, "restrict_vocab": 20}],
)  # fmt: skip
def test_a_search_is_clipped_as_gensims(trained, ours, clip: dict[str, int]):
    for a, b in zip(ours.words[:60:3], ours.words[1:60:3], strict=True):
        assert_same_ranking(ours.most_similar([a, b], **clip), trained.most_similar([a, b], **clip))
        assert ours.most_similar(a, topn=None, **clip) == pytest.approx(
            trained.most_similar(a, topn=None, **clip), abs=1e-6
        )


INNER = {  # of gensim's own making and storing of vectors, and of its log
    "add_lifecycle_event", "allocate_vecattrs", "expandos", "lifecycle_events", "mapfile_path", "next_index",
    "resize_vectors", "log_accuracy", "log_evaluate_word_pairs", "similarity_unseen_docs", "vectors_lockf",
}  # fmt: skip


def test_every_name_of_gensims_is_here_or_says_what_to_write_instead(trained, ours):
    names = {name for name in dir(trained) if not name.startswith("_")} - INNER
    assert {name for name in names if not hasattr(ours, name)} == set(INSTEAD) - {"wv"}


def test_the_movers_distance_equals_gensims(trained, ours, monkeypatch: pytest.MonkeyPatch):
    if importlib.util.find_spec("ot") is None:
        monkeypatch.setitem(sys.modules, "ot", SimpleNamespace(emd2=assign))
    generator = np.random.default_rng(4)
    for norm in (True, False):
        for _ in range(10):
            first, second = (generator.choice(ours.words[:40], size=n).tolist() for n in (4, 6))
            assert ours.wmdistance([*first, "not-a-word"], second, norm=norm) == pytest.approx(
                trained.wmdistance([*first, "not-a-word"], second, norm=norm), abs=1e-5
            )
    assert ours.wmdistance(["not-a-word"], second) == trained.wmdistance(["not-a-word"], second) == np.inf
    assert ours.wmdistance([a := ours.words[0]], [a, a]) == trained.wmdistance([a], [a, a]) == 0


def assign(first, second, distances) -> float:
    """What the solver that gensim imports would answer, for texts of 4 and 6 words: by an assignment of twelfths."""
    one, two = (
        np.repeat(np.arange(len(masses)), np.rint(12 * masses).astype(int)) for masses in (first, second)
    )
    pieces = distances[np.ix_(one, two)]
    return float(pieces[linear_sum_assignment(pieces)].mean())


@pytest.mark.parametrize("options", [{"binary": True}, {"binary": False}, {"write_header": False}])
def test_word2vecs_format_is_saved_as_gensim_saves_it(gensim, trained, ours, options, tmp_path: Path):
    shuffled = ours.take(np.random.default_rng(5).permutation(len(ours)))
    found = []
    for name, vectors in (("ours", shuffled), ("gensims", trained)):
        path = tmp_path / name
        path.write_text("what was there before is replaced")
        vectors.save_word2vec_format(path, **options)
        binary, header = options.get("binary", False), options.get("write_header", True)
        found.append(
            gensim.models.KeyedVectors.load_word2vec_format(path, binary=binary, no_header=not header)
        )
    counts = [[trained.get_vecattr(word, "count") for word in one.index_to_key] for one in found]
    assert counts[0] == counts[1]
    assert np.array_equal(found[0][ours.words[:50]], found[1][ours.words[:50]])


def test_what_the_guide_gives_for_other_names_answers_as_they_do(trained, ours):
    a, b, c, d = ours.words[3:7]
    distances = trained.distances(a)
    assert 1 - ours.most_similar(a, topn=None) == pytest.approx(distances, abs=1e-6)
    assert ours.vectors / ours.lengths[:, None] == pytest.approx(trained.get_normed_vectors(), abs=1e-6)
    chosen = trained.vectors_for_all([c, "not-a-word", a])
    ours_chosen = ours.select(word for word in [c, "not-a-word", a] if word in ours)
    assert list(ours_chosen.words) == chosen.index_to_key
    assert np.array_equal(ours_chosen.vectors, chosen.vectors)
    assert max([b, c, d], key=lambda word: ours.similarity(a, word)) == trained.most_similar_to_given(
        a, [b, c, d]
    )
    more = copy.deepcopy(trained)
    more.add_vectors(["xyzzy", "plugh"], [trained[a], trained[b]])
    more.fill_norms(force=True)  # gensim keeps the old lengths until it is told to
    larger = Embeddings([*ours.words, "xyzzy", "plugh"], np.vstack([ours.vectors, ours[a], ours[b]]))
    assert larger.index_to_key == more.index_to_key
    assert_same_ranking(larger.most_similar("xyzzy"), more.most_similar("xyzzy"))


def test_a_batch_answers_as_gensims_loop(trained, ours):
    words = list(ours.words[:300])
    for found, word in zip(ours.most_similar_many(words), words, strict=True):
        assert_same_ranking(found, trained.most_similar(word))


@pytest.mark.parametrize("binary", [True, False])
def test_gensim_reads_what_we_write(gensim, e: Embeddings, binary: bool, tmp_path: Path):
    save(e, tmp_path / "x", format="binary" if binary else "text")
    found = gensim.models.KeyedVectors.load_word2vec_format(tmp_path / "x", binary=binary)
    assert found.index_to_key == list(e.words)
    assert np.array_equal(found.vectors, e.vectors)


def test_gensim_reads_our_glove_text(gensim, e: Embeddings, tmp_path: Path):
    save(e, tmp_path / "x", format="glove")
    found = gensim.models.KeyedVectors.load_word2vec_format(tmp_path / "x", no_header=True)
    assert np.array_equal(found.vectors, e.vectors)


@pytest.mark.parametrize("name", ["x.bin", "x.txt", "x.txt.gz"])
def test_we_read_what_gensim_writes(trained, name: str, tmp_path: Path):
    trained.save_word2vec_format(str(tmp_path / name), binary=name.endswith("bin"))
    found = load(tmp_path / name)
    assert list(found.words) == trained.index_to_key
    assert found.vectors == pytest.approx(trained.vectors, rel=1e-7)
    if name.endswith("bin"):
        assert np.array_equal(found.vectors, trained.vectors)


def test_a_pickle_of_gensims_is_refused(trained, tmp_path: Path):
    trained.save(str(tmp_path / "x"))
    with pytest.raises(InputError, match="save_word2vec_format"):
        load(tmp_path / "x")
