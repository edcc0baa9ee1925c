from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from psdvec.errors import InputError
from psdvec.evaluation.evaluate import evaluate, solve_analogies
from psdvec.evaluation.report import rules
from psdvec.evaluation.scores import FEWEST_ITEMS
from psdvec.evaluation.statistics import bootstrap_mean, paired_test, spearman
from psdvec.evaluation.tasks import Analogies, Choices, Pairs, read_task
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.neighbours import lengths_of


def line_of_words(words: str, angles: list[float]) -> Embeddings:
    """Words on a circle, so that cosines fall with the difference of the angles."""
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    return Embeddings(tuple(words.split()), vectors)


PAIRS = Pairs("toy", (("a", "b"), ("a", "c"), ("b", "c"), ("a", "x")), np.array([9.0, 1.0, 5.0, 2.0]))


def test_similarity_is_the_rank_correlation_over_the_covered_pairs():
    score = evaluate(line_of_words("a b c", [0, 0.1, 0.5]), [PAIRS]).get("model", "toy")
    assert score.value == pytest.approx(1)
    assert (score.covered, score.total) == (3, 4)


def test_missing_words_can_count_as_zeros():
    # cosines: a-b .995, a-c .878, b-c .921, a-x 0; gold 9, 1, 5, 2: ranks 4 2 3 1 against 4 1 3 2
    score = evaluate(line_of_words("a b c", [0, 0.1, 0.5]), [PAIRS], oov="zero").get("model", "toy")
    assert score.value == pytest.approx(1 - 6 * 2 / (4 * 15))
    assert score.covered == 3


def test_missing_words_can_count_as_the_mean():
    e = line_of_words("a b c", [0, 0.1, 0.5])
    mean = e.vectors.mean(axis=0)
    cosine = float(mean @ e["a"] / np.linalg.norm(mean))
    score = evaluate(e, [PAIRS], oov="mean").get("model", "toy")
    assert score.items.outcomes[0, 3] == pytest.approx(cosine, abs=1e-6)


def test_common_scores_all_models_on_the_pairs_all_of_them_cover():
    models = {
        "small": line_of_words("a b c", [0, 0.1, 0.5]),
        "large": line_of_words("a b c x", [0, 0.1, 0.5, 0.05]),
    }
    apart = evaluate(models, [PAIRS])
    together = evaluate(models, [PAIRS], common=True)
    assert apart.get("large", "toy").items.used.sum() == 4
    assert together.get("large", "toy").items.used.sum() == 3
    assert together.get("large", "toy").covered == 4
    assert together.get("large", "toy").value == together.get("small", "toy").value


def test_a_synonym_question_is_right_when_the_answer_is_nearest():
    task = Choices("syn", (("a", "b", "c"), ("a", "c", "b"), ("a", "b", "x")))
    score = evaluate(line_of_words("a b c", [0, 0.1, 0.5]), [task]).get("model", "syn")
    assert score.items.outcomes.tolist() == [[1, 0, 0]]
    assert score.value == 0.5
    assert (score.covered, score.total) == (2, 3)


def test_choices_that_tie_share_the_point():
    task = Choices("syn", (("x", "a", "b", "c", "a"),))
    assert evaluate(line_of_words("a b c", [0, 1, 2]), [task], oov="zero").get("model", "syn").value == 0.25


def square() -> Embeddings:
    vectors = [[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1], [0, -1, 0]]
    return Embeddings(("man", "woman", "king", "queen", "far"), np.array(vectors, dtype=np.float32))


@pytest.mark.parametrize("metric", ["3cosadd", "3cosmul"])
def test_analogies_are_right_when_the_best_word_is_the_answer(metric: str):
    items = (
        ("man", "woman", "king", "queen"),
        ("man", "woman", "king", "far"),
        ("man", "woman", "king", "duke"),
    )
    task = Analogies("royal", items, ("one", "two", "two"))
    score = evaluate(square(), [task]).get("model", "royal", metric)
    assert score.items.outcomes.tolist() == [[1, 0, 0]]
    assert score.value == 0.5
    assert score.sections == {"one": (1.0, 1), "two": (0.0, 1)}


def test_an_analogy_with_a_missing_word_is_wrong_unless_skipped():
    task = Analogies(
        "royal", (("man", "woman", "king", "queen"), ("man", "woman", "king", "duke")), ("one", "one")
    )
    assert evaluate(square(), [task], oov="zero").get("model", "royal").value == 0.5
    assert evaluate(square(), [task]).get("model", "royal").value == 1


@pytest.mark.parametrize("method", ["3cosadd", "3cosmul"])
def test_analogies_in_batches_answer_as_one_by_one(method: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("psdvec.evaluation.evaluate._COLUMNS", 100)
    vectors = np.random.default_rng(3).standard_normal((350, 12)).astype(np.float32)
    e = Embeddings(tuple(f"w{i}" for i in range(350)), vectors)
    questions = np.random.default_rng(4).integers(350, size=(60, 3))
    ask = e.most_similar if method == "3cosadd" else e.most_similar_cosmul
    expected = [ask([f"w{a_star}", f"w{b}"], [f"w{a}"], topn=1)[0][0] for a, a_star, b in questions.tolist()]
    found = solve_analogies(vectors, lengths_of(vectors), questions, method=method)
    assert [e.words[i] for i in found] == expected


def test_case_is_ignored_in_favour_of_the_more_frequent_word():
    e = line_of_words("A a B C", [0, 1.5, 0.1, 0.5])
    task = Pairs("toy", (("a", "b"), ("a", "c"), ("b", "c")), np.array([9.0, 1.0, 5.0]))
    assert evaluate(e, [task]).get("model", "toy").value == pytest.approx(1)
    assert evaluate(e, [task], ignore_case=False).get("model", "toy").covered == 0


@pytest.mark.parametrize("tokenizer", ["unicode-cased", "whitespace"])
def test_a_model_that_keeps_case_takes_a_word_as_it_is_written_and_otherwise_ignores_case(tokenizer: str):
    e = replace(line_of_words("A a B C", [0, 1.5, 0.1, 0.5]), tokenizer=tokenizer)
    small = Pairs("toy", (("a", "b"), ("a", "c"), ("b", "c")), np.array([1.0, 5.0, 9.0]))
    capital = Pairs("toy", (("A", "b"), ("A", "c"), ("b", "c")), np.array([9.0, 1.0, 5.0]))
    for task in (small, capital):
        report = evaluate(e, [task])
        assert report.get("model", "toy").value == pytest.approx(1)
        assert "case is ignored, unless a model that keeps it has the word as written." in rules(report)


def test_another_case_of_a_question_word_is_no_answer():
    vectors = [[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1], [1, 1, 1.01]]
    e = Embeddings(("man", "woman", "king", "queen", "King"), np.array(vectors, dtype=np.float32))
    task = Analogies("royal", (("man", "woman", "king", "queen"),), ("one",))
    assert evaluate(e, [task]).get("model", "royal").value == 1
    cased = Embeddings(
        ("man", "woman", "king", "Queen", "King", "queen"), np.array([*vectors, [1, 0, 0.9]], np.float32)
    )
    cased = replace(cased, tokenizer="unicode-cased")
    for king in ("king", "King", "KING"):  # whichever is asked about, none of them is the answer
        task = Analogies("royal", (("man", "woman", king, "queen"),), ("one",))
        assert evaluate(cased, [task]).get("model", "royal").value == 1


def test_a_task_without_a_covered_item_has_no_score():
    score = evaluate(line_of_words("y z", [0, 1]), [PAIRS]).get("model", "toy")
    assert np.isnan(score.value)
    assert score.covered == 0


def test_the_mean_is_over_tasks_each_by_its_first_metric():
    choices = Choices("syn", (("king", "queen", "far"),) * FEWEST_ITEMS)
    wrong = Analogies("royal", (("man", "woman", "king", "far"),) * FEWEST_ITEMS, ("one",) * FEWEST_ITEMS)
    report = evaluate(square(), [choices, wrong])
    assert report.columns == (("syn", "accuracy"), ("royal", "3cosmul"), ("royal", "3cosadd"))
    assert report.mean("model") == 0.5


def test_the_same_seed_gives_the_same_intervals():
    e = Embeddings(tuple("abcdefghi"), np.random.default_rng(0).standard_normal((9, 3)).astype(np.float32))
    items = tuple((x, y) for x in "abcdefghi" for y in "abcdefghi" if x < y)
    task = Pairs("toy", items, np.random.default_rng(1).standard_normal(len(items)))
    first, second = (evaluate(e, [task]).get("model", "toy") for _ in range(2))
    assert (first.low, first.high) == (second.low, second.high)
    assert first.low < first.value < first.high


def test_rank_correlation_gives_ties_their_mean_rank():
    # ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: 4.5 / sqrt(4.5 * 5)
    assert spearman(np.array([1.0, 2, 2, 3]), np.array([1.0, 2, 3, 4])) == pytest.approx(4.5 / np.sqrt(22.5))


def test_the_bootstrap_of_a_mean_matches_its_standard_error():
    outcomes = np.repeat([0.0, 1.0], [300, 700])
    low, high = bootstrap_mean(outcomes, resamples=20_000)
    error = 1.96 * np.sqrt(0.7 * 0.3 / 1000)
    assert (low, high) == pytest.approx((0.7 - error, 0.7 + error), abs=0.003)


def test_the_paired_test_tells_a_real_difference_from_noise():
    generator = np.random.default_rng(0)
    first = (generator.random(1000) < 0.7).astype(float)
    same = (generator.random(1000) < 0.7).astype(float)
    worse = (generator.random(1000) < 0.55).astype(float)
    assert paired_test(first, worse) < 0.001
    assert paired_test(first, same) > 0.05


def test_the_paired_test_equals_the_sign_test_worked_by_hand():
    # five items differ, all for the first model: 2 of 2**5 arrangements are as far out
    chance = paired_test(np.array([1.0] * 5 + [0, 0]), np.zeros(7), resamples=40_000)
    assert chance == pytest.approx(2 / 32, abs=0.005)


def test_a_difference_is_tested_over_the_items_both_models_cover():
    models = {
        "one": line_of_words("a b c", [0, 0.1, 0.5]),
        "two": line_of_words("a b c x", [0, 0.1, 0.5, 0.05]),
    }
    often = Pairs("toy", PAIRS.items * 10, np.tile(PAIRS.gold, 10))  # of which both cover three of four
    assert evaluate(models, [often]).difference("one", "two", "toy") == 1.0
    assert math.isnan(evaluate(models, [PAIRS]).difference("one", "two", "toy"))


def test_fewer_than_thirty_items_have_a_value_but_nothing_is_concluded_from_it():
    models = {"one": line_of_words("a b c", [0, 0.1, 0.5]), "two": line_of_words("a b c", [0, 0.5, 0.1])}
    for copies, too_few in ((9, True), (10, False)):
        task = Pairs("toy", PAIRS.items * copies, np.tile(PAIRS.gold, copies))
        report = evaluate(models, [task])
        score, other = (report.get(name, "toy") for name in ("one", "two"))
        assert (score.size, score.total) == (3 * copies, 4 * copies)
        assert score.value == pytest.approx(1)
        assert score.too_few is too_few
        nothing = [score.low, score.high, other.against_best.p, other.against_best.value, report.mean("one")]
        assert [math.isnan(value) for value in nothing] == [too_few] * 5
        assert (report.best("toy", "spearman") is None) is too_few


def test_where_missing_words_count_too_all_items_make_the_score():
    task = Pairs("toy", PAIRS.items * 8, np.tile(PAIRS.gold, 8))
    e = line_of_words("a b c", [0, 0.1, 0.5])
    assert evaluate(e, [task]).get("model", "toy").too_few
    assert evaluate(e, [task], oov="zero").get("model", "toy").size == 32
    assert not evaluate(e, [task], oov="zero").get("model", "toy").too_few


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "set.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_kind_of_a_task_is_recognised_by_its_lines(tmp_path: Path):
    assert read_task(write(tmp_path, "a b 1.5\nc d 2\n")).gold.tolist() == [1.5, 2]
    assert read_task(write(tmp_path, "a | b | c\n")).items == (("a", "b", "c"),)
    analogies = read_task(write(tmp_path, ": family\nhe she king queen\n: more\nhe she man woman\n"))
    assert analogies.sections == ("family", "more")


def test_simlex_with_its_own_header_and_columns_is_read(tmp_path: Path):
    path = write(tmp_path, "word1\tword2\tPOS\tSimLex999\tconc\nold\tnew\tA\t1.58\t2.72\n")
    task = read_task(path, kind="similarity")
    assert (task.items, task.gold.tolist()) == ((("old", "new"),), [1.58])


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("a b 1\na b\n", "similarity", "line 2 of"),
        ("a b 1\na b nan\n", "similarity", "line 2 of"),
        ("a | b | c\na | | c\n", "synonyms", "line 2 of"),
        (": x\na b c\n", "analogies", "line 2 of"),
        ("\n\n", None, "contains no questions"),
    ],
)
def test_a_line_that_fits_no_task_is_refused_with_its_number(tmp_path: Path, text: str, kind, message: str):
    with pytest.raises(InputError, match=message):
        read_task(write(tmp_path, text), kind=kind)


def test_a_task_without_questions_is_refused():
    vectors = Embeddings(("a", "b"), np.eye(2, dtype=np.float32))
    with pytest.raises(InputError, match="the task 'empty' holds no questions; leave it out"):
        evaluate(vectors, [Pairs("empty", (), np.zeros(0))])
