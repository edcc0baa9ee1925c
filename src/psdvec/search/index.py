"""An index of documents as one value: built, added to and searched.

:meth:`DocumentIndex.build` reads documents, trains a model of their own text or adds their words to a given one, and
writes a folder of kind ``index``: segments (:mod:`psdvec.search.segments`), the model in the folder ``model``, and what
makes vectors of documents. If it is killed, nothing half written is left, and the same call uses the model that was
trained before. :meth:`DocumentIndex.add` writes a new folder beside the old one, in which the files of old segments are
the same files, and puts it in its place.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, overload

import numpy as np

from psdvec.arrays import Bools, Float32s, Int64s
from psdvec.counts.count import count_pairs
from psdvec.counts.matrix import load_counts
from psdvec.errors import InputError, StoreError, checked, demand_positive
from psdvec.formats import load as load_vectors
from psdvec.options import ENCODING, TOKENIZER
from psdvec.progress import LogProgress, Progress, Shown, SilentProgress, count_of
from psdvec.resources import limit_blas, resolve_workers
from psdvec.search import rank
from psdvec.search.rank import Documents, Hit, best_first, quoted_in
from psdvec.search.segments import (
    TEXTS,
    Gathered,
    Placing,
    composed,
    document_vectors,
    gather,
    read_segment,
    say_empty,
    write_segment,
)
from psdvec.solver.extend import extend
from psdvec.solver.fit import fit
from psdvec.storage.artefact import (
    MODEL,
    Artefact,
    ArtefactWriter,
    create_artefact,
    digest_file,
    open_artefact,
)
from psdvec.storage.workspace import check_resumable, open_workspace, piece_folder
from psdvec.text.readers import Choice, Reader, find_encoding, make_where
from psdvec.topic_model.documents import Source
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.model import Model, read_model, write_model
from psdvec.vectors.neighbours import csr_of

KIND, VERSION = "index", 1
_TINY = np.finfo(np.float32).tiny
DIM, WORDS = 100, 50_000  # of the model that is trained where none is given: dimensions, and words at most


@dataclass(frozen=True, eq=False, repr=False)
class DocumentIndex(Shown):
    """Documents that can be searched; see :meth:`build`, or open a folder by ``psdvec.load("index/")``.

    Examples
    --------
    >>> index = DocumentIndex.build(["A cat sat on a mat.", "Dogs bark at cats.", "Stocks fell."], quiet=True)
    >>> index
    DocumentIndex(3 documents, words 11, segments 1)
    >>> hit = index.search("a cat on a mat")[0]
    >>> hit.id, hit.snippet
    ('0', '**A** **cat** sat **on** **a** **mat**.')
    """

    path: Path
    collection: Documents
    left_out: tuple[str, ...] = ()
    _keeper: Any = field(default=None)  # of a folder that lives as long as the index

    def __len__(self) -> int:
        return len(self.collection)

    @property
    def model(self) -> Embeddings:
        """The vectors of words that widen the search."""
        return self.collection.model

    def _facts(self) -> dict[str, str]:
        return {
            "size": count_of(len(self), "document"),
            "words": f"{len(self.model):,}",
            "segments": f"{len(self.collection.segments):,}",
        }

    @classmethod
    @checked
    def build(
        cls,
        documents: Source,
        *,
        model: str | Path | Embeddings | None = None,
        output: str | Path | None = None,
        column: str | None = None,
        id: str = "id",
        where: Mapping[str, Any] | None = None,
        keep: Sequence[str] = (),
        encoding: str = ENCODING,
        skip_known: bool = False,
        memory: float | str | None = None,
        workers: int | None = None,
        overwrite: bool = False,
        quiet: bool = False,
        progress: Progress = LogProgress(),
    ) -> DocumentIndex:
        """Make an index of documents.

        Parameters
        ----------
        documents
            The name of a file or folder, texts, records with ``id`` and ``text``, or a table; as :func:`psdvec.topics`
            takes them. A line of a text file is a document, and so is each text file of a folder.
        model
            Vectors to widen the search by; the words of the documents that a model lacks are added to it. If None, a
            model of the documents' own text is trained, which mostly finds more.
        output
            Folder to write the index to; if None, it lives as long as the value.
        column, id
            The fields with the text and with the id of each document; of plain text, lines are numbered.
        where
            Which records to read, by field.
        keep
            Fields to keep, to filter by and to show.
        encoding
            Encoding of files.
        skip_known
            Leave out a document whose id is there already; otherwise it is an error.
        memory
            The most memory that training may use, such as ``"4G"``; by default what is free.
        workers
            Threads; the index has the same bytes for any number.
        overwrite
            Replace an index that is there.
        quiet
            Show no progress.
        """
        progress = SilentProgress() if quiet else progress
        given = load_vectors(model) if isinstance(model, str | Path) else model
        if given is not None and (
            csr_of(given.vectors) is not None or not all(isinstance(w, str) for w in given.words[:1])
        ):
            raise InputError("an index takes dense vectors of words; give a model, or none")
        keeper = _Temporary() if output is None else None
        path = keeper.path / KIND if keeper is not None else Path(output or "")
        check_resumable(path, kind=KIND, overwrite=overwrite)
        reading = _Reading(documents, column, id, where, tuple(keep), encoding, skip_known)
        sources = [] if given is None else [dict(getattr(given, "provenance", {"vectors": "in memory"}))]
        plan = {"index": VERSION, "model": sources}
        with (
            open_workspace(path, plan=plan, progress=progress, overwrite=overwrite) as work,
            limit_blas(1),  # so that the last bits are the same for any number of threads
        ):
            first = given or Embeddings((), np.zeros((0, 1), np.float32), tokenizer=TOKENIZER)
            gathered = reading.gather(work, first, (), progress)
            learned = _learn(gathered, given, work, memory=memory, workers=workers, progress=progress)
            having = _having(gathered, learned)
            weights = _weights(having, len(gathered.ids))
            direction, vectors = document_vectors(gathered, Placing(*_rows(gathered, learned, weights), None))
            parameters = {
                "documents": len(gathered.ids),
                "segments": 1,
                "dim": learned.dim,
                "keep": list(keep),
            }
            with create_artefact(
                path,
                kind=KIND,
                version=VERSION,
                parameters=parameters,
                sources=sources,
                overwrite=overwrite,
            ) as writer:
                write_segment(writer, 0, gathered, vectors)
                _write_rest(writer, learned, weights, having, direction)
        return read_index(path, left_out=gathered.empty, keeper=keeper)

    @checked
    def add(
        self,
        documents: Source,
        *,
        column: str | None = None,
        id: str = "id",
        where: Mapping[str, Any] | None = None,
        encoding: str = ENCODING,
        skip_known: bool = False,
        memory: float | str | None = None,
        workers: int | None = None,
        quiet: bool = False,
        progress: Progress = LogProgress(),
    ) -> DocumentIndex:
        """Add documents, and return the larger index; the files of the old documents stay as they are.

        The parameters are those of :meth:`build`; fields that were kept are kept of these documents, too, if they have
        them. Words that
        the index' model lacks are added to it, and no old word moves. Statistics of BM25 are those of all documents.

        Examples
        --------
        >>> index = DocumentIndex.build(["A cat sat on a mat.", "Dogs bark at cats."], quiet=True)
        >>> larger = index.add([{"id": "news", "text": "Stocks fell."}], quiet=True)
        >>> len(index), len(larger), larger.search("stocks")[0].id
        (2, 3, 'news')
        """
        progress = SilentProgress() if quiet else progress
        plan = {"index": VERSION, "add": True}
        with open_workspace(self.path, plan=plan, progress=progress) as work, limit_blas(1):
            artefact = open_artefact(self.path, kind=KIND, version=VERSION)  # as it is now that it is ours
            old = read_index(artefact)
            reading = _Reading(
                documents, column, id, where, tuple(artefact.parameters["keep"]), encoding, skip_known
            )
            known = {name for segment in old.collection.segments for name in segment.ids.unpack()}
            gathered = reading.gather(work, old.model, known, progress)
            if not gathered.ids:  # all of them are in the index already
                return read_index(artefact, left_out=gathered.empty, keeper=self._keeper)
            learned = _learn(gathered, old.model, work, memory=memory, workers=workers, progress=progress)
            having, many = _having(gathered, learned), len(old.model)
            # idf of new words is that among the documents at hand, so that no vector of an old document changes
            weights = np.concatenate([old.collection.weights, _weights(having[many:], len(gathered.ids))])
            having[:many] += old.collection.having
            placing = Placing(*_rows(gathered, learned, weights), old.collection.direction)
            direction, vectors = document_vectors(gathered, placing)
            number = len(old.collection.segments)
            parameters = dict(artefact.parameters)
            parameters |= {"documents": len(known) + len(gathered.ids), "segments": number + 1}
            with create_artefact(
                self.path, kind=KIND, version=VERSION, parameters=parameters, sources=list(map(dict, artefact.sources)),
                overwrite=True,
            ) as writer:  # fmt: skip
                _link_segments(artefact, writer)
                write_segment(writer, number, gathered, vectors)
                _write_rest(writer, learned, weights, having, direction)
        return read_index(self.path, left_out=gathered.empty, keeper=self._keeper)

    @overload
    def search(
        self,
        question: str,
        *,
        topn: int = ...,
        where: Mapping[str, Any] | None = ...,
        exact: bool = ...,
        why: bool = ...,
        workers: int | None = ...,
    ) -> list[Hit]: ...
    @overload
    def search(
        self,
        question: list[str] | tuple[str, ...],
        *,
        topn: int = ...,
        where: Mapping[str, Any] | None = ...,
        exact: bool = ...,
        why: bool = ...,
        workers: int | None = ...,
    ) -> list[list[Hit]]: ...
    @checked
    def search(
        self,
        question: str | Sequence[str],
        *,
        topn: int = 10,
        where: Mapping[str, Any] | None = None,
        exact: bool = False,
        why: bool = True,
        workers: int | None = None,
    ) -> list[Hit] | list[list[Hit]]:
        """Return the documents that answer a question best, the best first, each with why.

        Parameters
        ----------
        question
            Words in any order. What stands in double quotes must stand so in the document. Of a list of questions, the
            answers are a list for each; one whose words nothing is like has no answers, where a single one is refused.
        topn
            How many documents.
        where
            Only documents with these values in fields that were kept, such as ``{"party": ["A", "B"]}``.
        exact
            Only the words as they are: BM25 without near words, spelling and vectors.
        why
            Whether to say why, and to show a part of the text; without, many questions are answered sooner.
        workers
            Threads for a list of questions; the answers are the same for any number.

        Examples
        --------
        >>> index = DocumentIndex.build(["A cat sat on a mat.", "Dogs bark at cats."], quiet=True)
        >>> [[hit.id for hit in hits] for hits in index.search(["a mat", "dogs"], exact=True, why=False)]
        [['0'], ['1']]
        """
        demand_positive(topn, "topn")
        choice = make_where(where)
        chosen = self.collection.chosen(choice) if choice else None
        ask = partial(self._answer, topn=topn, chosen=chosen, exact=exact, why=why)
        if isinstance(question, str):
            hits = ask(question)
            if hits is None:
                if not self.model.tokenize(question):
                    raise InputError(f"the question {question!r:.60} has no words; ask with some")
                raise InputError(
                    f"no document has a word of the question {question!r:.60}, nor one like them; ask with other words"
                )
            return hits
        with ThreadPoolExecutor(resolve_workers(workers)) as pool:
            return [hits or [] for hits in pool.map(ask, question)]

    def _answer(
        self, question: str, *, topn: int, chosen: Bools | None, exact: bool, why: bool
    ) -> list[Hit] | None:
        """Return the best documents; None if no document has a word of the question, nor one like them."""
        found, question = self.collection, composed(question)
        phrases = [self.model.tokenize(one) for one in quoted_in(question)]
        words = self.model.tokenize(question)
        terms = found.terms(words, exact=exact)
        if not terms:
            return None
        spans = found.spans_of(terms)
        scores = found.bm25(terms, spans)
        if not exact:
            found.add_meaning(words, scores, topn=None if phrases else topn, chosen=chosen)
        if phrases:  # a document that has them is found, however little its vector has of the question's
            scores = np.where(found.have_all(phrases), np.maximum(scores, _TINY), 0)
        if chosen is not None:
            scores[~chosen] = 0
        places = (one for one in best_first(scores, topn) if not phrases or found.has_phrases(one, phrases))
        best = [(one, float(scores[one])) for one in islice(places, topn)]
        if not why:
            return [found.hit(one, score) for one, score in best]
        quoted = {word for phrase in phrases for word in phrase}
        return [found.explain(one, terms, spans, score, quoted=quoted) for one, score in best]


class _Temporary:
    """A folder that is removed with the last value that holds this, by the process that made it, not by its forks."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="psdvec-"))
        weakref.finalize(self, _remove, self.path, os.getpid())


def _remove(path: Path, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(path, ignore_errors=True)


@dataclass(frozen=True)
class _Reading:
    """Which documents to read, and how."""

    documents: Source
    column: str | None
    id: str
    where: Mapping[str, Any] | None
    keep: tuple[str, ...]
    encoding: str
    skip_known: bool

    def gather(self, work: Path, model: Embeddings, known: Collection[str], progress: Progress) -> Gathered:
        reader = Reader(self.column, Choice(make_where(self.where)), encoding=find_encoding(self.encoding))
        with piece_folder(work / "documents") as folder:
            found = gather(
                self.documents, reader, folder, tokenize=model.tokenize, name=self.id, keep=self.keep, known=known,
                skip_known=self.skip_known, progress=progress,
            )  # fmt: skip
        say_empty(found.empty, progress)
        if found.skipped:
            progress.say(f"{count_of(found.skipped, 'document')} left out, as there are some of these ids")
        return replace(found, folder=work / "documents")


def _learn(
    gathered: Gathered,
    model: Embeddings | None,
    work: Path,
    *,
    memory: float | str | None,
    workers: int | None,
    progress: Progress,
) -> Embeddings:
    """Return a model of the documents' own text or, of a given one, the model with the words of the documents.

    It and its counts are kept in the workspace under the digest of the text, for a later attempt.
    """
    text = gathered.folder / TEXTS
    if model is not None and not (
        isinstance(model, Model) and set(gathered.words) - model.key_to_index.keys()
    ):
        return model
    digest = digest_file(text)[:16]
    place, counted = work / f"model-{digest}", work / f"counts-{digest}"
    if place.exists():
        return read_model(place)
    common: dict[str, Any] = {"workers": workers, "progress": progress}
    tokenizer = TOKENIZER if model is None else model.tokenizer
    how = model.counting if isinstance(model, Model) else {}
    same = {name: how[name] for name in ("window", "weighting", "gaps") if name in how}
    phrases = None if model is None else model.phrases
    if not counted.exists():
        count_pairs(
            text, tokenizer=tokenizer, min_count=1, max_words=WORDS, phrases=phrases, memory=memory, output=counted,
            **same, **common,
        )  # fmt: skip
    counts = load_counts(counted)
    if isinstance(model, Model):
        try:
            larger = extend(model, counts, **common)
        except InputError as error:  # none of the words could be placed
            progress.say(f"no word was added to the model: {error}")
            return model
        write_model(larger, place)
        return larger
    if not len(counts.values):
        vectors = np.zeros((len(counts.vocabulary), DIM), np.float32)
        return Embeddings(counts.vocabulary.words, vectors, tokenizer=tokenizer)
    return fit(counts, dim=DIM, memory=memory, output=place, **common)


def _having(gathered: Gathered, model: Embeddings) -> Int64s:
    """Return how many of the documents have each word of the model."""
    ids = _ids(gathered, model)
    having = np.zeros(len(model), np.int64)
    having[ids[ids >= 0]] = gathered.having[ids >= 0]
    return having


def _weights(having: Int64s, documents: int) -> Float32s:
    """Return what words count in vectors of documents: their idf."""
    return np.array([rank.idf(n, documents) for n in having.tolist()], np.float32)


def _ids(gathered: Gathered, model: Embeddings) -> Int64s:
    return np.array([model.key_to_index.get(word, -1) for word in gathered.words], np.int64)


def _rows(gathered: Gathered, model: Embeddings, weights: Float32s) -> tuple[Int64s, Float32s]:
    """Return the row of each of the documents' words, -1 for none, and the rows: their weighted unit vectors."""
    ids = _ids(gathered, model)
    known = ids[ids >= 0]
    places = np.full(len(ids), -1, np.int64)
    places[ids >= 0] = np.arange(len(known))
    lengths = np.maximum(model.lengths[known], _TINY)
    return places, np.asarray(model.vectors[known] * (weights[known] / lengths)[:, None], np.float32)


def _write_rest(
    writer: ArtefactWriter, model: Embeddings, weights: Float32s, having: Int64s, direction: Float32s
) -> None:
    """Add what all segments share to an index that is being written."""
    writer.add_array("weights", weights)
    writer.add_array("having", having)
    writer.add_array("direction", direction)
    write_model(model, writer.folder / MODEL)
    writer.add_text("model.txt", open_artefact(writer.folder / MODEL).digest + "\n")


def _link_segments(artefact: Artefact, writer: ArtefactWriter) -> None:
    """Put the files of old segments into a new index: the same files where the disk can, otherwise copies."""
    for name, record in artefact.files.items():
        if name[0].isdigit():
            try:
                os.link(artefact.file(name), writer.folder / name)
            except OSError:
                shutil.copyfile(artefact.file(name), writer.folder / name)
            writer.digests[name] = str(record["sha256"])


def read_index(
    path: str | Path | Artefact, *, left_out: Sequence[str] = (), keeper: Any = None
) -> DocumentIndex:
    """Open an index that was written as the folder ``path``; its arrays are mapped into memory."""
    artefact = open_artefact(path, kind=KIND, version=VERSION)
    own = open_artefact(artefact.path / MODEL)
    if artefact.file("model.txt").read_bytes().strip() != own.digest.encode():
        raise StoreError(
            f"'{own.path}' is another model than that of the index; make '{artefact.path}' again with it"
        )
    model = read_model(own)
    many, keep = artefact.parameters.get("segments"), artefact.parameters.get("keep")
    is_list = isinstance(keep, list) and all(isinstance(name, str) for name in keep)
    if not isinstance(many, int) or many < 1 or not is_list:
        raise StoreError(f"'{artefact.path}' is damaged (its parameters do not fit); make it again")
    segments = [read_segment(artefact, number, model.dim) for number in range(many)]
    collection = Documents(
        segments, model, artefact.array("weights", np.float32), artefact.array("having", np.int64),
        artefact.array("direction", np.float32),
    )  # fmt: skip
    sizes = len(collection.weights), len(collection.having), len(collection.direction)
    numbers = collection.weights, collection.direction
    if sizes != (len(model), len(model), model.dim) or not all(np.isfinite(one).all() for one in numbers):
        raise StoreError(f"'{artefact.path}' is damaged (its weights do not fit); make it again")
    return DocumentIndex(artefact.path, collection, tuple(left_out), keeper)
