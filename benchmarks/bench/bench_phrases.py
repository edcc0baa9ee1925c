"""Phrases against gensim's: time from text to text, precision by titles of articles, and the phrase analogies.

    python -m benchmarks.bench.bench_phrases enwiki-38m.txt --work W --articles simplewiki.txt
    python -m benchmarks.bench.bench_phrases enwiki-38m.txt --work W --questions questions-phrases.txt

Phrases are found in the text. Articles are a text in which each has its title as the first line after an empty one:
titles of several words are what the first phrases of each list are compared with (our discount was
tried against some of them). gensim is given
the text cut into words already; what its own tokenizer takes, once for finding and once for joining, is measured apart.
It finds pairs of words, ours are of two to five. Both count from five occurrences on. The models with and without
phrases, which are asked the questions, are trained alike, once, and kept.
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.lib.measure import PSDVEC, markdown, run, run_script
from benchmarks.lib.records import make_parser, write_record

import psdvec
from psdvec.evaluation.tasks import read_task
from psdvec.text.phrases import read_phrases
from psdvec.text.tokenizers import split_words
from psdvec.vectors.embeddings import Embeddings, append_words

FIRST = (1_000, 10_000)  # phrases that are judged
MIN_COUNT, THRESHOLD = 5, 10.0  # gensim's defaults
TRAINED = {
    "without": "without phrases",
    "means": "the same, and for each phrase of the questions the mean of its words",
    "with": "with phrases",
}
NAMES = {"psdvec": "psdvec", "default": "gensim, default score", "npmi": "gensim, NPMI"}


def cut_only(text: Path, target: Path) -> None:
    """Write the text cut into words."""
    corpus = psdvec.read_corpus(text)
    with target.open("wb") as file:
        for block in corpus.blocks():
            file.write(corpus.space(block)[0].tobytes())


def run_gensim(text: Path, cut: Path, work: Path) -> None:
    """Find and join phrases by gensim, print what that cost, and write its phrases by both of its scores.

    What it takes to cut the text into words, once, is measured apart.
    """
    from gensim.models.phrases import ENGLISH_CONNECTOR_WORDS, npmi_scorer
    from gensim.models.phrases import Phrases as Found
    from gensim.models.word2vec import LineSentence
    from gensim.utils import tokenize

    begin = time.perf_counter()
    found = Found(
        LineSentence(str(cut)),
        min_count=MIN_COUNT,
        threshold=THRESHOLD,
        connector_words=ENGLISH_CONNECTOR_WORDS,
    )
    frozen = found.freeze()
    finding = time.perf_counter() - begin, time.process_time()
    with (work / "gensim.txt").open("w", encoding="utf-8") as file:
        for sentence in LineSentence(str(cut)):
            file.write(" ".join(frozen[sentence]) + "\n")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    cost = {"wall": time.perf_counter() - begin, "processor": time.process_time(), "memory": peak}
    before = time.perf_counter(), time.process_time()
    with text.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            list(tokenize(line, lowercase=True))
    cutting = {"wall": time.perf_counter() - before[0], "processor": time.process_time() - before[1]}
    print(json.dumps({**cost, "finding": finding, "phrases": len(frozen.phrasegrams), "cutting": cutting}))
    write_list(work / "default.json", frozen.phrasegrams)
    found.scoring, found.threshold = npmi_scorer, -1.0
    write_list(work / "npmi.json", found.export_phrases())


def write_list(path: Path, scores: dict[str, float]) -> None:
    """Write the first phrases of gensim, the best first."""
    best = sorted(scores, key=lambda phrase: (-scores[phrase], phrase))[: max(FIRST)]
    path.write_text(json.dumps([phrase.replace("_", " ") for phrase in best]), encoding="utf-8")


def titles_of(articles: Path) -> set[str]:
    """Return the titles of several words, as the tokenizer writes them, without what stands in brackets."""
    titles, before = set(), ""
    with articles.open(encoding="utf-8") as lines:
        for line in lines:
            if not before.strip():
                words = split_words(re.sub(r"\s*\(.*\)$", "", line.strip()), tokenizer="unicode")
                if len(words) > 1:
                    titles.add(" ".join(words))
            before = line
    return titles


def precision(phrases: list[str], titles: set[str]) -> dict[str, float]:
    """Return which share of the first phrases are titles, of all of them and of those of two words."""
    pairs = [phrase for phrase in phrases if phrase.count(" ") == 1]
    return {
        f"{name} {first}": round(float(np.mean([phrase in titles for phrase in listed[:first]])), 4)
        for name, listed in (("all", phrases), ("pairs", pairs))
        for first in FIRST
    }


def analogies(text: Path, questions: Path, work: Path, *, words: int, dim: int) -> dict[str, Any]:
    """Return coverage and accuracy of the phrase analogies, of models without and with phrases, each trained once.

    Of the model without, also with a vector for each phrase of the questions: the mean of those of its words.
    """
    task, found = read_task(questions), {}
    if not (work / "phrases.txt").exists():
        run([*PSDVEC, "phrases", text, "-o", work / "phrases.txt", "-q"])
    for name, option in (("without", []), ("with", ["--phrases", work / "phrases.txt"])):
        size, folder = ["--max-words", str(words), "--dim", str(dim)], work / f"{name}-{words}-{dim}"
        if not folder.exists():
            run([*PSDVEC, "train", text, *option, *size, "-o", folder, "-q"])
        model = psdvec.load(folder)
        found[name] = asked(model, task)
        if name == "without":
            found["means"] = asked(with_means(model, questions), task)
    return found


def asked(model: Embeddings, task: Any) -> dict[str, Any]:
    """Return how many questions the vectors cover, and how many of these they answer."""
    score = psdvec.evaluate(model, [task], resamples=0).get("model", task.name)
    return {
        "right": round(score.value * score.covered) if score.covered else 0, "covered": score.covered,
        "questions": score.total, "phrases": sum("_" in word for word in model.words),
    }  # fmt: skip


def with_means(model: Embeddings, questions: Path) -> Embeddings:
    """Return ``model`` with a vector for each phrase of ``questions`` whose words all have one: their mean."""
    asked = set(questions.read_text(encoding="utf-8").lower().split())
    known = [word for word in sorted(asked) if "_" in word and all(part in model for part in word.split("_"))]
    vectors = np.array([model[word.split("_")].mean(axis=0) for word in known], np.float32)
    return append_words(
        model, known, vectors, np.zeros(len(known), np.int64), np.full(len(known), np.nan, np.float32)
    )


def times(record: dict[str, Any]) -> str:
    """Write what finding and joining cost, with our command and with gensim, which reads the text twice."""
    ours, theirs = record["psdvec"], record["gensim"]
    cutting = {name: 2 * seconds for name, seconds in theirs["cutting"].items()}
    whole = {name: theirs[name] + cutting[name] for name in cutting}
    rows = [
        ("psdvec, text to text", f"{ours['phrases']:,} of 2 to 5 words", ours, f"{ours['memory'] / 1e9:.1f} GB"),
        ("gensim, words to text", f"{theirs['phrases']:,} of 2 words", theirs, f"{theirs['memory'] / 1e9:.1f} GB"),
        ("gensim's tokenizer, twice", "", cutting, ""),
        ("gensim, text to text", "", whole, ""),
    ]  # fmt: skip
    lines = ["| | phrases | wall s | processor s | times ours | memory |", "|---|---:|---:|---:|---:|---:|"]
    for name, phrases, cost, memory in rows:
        ratios = f"{cost['wall'] / ours['wall']:.1f}, {cost['processor'] / ours['processor']:.1f}"
        lines.append(
            f"| {name} | {phrases} | {cost['wall']:.0f} | {cost['processor']:.0f} | {ratios} | {memory} |"
        )
    return "\n".join(lines)


def precisions(record: dict[str, Any]) -> str:
    """Write which share of the first phrases are titles."""
    columns = [f"{name} {first}" for first in FIRST for name in ("all", "pairs")]
    heads = [f"first {first:,}{', pairs only' if name == 'pairs' else ''}" for first in FIRST
             for name in ("all", "pairs")]  # fmt: skip
    rows = [
        f"| {NAMES[name]} | "
        + " | ".join(f"{100 * record['precision'][name][column]:.1f} %" for column in columns)
        + " |"
        for name in NAMES
    ]
    return "\n".join([f"| | {' | '.join(heads)} |", f"|---|{'---:|' * len(heads)}", *rows])


def questions(record: dict[str, Any]) -> str:
    """Write the phrase analogies before and after."""
    rows = [
        (
            TRAINED[name], f"{one['phrases']:,}", f"{one['covered']:,} of {one['questions']:,}",
            f"{one['right']:,}", share(one["right"], one["covered"]), share(one["right"], one["questions"]),
        )
        for name, one in record["analogies"].items()
    ]  # fmt: skip
    titles = (
        "trained", "phrases with a vector", "questions covered", "right", "of those covered", "of all",
    )  # fmt: skip
    return markdown(titles, rows)


def share(part: int, whole: int) -> str:
    """Write a share in per cent."""
    return f"{100 * part / whole:.1f} %" if whole else ""


def judge(text: Path, articles: Path, work: Path) -> dict[str, Any]:
    """Run both programs, and compare what they found with the titles of ``articles``."""
    cut_only(text, work / "cut.txt")
    both = ["-o", work / "phrases.txt", "--join", work / "joined.txt", "--overwrite", "-q"]
    (work / "warm.txt").write_text("a b c d e f\n" * 9)
    run([*PSDVEC, "phrases", work / "warm.txt", *both])  # compiles
    ours = run([*PSDVEC, "phrases", text, *both])
    child = [sys.executable, "-m", "benchmarks.bench.bench_phrases", str(text), "--gensim"]
    said = subprocess.run([*child, "--work", str(work)], check=True, capture_output=True, text=True).stdout
    phrases, titles = list(read_phrases(work / "phrases.txt").phrases), titles_of(articles)
    lists = {name: json.loads((work / f"{name}.json").read_text()) for name in ("default", "npmi")}
    return {
        "psdvec": {**asdict(ours), "phrases": len(phrases)},
        "gensim": json.loads(said),
        "titles": len(titles),
        "precision": {name: precision(found, titles) for name, found in {"psdvec": phrases, **lists}.items()},
    }


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("text", type=Path)
    parser.add_argument("--articles", type=Path, help="time and precision by the titles of this text")
    parser.add_argument("--questions", type=Path, help="the phrase analogies")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--words", type=int, default=100_000, help="vocabulary of the models")
    parser.add_argument("--dim", type=int, default=200)
    parser.add_argument("--gensim", action="store_true", help="only gensim's part, in a process of its own")
    options = parser.parse_args()
    work, figures = options.work, dict[str, Any]()
    work.mkdir(parents=True, exist_ok=True)
    if options.gensim:
        run_gensim(options.text, work / "cut.txt", work)
    if options.articles:
        figures |= judge(options.text, options.articles, work)
        print(times(figures), precisions(figures), sep="\n\n", flush=True)
    if options.questions:
        size = {"words": options.words, "dim": options.dim}
        figures |= {"analogies": analogies(options.text, options.questions, work, **size), **size}
        print(questions(figures))
    if options.record:
        write_record(options.record, figures)


if __name__ == "__main__":
    run_script(main)
