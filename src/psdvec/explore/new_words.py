"""New words from sentences that were pasted into the page.

:func:`add_words` counts the text as the model's own text was counted and solves the new words by the closed form of
:func:`psdvec.solver.extend.extend`. The model and every old vector in it stay as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from psdvec.errors import InputError
from psdvec.text.inputs import Texts
from psdvec.text.tokenizers import TOKENIZERS

if TYPE_CHECKING:
    from psdvec.counts.matrix import Cooccurrence
    from psdvec.solver.extend import Extension
    from psdvec.solver.model import Model

MAX_WORDS = 20  # learned at once if none is named: the most frequent ones of the text


def add_words(model: Model, text: str, *, word: str | None = None) -> tuple[Extension, Cooccurrence]:
    """Learn ``word`` from ``text``, or its most frequent words that the model lacks; each line is a sentence.

    The old words' frequencies are the model's own, as a few sentences say little about them.
    """
    from psdvec.solver.extend import extend

    if not text.strip():
        raise InputError("there is no text; paste sentences that use the new word")
    token = None if word is None else _as_token(model, word)
    if token is not None and token in model.key_to_index:
        raise InputError(f"'{token}' is in the model already, and its vector stays as it is; name a new word")
    counts = _count(model, text)
    if token is not None and token not in counts.vocabulary:
        raise InputError(f"'{token}' does not occur in the text; paste sentences that use it")
    new = (
        [other for other in counts.vocabulary.words if other not in model.key_to_index]
        if token is None
        else [token]
    )
    if not new:
        raise InputError("the model already knows every word of the text; paste sentences with a new word")
    return extend(model, counts, words=new[:MAX_WORDS], unigrams="model"), counts


def _count(model: Model, text: str) -> Cooccurrence:
    """Count the text as the model's was; if that came from Python as lists of words, so must this."""
    from psdvec.counts.count import count_pairs

    options = {name: model.counting[name] for name in ("window", "weighting", "gaps")}
    tokenizer = model.counting["tokenizer"]
    pasted: Texts | list[list[str]] = (
        Texts([text], tokenizer)  # never a name: what is pasted must not open a file
        if tokenizer in TOKENIZERS
        else [model.tokenize(line) for line in text.splitlines()]
    )
    return count_pairs(pasted, min_count=1, workers=1, **options)


def _as_token(model: Model, word: str) -> str:
    """Return ``word`` as the model's tokenizer would cut it out of a text."""
    tokens = model.tokenize(word)
    if len(tokens) != 1:
        found = "no word" if not tokens else f"{len(tokens)} words"
        raise InputError(f"the model's tokenizer finds {found} in '{word}'; name one word")
    return tokens[0]
