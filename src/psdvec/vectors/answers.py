"""Questions about words, answered as plain values for the command line and the explorer.

Each function takes :class:`~psdvec.vectors.embeddings.Embeddings` and words, and returns dictionaries that JSON can
hold; a number that is not known is None. Nothing is printed, and nothing is kept between questions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from psdvec.vectors.embeddings import ANALOGY, AnalogyMethod, Embeddings, Ranking
from psdvec.vectors.subwords import Unseen, need_subwords, wants_spelling


def similar(e: Embeddings, word: str, *, topn: int = 10, unseen: Unseen = "error") -> dict[str, Any]:
    """Return ``word`` and its neighbours, with the bounds of each similarity where both deviations are known."""
    (answer,) = describe_words(e, [word], unseen=unseen)
    neighbours = _records(e, e.most_similar(word, topn=topn, unseen=unseen))
    found = {} if e.deviations is None else dict(e.most_similar_intervals(word, topn=topn, unseen=unseen))
    for record in neighbours:
        record.update(low=None, high=None)
        if answer["deviation"] is not None and record["deviation"] is not None:
            record.update(low=found[record["word"]].low, high=found[record["word"]].high)
    return {**answer, "neighbours": neighbours}


def similar_many(
    e: Embeddings,
    words: Sequence[str],
    *,
    topn: int = 10,
    restrict_vocab: int | None = None,
    unseen: Unseen = "error",
) -> list[dict[str, Any]]:
    """Return each of ``words`` and its neighbours, without bounds but much faster than one by one."""
    rankings = e.most_similar_many(words, topn=topn, restrict_vocab=restrict_vocab, unseen=unseen)
    return [
        {**answer, "neighbours": _records(e, ranking)}
        for answer, ranking in zip(describe_words(e, words, unseen=unseen), rankings, strict=True)
    ]


def analogy(
    e: Embeddings,
    a: str,
    b: str,
    c: str,
    *,
    method: AnalogyMethod = ANALOGY,
    topn: int = 10,
    restrict_vocab: int | None = None,
    unseen: Unseen = "error",
) -> dict[str, Any]:
    """Return the words that are to ``c`` as ``b`` is to ``a``, and the ``method`` by which they were found.

    ``thin`` are those of the three whose evidence is.
    """
    found = e.analogy(a, b, c, method=method, topn=topn, restrict_vocab=restrict_vocab, unseen=unseen)
    thin = [one["word"] for one in describe_words(e, [a, b, c], unseen=unseen) if one["thin"]]
    return {"a": a, "b": b, "c": c, "method": method, "thin": thin, "answers": _records(e, found)}


def odd(e: Embeddings, words: Sequence[str], *, unseen: Unseen = "error") -> dict[str, Any]:
    """Return the word that does not belong with the others, and the cosine of each word to the mean of them all."""
    ranking = [(word, cosine) for cosine, word in reversed(e.rank_by_centrality(words, unseen=unseen))]
    return {"odd": ranking[0][0], "words": _records(e, ranking, unseen=unseen)}


def compare(first: Embeddings, second: Embeddings, word: str, *, topn: int = 10) -> dict[str, Any]:
    """Return the neighbours of ``word`` in both, those they share, and the place of each in the other."""
    lists = [e.most_similar(word, topn=topn) for e in (first, second)]
    found = [{other: place for place, (other, _) in enumerate(ranking, 1)} for ranking in lists]
    sides = []
    for e, other_e, ranking, elsewhere in zip(
        (first, second), (second, first), lists, found[::-1], strict=True
    ):
        records = _records(e, ranking)
        for record in records:
            record["known_in_other"] = record["word"] in other_e
            record["place_in_other"] = elsewhere.get(record["word"])
        sides.append(records)
    shared = [other for other in found[0] if other in found[1]]
    return {
        "word": word,
        "neighbours": sides,
        "shared": shared,
        "overlap": len(shared) / max(len(found[0]), 1),
    }


def describe_words(e: Embeddings, words: Sequence[str], *, unseen: Unseen = "error") -> list[dict[str, Any]]:
    """Return what is known of each word apart from its vector: count, deviation, and whether the evidence is thin.

    A word that has a vector only by its spelling is thin, and ``spelled``.
    """
    if wants_spelling(unseen):
        own = iter(describe_words(e, [word for word in words if word in e]))
        return [next(own) if word in e else _describe_spelled(e, word) for word in words]
    ids = [e.get_index(word) for word in words]
    counts = [None] * len(ids) if e.counts is None else e.counts[ids].tolist()
    deviations = [math.nan] * len(ids) if e.deviations is None else e.deviations[ids].tolist()
    return [
        {
            "word": word,
            "count": count,
            "deviation": deviation if math.isfinite(deviation) else None,
            "thin": thin,
        }
        for word, count, deviation, thin in zip(
            words, counts, deviations, e.thin_evidence(words).tolist(), strict=True
        )
    ]


def _describe_spelled(e: Embeddings, word: str) -> dict[str, Any]:
    deviation = need_subwords(e.subwords).deviations_of(e.vectors_of([word], unseen="spelling"))[0].item()
    known = {"count": 0, "deviation": None if e.deviations is None else deviation}
    return {"word": word, **known, "thin": True, "spelled": True}


def _records(e: Embeddings, ranking: Ranking, *, unseen: Unseen = "error") -> list[dict[str, Any]]:
    described = describe_words(e, [word for word, _ in ranking], unseen=unseen)
    return [{**record, "score": score} for record, (_, score) in zip(described, ranking, strict=True)]
