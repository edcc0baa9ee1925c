"""Learning by rounds: the bound rises, and neither threads nor interruptions change a bit."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psdvec.storage.workspace import open_workspace
from psdvec.topic_model.learn import (
    Prior,
    cluster,
    document_vectors,
    infer_documents,
    learn,
    topic_word_probabilities,
    words_of,
)
from psdvec.topic_model.topics import topics
from tests.helpers import contents
from tests.topic_model.planted import SILENT, planted_texts, planted_vectors, prepared

HOLD = 0.01


class StopError(Exception):
    pass


class Stopping:
    """Progress that raises when learning has finished a number of rounds."""

    def __init__(self, rounds: int) -> None:
        self.left = rounds

    @contextmanager
    def stage(self, label, *, total, unit):
        self.is_learning = label == "learning topics"
        yield self

    def advance(self, done, **rates):
        pass

    def note(self, text):
        self.left -= self.is_learning
        if self.left == 0:
            raise StopError

    def say(self, text):
        pass


def begun(documents, space, number: int, seed: int = 0) -> np.ndarray:
    owners = cluster(document_vectors(documents, space), number, seed=seed)
    return words_of(documents, owners, topics=number, words=len(space.words))


@given(st.integers(0, 10**6), st.integers(1, 7), st.floats(0.02, 1.0), st.floats(1e-3, 0.5))
@settings(max_examples=15)
def test_the_bound_never_falls(seed: int, number: int, prior: float, hold: float):
    documents, space = prepared(planted_texts(documents=24, length=12, seed=seed))
    begin = np.random.default_rng(seed).gamma(0.5, 5.0, (len(space.words), number))
    state = learn(documents, space, begin=begin, prior=Prior(prior), hold=hold, workers=1, progress=SILENT)
    assert len(state.bounds) > 1
    assert (np.diff(state.bounds) >= -1e-9).all()


@given(st.integers(0, 10**6), st.integers(2, 5), st.floats(1.0, 300.0))
@settings(max_examples=15)
def test_the_bound_never_falls_with_seed_words(seed: int, number: int, weight: float):
    documents, space = prepared(planted_texts(documents=24, length=12, seed=seed))
    begin = np.random.default_rng(seed).gamma(0.5, 5.0, (len(space.words), number))
    anchors = np.zeros_like(begin)
    anchors[seed % len(space.words), 0] = anchors[(seed + 9) % len(space.words), 1] = weight
    state = learn(documents, space, begin=begin, anchors=anchors, workers=1, progress=SILENT)
    assert len(state.bounds) > 1
    assert (np.diff(state.bounds) >= -1e-9).all()


@pytest.mark.parametrize("workers", [2, 3])
def test_any_number_of_threads_gives_the_same_bytes(workers: int):
    documents, space = prepared()
    one, more = (
        learn(documents, space, begin=begun(documents, space, 4), prior=Prior(), hold=HOLD, workers=w, progress=SILENT)
        for w in (1, workers)
    )  # fmt: skip
    for name in ("tilts", "gamma", "expected", "bounds"):
        assert np.asarray(getattr(one, name)).tobytes() == np.asarray(getattr(more, name)).tobytes()


def test_stopped_after_each_round_and_started_again_it_ends_with_the_same_bytes(tmp_path: Path):
    e, texts = planted_vectors(), planted_texts(length=12)
    topics(e, texts, 6, min_documents=1, workers=1, output=tmp_path / "whole", progress=SILENT)
    expected = contents(tmp_path / "whole")
    stops = 0
    for workers in (1, 2) * 20:
        try:
            topics(
                e, texts, 6, min_documents=1, workers=workers, output=tmp_path / "parts", progress=Stopping(1)
            )
            break
        except StopError:
            stops += 1
            assert not (tmp_path / "parts").exists()
    assert stops > 2
    assert contents(tmp_path / "parts") == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parts", "whole"]


def test_a_round_is_not_done_twice(tmp_path: Path):
    documents, space = prepared(planted_texts(length=12))
    begin = begun(documents, space, 6)

    def run(work: Path, progress) -> int:
        state = learn(documents, space, begin=begin, prior=Prior(), hold=HOLD, work=work, progress=progress)
        return len(state.bounds)

    with open_workspace(tmp_path / "x", plan={}, progress=SILENT, overwrite=False) as work:
        with pytest.raises(StopError):
            run(work, Stopping(3))
        counting = Stopping(-1)
        rounds = run(work, counting)
        assert rounds > 3
        assert -1 - counting.left == rounds - 3


def test_proportions_of_a_document_do_not_depend_on_the_others():
    documents, space = prepared()
    tilts = np.random.default_rng(0).standard_normal((3, 12))
    together = infer_documents(documents, space, tilts, prior=Prior(), hold=HOLD)
    alone = infer_documents(documents.take(np.array([7])), space, tilts, prior=Prior(), hold=HOLD)
    assert alone[0].tobytes() == together[7].tobytes()


def test_the_last_topic_word_probabilities_are_those_of_the_background():
    _, space = prepared()
    tilts = np.vstack([np.zeros(12), np.ones(12)])
    found = topic_word_probabilities(space, tilts, hold=0.5)
    np.testing.assert_allclose(found[:, 0], space.shares)
    np.testing.assert_allclose(found[:, 2], space.shares)
    assert found[:, 1].sum() == pytest.approx(np.exp(-0.5 / 2 * 12))
