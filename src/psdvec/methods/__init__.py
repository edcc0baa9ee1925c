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
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from psdvec.errors import InputError


@dataclass(frozen=True)
class Method:
    """What is known of a method before it is loaded.

    ``home`` is its ``module.function`` within this package. ``reads`` says what the function takes first: counts, or a
    corpus, in which case it also takes the ``vocabulary`` by name. ``counting`` holds the options of
    :func:`psdvec.count_pairs` that its paper chose, where they differ from ours; ``package`` is what it needs besides
    psdvec. ``settings`` are its defaults where they are not the function's; ``fixed`` are arguments that tell it from
    other methods of the same function, and are no settings of it. ``base`` is the method whose vectors it makes its
    own from, if there is one; a comparison of both trains it once.
    """

    title: str
    home: str
    reads: Literal["counts", "corpus"] = "counts"
    counting: Mapping[str, Any] = field(default_factory=dict)
    package: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    base: str | None = None

    @property
    def function(self) -> partial[Any]:
        """The function that makes the vectors, with this method's defaults."""
        module, _, name = self.home.partition(".")
        found = getattr(importlib.import_module(f"psdvec.methods.{module}"), name)
        return partial(found, **self.settings, **self.fixed)

    @property
    def recipe(self) -> Mapping[str, Any] | None:
        """The arguments of :func:`psdvec.options.make_recipe`, if the numbers of a recipe are among its settings."""
        return self.fixed.get("recipe")

    @property
    def is_installed(self) -> bool:
        """Whether the package that it needs is installed."""
        return self.package is None or importlib.util.find_spec(self.package) is not None


_HYPERWORDS = {"window": 5, "weighting": "linear", "gaps": "close"}
_NO_SUBWORDS = {"shortest": 3, "longest": 0, "buckets": 2_000_000}
_WORD2VEC = {**_NO_SUBWORDS, "model_class": "Word2Vec", "exponent": 0.75}
_ours = partial(Method, home="psd.fit_recipe")
_paper = partial(_ours, counting={"window": 3, "weighting": "flat"})
_gensim = partial(Method, reads="corpus", package="gensim")

METHODS: dict[str, Method] = {
    "psdvec": _ours(
        "signed low-rank PMI, default recipe", fixed={"recipe": {"name": "default"}, "core": None}
    ),
    "psdvec-plain": _ours(
        "ours without spelling", fixed={"recipe": {"name": "default", "spelling": 0.0}, "core": None}
    ),
    "psd": _paper("the paper's recipe, core and noncore words", fixed={"recipe": {"name": "paper"}}),
    "psd-unreg": _paper(
        "the paper's recipe without regularisation", fixed={"recipe": {"name": "paper", "ridge": "0"}}
    ),
    "psd-original": _paper(
        "the paper's recipe in the original program's scaling", fixed={"recipe": {"name": "original"}}
    ),
    "word2vec": _gensim("CBOW, negative sampling", "gensim.fit", fixed={**_WORD2VEC, "skipgram": False}),
    "skipgram": _gensim(
        "word2vec's other half, skip-gram",
        "gensim.fit",
        settings={"negative": 5, "alpha": 0.025},
        fixed={**_WORD2VEC, "skipgram": True},
    ),
    "skipgram-spelling": _gensim(
        "skip-gram + our spelling", "spelling.fit", fixed={"base": "skipgram"}, base="skipgram"
    ),
    "glove": Method(
        "weighted least squares of log counts",
        "glove.fit",
        counting={"window": 10, "weighting": "harmonic", "gaps": "close"},
    ),
    "ppmi": Method("sparse rows of positive PMI", "matrices.fit_ppmi", counting=_HYPERWORDS),
    "svd": Method("truncated SVD of positive PMI", "matrices.fit_svd", counting=_HYPERWORDS),
    "svd-spelling": Method(
        "SVD + our spelling", "spelling.fit", counting=_HYPERWORDS, fixed={"base": "svd"}, base="svd"
    ),
    "cca": Method(
        "canonical correlations of words and contexts",
        "matrices.fit_cca",
        counting={"window": 5, "weighting": "flat"},
    ),
    "sparse": _gensim("sparse coding of word2vec's vectors", "sparse.fit", base="word2vec"),
    "fasttext": _gensim(
        "skip-gram with subwords",
        "gensim.fit",
        settings={"skipgram": True, "negative": 5, "epochs": 5},
        fixed={"model_class": "FastText"},
    ),
    "fasttext-cbow": _gensim(
        "CBOW with subwords",
        "gensim.fit",
        settings={"negative": 5, "epochs": 5},
        fixed={"model_class": "FastText", "skipgram": False},
    ),
    "fasttext-words": _gensim(
        "fastText without subwords",
        "gensim.fit",
        settings={"negative": 5, "epochs": 5, "exponent": 0.5},
        fixed={**_NO_SUBWORDS, "model_class": "FastText", "skipgram": True},
    ),
}


def method_named(name: str) -> Method:
    """Return the method of this name."""
    if name not in METHODS:
        raise InputError(f"there is no method '{name}'; choose one of {', '.join(METHODS)}")
    return METHODS[name]
