"""The kernels of phrases: the best cut of a sentence, and hash tables of pairs of numbers.

:mod:`tests.reference.phrases` holds their twins.
"""

from __future__ import annotations

import numpy as np

from psdvec.kernels import kernel

_EMPTY, _ONE = np.uint64(0), np.uint64(1)
_SHIFT = np.uint64(32)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@kernel(inline="always")
def scattered(key):
    """Return a hash of ``key`` in which all bits depend on those below them, and the lower half on the upper half."""
    key *= _FACTOR
    return key ^ (key >> _SHIFT)


@kernel(inline="always")
def pair_key(node, word):
    """Return the key of a pair of numbers that are 0 or more; it is never 0."""
    return (np.uint64(node) << _SHIFT | np.uint64(word)) + _ONE


# slots uint64[2^k, 2]: keys, 0 where there is none, and what they stand for
@kernel(inline="always")
def find_slot(slots, key):
    """Return the slot where ``key`` is or would go."""
    mask = np.uint64(len(slots) - 1)
    at = scattered(key) & mask
    while slots[at, 0] != key and slots[at, 0] != _EMPTY:
        at = (at + _ONE) & mask
    return at


# slots uint64[2^k, 2], all 0, changed; keys uint64[n]
@kernel
def enter_keys(slots, keys, offset):
    """Enter ``keys``, each with its place among them from ``offset`` on."""
    for i in range(len(keys)):
        at = find_slot(slots, keys[i])
        slots[at, 0], slots[at, 1] = keys[i], np.uint64(offset + i)


# slots uint64[2^k, 2]
@kernel(inline="always")
def step(slots, node, word):
    """Return the node that ``word`` leads to from ``node``, -1 if there is none."""
    key = pair_key(node, word)
    at = find_slot(slots, key)
    return np.int64(slots[at, 1]) if slots[at, 0] == key else np.int64(-1)


# ids int32[t], below 0 where no word of a phrase stands; first int32[w], slots, values int64[nodes]: of a Trie;
# returns int32[t]
@kernel
def best_cut(ids, first, slots, values):
    """Return how many words the piece has that begins at each place, 0 where none does; the sum of values is largest.

    ``best[i]`` is the largest sum for the first i words, and ``last[i]`` the length of the last piece that reaches it.
    """
    n = len(ids)
    best, last, sizes = np.full(n + 1, -1, np.int64), np.empty(n + 1, np.int32), np.zeros(n, np.int32)
    best[0] = 0
    for i in range(n):
        node = np.int64(first[ids[i]]) if ids[i] >= 0 else np.int64(-1)
        j = i + 1
        while node >= 0:
            if values[node] > 0 and best[i] + values[node] > best[j]:
                best[j], last[j] = best[i] + values[node], j - i
            node = step(slots, node, ids[j]) if j < n and ids[j] >= 0 else np.int64(-1)
            j += 1
        if best[i] > best[i + 1]:
            best[i + 1], last[i + 1] = best[i], 1
    end = n
    while end > 0:
        size = last[end]
        end -= size
        sizes[end] = size
    return sizes
