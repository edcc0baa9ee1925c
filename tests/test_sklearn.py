from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

from psdvec.errors import InputError
from psdvec.formats import save
from psdvec.sklearn import WordVectors
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.sentences import common_direction, mean_vectors, sif_weights, without_direction


def toy() -> Embeddings:
    vectors = np.array([[1, 0], [0.9, 0.1], [0, 1], [0.1, 1.1]], dtype=np.float32)
    return Embeddings(("good", "fine", "bad", "awful"), vectors, np.array([9, 5, 3, 1]))


@pytest.mark.parametrize(
    "check",
    [
        "check_estimator_cloneable",
        "check_estimator_repr",
        "check_estimator_tags_renamed",
        "check_valid_tag_types",
        "check_mixin_order",
        "check_no_attributes_set_in_init",
        "check_parameters_default_constructible",
        "check_get_params_invariance",
        "check_set_params",
    ],
)
def test_the_estimator_checks_that_need_no_numbers_pass(check: str):
    """The others pass matrices of numbers, and scikit-learn skips them for estimators of texts."""
    getattr(estimator_checks, check)("WordVectors", WordVectors(toy()))


def test_scikit_learn_itself_finds_no_fault():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns that it cannot test an estimator of texts any further
        results = estimator_checks.check_estimator(WordVectors(toy()), on_fail=None, on_skip=None)
    assert [result["check_name"] for result in results if result["status"] != "passed"] == []


def test_a_pipeline_learns_from_words_it_has_not_seen_in_training():
    model = make_pipeline(WordVectors(toy()), LogisticRegression())
    model.fit(["good", "Good good", "bad", "bad!"], [1, 1, 0, 0])
    assert model.predict(["fine", "awful"]).tolist() == [1, 0]


def test_a_path_serves_as_well_as_embeddings(tmp_path: Path):
    save(toy(), tmp_path / "model")
    texts = ["good bad", "nothing"]
    from_path = WordVectors(tmp_path / "model").fit_transform(texts)
    assert np.array_equal(from_path, WordVectors(toy()).fit_transform(texts))


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
