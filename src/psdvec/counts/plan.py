"""What is to be counted, checked and described before any text is read.

:class:`Counting` holds the options that decide the counts, and :func:`describe` says what counts made with them carry
in their ``meta.json``, and what an interrupted run must find unchanged to continue. :class:`Counted` is what comes back
from counting, whether on this machine or on a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from psdvec.arrays import Int64s
from psdvec.counts.matrix import Rows, Tally
from psdvec.counts.vocabulary import Vocabulary
from psdvec.counts.weighting import UNIT, pair_weights
from psdvec.errors import InputError, check_fields, demand_positive
from psdvec.text.corpus import Corpus, Sentences, Texts


@dataclass(frozen=True)
class Counting:
    """The options that decide the counts: which words (``given`` ones or the frequent ones), and how pairs count.

    ``weights`` int64[window] is what a pair counts at distance 1, 2, ... (equation (H) of docs/theory.md). The other
    options of counting (memory, workers, a cluster) make no difference to the result.
    """

    given: tuple[str, ...] | None
    min_count: int
    max_words: int | None
    window: int
    weighting: str
    gaps: str
    weights: Int64s = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_fields(self)
        demand_positive(self.min_count, "min_count")
        demand_positive(self.max_words, "max_words")
        if self.gaps not in ("keep", "close"):
            raise InputError(f"gaps='{self.gaps}' is unknown; choose keep or close")
        object.__setattr__(self, "weights", pair_weights(self.window, self.weighting))


class Description(NamedTuple):
    """What counts say of themselves: ``parameters``, in which stores to be merged must agree, and ``sources``.

    ``input`` is what :func:`identity_of` returns.
    """

    parameters: dict[str, Any]
    sources: list[dict[str, Any]]
    input: Any


def describe(corpus: Corpus | Texts | Sentences, what: Counting) -> Description:
    """Describe the counts of ``corpus`` before they are made."""
    identity = identity_of(corpus)
    if isinstance(corpus, Corpus):
        tokenizer, files = corpus.tokenizer, corpus.sources()
    elif isinstance(corpus, Texts):
        tokenizer, files = corpus.tokenizer, [{"name": "texts from Python"}]
    else:
        tokenizer, files = "none", [{"name": "sentences from Python"}]
    words = (
        {"min_count": what.min_count, "max_words": what.max_words}
        if what.given is None
        else {"given_words": len(what.given)}
    )
    parameters = {
        "tokenizer": tokenizer,
        "window": what.window,
        "weighting": what.weighting,
        "gaps": what.gaps,
        "unit": UNIT,
    }
    return Description(parameters, [{**file, **words} for file in files], identity)


def identity_of(corpus: Corpus | Texts | Sentences) -> Any:
    """Return what tells whether the input is still the same; what comes from Python never is."""
    return corpus.identity if isinstance(corpus, Corpus) else {"once": np.random.SeedSequence().entropy}


class Counted(NamedTuple):
    """What was found in the text. The pairs are counted while ``rows``, those of the matrix, are asked for.

    ``cells``: how many cells the rows have in all, where that is known before.
    """

    tally: Tally
    vocabulary: Vocabulary
    rows: Iterator[Rows]
    cells: int | None = None
