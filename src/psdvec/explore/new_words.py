"""Add a word: sentences pasted into the page, the closed form, a vector.

Goes in: a :class:`~psdvec.solver.model.Model` and a text. Comes out: the :class:`~psdvec.solver.extend.Extension` of
:func:`psdvec.solver.extend.extend` over the counts of that text, made as the model's were. The model itself, and
every old vector in it, stays as it is.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from psdvec.errors import InputError
from psdvec.text.corpus import TOKENIZERS, Corpus, read_corpus

if TYPE_CHECKING:
    from psdvec.counts.matrix import Cooccurrence
    from psdvec.solver.extend import Extension
    from psdvec.solver.model import Model

MOST_WORDS = 20  # learned at once where none is named; the most frequent of the text


def add_words(model: Model, text: str, *, word: str | None = None) -> tuple[Extension, Cooccurrence]:
    """Learn ``word`` from ``text``, or the most frequent words of it that the model lacks; a line is a sentence.

    The old words' frequencies are the model's own: a few sentences say little about them.
    """
    from psdvec.solver.extend import extend

    if not text.strip():
        raise InputError("there is no text; paste sentences in which the new word stands")
    token = None if word is None else _as_token(model, word)
    if token is not None and token in model.ids:
        raise InputError(f"'{token}' is in the model already, and its vector stays; name a word that is new")
    counts = _count(model, text)
    if token is not None and token not in counts.vocabulary:
        raise InputError(f"'{token}' does not stand in the text; paste sentences in which it does")
    new = [other for other in counts.vocabulary.words if other not in model.ids] if token is None else [token]
    if not new:
        raise InputError("the model knows every word of the text already; paste sentences with a new word")
    return extend(model, counts, words=new[:MOST_WORDS], unigrams="model"), counts


def _count(model: Model, text: str) -> Cooccurrence:
    from psdvec.counts.count import count_pairs

    options = {name: model.counting[name] for name in ("window", "weighting", "gaps")}
    with tempfile.TemporaryDirectory(prefix="psdvec-") as folder:
        file = Path(folder) / "pasted.txt"
        file.write_text(text, encoding="utf-8", errors="replace")
        return count_pairs(_cut(model, file), min_count=1, workers=1, **options)


def _cut(model: Model, file: Path) -> Corpus | Iterable[list[str]]:
    """Cut the text into words as the model's text was; sentences from Python were cut by blanks, as far as we know."""
    tokenizer = model.counting["tokenizer"]
    if tokenizer in TOKENIZERS:
        return read_corpus(file, tokenizer=tokenizer)
    return [line.split() for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def _as_token(model: Model, word: str) -> str:
    """Return ``word`` as the model's tokenizer would cut it out of a text."""
    tokenizer = TOKENIZERS.get(model.counting["tokenizer"])
    spaced = (
        word if tokenizer is None else tokenizer(word.encode("utf-8", "replace")).tobytes().decode("utf-8")
    )
    tokens = spaced.split()
    if len(tokens) != 1:
        found = "no word" if not tokens else f"{len(tokens)} words"
        raise InputError(f"the model's tokenizer sees {found} in '{word}'; name one word")
    return tokens[0]
