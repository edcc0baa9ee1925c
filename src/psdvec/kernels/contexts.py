"""The contexts of a new word on the CPU, in numba: finding its pairs, and solving its equations from them.

:func:`solve_contexts` never forms the matrix of equation (10): conjugate gradients need it only times a vector, which
takes contexts × d operations where the matrix takes contexts × d². What it computes is defined by
:mod:`psdvec.reference.ridge`.
"""

from __future__ import annotations

import numpy as np

from psdvec.kernels import kernel


# indptr int64[n + 1]; indices int32[m]; slot_of int32[n], the slots of the words that are looked for, -1 of others
@kernel
def count_slots(indptr, indices, slot_of, slots, begin, end):
    """Count the pairs that rows ``begin`` to ``end`` have in the column of each slot's word."""
    counts = np.zeros(slots, np.int64)
    for place in range(indptr[begin], indptr[end]):
        slot = slot_of[indices[place]]
        if slot >= 0:
            counts[slot] += 1
    return counts


# as count_slots; values int64[m]; free int64[slots]: where the next pair of a slot goes; rows and found int64
@kernel
def fill_slots(indptr, indices, values, slot_of, begin, end, free, rows, found):
    """Put the rows and the values of the pairs that :func:`count_slots` counted where they belong."""
    for row in range(begin, end):
        for place in range(indptr[row], indptr[row + 1]):
            slot = slot_of[indices[place]]
            if slot >= 0:
                rows[free[slot]], found[free[slot]] = row, values[place]
                free[slot] += 1


# indptr int64[n + 1]; indices int32[m]; words int64[b]; starts int64[b + 1], rows int64: columns; core_of int64[n];
# found int64[b], zeros
@kernel
def count_contexts(found, indptr, indices, words, starts, rows, core_of, begin, end):
    """Count into ``found`` the different words with a core row in the row or the column of each word, itself left out.

    Both are rising, and are merged. Only the words ``begin`` to ``end`` are counted for.
    """
    for slot in range(begin, end):
        word = words[slot]
        i, j = indptr[word], starts[slot]
        while i < indptr[word + 1] or j < starts[slot + 1]:
            in_row = i < indptr[word + 1] and (j == starts[slot + 1] or indices[i] <= rows[j])
            other = np.int64(indices[i]) if in_row else rows[j]
            if in_row:
                i += 1
            if j < starts[slot + 1] and rows[j] == other:
                j += 1
            if other != word and core_of[other] >= 0:
                found[slot] += 1


# features float32[c, k]; rows int64[m]; weights, targets float32[m]; F float32[m, k]
@kernel(fastmath=True)
def gather_into(F, features, rows, weights, targets):
    """Put the features of the contexts ``rows`` into ``F``; return Σ t f and Σ w |f|²."""
    k = features.shape[1]
    total, trace = np.zeros(k, np.float32), 0.0
    for j in range(rows.size):
        f, t, square = features[rows[j]], targets[j], np.float32(0)
        for i in range(k):
            F[j, i] = f[i]
            total[i] += t * f[i]
            square += f[i] * f[i]
        trace += weights[j] * square
    return total, trace


# F float32[m, k]; weights float32[m]; base, directions float32[k, k]; scales, b float32[k]
@kernel(fastmath=True)
def solve_contexts(F, weights, base, directions, scales, b, tolerance, most):
    """Return x with (base + Σ w f fᵀ) x = b, and the steps that it took, ``most`` if it was not found.

    The steps end when the residual is less than ``tolerance`` of what it was, measured by the preconditioner
    ``directions · scales · directionsᵀ``.
    """
    x, r = np.zeros_like(b), b.copy()
    z = np.dot(directions, scales * np.dot(r, directions))
    p, size = z.copy(), np.dot(r, z)
    goal = size * tolerance * tolerance
    for step in range(most):
        if not size > goal:
            return x, step
        image = np.dot(base, p)
        add_seen(F, weights, p, image)
        length = size / np.dot(p, image)
        x += length * p
        r -= length * image
        z = np.dot(directions, scales * np.dot(r, directions))
        before, size = size, np.dot(r, z)
        p = z + (size / before) * p
    return x, most


@kernel(fastmath=True)
def add_seen(F, weights, p, image):
    """Add Σ w f fᵀ p to ``image``, reading each f once."""
    m, k = F.shape
    for j in range(m):
        f = F[j]
        product = np.float32(0)
        for i in range(k):
            product += f[i] * p[i]
        product *= weights[j]
        for i in range(k):
            image[i] += product * f[i]
