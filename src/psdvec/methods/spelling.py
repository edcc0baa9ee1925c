"""Any vectors with our spelling: :func:`spell`, and the methods that do it to the vectors of another method.

Letters learn from the vectors by equations (14) to (18) of ``docs/spelling.md``. Vectors of other programs often have a
common part, which any letters predict: their mean is taken away before, and added again after.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np

from psdvec.arrays import Float64s, Int64s
from psdvec.counts.matrix import Cooccurrence
from psdvec.counts.vocabulary import Vocabulary
from psdvec.errors import InputError, checked
from psdvec.formats import load
from psdvec.methods import method_named
from psdvec.options import Recipe
from psdvec.progress import LogProgress, Progress, SilentProgress
from psdvec.text.corpus import Corpus, Sentences
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.neighbours import csr_of, lengths_of
from psdvec.vectors.subwords import learn_subwords, mix, mixing_factors, own_pull, say_weights

RAREST = 5  # times that the last word is taken to have been seen: what word2vec and GloVe ask for


@checked
def spell(
    embeddings: Embeddings,
    *,
    workers: int | None = None,
    quiet: bool = False,
    progress: Progress = LogProgress(),
) -> Embeddings:
    """Return the same words with their spelling mixed into their vectors; every other string can then have one too.

    Parameters
    ----------
    embeddings
        Vectors by any program, the most frequent word first; where counts are not known, the order stands for them.
    workers
        Number of threads; one per core, if None. The result is the same.
    quiet
        Whether to say nothing.

    Examples
    --------
    >>> words = ("play", "plays", "played", "player", "sing", "sings", "singer", "singing")
    >>> vectors = np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32)
    >>> e = spell(Embeddings(words, vectors), quiet=True)
    >>> e.vector("playing", unseen="spelling").shape
    (4,)
    """
    progress = SilentProgress() if quiet else progress
    if embeddings.subwords is not None:
        raise InputError("these vectors have learned spelling already; give vectors that have not")
    if csr_of(embeddings.vectors) is not None:
        raise InputError("letters cannot learn from sparse vectors; give dense ones, such as those of svd")
    if not embeddings.vectors.size or not np.isfinite(embeddings.lengths).all():
        raise InputError("there is nothing to learn from; give vectors of at least two words")
    mean = np.asarray(np.mean(embeddings.vectors, axis=0, dtype=np.float64), np.float32)
    rest = np.asarray(embeddings.vectors - mean)
    lengths, recipe, seen = lengths_of(rest), Recipe(), seen_about(embeddings)
    units = np.asarray(rest / lengths[:, None], np.float32)
    subwords = learn_subwords(
        embeddings.words, units, seen, length=float(lengths.mean()), recipe=recipe, mean=mean, workers=workers,
        progress=progress,
    )  # fmt: skip
    if subwords is None:
        raise InputError(
            "no two words have three letters in common, so nothing can be learned; give more words"
        )
    weights = say_weights(subwords.share, subwords.leverage, subwords.size, noise=recipe.spelling_noise)
    progress.say(f"spelling {weights}")
    spelled, as_it_is = subwords.predict(embeddings.words), np.ones(embeddings.dim, np.float32)
    deviations = embeddings.deviations
    if deviations is not None:
        own = own_pull(subwords, seen, noise=recipe.spelling_noise)
        deviations = deviations * mixing_factors(rest, as_it_is, spelled, own, share=subwords.share)
    return Embeddings(
        embeddings.words,
        mean + mix(rest, as_it_is, spelled, share=subwords.share),
        embeddings.counts,
        deviations,
        tokenizer=embeddings.tokenizer,
        phrases=embeddings.phrases,
        subwords=subwords,
    )


def seen_about(embeddings: Embeddings) -> Int64s | Float64s:
    """Return how often each word was seen or, where that is not known, as often as its rank says by Zipf's law.

    >>> seen_about(Embeddings(("the", "of", "cat"), np.eye(3, dtype=np.float32))).tolist()
    [15.0, 7.5, 5.0]
    """
    if embeddings.counts is not None and embeddings.counts.any():
        return embeddings.counts
    n = len(embeddings)
    ranks: Float64s = np.arange(1, n + 1, dtype=np.float64)
    return RAREST * n / ranks


def fit(
    source: Cooccurrence | Corpus | Sentences | None,
    *,
    base: str,
    vocabulary: Vocabulary,
    dim: int = 300,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress = LogProgress(),
    vectors: str | None = None,
) -> Embeddings:
    """Mix spelling into the vectors in the file or folder ``vectors``, or into those that the method ``base`` makes."""
    if vectors is not None:
        return spell(load(Path(vectors)), workers=workers, progress=progress)
    function = method_named(base).function
    known = {"vocabulary": vocabulary, "dim": dim, "seed": seed, "workers": workers, "progress": progress}
    accepted = inspect.signature(function).parameters
    given = function(source, **{name: value for name, value in known.items() if name in accepted})
    return spell(given, workers=workers, progress=progress)
