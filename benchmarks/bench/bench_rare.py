"""Rare Words with all its pairs: words that were fitted, words placed beside them, and words that were never seen.

    python -m benchmarks.bench.bench_rare CORPUS TESTSETS [--words 50000] [--dim 300] [--fasttext]
    [--record FILE]

CORPUS is raw text, plain or compressed. The most frequent words are fitted. Of the words of the test set beyond them,
those that occur in the corpus are counted and can be placed; the others are unseen. The rows:

- *spelling off*: fitted without spelling, and no word beyond those has a vector;
- *spelling off, placed*: the same, and the words that occur are placed by ``psdvec.extend``;
- *spelling alone*: all words beyond the fitted ones have the vectors of their spelling;
- *placed and spelling*: the words that occur are placed around what their spelling says, the unseen ones have it alone;
- *fastText*, with ``--fasttext``: trained on all words that are fitted or placed above, the unseen ones made of their
  subwords. This takes long.

Figures are Spearman correlations times 100: over the pairs that are covered, both words having vectors; over all pairs,
where a word without a vector has cosine 0 with every other; and by what the corpus knows of the two words, over the
pairs that are covered.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from benchmarks.bench.bench_extend import as_header, as_row, counts_of, table, timed, train_fasttext
from benchmarks.lib.corpora import add_corpus_arguments, write_words
from benchmarks.lib.measure import run_script
from benchmarks.lib.records import make_parser, write_record
from benchmarks.studies.nine_sets import named_tasks
from benchmarks.studies.split import take

from psdvec.counts.count import count_pairs
from psdvec.counts.vocabulary import Vocabulary
from psdvec.evaluation.evaluate import evaluate
from psdvec.evaluation.tasks import Pairs
from psdvec.resources import format_size
from psdvec.solver.extend import extend
from psdvec.solver.fit import fit
from psdvec.system import peak_memory
from psdvec.text.corpus import read_corpus
from psdvec.vectors.embeddings import Embeddings

FEWEST = 10  # pairs with vectors that a kind must have, to have a correlation
FITTED, PLACED, UNSEEN = "fitted", "placed", "unseen"

__all__ = ["table"]  # of the records of this benchmark too


def main():
    parser = make_parser(__doc__)
    add_corpus_arguments(parser)
    parser.add_argument("testsets")
    parser.add_argument("--words", type=int, default=50_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--fasttext", action="store_true")
    parser.add_argument("--epochs", type=int, default=5, help="of fastText")
    options = parser.parse_args()
    (task,) = named_tasks(["rare-words"], options.testsets)
    corpus = read_corpus(options.corpus, tokenizer=options.tokenizer)
    counts = count_pairs(corpus, max_words=options.words)
    wanted = sorted({word.lower() for item in task.items for word in item} - set(counts.vocabulary.words))
    all_counts = count_pairs(corpus, vocabulary=[*counts.vocabulary.words, *wanted])
    vocabulary = all_counts.vocabulary
    occurring = [word for word in wanted if vocabulary.counts[vocabulary.ids[word]]]
    rows = Rows(task, fitted=counts.vocabulary.words, occurring=occurring)
    plain = fit(counts, dim=options.dim, changes={"spelling": "off"})
    rows.add("spelling off", plain)
    rows.add("spelling off, placed", extend(plain, all_counts, words=occurring))
    model = fit(counts, dim=options.dim)
    rows.add("spelling alone", model.with_spelled(wanted))
    placed = extend(model, all_counts, words=occurring)
    rows.add("placed and spelling", placed.with_spelled(wanted))
    if options.fasttext:
        vectors, took = timed(lambda: fasttext(vocabulary, options))
        rows.add(f"fastText, {took:.0f} s", vectors)
    print(f"\n{len(occurring):,} words placed, of which {len(placed.unplaced):,} had too few contexts")
    print(f"peak memory {format_size(peak_memory())}")
    if options.record:
        write_record(options.record, {"columns": rows.columns, "rows": rows.found})


class Rows:
    """Rows that are printed as they are found: correlations over covered pairs, over all, and by kind of pair."""

    def __init__(self, task: Pairs, *, fitted: Collection[str], occurring: Collection[str]) -> None:
        self.task = task
        self.parts = by_kind(task, state_of(fitted, occurring))
        sizes = [f"{kind} ({len(part.items):,})" for kind, part in self.parts.items()]
        self.columns = ["covered", f"all ({len(task.items):,})", *sizes]
        self.found: list[list[str]] = []
        print(f"\n{as_header(self.columns)}")

    def add(self, name: str, embeddings: Embeddings) -> None:
        """Score one way to have vectors and print its row."""
        covered, number = correlation(embeddings, self.task)
        everything, _ = correlation(embeddings, self.task, oov="zero")
        parts = [correlation(embeddings, part) for part in self.parts.values()]
        cells = [f"{covered:.1f} ({number:,})", f"{everything:.1f}"]
        cells += [f"{value:.1f}" if pairs >= FEWEST else "" for value, pairs in parts]
        self.found.append([name, *cells])
        print(as_row(self.found[-1]), flush=True)


def state_of(fitted: Collection[str], occurring: Collection[str]) -> Mapping[str, str]:
    """Return what the corpus knows of each word; words that are missing here are unseen."""
    return dict.fromkeys(occurring, PLACED) | dict.fromkeys(fitted, FITTED)


def by_kind(task: Pairs, states: Mapping[str, str]) -> dict[str, Pairs]:
    """Return the pairs by what is known of their two words, from the best known to the least."""
    order = (FITTED, PLACED, UNSEEN)
    places: dict[tuple[str, ...], list[int]] = {}
    for place, item in enumerate(task.items):
        found = sorted((states.get(word.lower(), UNSEEN) for word in item), key=order.index)
        places.setdefault(tuple(found), []).append(place)
    kinds = sorted(places, key=lambda kind: [order.index(state) for state in kind])
    return {name_of(kind): take(task, places[kind]) for kind in kinds}


def name_of(kind: Sequence[str]) -> str:
    first, second = kind
    return f"both {first}" if first == second else f"{first}, {second}"


def correlation(embeddings: Embeddings, task: Pairs, *, oov: str = "skip") -> tuple[float, int]:
    """Return 100 times the correlation over the pairs that ``oov`` lets in, and how many pairs have vectors."""
    score = evaluate(embeddings, [task], oov=oov, resamples=0).get("model", task.name)
    return 100 * score.value, score.covered


def fasttext(vocabulary: Vocabulary, options: argparse.Namespace) -> Embeddings:
    """Train on the words that occur, and return vectors of all words."""
    seen = {word: count for word, count in counts_of(vocabulary).items() if count}
    with tempfile.TemporaryDirectory(prefix="bench-rare-") as folder:
        text = write_words(options.corpus, Path(folder, "words"), tokenizer=options.tokenizer)
        return train_fasttext(text, seen, vocabulary.words, options)


if __name__ == "__main__":
    run_script(main)
