"""The verdict of a report in one sentence: who is best, told apart from whom by which test, or that nobody is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from psdvec.evaluation.report import MeanScore, Report, leaders
from psdvec.evaluation.tagging.crf import BASELINE
from psdvec.evaluation.testsets import column_title

_MOST_NAMED = 4


def make_verdict(report: Report) -> str:
    """Return what the means over tasks, and the tests of their differences, say of the models."""
    if not report.scores:
        return "Nothing was judged, because there was no test set."
    known = {model: mean for model, mean in report.means.items() if math.isfinite(mean.value)}
    judged = [model for model in report.models if model in known or model != BASELINE]
    lacking = [model for model in judged if model not in known]
    left_out = f"; {_names(lacking)}, without a score at some set, cannot be compared" if lacking else ""
    if len(judged) == 1 and known:
        return _one_alone(report, known[judged[0]])
    if not known:
        return f"No mean can be taken, because there are sets without a score for {_names(lacking)}."
    if len(known) == 1:
        (model,) = known
        return f"Only {model} has a {_what(report)}{left_out}."
    leading = leaders(known.values())
    if len(leading) == 1:
        return _one_is_best(report, known, leading[0]) + left_out + "."
    if len(leading) == len(known):
        return _none_told_apart(report, known, leading) + left_out + "."
    return _several_lead(report, known, leading) + left_out + "."


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
    return f"mean over {len(report.counted)} test sets"


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
