"""Test sets with words that nobody has seen: what their spelling covers, and what stays as it was."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from psdvec.errors import InputError
from psdvec.evaluation.evaluate import evaluate
from psdvec.evaluation.page import as_html
from psdvec.evaluation.report import as_csv, make_tables
from psdvec.evaluation.tasks import Analogies, Choices, Pairs
from psdvec.vectors.embeddings import Embeddings, cosine
from tests.spelled import vocabulary

PAIRS = Pairs(
    "pairs",
    (("play", "read"), ("play", "Singers"), ("walkers", "readings"), ("play", "qqq"), ("sing", "think")),
    np.array([1.0, 9.0, 3.0, 5.0, 2.0]),
)
CHOICES = Choices("choices", (("players", "play", "größ", "école"), ("play", "players", "qqq")))
ANALOGIES = Analogies(
    "analogies",
    (
        ("play", "plays", "read", "reads"),
        ("play", "players", "read", "reader"),  # asks about an unseen word
        ("play", "plays", "walker", "walkers"),  # whose answer is one
        ("qqq", "plays", "read", "reads"),
    ),
    ("all",) * 4,
)
TASKS = [PAIRS, CHOICES, ANALOGIES]


@pytest.fixture(scope="module")
def e() -> Embeddings:
    return vocabulary()


def test_a_missing_word_of_a_test_set_has_the_vector_of_its_spelling(e: Embeddings):
    larger = e.with_spelled(["singers", "players", "walkers", "readings"])
    found = evaluate(e, TASKS[:2], oov="spelling")
    expected = evaluate(larger, TASKS[:2])
    for task in ("pairs", "choices"):
        score, same = found.get("model", task), expected.get("model", task)
        assert score.value == pytest.approx(same.value)
        assert np.array_equal(score.items.used, same.items.used)
        chosen = score.items.used
        assert score.items.outcomes[:, chosen] == pytest.approx(same.items.outcomes[:, chosen], abs=1e-6)


def test_coverage_tells_own_vectors_from_those_by_spelling(e: Embeddings):
    report = evaluate(e, TASKS, oov="spelling")
    covered = {score.task: (score.covered, score.covered_by_spelling, score.total) for score in report.scores}
    assert covered == {"pairs": (2, 2, 5), "choices": (0, 1, 2), "analogies": (1, 1, 4)}
    tables = make_tables(report)
    assert tables.coverage.rows == (("model", "2+2/5", "0+1/2", "1+1/4"),)
    assert "stand after + in the coverage" in tables.rules
    assert next(csv.DictReader(io.StringIO(as_csv(report))))["covered_by_spelling"] == "2"
    assert tables.values["scores"][0]["covered_by_spelling"] == 2
    assert ">2+2/5</td>" in as_html(report, tables)


def test_an_analogy_asks_about_unseen_words_and_is_answered_by_the_vocabulary(e: Embeddings):
    score = evaluate(e, [ANALOGIES], oov="spelling", methods=["3cosadd"]).get("model", "analogies")
    assert score.items.used.tolist() == [True, True, False, False]
    best = e.analogy("play", "players", "read", topn=1, unseen="spelling")[0][0]
    assert score.items.outcomes[0, 1] == (best == "reader")
    right = Analogies("right", (("play", "players", "read", best), *ANALOGIES.items[:1]), ("all",) * 2)
    for method in ("3cosadd", "3cosmul"):
        (answer, _), *_ = e.analogy("play", "players", "read", method=method, topn=1, unseen="spelling")
        items = evaluate(e, [right], oov="spelling", methods=[method]).get("model", "right").items
        assert items.outcomes[0, 0] == (answer == best)


def test_without_spelling_nothing_is_added(e: Embeddings):
    plain = evaluate(e, TASKS)
    assert {score.covered_by_spelling for score in plain.scores} == {0}
    tables = make_tables(plain)
    assert tables.coverage.rows == (("model", "2/5", "0/2", "1/4"),)
    assert "covered_by_spelling" not in as_csv(plain)
    assert "covered_by_spelling" not in tables.values["scores"][0]
    assert "spelling" not in tables.rules
    bare = evaluate(replace(e, subwords=None), TASKS)
    assert [score.value for score in plain.scores] == pytest.approx(
        [score.value for score in bare.scores], nan_ok=True
    )


def test_a_model_without_spelling_is_judged_beside_one_with_it(e: Embeddings):
    models = {"ours": e, "bare": replace(e, subwords=None)}
    report = evaluate(models, [PAIRS], oov="spelling")
    assert make_tables(report).coverage.rows == (("ours", "2+2/5"), ("bare", "2/5"))
    assert report.get("bare", "pairs").value == evaluate(models["bare"], [PAIRS]).get("model", "pairs").value
    common = evaluate(models, [PAIRS], oov="spelling", common=True)
    assert common.get("ours", "pairs").items.used.sum() == 2
    assert "spelling" in make_tables(common).rules
    assert "only items that all models cover" in make_tables(common).rules


def test_spelling_that_no_model_knows_is_refused(e: Embeddings):
    with pytest.raises(InputError, match='knows anything of spelling; choose oov="skip"'):
        evaluate(replace(e, subwords=None), [PAIRS], oov="spelling")


def test_words_beyond_the_restricted_vocabulary_are_spelled(e: Embeddings):
    first = [word for word in e.words[:20] if word.isascii()][:2]
    last = e.words[-1]
    pairs = Pairs("pairs", ((first[0], first[1]), (first[0], last)), np.array([1.0, 2.0]))
    score = evaluate(e, [pairs], oov="spelling", restrict_vocab=20).get("model", "pairs")
    assert (score.covered, score.covered_by_spelling) == (1, 1)
    assert score.items.outcomes[0, 1] == pytest.approx(
        e.take(slice(20)).similarity(first[0], last, unseen="spelling"), abs=1e-6
    )


def test_where_case_matters_a_word_is_spelled_as_it_is_written(e: Embeddings):
    score = evaluate(e, [PAIRS], oov="spelling", ignore_case=False).get("model", "pairs")
    written = e.subwords.vectors_of(["Singers"])[0]
    assert score.items.outcomes[0, 1] == pytest.approx(cosine(e["play"], written), abs=1e-6)
    folded = evaluate(e, [PAIRS], oov="spelling").get("model", "pairs")
    assert folded.items.outcomes[0, 1] == pytest.approx(
        e.similarity("play", "singers", unseen="spelling"), abs=1e-6
    )
    assert folded.items.outcomes[0, 1] != pytest.approx(score.items.outcomes[0, 1], abs=1e-3)
