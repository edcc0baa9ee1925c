"""A slice that is counts: its pairs are dealt to blocks one by one, for no count knows of which document it is.

Words come in bursts, so that pairs of one document are alike, and tests that deal pairs reject too often. Counts are
for those who no longer have the text, and whoever uses them is told so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from psdvec.arrays import Float32s, Float64s, Int64s
from psdvec.counts.matrix import KIND, UNIT, Cooccurrence, load_counts, weights_of
from psdvec.errors import InputError
from psdvec.storage.artefact import META, parse_json
from psdvec.topic_model.documents import Files
from psdvec.vectors.embeddings import Embeddings

COUNTED_ALIKE = ("window", "weighting", "gaps")


@dataclass(frozen=True, eq=False)
class CountedSlice:
    """How often the words of a model met in a slice: ``matrix`` (n, n), both directions added up.

    ``occurrences`` (n,). ``unit``: what one meeting counts.
    """

    matrix: Any
    occurrences: Int64s
    unit: float

    @property
    def arrays(self) -> tuple[Any, ...]:
        """All that tells it from another."""
        return self.occurrences, self.matrix.indptr, self.matrix.indices, self.matrix.data

    @classmethod
    def of(cls, counts: Cooccurrence, embeddings: Embeddings) -> CountedSlice:
        """Take from ``counts`` what the words of ``embeddings`` count there."""
        n, own = len(embeddings), counts.vocabulary.words
        ids = np.array([embeddings.key_to_index.get(word, -1) for word in own], np.int64)
        rows = np.repeat(ids, np.diff(counts.indptr))
        columns, values = ids[counts.indices], counts.values / UNIT
        known = (rows >= 0) & (columns >= 0)
        one_way = sparse.csr_matrix((values[known], (rows[known], columns[known])), shape=(n, n))
        occurrences = np.zeros(n, np.int64)
        occurrences[ids[ids >= 0]] = counts.vocabulary.counts[ids >= 0]
        weights = weights_of(counts.parameters) / UNIT
        return cls((one_way + one_way.T).tocsr(), occurrences, float(weights @ weights / weights.sum()))

    def sums(self, words: Int64s, features: Float32s, *, blocks: int, seed: int) -> Float64s:
        """Return what is around these words in each block, (blocks, words, d + 1); a word's draws are its own."""
        found: Float64s = np.zeros((blocks, len(words), features.shape[1]))
        even = np.full(blocks, 1 / blocks)
        for place, word in enumerate(words.tolist()):
            cells = slice(self.matrix.indptr[word], self.matrix.indptr[word + 1])
            values, contexts = self.matrix.data[cells], self.matrix.indices[cells]
            meetings = np.maximum(np.rint(values / self.unit), 1).astype(np.int64)
            dealt = np.random.default_rng([seed, word]).multinomial(meetings, even)
            found[:, place] = (dealt * (values / meetings)[:, None]).T @ features[contexts]
        return found


def as_counts(source: Any) -> Cooccurrence | None:
    """Return the counts that a slice is, or None if it is something else."""
    if isinstance(source, Cooccurrence):
        return source
    names = source.names if isinstance(source, Files) else (source,)
    if len(names) != 1 or not isinstance(names[0], str | Path) or not (Path(names[0]) / META).is_file():
        return None
    meta = parse_json((Path(names[0]) / META).read_text(encoding="utf-8"))
    return load_counts(names[0]) if isinstance(meta, dict) and meta.get("kind") == KIND else None


def check_alike(counts: Mapping[str, Cooccurrence]) -> dict[str, Any]:
    """Return how all of these were counted, or say which two were not counted alike."""
    (first, one), *others = counts.items()
    made = {name: one.parameters.get(name) for name in COUNTED_ALIKE}
    for name, other in others:
        for parameter, value in made.items():
            if other.parameters.get(parameter) != value:
                raise InputError(
                    f"the counts of '{first}' have {parameter}={value} and those of '{name}' "
                    f"{other.parameters.get(parameter)}, so that every word would differ; count both alike"
                )
    return made
