"""How long-running functions report their progress.

They accept ``progress``, a :class:`Progress`, and open one :meth:`Progress.stage` for each part of the work. The
library's default, :class:`LogProgress`, writes to the log ``psdvec``, or to standard error where nobody listens to that
log; the command line draws a bar instead (:mod:`psdvec.cli.tables`). :class:`Pace` measures speed and time left
for both, and :data:`psdvec.resources.compilations` tells why the first run stands still at first.

To have a function of your own called, derive from :class:`SilentProgress`, which does nothing, and give ``progress`` an
object of that class. Each stage is told what was done since it was last told:

>>> class Reporting(SilentProgress):
...     def __init__(self, report, label="", total=None):
...         self.report, self.label, self.total, self.done = report, label, total, 0.0
...     @contextmanager
...     def stage(self, label, *, total, unit):
...         yield Reporting(self.report, label, total)
...     def advance(self, done, **rates):
...         self.done += done
...         self.report(self.label, self.done / self.total if self.total else None)
>>> import psdvec
>>> shares = {}
>>> model = psdvec.fit("counts/", dim=5, progress=Reporting(shares.__setitem__))
>>> shares["rounds"]
1.0
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from html import escape
from typing import Protocol, TextIO

from psdvec.errors import one_line, printable
from psdvec.resources import compilations, format_size

logger = logging.getLogger("psdvec")

COMPILING = "compiling, once"

_RECENT = 30.0  # seconds of the past that a rate is measured over
_FEWEST = 4  # updates that it is measured over at least, if there were as many
_APART = 0.25  # updates that follow sooner count as one
_TICK = 0.5  # seconds between two looks at a stage that says nothing


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


def count_of(number: int, thing: str) -> str:
    """Return how many there are of something, as a sentence says it.

    >>> count_of(1, "document"), count_of(1200, "document")
    ('1 document', '1,200 documents')
    """
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


class Shown:
    """A value of which prompts show a line, and notebooks a small table, however much it holds."""

    def __repr__(self) -> str:
        size, *others = self._facts().items()
        facts = ", ".join([size[1], *(f"{name} {value}" for name, value in others)])
        return one_line(f"{type(self).__name__}({facts})")

    def _repr_html_(self) -> str:
        """Return the table."""
        rows = "".join(
            f"<tr><th>{escape(printable(name))}</th><td>{escape(printable(fact))}</td></tr>"
            for name, fact in self._facts().items()
        )
        return f"<table><caption>{escape(type(self).__name__)}</caption>{rows}</table>"

    def _facts(self) -> dict[str, str]:
        """Return what a glance should show, by name; the size comes first."""
        raise NotImplementedError


class SilentProgress:
    """Shows nothing: neither remarks nor stages, of which each is this object itself."""

    @contextmanager
    def stage(self, label: str, *, total: float | None, unit: str) -> Iterator[Stage]:
        """See :meth:`Progress.stage`."""
        yield self

    def say(self, text: str) -> None:
        """See :meth:`Progress.say`."""

    def advance(self, done: float, **rates: float) -> None:
        """See :meth:`Stage.advance`."""

    def note(self, text: str) -> None:
        """See :meth:`Stage.note`."""


class LogProgress:
    """Writes lines to the log ``psdvec``: how far a long stage has come every ``every`` seconds, and the end of each.

    If nothing takes what the log gives at level INFO, stages that last longer than ``after`` seconds write their lines
    to ``stream`` instead, standard error by default; shorter ones write nothing. Whoever sets the level of the log
    above INFO sees neither.
    """

    def __init__(
        self,
        *,
        every: float = 10.0,
        after: float = 3.0,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.every, self.after, self.stream, self.clock = every, after, stream, clock

    @contextmanager
    def stage(self, label: str, *, total: float | None, unit: str) -> Iterator[Stage]:
        """See :meth:`Progress.stage`."""
        stage = _LogStage(self, label, total, unit)
        with _ticking(stage.look):
            yield stage
        stage.end()

    def say(self, text: str) -> None:
        """See :meth:`Progress.say`."""
        logger.info("%s", printable(text))

    def show(self, text: str, *, is_long: bool) -> None:
        """Write a line to the log, or, if it is of a long stage, to the stream where nothing takes the log."""
        if logger.isEnabledFor(logging.INFO) and logger.hasHandlers():
            logger.info("%s", text)
        elif is_long and logger.level <= logging.INFO:
            stream = self.stream or sys.stderr
            stream.write(f"psdvec: {text}\n")
            stream.flush()


class _LogStage:
    """A stage whose lines are written by whoever comes first: an update of the work, or a look at the clock."""

    def __init__(self, progress: LogProgress, label: str, total: float | None, unit: str) -> None:
        self.progress, self.label, self.total, self.unit = progress, label, total, unit
        self.pace = Pace()
        self.start = progress.clock()
        self.next_line = self.start + progress.after
        self.lock = threading.Lock()

    def advance(self, done: float, **rates: float) -> None:
        with self.lock:
            self.pace.add(done, now=self.progress.clock())
        self.look()

    def note(self, text: str) -> None:
        logger.info("%s: %s", self.label, text)

    def look(self) -> None:
        """Write a line if one is due."""
        with self.lock:
            now = self.progress.clock()
            if now < self.next_line:
                return
            self.next_line = now + self.progress.every
            self.progress.show(f"{self.label}: {self._state(now)}", is_long=True)

    def end(self) -> None:
        seconds = self.progress.clock() - self.start
        self.progress.show(f"{self.label}: done in {seconds:.1f} s", is_long=seconds > self.progress.after)

    def _state(self, now: float) -> str:
        """Say how far the stage has come, as far as that is known."""
        done = self.pace.done
        if compilations.under_way:
            return COMPILING
        if not done:
            return f"working for {now - self.start:.0f} s"
        if not self.total:
            return f"{format_amount(done, self.unit)} done"
        left = self.pace.seconds_left(self.total, now=now)
        state = f"{100 * done / self.total:.0f} % done"
        return state if left is None else f"{state}, about {left:.0f} s left"


class Pace:
    """How fast work is done of late: over the last half minute, or the last few updates if they are further apart.

    Time is measured from the first update on, so that what comes before it, such as compiling, does not count. Measured
    beside rich's own estimate: over its 30 s, that one never knows the time left of rounds that take a minute; over an
    hour, it says 156 s where 40 s are left and work has become ten times as fast; and between updates it stands still.

    >>> pace = Pace()
    >>> pace.add(1, now=60.0)  # the first unit says nothing yet: its minute may have gone into compiling
    >>> pace.rate, pace.seconds_left(5, now=60.0)
    (None, None)
    >>> pace.add(1, now=62.0)
    >>> pace.rate, pace.seconds_left(5, now=62.0)
    (0.5, 6.0)
    """

    def __init__(self) -> None:
        self.done = 0.0
        self._marks: list[tuple[float, float]] = []  # (time, done by then), oldest first

    def add(self, done: float, *, now: float) -> None:
        """Report that ``done`` more units were finished by the time ``now``."""
        self.done += done
        if len(self._marks) > 1 and now - self._marks[-2][0] < _APART:
            self._marks.pop()
        self._marks.append((now, self.done))
        while len(self._marks) > _FEWEST and self._marks[1][0] < now - _RECENT:
            del self._marks[0]

    @property
    def rate(self) -> float | None:
        """Units per second; None before the second update."""
        if len(self._marks) < 2:
            return None
        (begin, before), (end, after) = self._marks[0], self._marks[-1]
        return (after - before) / (end - begin) if end > begin else None

    def seconds_left(self, total: float, *, now: float) -> float | None:
        """How long the rest of ``total`` units takes at this pace; None while that is unknown."""
        rate = self.rate
        if not rate:
            return None
        return max((total - self.done) / rate - (now - self._marks[-1][0]), 0.0)


def format_amount(amount: float, unit: str) -> str:
    """Return an amount of units, or of bytes if the unit is ``"B"``, for people.

    >>> format_amount(12345, "words")
    '12,345 words'
    """
    return format_size(amount) if unit == "B" else f"{amount:,.0f} {unit}"


def format_rate(rate: float, unit: str) -> str:
    """Return a rate for people, in units per second, minute or hour, whichever gives at least one.

    >>> format_rate(1234.5, "words"), format_rate(0.06, "rounds")
    ('1,234 words/s', '3.6 rounds/min')
    """
    if unit == "B" or rate >= 1:
        return f"{format_amount(rate, unit)}/s"
    number, per = (60 * rate, "min") if 60 * rate >= 1 else (3600 * rate, "h")
    return f"{number:.1f} {unit}/{per}"


@contextmanager
def _ticking(look: Callable[[], None]) -> Iterator[None]:
    """Call ``look`` twice a second from a thread of its own while the block runs."""
    stop = threading.Event()

    def tick() -> None:
        while not stop.wait(_TICK):
            look()

    thread = threading.Thread(target=tick, name="psdvec-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
