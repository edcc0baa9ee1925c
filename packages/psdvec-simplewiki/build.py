"""Make the model of this package from a text of Simple English Wikipedia, or from a dump of it.

    python packages/psdvec-simplewiki/build.py simplewiki-latest-pages-articles.xml.bz2
    python -m build packages/psdvec-simplewiki

A dump, which has ``.xml`` in its name, is made plain text first. Then the pairs of the 20,000 most frequent words are
counted, 200 dimensions fitted, and the model is written compactly, as :mod:`psdvec.publishing.compact` says, into the
folder ``psdvec_simplewiki/simplewiki``. The same text gives the same bytes on the same kind of machine. Numbers were
chosen so that the wheel has less than 6 MB: ``benchmarks/bench/bench_boxed.py`` compares others.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import psdvec
from psdvec.errors import PSDVecError
from psdvec.progress import LogProgress, Progress
from psdvec.publishing.card import Loss
from psdvec.publishing.compact import compact
from psdvec.text.wikipedia import extract

WORDS, DIM, NGRAMS = 20_000, 200, 23_000
ABOUT = {
    "title": "Simple English Wikipedia: something to ask, and to add words to",
    "licence": "CC-BY-SA-4.0, https://creativecommons.org/licenses/by-sa/4.0/",
    "attribution": "made from the text of Simple English Wikipedia by its contributors, https://simple.wikipedia.org",
}
HERE = Path(__file__).parent / "psdvec_simplewiki" / "simplewiki"


def build(
    source: Path,
    output: Path = HERE,
    *,
    words: int = WORDS,
    dim: int = DIM,
    ngrams: int = NGRAMS,
    workers: int | None = None,
    progress: Progress = LogProgress(),
) -> Loss:
    """Make the model at ``output``, and return what its few bytes lose."""
    how = {"workers": workers, "progress": progress}
    with tempfile.TemporaryDirectory(prefix="psdvec-simplewiki-") as folder:
        text = source
        if ".xml" in source.name:
            text = Path(folder) / f"{source.name.partition('.')[0]}.txt"
            extract(str(source), str(text), **how)
        counts = psdvec.count_pairs(text, max_words=words, output=Path(folder) / "simplewiki-counts", **how)
        model = psdvec.fit(counts, dim=dim, **how)
        return compact(model, output, ngrams=ngrams, about=ABOUT, overwrite=True, progress=progress)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=Path, help="text, plain or compressed, or a dump")
    parser.add_argument("--output", type=Path, default=HERE, help="folder to write the model to")
    parser.add_argument("--words", type=int, default=WORDS)
    parser.add_argument("--dim", type=int, default=DIM)
    parser.add_argument("--ngrams", type=int, default=NGRAMS)
    parser.add_argument("--workers", type=int, help="number of threads; default: one per core")
    options = parser.parse_args()
    try:
        loss = build(**vars(options))
    except PSDVecError as error:
        sys.exit(f"build.py: {error}")
    print(f"written to {options.output}; mean cosine with the exact vectors {loss.cosine:.4f}, of the ten "
          f"nearest words {loss.kept:.1%} are the same")  # fmt: skip


if __name__ == "__main__":
    main()
