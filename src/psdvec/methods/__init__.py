"""Methods that make vectors: ours and its rivals, listed in :data:`METHODS`.

A method is a function ``fit(source, *, dim, seed, workers, progress, ...)`` that returns a
:class:`~psdvec.vectors.model.Model` or :class:`~psdvec.vectors.embeddings.Embeddings`, with the words in the
vocabulary's order. Its other keyword arguments are its hyper-parameters, with defaults from a search or from the paper
that proposed it (``docs/comparing.md``). A function is imported only when it is first used, so that a missing package
matters only to its own method.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from psdvec.errors import InputError


@dataclass(frozen=True)
class Method:
    """What is known of a method before it is loaded.

    ``home`` is its ``module.function`` within this package. ``reads`` says what the function takes first: counts, or a
    corpus, in which case it also takes the ``vocabulary`` by name. ``counting`` holds the options of
    :func:`psdvec.count_pairs` that its paper chose, where they differ from ours; ``package`` is what it needs besides
    psdvec. ``recipe`` holds the arguments of :func:`psdvec.options.make_recipe` if the numbers of a recipe are
    among its settings.
    """

    title: str
    home: str
    reads: Literal["counts", "corpus"] = "counts"
    counting: Mapping[str, Any] = field(default_factory=dict)
    package: str | None = None
    recipe: Mapping[str, Any] | None = None

    @property
    def function(self) -> Callable[..., Any]:
        """The function that makes the vectors."""
        module, _, name = self.home.partition(".")
        found: Callable[..., Any] = getattr(importlib.import_module(f"psdvec.methods.{module}"), name)
        return found

    @property
    def is_installed(self) -> bool:
        """Whether the package that it needs is installed."""
        return self.package is None or importlib.util.find_spec(self.package) is not None


_HYPERWORDS = {"window": 5, "weighting": "linear", "gaps": "close"}

METHODS: dict[str, Method] = {
    "psdvec": Method("signed low-rank PMI, default recipe", "psd.fit_default", recipe={"name": "default"}),
    "psd": Method(
        "the paper's recipe, core and noncore words",
        "psd.fit_paper",
        counting={"window": 3, "weighting": "flat"},
        recipe={"name": "paper"},
    ),
    "psd-unreg": Method(
        "the paper's recipe without regularisation",
        "psd.fit_unregularised",
        counting={"window": 3, "weighting": "flat"},
        recipe={"name": "paper", "ridge": "0"},
    ),
    "psd-original": Method(
        "the paper's recipe in the original program's scaling",
        "psd.fit_original",
        counting={"window": 3, "weighting": "flat"},
        recipe={"name": "original"},
    ),
    "word2vec": Method("CBOW, negative sampling", "gensim.fit_word2vec", "corpus", package="gensim"),
    "skipgram": Method("word2vec's other half, skip-gram", "gensim.fit_skipgram", "corpus", package="gensim"),
    "glove": Method(
        "weighted least squares of log counts",
        "glove.fit",
        counting={"window": 10, "weighting": "harmonic", "gaps": "close"},
    ),
    "ppmi": Method("sparse rows of positive PMI", "svd.fit_ppmi", counting=_HYPERWORDS),
    "svd": Method("truncated SVD of positive PMI", "svd.fit", counting=_HYPERWORDS),
    "cca": Method(
        "canonical correlations of words and contexts",
        "svd.fit_cca",
        counting={"window": 5, "weighting": "flat"},
    ),
    "sparse": Method("sparse coding of word2vec's vectors", "sparse.fit", "corpus", package="gensim"),
    "fasttext": Method("skip-gram with subwords", "gensim.fit_fasttext", "corpus", package="gensim"),
    "fasttext-words": Method("fastText without subwords", "gensim.fit_words", "corpus", package="gensim"),
}


def method_named(name: str) -> Method:
    """Return the method of this name."""
    if name not in METHODS:
        raise InputError(f"there is no method '{name}'; choose one of {', '.join(METHODS)}")
    return METHODS[name]
