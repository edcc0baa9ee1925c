"""Publishing vectors: a folder that other programs load unchanged, and that says of itself what it is.

:func:`publish` writes what model2vec and sentence-transformers load (:mod:`psdvec.formats.model2vec`), what psdvec
knows of each word, further formats that are asked for, a card (:mod:`psdvec.publishing.card`), and ``psdvec.json``,
which lists all of it with digests. The folder is complete or absent. ``docs/formats.md`` describes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from math import isfinite
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

import psdvec
from psdvec.arrays import Array, Float32s, Int64s
from psdvec.errors import InputError, PSDVecError, StoreError, checked, import_extra
from psdvec.evaluation.report import Report, as_values
from psdvec.evaluation.tagging import BASELINE
from psdvec.formats import demand_writable, load, without_spaces
from psdvec.formats.model2vec import FACTS, demand_single_words, write_static_files
from psdvec.formats.word2vec import format_rows, write_text
from psdvec.maps.drawing import FOLDER, WORDS, find_map, take_words
from psdvec.maps.layouts import nearest_to, nearest_to_each
from psdvec.progress import LogProgress, Progress, SilentProgress
from psdvec.publishing.card import CARD, Described, Loss, one_line, write_card
from psdvec.storage.artefact import (
    MANIFEST,
    MAP,
    PUBLISHED,
    check_folder_output,
    digest_file,
    open_artefact,
    open_published,
    parse_json,
    write_safetensors,
)
from psdvec.storage.files import is_unfinished, replaced_folder
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.model import Model
from psdvec.vectors.neighbours import csr_of, eight_bit_vectors, eight_bits_of, lengths_of
from psdvec.vectors.subwords import in_eight_bits

More: TypeAlias = Literal["vec", "parquet", "projector", "spacy"]
Quantized: TypeAlias = Literal["int8"]

KIND, VERSION = PUBLISHED, 1
VEC, PARQUET, PROJECTOR, SPACY = "vectors.vec", "words.parquet", "projector", "spacy"
JUDGED = 1_000  # words by which the loss of eight bits is measured, from the most frequent to the rarest
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]+)*")
_ROWS = 4096  # written at once
_NUMBERS = ("score", "f1", "low", "high", "covered", "total")  # in the rows of a report; each may be missing


@checked
def publish(
    model: Embeddings | str | Path,
    folder: str | Path,
    *,
    formats: Sequence[More] = (),
    name: str | None = None,
    license: str | None = None,
    languages: Sequence[str] = (),
    report: Report | str | Path | None = None,
    card: str | Path | None = None,
    quantize: Quantized | None = None,
    spaces: str | None = None,
    overwrite: bool = False,
    quiet: bool = False,
    progress: Progress = LogProgress(),
) -> None:
    """Write vectors as a folder that is ready to be handed on: model2vec and sentence-transformers load it, as we do.

    Parameters
    ----------
    model
        A model or other vectors, or where they are. Of a path, a map that was drawn is published too.
    folder
        What to write; only a published folder is ever replaced, with ``overwrite``.
    formats
        What else to write: ``"vec"`` for gensim and spaCy, ``"parquet"`` (words, counts, the map, nearest words),
        ``"projector"`` for TensorBoard, ``"spacy"``, a pipeline of spaCy in the first of the ``languages``.
    name
        In the title of the card; by default that of the model's folder.
    license, languages
        A licence, such as ``"cc-by-sa-4.0"``, and codes such as ``"en"``. Without a licence, the card says so.
    report
        Scores for the card: a report, or a file that ``psdvec evaluate --json`` has written.
    card
        A file with Markdown of your own, which is put into the card.
    quantize
        ``"int8"``: vectors in eight bits; what that loses is measured, and stands in the card.
    spaces
        What to write in place of white space in words, which no tokenizer of this kind can look up.

    Examples
    --------
    >>> import tempfile
    >>> e = Embeddings(("to", "be"), np.eye(2, dtype=np.float32))
    >>> with tempfile.TemporaryDirectory() as place:
    ...     publish(e, f"{place}/two-words", license="cc0-1.0", languages=["en"], quiet=True)
    ...     psdvec.load(f"{place}/two-words").words
    ('to', 'be')
    """
    progress, target = SilentProgress() if quiet else progress, Path(folder)
    check_published_output(target, overwrite=overwrite)
    _check_said(name, license, languages)
    _check_choices(formats, quantize)
    if "parquet" in formats:
        _import_parquet()
    pipeline = _spacy_pipeline(languages) if "spacy" in formats else None
    scores = None if report is None else read_report(report)
    own_text = "" if card is None else _read(card, "a Markdown file in UTF-8").strip()
    path = None if isinstance(model, Embeddings) else Path(model)
    own = model if isinstance(model, Embeddings) else load(model, progress=progress)
    e = _writable(own, spaces)
    own_name = "vectors" if path is None else path.resolve().name
    title = name or one_line(own_name)
    is_named = path is not None and not isinstance(report, Report)
    told = None if scores is None else _scores_of(scores, (title, own_name), is_named=is_named)
    loss = None
    if quantize is not None and eight_bits_of(e.vectors) is None:
        exact, e = e, replace(e, vectors=eight_bit_vectors(*in_eight_bits(np.asarray(e.vectors))))
        loss = measure_loss(exact, e)
    described = Described(
        title, own, e, license=license, languages=tuple(languages), scores=told, own_text=own_text, loss=loss
    )
    with replaced_folder(target, overwrite=overwrite) as new:
        write_static_files(e, new)
        facts = {"counts": e.counts, "deviations": e.deviations}
        known = {key: array for key, array in facts.items() if array is not None}
        if known:
            write_safetensors(new / FACTS, known)
        if "vec" in formats:
            with (new / VEC).open("wb") as file:
                write_text(e, file)
        if "parquet" in formats:
            _write_parquet(e, new / PARQUET, places=_places(own, path), progress=progress)
        if "projector" in formats:
            _write_projector(e, new / PROJECTOR, title)
        if pipeline is not None:
            _write_spacy(e, new / SPACY, pipeline)
        sizes = {each.relative_to(new).as_posix(): each.stat().st_size for each in _files(new)}
        (new / CARD).write_text(write_card(described, sizes), encoding="utf-8", newline="\n")
        _write_manifest(described, new)
        if overwrite:  # again: something may have been put into it meanwhile
            check_published_output(target, overwrite=True)


def check_published_output(path: Path, *, overwrite: bool) -> None:
    """Raise :class:`InputError` if no published folder must be written to ``path``."""
    check_folder_output(path, _foreign_in, what="a folder that psdvec has published", overwrite=overwrite)


def _foreign_in(folder: Path) -> Path | None:
    """Return what psdvec did not write: ``folder`` itself, or something in it, or a file that was changed since."""
    try:
        listed = open_published(folder).files
    except StoreError:
        return folder
    for path in _files(folder):
        name = path.relative_to(folder).as_posix()
        size = listed[name]["bytes"] if name in listed else None
        if name != MANIFEST and size != path.stat().st_size and not is_unfinished(path.name):
            return path
    return None


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _check_said(name: str | None, license: str | None, languages: Sequence[str]) -> None:
    """Refuse a name, a licence or languages that cannot stand in the lines of a card."""
    for what, said in (("name", name), ("license", license)):
        if said is not None and (not said.strip() or one_line(said) != said):
            raise InputError(f"{what} is {said!r:.60}; give one line of text, or leave it out")
    for language in languages:
        if not _LANGUAGE.fullmatch(language):
            raise InputError(f"languages={language!r:.60} is no code of a language; give codes such as en")


def _check_choices(formats: Sequence[str], quantize: str | None) -> None:
    wrong = [each for each in formats if each not in get_args(More)]
    if wrong:
        raise InputError(
            f"formats={wrong[0]!r} is not known; give one or more of {', '.join(get_args(More))}"
        )
    if quantize not in (None, *get_args(Quantized)):
        raise InputError(f"quantize is {quantize!r:.60}; give {get_args(Quantized)[0]}, or leave it out")


def _read(path: str | Path, wanted: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(
            f"'{path}' cannot be read ({getattr(error, 'strerror', error)}); give {wanted}"
        ) from error


def _writable(own: Embeddings, spaces: str | None) -> Embeddings:
    """Return plain embeddings with single words, dense and finite; say what is wrong where they cannot be published."""
    if csr_of(own.vectors) is not None:
        raise InputError(
            "sparse vectors cannot be published, because no other program loads them; save them as a model"
        )
    e = own.with_text_keys() if spaces is None else without_spaces(own, spaces)
    demand_writable(e)
    demand_single_words(e.words)
    return Embeddings(e.words, e.vectors, e.counts, e.deviations, tokenizer=e.tokenizer)


def read_report(report: Report | str | Path) -> Mapping[str, Any]:
    """Return what a report, or the file that ``psdvec evaluate --json`` has written, says as plain values."""
    if isinstance(report, Report):
        return as_values(report)
    wanted = "what the command evaluate writes as JSON"
    text = _read(report, wanted)
    try:
        values = parse_json(text)
        for part, names in (("scores", ("model", "task", "metric")), ("tagging", ("model", "task"))):
            for row in values[part]:
                if not all(isinstance(row[name], str) for name in names):
                    raise ValueError(f"a row of its {part} lacks one of {', '.join(names)}")
                numbers = [row[name] for name in _NUMBERS if row.get(name) is not None]
                if not all(type(one) in (int, float) and isfinite(one) for one in numbers):
                    raise ValueError(f"a row of its {part} holds something else than numbers")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"'{report}' is not the report of an evaluation ({error}); give {wanted}") from error
    return dict(values)


def _scores_of(values: Mapping[str, Any], names: tuple[str, str], *, is_named: bool) -> Mapping[str, Any]:
    """Return the rows of a report that are of a model of one of these ``names``.

    Vectors and reports from Python have none: the only model of a report is taken for it.
    """
    rows = [*values["scores"], *values["tagging"]]
    models = [model for model in dict.fromkeys(row["model"] for row in rows) if model != BASELINE]
    named = [model for model in models if model in names]
    if len(models) == 1 and not is_named:
        named = models
    if len(named) != 1:
        raise InputError(
            f"the report is of {', '.join(models) or 'no model'}, and not of '{names[0]}'; give a report of this "
            "model, or its name there as name"
        )
    wanted = named[0]
    return {part: [row for row in values[part] if row["model"] == wanted] for part in ("scores", "tagging")}


def measure_loss(exact: Embeddings, rounded: Embeddings) -> Loss:
    """Return what is lost by rounding: of up to 1,000 words, evenly from the most frequent to the rarest.

    >>> e = Embeddings(("a", "b", "c"), np.float32([[1, 0], [0.9, 0.1], [0, 1]]))
    >>> measure_loss(e, e).kept
    1.0
    """
    order = np.arange(len(exact)) if exact.counts is None else np.argsort(-exact.counts, kind="stable")
    rows: Int64s = order[np.unique(np.linspace(0, len(exact) - 1, JUDGED).astype(np.int64))]
    before, after = _units(exact), _units(rounded)
    cosines = np.einsum("ij,ij->i", before[rows], after[rows])
    cosines = cosines[(before[rows] != 0).any(axis=1)]
    if len(exact) == 1:
        return Loss(len(rows), float(cosines.mean()) if len(cosines) else 1.0, 1.0)
    near, still = nearest_to(before, rows), nearest_to(after, rows)
    kept = (near[:, :, None] == still[:, None]).any(axis=2).mean()
    return Loss(len(rows), float(cosines.mean()) if len(cosines) else 1.0, float(kept))


def _units(e: Embeddings) -> Float32s:
    vectors = np.asarray(e.vectors)
    return np.asarray(vectors / lengths_of(vectors)[:, None], np.float32)


# Further formats.


def _import_parquet() -> list[Any]:
    modules = ("pyarrow", "pyarrow.parquet")
    return [import_extra(each, extra="parquet", purpose="publishing Parquet") for each in modules]


def _places(own: Embeddings, path: Path | None) -> Array | None:
    """Return where each word is on the map that was drawn of the vectors at ``path``, or None where there is none."""
    if path is None:
        return None
    words = WORDS
    with suppress(PSDVecError, ValueError, TypeError):
        words = int(open_artefact(path / FOLDER, kind=MAP).parameters["words"])
    mapped = take_words(own, words=words)
    found = find_map(mapped, path)
    if found is None:
        return None
    places = np.full((len(own), 2), np.nan, np.float32)
    places[mapped.ids] = found[0].places
    return places


def _write_parquet(e: Embeddings, path: Path, *, places: Array | None, progress: Progress) -> None:
    """Write a row per word: its count, its place on the map, its nearest words with their cosines.

    ``neighbors`` says the same in rows and distances, as embedding-atlas reads it.
    """
    arrow, parquet = _import_parquet()
    units, words = _units(e), np.array(e.words, dtype=object)
    near = nearest_to_each(units, progress=progress)
    blocks = (slice(start, start + _ROWS) for start in range(0, len(e), _ROWS))
    each = [np.einsum("ij,ikj->ik", units[block], units[near[block]]) for block in blocks]
    cosines = np.clip(np.concatenate(each), -1, 1).round(4)
    columns: dict[str, Any] = {"word": arrow.array(e.words, arrow.string())}
    if e.counts is not None:
        columns["count"] = arrow.array(np.asarray(e.counts))
    if places is not None:
        for axis, values in zip("xy", places.T, strict=True):
            columns[axis] = arrow.array(values, mask=np.isnan(values))
    columns["nearest"] = arrow.array([words[ids].tolist() for ids in near], arrow.list_(arrow.string()))
    columns["cosines"] = arrow.array(cosines.tolist(), arrow.list_(arrow.float32()))
    struct = arrow.struct([("ids", arrow.list_(arrow.int64())), ("distances", arrow.list_(arrow.float32()))])
    rows = zip(near.tolist(), (1 - cosines).tolist(), strict=True)
    columns["neighbors"] = arrow.array([{"ids": ids, "distances": far} for ids, far in rows], struct)
    parquet.write_table(arrow.table(columns), path)


def _write_projector(e: Embeddings, folder: Path, title: str) -> None:
    """Write what TensorBoard's projector reads: vectors, words with their counts, and which file is which."""
    folder.mkdir()
    with (folder / "vectors.tsv").open("wb") as file:
        for start in range(0, len(e), _ROWS):
            block = format_rows(np.asarray(e.vectors[start : start + _ROWS]))
            file.writelines(row.lstrip().replace(b" ", b"\t") + b"\n" for row in block)
    with (folder / "metadata.tsv").open("w", encoding="utf-8", newline="\n") as file:
        if e.counts is None:  # a single column has no title there
            file.writelines(f"{word}\n" for word in e.words)
        else:
            file.write("word\tcount\n")
            file.writelines(f"{word}\t{n}\n" for word, n in zip(e.words, e.counts.tolist(), strict=True))
    (folder / "projector_config.pbtxt").write_text(
        f"embeddings {{\n  tensor_name: {json.dumps(title)}\n"
        '  tensor_path: "vectors.tsv"\n  metadata_path: "metadata.tsv"\n}\n',
        encoding="utf-8",
        newline="\n",
    )


def _spacy_pipeline(languages: Sequence[str]) -> Any:
    """Return an empty pipeline of spaCy for the first language, or for any where none was given."""
    spacy: Any = import_extra("spacy", extra="spacy", purpose="publishing for spaCy")
    language = languages[0].partition("-")[0] if languages else "xx"
    try:
        return spacy.blank(language)
    except ImportError as error:
        raise InputError(
            f"spaCy has no rules for '{language}'; give a language that it knows first, or none"
        ) from error


def _write_spacy(e: Embeddings, folder: Path, pipeline: Any) -> None:
    """Write a pipeline that cuts text into words and knows their vectors."""
    vectors: Any = import_extra("spacy.vectors", extra="spacy", purpose="publishing for spaCy")
    keys = [pipeline.vocab.strings.add(word) for word in e.words]
    pipeline.vocab.vectors = vectors.Vectors(data=np.array(e.vectors, np.float32), keys=keys)
    pipeline.to_disk(folder)


def _write_manifest(described: Described, folder: Path) -> None:
    """Write what the folder is, and its files with their sizes and digests."""
    own, e = described.own, described.published
    made: dict[str, Any] = {}
    if isinstance(own, Model):
        made = {
            "recipe": asdict(own.recipe),
            "counting": dict(own.counting),
            "sources": [dict(s) for s in own.sources],
        }
    said = {
        "format": "psdvec", "kind": KIND, "version": VERSION, "made_by": f"psdvec {psdvec.__version__}",
        "name": described.name, "license": described.license, "languages": list(described.languages),
        "words": len(e), "dim": e.dim, "quantized": None if described.loss is None else described.loss._asdict(),
        **made,
        "files": {path.relative_to(folder).as_posix(): _record(path) for path in _files(folder)},
    }  # fmt: skip
    with (folder / MANIFEST).open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        json.dump(said, file, indent=1, ensure_ascii=False)
        file.write("\n")


def _record(path: Path) -> dict[str, Any]:
    return {"bytes": path.stat().st_size, "sha256": digest_file(path, is_parted=False)}
