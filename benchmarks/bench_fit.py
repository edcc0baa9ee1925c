"""Quality on nine sets, time and peak memory of count + fit, side by side with gensim's word2vec in one run.

python benchmarks/bench_fit.py CORPUS TESTSETS [--words 50000] [--dim 300] [--recipe default] [--rivals cbow skipgram]

A skip-gram of five epochs takes most of an hour; ``--epochs 1`` trains one, and all epochs take the same time.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nine_sets
from psdvec.solver.model import read_model

WARM_UP = "psdvec.solver.fit.fit(psdvec.count_pairs([['a', 'b', 'c'] * 9] * 9, min_count=1), dim=2)"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    parser.add_argument("testsets")
    parser.add_argument("--words", type=int, default=50_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--recipe", default="default")
    parser.add_argument("--window", type=int, default=20)
    parser.add_argument("--weighting", default="harmonic")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--rivals", nargs="+", choices=("cbow", "skipgram"), default=[])
    parser.add_argument("--epochs", type=int, default=5)
    options = parser.parse_args()
    subprocess.run(
        [sys.executable, "-c", f"import psdvec, psdvec.solver.fit; {WARM_UP}"], check=True
    )  # compile
    with tempfile.TemporaryDirectory() as folder:
        counts, model = Path(folder, "counts"), Path(folder, "model")
        took = [
            timed("count", options.corpus, "-o", counts, "--tokenizer", "whitespace", "--max-words", options.words,
                  "--window", options.window, "--weighting", options.weighting),
            timed("fit", counts, "-o", model, "--dim", options.dim, "--recipe", options.recipe,
                  *(["--rounds", options.rounds] if options.rounds else [])),
        ]  # fmt: skip
        print(f"count {took[0]:.1f} s, fit {took[1]:.1f} s, together {sum(took):.1f} s")
        fitted = read_model(model)
        print("psdvec:", nine_sets.show(nine_sets.score(fitted.words, fitted.vectors, options.testsets)))
        words = set(fitted.words)
    for rival in options.rivals:
        seconds, points = gensim_vectors(options, words, skipgram=rival == "skipgram")
        print(f"gensim {rival}, {options.epochs} epochs: {seconds:.1f} s, {nine_sets.show(points)}")
        print(f"psdvec is {seconds / sum(took):.1f} times as fast")


def timed(*arguments):
    """Run one psdvec command in its own process, show its last lines, and return its seconds."""
    start = time.perf_counter()
    command = [sys.executable, "-c", "from psdvec.cli import main; main()", *map(str, arguments)]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    took = time.perf_counter() - start
    print(*result.stderr.strip().splitlines()[-8:], *result.stdout.strip().splitlines()[-2:], sep="\n  ")
    return took


def gensim_vectors(options, words, *, skipgram):
    """Train with the paper's settings on two workers; the vocabulary is the same."""
    from gensim.models import Word2Vec

    start = time.perf_counter()
    rival = Word2Vec(
        corpus_file=options.corpus, vector_size=options.dim, window=5, negative=15, epochs=options.epochs, workers=2,
        sg=int(skipgram), min_count=5, max_final_vocab=options.words,
    )  # fmt: skip
    took = time.perf_counter() - start
    kept = [word for word in rival.wv.index_to_key if word in words]
    return took, nine_sets.score(kept, rival.wv[kept], options.testsets)


if __name__ == "__main__":
    main()
