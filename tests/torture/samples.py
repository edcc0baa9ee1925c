"""Small files of our own making, one or more for each reader; ``python -m tests.torture.samples FOLDER`` writes them.

They are made in a process of their own, because whoever starts others by forking had better not have run threads.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import json
import lzma
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psdvec.maps.drawing import MappedWords
from tests.helpers import count_in_small_runs

SENTENCES = (
    "the cat sat on the mat and the dog sat beside it",
    "a king and a queen ruled the land of the sea",
    "größte Straße, naïve café: 3.5 % of U.S. words aren't ASCII",
    "дом и сад и 東京 と 大阪 and the rest",
) * 12
PAGE = """  <page>
    <title>{title}</title>
    <ns>{ns}</ns>
    <id>{id}</id>
    <revision>
      <id>9{id}</id>
      <text bytes="80" xml:space="preserve">{text}</text>
    </revision>
  </page>
"""
TEXT = (
    "'''{}''' is a [[town|place]] in {{{{tl|x}}}} the &lt;ref&gt;r&lt;/ref&gt; north. "
    "{{| a\n| b\n|}}\n== H ==\n* one &amp;amp; two"
)


def make_samples(folder: Path) -> None:
    """Write all samples into ``folder``, in a process of its own."""
    subprocess.run([sys.executable, "-m", "tests.torture.samples", str(folder)], check=True)


def write_samples(folder: Path) -> None:
    """Write all samples into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_texts(folder)
    _write_counts_and_models(folder)
    _write_vectors(folder)
    _write_test_sets(folder)
    _write_unfinished_work(folder)
    _write_record(folder)


def _write_texts(folder: Path) -> None:
    text = "\n".join(SENTENCES).encode() + b"\n"
    (folder / "plain.txt").write_bytes(text)
    (folder / "packed.txt.gz").write_bytes(gzip.compress(text, mtime=0))
    (folder / "packed.txt.bz2").write_bytes(bz2.compress(text) + bz2.compress(text))
    (folder / "packed.txt.xz").write_bytes(lzma.compress(text))
    records = [
        {"id": i, "text": line, "tags": ["x", {"deep": [1.5, None]}]} for i, line in enumerate(SENTENCES)
    ]
    lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()
    (folder / "records.jsonl").write_bytes(lines)
    pages = [
        PAGE.format(title=f"Town {i}", ns=0 if i % 4 else 14, id=i + 1, text=TEXT.format(f"Town {i}"))
        for i in range(12)
    ]
    namespaces = (
        '<namespace key="6" case="first-letter">File</namespace><namespace key="14">Category</namespace>'
    )
    head = f'<mediawiki xml:lang="en">\n<siteinfo><namespaces>{namespaces}</namespaces></siteinfo>\n'
    dump = (head + "".join(pages) + "</mediawiki>\n").encode()
    (folder / "dump.xml").write_bytes(dump)
    (folder / "dump.xml.bz2").write_bytes(bz2.compress(dump))
    (folder / "list.txt").write_text(
        "".join(f"{word}\t{i}\n" for i, word in enumerate(SENTENCES[0].split()[:4]))
    )
    try:
        import zstandard

        (folder / "packed.txt.zst").write_bytes(zstandard.ZstdCompressor().compress(text))
    except ImportError:
        pass
    try:
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(
            pyarrow.table({"text": list(SENTENCES), "n": list(range(48))}), folder / "rows.parquet"
        )
    except ImportError:
        pass


def _write_counts_and_models(folder: Path) -> None:
    import psdvec
    from psdvec.counts.count import count_pairs
    from psdvec.counts.grams import write_grams
    from psdvec.methods.run import fit_method
    from psdvec.publishing.compact import compact

    rng = np.random.default_rng(0)
    words = [
        begin + end
        for begin in ("ka", "lo", "mi", "ter", "sun")
        for end in ("ren", "dal", "mis", "on", "er", "ing")
    ]
    sentences = [list(rng.choice(words, 10)) for _ in range(120)]
    counts = count_pairs(sentences, min_count=1, window=4, weighting="flat")
    counts.save(folder / "counts")
    others = [list(rng.choice([*words[:20], "kadalis", "sunmison"], 10)) for _ in range(20)]
    count_pairs(others, min_count=1, window=4, weighting="flat").save(folder / "more")
    (folder / "grams").mkdir()
    write_grams(counts, folder / "grams" / "top2grams.txt", words=folder / "grams" / "top1grams.txt")
    write_grams(counts, folder / "top2grams.txt")
    compact(psdvec.fit(folder / "counts", dim=4, output=folder / "model"), folder / "compact", quiet=True)
    fit_method("ppmi", folder / "counts", dim=4, output=folder / "sparse")
    records = [
        {"text": " ".join(words), "year": 1990 + i % 3, "id": f"d{i}"} for i, words in enumerate(sentences)
    ]
    (folder / "documents.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    psdvec.DocumentIndex.build(
        folder / "documents.jsonl",
        model=folder / "model",
        keep=["year"],
        output=folder / "index",
        workers=1,
        quiet=True,
    )


def _write_vectors(folder: Path) -> None:
    from psdvec.formats import save
    from psdvec.maps.drawing import draw, write_map
    from psdvec.vectors.embeddings import Embeddings

    vectors = np.random.default_rng(0).standard_normal((40, 6)).astype(np.float32)
    words = tuple(f"w{i}" if i % 3 else f"ä{i}" for i in range(40))
    e = Embeddings(words, vectors, np.arange(40, 0, -1), np.full(40, 0.1, np.float32), tokenizer="whitespace")
    save(e, folder / "vectors.txt")
    save(e, folder / "glove.txt", format="glove")
    save(e, folder / "vectors.bin")
    save(e, folder / "vectors.txt.gz")
    save(e, folder / "vectors.npz")
    np.savez_compressed(folder / "foreign.npz", embeddings=vectors, vocab=np.array(words))
    save(e, folder / "model2vec", format="model2vec")
    save(e, folder / "embeddings", format="model")
    write_map(
        replace(draw(mapped_sample().units, layout="pca"), layout="neighbours"),
        mapped_sample(),
        folder / "map",
    )


def mapped_sample() -> MappedWords:
    """Return the words whose map is among the samples."""
    units = np.eye(40, 6, dtype=np.float32) + np.float32(0.1)
    return MappedWords(np.arange(40), units)


def _write_test_sets(folder: Path) -> None:
    (folder / "pairs.txt").write_text(
        "# pairs\nword1\tword2\tscore\n" + "".join(f"a{i}\tb{i}\t{i / 2}\n" for i in range(20))
    )
    (folder / "choices.txt").write_text("".join(f"q{i} | a{i} | b | c\n" for i in range(20)))
    (folder / "analogies.txt").write_text(
        ": family\n" + "".join(f"he she king{i} queen{i}\n" for i in range(20))
    )
    rows = "The DT B-NP\ncat NN I-NP\nsat VBD B-VP\n\n"
    (folder / "conll.txt").write_text("-DOCSTART- -X- O\n\n" + rows * 6)


def finish_work(folder: Path, name: str, output: Path) -> None:
    """Do the work, or go on with it, of which ``folder`` holds what an interruption left in ``name``."""
    import psdvec
    from psdvec.solver.devices.cpu import Cpu
    from psdvec.text import corpus

    options: dict[str, Any] = {"output": output, "workers": 1, "quiet": True}
    text: dict[str, Any] = {"min_count": 1, "window": 4}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus, "BLOCK_BYTES", 500)
        patch.setattr(Cpu, "words_at_once", 3)
        if name == "count.work":
            count_in_small_runs(patch, chunk=200, cells=500, fan_in=2)
            psdvec.count_pairs(psdvec.read_corpus(folder / "plain.txt"), **text, **options)
        elif name == "cluster.work":
            with _cluster() as client:
                corpus_files = psdvec.read_corpus(folder / "plain.txt")
                options = {"output": output, "quiet": True, "client": client, "block_size": 500}
                psdvec.count_pairs(corpus_files, **text, **options)
        elif name == "fit.work":
            psdvec.fit(folder / "counts", dim=4, **options)
        elif name == "extend.work":
            refresh = psdvec.load(folder / "model").words[:8]
            psdvec.extend(folder / "model", folder / "counts", refresh=refresh, **options)
        elif name == "topics.work":
            documents = folder / "documents.jsonl"
            psdvec.topics(folder / "model", documents, 3, by="year", min_documents=1, **options)
        else:
            psdvec.train(folder / "plain.txt", **text, dim=4, **options)


@contextlib.contextmanager
def _cluster() -> Iterator[Any]:
    """Yield the client of a cluster in this process; what Dask warns of is no fault of what is read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import distributed

        options = {"processes": False, "dashboard_address": "127.0.0.1:0", "memory_limit": "1GB"}
        with (
            distributed.LocalCluster(n_workers=1, threads_per_worker=1, **options) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client


def _write_unfinished_work(folder: Path) -> None:
    """Write what each kind of work leaves if it is stopped just before its end, and what it makes, as ``count``."""
    from psdvec.counts import count
    from psdvec.solver import extend, fit, rounds, train
    from psdvec.topic_model import page

    class StopError(Exception):
        pass

    def stop(*arguments: Any, **_: Any) -> None:
        for argument in arguments:
            if isinstance(argument, Iterator):  # the rows of counts, which are counted as they are asked for
                next(argument)
        raise StopError

    last_steps: dict[str, tuple[Any, str]] = {
        "count.work": (count, "write_counts"),
        "cluster.work": (count, "write_counts"),
        "fit.work": (fit, "write_model"),
        "extend.work": (extend, "write_model"),
        "train.train.work": (train, "fit"),
        "topics.work": (page, "write_topics"),
    }
    for name, (module, function) in last_steps.items():
        output = folder / name.partition(".")[0]
        with pytest.MonkeyPatch.context() as patch, contextlib.suppress(StopError):
            patch.setattr(module, function, stop)
            patch.setattr(rounds, "KEPT_AFTER", 0)
            finish_work(folder, name, output)
        shutil.copytree(folder / name, folder / "kept")
        finish_work(folder, name, output)
        (folder / "kept").rename(folder / name)


def _write_record(folder: Path) -> None:
    """Write a finished step of a comparison, and its record."""
    from psdvec.storage.artefact import seal

    shutil.copytree(folder / "model", folder / "step" / "model")
    record = seal({"key": {"command": ["fit"]}, "cost": {"wall": 1.5, "processor": 2.5, "memory": 10**8}})
    (folder / "step" / "model.json").write_text(json.dumps(record, indent=1))


if __name__ == "__main__":
    write_samples(Path(sys.argv[1]))
