"""How long-running functions report their progress.

They accept ``progress``, a :class:`Progress`, and open one :meth:`Progress.stage` for each part of the work. The
library's default, :class:`LogProgress`, writes to :mod:`logging`; the command line draws a bar instead
(:mod:`psdvec.cli.progress_bar`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

logger = logging.getLogger("psdvec")


class Stage(Protocol):
    """One part of the work, of ``total`` units."""

    def advance(self, done: float, **rates: float) -> None:
        """Report that ``done`` more units are finished; ``rates`` are other counters to show (tokens, pages)."""

    def note(self, text: str) -> None:
        """Show a short remark next to the stage, such as the objective."""


class Progress(Protocol):
    """Opens stages and shows remarks."""

    def stage(self, label: str, *, total: float | None, unit: str) -> AbstractContextManager[Stage]:
        """Open a stage; ``unit`` is ``"B"`` for bytes or a plural noun, ``total`` is None if unknown."""

    def say(self, text: str) -> None:
        """Show a remark that stays visible after the stage has ended."""


class LogProgress:
    """Logs the end of each stage, and how far it has come every ``every`` seconds."""

    def __init__(self, *, every: float = 10.0) -> None:
        self.every = every

    @contextmanager
    def stage(self, label: str, *, total: float | None, unit: str) -> Iterator[Stage]:
        """See :meth:`Progress.stage`."""
        stage = _LogStage(label, total, unit, self.every)
        yield stage
        logger.info("%s: done in %.1f s", label, time.monotonic() - stage.start)

    def say(self, text: str) -> None:
        """See :meth:`Progress.say`."""
        logger.info("%s", text)


class _LogStage:
    def __init__(self, label: str, total: float | None, unit: str, every: float) -> None:
        self.label, self.total, self.unit, self.every = label, total, unit, every
        self.done = 0.0
        self.start = self.last = time.monotonic()

    def advance(self, done: float, **rates: float) -> None:
        self.done += done
        now = time.monotonic()
        if now - self.last < self.every:
            return
        self.last = now
        if self.total:
            left = (now - self.start) * (self.total - self.done) / max(self.done, 1e-9)
            logger.info("%s: %.0f %% done, about %.0f s left", self.label, 100 * self.done / self.total, left)
        else:
            logger.info("%s: %.0f %s done", self.label, self.done, self.unit)

    def note(self, text: str) -> None:
        logger.info("%s: %s", self.label, text)
