"""The report of an evaluation: the scores of all models at all tasks, and the questions one asks of them.

Every interval and every comparison with the best is in the scores already (:mod:`psdvec.evaluation.scores`). Tables,
CSV, JSON and the page (:mod:`psdvec.evaluation.page`) only read what is in a :class:`Report`.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median
from typing import Any

import numpy as np

from psdvec.errors import InputError, checked, import_extra
from psdvec.evaluation.scores import FEWEST_ITEMS, NO_DIFFERENCE, Difference, Score, best_of, holm, spread_of
from psdvec.evaluation.statistics import Parts, variance_of
from psdvec.evaluation.tagging import BASELINE, Counts, TaggingResult
from psdvec.evaluation.tasks import Oov
from psdvec.evaluation.testsets import NOT_IN_PAPER, column_title
from psdvec.pages.figures import dots_figure
from psdvec.progress import Shown, count_of

# The verdict of a report in one sentence: who is best, told apart from whom by which test, or that nobody is.

_MOST_NAMED = 4


def make_verdict(report: Report) -> str:
    """Return what the means over tasks, and the tests of their differences, say of the models."""
    if not report.scores:
        return "Nothing was judged, because there was no test set."
    known = {model: mean for model, mean in report.means.items() if mean.tells}
    if not known:
        return say_left_out(report)
    leading = [known[model] for model in leaders(known.values())]
    others = [mean for mean in known.values() if mean is not leading[0]]
    lacking = _lacking(report)
    if not others:
        said = _one_alone(report, leading[0], others_lack=bool(lacking))
    elif len(leading) == 1:
        said = _one_is_best(report, leading[0], others)
    elif len(leading) == len(known):
        said = _none_told_apart(report, leading)
    else:
        said = _several_lead(report, leading, others)
    left_out = f"; {_names(lacking)}, with too few items at most sets, cannot be compared" if lacking else ""
    return f"{said}{left_out}."


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
        least = min(_scores_at(report, [task]), key=lambda score: score.reached)
        found += f"; {least.model} covers {least.reached}"
    return f"{column_title(task)} ({found})"


def _blame(report: Report) -> str:
    """Return who leaves the others without common items: the models that cover too few of every set themselves."""
    if not report.common:
        return ""
    found: dict[str, list[Score]] = {}
    for score in _scores_at(report, report.candidates):
        found.setdefault(score.model, []).append(score)
    lacking = [
        f"{model} covers {sum(s.reached for s in scores)} of the {sum(s.total for s in scores):,} items"
        for model, scores in found.items()
        if all(score.reached < FEWEST_ITEMS for score in scores)
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


def _one_alone(report: Report, mean: MeanScore, *, others_lack: bool) -> str:
    if others_lack:
        return f"Only {mean.model} has a {_what(report)}"
    known = math.isfinite(mean.low)
    ends = f" (95 % between {_points(mean.low)} and {_points(mean.high)})" if known else ""
    return (
        f"{mean.model} has a {_what(report)} of {_points(mean.value)} points{ends}; "
        "there is no other model to compare it with"
    )


def _one_is_best(report: Report, best: MeanScore, others: Sequence[MeanScore]) -> str:
    after = max(others, key=lambda mean: mean.value)
    highest = max(mean.p_adjusted for mean in others)
    p = "p < 0.001" if highest < 0.001 else f"p ≤ {math.ceil(1000 * highest) / 1000:.3f}"
    many = f"it apart from each of the {len(others)} others (adjusted {p})"
    return (
        f"{best.model} is best: its {_what(report)} is {_points(best.value)} points, "
        f"{_points(best.value - after.value)} above {after.model}, and a paired test tells "
        f"{many if len(others) > 1 else f'the two apart ({p})'}"
    )


def _none_told_apart(report: Report, leading: Sequence[MeanScore]) -> str:
    first, last = leading[0], leading[-1]
    found = [mean.p_adjusted for mean in leading if math.isfinite(mean.p_adjusted)]
    if len(leading) == 2:
        p = f" (p = {found[0]:.2f})" if found else ""
        return (
            f"A paired test does not tell {first.model} and {last.model} apart at this size{p}: their "
            f"{_what(report)} is {_points(first.value)} and {_points(last.value)} points"
        )
    p = f" (adjusted p ≥ {min(found):.2f})" if found else ""
    return (
        f"A paired test does not tell any of the {len(leading)} models from the highest at this size{p}: their "
        f"{_what(report)} lies between {_points(last.value)} ({last.model}) and {_points(first.value)} points "
        f"({first.model})"
    )


def _several_lead(report: Report, leading: Sequence[MeanScore], others: Sequence[MeanScore]) -> str:
    near = _names([f"{mean.model} ({_points(mean.value)})" for mean in leading[1:]])
    rest = [mean.model for mean in others if mean not in leading]
    return (
        f"{leading[0].model} has the highest {_what(report)}, {_points(leading[0].value)} points, but a paired test "
        f"does not tell {near} from it at this size; "
        f"it does tell {rest[0] if len(rest) == 1 else f'the {len(rest)} others'} from it"
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


def _points(value: float, *, digits: int = 1) -> str:
    return f"{100 * value:.{digits}f}" if math.isfinite(value) else NONE


NOISE_LEVEL = 0.05
_SHOWN = 5  # models that a glance shows


@dataclass(frozen=True)
class MeanScore:
    """A model's mean over the tasks that count, NaN if it lacks most of them or there is none.

    Its values are those of a :class:`~psdvec.evaluation.scores.Score`.
    """

    model: str
    value: float
    low: float
    high: float
    is_best: bool
    against_best: Difference
    p_adjusted: float
    spread: float

    @property
    def tells(self) -> bool:
        """Whether there is a mean."""
        return math.isfinite(self.value)


@dataclass(frozen=True, repr=False)
class Report(Shown):
    """The scores of all models, the rules by which they were made, and the details of tagging."""

    scores: tuple[Score, ...]
    oov: Oov
    common: bool
    ignore_case: bool
    seed: int
    tagging: tuple[TaggingResult, ...] = ()
    cased: bool = False  # whether a model keeps case, and takes words as they are written first

    def _facts(self) -> dict[str, str]:
        return {
            "size": f"{count_of(len(self.models), 'model')} at {count_of(len(self.tasks), 'task')}",
            **{f"mean of {model}": f"{self.mean(model):.3f}" for model in self.models[:_SHOWN]},
            **({"...": ""} if len(self.models) > _SHOWN else {}),
        }

    @cached_property
    def models(self) -> tuple[str, ...]:
        """The names of the models, in the order given; the baseline of tagging comes last."""
        names = dict.fromkeys(score.model for score in self.scores)
        return tuple(sorted(names, key=lambda name: name == BASELINE))

    @cached_property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Every (task, metric), in the order given."""
        return tuple(dict.fromkeys((score.task, score.metric) for score in self.scores))

    @cached_property
    def tasks(self) -> dict[str, str]:
        """Every task with its first metric, in the order given."""
        firsts = dict(reversed(self.columns))
        return {task: firsts[task] for task, _ in self.columns}

    @cached_property
    def _cells(self) -> dict[tuple[str, str, str], Score]:
        return {(score.model, score.task, score.metric): score for score in self.scores}

    @checked
    def find(self, model: str, task: str, metric: str) -> Score | None:
        """Return one score, or None if the model has none there."""
        return self._cells.get((model, task, metric))

    @checked
    def get(self, model: str, task: str, metric: str | None = None) -> Score:
        """Return one score; without ``metric``, by the first metric of the task."""
        score = self.find(model, task, metric or self.tasks.get(task, ""))
        if score is None:
            raise InputError(
                f"the report has no score of '{model}' at '{task}'; its models are {', '.join(self.models)}, "
                f"its columns {self.columns}"
            )
        return score

    @cached_property
    def candidates(self) -> tuple[str, ...]:
        """The tasks that a mean would be over: not those of the catalogue that are not in the paper's tables."""
        return tuple(task for task in self.tasks if task not in NOT_IN_PAPER) or tuple(self.tasks)

    @cached_property
    def ranked(self) -> tuple[str, ...]:
        """The models that have a mean: those whose scores tell something at half of the tasks at which any do."""
        telling = [task for task in self.candidates if any(self._tells(model, task) for model in self.models)]
        judged = [m for m in self.models if all(self.find(m, t, self.tasks[t]) for t in self.candidates)]
        enough = [m for m in judged if 2 * sum(self._tells(m, task) for task in telling) >= len(telling)]
        return tuple(enough) if telling else ()

    @cached_property
    def counted(self) -> tuple[str, ...]:
        """The tasks that the means are over: the :attr:`candidates` at which all :attr:`ranked` models tell something.

        So all means are over the same tasks, and can be compared.
        """
        told = [task for task in self.candidates if all(self._tells(model, task) for model in self.ranked)]
        return tuple(told) if self.ranked else ()

    @cached_property
    def left_out(self) -> dict[str, tuple[Score, ...]]:
        """The :attr:`candidates` that the means are not over, each with the scores that tell nothing there."""
        rest = [task for task in self.candidates if task not in self.counted]
        models = self.ranked or self.models
        found = {task: [self.find(model, task, self.tasks[task]) for model in models] for task in rest}
        return {task: tuple(s for s in scores if s and not s.tells) for task, scores in found.items()}

    def _tells(self, model: str, task: str) -> bool:
        score = self.find(model, task, self.tasks[task])
        return score is not None and score.tells

    @checked
    def mean(self, model: str) -> float:
        """Return the mean over the tasks that are :attr:`counted`, each by its first metric; NaN without any.

        Sets of the catalogue that are not in the paper's tables, such as Rare Words, do not count, and neither do those
        of which a model with a mean covers too few items.
        """
        return float(np.mean([score.value for score in self._counted(model)] or [float("nan")]))

    @cached_property
    def means(self) -> dict[str, MeanScore]:
        """Every model's :meth:`mean`, with its interval and its test against the best of them.

        The distances from the mean to the ends of its interval are those of the sets, squared, added up and divided by
        the square of their number, as variances would be: so an interval near 100 points stays within them (Zou and
        Donner, 2008). They are then multiplied by how much larger the error of the mean is because sets share words.
        """
        values = {model: self.mean(model) for model in self.models}
        best = best_of(values)
        compared = {
            model: self.mean_difference(model, best) if best and model != best else NO_DIFFERENCE
            for model in self.models
        }
        adjusted = holm({model: difference.p for model, difference in compared.items()})
        means = {}
        for model, value in values.items():
            counted = self._counted(model)
            wider = _widening([score.items.parts() for score in counted])
            below, above = (
                wider
                * float(np.linalg.norm([getattr(score, end) - score.value for score in counted]))
                / (len(counted) or math.nan)
                for end in ("low", "high")
            )
            seeds = [score.items.seed_scores() for score in counted]
            alike = len({len(scores) for scores in seeds}) == 1  # as many seeds for every set
            means[model] = MeanScore(
                model=model,
                value=value,
                low=value - below,
                high=value + above,
                is_best=model == best,
                against_best=compared[model],
                p_adjusted=adjusted[model],
                spread=spread_of(np.mean(seeds, axis=0)) if alike else float("nan"),
            )
        return means

    @checked
    def mean_difference(self, first: str, second: str) -> Difference:
        """Return how the means of two models differ, over the items of each set that both use."""
        both = zip(self._counted(first), self._counted(second), strict=False)
        found = [_subtract(one.items, other.items) for one, other in both]
        parts = [one for one in found if one]
        if not parts or len(parts) < len(found):
            return NO_DIFFERENCE
        value, variance = float(np.mean([one.mean for one in parts])), variance_of(*parts)
        return Difference(value, variance.error, variance.p_value(value))

    def _counted(self, model: str) -> list[Score]:
        """Return the scores that a model's mean is over; none if it has no mean."""
        if model not in self.models:
            raise InputError(f"the report has no model '{model}'; its models are {', '.join(self.models)}")
        found = [self.find(model, task, self.tasks[task]) for task in self.counted]
        return [score for score in found if score] if model in self.ranked else []

    @checked
    def best(self, task: str, metric: str) -> str | None:
        """Return the model with the highest score in a column, or None if there is no score to compare."""
        scores = (score for score in self.scores if (score.task, score.metric) == (task, metric))
        return next((score.model for score in scores if score.is_best), None)

    @checked
    def difference(self, first: str, second: str, task: str, metric: str | None = None) -> float:
        """Return the p-value of the difference between two models.

        The items that both cover are compared one by one (:mod:`psdvec.evaluation.scores`).
        """
        one, other = (self.get(model, task, metric).items for model in (first, second))
        if type(one) is not type(other):
            raise InputError(
                f"'{first}' and '{second}' were judged in different ways at '{task}'; evaluate them together"
            )
        return one.compare(other, seed=self.seed).p  # type: ignore[arg-type]

    def to_frame(self) -> Any:
        """Return the scores as a pandas data frame: a row per model, task and metric, and one per model for the mean.

        A ``score`` is between 0 and 1, with its 95 % interval from ``low`` to ``high``; ``covered`` of ``total`` items
        have vectors. Of the mean, these count sets.
        """
        pandas = import_extra("pandas", extra="pandas", purpose="a data frame")
        head, records = as_records(self)
        return pandas.DataFrame(records, columns=head)

    def plot(self) -> Any:
        """Draw the scores of all models with their 95 % intervals, a row per task, and first their means.

        Returns
        -------
        matplotlib.figure.Figure
            A notebook shows it; ``figure.savefig("scores.png")`` keeps it, as does ``.svg`` or ``.pdf``.
        """
        from psdvec.evaluation.page import score_rows

        rows = score_rows(self)
        title = f"Scores of {self.models[0] if len(self.models) == 1 else 'word vectors'}"
        return dots_figure(
            list(rows), list(rows.values()), title=title, x_title="points, with 95 % intervals"
        )


def leaders(scores: Iterable[Score | MeanScore | None]) -> tuple[str, ...]:
    """Return the model with the highest of these scores and those that the test does not tell apart from it.

    The scores are those of one column, or the means. The highest comes first. Only if it is alone, and there are others
    to compare it with, do the tests say that it is the best.
    """
    known = [score for score in scores if score and score.tells]
    found = [score for score in known if score.is_best or not score.p_adjusted < NOISE_LEVEL]
    return tuple(score.model for score in sorted(found, key=lambda score: (not score.is_best, -score.value)))


def _subtract(one: Any, other: Any) -> Parts | None:
    """Return what items contribute to the difference of two models, None if they were judged in different ways."""
    parts: Parts | None = one.subtract(other) if type(one) is type(other) else None
    return parts


def _widening(sets: Sequence[Parts]) -> float:
    """Return by what factor the error of the mean over sets is larger than if they shared nothing."""
    centred = [replace(one, values=one.values - one.mean) for one in sets]
    apart = math.sqrt(sum(variance_of(one).value for one in centred)) / (len(sets) or math.nan)
    return max(variance_of(*centred).error / apart, 1.0) if apart > 0 else 1.0


# A report in words and numbers: tables for people, CSV and JSON for programs.

BEST = "*"
NOISE = "≈"
NONE = "–"
SEEN = "detectable"


@dataclass(frozen=True)
class Table:
    """Header and rows of cells."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class ReportTables:
    """Every table of a report, its ``verdict`` and ``rules`` in sentences, and all of it as ``values`` for JSON."""

    verdict: str
    scores: Table
    intervals: Table
    coverage: Table
    tagging: Table | None
    seeds: Table | None
    sections: tuple[Table, ...]
    rules: str
    values: Mapping[str, Any]


def make_tables(report: Report) -> ReportTables:
    """Return all that is shown of a report; text, page and JSON read the same."""
    sections = [section_table(report, *column) for column in report.columns]
    return ReportTables(
        verdict=make_verdict(report),
        scores=score_table(report),
        intervals=interval_table(report),
        coverage=coverage_table(report),
        tagging=tagging_table(report),
        seeds=seed_table(report),
        sections=tuple(filter(None, sections)),
        rules=rules(report),
        values=as_values(report),
    )


def score_table(report: Report) -> Table:
    """Return one row per model with its scores, their marks, and the mean over tasks.

    With several models, a last row has the minimum detectable difference from the best in each column, the median over
    the other models.
    """
    columns = [*zip(*(_scores_of(report, model) for model in report.models), strict=True)]
    rows = [*zip(report.models, *map(score_cells, columns), strict=True)]
    if len(report.models) > 1:
        rows.append((SEEN, *map(_detectable, columns)))
    return Table(("model", *_titles(report)), tuple(rows))


def _scores_of(report: Report, model: str) -> list[Score | MeanScore | None]:
    """Return the scores of a model in every column, and last its mean."""
    return [*(report.find(model, *column) for column in report.columns), report.means[model]]


def _titles(report: Report) -> list[str]:
    """Return the headings of every column, and last that of the means."""
    return [*(column_title(*column) for column in report.columns), mean_title(report)]


def score_cells(column: Sequence[Score | MeanScore | None]) -> list[str]:
    """Return the scores of a column in points, each with its mark.

    ``*`` marks the best where the test tells it apart from every other, ``≈`` those among which it does not decide.
    Of too few items, their number stands for the score.
    """
    known = [score for score in column if score and score.tells]
    leading = leaders(known) if len(known) > 1 else ()
    mark = BEST if len(leading) == 1 else NOISE
    return [
        (too_few(score.size) if isinstance(score, Score) and score.too_few else _points(score.value))
        + (mark if score.model in leading else " ")
        if score
        else f"{NONE} "
        for score in column
    ]


def too_few(size: int) -> str:
    """Return what stands in place of a score of ``size`` items, fewer than :data:`FEWEST_ITEMS`."""
    return f"too few ({size})"


def mean_title(report: Report) -> str:
    """Return the title of the column of means, which says how many sets they are over if that is not all."""
    if not report.left_out or not report.counted:
        return "mean"
    return f"mean of {len(report.counted)} of {len(report.candidates)}"


def interval_table(report: Report) -> Table:
    """Return one row per model with the intervals of its scores and of their mean, in points."""
    rows = []
    for model in report.models:
        known = [s if s and math.isfinite(s.low) else None for s in _scores_of(report, model)]
        rows.append((model, *(f"{_points(s.low)}-{_points(s.high)}" if s else NONE for s in known)))
    return Table(("95 % between", *_titles(report)), tuple(rows))


def seed_table(report: Report) -> Table | None:
    """Return one row per model with its number of seeds and how far they scatter, or None if all have one."""
    rows = []
    for model in report.models:
        seeds = max((score.seeds for score in report.scores if score.model == model), default=1)
        if seeds > 1:
            spreads = [s.spread if s and s.tells else math.nan for s in _scores_of(report, model)]
            rows.append((model, str(seeds), *(_points(spread, digits=2) for spread in spreads)))
    return Table(("standard deviation", "seeds", *_titles(report)), tuple(rows)) if rows else None


def coverage_table(report: Report) -> Table:
    """Return one row per model with how many items of each task it covers, as :func:`coverage_of` writes it."""
    rows = []
    for model in report.models:
        scores = [report.find(model, *column) for column in report.tasks.items()]
        rows.append((model, *(coverage_of(score) if score else NONE for score in scores)))
    return Table(("covered", *map(column_title, report.tasks)), tuple(rows))


def coverage_of(score: Score) -> str:
    """Return the items covered of all, as ``210/250``; ``210+30/250`` if 30 more are thanks to spelling."""
    more = f"+{score.covered_by_spelling}" if score.covered_by_spelling else ""
    return f"{score.covered}{more}/{score.total}"


def section_table(report: Report, task: str, metric: str) -> Table | None:
    """Return one row per section of a task with each model's score there, or None if it has no sections."""
    scores = [report.find(model, task, metric) for model in report.models]
    sections = dict.fromkeys(name for score in scores if score for name in score.sections)
    if not sections:
        return None
    rows = []
    for section in sections:
        found = [score.sections.get(section) if score else None for score in scores]
        size = max(count for _, count in filter(None, found))
        cells = [
            NONE if cell is None else too_few(cell[1]) if cell[1] < FEWEST_ITEMS else _points(cell[0])
            for cell in found
        ]
        rows.append((section, str(size), *cells))
    return Table((column_title(task, metric), "items", *report.models), tuple(rows))


def tagging_table(report: Report) -> Table | None:
    """Return one row per tagging task for the baseline and each model, or None if there is no such task."""
    base = {result.task: result.total.f1 for result in report.tagging if result.model == BASELINE}
    rows = []
    for result in report.tagging:
        total = result.total
        gain = "" if result.model == BASELINE else f"{100 * (total.f1 - base[result.task]):+.2f}"
        numbers = [_points(value, digits=2) for value in (total.precision, total.recall, total.f1)]
        tokens = _points(result.accuracy, digits=2)
        if len(result.sentences) < FEWEST_ITEMS:
            numbers, gain, tokens = [NONE, NONE, too_few(len(result.sentences))], NONE, NONE
        scale = NONE if result.scale is None else f"{result.scale:g}"
        chosen = (_points(result.dev_f1, digits=2), f"{result.penalty:g}", scale, f"{result.seconds:.0f}")
        rows.append((column_title(result.task), result.model, *numbers, gain, tokens, *chosen))
    header = ("task", "model", "precision", "recall", "F1", "gain", "tokens")
    return Table((*header, "dev F1", "penalty", "scale", "s"), tuple(rows)) if rows else None


def rules(report: Report) -> str:
    """Return in sentences how the scores were made."""
    missing = {
        "skip": "items with a word that has no vector are left out",
        "zero": "a word that has no vector counts as a vector of zeros",
        "mean": "a word that has no vector counts as the mean of all vectors",
        "spelling": "a word that has no vector has that of its spelling, and the items that this adds stand after + in "
        "the coverage; the others with such a word are left out",
    }[report.oov]
    if report.common:
        covered = "only items that all models cover are used"
        missing = f"{missing.partition(';')[0]}; {covered}" if report.oov == "spelling" else covered
    case = "case is ignored" if report.ignore_case else "case matters"
    if report.ignore_case and report.cased:
        case += ", unless a model that keeps it has the word as written"
    text = f"Scores are in points; {missing}; {case}. The mean takes analogies by the first method shown."
    if len(report.models) > 1:
        text += (
            f" {BEST} best: told apart from every other model; {NOISE} highest, or not told apart from the highest at "
            f"this size (paired test, p ≥ {NOISE_LEVEL} by Holm's method over all pairs of models in the column). "
            f"{SEEN}: a difference from the highest that one test would find in four cases of five (a power of 80 %)."
        )
    if seed_table(report):
        text += (
            " Scores of a method trained with several seeds are means over them; its tests and intervals allow for "
            "other seeds too."
        )
    if any(score.too_few for score in report.scores):
        text += f" too few (n): n items are too few to tell; a score takes at least {FEWEST_ITEMS}."
    return f"{text} {say_left_out(report)}".rstrip()


def as_csv(report: Report) -> str:
    """Return one line per model, task and metric, and one per model for the mean."""
    file = io.StringIO()
    head, records = as_records(report)
    writer = csv.DictWriter(file, head, lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return file.getvalue()


def as_records(report: Report) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the names of columns, and one row per model, task and metric, and one per model for the mean."""
    head = ["model", "task", "metric", "score", "low", "high", "covered"]
    if report.oov == "spelling":
        head.append("covered_by_spelling")
    head += ["total", "too_few", "best", "p_against_best"]
    head += ["p_adjusted", "detectable", "seeds", "spread"]
    sets = {"covered": len(report.counted), "total": len(report.candidates)}
    means = [
        {"model": model, "task": "mean", **sets, **_mean_record(mean)} for model, mean in report.means.items()
    ]
    return head, [*(_record(score, report) for score in report.scores), *means]


def as_values(report: Report) -> dict[str, Any]:
    """Return the report as plain values, ready for JSON; NaN becomes None."""
    return {
        "rules": {name: getattr(report, name) for name in ("oov", "common", "ignore_case", "seed")},
        "means": {model: _mean_record(mean) for model, mean in report.means.items()},
        "mean_over": list(report.counted),
        "left_out": {
            task: {score.model: score.size for score in scores} for task, scores in report.left_out.items()
        },
        "scores": [
            _record(score, report)
            | {
                "sections": {
                    name: {"score": _finite(value), "items": size, "too_few": size < FEWEST_ITEMS}
                    for name, (value, size) in score.sections.items()
                }
            }
            for score in report.scores
        ],
        "tagging": [_tagging_record(result) for result in report.tagging],
    }


def _tagging_record(result: TaggingResult) -> dict[str, Any]:
    def shares(counts: Counts) -> dict[str, float | int]:
        return {"precision": counts.precision, "recall": counts.recall, "f1": counts.f1, "spans": counts.gold}

    return {
        "task": result.task,
        "model": result.model,
        **shares(result.total),
        "too_few": len(result.sentences) < FEWEST_ITEMS,
        "token_accuracy": result.accuracy,
        "dev_f1": result.dev_f1,
        "penalty": result.penalty,
        "scale": result.scale,
        "seconds": result.seconds,
        "labels": {label: shares(counts) for label, counts in result.labels.items()},
    }


def _record(score: Score, report: Report) -> dict[str, Any]:
    spelled = {"covered_by_spelling": score.covered_by_spelling} if report.oov == "spelling" else {}
    return {
        "model": score.model,
        "task": score.task,
        "metric": score.metric,
        "score": _finite(score.value),
        "low": _finite(score.low),
        "high": _finite(score.high),
        "covered": score.covered,
        **spelled,
        "total": score.total,
        "too_few": score.too_few,
        **_comparison_record(score),
        "seeds": score.seeds,
    }


def _mean_record(mean: MeanScore) -> dict[str, Any]:
    return {
        "score": _finite(mean.value),
        "low": _finite(mean.low),
        "high": _finite(mean.high),
        **_comparison_record(mean),
    }


def _comparison_record(score: Score | MeanScore) -> dict[str, Any]:
    return {
        "best": score.is_best,
        "p_against_best": _finite(score.against_best.p),
        "p_adjusted": _finite(score.p_adjusted),
        "detectable": _finite(score.against_best.detectable),
        "spread": _finite(score.spread),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _detectable(scores: Sequence[Score | MeanScore | None]) -> str:
    """Return the median over models of the minimum detectable difference from the best.

    A model that does the same as the best at every item tells nothing of that.
    """
    found = [score.against_best.detectable for score in scores if score]
    known = [value for value in found if value > 1e-9]  # of rounding
    return _points(median(known) if known else math.nan) + " "
