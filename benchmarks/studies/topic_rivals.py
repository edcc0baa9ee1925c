"""Other people's topic models on given documents, run by ``bench_topics.py`` in an interpreter that has them.

python topic_rivals.py METHOD documents.json output --topics 10 20 50 --seed 0

``documents.json`` is a list of lists of words. ``output-K.npz`` holds ``words``, up to ten a topic as one string each,
and ``proportions`` (m, K). BERTopic and Top2Vec learn once, and join topics until K are left, as they are meant to.
Needs, by method: scikit-learn (lda, nmf); tomotopy; bertopic, umap-learn, hdbscan and gensim (bertopic: doc2vec vectors
given to it); top2vec (its own doc2vec). No model is downloaded.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

Result = tuple[list[list[str]], Any]
Results = Iterator[tuple[int, Result]]


def lda(documents: list[list[str]], topics: int, seed: int) -> Result:
    from sklearn.decomposition import LatentDirichletAllocation

    counts, words = _counts(documents)
    model = LatentDirichletAllocation(topics, random_state=seed, max_iter=20, n_jobs=2)
    return _columns(model.fit_transform(counts), model.components_, words)


def nmf(documents: list[list[str]], topics: int, seed: int) -> Result:
    from sklearn.decomposition import NMF
    from sklearn.feature_extraction.text import TfidfTransformer

    counts, words = _counts(documents)
    model = NMF(topics, random_state=seed, init="nndsvda", max_iter=400)
    return _columns(model.fit_transform(TfidfTransformer().fit_transform(counts)), model.components_, words)


def tomotopy(documents: list[list[str]], topics: int, seed: int) -> Result:
    import tomotopy as tp

    model = tp.LDAModel(k=topics, seed=seed)
    for words in documents:
        model.add_doc(words)
    model.train(1000, workers=2)
    shares = np.array([document.get_topic_dist() for document in model.docs])
    return [[word for word, _ in model.get_topic_words(k, top_n=10)] for k in range(topics)], shares


def bertopic(documents: list[list[str]], numbers: list[int], seed: int) -> Results:
    from bertopic import BERTopic
    from umap import UMAP

    texts = [" ".join(words) for words in documents]
    layout = UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=seed)
    model = BERTopic(embedding_model=None, umap_model=layout, calculate_probabilities=False)
    model.fit_transform(texts, embeddings=_doc2vec(documents, seed))
    for number in sorted(numbers, reverse=True):
        model.reduce_topics(texts, nr_topics=number + 1)
        kept = sorted({found for found in model.topics_ if found >= 0})
        shares = np.array([[float(found == k) for k in kept] for found in model.topics_])
        yield number, ([[word for word, _ in model.get_topic(k)[:10] if word] for k in kept], shares)


def top2vec(documents: list[list[str]], numbers: list[int], seed: int) -> Results:
    from top2vec import Top2Vec

    texts = [" ".join(words) for words in documents]
    model = Top2Vec(
        texts, embedding_model="doc2vec", min_count=5, speed="learn", workers=2, tokenizer=str.split,
        umap_args={"n_neighbors": 15, "n_components": 5, "metric": "cosine", "random_state": seed},
    )  # fmt: skip
    for number in sorted(numbers, reverse=True):
        reduced = model.get_num_topics() > number
        if reduced:
            model.hierarchical_topic_reduction(number)
        words, _, _ = model.get_topics(reduced=reduced)
        owners, _, _, _ = model.get_documents_topics(list(range(len(texts))), reduced=reduced)
        yield number, ([list(each[:10]) for each in words], np.eye(len(words))[np.asarray(owners)])


def _each(learn: Callable[[list[list[str]], int, int], Result]) -> Callable[..., Results]:
    """Return a method that learns anew for each number of topics."""

    def run(documents: list[list[str]], numbers: list[int], seed: int) -> Results:
        for number in numbers:
            yield number, learn(documents, number, seed)

    return run


METHODS: dict[str, Callable[[list[list[str]], list[int], int], Results]] = {
    "lda": _each(lda), "nmf": _each(nmf), "tomotopy": _each(tomotopy), "bertopic": bertopic, "top2vec": top2vec
}  # fmt: skip


def _counts(documents: list[list[str]]) -> tuple[Any, list[str]]:
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(analyzer=lambda words: words)
    counts = counter.fit_transform(documents)
    return counts, list(counter.get_feature_names_out())


def _columns(shares: Any, components: Any, words: list[str]) -> Result:
    return [[words[i] for i in np.argsort(-row)[:10]] for row in components], shares


def _doc2vec(documents: list[list[str]], seed: int) -> Any:
    from gensim.models.doc2vec import Doc2Vec, TaggedDocument

    tagged = [TaggedDocument(words, [i]) for i, words in enumerate(documents)]
    model = Doc2Vec(tagged, vector_size=300, window=15, min_count=5, dm=0, dbow_words=1, epochs=40, workers=2,
                    negative=0, hs=1, sample=1e-5, seed=seed)  # fmt: skip
    return np.array([model.dv[i] for i in range(len(documents))])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("method", choices=sorted(METHODS))
    parser.add_argument("documents", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--topics", type=int, nargs="+", required=True)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    documents = json.loads(given.documents.read_text(encoding="utf-8"))
    for number, (words, shares) in METHODS[given.method](documents, given.topics, given.seed):
        named = np.array([" ".join(each) for each in words])
        np.savez_compressed(f"{given.output}-{number}.npz", words=named, proportions=shares)


if __name__ == "__main__":
    sys.exit(main())
