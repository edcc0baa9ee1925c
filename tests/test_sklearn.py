from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks
from sklearn.utils.validation import check_is_fitted, validate_data

from psdvec.counts.count import count_pairs
from psdvec.errors import InputError
from psdvec.formats import save
from psdvec.sklearn import ItemVectors, Topics, WordVectors
from psdvec.solver.fit import fit
from psdvec.solver.train import train
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.sentences import common_direction, mean_vectors, sif_weights, without_direction


def toy() -> Embeddings:
    vectors = np.array([[1, 0], [0.9, 0.1], [0, 1], [0.1, 1.1]], dtype=np.float32)
    return Embeddings(("good", "fine", "bad", "awful"), vectors, np.array([9, 5, 3, 1]))


def test_scikit_learn_itself_finds_no_fault():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns that it cannot test an estimator of texts any further
        results = estimator_checks.check_estimator(WordVectors(toy()), on_fail=None, on_skip=None)
    assert [result["check_name"] for result in results if result["status"] != "passed"] == []


class BehindNumbers:
    """An estimator behind a matrix of numbers, each number one of ten words, so that all checks can be run on it."""

    def fit(self, X, y=None):
        return super().fit(self._texts(X, reset=True), y)

    def transform(self, X):
        check_is_fitted(self)
        return super().transform(self._texts(X, reset=False))

    def _texts(self, X, *, reset: bool) -> list[str]:
        matrix = validate_data(self, X, reset=reset)
        return [" ".join(f"w{int(abs(number) * 7) % 10}" for number in row) for row in matrix]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = False, True
        return tags


class RowsAsTexts(BehindNumbers, WordVectors):
    pass


class RowsAsDocuments(BehindNumbers, Topics):
    pass


# Every check passes but these, which are left out.
EXCLUDED = {
    "check_array_api_input": "it is run only where SCIPY_ARRAY_API is set, and texts are no arrays of numbers"
}


@pytest.mark.parametrize("weighting", ["mean", "sif"])
def test_behind_a_matrix_of_numbers_every_check_of_an_estimator_passes(weighting: str):
    """For texts scikit-learn only clones; the rest of its checks make matrices of numbers."""
    vectors = np.random.default_rng(0).standard_normal((10, 4)).astype(np.float32)
    e = Embeddings(tuple(f"w{i}" for i in range(10)), vectors)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = estimator_checks.check_estimator(
            RowsAsTexts(e, weighting=weighting), on_fail=None, on_skip=None
        )
    others = {result["check_name"]: result["exception"] for result in results if result["status"] != "passed"}
    assert len(results) > 30
    assert others.keys() <= EXCLUDED.keys(), others


def test_a_pipeline_learns_from_words_it_has_not_seen_in_training():
    model = make_pipeline(WordVectors(toy()), LogisticRegression())
    model.fit(["good", "Good good", "bad", "bad!"], [1, 1, 0, 0])
    assert model.predict(["fine", "awful"]).tolist() == [1, 0]


def test_a_path_serves_as_well_as_embeddings(tmp_path: Path):
    save(toy(), tmp_path / "model")
    texts = ["good bad", "nothing"]
    from_path = WordVectors(tmp_path / "model").fit_transform(texts)
    assert np.array_equal(from_path, WordVectors(toy()).fit_transform(texts))


def test_a_model_in_memory_serves_as_well_as_its_folder(tmp_path: Path):
    m = fit(count_pairs([["U.S.", "Straße", "a"], ["a", "3.5"]] * 5, min_count=1), dim=2)
    m.save(tmp_path / "model")
    texts = ["U.S. a", "Straße", "3.5 und"]
    rows = WordVectors(m).fit_transform(texts)
    assert np.array_equal(rows, mean_vectors(m, [text.split() for text in texts]))
    assert np.array_equal(rows, WordVectors(str(tmp_path / "model")).fit_transform(texts))
    assert clone(WordVectors(m)).vectors is m


def test_a_tokenizer_can_be_given_by_name_or_as_a_function():
    def last_word(text: str) -> list[str]:
        return text.split()[-1:]

    rows = WordVectors(toy(), tokenizer="whitespace").fit_transform(["good bad!"])
    assert np.array_equal(rows, toy()[["good"]])
    assert np.array_equal(WordVectors(toy(), tokenizer=last_word).fit_transform(["good bad"]), toy()[["bad"]])
    with pytest.raises(InputError, match="there is no tokenizer 'spacy'"):
        WordVectors(toy(), tokenizer="spacy").fit_transform(["good"])


def test_what_was_fitted_can_be_pickled():
    fitted = WordVectors(toy(), weighting="sif", tokenizer="unicode").fit(["good", "bad"])
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.transform(["Good, fine"]), fitted.transform(["Good, fine"]))


@pytest.mark.parametrize("given", [None, float("nan"), 3, b"good", ["good"]])
def test_a_row_that_is_no_text_is_named(given: object):
    for method in ("fit", "fit_transform"):
        with pytest.raises(InputError) as error:
            getattr(WordVectors(toy()), method)(["good", given])
        assert str(error.value) == (
            f"row 1 of the texts, counted from 0, is {given!r} and not a string; leave it out, or put an empty "
            "string in its place"
        )


def test_a_table_with_one_column_is_that_column_and_any_other_is_refused():
    column = np.array([["good"], ["bad, awful"]], dtype=object)
    expected = WordVectors(toy()).fit_transform(["good", "bad, awful"])
    assert np.array_equal(WordVectors(toy()).fit_transform(column), expected)
    with pytest.raises(InputError, match=r"was given a table of shape \(2, 2\); give one of its columns"):
        WordVectors(toy()).fit(np.hstack([column, column]))


def test_a_data_frame_is_its_only_column():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed; run pip install pandas")
    frame = pandas.DataFrame({"text": ["good", "bad", None], "stars": [5, 1, 3]})
    rows = WordVectors(toy()).fit_transform(["good", "bad"])
    for given in (frame["text"][:2], frame[["text"]][:2]):
        assert np.array_equal(WordVectors(toy()).fit_transform(given), rows)
    with pytest.raises(
        InputError, match=r"table of shape \(3, 2\) with the columns 'text', 'stars'; give one"
    ):
        WordVectors(toy()).fit(frame)
    with pytest.raises(
        InputError, match=r"row 2 of the texts, counted from 0, is (None|nan) and not a string"
    ):
        WordVectors(toy()).fit(frame["text"])


def test_sif_takes_the_direction_of_the_texts_it_was_fitted_on():
    texts = [["good", "fine"], ["bad"], ["good"]]
    encoder = WordVectors(toy(), weighting="sif").fit([" ".join(words) for words in texts])
    means = mean_vectors(toy(), texts, weights=sif_weights(toy()))
    direction = common_direction(means.T.astype(float) @ means)
    awful = mean_vectors(toy(), [["awful"]], weights=sif_weights(toy()))
    assert encoder.transform(["awful"]) == pytest.approx(without_direction(awful, direction))


def test_clones_share_the_vectors_instead_of_copying_them():
    e = toy()
    assert clone(WordVectors(e)).vectors is e


def test_names_of_the_columns_are_as_many_as_the_columns():
    encoder = WordVectors(toy()).fit(["good"])
    assert encoder.get_feature_names_out().tolist() == ["wordvectors0", "wordvectors1"]


def test_wrong_use_is_explained():
    with pytest.raises(InputError, match="was given no vectors"):
        WordVectors().fit(["good"])
    with pytest.raises(InputError, match="the weighting is"):
        WordVectors(toy(), weighting="median").fit(["good"])
    with pytest.raises(InputError, match="put it into a list"):
        WordVectors(toy()).fit_transform("good")


def test_unseen_words_are_left_out_or_taken_by_their_spelling():
    from tests.spelled import vocabulary

    e, texts = vocabulary(), ["The players play!", "walkers"]
    words = [["the", "players", "play"], ["walkers"]]
    for unseen in ("ignore", "spelling"):
        rows = WordVectors(e, unseen=unseen).fit_transform(texts)
        assert np.array_equal(rows, mean_vectors(e, words, unseen=unseen))
    assert not WordVectors(e).fit_transform(texts)[1].any()
    with pytest.raises(InputError, match="know nothing of spelling"):
        WordVectors(toy(), unseen="spelling").fit(texts)
    with pytest.raises(InputError, match='choose unseen="ignore" or unseen="spelling"'):
        WordVectors(e, unseen="error").fit(texts)


@pytest.mark.slow
def test_topics_pass_every_check_of_an_estimator_behind_a_matrix_of_numbers():
    vectors = np.random.default_rng(0).standard_normal((10, 4)).astype(np.float32)
    e = Embeddings(tuple(f"w{i}" for i in range(10)), vectors)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = estimator_checks.check_estimator(
            RowsAsDocuments(e, n_topics=2, min_documents=1), on_fail=None, on_skip=None
        )
        texts = estimator_checks.check_estimator(Topics(e), on_fail=None, on_skip=None)
    others = {result["check_name"]: result["exception"] for result in results if result["status"] != "passed"}
    assert len(results) > 30
    # One document cannot have two topics.
    assert others.keys() <= EXCLUDED.keys() | {"check_fit2d_1sample"}, others
    assert [result["check_name"] for result in texts if result["status"] != "passed"] == []


TOPIC_TEXTS = ["good fine good", "Fine, good!", "bad awful", "awful bad bad"] * 5


def test_topics_of_texts_are_columns_that_a_pipeline_learns_from():
    from tests.topic_model.planted import planted_texts, planted_vectors

    model = make_pipeline(Topics(planted_vectors(), n_topics=4), LogisticRegression())
    model.fit(planted_texts(), ["farm", "music", "bank", "sea"] * 30)
    assert model.predict(planted_texts(documents=4, seed=1)).tolist() == ["farm", "music", "bank", "sea"]
    encoder = model[0]
    assert encoder.get_feature_names_out().tolist() == ["topics0", "topics1", "topics2", "topics3"]
    rows = encoder.transform(["sea0 sea1 sea2", "nothing known", ""])
    assert rows.shape == (3, 4)
    assert rows[0].any()
    assert rows.dtype == np.float32
    assert not rows[1:].any()


def test_topics_are_those_of_the_library_and_survive_pickling():
    from psdvec.topic_model.topics import topics

    encoder = Topics(toy(), n_topics=2, min_documents=1, random_state=3, seed_words={"ill": ["bad"]})
    encoder.fit(TOPIC_TEXTS)
    own = topics(toy(), TOPIC_TEXTS, 2, min_documents=1, seed=3, seed_words={"ill": ["bad"]}, quiet=True)
    assert np.array_equal(encoder.topics_.tilts, own.tilts)
    assert encoder.topics_.labels[0] == "ill"
    again = pickle.loads(pickle.dumps(encoder))
    assert np.array_equal(again.transform(TOPIC_TEXTS), own.transform(TOPIC_TEXTS))
    assert clone(encoder).vectors is encoder.vectors


def test_texts_for_topics_can_be_cut_by_name_or_by_a_function():
    for tokenizer in ("whitespace", str.split):
        encoder = Topics(toy(), n_topics=2, min_documents=1, tokenizer=tokenizer).fit(TOPIC_TEXTS)
        assert encoder.transform(["good fine " * 30, "Good! Fine!"]).any(axis=1).tolist() == [True, False]


def test_wrong_use_of_topics_is_explained():
    for made, texts, sentence in (
        (Topics(), TOPIC_TEXTS, "Topics was given no vectors"),
        (Topics(toy()), "good", "Topics takes a list of texts, but was given a single string"),
        (Topics(toy()), ["good", None], "row 1 of the texts, counted from 0, is None and not a string"),
        (Topics(toy(), random_state=None), TOPIC_TEXTS, "random_state is None; give a number"),
        (Topics(toy(), n_topics=90, min_documents=1), TOPIC_TEXTS, "90 topics were asked for, but only 20"),
    ):
        with pytest.raises(InputError, match=sentence):
            made.fit(texts)


# Baskets, and vectors that are trained in fit


ORDERS = [["bread", "butter"], ["bread", "butter", "jam"], ["beer", "crisps"], ["beer", "crisps", "jam"]] * 6
MEALS = ["breakfast", "breakfast", "evening", "evening"] * 6


def test_item_vectors_are_the_means_of_what_train_finds():
    baskets = [[1, 2, 3], [2, 3], [3, 1, 3]] * 5
    rows = ItemVectors(dim=2).fit_transform([*baskets, [99]])
    model = train([*baskets, [99]], items=True, dim=2, quiet=True)
    assert (rows[0] == mean_vectors(model, [[1, 2, 3]])[0]).all()
    assert (rows[2] == mean_vectors(model, [[3, 1]])[0]).all()
    assert not rows[-1].any()
    assert ItemVectors(dim=2).fit(baskets).get_feature_names_out().tolist() == [
        "itemvectors0",
        "itemvectors1",
    ]


def test_item_vectors_are_cloned_and_searched_like_any_estimator():
    pipeline = make_pipeline(ItemVectors(min_count=1), LogisticRegression())
    search = GridSearchCV(pipeline, {"itemvectors__dim": [2, 3], "itemvectors__window": [None, 2]}, cv=2)
    search.fit(ORDERS, MEALS)
    assert search.best_score_ == 1.0
    assert search.predict([["bread"], {"crisps", "beer"}]).tolist() == ["breakfast", "evening"]
    assert clone(ItemVectors(dim=7)).get_params()["dim"] == 7


def test_baskets_that_are_none_are_refused():
    with pytest.raises(InputError, match="basket 0 is 'bread', not a list of items"):
        ItemVectors(dim=2, min_count=1).fit(["bread"])
    with pytest.raises(InputError, match="basket 0 is 'bread', not a list of items"):
        ItemVectors(dim=2, min_count=1).fit(ORDERS).transform(["bread"])
    with pytest.raises(InputError, match=r"dim is 2\.5; give a whole number"):
        ItemVectors(dim=2.5).fit(ORDERS)


@pytest.mark.parametrize("tokenizer", [None, "whitespace", str.split])
def test_word_vectors_without_vectors_are_trained_on_the_texts(tokenizer):
    texts = [" ".join(order) for order in ORDERS]
    rows = WordVectors(dim=3, tokenizer=tokenizer).fit_transform(texts)
    assert (rows == WordVectors(train(texts, dim=3, quiet=True)).fit_transform(texts)).all()
    with pytest.raises(InputError, match="was given vectors, and dim to train others"):
        WordVectors(toy(), dim=3).fit(texts)
