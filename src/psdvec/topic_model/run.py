"""From vectors and documents to topics, in one call; interrupted, the same call goes on after the last round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import numpy as np

from psdvec.arrays import Float64s, Int64s
from psdvec.errors import InputError, checked, demand_positive, demand_seed
from psdvec.formats import load
from psdvec.options import ENCODING
from psdvec.progress import LogProgress, Progress, SilentProgress, count_of
from psdvec.resources import limit_blas, resolve_workers
from psdvec.storage.workspace import check_resumable, digest_of, open_workspace
from psdvec.topic_model.documents import Documents, Source, as_written, read_documents, word_weights
from psdvec.topic_model.folder import KIND, write_topics
from psdvec.topic_model.learn import (
    HOLD,
    PRIOR,
    Space,
    State,
    cluster,
    document_vectors,
    infer_documents,
    learn,
    seeded_centres,
    solve_topics,
    words_of,
)
from psdvec.topic_model.page import coherence
from psdvec.topic_model.values import Topics, proportions_of, sizes_of, top_ids, unit_rows
from psdvec.vectors.embeddings import Embeddings

# How many topics: as many as give held-out documents the highest likelihood.

_NUMBERS = (2, 5, 10, 15, 20, 30, 40, 50, 75, 100)
_EVERY = 10
_MOST = 4000  # documents that take part


def choose_number(
    documents: Documents, space: Space, *, seed: int, workers: int | None, progress: Progress
) -> int:
    """Return the number of topics that suits ``documents``."""
    places = np.unique(np.linspace(0, len(documents) - 1, min(len(documents), _MOST)).astype(np.int64))
    held = places[:: max(min(_EVERY, len(places) // 2), 1)]
    others = np.setdiff1d(places, held)
    if len(others) < 2:
        return 1
    learned, asked = documents.take(others), documents.take(held)
    known, rest = _halves(asked)
    units = document_vectors(learned, space)
    found: dict[int, Float64s] = {}
    numbers = [number for number in _NUMBERS if number <= max(len(others) // 5, 1)] or [1]
    with progress.stage("choosing the number of topics", total=len(numbers), unit="trials") as stage:
        for number in numbers:
            owners = cluster(units, number, seed=seed)
            begin = words_of(learned, owners, topics=number, words=len(space.words))
            state = learn(learned, space, begin=begin, workers=workers, progress=SilentProgress())
            found[number] = _heldout_likelihood(known, rest, space, state.tilts, workers)
            stage.note(f"{number} topics: {found[number].mean():.4f} nats a word")
            stage.advance(1)
    return smallest_within_error(found)


def smallest_within_error(found: dict[int, Float64s]) -> int:
    """Return the smallest number whose mean is within one standard error of the best mean.

    >>> smallest_within_error({5: np.array([-2.0, -2.0]), 10: np.array([-1.0, -1.2]), 20: np.array([-1.0, -1.1])})
    10
    """
    best = max(found, key=lambda number: (float(found[number].mean()), -number))
    error = float(found[best].std(ddof=1) / np.sqrt(len(found[best]))) if len(found[best]) > 1 else 0.0
    return min(number for number in found if found[number].mean() >= found[best].mean() - error)


def _halves(documents: Documents) -> tuple[Documents, Documents]:
    """Return every other word of each document, and the rest."""
    owners = np.repeat(np.arange(len(documents)), np.diff(documents.starts))
    odd = (np.arange(len(documents.tokens)) - documents.starts[owners]) % 2 == 1

    def part(chosen: np.ndarray) -> Documents:
        starts = np.concatenate([[0], np.cumsum(np.bincount(owners[chosen], minlength=len(documents)))])
        return Documents(documents.names, documents.tokens[chosen], starts, {}, documents.weights)

    return part(~odd), part(odd)


def _heldout_likelihood(
    known: Documents, rest: Documents, space: Space, tilts: Float64s, workers: int | None
) -> Float64s:
    """Return the mean log-likelihood of the words of each document in ``rest``, given those in ``known``."""
    gamma = infer_documents(known, space, tilts, workers=workers)
    theta = gamma / gamma.sum(axis=1, keepdims=True)
    chances = np.column_stack([space.chances(tilts), space.shares])
    starts, words, counts = rest.counted
    owners = np.repeat(np.arange(len(rest)), np.diff(starts))
    logs = np.log((theta[owners] * chances[words]).sum(axis=1))
    totals = np.bincount(owners, weights=counts, minlength=len(rest))
    sums = np.bincount(owners, weights=counts * logs, minlength=len(rest))
    return np.asarray(sums[totals > 0] / totals[totals > 0])


_FEWEST, _THOUSANDTH = 5, 1000  # a word counts if five documents have it, or one in a thousand
_ANCHOR = 0.1  # of an average topic: the words that seed words stand for


@checked
def topics(
    model: Embeddings | str | Path,
    documents: Source,
    topics: int | Literal["auto"] = 50,
    *,
    text: str | None = None,
    by: str | Sequence[str] = (),
    encoding: str = ENCODING,
    seed_words: Mapping[str, Sequence[str]] | None = None,
    min_documents: int | None = None,
    quick: bool = False,
    seed: int = 0,
    workers: int | None = None,
    output: str | Path | None = None,
    overwrite: bool = False,
    quiet: bool = False,
    progress: Progress = LogProgress(),
) -> Topics:
    """Find what documents are about: topics that are vectors among the words of ``model``.

    Parameters
    ----------
    model
        Vectors, or the path of some in any format that psdvec reads; best those of the documents' own text.
    documents
        The name of a file (a line of text, a record of JSON lines or a row of CSV, TSV or Parquet is a document), of a
        folder (each text file is one), a glob, or a list of ``Path`` objects; a list of texts or of lists of words; a
        DataFrame or a list of records.
    topics
        How many, or ``"auto"``: as many as give held-out documents the highest likelihood.
    text, by
        The field that holds the text, ``"text"`` by default, and fields to show topics over, such as ``"year"``.
    encoding
        The encoding of files, by any name that Python knows.
    seed_words
        Words that some topics are to be about, by the name of the topic: ``{"economy": ["bank", "loan"]}``.
    min_documents
        Leave out words that fewer documents have; by default 5, or one in a thousand.
    quick
        Cluster the documents and stop there: each document has one topic.
    seed
        Of the first clusters. The same seed gives the same bytes.
    workers
        Threads; one per core, if None. The result is the same.
    output
        Folder to write the topics to, with tables and a page. If it is interrupted, the same call continues.

    Examples
    --------
    >>> e = Embeddings(("cat", "dog", "loan", "bank"), np.float32([[1, 0.1], [1, 0], [0, 1], [0.1, 1]]))
    >>> found = topics(e, ["cat dog cat", "dog cat", "bank loan", "loan bank loan"], 2, min_documents=1, quiet=True)
    >>> sorted(sorted(words[:2]) for words in found.top_words())
    [['bank', 'loan'], ['cat', 'dog']]
    """
    progress = SilentProgress() if quiet else progress
    number = None if topics == "auto" else topics
    demand_positive(number, "topics")
    demand_positive(min_documents, "min_documents")
    demand_seed(seed)
    resolve_workers(workers)  # refuses a number that makes no sense before any work
    check_resumable(output, kind=KIND, overwrite=overwrite)
    embeddings = model if isinstance(model, Embeddings) else load(model, progress=progress)
    fields = (by,) if isinstance(by, str) else tuple(by)
    read = read_documents(documents, embeddings, text=text, by=fields, encoding=encoding, progress=progress)
    least = min_documents or max(_FEWEST, len(read) // _THOUSANDTH)
    kept, space = space_of(read, embeddings, least)
    _say_what_is_left_out(kept, progress)
    anchors_of = _seeds(space, seed_words or {}, progress)
    with ExitStack() as stack:
        work = None
        if output is not None:
            plan = {
                "documents": digest_of(kept.tokens, kept.starts), "vectors": digest_of(space.vectors, space.words),
                "topics": topics, "seed": seed, "seed words": {k: list(v) for k, v in (seed_words or {}).items()},
                "quick": quick,
            }  # fmt: skip
            work = stack.enter_context(
                open_workspace(Path(output), plan=plan, progress=progress, overwrite=overwrite)
            )
        stack.enter_context(limit_blas(1))
        if number is None:
            best = choose_number(kept, space, seed=seed, workers=workers, progress=progress)
            number = max(best, len(anchors_of))
            progress.say(f"held-out words are foretold best by {count_of(number, 'topic')}")
        _check_number(number, kept, len(anchors_of))
        state = _learned(
            kept, space, number, list(anchors_of.values()),
            seed=seed, quick=quick, workers=workers, work=work, progress=progress,
        )  # fmt: skip
        found = _summed_up(kept, space, state, tuple(anchors_of), embeddings)
        if output is not None:
            write_topics(found, output, overwrite=overwrite)
    return found


def space_of(read: Documents, embeddings: Embeddings, least: int) -> tuple[Documents, Space]:
    """Return the documents in numbers of the words that enough of them have, and the space of these words."""
    if read.tokens.max(initial=-1) < 0:
        raise InputError("no document has a word with a vector; give vectors of the same language")
    ids: Int64s = np.flatnonzero(read.document_frequencies(len(embeddings)) >= least)
    ids = ids[embeddings.lengths[ids] > 0]
    if len(ids) < 2:
        raise InputError(
            f"fewer than two words with a vector are in {count_of(least, 'document')} or more; give vectors of the "
            f"same language, or {'ask for fewer documents: min_documents=N' if least > 1 else 'more documents'}"
        )
    numbers = np.full(len(embeddings), -1, np.int32)
    numbers[ids] = np.arange(len(ids))
    kept = read.renumbered(numbers)
    weights = word_weights(kept, words=len(ids))
    kept = kept.weighed(weights)
    _, words, counts = kept.counted
    shares = np.bincount(words, weights=counts, minlength=len(ids))
    chosen = tuple(embeddings.words[i] for i in ids)
    return kept, Space(chosen, unit_rows(embeddings, ids.tolist()), shares / shares.sum(), weights, len(ids))


def _say_what_is_left_out(kept: Documents, progress: Progress) -> None:
    empty = int((kept.lengths == 0).sum())
    if empty:
        progress.say(
            f"without a known word, and so without a topic: {empty:,} of {count_of(len(kept), 'document')}"
        )


def _check_number(number: int, documents: Documents, seeded: int) -> None:
    told = int((documents.lengths > 0).sum())
    if number > told:
        have = "document has" if told == 1 else "documents have"
        raise InputError(
            f"{number} topics were asked for, but only {told} {have} a known word; ask for fewer: topics=N"
        )
    if number < seeded:
        raise InputError(
            f"seed words are given for more topics than were asked for, {seeded} instead of {number}; ask for more: "
            "topics=N"
        )


def _seeds(space: Space, seed_words: Mapping[str, Sequence[str]], progress: Progress) -> dict[str, Float64s]:
    """Return, by the names of seeded topics, how much each word of the space stands for them, (n,)."""
    places = {word: i for i, word in enumerate(space.words)}
    found = {}
    for name, words in seed_words.items():
        known = [places[word] for word in words if word in places]
        unknown = [word for word in words if word not in places]
        if not known:
            are = "are" if len(words) > 1 else "is"
            raise InputError(
                f"none of the seed words of '{name}' ({', '.join(words)}) {are} in enough documents with a vector; "
                "give others"
            )
        if unknown:
            progress.say(f"seed words of '{name}' that too few documents have: {', '.join(unknown)}")
        found[as_written(name)] = np.bincount(known, minlength=len(space.words)) / len(known)
    return found


def _learned(
    documents: Documents,
    space: Space,
    number: int,
    seeds: list[Float64s],
    *,
    seed: int,
    quick: bool,
    workers: int | None,
    work: Path | None,
    progress: Progress,
) -> State:
    units = document_vectors(documents, space)
    given = None
    anchors = None
    if seeds:
        given = seeded_centres(documents, units, space, np.array(seeds), clusters=number)
        weight = _ANCHOR * float(documents.lengths.sum()) / number
        anchors = np.zeros((len(space.words), number))
        anchors[:, : len(seeds)] = weight * np.array(seeds).T
    owners = cluster(units, number, seed=seed, given=given)
    begin = words_of(documents, owners, topics=number, words=len(space.words))
    if quick:
        tilts = solve_topics(space, begin, np.zeros((number, space.centred.shape[1])), hold=HOLD, times=3)
        gamma = np.tile(PRIOR.over(number), (len(documents), 1))
        gamma[np.arange(len(documents)), owners] += documents.lengths
        return State(tilts, gamma, begin, ())
    return learn(
        documents, space, begin=begin, anchors=anchors, workers=workers, work=work, progress=progress
    )


def _summed_up(
    documents: Documents,
    space: Space,
    state: State,
    seeded: tuple[str, ...],
    embeddings: Embeddings,
) -> Topics:
    """Return the topics with their names, the seeded ones first, the others by their size."""
    shares = proportions_of(documents, state.gamma, PRIOR)
    sizes = sizes_of(shares, documents.lengths)
    others = np.argsort(-sizes[len(seeded) :], kind="stable") + len(seeded)
    order = np.concatenate([np.arange(len(seeded)), others]).astype(np.int64)
    tilts, expected = state.tilts[order], state.expected[:, order]
    chosen = top_ids(space, space.log_chances(tilts), topn=10)
    own = tuple(", ".join(space.words[i] for i in ids[:3]) for ids in chosen)
    origin: dict[str, Any] = dict(getattr(embeddings, "origin", {"vectors": "in memory"}))
    return Topics(
        space=space,
        tilts=tilts,
        expected=expected,
        labels=(*seeded, *own[len(seeded) :]),
        names=documents.names,
        lengths=documents.lengths,
        fields=documents.fields,
        proportions=shares[:, order],
        coherence=coherence(documents, chosen, words=len(space.words)),
        bounds=state.bounds,
        tokenizer=embeddings.tokenizer,
        sources=(origin,),
    )
