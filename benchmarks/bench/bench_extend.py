"""Words that come later: what they lose against being fitted together, and what other ways to place them would give.

    python -m benchmarks.bench.bench_extend CORPUS TESTSETS [--domain CORPUS2] [--words 50000] [--dim 300]
    [--held-out 500] [--fasttext] [--record FILE]

CORPUS is raw text, plain or compressed. Some words of the test sets are left out of the fit and placed afterwards, from
the same counts (and from those of CORPUS2). Most questions of the nine sets hold none of them, and change only because
the other words are fitted without them; so the questions that hold one stand in a column of their own, over the sets
that have at least ten of them, and these sets beside it. The rows:

- *fitted together*: nothing was left out, which is what the others are measured by;
- *placed*: ``psdvec.extend``;
- *à la carte* (Khodak et al. 2018): the mean of the vectors around a word, times the matrix that best turns such means
  into the vectors of the words that were fitted;
- *by spelling alone*: as words that nobody has seen, which is what fastText does;
- *fastText*, with ``--fasttext``: once trained with all words, and once without those left out, whose vectors are then
  made of their subwords. Its rows are to be compared with each other. This takes long.

With ``--domain``, the nearest words of the most frequent words that the model lacks are printed too.
"""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.lib.corpora import add_corpus_arguments, write_words
from benchmarks.lib.measure import run_script
from benchmarks.lib.records import make_parser, write_record
from benchmarks.studies.nine_sets import nine_tasks, score, test_words
from benchmarks.studies.split import take

from psdvec.counts.count import count_pairs
from psdvec.counts.matrix import Cooccurrence
from psdvec.counts.vocabulary import Vocabulary
from psdvec.errors import InputError
from psdvec.evaluation.tasks import Task
from psdvec.methods.matrices import context_matrix
from psdvec.resources import format_size, resolve_workers
from psdvec.solver.extend import extend
from psdvec.solver.fit import fit
from psdvec.system import peak_memory
from psdvec.text.corpus import read_corpus
from psdvec.vectors.embeddings import Embeddings

FEWEST = 10  # questions with a word left out that a set must have, to be in the mean over such questions


def main():
    parser = make_parser(__doc__)
    add_corpus_arguments(parser)
    parser.add_argument("testsets")
    parser.add_argument("--domain", help="another corpus, to place the words from")
    parser.add_argument("--words", type=int, default=50_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--held-out", type=int, default=500)
    parser.add_argument("--first-rank", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="of the choice of the words left out")
    parser.add_argument("--ridge", nargs="+", default=["auto"])
    parser.add_argument("--unigrams", nargs="+", default=["corpus"])
    parser.add_argument("--fasttext", action="store_true")
    parser.add_argument("--epochs", type=int, default=5, help="of fastText")
    options = parser.parse_args()
    tasks = nine_tasks(options.testsets)
    counts = count(options.corpus, options)
    known = test_words(options.testsets)
    candidates = [word for word in counts.vocabulary.words[options.first_rank :] if word in known]
    if len(candidates) < options.held_out:
        raise InputError(
            f"only {len(candidates):,} words of the test sets have a rank above {options.first_rank:,} here; give a "
            "smaller --held-out or --first-rank, or a larger corpus"
        )
    out = np.random.default_rng(options.seed).choice(candidates, options.held_out, replace=False).tolist()
    rows = Rows(tasks, out, counts.vocabulary)
    joint, took = timed(lambda: fit(counts, dim=options.dim, changes={"rounds": options.rounds}))
    rows.add("fitted together", joint, f"{took:.0f} s in all")
    model = fit(without(counts, set(out)), dim=options.dim, changes={"rounds": options.rounds})
    place_words(rows, "placed", model, counts, out, options)
    placed, took = timed(lambda: a_la_carte(model, counts, out))
    rows.add("à la carte", placed, f"{took:.0f} s in all")
    spelled, took = timed(lambda: model.with_spelled(out))
    rows.add("by spelling alone", spelled, each(took, out))
    if options.domain:
        other = count(options.domain, options)
        place_words(rows, "placed from the domain", model, other, out, options)
    if options.fasttext:
        add_fasttext(rows, counts.vocabulary, out, options)
    print(f"\npeak memory {format_size(peak_memory())}")
    if options.record:
        write_record(options.record, {"columns": rows.columns, "rows": rows.found})
    if options.domain:
        show_neighbours(joint, other)


def count(corpus, options) -> Cooccurrence:
    return count_pairs(read_corpus(corpus, tokenizer=options.tokenizer), max_words=options.words)


def table(record: dict[str, Any]) -> str:
    """Write the rows of a record."""
    return "\n".join([as_header(record["columns"]), *(as_row(row) for row in record["rows"])])


def as_header(columns: Sequence[str]) -> str:
    return f"| | {' | '.join(columns)} |\n|---|{'---:|' * len(columns)}"


def as_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


class Rows:
    """Rows that are printed as they are found: means over all questions, and over those that hold a word left out."""

    def __init__(self, tasks: Sequence[Task], out: Collection[str], vocabulary: Vocabulary) -> None:
        self.tasks = tasks
        known, left = set(vocabulary.words), set(out)
        covered = [take(task, places_of(task, lambda item: item <= known)) for task in tasks]
        holding = [take(task, places_of(task, lambda item: item & left)) for task in covered]
        self.others = [take(task, places_of(task, lambda item: not item & left)) for task in covered]
        self.holding = [task for task in holding if len(task.items) >= FEWEST]
        share = sum(len(task.items) for task in holding) / sum(len(task.items) for task in covered)
        dropped = [task.name for task in holding if len(task.items) < FEWEST]
        print(
            f"{len(out)} words left out; of the questions that {len(vocabulary):,} words cover, {share:.0%} hold one"
            + (f"; fewer than {FEWEST} do in {', '.join(dropped)}" if dropped else "")
        )
        print(
            "questions that do: " + ", ".join(f"{len(task.items):,} of {task.name}" for task in self.holding)
        )
        names = [task.name for task in self.holding]
        self.columns = ["all questions", "without such a word", "with one", *names, "time"]
        self.found: list[list[str]] = []
        print(f"\n{as_header(self.columns)}")

    def add(self, name: str, embeddings: Embeddings, time_taken: str) -> None:
        """Score one way to have vectors of all words and print its row."""
        parts = [score(embeddings, tasks) for tasks in (self.tasks, self.others, self.holding)]
        points = [value for column, value in parts[-1].items() if column != "mean"]
        numbers = [f"{value:.1f}" for value in (*(part["mean"] for part in parts), *points)]
        self.found.append([name, *numbers, time_taken])
        print(as_row(self.found[-1]), flush=True)


def places_of(task: Task, holds) -> list[int]:
    return [place for place, item in enumerate(task.items) if holds({word.lower() for word in item})]


def timed(work):
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def each(seconds: float, words: Sequence[str]) -> str:
    return f"{1000 * seconds / len(words):.1f} ms a word"


def place_words(rows, name, model, store, out, options):
    """Place the words by every ridge and every kind of unigrams asked for."""
    words = [word for word in out if word in store.vocabulary]
    for ridge, unigrams in itertools.product(options.ridge, options.unigrams):
        start = time.perf_counter()
        placed = extend(model, store, words=words, ridge=ridge, unigrams=unigrams)
        took = each(time.perf_counter() - start, words)
        rows.add(f"{name}, ridge {ridge}, unigrams of the {unigrams}", placed, took)


def a_la_carte(model, counts: Cooccurrence, words: Sequence[str]) -> Embeddings:
    """Return the model and ``words`` placed by v = A u, where u is the mean of the vectors around a word."""
    H = context_matrix(counts)
    ids = counts.vocabulary.ids
    core, new = ([ids[word] for word in group] for group in (model.words, words))
    V = np.asarray(model.vectors, np.float64)
    U = means(H[core][:, core], V)
    A = np.linalg.lstsq(U, V, rcond=None)[0]  # min Σ |v - u A|², over the words that were fitted
    placed = means(H[new][:, core], V) @ A
    return Embeddings((*model.words, *words), np.concatenate([V, placed]).astype(np.float32))


def means(H, V):
    """Return the mean of the vectors ``V`` around each word, weighted by the counts ``H`` of its contexts."""
    return (H @ V) / np.maximum(np.asarray(H.sum(axis=1)), 1e-12)[:, None]


def add_fasttext(rows, vocabulary, out, options):
    """Train fastText with all the words and without some, and add both rows."""
    with tempfile.TemporaryDirectory(prefix="bench-extend-") as folder:
        text = write_words(options.corpus, Path(folder, "words"), tokenizer=options.tokenizer)
        for name, unseen in (("fastText, all words", set()), ("fastText, made of subwords", set(out))):
            seen = {word: count for word, count in counts_of(vocabulary).items() if word not in unseen}
            vectors, took = timed(lambda seen=seen: train_fasttext(text, seen, vocabulary.words, options))
            rows.add(name, vectors, f"{took:.0f} s in all")


def counts_of(vocabulary: Vocabulary) -> dict[str, int]:
    return dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True))


def train_fasttext(text: Path, seen: Mapping[str, int], words: Sequence[str], options) -> Embeddings:
    """Train skip-gram with subwords on the words ``seen``, and return vectors of ``words``, whether seen or not."""
    from gensim.models import FastText

    model = FastText(
        vector_size=options.dim, sg=1, window=5, negative=5, sample=1e-4, alpha=0.05, min_count=1,
        epochs=options.epochs, workers=resolve_workers(None),
    )  # fmt: skip
    model.build_vocab_from_freq(dict(seen))
    tokens = sum(len(line.split()) for line in text.open(encoding="utf-8"))
    model.train(corpus_file=str(text), total_words=tokens, epochs=model.epochs)
    return Embeddings(tuple(words), np.array([model.wv[word] for word in words]))


def show_neighbours(model, store, *, words=20, neighbours=10):
    """Show the nearest words of the most frequent unknown words of a domain."""
    unknown = [word for word in store.vocabulary.words if word not in model.key_to_index and len(word) > 3]
    new = extend(model, store, words=unknown[:300])
    print("\nthe most frequent words that the model lacks, and those nearest to them:")
    for word in new.learned[:words]:
        print(f"  {word}: {', '.join(other for other, _ in new.most_similar(word, topn=neighbours))}")


def without(counts, out):
    """Return the counts without some words' rows and columns."""
    keep = np.array([word not in out for word in counts.vocabulary.words])
    rows = np.repeat(np.arange(len(keep)), np.diff(counts.indptr))
    cells = keep[rows] & keep[counts.indices]
    new_ids = np.cumsum(keep) - 1
    sizes = np.bincount(new_ids[rows[cells]], minlength=int(keep.sum()))
    vocabulary = Vocabulary(
        tuple(word for word in counts.vocabulary.words if word not in out), counts.vocabulary.counts[keep]
    )
    return replace(
        counts, vocabulary=vocabulary, indptr=np.concatenate([[0], np.cumsum(sizes)]),
        indices=new_ids[counts.indices[cells]].astype(np.int32), values=np.array(counts.values[cells]),
    )  # fmt: skip


if __name__ == "__main__":
    run_script(main)
