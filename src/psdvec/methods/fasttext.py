"""fastText: skip-gram in which a word is the sum of its subwords (Bojanowski et al. 2017), trained by gensim.

:func:`fit_words` leaves the subwords out, which shows what they alone are worth.
"""

from __future__ import annotations

from psdvec.counts.vocabulary import Vocabulary
from psdvec.methods.gensim_training import train
from psdvec.progress import LogProgress, Progress
from psdvec.text.corpus import Corpus, Sentences
from psdvec.vectors.embeddings import Embeddings


def fit(
    corpus: Corpus | Sentences,
    *,
    vocabulary: Vocabulary,
    dim: int = 300,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress = LogProgress(),
    skipgram: bool = True,
    window: int = 5,
    negative: int = 5,
    epochs: int = 5,
    subsample: float = 1e-4,
    alpha: float = 0.05,
    exponent: float = 0.75,
    shortest: int = 3,
    longest: int = 6,
    buckets: int = 2_000_000,
) -> Embeddings:
    """Train on ``corpus``; with one worker, the same seed gives the same vectors.

    Parameters
    ----------
    skipgram, window, negative, epochs, subsample, alpha
        See :func:`psdvec.methods.word2vec.fit`.
    exponent
        Wrong answers are drawn by the counts of words raised to this power; fastText's own program has 0.5.
    shortest, longest
        Lengths of the subwords, in letters.
    buckets
        How many vectors all the subwords share.
    """
    return train(
        "FastText", corpus, vocabulary, dim=dim, seed=seed, workers=workers, progress=progress, sg=int(skipgram),
        window=window, negative=negative, epochs=epochs, sample=subsample, alpha=alpha,
        ns_exponent=exponent, min_n=shortest, max_n=longest, bucket=buckets,
    )  # fmt: skip


def fit_words(
    corpus: Corpus | Sentences,
    *,
    vocabulary: Vocabulary,
    dim: int = 300,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress = LogProgress(),
    window: int = 5,
    negative: int = 5,
    epochs: int = 5,
    subsample: float = 1e-4,
    alpha: float = 0.05,
    exponent: float = 0.5,
) -> Embeddings:
    """Train on ``corpus`` by skip-gram with whole words alone; see :func:`fit`."""
    return fit(
        corpus, vocabulary=vocabulary, dim=dim, seed=seed, workers=workers, progress=progress, window=window,
        negative=negative, epochs=epochs, subsample=subsample, alpha=alpha, exponent=exponent, longest=0,
    )  # fmt: skip
