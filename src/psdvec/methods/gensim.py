"""word2vec and fastText, trained by gensim: a corpus handed over as a file, and vectors in our order.

word2vec is CBOW and skip-gram with negative sampling (Mikolov et al. 2013); fastText is skip-gram in which a word is
the sum of its subwords (Bojanowski et al. 2017).

The text is written once to a temporary file, already split into words, because gensim reads a file several times as
fast as it takes sentences from Python.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from psdvec.counts.vocabulary import Vocabulary
from psdvec.errors import InputError, demand_positive, import_extra
from psdvec.progress import LogProgress, Progress
from psdvec.resources import resolve_workers
from psdvec.text.corpus import Corpus, Sentences
from psdvec.vectors.embeddings import Embeddings

_BLANKS = bytes(0x20 if code < 0x20 and code != 0x0A else code for code in range(256))


def fit(
    corpus: Corpus | Sentences,
    *,
    vocabulary: Vocabulary,
    dim: int = 300,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress = LogProgress(),
    model_class: str = "Word2Vec",
    skipgram: bool = False,
    window: int = 5,
    negative: int = 15,
    epochs: int = 15,
    subsample: float = 1e-4,
    alpha: float = 0.05,
    exponent: float = 0.75,
    shortest: int = 3,
    longest: int = 6,
    buckets: int = 2_000_000,
) -> Embeddings:
    """Train gensim's ``model_class``, Word2Vec or FastText, on the words of ``vocabulary``: all of them, and no others.

    With one worker, the same seed gives the same vectors.

    Parameters
    ----------
    skipgram
        Whether to predict the context from the word, not the word from its context (CBOW).
    window
        Contexts reach at most this many words to either side; the actual reach is drawn at random each time.
    negative
        How many wrong answers are drawn for each right one.
    subsample
        Words that make up more than this share of the text are left out at random.
    alpha
        The initial step; it falls to almost nothing.
    exponent
        Wrong answers are drawn by the counts of words raised to this power; fastText's own program has 0.5.
    shortest, longest
        Lengths of fastText's subwords, in letters.
    buckets
        How many vectors all the subwords share.
    """
    demand_positive(dim, "dim")
    models = import_extra("gensim.models", extra="compare", purpose=f"training {model_class}")
    subwords = {"min_n": shortest, "max_n": longest, "bucket": buckets} if model_class == "FastText" else {}
    model = getattr(models, model_class)(
        vector_size=dim, seed=seed, workers=resolve_workers(workers), min_count=1, sg=int(skipgram), window=window,
        negative=negative, epochs=epochs, sample=subsample, alpha=alpha, ns_exponent=exponent, **subwords,
    )  # fmt: skip
    counts = dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True))
    model.build_vocab_from_freq(counts)
    with tempfile.TemporaryDirectory(prefix="psdvec-") as folder:
        path = Path(folder) / "text"
        total = write_text(corpus, path)
        with progress.stage(model_class, total=model.epochs, unit="epochs") as stage:
            model.train(
                corpus_file=str(path), total_words=total, epochs=model.epochs,
                callbacks=[_epoch_callback(models, stage)],
            )  # fmt: skip
    rows = [model.wv.key_to_index[word] for word in vocabulary.words]
    vectors = np.asarray(model.wv.vectors, np.float32)[rows]
    return Embeddings(vocabulary.words, vectors, vocabulary.counts)


def write_text(corpus: Corpus | Iterable[Iterable[str]], path: Path) -> int:
    """Write a corpus as lines of words separated by blanks; return the number of words."""
    total = 0
    with path.open("wb") as file:
        if isinstance(corpus, Corpus):
            for block in corpus.blocks():
                text = corpus.space(block)[0].tobytes().translate(_BLANKS)
                total += len(text.split())
                file.write(text)
        else:
            for sentence in corpus:
                words = [*sentence]
                total += len(words)
                file.write(" ".join(words).encode("utf-8") + b"\n")
    if not total:
        raise InputError("the corpus holds no words; give a corpus with text in it")
    return total


def _epoch_callback(models: Any, stage: Any) -> Any:
    class Epochs(models.callbacks.CallbackAny2Vec):  # type: ignore[misc]
        def on_epoch_end(self, model: Any) -> None:
            stage.advance(1)

    return Epochs()
