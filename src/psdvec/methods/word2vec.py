"""word2vec: CBOW and skip-gram with negative sampling (Mikolov et al. 2013), trained by gensim."""

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
    window: int = 5,
    negative: int = 15,
    epochs: int = 15,
    subsample: float = 1e-4,
    alpha: float = 0.05,
) -> Embeddings:
    """Train CBOW on ``corpus``; with one worker, the same seed gives the same vectors.

    Parameters
    ----------
    window
        Contexts reach at most this many words to either side; the actual reach is drawn at random each time.
    negative
        How many wrong answers are drawn for each right one.
    subsample
        Words that make up more than this share of the text are left out at random.
    alpha
        The initial step; it falls to almost nothing.
    """
    return train(
        "Word2Vec", corpus, vocabulary, dim=dim, seed=seed, workers=workers, progress=progress, sg=0,
        window=window, negative=negative, epochs=epochs, sample=subsample, alpha=alpha,
    )  # fmt: skip


def fit_skipgram(
    corpus: Corpus | Sentences,
    *,
    vocabulary: Vocabulary,
    dim: int = 300,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress = LogProgress(),
    window: int = 5,
    negative: int = 5,
    epochs: int = 15,
    subsample: float = 1e-4,
    alpha: float = 0.025,
) -> Embeddings:
    """Train skip-gram on ``corpus``; see :func:`fit`."""
    return train(
        "Word2Vec", corpus, vocabulary, dim=dim, seed=seed, workers=workers, progress=progress, sg=1,
        window=window, negative=negative, epochs=epochs, sample=subsample, alpha=alpha,
    )  # fmt: skip
