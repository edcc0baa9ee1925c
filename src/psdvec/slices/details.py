"""What is different about a word in two slices: the contexts that pull it one way or the other, with passages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from psdvec.arrays import Float64s, Int64s
from psdvec.errors import InputError
from psdvec.slices.blocks import Uses, count_contexts
from psdvec.slices.reading import Sliced
from psdvec.text.concordance import Passage, find_passages
from psdvec.vectors.embeddings import Embeddings

_TRIED = 4  # documents that are read for each passage that is wanted: a line may end between two words


class Compared(NamedTuple):
    """Two slices, by their ``names``, and all that is known of how words are used there."""

    embeddings: Embeddings
    uses: Uses
    sliced: Sliced
    names: tuple[str, str]


class Context(NamedTuple):
    """A context, what it adds to the distance of two slices, and how often it stands with the word in each of them."""

    word: str
    share: float
    counts: tuple[int, int]


def contexts_of(two: Compared, words: Sequence[str], *, topn: int) -> dict[str, dict[str, list[Context]]]:
    """See :meth:`psdvec.Change.contexts`; of several words at once."""
    ids = np.array([two.embeddings.key_to_index[word] for word in words], np.int64)
    features = two.uses.blocks.features
    counts = np.stack([_counted_in(two, ids, two.sliced.names.index(name)) for name in two.names])
    amounts = counts @ features[:, -1].astype(np.float64)
    shares = counts / np.where(amounts > 0, amounts, 1)[..., None]
    placed = features[:, :-1] @ two.uses.matrix
    found: dict[str, dict[str, list[Context]]] = {}
    for place, word in enumerate(words):
        more = shares[1, place] - shares[0, place]
        apart = more @ placed
        pulls = more * (placed @ apart) / max(float(apart @ apart), 1e-300)
        found[word] = {}
        for name, side in zip(two.names, (-1, 1), strict=True):
            own = np.flatnonzero(side * more > 0)
            first = own[np.argsort(-pulls[own], kind="stable")[:topn]]
            found[word][name] = [
                Context(
                    str(two.embeddings.index_to_key[i]),
                    float(pulls[i]),
                    (round(counts[0, place, i]), round(counts[1, place, i])),
                )
                for i in first
            ]
    return found


def passages_of(
    two: Compared, words: Sequence[str], *, topn: int, most: int
) -> dict[str, dict[str, list[Passage]]]:
    """See :meth:`psdvec.Change.passages`; of several words at once, so that documents are read once."""
    contexts = contexts_of(two, words, topn=topn)
    wanted = {
        (word, name, context.word): _documents_with(two, word, context.word, name, most=_TRIED * most)
        for word, by_slice in contexts.items()
        for name, listed in by_slice.items()
        for context in listed
    }
    places = np.unique(np.concatenate([np.zeros(0, np.int64), *wanted.values()]))
    texts = dict(zip(places.tolist(), two.sliced.texts(places), strict=True)) if places.size else {}
    found: dict[str, dict[str, list[Passage]]] = {
        word: {name: [] for name in own} for word, own in contexts.items()
    }
    for (word, name, context), documents in wanted.items():
        read = ((two.sliced.documents.names[i], texts[i]) for i in documents.tolist())
        passages = find_passages(
            read,
            {word: [context]},
            tokenize=two.embeddings.tokenize,
            window=two.uses.blocks.window,
            most=most,
        )[word, context]
        found[word][name] += [one for one in passages if one not in found[word][name]]
    return found


def two_of(names: tuple[str, ...], chosen: tuple[str, str]) -> tuple[str, str]:
    """Return two slices, or say that there are no such two."""
    for name in chosen:
        if name not in names:
            raise InputError(f"there is no slice '{name}'; choose two of {', '.join(names)}")
    if chosen[0] == chosen[1]:
        raise InputError(f"'{chosen[0]}' is given twice; give two different slices")
    return chosen


def _counted_in(two: Compared, ids: Int64s, number: int) -> Float64s:
    """Return how often every word is a context of some words in a slice, (words, n)."""
    n, blocks = len(two.embeddings), two.uses.blocks
    if number in blocks.counted:
        own = blocks.counted[number]
        return np.asarray(own.matrix[ids].todense()) / own.unit
    rows, counts = np.full(n, -1, np.int32), np.zeros((len(ids), n), np.int64)
    rows[ids] = np.arange(len(ids))
    documents = np.flatnonzero(two.sliced.owners == number)
    count_contexts(blocks.documents.tokens, blocks.documents.starts, documents, blocks.window, rows, counts)
    return counts.astype(np.float64)


def _documents_with(two: Compared, word: str, context: str, name: str, *, most: int) -> Int64s:
    """Return documents of a slice in which a word stands with a context, evenly strewn over all that there are."""
    blocks, ids = two.uses.blocks, two.embeddings.key_to_index
    tokens, starts = blocks.documents.tokens, blocks.documents.starts
    places: Any = np.flatnonzero(tokens == ids[word])
    owners = np.searchsorted(starts, places, side="right") - 1
    is_own = two.sliced.owners[owners] == two.sliced.names.index(name)
    places, owners = places[is_own], owners[is_own]
    near = np.zeros(len(places), bool)
    for step in range(-blocks.window, blocks.window + 1):
        there = places + step
        within = (there >= starts[owners]) & (there < starts[owners + 1]) & (step != 0)
        near |= within & (tokens[np.where(within, there, 0)] == ids[context])
    found = np.unique(owners[near])
    return (
        found[np.unique(np.linspace(0, len(found) - 1, min(most, len(found))).astype(int))]
        if found.size
        else found
    )
