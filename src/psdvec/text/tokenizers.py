"""Tokenizers: the one place where text becomes words.

A tokenizer takes UTF-8 text and returns *spaced text*, in which spaces separate words and newlines separate
sentences; ``split_spaced`` cuts a sentence of it into words. The work is done by the kernels in
:mod:`psdvec.text.tokenizer_kernels`, which are imported when a tokenizer is first used, or by a function of one's own.
:func:`split_words` does the same to one text, for whoever reads text with a model: what counting took for a word is a
word there too. A :class:`Cutting` is the name of a tokenizer with all that decides which words come out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from typing import Any, Self, TypeAlias, TypeGuard
from unicodedata import category

import numpy as np

from psdvec.arrays import Bytes
from psdvec.errors import InputError, checked
from psdvec.options import NUMBERS, PUNCTUATION
from psdvec.text.readers import read_lines

Tokenizer: TypeAlias = Callable[[bytes | bytearray], Bytes]

split_spaced: Callable[[str], list[str]] = re.compile(r"[^\x00-\x20]+").findall

CUSTOM = "custom:"  # before the name of a tokenizer of one's own
NUMBER = "#"  # the word that all numbers become if they are merged
_REGISTERED: dict[str, Callable[[str], Any]] = {}
_ONE_AT_A_TIME = Lock()  # others' functions need not know of threads
_BLANKS = re.compile(r"[\x00-\x20\s]+")
_IS_NUMBER = re.compile(r"[+-]?\d+(?:[.,:/'’-]\d+)*%?")

# English words that say little of what a text is about, as ``stop_words="en"``.
ENGLISH = """
a about above after again against all also am an and any are aren't as at be because been before being below between
both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each either else ever few
for from further had hadn't has hasn't have haven't having he her here hers herself him himself his how however i if in
into is isn't it it's its itself just let me might mine more most must mustn't my myself neither no nor not now of off
on once one only or other our ours ourselves out over own rather same shall shan't she should shouldn't since so some
such than that the their theirs them themselves then there these they this those though through thus to too under until
up upon us very was wasn't we were weren't what when where whether which while who whom whose why will with within
without won't would wouldn't yet you your yours yourself yourselves
"""


# What may become of words after a text is cut, by the name under which it is recorded; what is not told is as usual.
CHANGES = ("stop_words", "lemmas", "numbers", "punctuation")
_CHOICES = {"numbers": (NUMBERS, "drop", "merge"), "punctuation": (PUNCTUATION, "drop")}


class Cutting(str):
    """The name of a tokenizer, and what a name cannot say: one's own ``function``, and which :data:`CHANGES` are made.

    It is a string, the name, wherever a tokenizer is only named. ``told`` is what is recorded of the changes.
    """

    function: Callable[[str], Any] | None
    told: Mapping[str, Any]

    def __new__(cls, name: str, function: Callable[[str], Any] | None = None, **told: Any) -> Self:
        """Make one; what is told is held to what can be."""
        words, lemmas = told.get("stop_words", []), told.get("lemmas", {})
        is_sound = isinstance(words, list) and isinstance(lemmas, dict)
        if not is_sound or not all(isinstance(word, str) for word in (*words, *lemmas, *lemmas.values())):
            raise InputError("stop_words or lemmas are not words; give strings")
        for option, choices in _CHOICES.items():
            if told.get(option, choices[0]) not in choices:
                raise InputError(f"{option}='{told[option]}' is unknown; choose one of {', '.join(choices)}")
        found = super().__new__(cls, name)
        found.function, found.told = function, told
        return found

    @cached_property
    def stop_words(self) -> frozenset[str]:
        """The words to leave out, in lower case."""
        return frozenset(self.told.get("stop_words", ()))

    def form_of(self, word: str) -> str | None:
        """Return what a word is counted as, None if it is left out."""
        numbers, punctuation = self.told.get("numbers"), self.told.get("punctuation")
        if numbers and _IS_NUMBER.fullmatch(word):
            return NUMBER if numbers == "merge" else None
        if punctuation and all(category(letter).startswith("P") for letter in word):
            return None
        form: str = self.told.get("lemmas", {}).get(word, word)
        return None if {form.casefold(), word.casefold()} & self.stop_words else form


def changes_words(tokenizer: str | None) -> TypeGuard[Cutting]:
    """Tell whether words are left out or replaced after the text is cut."""
    return isinstance(tokenizer, Cutting) and bool(tokenizer.told)


@checked
def register_tokenizer(name: str, function: Callable[[str], Any]) -> None:
    """Give a tokenizer of your own a name, by which it can be asked for, and by which models that used it know it.

    Parameters
    ----------
    name
        The name; counts and models record it as ``custom:NAME``. Register the function again, by the same name, before
        you use such a model in another session.
    function
        Takes a text and returns its words: a list of strings, or a document of spaCy or Stanza.

    Examples
    --------
    >>> register_tokenizer("letters", list)
    >>> from psdvec.counts.count import count_words
    >>> count_words(["aab"], tokenizer="letters", min_count=1).words
    ('a', 'b')
    """
    if (
        not name
        or _BLANKS.search(name)
        or name in (*TOKENIZERS, "none", "unknown")
        or name.startswith(CUSTOM)
    ):
        raise InputError(
            f"a tokenizer cannot be called {name!r}; choose a name without blanks that is none of psdvec's own"
        )
    if not callable(function):
        raise InputError(
            f"the tokenizer {name!r} is {function!r:.40}; give a function from a text to its words"
        )
    _REGISTERED[name] = function


def find_tokenizer(name: str) -> Tokenizer:
    """Return the tokenizer called ``name``, one of :data:`TOKENIZERS`, or one's own.

    >>> find_tokenizer("paper")("Don't panic!".encode()).tobytes()
    b"don't panic "
    """
    if is_custom(name):
        function_of(name)  # refuses one that is not known here
        return partial(_space_custom, tokenizer=name)
    if not isinstance(name, str) or name not in TOKENIZERS:
        raise InputError(f"there is no tokenizer '{name}'; choose one of {', '.join(TOKENIZERS)}")
    return TOKENIZERS[name]


def is_custom(tokenizer: Any) -> bool:
    """Tell whether a tokenizer is one of a user's own."""
    return isinstance(tokenizer, str) and tokenizer.startswith(CUSTOM)


def can_cut(tokenizer: str) -> bool:
    """Tell whether a tokenizer is known here; one's own is, in the session that gave it or registered it."""
    own = is_custom(tokenizer) and not getattr(tokenizer, "function", None)
    return not own or tokenizer.removeprefix(CUSTOM) in _REGISTERED


def function_of(tokenizer: str) -> Callable[[str], Any]:
    """Return the function of a custom tokenizer, or raise :class:`InputError` if it must be given again."""
    own = tokenizer.removeprefix(CUSTOM)
    found = getattr(tokenizer, "function", None) or _REGISTERED.get(own)
    if found is None:
        raise InputError(
            f"the text was cut by a tokenizer of your own, '{own}', which is not kept with the model; in Python, "
            f"give it again as the tokenizer, or register it: psdvec.register_tokenizer({own!r}, function)"
        )
    return found


def choose_tokenizer(
    tokenizer: str | Callable[[str], Any],
    case: str | None = None,
    *,
    stop_words: str | Path | Iterable[str] | None = None,
    lemmas: str | Path | Mapping[str, str] | None = None,
    **choices: str | None,
) -> str:
    """Return the tokenizer that cuts as ``tokenizer`` does and folds or keeps case; None: as it does.

    A function becomes ``custom:`` and its name. The others are those of :func:`psdvec.read_corpus`.

    >>> choose_tokenizer("unicode", "keep"), choose_tokenizer("unicode", "fold"), choose_tokenizer("whitespace")
    ('unicode-cased', 'unicode', 'whitespace')
    >>> choose_tokenizer(str.split)
    'custom:str.split'
    """
    name = _named(tokenizer, case)
    usual = {option: allowed[0] for option, allowed in _CHOICES.items()}
    told: dict[str, Any] = {
        option: value for option, value in choices.items() if value not in (None, usual[option])
    }
    if stop_words is not None:
        told["stop_words"] = sorted({word.casefold() for word in _listed(stop_words)})
    if lemmas is not None:
        told["lemmas"] = _table(lemmas, folded=name in ("unicode", "paper"))
    return Cutting(name, getattr(name, "function", None), **told) if told else name


def _listed(given: str | Path | Iterable[str]) -> Iterable[str]:
    """Return stop words that are given as a list, as the name of one, or in a file, one a line."""
    if given == "en":
        return ENGLISH.split()
    if not isinstance(given, str | Path):
        return given
    if not Path(given).is_file():
        raise InputError(
            f"there are no stop words '{given}', and no such file; give en, a file or a list of words"
        )
    return filter(None, map(str.strip, read_lines(given)))


def _table(given: str | Path | Mapping[str, str], *, folded: bool) -> dict[str, str]:
    """Return lemmas by word, from a mapping or from a file with a word, a tab and its lemma a line, in order."""
    if isinstance(given, str | Path):
        rows = [line.split("\t") for line in read_lines(given) if line.strip()]
        for row in rows:
            if len(row) != 2:
                raise InputError(
                    f"'{given}' has the line {row[0][:40]!r} without one tab; write: word, tab, lemma"
                )
        given = {word.strip(): lemma.strip() for word, lemma in rows}
    pairs = ((word, "_".join(_BLANKS.split(lemma.strip()))) for word, lemma in given.items())
    return dict(
        sorted((word.casefold(), lemma.casefold()) if folded else (word, lemma) for word, lemma in pairs)
    )


def _named(tokenizer: Any, case: str | None) -> str:
    """Return a tokenizer by its name, or with its function where it is one's own."""
    if isinstance(tokenizer, str) and tokenizer in _REGISTERED:
        tokenizer = _REGISTERED[tokenizer]
    if callable(tokenizer):
        tokenizer = Cutting(f"{CUSTOM}{_name_of(tokenizer)}", tokenizer)
    find_tokenizer(tokenizer)
    if case is None:
        return str(tokenizer) if not is_custom(tokenizer) else tokenizer
    if case not in ("fold", "keep"):
        raise InputError(f"case='{case}' is unknown; choose 'fold' or 'keep'")
    if (tokenizer, case) == ("unicode", "keep"):
        return "unicode-cased"
    if is_custom(tokenizer):
        raise InputError(
            f"case='{case}' was given with a tokenizer of your own; let that do it, and leave case out"
        )
    if keeps_case(tokenizer) != (case == "keep"):
        does = "keeps case" if keeps_case(tokenizer) else "puts words into lower case"
        raise InputError(
            f"tokenizer '{tokenizer}' {does}, but case='{case}' was given; use tokenizer=\"unicode\""
        )
    return str(tokenizer)


def _name_of(function: Any) -> str:
    """Return the name of a function: as it was registered, that of a pipeline of spaCy, or module and name."""
    for name, known in _REGISTERED.items():
        if known is function:
            return name
    meta = getattr(function, "meta", None)
    if isinstance(meta, Mapping) and "lang" in meta:
        return f"{meta['lang']}_{meta.get('name', 'pipeline')}"
    while isinstance(function, partial):
        function = function.func
    named = function if hasattr(function, "__qualname__") else type(function)
    found = ".".join(part for part in (getattr(named, "__module__", None), named.__qualname__) if part)
    code = getattr(function, "__code__", None)
    if code is None or "<" not in found:
        return found
    # Functions without a name of their own, such as lambda, are told apart by what they do.
    does = repr(
        (code.co_code, code.co_names, [one for one in code.co_consts if isinstance(one, str | int | float)])
    )
    return f"{found}-{hashlib.sha256(does.encode()).hexdigest()[:8]}"


def parameters_of(tokenizer: str | None) -> dict[str, Any]:
    """Return what is recorded of a tokenizer, from which :func:`tokenizer_of` makes it again.

    >>> parameters_of(choose_tokenizer("paper", numbers="drop", stop_words=["the", "A"]))
    {'tokenizer': 'paper', 'numbers': 'drop', 'stop_words': ['a', 'the']}
    """
    name = tokenizer if tokenizer is None or is_custom(tokenizer) else str(tokenizer)
    return {"tokenizer": name, **(tokenizer.told if changes_words(tokenizer) else {})}


def keeps_case(tokenizer: str | None) -> bool:
    """Tell whether ``tokenizer`` leaves capitals as they are; one that is not known may not."""
    return tokenizer in ("unicode-cased", "whitespace")


def tokenizer_of(parameters: Mapping[str, Any]) -> str | None:
    """Return the tokenizer that the ``parameters`` of counts name, or None if it is not known.

    Sentences from Python were cut into words by their owner; such words stand in a text between blanks.

    >>> tokenizer_of({"tokenizer": "paper"}), tokenizer_of({"tokenizer": "none"}), tokenizer_of({})
    ('paper', 'whitespace', None)
    """
    name = parameters.get("tokenizer")
    if name == "none":
        return "whitespace"
    if not is_custom(name):
        name = next((known for known in TOKENIZERS if known == name), None)
    told = {option: parameters[option] for option in CHANGES if option in parameters}
    return Cutting(name, getattr(name, "function", None), **told) if name is not None and told else name


def split_words(text: str, *, tokenizer: str) -> list[str]:
    """Return the words of ``text`` that counting with ``tokenizer``, one of :data:`TOKENIZERS`, finds in it.

    >>> split_words("The U.S. grew by 3.5%; größte Straße", tokenizer="unicode")
    ['the', 'u.s', 'grew', 'by', '3.5', 'grösste', 'strasse']
    """
    spaced = find_tokenizer(tokenizer)(text.encode("utf-8", "replace"))
    return as_counted(split_spaced(spaced.tobytes().decode("utf-8")), tokenizer)


def as_counted(words: list[str], tokenizer: str) -> list[str]:
    """Return the words of a text without those that ``tokenizer`` leaves out, and as it counts them."""
    if not changes_words(tokenizer):
        return words
    return [form for form in map(tokenizer.form_of, words) if form is not None]


def is_text(data: bytes | bytearray) -> bool:
    """Tell whether ``data`` is UTF-8."""
    from psdvec.text.tokenizer_kernels import is_utf8

    return data.isascii() or bool(is_utf8(np.frombuffer(data, dtype=np.uint8)))


def is_document(value: Any) -> bool:
    """Tell whether a value is a document that Stanza or spaCy has cut into words."""
    return hasattr(value, "iter_tokens") or hasattr(value, "text")


def words_of(found: Any, name: str, *, joined: bool = True) -> list[str]:
    """Return the words in what a function of one's own returned: a list, or a document of spaCy or Stanza.

    Blanks inside a word become ``_`` if they are to be ``joined``, as they separate words in a text; what is nothing
    but blanks is no word.

    >>> words_of(["New York", "is", " ", "big"], "mine")
    ['New_York', 'is', 'big']
    """
    if hasattr(found, "iter_tokens"):  # of Stanza
        found = found.iter_tokens()
    if isinstance(found, str | bytes | Mapping) or not isinstance(found, Iterable):
        raise InputError(f"the tokenizer '{name}' returned {found!r:.60}; let it return a list of words")
    words = []
    for token in found:
        word = token if isinstance(token, str) else getattr(token, "text", getattr(token, "surface", None))
        if not isinstance(word, str):
            raise InputError(
                f"the tokenizer '{name}' returned {token!r:.60} among the words; let it return strings"
            )
        words.append("_".join(filter(None, _BLANKS.split(word))) if joined else word)
    return [word for word in words if word]


def cut_lines(text: str, tokenizer: str, place: Callable[[int], str]) -> str:
    """Return the spaced text that a function of one's own makes of ``text``, line by line.

    ``place`` says where a line is, given how many lines are before it, for the error that the function may raise.
    """
    name, function, lines = tokenizer.removeprefix(CUSTOM), function_of(tokenizer), []
    for number, line in enumerate(text.split("\n")):
        try:
            with _ONE_AT_A_TIME:
                words = words_of(function(line), name) if line.strip() else []
        except InputError as error:
            raise InputError(f"{error} ({place(number)}: {line[:40]!r})") from error
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            raise InputError(
                f"the tokenizer '{name}' failed at {place(number)}, {line[:40]!r} ({said}); mend it, or leave this out"
            ) from error
        lines.append(" ".join(words))
    return "\n".join(lines)


def _space_custom(text: bytes | bytearray, *, tokenizer: str) -> Bytes:
    """Cut by a function of one's own."""
    spaced = cut_lines(text.decode("utf-8"), tokenizer, lambda number: f"line {number + 1}")
    return np.frombuffer(spaced.encode("utf-8", "replace"), dtype=np.uint8)


def split_runs(text: str) -> list[str]:
    """Return the runs of letters, digits and inner apostrophes: a guess, for vectors of which no tokenizer is known.

    >>> split_runs("The U.S. didn't")
    ['The', 'U', 'S', "didn't"]
    """
    return re.findall(r"\w+(?:['’]\w+)*", text)


def _space_unicode(text: bytes | bytearray) -> Bytes:
    """Fold case and cut at Unicode's word boundaries."""
    from psdvec.text.tokenizer_kernels import fold_case, foldings

    if text.isascii():
        return _space_unicode_cased(text.lower())
    source = np.frombuffer(text, dtype=np.uint8)
    out = np.empty(3 * len(source), dtype=np.uint8)
    return _space_unicode_cased(out[: fold_case(source, *foldings(), out)])


def _space_unicode_cased(text: bytes | bytearray | Bytes) -> Bytes:
    """Cut at Unicode's word boundaries, and leave the words as they stand."""
    from psdvec.text.tokenizer_kernels import space_unicode, word_break_roles

    source = np.frombuffer(text, dtype=np.uint8)
    out = np.empty(2 * len(source) + 1, dtype=np.uint8)
    return out[: space_unicode(source, word_break_roles(), out)]


def _space_paper(text: bytes | bytearray) -> Bytes:
    """Keep English words in lower case, as the paper does; a typographic apostrophe counts as one."""
    from psdvec.text.tokenizer_kernels import space_paper

    source = np.frombuffer(text, dtype=np.uint8)
    out = np.empty_like(source)
    return out[: space_paper(source, out)]


def _space_whitespace(text: bytes | bytearray) -> Bytes:
    """Leave the text as it is: whatever stands between white space is a word."""
    return np.frombuffer(text, dtype=np.uint8)


TOKENIZERS: dict[str, Tokenizer] = {
    "unicode": _space_unicode,
    "unicode-cased": _space_unicode_cased,
    "paper": _space_paper,
    "whitespace": _space_whitespace,
}
