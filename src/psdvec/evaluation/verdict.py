"""The verdict of a report in one sentence: who is best, told apart from whom by which test, or that nobody is.

:func:`say_left_out` says which sets and models the means leave out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from psdvec.evaluation.report import MeanScore, Report, leaders
from psdvec.evaluation.scores import FEWEST_ITEMS, Score
from psdvec.evaluation.tagging.crf import BASELINE
from psdvec.evaluation.testsets import column_title

_MOST_NAMED = 4


def make_verdict(report: Report) -> str:
    """Return what the means over tasks, and the tests of their differences, say of the models."""
    if not report.scores:
        return "Nothing was judged, because there was no test set."
    known = {model: mean for model, mean in report.means.items() if mean.tells}
    lacking = _lacking(report)
    left_out = f"; {_names(lacking)}, with too few items at most sets, cannot be compared" if lacking else ""
    if not known:
        return say_left_out(report)
    if len(known) == 1 and not lacking:
        return _one_alone(report, *known.values())
    if len(known) == 1:
        (model,) = known
        return f"Only {model} has a {_what(report)}{left_out}."
    leading = leaders(known.values())
    if len(leading) == 1:
        return _one_is_best(report, known, leading[0]) + left_out + "."
    if len(leading) == len(known):
        return _none_told_apart(report, known, leading) + left_out + "."
    return _several_lead(report, known, leading) + left_out + "."


def say_left_out(report: Report) -> str:
    """Return which sets and models the means leave out, and why; nothing if they leave out none."""
    if not report.candidates:
        return ""
    sets = ", ".join(_few_items(task, scores, report) for task, scores in report.left_out.items())
    if not report.counted:
        return _blame(report) or (
            f"No mean can be taken, because no set has the {FEWEST_ITEMS} items that a score takes"
            f"{' for every model' if len(report.ranked or report.models) > 1 else ''}: {sets}."
        )
    said = []
    if sets:
        said.append(
            f"The mean is of {len(report.counted)} of {len(report.candidates)} sets; left out: {sets}."
        )
    if lacking := _lacking(report):
        said.append(f"There is no mean for {_names(lacking)}, with too few items at most sets.")
    return " ".join(said)


def _lacking(report: Report) -> list[str]:
    """Return the models without a mean; the baseline of tagging is not missed."""
    return [model for model in report.models if model not in report.ranked and model != BASELINE]


def _few_items(task: str, scores: Sequence[Score], report: Report) -> str:
    """Return a set with the number of items that its scores are made of, by model if that is not the same for all.

    Of common items, it also says which model covers the fewest.
    """
    sizes = {
        score.model: f"{score.size} of {score.total:,}" if score.too_few else "no score" for score in scores
    }
    same = len(sizes) == len(report.ranked or report.models) and len(set(sizes.values())) == 1
    found = next(iter(sizes.values())) if same else ", ".join(f"{m} {size}" for m, size in sizes.items())
    if report.common and len(report.models) > 1:
        least = min(_scores_at(report, [task]), key=_own_items)
        found += f"; {least.model} covers {_own_items(least)}"
    return f"{column_title(task)} ({found})"


def _blame(report: Report) -> str:
    """Return who leaves the others without common items: the models that cover too few of every set themselves."""
    if not report.common:
        return ""
    found: dict[str, list[Score]] = {}
    for score in _scores_at(report, report.candidates):
        found.setdefault(score.model, []).append(score)
    lacking = [
        f"{model} covers {sum(map(_own_items, scores))} of the {sum(score.total for score in scores):,} items"
        for model, scores in found.items()
        if all(_own_items(score) < FEWEST_ITEMS for score in scores)
    ]
    if not 0 < len(lacking) < len(found):
        return ""
    return (
        f"No mean can be taken over common items, because {_names(lacking)}; leave "
        f"{'it' if len(lacking) == 1 else 'them'} out, or judge each model by the items that it covers."
    )


def _scores_at(report: Report, tasks: Sequence[str]) -> list[Score]:
    found = (report.find(model, task, report.tasks[task]) for model in report.models for task in tasks)
    return [score for score in found if score]


def _own_items(score: Score) -> int:
    """Return how many items the model covers by itself, whatever others do."""
    return score.covered + score.covered_by_spelling


def _one_alone(report: Report, mean: MeanScore) -> str:
    known = math.isfinite(mean.low)
    ends = f" (95 % between {_number(mean.low)} and {_number(mean.high)})" if known else ""
    return (
        f"{mean.model} has a {_what(report)} of {_number(mean.value)} points{ends}; "
        "there is no other model to compare it with."
    )


def _one_is_best(report: Report, known: Mapping[str, MeanScore], best: str) -> str:
    others = [mean for model, mean in known.items() if model != best]
    after = max(others, key=lambda mean: mean.value)
    highest = max(mean.p_adjusted for mean in others)
    apart = (
        f"the two apart (p {_at_most(highest)})"
        if len(others) == 1
        else f"it apart from each of the {len(others)} others (adjusted p {_at_most(highest)})"
    )
    return (
        f"{best} is best: its {_what(report)} is {_number(known[best].value)} points, "
        f"{_number(known[best].value - after.value)} above {after.model}, and a paired test tells {apart}"
    )


def _none_told_apart(report: Report, known: Mapping[str, MeanScore], leading: Sequence[str]) -> str:
    first, last = known[leading[0]], known[leading[-1]]
    found = [mean.p_adjusted for mean in known.values() if math.isfinite(mean.p_adjusted)]
    if len(known) == 2:
        p = f" (p = {found[0]:.2f})" if found else ""
        return (
            f"A paired test does not tell {first.model} and {last.model} apart at this size{p}: their "
            f"{_what(report)} is {_number(first.value)} and {_number(last.value)} points"
        )
    p = f" (adjusted p ≥ {min(found):.2f})" if found else ""
    return (
        f"A paired test does not tell any of the {len(known)} models from the highest at this size{p}: their "
        f"{_what(report)} lies between {_number(last.value)} ({last.model}) and {_number(first.value)} points "
        f"({first.model})"
    )


def _several_lead(report: Report, known: Mapping[str, MeanScore], leading: Sequence[str]) -> str:
    near = _names([f"{model} ({_number(known[model].value)})" for model in leading[1:]])
    rest = [model for model in known if model not in leading]
    others = rest[0] if len(rest) == 1 else f"the {len(rest)} others"
    return (
        f"{leading[0]} has the highest {_what(report)}, {_number(known[leading[0]].value)} points, but a paired test "
        f"does not tell {near} from it at this size; it does tell {others} from it"
    )


def _what(report: Report) -> str:
    if len(report.counted) == 1:
        return f"score at {column_title(report.counted[0])}"
    of = f" of {len(report.candidates)}" if report.left_out else ""
    return f"mean over {len(report.counted)}{of} test sets"


def _names(names: Sequence[str]) -> str:
    """Return names as one says them, the last few as a number.

    >>> _names(["a", "b", "c"]), _names(list("abcdef"))
    ('a, b and c', 'a, b, c and 3 others')
    """
    if len(names) > _MOST_NAMED:
        names = [*names[: _MOST_NAMED - 1], f"{len(names) - _MOST_NAMED + 1} others"]
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _number(value: float) -> str:
    return f"{100 * value:.1f}"


def _at_most(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"≤ {math.ceil(1000 * p) / 1000:.3f}"
