"""The one sentence on top of a report, in each case that there is."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from psdvec.evaluation.evaluate import evaluate
from psdvec.evaluation.report import Report, leaders, make_verdict, say_left_out
from psdvec.evaluation.tagging import BASELINE
from psdvec.evaluation.tasks import Choices, Pairs
from psdvec.evaluation.testsets import column_title
from psdvec.vectors.embeddings import Embeddings

WORDS = tuple(f"w{i}" for i in range(60))


def vectors(*, noise: float, seed: int = 1, words: int = 60) -> Embeddings:
    """Vectors that are the truth and noise of some size."""
    truth = np.random.default_rng(0).standard_normal((60, 8))
    found = truth + noise * np.random.default_rng(seed).standard_normal((60, 8))
    return Embeddings(WORDS[:words], found[:words].astype(np.float32))


def pairs(name: str, *, remainder: int = 0) -> Pairs:
    truth = vectors(noise=0)
    items = tuple((WORDS[i], WORDS[j]) for i in range(60) for j in range(i) if (i + j) % 3 == remainder)
    return Pairs(name, items, np.array([truth.similarity(a, b) for a, b in items]))


def judge(models: dict[str, Embeddings], *names: str) -> Report:
    sets = [pairs(name, remainder=place) for place, name in enumerate(names or ("men", "simlex-999"))]
    return evaluate(models, sets, resamples=100)


def test_the_best_is_named_with_the_test_that_tells_it_apart():
    report = judge({"good": vectors(noise=0.1), "bad": vectors(noise=3)})
    good, bad = (100 * report.mean(name) for name in ("good", "bad"))
    assert make_verdict(report) == (
        f"good is best: its mean over 2 test sets is {good:.1f} points, {good - bad:.1f} above bad, "
        "and a paired test tells the two apart (p < 0.001)."
    )


def test_the_best_of_several_is_told_apart_from_each():
    models = {"bad": vectors(noise=3), "good": vectors(noise=0.1), "worse": vectors(noise=9)}
    verdict = make_verdict(judge(models))
    assert verdict.startswith("good is best: its mean over 2 test sets is ")
    assert verdict.endswith("tells it apart from each of the 2 others (adjusted p < 0.001).")


def test_two_that_the_test_does_not_tell_apart_are_not_ranked():
    models = {"one": vectors(noise=1, seed=1), "two": vectors(noise=1, seed=5)}
    report = judge(models)
    assert len(leaders(report.means.values())) == 2
    verdict = make_verdict(report)
    assert re.match(
        r"A paired test does not tell (one and two|two and one) apart at this size \(p = 0\.\d\d\): ", verdict
    )
    assert "best" not in verdict


def test_several_that_the_test_does_not_tell_apart_are_given_as_a_range():
    report = judge({name: vectors(noise=1) for name in ("one", "two", "three")})
    value = 100 * report.mean("one")
    assert make_verdict(report) == (
        "A paired test does not tell any of the 3 models from the highest at this size (adjusted p ≥ 1.00): their "
        f"mean over 2 test sets lies between {value:.1f} (three) and {value:.1f} points (one)."
    )


def test_those_that_share_the_lead_are_told_from_the_rest():
    models = {"one": vectors(noise=0.1), "same": vectors(noise=0.1), "bad": vectors(noise=3)}
    report = judge(models)
    value = 100 * report.mean("one")
    assert make_verdict(report) == (
        f"one has the highest mean over 2 test sets, {value:.1f} points, but a paired test does not tell "
        f"same ({value:.1f}) from it at this size; it does tell bad from it."
    )


def test_one_model_has_nobody_to_be_compared_with():
    report = judge({"only": vectors(noise=1)})
    mean = report.means["only"]
    assert make_verdict(report) == (
        f"only has a mean over 2 test sets of {100 * mean.value:.1f} points (95 % between {100 * mean.low:.1f} "
        f"and {100 * mean.high:.1f}); there is no other model to compare it with."
    )


def test_one_set_is_named():
    assert "its score at MEN is " in make_verdict(
        judge({"good": vectors(noise=0.1), "bad": vectors(noise=3)}, "men")
    )


def test_without_intervals_none_is_given():
    questions = Choices("toefl", tuple((WORDS[i], WORDS[i + 1], WORDS[i + 2]) for i in range(50)))
    report = evaluate({"only": vectors(noise=1)}, [questions], resamples=0)
    assert "95 %" not in make_verdict(report)


def test_a_model_without_a_mean_is_left_out_and_said_to_be():
    stranger = Embeddings(("x", "y"), np.eye(2, dtype=np.float32))
    known = {"good": vectors(noise=0.1), "bad": vectors(noise=3)}
    left_out = "; stranger, with too few items at most sets, cannot be compared."
    assert make_verdict(judge({**known, "stranger": stranger})).endswith(f"(p < 0.001){left_out}")
    alone = judge({"good": known["good"], "stranger": stranger})
    assert make_verdict(alone) == f"Only good has a mean over 2 test sets{left_out}"
    items = len(pairs("men").items)
    assert make_verdict(judge({"stranger": stranger}, "men")) == (
        f"No mean can be taken, because no set has the 30 items that a score takes: MEN (0 of {items})."
    )


def test_a_foreign_model_does_not_void_the_means_of_the_others():
    stranger = Embeddings(("x", "y"), np.eye(2, dtype=np.float32))
    known = {"good": vectors(noise=0.1), "bad": vectors(noise=3)}
    report, without = judge({**known, "stranger": stranger}), judge(known)
    assert {name: report.mean(name) for name in known} == {name: without.mean(name) for name in known}
    assert say_left_out(report) == "There is no mean for stranger, with too few items at most sets."
    assert say_left_out(without) == ""


def test_all_means_are_over_the_sets_that_all_models_with_a_mean_have():
    """The small model covers most of two sets, but of the third only pairs of frequent words."""
    rare = pairs("rg-65", remainder=2)
    far = [k for k, pair in enumerate(rare.items) if int(pair[0][1:]) >= 30]
    sets = [
        pairs("men"),
        pairs("simlex-999", remainder=1),
        Pairs("rg-65", tuple(rare.items[k] for k in far), rare.gold[far]),
    ]
    models = {"whole": vectors(noise=1), "small": vectors(noise=1, words=30)}
    report = evaluate(models, sets, resamples=100)
    assert report.counted == ("men", "simlex-999")
    assert report.mean("whole") == np.mean([report.get("whole", task).value for task in report.counted])
    assert say_left_out(report) == (f"The mean is of 2 of 3 sets; left out: RG (small 0 of {len(far)}).")
    assert "mean over 2 of 3 test sets" in make_verdict(report)
    alone = evaluate({"whole": models["whole"]}, sets, resamples=100)
    assert alone.counted == ("men", "simlex-999", "rg-65")


def test_who_leaves_the_others_without_common_items_is_named():
    stranger = Embeddings(("x", "y"), np.eye(2, dtype=np.float32))
    known = {"good": vectors(noise=0.1), "bad": vectors(noise=3)}
    sets = [pairs("men"), pairs("simlex-999", remainder=1)]
    report = evaluate({**known, "stranger": stranger}, sets, common=True, resamples=100)
    items = sum(len(one.items) for one in sets)
    verdict = (
        f"No mean can be taken over common items, because stranger covers 0 of the {items:,} items; leave it out, or "
        "judge each model by the items that it covers."
    )
    assert make_verdict(report) == say_left_out(report) == verdict
    together = evaluate(known, sets, common=True, resamples=100)
    assert together.counted == ("men", "simlex-999")


def test_of_common_items_it_is_said_who_covers_the_fewest():
    few = pairs("simlex-999", remainder=1)
    near = [k for k, pair in enumerate(few.items) if int(pair[0][1:]) < 6 or int(pair[0][1:]) >= 30]
    sets = [pairs("men"), Pairs("simlex-999", tuple(few.items[k] for k in near), few.gold[near])]
    models = {"whole": vectors(noise=1), "small": vectors(noise=1, words=30)}
    report = evaluate(models, sets, common=True, resamples=100)
    size = report.get("small", "simlex-999").covered
    assert 0 < size < 30
    title, total = column_title("simlex-999"), len(near)
    assert say_left_out(report) == (
        f"The mean is of 1 of 2 sets; left out: {title} ({size} of {total}; small covers {size})."
    )


def test_the_baseline_of_tagging_is_not_missed_where_it_has_no_mean():
    stranger = Embeddings(("x", "y"), np.eye(2, dtype=np.float32))
    report = judge({"good": vectors(noise=0.1), BASELINE: stranger})
    assert make_verdict(report).endswith("there is no other model to compare it with.")


def test_nothing_judged_is_said():
    assert make_verdict(evaluate({}, [])) == "Nothing was judged, because there was no test set."


@pytest.mark.parametrize(("p", "said"), [(0.0304, "0.031"), (0.0004, "< 0.001"), (0.001, "0.001")])
def test_a_probability_is_never_said_to_be_lower_than_it_is(p: float, said: str, monkeypatch):
    report = judge({"good": vectors(noise=0.1), "bad": vectors(noise=3)})
    means = {
        name: mean if mean.is_best else replace(mean, p_adjusted=p) for name, mean in report.means.items()
    }
    monkeypatch.setitem(report.__dict__, "means", means)
    assert f"{said})." in make_verdict(report)
