"""The search for good settings, with the same number of tries for every method, on development questions only.

    python -m benchmarks.studies.search CORPUS TESTSETS --work FOLDER [--words 30000] [--dim 100]
    [--methods svd glove ...] [--jobs 2] [--threads 1] [--record FILE]

CORPUS is raw text, plain or compressed. Each method is trained with every entry of ``SETTINGS``, six at most, chosen
from what its authors and Levy, Goldberg and Dagan (2015) advise, and chosen by the development questions of
``benchmarks/studies/split.py`` and nothing else; scores of the other parts are kept for the record. The best of each is
what ``bench_compare --best RECORD`` trains.

Counts, models and results are kept below FOLDER: a run that was killed goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.lib.corpora import add_corpus_arguments, count_once
from benchmarks.lib.measure import PSDVEC, markdown, run, run_script
from benchmarks.lib.records import Records, make_parser, publish
from benchmarks.studies.nine_sets import score
from benchmarks.studies.split import all_parts

import psdvec
from psdvec.errors import InputError
from psdvec.evaluation.tasks import Task
from psdvec.methods import METHODS
from psdvec.methods.run import settings_of

COUNTING = ("window", "weighting", "gaps")

# What stands here replaces a method's defaults; {} is the defaults. ``window``, ``weighting`` and
# ``gaps`` are options of counting, where they are not settings of the method itself.
_PAPER = {"subsample": 1e-3, "negative": 15, "epochs": 5}  # word2vec in the paper whose tables we follow
_FASTTEXT = [
    {"epochs": 5},
    {"epochs": 15},
    {"epochs": 15, "alpha": 0.025},
    {"epochs": 15, "subsample": 1e-5},
    {"epochs": 15, "window": 10},
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
        {"window": 10},
        {"alpha": 0.025},
        {"subsample": 1e-5},
    ],
    "skipgram": [_PAPER, {}, {"negative": 15}, {"window": 10}, {"subsample": 1e-5}, {"epochs": 30}],
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
        {"window": 5, "add_contexts": True},
        {"window": 5, "power": 0.0, "add_contexts": True},
    ],
    "cca": [
        {"window": 2, "power": 0.0},
        {"window": 5, "power": 0.0},
        {"window": 10, "power": 0.0},
        {"window": 5},
        {"window": 10},
        {"window": 5, "power": 0.0, "context_smoothing": 1.0},
    ],
    "fasttext": [*_FASTTEXT, {"epochs": 15, "shortest": 2}],
    "fasttext-cbow": [*_FASTTEXT, {"epochs": 15, "negative": 15}],
    "fasttext-words": [*_FASTTEXT, {"epochs": 15, "exponent": 0.75}],
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
    settings: dict[str, Any]
    result: dict[str, Any]
    vectors: Path

    @property
    def mean(self) -> float:
        """The mean over the development questions."""
        return float(self.result["points"]["development"]["mean"])


def table(record: dict[str, Any]) -> str:
    """Write every try of every method, the best of each in bold, by the development questions alone."""
    rows = []
    for name in dict.fromkeys(one["method"] for one in record["tries"]):
        own = [one for one in record["tries"] if one["method"] == name]
        shown = [f"{describe(one['settings'])} {one['points']['development']['mean']:.1f}" for one in own]
        best = own.index(best_try(own))
        shown[best] = f"**{shown[best]}**"
        rows.append((f"`{name}`", "; ".join(shown)))
    titles = ("method", "settings that differ from its defaults: mean over the development questions")
    what = f"{record['corpus']}, {record['words']:,} words, {record['dim']} dimensions."
    return f"{what}\n\n{markdown(titles, rows, names=2)}"


def best_try(tries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the try of a record with the best mean on the development questions."""
    return max(tries, key=lambda one: one["points"]["development"]["mean"])


def best_settings(record: dict[str, Any]) -> list[str]:
    """Return what ``psdvec compare --set`` takes to train every method with its best try; how it counts is left out."""
    texts = []
    for name in dict.fromkeys(one["method"] for one in record["tries"]):
        best = best_try([one for one in record["tries"] if one["method"] == name])
        own = sort_settings(name, best["settings"])[1]
        texts += [f"{name}.{key}={str(value).lower()}" for key, value in own.items()]
    return texts


def main():
    parser = make_parser(__doc__)
    add_corpus_arguments(parser)
    parser.add_argument("testsets")
    parser.add_argument("--work", type=Path, required=True, help="folder for counts, models and results")
    parser.add_argument("--words", type=int, default=30_000)
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--methods", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--jobs", type=int, default=1, help="how many methods are trained at once")
    parser.add_argument("--threads", type=int, default=1, help="of each")
    options = parser.parse_args()
    tasks = all_parts(options.testsets)
    records = Records(options.work / "search.jsonl")
    jobs = [(name, settings) for name in options.methods for settings in SETTINGS[name]]
    for name, settings in jobs:
        count(name, settings, options)
    first = [job for job in jobs if job[0] != "sparse"]
    tries: list[Try] = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for these in (first, [job for job in jobs if job[0] == "sparse"]):
            train_one = partial(train, tasks=tasks, records=records, tries=tries, options=options)
            tries += pool.map(lambda job, run=train_one: run(*job), these)
    figures = {
        "corpus": Path(options.corpus).name, "words": options.words, "dim": options.dim,
        "tries": [{"method": one.method, "settings": one.settings, **one.result} for one in tries],
    }  # fmt: skip
    publish(figures, table, record=options.record)


def count(name: str, settings: dict[str, Any], options) -> Path:
    """Return the folder of the counts that a method asks for; they are made where they are not there."""
    counting, _ = sort_settings(name, settings)
    return count_once(
        options.corpus, options.work, tokenizer=options.tokenizer, words=options.words, **counting
    )


def train(
    name: str, settings: dict[str, Any], *, tasks: dict[str, list[Task]], records: Records, tries: list[Try], options
) -> Try:  # fmt: skip
    """Train a method with some settings in a process of its own and score it, or find what came of it before."""
    counting, own = sort_settings(name, settings)
    if name == "sparse":
        own["vectors"] = str(best_of("word2vec", tries).vectors)
    key = {
        "method": name, "settings": own, "counting": counting, "dim": options.dim, "words": options.words,
        "corpus": Path(options.corpus).name, "tokenizer": options.tokenizer,
    }  # fmt: skip
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:12]
    vectors = options.work / "models" / f"{name}-{digest}"
    found = records.find(key)
    if found is None:
        command = [*PSDVEC, "fit", count(name, settings, options), "-o", vectors, "--method", name,
                   "--dim", str(options.dim), "--workers", str(options.threads)]  # fmt: skip
        if METHODS[name].reads == "corpus" and "vectors" not in own:
            command += ["--corpus", options.corpus]
        for setting, value in own.items():
            command += ["--set", f"{setting}={str(value).lower() if isinstance(value, bool) else value}"]
        vectors.parent.mkdir(parents=True, exist_ok=True)
        cost = run([*command, "--overwrite", "--quiet"])
        loaded = psdvec.load(vectors)
        points = {part: score(loaded, questions) for part, questions in tasks.items()}
        found = {"processor": cost.processor, "memory": cost.memory, "points": points}
        records.add(key, found)
        print(f"{name}, {describe(settings)}: {points['development']['mean']:.1f}", flush=True)
    return Try(name, settings, found, vectors)


def sort_settings(method: str, settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options of counting and the method's own settings among ``settings``; refuse what is neither."""
    known = settings_of(method)
    own = {name: value for name, value in settings.items() if name in known}
    counting = {name: value for name, value in settings.items() if name in COUNTING and name not in known}
    strange = set(settings) - set(own) - set(counting)
    if strange:
        raise InputError(f"{method} has no setting '{min(strange)}'; its settings are {', '.join(known)}")
    return {**METHODS[method].counting, **counting}, own


def best_of(name: str, tries: list[Try]) -> Try:
    """Return the try of a method with the best mean on the development questions; one without a mean comes last."""
    own = [one for one in tries if one.method == name]
    if not own:
        raise InputError(f"sparse codes the best vectors of {name}; put {name} among --methods too")
    return max(own, key=lambda one: np.nan_to_num(one.mean, nan=-np.inf))


def describe(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items()) or "defaults"


if __name__ == "__main__":
    run_script(main)
