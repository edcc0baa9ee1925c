"""Word vectors, topics and vectors of items as scikit-learn transformers: each text or basket becomes a row.

The row of :class:`WordVectors` is the mean of a text's word vectors or their SIF-weighted mean
(:mod:`psdvec.vectors.sentences`); ``fit`` learns only the direction that SIF removes or, where it is given no vectors,
these too. The row of :class:`Topics` is a text's proportions of topics (:mod:`psdvec.topic_model`), which ``fit``
learns. The row of :class:`ItemVectors` is the mean of the vectors of a basket's items, which ``fit`` learns. So a
pipeline can be fitted on some texts and used on others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from psdvec.arrays import Float32s
from psdvec.counts.items import items_of
from psdvec.errors import InputError, MissingExtraError, checked_options
from psdvec.formats import load
from psdvec.options import Counting
from psdvec.progress import SilentProgress
from psdvec.solver.train import train
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.sentences import (
    Tokenizer,
    Weighting,
    common_direction,
    make_tokenizer,
    mean_vectors,
    sif_weights,
    without_direction,
)
from psdvec.vectors.subwords import UnseenInText, need_subwords, wants_spelling

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted
except ImportError as error:
    raise MissingExtraError(
        "psdvec.sklearn needs the package 'scikit-learn', which is not installed; "
        "run: pip install 'psdvec[sklearn]'"
    ) from error


class _Transformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What all transformers are: given rows that are no numbers."""

    n_features_out_: int

    @property
    def _n_features_out(self) -> int:
        return self.n_features_out_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.transformer_tags.preserves_dtype = []  # rows are float32, whatever the input
        return tags


class _TextTransformer(_Transformer):
    """What both transformers of texts are: made with vectors."""

    vectors: Embeddings | str | Path | None
    tokenizer: str | Tokenizer | None
    embeddings_: Embeddings

    def _open(self) -> Embeddings:
        if self.vectors is None:
            raise InputError(
                f"{type(self).__name__} was given no vectors; give it a model, or the path of one"
                + ("" if isinstance(self, Topics) else ", or dim, to train some on the texts")
            )
        return self.vectors if isinstance(self.vectors, Embeddings) else load(self.vectors)

    def _cut(self, X: Any) -> list[list[str]]:
        """Return the words of each text."""
        tokenize = make_tokenizer(self.embeddings_, self.tokenizer)
        return [list(tokenize(text)) for text in self._read(X)]

    def _read(self, X: Any) -> list[str]:
        """Return the texts, one per row, or say what was given instead; of a table, such as a DataFrame, its column."""
        taker = f"{type(self).__name__} takes"
        if isinstance(X, str):
            raise InputError(f"{taker} a list of texts, but was given a single string; put it into a list")
        if isinstance(X, Mapping) or not isinstance(X, Iterable):
            raise InputError(f"{taker} a list of texts, but was given {X!r:.40}; give a list")
        shape = getattr(X, "shape", (1,))
        if len(shape) != 1:
            table = np.asarray(X)
            if table.ndim != 2 or table.shape[1] != 1:
                names = ", ".join(f"'{name}'" for name in getattr(X, "columns", ()))
                raise InputError(
                    f"{taker} one column of texts, but was given a table of shape {tuple(shape)}"
                    + (f" with the columns {names}" if names else "")
                    + "; give one of its columns"
                )
            X = table[:, 0].tolist()
        texts = list(X)
        for row, text in enumerate(texts):
            if not isinstance(text, str):
                raise InputError(
                    f"row {row} of the texts, counted from 0, is {text!r:.40} and not a string; leave it out, "
                    "or put an empty string in its place"
                )
        return texts

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags


class WordVectors(_TextTransformer):
    """Turn texts into vectors.

    Texts are strings, one per row: a list, an array, a column of a DataFrame, or a table with a single column.

    Parameters
    ----------
    vectors : a Model or Embeddings, or the path of vectors in any format that psdvec reads; if None, they are trained
        on the texts given to ``fit``, with ``dim`` dimensions
    dim, min_count, window, random_state : of vectors that are trained, as in :func:`psdvec.train`; ``random_state`` is
        its seed
    weighting : ``"mean"``, or ``"sif"``, which gives rare words more weight and removes the common direction
    a : the constant of SIF
    tokenizer : how texts are cut into words: ``"unicode"``, ``"unicode-cased"``, ``"paper"``, ``"whitespace"``, or a
        function from a text to a list of words; if None, as the vectors' own text was cut. Where that is not known,
        words are runs of letters and digits, lower-cased if the vocabulary has no capitals
    unseen : ``"ignore"`` leaves words without a vector out, ``"spelling"`` gives them one by their spelling

    Attributes
    ----------
    embeddings_ : the vectors
    direction_ : (d,) the direction that SIF removes; None for the plain mean
    n_features_out_ : d

    Examples
    --------
    >>> e = Embeddings(("good", "bad"), np.eye(2, dtype=np.float32))
    >>> WordVectors(e).fit_transform(["Good!", "good, bad"]).tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """

    def __init__(
        self,
        vectors: Embeddings | str | Path | None = None,
        *,
        weighting: Weighting = "mean",
        a: float = 1e-3,
        tokenizer: str | Tokenizer | None = None,
        unseen: UnseenInText = "ignore",
        dim: int | None = None,
        min_count: int = Counting.min_count,
        window: int = Counting.window,
        random_state: int = 0,
    ) -> None:
        self.dim = dim
        self.min_count = min_count
        self.window = window
        self.random_state = random_state
        self.vectors = vectors
        self.weighting = weighting
        self.a = a
        self.tokenizer = tokenizer
        self.unseen = unseen

    def fit(self, X: Iterable[str], y: Any = None) -> WordVectors:
        """Read or train the vectors and, for SIF, find the common direction of the texts ``X``."""
        checked_options(WordVectors.__init__, self.get_params(deep=False))
        if not 0 < self.a < math.inf:
            raise InputError(f"a is {self.a}; give a positive number, such as 0.001")
        if self.weighting not in ("mean", "sif"):
            raise InputError(f"the weighting is {self.weighting!r}; give 'mean' or 'sif'")
        texts = self._read(X)
        self.embeddings_ = self._open() if self.dim is None else self._train(texts)
        if wants_spelling(self.unseen, otherwise="ignore"):
            need_subwords(self.embeddings_.subwords)
        self.n_features_out_ = self.embeddings_.dim
        self.direction_ = None
        if self.weighting == "sif":
            means = self._means(texts)
            self.direction_ = common_direction(means.T.astype(np.float64) @ means)
        return self

    def transform(self, X: Iterable[str]) -> Float32s:
        """Return the vectors of the texts, (len(X), d) float32."""
        check_is_fitted(self)
        means = self._means(X)
        return means if self.direction_ is None else without_direction(means, self.direction_)

    def _train(self, texts: list[str]) -> Embeddings:
        if self.vectors is not None:
            raise InputError(
                "WordVectors was given vectors, and dim to train others; leave out one of the two"
            )
        is_function = callable(self.tokenizer)
        return train(
            [self.tokenizer(text) for text in texts] if callable(self.tokenizer) else texts,
            tokenizer=None if is_function else cast("str | None", self.tokenizer),
            dim=cast(int, self.dim), min_count=self.min_count, window=self.window, seed=self.random_state, quiet=True,
        )  # fmt: skip

    def _means(self, X: Any) -> Float32s:
        weights = sif_weights(self.embeddings_, a=self.a) if self.weighting == "sif" else None
        return mean_vectors(self.embeddings_, self._cut(X), weights=weights, unseen=self.unseen)


class Topics(_TextTransformer):
    """Turn texts into proportions of topics, which are learned from the texts given to ``fit``.

    Texts are strings, one per row: a list, an array, a column of a DataFrame, or a table with a single column. A text
    without any known word becomes a row of zeros.

    Parameters
    ----------
    vectors : a Model or Embeddings, or the path of vectors in any format that psdvec reads
    n_topics : how many topics, or ``"auto"``
    seed_words : words that some topics are to be about, by the name of the topic: ``{"economy": ["bank", "loan"]}``
    min_documents : leave out words that fewer texts have; by default 5, or one in a thousand
    random_state : a number, the seed of the first clusters
    tokenizer : how texts are cut into words, as for :class:`WordVectors`

    Attributes
    ----------
    topics_ : what was learned, a :class:`psdvec.Topics`; ``topics_.labels`` names the columns
    embeddings_ : the vectors
    n_features_out_ : the number of topics

    Examples
    --------
    >>> e = Embeddings(("cat", "dog", "loan", "bank"), np.float32([[1, 0.1], [1, 0], [0, 1], [0.1, 1]]))
    >>> topics = Topics(e, n_topics=2, min_documents=1).fit(["cat dog cat", "dog cat", "bank loan", "loan bank loan"])
    >>> sorted(topics.topics_.labels)
    ['dog, cat, bank', 'loan, bank, cat']
    >>> topics.transform(["my cat and your dog"] * 5).shape
    (5, 2)
    """

    def __init__(
        self,
        vectors: Embeddings | str | Path | None = None,
        *,
        n_topics: int | Literal["auto"] = 50,
        seed_words: Mapping[str, Sequence[str]] | None = None,
        min_documents: int | None = None,
        random_state: int = 0,
        tokenizer: str | Tokenizer | None = None,
    ) -> None:
        self.vectors = vectors
        self.n_topics = n_topics
        self.seed_words = seed_words
        self.min_documents = min_documents
        self.random_state = random_state
        self.tokenizer = tokenizer

    def fit(self, X: Iterable[str], y: Any = None) -> Topics:
        """Read the vectors, and learn topics from the texts ``X``."""
        checked_options(Topics.__init__, {**self.get_params(deep=False), "random_state": 0})
        if isinstance(self.random_state, bool) or not isinstance(self.random_state, int | np.integer):
            raise InputError(
                f"random_state is {self.random_state!r}; give a number, so that topics can be repeated"
            )
        from psdvec.topic_model.topics import topics

        self.embeddings_ = self._open()
        self.topics_ = topics(
            self.embeddings_, self._cut(X), self.n_topics, seed_words=self.seed_words,
            min_documents=self.min_documents, seed=int(self.random_state), progress=SilentProgress(),
        )  # fmt: skip
        self.n_features_out_ = len(self.topics_)
        return self

    def transform(self, X: Iterable[str]) -> Float32s:
        """Return the proportions of the texts, (len(X), number of topics) float32; the topics stay as they are."""
        check_is_fitted(self)
        return self.topics_.transform(self._cut(X))


class ItemVectors(_Transformer):
    """Turn baskets of items into vectors, which are learned from the baskets given to ``fit``.

    Baskets are lists or sets of items, one per row; items are strings, whole numbers or tuples. The row of a basket is
    the mean of its items' vectors, zeros if none has one.

    Parameters
    ----------
    dim, min_count : dimensions, and in how many baskets an item must be to get a vector
    window : None, if the order of a basket's items says nothing; otherwise how far apart two may stand
    random_state : a number, the seed of the fit

    Attributes
    ----------
    model_ : what was learned, a :class:`psdvec.Model`
    n_features_out_ : dim

    Examples
    --------
    >>> orders = [["bread", "butter"], ["bread", "butter", "jam"], ["beer", "crisps"], ["beer", "crisps", "jam"]]
    >>> ItemVectors(dim=2, min_count=1).fit_transform(orders).shape
    (4, 2)
    """

    def __init__(
        self,
        *,
        dim: int = 100,
        min_count: int = Counting.min_count,
        window: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.dim = dim
        self.min_count = min_count
        self.window = window
        self.random_state = random_state

    def fit(self, X: Iterable[Iterable[Any]], y: Any = None) -> ItemVectors:
        """Learn the vectors of the items of the baskets ``X``."""
        checked_options(ItemVectors.__init__, self.get_params(deep=False))
        self.model_ = train(
            X, items=True, dim=self.dim, min_count=self.min_count, window=self.window, seed=self.random_state,
            quiet=True,
        )  # fmt: skip
        self.n_features_out_ = self.model_.dim
        return self

    def transform(self, X: Iterable[Iterable[Any]]) -> Float32s:
        """Return the vectors of baskets, (len(X), dim) float32; items without a vector are left out."""
        check_is_fitted(self)
        ordered = self.window is not None
        baskets = [list(items_of(basket, row, ordered=ordered)) for row, basket in enumerate(X)]
        return mean_vectors(self.model_, baskets, unseen="ignore")
