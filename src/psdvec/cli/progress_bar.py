"""Progress on standard error: a bar with rates and remaining time on a terminal, log lines elsewhere."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from psdvec import progress
from psdvec.resources import format_size


def make_progress(*, quiet: bool = False) -> progress.Progress:
    """Return progress that suits standard error: a bar, log lines, or nothing if ``quiet``."""
    if quiet:
        logging.getLogger("psdvec").setLevel(logging.ERROR)
        return progress.LogProgress()
    if sys.stderr.isatty():
        return BarProgress(Console(stderr=True))
    logging.basicConfig(stream=sys.stderr, format="%(message)s")
    logging.getLogger("psdvec").setLevel(logging.INFO)
    return progress.LogProgress()


class BarProgress:
    """Draws one bar per stage on ``console``."""

    def __init__(self, console: Console) -> None:
        self.console = console

    @contextmanager
    def stage(self, label: str, *, total: float | None, unit: str) -> Iterator[progress.Stage]:
        """See :meth:`psdvec.progress.Progress.stage`."""
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            _RatesColumn(unit),
            TimeRemainingColumn(compact=True, elapsed_when_finished=True),
            TextColumn("{task.fields[remark]}"),
        )
        with Progress(*columns, console=self.console) as bars:
            task = bars.add_task(label, total=total, remark="", counters={})
            yield _BarStage(bars, task)

    def say(self, text: str) -> None:
        """See :meth:`psdvec.progress.Progress.say`."""
        self.console.print(text, highlight=False, markup=False)


class _BarStage:
    def __init__(self, bars: Progress, task: object) -> None:
        self.bars, self.task = bars, self._find(bars, task)

    @staticmethod
    def _find(bars: Progress, task_id: object) -> Task:
        return next(task for task in bars.tasks if task.id == task_id)

    def advance(self, done: float, **rates: float) -> None:
        counters = self.task.fields["counters"]
        for name, amount in rates.items():
            counters[name] = counters.get(name, 0.0) + amount
        self.bars.update(self.task.id, advance=done)

    def note(self, text: str) -> None:
        self.bars.update(self.task.id, remark=text)


class _RatesColumn(ProgressColumn):
    """The speed of the stage and of each further counter."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self.unit = unit

    def render(self, task: Task) -> Text:
        seconds = max(task.elapsed or 0.0, 1e-3)
        speed = task.completed / seconds
        parts = [f"{format_size(speed)}/s" if self.unit == "B" else f"{speed:,.0f} {self.unit}/s"]
        parts += [f"{amount / seconds:,.0f} {name}/s" for name, amount in task.fields["counters"].items()]
        return Text(", ".join(parts), style="cyan")
