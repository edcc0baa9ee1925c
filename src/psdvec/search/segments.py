"""Segments: documents as they are searched, written once and mapped into memory.

:func:`gather` reads documents into a folder, a block of postings at a time, so that memory is bounded.
:func:`write_segment` merges the blocks into the files of an index, in which a segment has a number;
:func:`read_segment` maps them. What is added later becomes a segment of its own, and no old file changes.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np

from psdvec.arrays import Array, Bytes, Codes, Float32s, Float64s, Int32s, Int64s
from psdvec.counts.vocabulary import WordList
from psdvec.errors import InputError, StoreError
from psdvec.kernels import kernel
from psdvec.progress import Progress, count_of
from psdvec.storage.artefact import Artefact, ArtefactWriter, map_array, parse_json
from psdvec.system import map_file
from psdvec.text.corpus import report_damage
from psdvec.text.readers import Reader, written_value
from psdvec.topic_model.documents import Source, check_fields, read_texts
from psdvec.vectors.sentences import common_direction
from psdvec.vectors.subwords import in_eight_bits

_BLOCK = 1 << 22  # words of the documents whose postings are sorted at a time
_MERGED = 1 << 22  # postings that are merged at a time
_ROWS = 1024
_PADDED = 16  # numbers that a processor multiplies together
_NAMED = 3  # documents that a message names
TEXTS = "texts.txt"
_ARRAYS = {
    "ids": np.uint8, "id_offsets": np.int64, "text_starts": np.int64, "lengths": np.int32, "words": np.uint8,
    "word_offsets": np.int64, "word_ids": np.int32, "starts": np.int64, "documents": np.int32, "counts": np.int32,
    "codes": np.int32, "vectors": np.int8, "steps": np.float32, "moments": np.float64,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Segment:
    """Documents of an index, m of them, with T different words.

    ``ids``: what each is called. ``texts``: their UTF-8 bytes, a line each; document i has those from
    ``text_starts[i]`` to ``text_starts[i + 1]``. ``lengths`` (m,): words of each. ``words``: in the order of their
    bytes; the one at place i has the number ``word_ids[i]``. The postings of the word of number t, the documents that
    have it and how often, are ``documents`` and ``counts`` from ``starts[t]`` to ``starts[t + 1]``. ``vectors`` (m, D)
    int8, times ``steps`` (m,): of length 1, or 0 where no word has a vector; zeros after the dimensions, up to a
    multiple of 16. ``moments`` (D + 1, D): their sum, and under it their products, XᵀX. ``values`` and ``codes``: by
    the name of a field its different values, and for each document which of them it has, -1 for none.
    """

    ids: WordList
    texts: Bytes
    text_starts: Int64s
    lengths: Int32s
    words: WordList
    word_ids: Int32s
    starts: Int64s
    documents: Int32s
    counts: Int32s
    vectors: Codes
    steps: Float32s
    moments: Float64s
    values: Mapping[str, Sequence[str]]
    codes: Mapping[str, Int32s]

    def __len__(self) -> int:
        return len(self.lengths)

    def span(self, word: str) -> tuple[int, int]:
        """Return where the postings of a word begin and end; nowhere if it is unknown."""
        key = np.frombuffer(word.encode("utf-8", "replace"), np.uint8)
        place = int(find_bytes(self.words.blob, self.words.offsets, key))
        if place < 0:
            return 0, 0
        number = int(self.word_ids[place])
        return int(self.starts[number]), int(self.starts[number + 1])

    def id_of(self, document: int) -> str:
        """Return what a document is called."""
        return _piece(self.ids.blob, self.ids.offsets, document)

    def text_of(self, document: int) -> str:
        """Return the text of a document, as one line."""
        return _piece(self.texts, self.text_starts, document).rstrip("\n")

    def fields_of(self, document: int) -> dict[str, str]:
        """Return the fields of a document that were kept."""
        codes = {name: int(found[document]) for name, found in self.codes.items()}
        return {name: self.values[name][code] for name, code in codes.items() if code >= 0}


# blob uint8, offsets int64[n + 1], key uint8[k]
@kernel
def find_bytes(blob, offsets, key):  # type: ignore[no-untyped-def]
    """Return the place of ``key`` among sorted pieces of bytes, -1 if it is not among them."""
    low, high = 0, len(offsets) - 1
    while low < high:
        middle = (low + high) // 2
        begin, size = offsets[middle], offsets[middle + 1] - offsets[middle]
        order = 0
        for i in range(min(size, len(key))):
            if blob[begin + i] != key[i]:
                order = -1 if blob[begin + i] < key[i] else 1
                break
        if order == 0:
            if size == len(key):
                return middle
            order = -1 if size < len(key) else 1
        if order < 0:
            low = middle + 1
        else:
            high = middle
    return -1


def _piece(blob: Bytes, offsets: Int64s, number: int) -> str:
    return bytes(blob[offsets[number] : offsets[number + 1]]).decode("utf-8", "replace")


# Reading documents into blocks


@dataclass(frozen=True)
class Gathered:
    """What :func:`gather` read into ``folder``: ids, words in the order in which they came, blocks, and fields.

    ``blocks``: how many. ``empty``: the names of documents without a word, which were left out. ``skipped``: how many
    were left out because there is one of their name.
    """

    folder: Path
    ids: list[str]
    words: list[str]
    blocks: int
    values: Mapping[str, Sequence[str]]
    empty: tuple[str, ...]
    skipped: int

    @cached_property
    def having(self) -> Int64s:
        """How many documents have each word, (T,)."""
        having = np.zeros(len(self.words), np.int64)
        for number in range(self.blocks):
            having += np.bincount(self.block(number)[0], minlength=len(having))
        return having

    def block(self, number: int) -> Int32s:
        """Map the postings of a block, (3, n): words, documents and counts, in the order of words, then documents."""
        found: Int32s = map_array(self.folder / f"block-{number}.npy")
        return found


def gather(
    source: Source,
    reader: Reader,
    folder: Path,
    *,
    tokenize: Callable[[str], list[str]],
    name: str,
    keep: Sequence[str],
    known: Collection[str],
    skip_known: bool,
    progress: Progress,
) -> Gathered:
    """Read documents, cut them into words, and write texts and postings to ``folder``.

    ``name`` is the field with the id, and ``keep`` are fields to keep. A document whose id is among the ``known`` ones,
    or was read before, is an error or, with ``skip_known``, left out.
    """
    ids: dict[str, None] = {}
    words = _Numbers()
    lengths, starts = array("i"), array("q", [0])
    codes = {field: array("i") for field in keep}
    values: dict[str, dict[str, int]] = {field: {} for field in keep}
    empty: list[str] = []
    postings = _Blocks(folder)
    skipped = 0
    with (
        (folder / TEXTS).open("wb") as texts,
        progress.stage("reading", total=None, unit="documents") as stage,
    ):
        for own, text, record in read_texts(source, reader, by=keep, id=name):
            if own in known or own in ids:
                if not skip_known:
                    raise InputError(_there_twice(own, is_indexed=own in known))
                skipped += 1
                continue
            line = composed(" ".join((text if isinstance(text, str) else " ".join(text)).splitlines()))
            found = tokenize(line)
            if not found:
                empty.append(own)
                continue
            postings.add(list(map(words.__getitem__, found)))
            ids[own] = None
            lengths.append(len(found))
            starts.append(starts[-1] + texts.write(line.encode("utf-8", "replace") + b"\n"))
            for field, seen in values.items():
                value = written_value(record.get(field))
                codes[field].append(-1 if value is None else seen.setdefault(value, len(seen)))
            if len(ids) % _ROWS == 0:
                stage.advance(_ROWS)
    if not ids and not skipped:
        raise InputError(
            f"there are no documents with words ({count_of(len(empty), 'document')} without words); give some"
        )
    check_fields({} if known else values)  # later documents may have no fields
    postings.flush()
    np.save(folder / "lengths.npy", np.frombuffer(lengths, np.intc))
    np.save(folder / "text_starts.npy", np.frombuffer(starts, np.int64))
    np.save(folder / "codes.npy", np.concatenate([np.zeros(0, np.intc), *map(np.array, codes.values())]))
    report_damage(
        replaced=reader.replaced, words=sum(lengths), files=reader.damaged, encoding=reader.encoding, progress=progress
    )  # fmt: skip
    kept = {field: list(seen) for field, seen in values.items()}
    return Gathered(folder, list(ids), list(words), postings.written, kept, tuple(empty), skipped)


def composed(text: str) -> str:
    """Return a text with letters and their accents in one, so that they are the same however they were written.

    >>> composed("cafe\u0301") == "caf\u00e9"
    True
    """
    return normalize("NFC", text)


class _Numbers(dict[str, int]):
    """Words and their numbers, in the order in which they are first asked for."""

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number


class _Blocks:
    """Gathers the words of documents, and writes their postings a block at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.written, self.done = folder, 0, 0
        self.tokens, self.lengths = array("i"), array("i")

    def add(self, tokens: list[int]) -> None:
        """Add the words of the next document."""
        self.tokens.extend(tokens)
        self.lengths.append(len(tokens))
        if len(self.tokens) >= _BLOCK:
            self.flush()

    def flush(self) -> None:
        """Write what was added since the last block."""
        if not self.lengths:
            return
        owners = np.repeat(np.arange(len(self.lengths), dtype=np.int64), np.array(self.lengths))
        pairs = np.array(self.tokens).astype(np.int64) << 32 | owners
        pairs, counts = np.unique(pairs, return_counts=True)
        block = np.stack([pairs >> 32, (pairs & (1 << 32) - 1) + self.done, counts]).astype(np.int32)
        np.save(self.folder / f"block-{self.written}.npy", block)
        self.written += 1
        self.done += len(self.lengths)
        self.tokens, self.lengths = array("i"), array("i")


def _there_twice(name: str, *, is_indexed: bool) -> str:
    where = "is in the index already" if is_indexed else "is there twice"
    return f"the document '{name}' {where}; give each an id of its own, or leave the later ones out: skip_known=True"


def say_empty(empty: Sequence[str], progress: Progress) -> None:
    """Say which documents were left out for having no words."""
    if empty:
        more = ", …" if len(empty) > _NAMED else ""
        named = ", ".join(f"'{one}'" for one in empty[:_NAMED]) + more
        have = "has no words and was" if len(empty) == 1 else "have no words and were"
        progress.say(f"{count_of(len(empty), 'document')} {have} left out: {named}")


# Vectors of documents


@dataclass(frozen=True, eq=False)
class Placing:
    """What makes vectors of documents: ``rows`` (r, d), the weighted vectors of those of their words that have one.

    ``places`` (T,): the row of each word, -1 for none. ``direction`` (d,): what the documents of the first segment have
    in common, which is taken out; None if these are they.
    """

    places: Int64s
    rows: Float32s
    direction: Float32s | None


def document_vectors(gathered: Gathered, placing: Placing) -> tuple[Float32s, Iterator[Float32s]]:
    """Return the common direction, and the vectors of each block: Σ (1 + log count) weight · vector, of length 1."""
    direction = placing.direction
    if direction is None:
        moment = np.zeros((placing.rows.shape[1],) * 2)
        for means in _block_means(gathered, placing):
            moment += means.T.astype(np.float64) @ means
        direction = common_direction(moment)
    axis = direction

    def place() -> Iterator[Float32s]:
        for means in _block_means(gathered, placing):
            yield as_unit(means - np.outer(means @ axis, axis))

    return direction, place()


def _block_means(gathered: Gathered, placing: Placing) -> Iterator[Float32s]:
    from scipy import sparse

    done = 0
    for number in range(gathered.blocks):
        words, documents, counts = gathered.block(number)
        many = int(documents.max()) + 1 - done
        columns = placing.places[words]
        has = columns >= 0
        weights = (1 + np.log(counts[has])).astype(np.float32)
        shape = (many, len(placing.rows))
        matrix = sparse.csr_array((weights, (documents[has] - done, columns[has])), shape=shape)
        yield as_unit(matrix @ placing.rows)
        done += many


def coded(vectors: Float32s) -> tuple[Codes, Float32s]:
    """Return vectors in eight bits, padded by zeros to a multiple of 16 dimensions, and the step of each."""
    codes, steps = in_eight_bits(vectors)
    return np.pad(codes, ((0, 0), (0, -codes.shape[1] % _PADDED))), steps


def as_unit(vectors: Float32s) -> Float32s:
    """Return ``vectors`` of length 1; those of (almost) no length become 0."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(np.where(lengths > 1e-6, vectors / np.maximum(lengths, 1e-6), 0.0), np.float32)


# The files of a segment


def write_segment(
    writer: ArtefactWriter, number: int, gathered: Gathered, vectors: Iterator[Float32s]
) -> None:
    """Add a segment to an index that is being written."""
    texts = f"{number}-{TEXTS}"
    (gathered.folder / TEXTS).rename(writer.folder / texts)
    writer.add_file(texts)
    writer.add_text(f"{number}-fields.json", json.dumps(gathered.values, ensure_ascii=False))
    order = sorted(
        range(len(gathered.words)), key=gathered.words.__getitem__
    )  # by code points, as their bytes
    packed, ids = WordList.pack(gathered.words[i] for i in order), WordList.pack(gathered.ids)
    arrays: dict[str, Array] = {
        "ids": ids.blob, "id_offsets": ids.offsets, "words": packed.blob, "word_offsets": packed.offsets,
        "word_ids": np.array(order, np.int32), "starts": _starts(gathered),
    }  # fmt: skip
    for name, found in arrays.items():
        writer.add_array(f"{number}-{name}", found)
    for name in ("lengths", "text_starts", "codes"):
        writer.add_array(f"{number}-{name}", np.load(gathered.folder / f"{name}.npy"))
    moments: Any = 0.0
    with (
        writer.stream_array(f"{number}-vectors", np.int8) as codes,
        writer.stream_array(f"{number}-steps", np.float32) as steps,
    ):
        for block in vectors:
            written, step = coded(block)
            codes.write(written.ravel())
            steps.write(step)
            kept = written * step[:, None].astype(np.float64)
            moments = moments + np.vstack([kept.sum(axis=0), kept.T @ kept])
    writer.add_array(f"{number}-moments", moments.ravel())
    with (
        writer.stream_array(f"{number}-documents", np.int32) as documents,
        writer.stream_array(f"{number}-counts", np.int32) as counts,
    ):
        for merged in _merged(gathered):
            documents.write(merged[1])
            counts.write(merged[2])


def _starts(gathered: Gathered) -> Int64s:
    """Return where the postings of each word begin, (T + 1,)."""
    return np.concatenate([[0], np.cumsum(gathered.having)])


def _merged(gathered: Gathered) -> Iterator[Int32s]:
    """Yield the postings of all blocks, some words at a time, in the order of words and then of documents."""
    starts, blocks = _starts(gathered), [gathered.block(number) for number in range(gathered.blocks)]
    cuts = np.searchsorted(starts, np.arange(0, starts[-1], _MERGED))
    for first, last in zip(cuts, [*cuts[1:], len(starts) - 1], strict=True):
        slices = [np.searchsorted(block[0], [first, last]) for block in blocks]
        pieces = np.concatenate([block[:, a:b] for block, (a, b) in zip(blocks, slices, strict=True)], axis=1)
        yield pieces[:, np.argsort(pieces[0], kind="stable")]


def read_segment(artefact: Artefact, number: int, dim: int) -> Segment:
    """Map segment ``number`` of an index whose vectors have ``dim`` dimensions."""
    found: dict[str, Any] = {
        name: artefact.array(f"{number}-{name}", dtype).view(np.ndarray) for name, dtype in _ARRAYS.items()
    }
    documents, path = len(found["lengths"]), artefact.file(f"{number}-{TEXTS}")
    size = dim + -dim % _PADDED
    texts: Bytes = map_file(path, np.uint8)
    try:
        values = parse_json(artefact.file(f"{number}-fields.json").read_text(encoding="utf-8"))
        kept = found["codes"].reshape(len(values), documents)
        codes = {name: kept[place] for place, name in enumerate(values)}
        vectors, moments = found["vectors"].reshape(documents, size), found["moments"].reshape(size + 1, size)
        wrong = next(
            (what for what, is_sound in _soundness(found, texts, values, codes) if not is_sound), None
        )
        if wrong is not None:
            raise ValueError(f"its {wrong} do not fit")
    except (ValueError, TypeError, AttributeError) as error:
        raise StoreError(f"'{artefact.path}' is damaged ({error}); make it again") from error
    return Segment(
        WordList(found["ids"], found["id_offsets"]), texts, found["text_starts"], found["lengths"],
        WordList(found["words"], found["word_offsets"]), found["word_ids"], found["starts"], found["documents"],
        found["counts"], vectors, found["steps"], moments, values, codes,
    )  # fmt: skip


def _soundness(
    found: Mapping[str, Any], texts: Bytes, values: Mapping[str, Sequence[str]], codes: Mapping[str, Int32s]
) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a segment, and whether each is such as can be looked up without looking again."""
    documents, words = len(found["lengths"]), len(found["word_ids"])
    for name, blob, offsets, many in (
        ("ids", found["ids"], found["id_offsets"], documents),
        ("texts", texts, found["text_starts"], documents),
        ("words", found["words"], found["word_offsets"], words),
        ("postings", found["documents"], found["starts"], words),
    ):
        fits = len(offsets) == many + 1 and offsets[0] == 0 and offsets[-1] == len(blob)
        yield name, bool(documents and fits and (np.diff(offsets) >= 0).all())
    yield "counts", len(found["counts"]) == len(found["documents"])
    yield "lengths", bool((found["lengths"] > 0).all())
    yield "words", bool(((found["word_ids"] >= 0) & (found["word_ids"] < words)).all())
    yield "steps", len(found["steps"]) == documents and bool(np.isfinite(found["steps"]).all())
    yield "moments", bool(np.isfinite(found["moments"]).all())
    for name, known in values.items():
        yield "fields", isinstance(known, list) and all(isinstance(value, str) for value in known)
        yield "fields", bool(((codes[name] >= -1) & (codes[name] < len(known))).all())
