"""The search for good settings, with the same number of tries for every method, on development questions only.

    python -m benchmarks.studies.search CORPUS TESTSETS --work FOLDER [--words 50000] [--dim 300]
    [--methods svd glove ...] [--also 'skipgram:sample 1e-4, 15 epochs=vectors.txt' ...]

CORPUS is raw text, plain or compressed. Each method is trained with every entry of ``SETTINGS``, six at most, chosen
from what its authors and Levy, Goldberg and Dagan (2015) advise, and scored on the development questions of
``benchmarks/studies/split.py`` and nothing else. The best of each is what a comparison on the reported questions should
use. ``--also`` judges vectors that were trained elsewhere, such as by the authors' own program, by the same questions
and words; each is one more try of its method.

Counts, models and results are kept below FOLDER: a run that was killed goes on where it was.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.lib.corpora import add_corpus_arguments, count_once
from benchmarks.lib.measure import PSDVEC, run, run_script
from benchmarks.lib.records import Records
from benchmarks.studies.nine_sets import score
from benchmarks.studies.split import development_tasks

import psdvec
from psdvec.counts.matrix import load_counts
from psdvec.errors import InputError, PSDVecError
from psdvec.methods import METHODS
from psdvec.methods.run import settings_of

COUNTING = ("window", "weighting", "gaps")

# What stands here replaces a method's defaults; {} is the defaults. ``window``, ``weighting`` and
# ``gaps`` are options of counting, where they are not settings of the method itself.
_PAPER = {"subsample": 1e-3, "negative": 15, "epochs": 5}  # word2vec in the paper whose tables we follow
_FASTTEXT = [
    {"exponent": 0.5},
    {"exponent": 0.75},
    {"epochs": 15},
    {"epochs": 10, "window": 10},
    {"alpha": 0.025},
    {"epochs": 15, "subsample": 1e-5},
]
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "psdvec": [
        {},
        {"window": 10},
        {"rounds": 12},
        {"smoothing": 0.3},
        {"background": 0.3},
        {"majoriser": 0.3, "unigram": 0.85},
    ],
    "psd": [
        {},
        {"window": 5},
        {"window": 10, "weighting": "harmonic"},
        {"rounds": 8},
        {"smoothing": 0.1},
        {"unigram": 0.75},
    ],
    "word2vec": [
        _PAPER,
        {},
        {"negative": 5},
        {"negative": 5, "window": 10},
        {"negative": 5, "alpha": 0.025},
        {"negative": 5, "subsample": 1e-5},
    ],
    "skipgram": [_PAPER, {"epochs": 5}, {}, {"negative": 15}, {"window": 10}, {"subsample": 1e-5}],
    "glove": [
        {"x_max": 10.0, "epochs": 15},
        {"x_max": 10.0, "epochs": 25},
        {"x_max": 10.0, "epochs": 50},
        {"x_max": 100.0, "epochs": 15},
        {"x_max": 100.0, "epochs": 25},
        {"x_max": 100.0, "epochs": 50},
    ],
    "ppmi": [
        {"window": 2},
        {"window": 5},
        {"window": 10},
        {"window": 2, "shift": 5.0},
        {"window": 5, "shift": 5.0},
        {"window": 10, "shift": 5.0},
    ],
    "svd": [
        {"window": 2},
        {"window": 5},
        {"window": 10},
        {"window": 5, "power": 0.0},
        {"window": 5, "power": 0.0, "add_contexts": True},
        {"window": 5, "shift": 5.0},
    ],
    "cca": [
        {"window": 2, "power": 0.0},
        {"window": 5, "power": 0.0},
        {"window": 10, "power": 0.0},
        {"window": 5},
        {"window": 10},
        {"window": 5, "power": 0.0, "context_smoothing": 1.0},
    ],
    "fasttext": _FASTTEXT,
    "fasttext-words": _FASTTEXT,
    "sparse": [  # codes of the best vectors of word2vec, so it comes after it
        {"l1": 0.05},
        {"l1": 0.1},
        {"l1": 0.2},
        {"l1": 0.5},
        {"l1": 0.1, "factor": 10},
        {"l1": 0.1, "nonnegative": True},
    ],
}


class Try(NamedTuple):
    """A method with some settings, what came of it, and where its vectors are."""

    method: str
    setting: str
    result: dict[str, Any]
    vectors: Path


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_corpus_arguments(parser)
    parser.add_argument("testsets")
    parser.add_argument("--work", type=Path, required=True, help="folder for counts, models and results")
    parser.add_argument("--words", type=int, default=50_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--methods", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--also", nargs="+", default=[], metavar="METHOD:SETTING=PATH")
    parser.add_argument("--epochs", type=int, help="instead of those of the settings, to try the script")
    options = parser.parse_args()
    also = [parse_also(text) for text in options.also]
    tasks = development_tasks(options.testsets)
    records = Records(options.work / "search.jsonl")
    tries: list[Try] = []
    print("| method | setting | development | seconds | peak memory |\n|---|---|---|---|---|")
    for name, setting, path in also:
        tries.append(judge_other(name, setting, path, tasks, records, options))
        show(tries[-1])
    for name in sorted(options.methods, key=list(SETTINGS).index):
        for settings in SETTINGS[name]:
            try:
                tries.append(train(name, settings, tasks, records, tries, options))
            except PSDVecError as error:
                # The others are still worth having, and the next run tries this one again.
                print(f"| {name} | {describe(settings)} | {error} | | |", flush=True)
            else:
                show(tries[-1])
    print("\n| method | the best of | setting | development |\n|---|---|---|---|")
    for name in dict.fromkeys(one.method for one in tries):
        best, number = best_of(name, tries), sum(one.method == name for one in tries)
        print(f"| {name} | {number} | {best.setting} | {best.result['points']['mean']:.1f} |")


def train(name: str, settings: dict[str, Any], tasks, records: Records, tries: list[Try], options) -> Try:
    """Train a method with some settings in a process of its own and score it, or find what came of it before."""
    if options.epochs and "epochs" in settings_of(name):
        settings = {**settings, "epochs": options.epochs}
    counting, own = sort_settings(name, settings)
    if name == "sparse":
        own["vectors"] = str(best_of("word2vec", tries).vectors)
    key = {
        "method": name, "settings": own, "counting": counting, "dim": options.dim, **common_key(tasks, options)
    }  # fmt: skip
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:12]
    vectors = options.work / "models" / f"{name}-{digest}"
    found = records.find(key)
    if found is None:
        counts = count_once(
            options.corpus, options.work, tokenizer=options.tokenizer, words=options.words, **counting
        )
        command = [*PSDVEC, "fit", counts, "-o", vectors, "--method", name, "--dim", str(options.dim)]
        if METHODS[name].reads == "corpus" and "vectors" not in own:
            command += ["--corpus", options.corpus]
        for setting, value in own.items():
            command += ["--set", f"{setting}={str(value).lower() if isinstance(value, bool) else value}"]
        vectors.parent.mkdir(parents=True, exist_ok=True)
        cost = run([*command, "--overwrite", "--quiet"])
        found = {"seconds": cost.wall, "memory": cost.memory, "points": score(psdvec.load(vectors), tasks)}
        records.add(key, found)
    return Try(name, describe(settings), found, vectors)


def judge_other(name: str, setting: str, path: Path, tasks, records: Records, options) -> Try:
    """Score vectors that were trained elsewhere, those of the words that the other methods have."""
    key = {"method": name, "file": str(path), "changed": path.stat().st_mtime, **common_key(tasks, options)}
    found = records.find(key)
    if found is None:
        counts = count_once(options.corpus, options.work, tokenizer=options.tokenizer, words=options.words)
        words, given = load_counts(counts).vocabulary.words, psdvec.load(path)
        shared = given.select([word for word in words if word in given])
        found = {"points": score(shared, tasks)}
        records.add(key, found)
    return Try(name, setting, found, path)


def sort_settings(method: str, settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options of counting and the method's own settings among ``settings``; refuse what is neither."""
    known = settings_of(method)
    own = {name: value for name, value in settings.items() if name in known}
    counting = {name: value for name, value in settings.items() if name in COUNTING and name not in known}
    strange = set(settings) - set(own) - set(counting)
    if strange:
        raise InputError(f"{method} has no setting '{min(strange)}'; its settings are {', '.join(known)}")
    return {**METHODS[method].counting, **counting}, own


def parse_also(text: str) -> tuple[str, str, Path]:
    """Read ``METHOD:SETTING=PATH``; the setting may hold any sign, for it is only shown.

    >>> parse_also("skipgram:sample=1e-4, 15 epochs=/dev/null")
    ('skipgram', 'sample=1e-4, 15 epochs', PosixPath('/dev/null'))
    """
    left, equals, path = text.rpartition("=")
    name, colon, setting = left.partition(":")
    if not equals or not colon or name not in SETTINGS:
        raise InputError(
            f"'{text}' names no vectors; write METHOD:SETTING=PATH, where METHOD is one of {', '.join(SETTINGS)}"
        )
    if not Path(path).exists():
        raise InputError(f"there is no '{path}'; check the name")
    return name, setting, Path(path)


def best_of(name: str, tries: list[Try]) -> Try:
    """Return the try of a method with the best mean on the development questions; one without a mean comes last."""
    own = [one for one in tries if one.method == name]
    if not own:
        raise InputError(f"sparse codes the best vectors of {name}; put {name} among --methods too")
    return max(own, key=lambda one: np.nan_to_num(one.result["points"]["mean"], nan=-np.inf))


def common_key(tasks, options) -> dict[str, Any]:
    """Return what all results depend on: the text, its words and the questions."""
    return {
        "corpus": Path(options.corpus).name, "tokenizer": options.tokenizer, "words": options.words,
        "questions": {task.name: len(task.items) for task in tasks},
    }  # fmt: skip


def describe(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items()) or "defaults"


def show(one: Try) -> None:
    result = one.result
    known = "seconds" in result
    cost = [f"{result['seconds']:.0f}", f"{result['memory'] / 1e9:.1f} GB"] if known else ["", ""]
    row = [one.method, one.setting, f"{result['points']['mean']:.1f}", *cost]
    print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    run_script(main)
