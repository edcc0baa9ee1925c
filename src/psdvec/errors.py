"""The exceptions of this package; their messages say what is wrong, where, and what to do.

::

    PSDVecError
     ├── InputError          the input cannot be read, or makes no sense
     ├── StoreError          an artefact on disk is missing, damaged, or of another kind or version
     ├── ResourceError       memory or disk space is insufficient
     ├── ClusterError        a Dask scheduler or its workers cannot be used, or were lost
     ├── MissingWordError    a word is not in the vocabulary; also a ``KeyError``
     └── MissingExtraError   an optional package is needed; the message gives the ``pip`` command

The library only raises them; :mod:`psdvec.cli` turns an exception into an exit code, which is never 0.
"""

from __future__ import annotations

import errno
import importlib
import operator
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType

_SHOWN = 80  # letters of a missing word, in a message
SHORT_OF_MEMORY = (
    "the system gives this program no more memory or threads; close other programs, raise the limit (ulimit), or give "
    "it less to do at once, such as fewer words or workers"
)
_NO_MEMORY = (
    "cannot allocate memory",
    "failed to map segment",
    "can't start new thread",
    "unable to allocate",
)
_MOST = 2**31 - 1  # of words, dimensions and whatever else is counted; ids have 32 bits
_LAST_SEED = 2**32 - 1  # of NumPy's older generators, which gensim uses
_LONGEST = 800  # letters of a message
_END = 200  # of these at its end, where it says what to do


class PSDVecError(Exception):
    """The base class of every error that this package raises on purpose.

    Its message is one line of bearable length, even where it quotes a file, a word or another library.
    """

    def __str__(self) -> str:
        return one_line(super().__str__())


class InputError(PSDVecError):
    """The input cannot be read, or makes no sense."""


class StoreError(PSDVecError):
    """An artefact on disk is missing, damaged, or of another kind or version."""


class ResourceError(PSDVecError):
    """Memory or disk space is insufficient."""


class ClusterError(PSDVecError):
    """A Dask scheduler or its workers cannot be used, or were lost."""


class MissingWordError(PSDVecError, KeyError):
    """A word is not in the vocabulary.

    Similar spellings are looked up when the message is read, not when the error is raised, so that ``try: e[word]``
    in a loop stays cheap.
    """

    def __init__(self, word: str, suggest: Callable[[str], Sequence[str]]) -> None:
        super().__init__(word)
        self.word, self.suggest = word, suggest

    def __str__(self) -> str:
        near = ", ".join(f"'{word}'" for word in self.suggest(self.word))
        advice = f"did you mean {near}?" if near else "no word in the vocabulary is spelled like it"
        word = self.word if len(self.word) <= _SHOWN else f"{self.word[:_SHOWN]}..."
        return one_line(f"there is no vector for '{word}'; {advice}")


class MissingExtraError(PSDVecError):
    """An optional package is needed but not installed."""


def demand_whole(number: int, name: str) -> None:
    """Raise an :class:`InputError` if ``number`` is not a whole number, of Python's or of NumPy's.

    >>> demand_whole(2.5, "dim")
    Traceback (most recent call last):
        ...
    psdvec.errors.InputError: dim is 2.5; give a whole number
    """
    try:
        operator.index(number)
    except TypeError as error:
        raise InputError(f"{name} is {number!r}; give a whole number") from error


def demand_words(words: Iterable[str] | None, name: str = "words") -> None:
    """Raise an :class:`InputError` if ``words`` are a single string, whose letters would be taken for words."""
    if isinstance(words, str):
        raise InputError(f"{name} is one string, {words!r}; give a list of words, such as {words.split()}")


def demand_positive(number: int | None, name: str) -> None:
    """Raise an :class:`InputError` if ``number`` is given and is less than 1, or more than anything here can have."""
    if number is None:
        return
    demand_whole(number, name)
    if number < 1:
        raise InputError(f"{name} is {number}; give 1 or more")
    if number > _MOST:
        raise InputError(f"{name} is {number}; give {_MOST} or less")


def demand_seed(seed: int) -> None:
    """Raise an :class:`InputError` unless every generator of random numbers that is used here takes ``seed``."""
    demand_whole(seed, "seed")
    if not 0 <= seed <= _LAST_SEED:
        raise InputError(f"the seed is {seed}; give a number from 0 to {_LAST_SEED}")


def import_extra(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import an optional ``module``, or say which extra of this package installs it.

    >>> import_extra("json", extra="none", purpose="nothing").__name__
    'json'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if memory_is_short(error):
            raise ResourceError(f"{purpose} failed: {SHORT_OF_MEMORY}") from error
        raise MissingExtraError(
            f"{purpose} needs the package '{module.partition('.')[0]}', which is not installed; "
            f"run: pip install 'psdvec[{extra}]'"
        ) from error


def memory_is_short(error: BaseException | None) -> bool:
    """Say whether ``error``, or one that led to it, means that the system gives this program no more memory or threads.

    The loader of libraries and the starter of threads say so in words only.

    >>> memory_is_short(MemoryError()), memory_is_short(ImportError("libfoo.so: cannot open shared object file"))
    (True, False)
    """
    while error is not None:
        said = str(error).lower()
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            return True
        if isinstance(error, ImportError | OSError | RuntimeError | SystemError) and any(
            phrase in said for phrase in _NO_MEMORY
        ):
            return True
        error = error.__cause__ or error.__context__
    return False


def one_line(text: str) -> str:
    r"""Return ``text`` on one line: blanks for line ends, nothing that moves a cursor, and its middle left out if long.

    >>> one_line("it says:\n 'a\x07'")
    "it says: 'a\\x07'"
    """
    text = _shortened(text)  # before it is looked at letter by letter, and after that has made it longer
    spaced = " ".join(text.split()) if any(end in text for end in "\n\r\v\f\x85\u2028\u2029") else text
    return _shortened(
        "".join(c if c.isprintable() or "\ud800" <= c <= "\udfff" else ascii(c)[1:-1] for c in spaced)
    )


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - _END]} ... {text[-_END:]}"
