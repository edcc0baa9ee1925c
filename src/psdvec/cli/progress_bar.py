"""Progress on standard error: a bar with rates and remaining time on a terminal, log lines elsewhere.

rich is imported where it is needed, since a command that draws no bar starts sooner without it.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from psdvec import progress
from psdvec.errors import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn, Task
    from rich.text import Text


def make_progress(*, quiet: bool = False) -> progress.Progress:
    """Return progress that suits standard error: a bar, log lines, or nothing if ``quiet``."""
    log = logging.getLogger("psdvec")
    if quiet:
        log.setLevel(logging.ERROR)
        return progress.SilentProgress()
    if sys.stderr.isatty():
        from rich.console import Console

        log.setLevel(logging.WARNING)  # no lines across the bar
        return BarProgress(Console(stderr=True))
    logging.basicConfig(stream=sys.stderr, format="%(message)s")
    log.setLevel(logging.INFO)
    return progress.LogProgress()


class BarProgress:
    """Draws one bar per stage on ``console``."""

    def __init__(self, console: Console) -> None:
        self.console = console

    @contextmanager
    def stage(self, label: str, *, total: float | None, unit: str) -> Iterator[progress.Stage]:
        """See :meth:`psdvec.progress.Progress.stage`."""
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            _column(_rates, "cyan"),
            _column(_time, "yellow"),
            _column(_remark, ""),
        )
        with Progress(*columns, console=self.console) as bars:
            task = bars.add_task(label, total=total, remark="", paces={unit: progress.Pace()}, unit=unit)
            yield _BarStage(bars, next(each for each in bars.tasks if each.id == task))

    def say(self, text: str) -> None:
        """See :meth:`psdvec.progress.Progress.say`."""
        self.console.print(printable(text), highlight=False, markup=False)


class _BarStage:
    def __init__(self, bars: Progress, task: Task) -> None:
        self.bars, self.task = bars, task

    def advance(self, done: float, **rates: float) -> None:
        now, paces = self.task.get_time(), dict(self.task.fields["paces"])
        for name, amount in {self.task.fields["unit"]: done, **rates}.items():
            paces.setdefault(name, progress.Pace()).add(amount, now=now)
        self.bars.update(self.task.id, advance=done, paces=paces)

    def note(self, text: str) -> None:
        self.bars.update(self.task.id, remark=text)


def _column(tell: Callable[[Task], str], style: str) -> ProgressColumn:
    """Return a column that shows what ``tell`` says of a stage."""
    from rich.progress import ProgressColumn
    from rich.text import Text

    class Column(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(tell(task), style=style)

    return Column()


def _rates(task: Task) -> str:
    """Return the speed of the stage and of each further counter; nothing while it is unknown."""
    rates = {name: pace.rate for name, pace in task.fields["paces"].items()}
    return ", ".join(progress.format_rate(rate, name) for name, rate in rates.items() if rate)


def _time(task: Task) -> str:
    """Return the time left, or how long the stage took; nothing while it is unknown."""
    if task.finished:
        return str(timedelta(seconds=round(task.finished_time or 0.0)))
    if task.total is None:
        return ""
    pace: progress.Pace = task.fields["paces"][task.fields["unit"]]
    left = pace.seconds_left(task.total, now=task.get_time())
    return "" if left is None else f"{timedelta(seconds=round(left))} left"


def _remark(task: Task) -> str:
    """Return the remark of the stage, or that it stands still for the sake of compiling."""
    remark: str = task.fields["remark"]
    return progress.COMPILING if progress.is_compiling() and not task.finished else remark
