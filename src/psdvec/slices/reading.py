"""Documents by slice: from a field of theirs, or a source for each slice; dates are put into years, decades or months.

:func:`read_slices` returns :class:`Sliced`, and says whatever cannot be compared in one sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from psdvec.arrays import Float32s, Float64s, Int64s
from psdvec.counts.count import count_pairs
from psdvec.counts.matrix import KIND, UNIT, Cooccurrence, load_counts, weights_of
from psdvec.counts.merge import merge_counts
from psdvec.errors import InputError
from psdvec.progress import Progress, count_of
from psdvec.solver.fit import fit
from psdvec.solver.train import train
from psdvec.storage.artefact import META, parse_json
from psdvec.topic_model.documents import (
    Documents,
    Files,
    Source,
    all_texts,
    bin_dates,
    read_documents,
    texts_at,
)
from psdvec.topic_model.page import order_of
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.model import Model

FEWEST_DOCUMENTS = 16  # of a slice
MOST_SLICES = 24
ALL = "documents"  # the name of all of them as one slice
_AT_ONCE = 1000  # documents that are counted together
DIM = 100  # of vectors that are learned on the way
COUNTED_ALIKE = ("window", "weighting", "gaps")


@dataclass(frozen=True, eq=False)
class Sliced:
    """Documents, the slice of each (-1 for none), and the unit that it is dealt with: itself, or one with others.

    ``texts`` reads some documents again, as they are written. ``counted``: the slices that are counts, by number.
    """

    documents: Documents
    names: tuple[str, ...]
    owners: Int64s
    units: Int64s
    texts: Callable[[Int64s], list[Any]] = lambda places: []
    counted: Mapping[int, CountedSlice] = field(default_factory=dict)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many documents each slice has; 0 where it is counts."""
        return tuple(np.bincount(self.owners[self.owners >= 0], minlength=len(self.names)).tolist())

    def occurrences(self, words: int) -> Int64s:
        """Return how often each word occurs in each slice, (words, slices)."""
        found: Int64s = np.zeros((words, len(self.names)), np.int64)
        tokens, starts = self.documents.tokens, self.documents.starts
        for begin in range(0, len(self.documents), _AT_ONCE):
            own = np.arange(begin, min(begin + _AT_ONCE, len(self.documents)))
            part = tokens[starts[own[0]] : starts[own[-1] + 1]]
            owners = np.repeat(self.owners[own], np.diff(starts[own[0] : own[-1] + 2]))
            for number in range(len(self.names)):
                found[:, number] += np.bincount(part[(owners == number) & (part >= 0)], minlength=words)
        for number, counted in self.counted.items():
            found[:, number] = counted.occurrences
        return found


def read_slices(
    embeddings: Embeddings,
    documents: Source | None,
    *,
    by: str | None,
    slices: Mapping[str, Any] | None,
    unit: str | None = None,
    window: int | None = None,
    column: str | None,
    where: Mapping[str, Any] | None,
    encoding: str,
    tokenizer: str | Callable[[str], Any] | None,
    alone: bool = False,
    progress: Progress,
) -> Sliced:
    """Read the documents of two or more slices: ``documents`` with the field ``by``, or ``slices`` by their names.

    With ``alone``, documents without ``by`` are one slice.
    """
    check_given(documents, by, slices, alone=alone)
    fields = [unit] if unit is not None else []
    how: dict[str, Any] = {"column": column, "where": where, "encoding": encoding}
    read_one: Callable[..., Documents] = partial(
        read_documents, embeddings=embeddings, tokenizer=tokenizer, progress=progress, **how
    )
    if slices is not None:
        counted = _counted(slices, embeddings, tokenizer=tokenizer, progress=progress, **how)
        if counted:
            for name, value in (("unit", unit), ("window", window)):
                if value is not None:
                    raise InputError(
                        f"{name}={value!r} was given, but counts have no documents; leave it out"
                    )
            return counted
        read, owners = _joined([read_one(source, by=fields) for source in slices.values()])
        names, sources = tuple(slices), list(slices.values())
    else:
        sources = [documents]
        read = read_one(documents, by=fields if by is None else [by, *fields])
        names, owners = (ALL,), np.zeros(len(read), np.int64)
        if by is not None:
            names, owners = _slices_of(read.fields[by], by, progress)
    found = Sliced(read, names, owners, _units(read, unit, owners), partial(texts_at, sources, **how))
    for name, size in zip(names, found.sizes, strict=True):
        if size < FEWEST_DOCUMENTS:
            raise InputError(
                f"the slice '{name}' has {count_of(size, 'document')}, and a test takes "
                f"{FEWEST_DOCUMENTS} or more in each; join it with another slice, or leave it out"
            )
    for number, name in enumerate(names):
        if len(np.unique(found.units[owners == number])) < 2:
            raise InputError(
                f"all documents of the slice '{name}' have one value of '{unit}', so that nothing tells how sure a "
                "number is; name another unit, or none"
            )
    return found


def check_given(
    documents: Any, by: str | None, slices: Mapping[str, Any] | None, *, alone: bool = False
) -> None:
    """Refuse what does not say which document is of which slice."""
    if slices is not None:
        if documents is not None or by is not None:
            raise InputError(
                "slices are given, and documents as well; give either slices, or documents and by"
            )
        if len(slices) < 2:
            raise InputError(f"there is only {count_of(len(slices), 'slice')}; give two or more to compare")
    elif documents is None or (by is None and not alone):
        raise InputError("nothing says which document is of which slice; give documents and by, or slices")


def train_on(
    documents: Source | None,
    slices: Mapping[str, Any] | None,
    *,
    tokenizer: str | Callable[[str], Any] | None,
    workers: int | None,
    memory: int | None,
    progress: Progress,
    **how: Any,
) -> Model:
    """Learn vectors from the documents, or the counts, of all slices."""
    sources = [documents] if slices is None else list(slices.values())
    counts = [one for one in map(as_counts, sources) if one is not None]
    if counts and len(counts) == len(sources):
        merged = merge_counts(counts, workers=workers)
        return fit(merged, dim=DIM, workers=workers, memory=memory, progress=progress)
    if counts:
        raise InputError(
            "some slices are counts and some are texts; give a model, or all of them as one or the other"
        )
    corpus, options = corpus_of(sources, **how)
    return train(
        corpus, dim=DIM, tokenizer=tokenizer, workers=workers, memory=memory, progress=progress, **options
    )


def corpus_of(sources: Sequence[Any], **how: Any) -> tuple[Any, dict[str, Any]]:
    """Return documents as counting takes them, with how to read them: names of files, or texts."""
    files = [source for source in sources if isinstance(source, Files)]
    if len(files) == len(sources):
        return [Path(name) for source in files for name in source.names], how
    return list(all_texts([source for source in sources if source is not None], **how)), {}


def _counted(
    slices: Mapping[str, Any],
    embeddings: Embeddings,
    *,
    tokenizer: str | Callable[[str], Any] | None,
    progress: Progress,
    **how: Any,
) -> Sliced | None:
    """Return slices that are counts, or None if none is; where one is, texts are counted as it was."""
    given = {name: as_counts(source) for name, source in slices.items()}
    counts = {name: one for name, one in given.items() if one is not None}
    if not counts:
        return None
    made = check_alike(counts)
    progress.say(
        "counts know of no documents, so that single pairs of words are dealt to slices by chance, and p and the "
        "intervals are too good wherever a text repeats itself; give texts to mend that"
    )
    for name, source in slices.items():
        if name not in counts:
            corpus, options = corpus_of([source], **how)
            counts[name] = count_pairs(
                corpus,
                vocabulary=list(embeddings.index_to_key),
                tokenizer=tokenizer,
                **made,
                progress=progress,
                **options,
            )
    empty = Documents((), np.zeros(0, np.int32), np.zeros(1, np.int64), {})
    none = np.zeros(0, np.int64)
    found = {number: CountedSlice.of(counts[name], embeddings) for number, name in enumerate(slices)}
    return Sliced(empty, tuple(slices), none, none, counted=found)


def _units(read: Documents, name: str | None, owners: Int64s) -> Int64s:
    """Return the number of the unit of each document; a unit lies in one slice."""
    if name is None:
        return np.arange(len(read))
    values = [
        (owner, number if value is None else value)
        for number, (owner, value) in enumerate(zip(owners.tolist(), read.fields[name], strict=True))
    ]
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values])


def _joined(parts: Sequence[Documents]) -> tuple[Documents, Int64s]:
    """Join the documents of several slices; return them, and the slice of each."""
    owners = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    starts = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part.starts) for part in parts]))])
    joined = Documents(
        tuple(name for part in parts for name in part.names),
        np.concatenate([part.tokens for part in parts]),
        starts.astype(np.int64),
        {field: tuple(value for part in parts for value in part.fields[field]) for field in parts[0].fields},
    )
    return joined, owners


def _slices_of(
    values: Sequence[str | None], field: str, progress: Progress
) -> tuple[tuple[str, ...], Int64s]:
    """Return the names of the slices in their order, and the slice of each document, -1 where it has none."""
    known = {value for value in values if value is not None}
    binned = {value: value for value in known}
    if len(known) > MOST_SLICES:
        way, binned = bin_dates(known, most=MOST_SLICES)
        if not way:
            raise InputError(
                f"the field '{field}' has {len(known):,} values, which are too many slices (at most {MOST_SLICES}) and "
                "no dates; name a field with fewer"
            )
        progress.say(f"'{field}' holds {len(known):,} dates; slices are by {way}")
    names = sorted(set(binned.values()), key=order_of)
    if len(names) < 2:
        raise InputError(
            f"the field '{field}' has only one value, '{names[0]}'; two or more are needed to compare"
        )
    sizes = Counter(None if value is None else binned[value] for value in values)
    if sizes[None]:
        progress.say(f"documents without '{field}', left out: {sizes[None]:,}")
    small = [name for name in names if sizes[name] < FEWEST_DOCUMENTS]
    if small:
        listed = ", ".join(f"{name} ({sizes[name]})" for name in small)
        progress.say(f"slices of fewer than {FEWEST_DOCUMENTS} documents, left out: {listed}")
    places = {name: place for place, name in enumerate(name for name in names if name not in small)}
    if len(places) < 2:
        raise InputError(
            f"fewer than two values of '{field}' have {FEWEST_DOCUMENTS} documents or more, which a test takes; give "
            "more documents, or a field with fewer values"
        )
    owners = np.array([-1 if value is None else places.get(binned[value], -1) for value in values])
    return tuple(places), owners


# Slices that are counts. Their pairs are dealt to blocks one by one, for no count knows of which document it is. Words
# come in bursts, so that pairs of one document are alike, and tests that deal pairs reject too often: counts are for
# those who no longer have the text, and whoever uses them is told so.


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
