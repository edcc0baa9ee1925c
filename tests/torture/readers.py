"""Every reader over mutations of real files: each is read or refused in one sentence; nothing else is fine.

A case is a reader, a seed and a number, and always the same. What was read is also used: counts are merged, fitted and
exported, models extended and written again; numbers must be finite, pages must all be there. A case that fails is kept
as a file, with ``case.json`` beside it, which says how it came about.
"""

from __future__ import annotations

import json
import math
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet

import psdvec
from psdvec.compare.jobs import read_cost
from psdvec.counts.grams import read_grams, write_grams
from psdvec.counts.vocabulary import read_word_list
from psdvec.errors import InputError, PSDVecError, StoreError
from psdvec.evaluation.tagging import read_conll
from psdvec.evaluation.tasks import read_task
from psdvec.loading import describe_artefact, summarise, verify
from psdvec.maps.drawing import read_map
from psdvec.progress import SilentProgress
from psdvec.search.index import DocumentIndex
from psdvec.storage.artefact import META, open_artefact
from psdvec.storage.workspace import open_workspace
from psdvec.text.streams import open_stream
from psdvec.text.wikipedia import extract
from psdvec.text.wikitext import Stripper
from psdvec.topic_model.documents import read_documents
from psdvec.topic_model.topics import Topics
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.model import Model
from psdvec.vectors.neighbours import csr_of
from tests.helpers import put_right
from tests.torture.confined import FINE, run_confined
from tests.torture.mutations import change_parameters, mutate
from tests.torture.samples import finish_work, make_samples, mapped_sample

BATCH = 250  # cases that one process runs
SAMPLES = "samples"  # beside a case: a link to what it was made from
SILENT = SilentProgress()
DOCUMENT_WORDS = Embeddings(("the", "king", "cat"), np.eye(3, dtype=np.float32), tokenizer="unicode")
LOADED = (Stripper, pyarrow)  # here, so that no case has to pay for their memory


@dataclass(frozen=True)
class Reader:
    """What reads a sample: ``samples`` are files or folders, ``read`` opens one and looks at what it got."""

    samples: tuple[str, ...]
    read: Callable[[Path], None]


class Case(NamedTuple):
    """One mutated input: which reader reads it, and what it is drawn from."""

    reader: str
    seed: int
    number: int


def _read_documents(path: Path) -> None:
    documents = read_documents(path, DOCUMENT_WORDS, by=(), progress=SILENT)
    _demand(len(documents) == len(documents.starts) - 1, "another number of documents")
    _demand(bool((np.diff(documents.starts) >= 0).all()), "documents of negative length")
    _demand(documents.tokens.max(initial=-1) < len(DOCUMENT_WORDS), "a word that does not exist")


def _read_topics(path: Path) -> None:
    """Ask topics what people ask them, and write them again, with their tables and their page."""
    found = _load(path)
    _demand(isinstance(found, Topics), "something that is no topics")
    word = found.space.words[0]
    shares = found.transform([f"{word} {word}", ""], workers=1)
    _demand(bool((shares >= 0).all() and (shares.sum(axis=1) <= 1.01).all()), "proportions that cannot be")
    _demand(bool(np.isfinite(found.chance_of(word)).all()), "a chance that is not finite")
    if len(found) > 1:
        _demand(bool(np.isfinite(found.merge(0, 1).tilts).all()), "a topic that is not finite")
    found.save(path.parent / "again")
    json.loads((path.parent / "again" / "topics.json").read_text(), parse_constant=lambda name: 1 / 0)
    _describe(path)


def _read_index(path: Path) -> None:
    """Ask an index, and add to it."""
    found = _load(path)
    _demand(isinstance(found, DocumentIndex), "something that is no index")
    for exact in (True, False):
        for hits in found.search(
            ["karen lodal", "karem", '"lodal karen" mis'], topn=3, exact=exact, workers=1
        ):
            _demand(all(math.isfinite(hit.score) for hit in hits), "a score that is not finite")
            json.dumps([asdict(hit) for hit in hits])
    added = found.add([{"id": "new one", "text": "karen newword", "year": 1990}], workers=1, progress=SILENT)
    _demand(len(added) == len(found) + 1, "another number of documents")
    _describe(path)


def _load(path: Path) -> Any:
    """Load a folder of psdvec's; what cannot be loaded cannot be verified either, and the other way round."""
    try:
        found = psdvec.load(path)
    except PSDVecError as error:
        with suppress(PSDVecError):
            verify(open_artefact(path))
            raise AssertionError(f"what was refused is verified: {error}") from error
        raise
    verify(open_artefact(path))
    return found


def _describe(path: Path) -> None:
    """What can be loaded can be described."""
    artefact = open_artefact(path)
    json.dumps(describe_artefact(artefact))
    _demand(all(isinstance(text, str) for text in summarise(artefact).values()), "a fact that is no text")


def _read_text(path: Path) -> None:
    for errors in ("replace", "strict"):
        for sentence in psdvec.read_corpus(path, tokenizer="unicode", errors=errors):
            _demand(all(sentence), "an empty word")


def _read_in_parallel(path: Path) -> None:
    """Two threads give the bytes that one gives."""
    found = []
    for workers in (1, 2):
        try:
            with open_stream(path, workers=workers) as stream:
                found.append(b"".join(iter(lambda: stream.read(1 << 16), b"")))
        except PSDVecError:
            found.append(None)
    _demand(found[0] == found[1], "two threads read something else")


def _read_packed(path: Path) -> None:
    if path.suffix == ".bz2":
        _read_in_parallel(path)
    _read_text(path)


def _read_dump(path: Path) -> None:
    with open_stream(path) as stream:
        xml = b"".join(iter(lambda: stream.read(1 << 16), b""))
    for form in ("paper", "text", "jsonl"):
        done = extract(path, path.parent / "out", form=form, overwrite=True, workers=1, progress=SILENT)
        _demand(done.pages == xml.count(b"<page>"), f"{done.pages} of {xml.count(b'<page>')} pages")
        lines = (path.parent / "out").read_bytes().count(b"\n")
        _demand(lines == done.articles, "another number of lines than articles")


def _read_vectors(path: Path) -> None:
    _look_at(psdvec.load(path))


def _look_at(e: Any) -> None:
    """Ask embeddings what people ask them."""
    _demand(isinstance(e, Embeddings), "something that is no vectors")
    words = list(e.words)
    _demand(len(set(words)) == len(words) and all(words), "words that are empty or not all different")
    near = e.most_similar(words[0], topn=3)
    _demand(all(math.isfinite(cosine) for _, cosine in near), "a cosine that is not finite")
    _demand(bool(np.isfinite(np.asarray(e.vectors)).all()), "numbers that are not finite")
    json.dumps([*near, int(e.counts[0]) if e.counts is not None else None], allow_nan=False)
    e.thin_evidence()
    if e.subwords is not None:
        told = e.subwords.vectors_of(["kingmaker", words[0]])
        _demand(bool(np.isfinite(told).all()), "a spelling that is not finite")


def _read_model(path: Path) -> None:
    """Ask a model what people ask it, place words beside its own, and write it in other formats."""
    e = _load(path)
    _look_at(e)
    _describe(path)
    words = list(e.words)
    if e.deviations is not None and len(words) > 1 and np.isfinite(e.deviations[:2]).any():
        bounds = e.similarity(words[0], words[1], interval=True)
        _demand(all(map(math.isfinite, bounds)), "an interval that is not finite")
    if e.subwords is not None:
        _look_at(e.with_spelled(["kingmaker", "terdalmis"]))
    ending = ".model" if csr_of(e.vectors) is not None else (".txt", ".bin", ".npz")[len(words[0]) % 3]
    e.save(path.parent / f"again{ending}", overwrite=True, format="model" if ending == ".model" else None)
    _look_at(psdvec.load(path.parent / f"again{ending}"))
    if isinstance(e, Model):
        e.save(path.parent / "again", format="model2vec", overwrite=True)
        more = (path.parent / SAMPLES).resolve() / "more"
        placed = psdvec.extend(e, more, refresh=words[:2], workers=1, quiet=True)
        _look_at(placed)
        _demand(not np.isinf(placed.deviations).any(), "a deviation without end")
        placed.report()


def _read_counts(path: Path) -> None:
    """Merge, write, export and fit counts."""
    counts = _load(path)
    for word in counts.vocabulary.words[:3]:
        _demand(all(count >= 0 for count in counts.row(word).values()), "a negative count")
    _describe(path)
    counts.save(path.parent / "again")
    twice = psdvec.merge_counts([counts, counts], workers=1, progress=SILENT)
    _demand(int(twice.values.sum()) == 2 * int(counts.values.sum()), "twice the counts are not twice as much")
    with suppress(InputError):
        write_grams(counts, path.parent / "pairs", words=path.parent / "words")
    _look_at(psdvec.fit(counts, dim=2, workers=1, quiet=True))


def _read_counted_grams(path: Path) -> None:
    counts = read_grams(path, progress=SILENT)
    _demand(
        bool((counts.values >= 0).all()) and bool((counts.vocabulary.counts >= 0).all()), "a negative count"
    )


def _read_grams_with_words(path: Path) -> None:
    counts = read_grams(path / "top2grams.txt", words=path / "top1grams.txt", progress=SILENT)
    _demand(bool((counts.vocabulary.counts >= 0).all()), "a negative count")


def _read_task(path: Path) -> None:
    task = read_task(path)
    _demand(all(all(item) for item in task.items), "an empty word")


def _read_conll(path: Path) -> None:
    for sentence in read_conll(path):
        _demand(len(sentence.words) == len(sentence.parts) == len(sentence.tags) > 0, "columns that differ")


def _read_list(path: Path) -> None:
    _demand(all(read_word_list(path)), "an empty word")


def _read_map(path: Path) -> None:
    mapped = mapped_sample()
    drawing = read_map(path, mapped)
    _demand(drawing.places.shape == (len(mapped.ids), 2), "there is not one place per word")
    _demand(bool(np.isfinite(drawing.places).all()), "a place is not finite")
    for regions in (drawing.coarse, drawing.fine):
        _demand(set(regions.labels.tolist()) <= set(range(len(regions.middles))), "a region has no middle")
        _demand(bool((regions.names < len(mapped.ids)).all()), "a region is named by no word")


def _read_work(path: Path) -> None:
    """Work goes on only from what is as it was left; if a piece is gone, it still ends with the same bytes."""
    samples = (path.parent / SAMPLES).resolve()
    name, dot, ending = path.name.partition(".")
    output, left = path.with_name(name), _contents(samples / path.name)
    plan, _ = json.loads(left.pop("plan.json")), left.pop("lock")
    with (
        suppress(_FoundError),
        open_workspace(output, plan=plan, progress=SILENT, ending=dot + ending) as work,
    ):
        found = {file: data for file, data in _contents(work).items() if file not in ("plan.json", "lock")}
        raise _FoundError
    _demand(all(left.get(file) == data for file, data in found.items()), "a piece that is not as it was left")
    if len(found) == len(left):
        return
    if found:
        finish_work(samples, path.name, output)
        _demand(_contents(output) == _contents(samples / name), "other bytes at the end")
    raise StoreError("the work is begun again")


class _FoundError(Exception):
    """Ends a look into a workspace."""


def _read_step(path: Path) -> None:
    """A step of a comparison counts as finished only if its record and its output are as they were written."""
    sample = (path.parent / SAMPLES).resolve() / path.name
    record = json.loads((sample / "model.json").read_text())
    found = read_cost(path / "model.json", path / "model", record["key"])
    if found is None:
        raise StoreError("the step is run again")
    _demand(asdict(found) == record["cost"], "another cost")
    _demand(_contents(path / "model") == _contents(sample / "model"), "another model")


def _contents(folder: Path) -> dict[str, Any]:
    """Return every file below ``folder`` by its name; of ``meta.json`` what it says, however it is spaced."""
    return {
        path.relative_to(folder).as_posix(): json.loads(path.read_text())
        if path.name == META
        else path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


READERS = {
    "text": Reader(("plain.txt",), _read_text),
    "compressed": Reader(
        ("packed.txt.gz", "packed.txt.bz2", "packed.txt.xz", "packed.txt.zst"), _read_packed
    ),
    "json lines": Reader(("records.jsonl",), _read_text),
    "parquet": Reader(("rows.parquet",), _read_text),
    "dump": Reader(("dump.xml", "dump.xml", "dump.xml.bz2"), _read_dump),
    "word list": Reader(("list.txt",), _read_list),
    "word2vec text": Reader(("vectors.txt", "vectors.txt.gz"), _read_vectors),
    "glove": Reader(("glove.txt",), _read_vectors),
    "word2vec binary": Reader(("vectors.bin",), _read_vectors),
    "npz": Reader(("vectors.npz", "foreign.npz"), _read_vectors),
    "model2vec": Reader(("model2vec",), _read_vectors),
    "model": Reader(("model", "sparse", "embeddings"), _read_model),
    "compact": Reader(("compact",), _read_model),
    "map": Reader(("map",), _read_map),
    "counts": Reader(("counts",), _read_counts),
    "pairs of grams": Reader(("top2grams.txt",), _read_counted_grams),
    "grams": Reader(("grams",), _read_grams_with_words),
    "documents": Reader(("plain.txt", "packed.txt.gz", "records.jsonl", "rows.parquet"), _read_documents),
    "topics": Reader(("topics",), _read_topics),
    "index": Reader(("index",), _read_index),
    "test set": Reader(("pairs.txt", "choices.txt", "analogies.txt"), _read_task),
    "conll": Reader(("conll.txt",), _read_conll),
    "unfinished counts": Reader(("count.work",), _read_work),
    "unfinished counts of a cluster": Reader(("cluster.work",), _read_work),
    "unfinished fit": Reader(("fit.work",), _read_work),
    "unfinished extension": Reader(("extend.work",), _read_work),
    "unfinished training": Reader(("train.train.work",), _read_work),
    "unfinished topics": Reader(("topics.work",), _read_work),
    "step of a comparison": Reader(("step",), _read_step),
}


def run(seed: int, minutes: float, keep: Path) -> list[str]:
    """Run cases of all readers in turn until the time is over; print how many, and return the failures."""
    deadline = time.monotonic() + 60 * minutes
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        samples = Path(folder) / "samples"
        make_samples(samples)
        counts, failures, number = Counter[tuple[str, str]](), [], 0
        while time.monotonic() < deadline:
            for name in READERS:
                cases = [Case(name, seed, number + i) for i in range(BATCH)]
                found, failed = try_cases(cases, samples, keep)
                counts.update({(name, outcome): n for outcome, n in found.items()})
                failures += failed
            number += BATCH
    for name in READERS:
        shown = ", ".join(f"{n:,} {what}" for (reader, what), n in sorted(counts.items()) if reader == name)
        print(f"{name}: {shown}", flush=True)
    return failures


def try_cases(cases: Sequence[Case], samples: Path, keep: Path) -> tuple[Counter[str], list[str]]:
    """Run ``cases``; return how many ended in which way, and a line for each that failed and was kept."""
    counts, failures = Counter[str](), []
    with tempfile.TemporaryDirectory(prefix="case-", ignore_cleanup_errors=True) as folder:

        def read(case: Case) -> None:
            place = Path(folder) / "case"
            shutil.rmtree(place, ignore_errors=True)
            READERS[case.reader].read(make_case(case, samples, place))

        for case, outcome in zip(cases, run_confined(cases, read), strict=True):
            counts[outcome if outcome in FINE else "failed"] += 1
            if outcome not in FINE:
                place = keep / f"{case.reader}-{case.seed}-{case.number}".replace(" ", "-")
                make_case(case, samples, place)
                (place / "case.json").write_text(
                    json.dumps({**case._asdict(), "outcome": outcome}, indent=1) + "\n"
                )
                failures.append(f"{place}: {outcome}")
    return counts, failures


def make_case(case: Case, samples: Path, place: Path) -> Path:
    """Write the input of a case into the folder ``place``, and return its path."""
    rng = Random(f"{case.seed}/{case.reader}/{case.number}")
    known = [name for name in READERS[case.reader].samples if (samples / name).exists()]
    sample = samples / rng.choice(known)
    path = copy_sample(sample, place)
    if sample.is_file():
        path.write_bytes(mutate(sample.name, sample.read_bytes(), rng))
        return path
    files = sorted(file for file in path.rglob("*") if file.is_file() and file.suffix not in (".md", ".tsv"))
    chosen = path / META if path / META in files and rng.random() < 0.25 else rng.choice(files)
    if rng.random() < 0.03:
        chosen.unlink()
    elif chosen.name == META and rng.random() < 0.8:
        chosen.write_bytes(change_parameters(chosen.read_bytes(), rng))
    else:
        chosen.write_bytes(mutate(chosen.name, chosen.read_bytes(), rng))
    if rng.random() < 0.8:
        # It is no JSON.
        with suppress(FileNotFoundError, ValueError, RecursionError, AttributeError, TypeError):
            put_right(path, chosen)
    return path


def copy_sample(sample: Path, place: Path) -> Path:
    """Copy a sample into the folder ``place``, with a link to all samples beside it, and return its path."""
    place.mkdir(parents=True, exist_ok=True)
    path = place / sample.name
    if sample.is_file():
        shutil.copy2(sample, path)
    else:
        shutil.copytree(sample, path, dirs_exist_ok=True)
    with suppress(FileExistsError):
        (place / SAMPLES).symlink_to(sample.parent.absolute())
    return path


def _demand(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)
