"""The text that a benchmark reads: raw, plain or compressed, cut into words by psdvec itself.

Every benchmark that takes a CORPUS takes ``--tokenizer`` too, by default ``paper`` (a-z): the test sets are lower-cased
words, and text that is only cut at blanks has commas stuck to many of them. Programs of others get the same words, as a
file with blanks between them.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.lib.measure import PSDVEC, run

from psdvec.counts.matrix import load_counts
from psdvec.errors import InputError

TOKENIZERS = ("paper", "unicode", "whitespace")


def add_corpus_arguments(parser: argparse.ArgumentParser) -> None:
    """Add CORPUS and --tokenizer."""
    parser.add_argument("corpus", help="raw text, plain or compressed")
    parser.add_argument("--tokenizer", choices=TOKENIZERS, default="paper")


def write_words(corpus: str | Path, path: Path, *, tokenizer: str) -> Path:
    """Write a corpus as words with blanks between them, a sentence a line, and return the path."""
    from psdvec.methods.gensim import write_text
    from psdvec.text.corpus import read_corpus

    write_text(read_corpus(corpus, tokenizer=tokenizer), path)
    return path


def count_together(corpora: Sequence[str | Path], work: Path, *, words: int) -> Path:
    """Return the folder below ``work`` with the counts of several texts together; a command makes it if it is missing.

    They are cut into words by ``paper``, with a window of 20. Counts of other texts are refused.
    """
    folder = work / f"counts-{words}"
    if folder.exists():
        _check_counted(folder, corpora)
        return folder
    work.mkdir(parents=True, exist_ok=True)
    options = ["--tokenizer", "paper", "--max-words", str(words), "--window", "20", "--quiet"]
    run([*PSDVEC, "count", *corpora, "-o", folder, *options])
    return folder


def _check_counted(folder: Path, corpora: Sequence[str | Path]) -> None:
    counted, wanted = (
        sorted(source["name"] for source in load_counts(folder).sources),
        sorted(Path(corpus).name for corpus in corpora),
    )
    if counted != wanted:
        raise InputError(
            f"'{folder}' holds counts of {', '.join(counted)}, not of {', '.join(wanted)}; give another --work"
        )


def count_once(
    corpus: str | Path,
    work: Path,
    *,
    tokenizer: str,
    words: int,
    window: int = 20,
    weighting: str = "harmonic",
    gaps: str = "keep",
) -> Path:
    """Return the folder below ``work`` with these counts of the corpus; they are made where they are not there.

    Where they are, neither the corpus nor a compiler is needed. Counts of another corpus are refused.
    """
    folder = work / "counts" / f"{tokenizer}-{words}-{window}-{weighting.replace(':', '')}-{gaps}"
    if folder.exists():
        _check_counted(folder, [corpus])
        return folder
    from psdvec.counts.count import count_pairs
    from psdvec.text.corpus import read_corpus

    folder.parent.mkdir(parents=True, exist_ok=True)
    count_pairs(
        read_corpus(corpus, tokenizer=tokenizer), max_words=words, window=window, weighting=weighting, gaps=gaps,
        output=folder,
    )  # fmt: skip
    return folder
