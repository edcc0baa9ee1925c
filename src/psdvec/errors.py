"""The exceptions of this package; their messages say what is wrong, where, and what to do.

::

    PSDVecError
     ├── InputError          the input cannot be read, or makes no sense
     ├── StoreError          an artefact on disk is missing, damaged, or of another kind or version
     ├── ResourceError       memory or disk space is insufficient
     ├── ClusterError        a Dask scheduler or its workers cannot be used, or were lost
     ├── MissingWordError    a word is not in the vocabulary; also a ``KeyError``
     └── MissingExtraError   an optional package is needed; the message gives the ``pip`` command

:class:`InputWarning` is no error: input was read, but much of it may have been read wrongly.

The library only raises them; :mod:`psdvec.cli` turns an exception into an exit code, which is never 0.
"""

from __future__ import annotations

import errno
import functools
import importlib
import operator
import os
import re
import sys
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from types import ModuleType, NoneType, UnionType
from typing import Any, NamedTuple, TypeVar

_SHOWN = 80  # letters of a missing word, in a message
SHORT_OF_MEMORY = (
    "the system gives this program no more memory or threads; close other programs, raise the limit (ulimit), or give "
    "it less to do at once, such as fewer words or workers"
)
_NO_MEMORY = (
    "cannot allocate memory", "failed to map segment", "can't start new thread", "unable to allocate",
)  # fmt: skip
_MOST = 2**31 - 1  # of words, dimensions and whatever else is counted; ids have 32 bits
_NOT_YET = {"gensim": (3, 14)}  # packages without wheels for this version of Python and newer ones
_LAST_SEED = 2**32 - 1  # of NumPy's older generators, which gensim uses
_LONGEST = 800  # letters of a message
_END = 200  # of these at its end, where it says what to do
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_QUOTED = 60  # letters of a value that is none of the kind asked for

Function = TypeVar("Function", bound=Callable[..., Any])


class PSDVecError(Exception):
    """The base class of every error that this package raises on purpose.

    Its message is one line of bearable length, even where it quotes a file, a word or another library.
    """

    def __str__(self) -> str:
        return one_line(super().__str__())


class InputError(PSDVecError):
    """The input cannot be read, or makes no sense."""


class InputWarning(UserWarning):
    """The input was read, but so much of it had to be replaced or left out that it may have been read wrongly."""


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

    def __init__(self, word: Any, suggest: Callable[[Any], Sequence[Any]], *, kind: str = "str") -> None:
        super().__init__(word)
        self.word, self.suggest, self.kind = word, suggest, kind

    def __str__(self) -> str:
        near = ", ".join(map(_named, self.suggest(self.word)))
        if not isinstance(self.word, str) and self.kind == "str" and not near:
            return f"{_quoted(self.word)} is no word; give a string"
        advice = f"did you mean {near}?" if near else "no word in the vocabulary is spelled like it"
        if self.kind != "str" and not near:
            advice = f"the keys are of type {self.kind}"
        return one_line(f"there is no vector for {_named(self.word)}; {advice}")


def _named(word: Any) -> str:
    """Return a word or another key as it stands in a sentence."""
    written = word if isinstance(word, str) else repr(word)
    shown = written if len(written) <= _SHOWN else f"{written[:_SHOWN]}..."
    return f"'{shown}'" if isinstance(word, str) else shown


class MissingExtraError(PSDVecError):
    """An optional package is needed but not installed."""


def demand_whole(number: Any, name: str) -> int:
    """Return a whole number, of Python's or of NumPy's, as Python's; raise :class:`InputError` for anything else.

    >>> demand_whole(2.5, "dim")
    Traceback (most recent call last):
        ...
    psdvec.errors.InputError: dim is 2.5; give a whole number
    """
    return int(_read(name, number, _WHOLE))


def demand_number(number: Any, name: str) -> float:
    """Return a number, of Python's or of NumPy's, as Python's; raise :class:`InputError` for anything else."""
    return float(_read(name, number, _NUMBER))


def demand_words(words: Any, name: str = "words") -> list[str]:
    """Return an iterable of words as a list; a single string is refused, as its letters would be taken for words."""
    found: list[str] = _read(name, words, _WORDS)
    return found


def demand_positive(number: int | None, name: str) -> int | None:
    """Return ``number`` if it is None, or 1 or more and no more than anything here can have."""
    if number is None:
        return None
    number = demand_whole(number, name)
    if number < 1:
        raise InputError(f"{name} is {number}; give 1 or more")
    if number > _MOST:
        raise InputError(f"{name} is {number}; give {_MOST} or less")
    return number


def demand_seed(seed: int) -> int:
    """Return ``seed`` if every generator of random numbers that is used here takes it."""
    seed = demand_whole(seed, "seed")
    if not 0 <= seed <= _LAST_SEED:
        raise InputError(f"the seed is {seed}; give a number from 0 to {_LAST_SEED}")
    return seed


def demand_client(client: Any) -> None:
    """Raise :class:`InputError` unless ``client`` is one of Dask, or can do what one does."""
    if not hasattr(client, "submit"):
        raise InputError(f"client is {_quoted(client)}; give a Dask client, or leave it out")


def checked(function: Function) -> Function:
    """Hold the arguments of a public function to its annotations, so that a wrong one is an :class:`InputError`.

    Whole numbers, numbers and truth values of NumPy become Python's, and iterators where a sequence is asked for become
    lists. Arrays and what is annotated as anything are left to the function itself.

    >>> @checked
    ... def repeat(word: str, times: int | None = None) -> str:
    ...     return word * (times or 1)
    >>> repeat("to", times=2.5)
    Traceback (most recent call last):
        ...
    psdvec.errors.InputError: times is 2.5; give a whole number, or None
    """

    @functools.wraps(function)
    def call(*given: Any, **options: Any) -> Any:
        kinds = _kinds_of(function)
        values = [_read(name, value, kinds[name]) for name, value in zip(kinds, given, strict=False)]
        return function(*values, *given[len(values) :], **checked_options(function, options))

    return typing.cast(Function, call)


def old_names(**names: str) -> Callable[[Function], Function]:
    """Let a function take options by the names that they had before, each given as ``old="new"``.

    >>> @old_names(field="column")
    ... def read(column: str = "text") -> str:
    ...     return column
    >>> read(field="body")
    'body'
    """

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def call(*given: Any, **options: Any) -> Any:
            for old, new in names.items():
                if options.get(old) is not None and options.get(new) is not None:
                    raise InputError(f"{old} is the old name of {new}, and both were given; give {new} only")
                if old in options:
                    value = options.pop(old)
                    options[new] = options.get(new) if value is None else value
            return function(*given, **options)

        return typing.cast(Function, call)

    return decorate


def checked_options(function: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``options`` as a :func:`checked` ``function`` would take them."""
    kinds = _kinds_of(function)
    return {name: _read(name, value, kinds.get(name, _ANYTHING)) for name, value in options.items()}


def check_fields(value: Any) -> None:
    """Hold the fields of a frozen dataclass to their annotations, as :func:`checked` does with arguments."""
    vars(value).update(checked_options(type(value), vars(value)))


class _Kind(NamedTuple):
    """What an annotation asks for, in words, and a function that returns a value as such, or raises ``TypeError``."""

    wanted: str
    read: Callable[[Any], Any]


class _WrongItemError(TypeError):
    """One of several values is wrong: ``place``, such as ``[2]``, says which."""

    def __init__(self, place: str, item: Any, wanted: str) -> None:
        super().__init__(place)
        self.place, self.item, self.wanted = place, item, wanted


def _read(name: str, value: Any, kind: _Kind) -> Any:
    try:
        return kind.read(value)
    except _WrongItemError as wrong:
        place, item, wanted = wrong.place, wrong.item, wrong.wanted
    except (TypeError, ValueError):
        place, item, wanted = "", value, kind.wanted
    if isinstance(item, str) and wanted.startswith("a list"):
        raise InputError(
            f"{name}{place} is one string, {item!r}; give a list of words, such as {item.split()}"
        )
    raise InputError(f"{name}{place} is {_quoted(item)}; give {wanted}")


def _quoted(value: Any) -> str:
    """Return a value as it can stand in a sentence, however long it is written.

    >>> _quoted(2.5), _quoted(range(3)), _quoted(["word"] * 100)
    ('2.5', 'range(0, 3)', 'an object of type list')
    """
    written = repr(value) if isinstance(value, str | bytes | Real | list | tuple | range | type(None)) else ""
    return written if 0 < len(written) <= _QUOTED else f"an object of type {type(value).__name__}"


@functools.cache
def _kinds_of(function: Any) -> dict[str, _Kind]:
    """Return the kind of each argument by its name, in their order."""
    import inspect

    hints = typing.get_type_hints(function)
    return {name: _kind_of(hints.get(name, Any)) for name in inspect.signature(function).parameters}


@functools.cache
def _kind_of(hint: Any) -> _Kind:
    """Return what ``hint`` asks for: anything where that may be given, or only the function itself can tell."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (UnionType, typing.Union):
        return _one_of([_kind_of(each) for each in inner])
    if origin is typing.Literal:
        named = " or ".join(f'"{each}"' for each in inner)
        return _Kind(named, _TEXT.read)  # that it is one of them, the function demands
    if origin in (Sequence, Iterable):
        kind = _kind_of(inner[0])
        return _ANYTHING if kind is _ANYTHING and origin is Iterable else _list_of(kind)
    if origin is Mapping:
        return _mapping_to(_kind_of(inner[1]))
    if hint in _PLAIN:
        return _PLAIN[hint]
    if hint is Any or not isinstance(hint, type) or getattr(hint, "_is_protocol", False):
        return _ANYTHING
    return _type(hint, getattr(hint, "wanted", hint.__name__))


def _one_of(kinds: Sequence[_Kind]) -> _Kind:
    if _ANYTHING in kinds:
        return _ANYTHING
    if _NAME in kinds:  # a name is given as a string or as a path
        kinds = [kind for kind in kinds if kind is not _TEXT]

    def read(value: Any) -> Any:
        wrong = TypeError()
        for kind in kinds:
            try:
                return kind.read(value)
            except _WrongItemError as error:
                wrong = error
            except (TypeError, ValueError):
                continue
        raise wrong

    return _Kind(", or ".join(kind.wanted for kind in kinds), read)


def _list_of(kind: _Kind) -> _Kind:
    def read(values: Any) -> Any:
        if isinstance(values, str | bytes | bytearray | Mapping):
            raise TypeError
        items = values if isinstance(values, (list, tuple)) else list(values)
        if kind is not _TEXT or set(map(type, items)) != {str}:
            _read_each(enumerate(items), kind)
        return items

    items = {_TEXT: " of words", _ANYTHING: ""}.get(kind, f" of which each is {kind.wanted}")
    return _Kind(f"a list{items}", read)


def _mapping_to(kind: _Kind) -> _Kind:
    def read(values: Any) -> Any:
        if not isinstance(values, Mapping):
            raise TypeError
        _read_each(values.items(), kind)
        return values

    return _Kind("a dictionary", read)


def _read_each(items: Iterable[tuple[Any, Any]], kind: _Kind) -> None:
    for key, item in items:
        try:
            kind.read(item)
        except _WrongItemError as error:
            raise _WrongItemError(f"[{key!r}]{error.place}", error.item, error.wanted) from error
        except (TypeError, ValueError) as error:
            raise _WrongItemError(f"[{key!r}]", item, kind.wanted) from error


def _type(kind: type, wanted: str) -> _Kind:
    def read(value: Any) -> Any:
        if not isinstance(value, kind):
            raise TypeError
        return value

    return _Kind(wanted, read)


def _whole(value: Any) -> int:
    if isinstance(value, bool):
        raise TypeError
    return operator.index(value)


def _number(value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError
    return operator.index(value) if hasattr(value, "__index__") else float(value)


def _truth(value: Any) -> bool:
    if type(value).__name__ not in ("bool", "bool_") and not (isinstance(value, int) and value in (0, 1)):
        raise TypeError
    return bool(value)


def _name(value: Any) -> Any:
    path = os.fspath(value)
    if not isinstance(path, str) or not path or "\0" in path:
        raise TypeError
    return value


_ANYTHING = _Kind("anything", lambda value: value)
_WHOLE, _NUMBER = _Kind("a whole number", _whole), _Kind("a number", _number)
_TEXT, _NAME = _type(str, "a string"), _Kind("the name of a file or folder", _name)
_WORDS = _list_of(_TEXT)
_PLAIN: dict[Any, _Kind] = {
    int: _WHOLE, float: _NUMBER, bool: _Kind("True or False", _truth), str: _TEXT, Path: _NAME,
    NoneType: _type(NoneType, "None"),
}  # fmt: skip


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
            f"{how_to_install(module.partition('.')[0], extra=extra)}"
        ) from error


def how_to_install(package: str, *, extra: str) -> str:
    """Return what to do to have an optional ``package``, which the ``extra`` of this package installs.

    >>> how_to_install("pyarrow", extra="parquet")
    "run: pip install 'psdvec[parquet]'"
    """
    since = _NOT_YET.get(package)
    if since is None or sys.version_info < since:
        return f"run: pip install 'psdvec[{extra}]'"
    return (
        f"it has no release for Python {since[0]}.{since[1]} and newer; use Python {since[0]}.{since[1] - 1}"
    )


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


def printable(text: str) -> str:
    r"""Return ``text`` with escapes in place of what would move a cursor, end a line or turn its direction.

    Joiners, which some scripts are written with, stay.

    >>> printable("a\x1b[2J"), printable("plain")
    ('a\\x1b[2J', 'plain')
    """
    return _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - _END]} ... {text[-_END:]}"
