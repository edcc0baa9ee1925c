"""Questions about words, answered as plain values: similar, analogy, odd, compare.

Goes in: :class:`~psdvec.vectors.embeddings.Embeddings` and words. Comes out: dictionaries that JSON can hold, the
names those of the command line's ``--json``; a number that is not known is None. Nothing is printed, nothing is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from psdvec.errors import InputError
from psdvec.vectors.embeddings import Embeddings, Floats, Ranking

COMPARED = 3_000  # common words whose neighbours are compared to see what moved
SEARCHED = 20_000  # common words among which those neighbours are looked for


def similar(e: Embeddings, word: str, *, topn: int = 10) -> dict[str, Any]:
    """Return ``word`` and its neighbours, with the bounds of each similarity where both deviations are known."""
    neighbours = []
    for other, score in e.most_similar(word, topn=topn):
        record = {**describe(e, other), "score": score, "low": None, "high": None}
        if deviation(e, word) is not None and deviation(e, other) is not None:
            bounds = e.similarity(word, other, interval=True)
            record.update(low=bounds.low, high=bounds.high)
        neighbours.append(record)
    return {**describe(e, word), "neighbours": neighbours}


def nearest(e: Embeddings, vector: Floats, *, topn: int = 10) -> list[dict[str, Any]]:
    """Return the words nearest to a ``vector`` that need not be a word's."""
    return _records(e, e.most_similar([vector], topn=topn))


def analogy(e: Embeddings, a: str, b: str, c: str, *, add: bool = False, topn: int = 10) -> dict[str, Any]:
    """Return the words that are to ``c`` as ``b`` is to ``a``: by 3CosMul, or by 3CosAdd if ``add``."""
    ask = e.most_similar if add else e.most_similar_cosmul
    return {"a": a, "b": b, "c": c, "add": add, "answers": _records(e, ask([b, c], [a], topn=topn))}


def odd(e: Embeddings, words: Sequence[str]) -> dict[str, Any]:
    """Return the word that does not belong with the others, and each word's cosine to the mean of all."""
    unique = list(dict.fromkeys(words))
    if len(unique) < 3:
        raise InputError(f"at least 3 different words are needed, and {len(unique)} were given; give 3")
    ranking = [(word, cosine) for cosine, word in reversed(e.rank_by_centrality(unique))]
    return {"odd": ranking[0][0], "words": _records(e, ranking)}


def compare(first: Embeddings, second: Embeddings, word: str, *, topn: int = 10) -> dict[str, Any]:
    """Return the neighbours of ``word`` in both, how many they share, and where each stands in the other."""
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


def moved(first: Embeddings, second: Embeddings, *, topn: int = 10) -> dict[str, Any]:
    """Return, of the frequent words of both, how many neighbours each keeps, the fewest first.

    Neighbours are looked for among the common words only, so that a word which one side lacks moves nobody.
    """
    common = [word for word in first.words if word in second][:SEARCHED]
    if len(common) < 2:
        raise InputError("the two models have no two words in common; give models of the same language")
    asked = common[:COMPARED]
    rankings = [e.select(common).most_similar_many(asked, topn=topn) for e in (first, second)]
    kept = np.array(
        [
            len({word for word, _ in one} & {word for word, _ in other})
            for one, other in zip(*rankings, strict=True)
        ]
    )
    most = min(topn, len(common) - 1)
    order = np.argsort(kept, kind="stable")
    return {
        "common": len(common),
        "compared": len(asked),
        "topn": most,
        "mean_overlap": float(kept.mean() / most),
        "words": [{"word": asked[i], "overlap": float(kept[i] / most)} for i in order[:50].tolist()],
    }


def describe(e: Embeddings, word: str) -> dict[str, Any]:
    """Return what is known of a word beside its vector."""
    i = e.get_index(word)
    return {
        "word": word,
        "count": None if e.counts is None else int(e.counts[i]),
        "deviation": deviation(e, word),
        "thin": bool(is_thin(e.vectors[i], deviation(e, word))),
    }


def deviation(e: Embeddings, word: str) -> float | None:
    """Return the standard deviation of a word's vector, None where it is not known."""
    if e.deviations is None:
        return None
    value = float(e.deviations[e.get_index(word)])
    return value if np.isfinite(value) else None


def is_thin(vector: Floats, deviation: float | None, *, limit: float = 0.5) -> bool:
    """Say whether one vector rests on little; see :meth:`~psdvec.vectors.embeddings.Embeddings.thin_evidence`."""
    if deviation is None:
        return False
    return bool(vector.size * deviation**2 > limit * float(vector @ vector))


def _records(e: Embeddings, ranking: Ranking) -> list[dict[str, Any]]:
    return [{**describe(e, word), "score": score} for word, score in ranking]
