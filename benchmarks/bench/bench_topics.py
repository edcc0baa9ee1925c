"""Topics beside those of other programs, on 20 Newsgroups and on BBC News, as OCTIS measures them.

python -m benchmarks.bench.bench_topics DATA --work WORK --rivals PYTHON --model MODEL --counts COUNTS
[--topics 10 20 30 40 50] [--runs 3] [--stability] [--record FILE]

DATA holds the two sets (see the options), PYTHON is an interpreter with the rivals (``topic_rivals.py`` says which),
MODEL and COUNTS are vectors of other text and the counts they were made from, by ``--tokenizer paper``. Every method
gets the same words: 20 Newsgroups without headers, quotes and signatures, lower case, letters only, no stop words of
scikit-learn's list, words of at least one in two hundred documents; BBC News as it is. For each number of topics:
coherence (NPMI of the ten top words, windows of ten words, same text; by our count, and to the digit of OCTIS),
diversity, NMI with the labels, purity, and what whole commands cost. Our numbers (ρ, λ, sixteen words) were chosen on
20 Newsgroups; BBC News had no part in it. ``--stability`` also learns topics from each half of the documents,
matches them one to one, and says how many of their ten words they share. Finished runs are kept in WORK, and the same
command goes on after them.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from itertools import product
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.lib.measure import PSDVEC, markdown, run, run_script
from benchmarks.lib.records import Records, make_parser, publish
from benchmarks.studies.octis_npmi import octis_coherence

from psdvec.compare.values import Cost
from psdvec.errors import InputError
from psdvec.topic_model.documents import Documents
from psdvec.topic_model.page import read_topics
from psdvec.topic_model.topics import Topics, coherence

NUMBERS = (10, 20, 30, 40, 50)
RIVALS = ("lda", "nmf", "tomotopy", "bertopic", "top2vec")
HALF_TOPICS = 20  # of each half of the documents
FROM_ALL = "psdvec, vectors of all"  # documents, so that the halves have something in common
OURS = ("psdvec, vectors of the half", FROM_ALL)
NAMES = {
    "lda": "LDA, scikit-learn", "nmf": "NMF, scikit-learn", "tomotopy": "LDA, tomotopy", "bertopic": "BERTopic",
    "top2vec": "Top2Vec",
}  # fmt: skip
TITLES = {"bbc": "BBC News", "newsgroups": "20 Newsgroups"}
_QUOTED = re.compile(r"(writes in|writes:|wrote:|says:|said:|^In article|^Quoted from|^\||^>)")


@dataclass(frozen=True)
class Set:
    """A named set of documents, as words, with a label for each."""

    name: str
    documents: list[list[str]]
    labels: list[str]

    def write(self, work: Path) -> tuple[Path, Path]:
        """Write it as text, a document a line, and as JSON; return both paths."""
        text, listed = work / f"{self.name}.txt", work / f"{self.name}.json"
        text.write_text("".join(" ".join(words) + "\n" for words in self.documents), encoding="utf-8")
        listed.write_text(json.dumps(self.documents), encoding="utf-8")
        return text, listed


def strip_posting(text: str, *, quotes: bool = False) -> str:
    """Return a posting without header, signature and, unless ``quotes``, quotes, as by scikit-learn's ``remove``."""
    body = text.partition("\n\n")[2]
    kept = [line for line in body.split("\n") if quotes or not _QUOTED.search(line)]
    lines = "\n".join(kept).strip().split("\n")
    last = next((i for i in reversed(range(len(lines))) if not lines[i].strip().strip("-")), 0)
    return "\n".join(lines[:last] if last > 0 else lines)


def read_news(folder: Path, strip: Callable[[str], str] = strip_posting) -> list[tuple[str, str, str]]:
    """Return part, label and text of every posting."""
    found = []
    for part in ("train", "test"):
        with lzma.open(folder / f"20news-bydate-{part}.jsonl.xz", "rt", encoding="utf-8") as file:
            found += [(part, record["label"], strip(record["text"])) for record in map(json.loads, file)]
    return found


def newsgroups(folder: Path) -> Set:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    rows = read_news(folder)
    documents = [
        [word for word in re.findall(r"[a-z]{3,}", text.lower()) if word not in ENGLISH_STOP_WORDS]
        for _, _, text in rows
    ]
    spread = Counter(word for words in documents for word in set(words))
    kept = {word for word, n in spread.items() if len(rows) * 0.005 <= n <= len(rows) * 0.5}
    documents = [[word for word in words if word in kept] for words in documents]
    long = [i for i, words in enumerate(documents) if len(words) >= 5]
    return Set("newsgroups", [documents[i] for i in long], [rows[i][1] for i in long])


def bbc(folder: Path) -> Set:
    with lzma.open(folder / "bbc-octis.tsv.xz", "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return Set("bbc", [row[0].split() for row in rows], [row[2] for row in rows])


def judge(data: Set, words: list[list[str]], proportions: Any) -> dict[str, float]:
    """Return the measures of topics that are given by their words and by their shares in the documents."""
    from sklearn.metrics import normalized_mutual_info_score

    ids = {word: i for i, word in enumerate(dict.fromkeys(w for doc in data.documents for w in doc))}
    tokens = np.array([ids[word] for doc in data.documents for word in doc], np.int32)
    starts = np.concatenate([[0], np.cumsum([len(doc) for doc in data.documents])]).astype(np.int64)
    read = Documents(tuple(map(str, range(len(data.documents)))), tokens, starts, {})
    named = [np.array([ids[word] for word in each], np.int64) for each in words if len(each) > 1]
    owners = np.asarray(proportions).argmax(axis=1)
    told = np.asarray(proportions).sum(axis=1) > 0
    labels = np.unique(data.labels, return_inverse=True)[1]
    table = np.zeros((int(owners.max()) + 1, int(labels.max()) + 1))
    np.add.at(table, (owners[told], labels[told]), 1)
    every = [word for each in words for word in each]
    return {
        "npmi": float(coherence(read, named, words=len(ids)).mean()),
        "octis": octis_coherence(read, named, words=len(ids)),
        "diversity": len(set(every)) / len(every),
        "nmi": float(normalized_mutual_info_score(labels[told], owners[told])),
        "purity": float(table.max(axis=1).sum() / told.sum()),
        "told": float(told.mean()),
        "topics": float(len(words)),
    }


def run_rival(data: Set, method: str, seed: int, given: argparse.Namespace, records: Records) -> None:
    key = {"set": data.name, "method": method, "topics": list(given.topics), "seed": seed}
    if records.find(key) is not None:
        return
    place = given.work / f"{data.name}-{method}-{seed}"
    cost = learn_rival(data, method, given.topics, seed, place, given)
    scores = {number: judge(data, *read_rival(place, number)) for number in given.topics}
    records.add(key, {**asdict(cost), "scores": scores})


def learn_rival(
    data: Set, method: str, numbers: Sequence[int], seed: int, place: Path, given: argparse.Namespace
) -> Cost:
    """Run a rival's program, which keeps its topics beside ``place``."""
    _, listed = data.write(given.work)
    script = Path(__file__).parents[1] / "studies" / "topic_rivals.py"
    how = ["--topics", *map(str, numbers), "--seed", str(seed)]
    return run([given.rivals, script, method, listed, place, *how])


def read_rival(place: Path, number: int) -> tuple[list[list[str]], Any]:
    """Return the top words of a rival's topics, and the documents' proportions."""
    with np.load(f"{place}-{number}.npz", allow_pickle=False) as found:
        return [each.split() for each in found["words"].tolist()], found["proportions"]


def own_vectors(data: Set, given: argparse.Namespace, records: Records) -> tuple[Path, Path]:
    """Return counts of the documents themselves, and vectors from them; what they took is kept in the records."""
    text, _ = data.write(given.work)
    counts = given.work / f"{data.name}-counts"
    own = given.work / f"{data.name}-model"
    if not own.exists():
        how = ["--tokenizer", "paper", "--min-count", "1", "--overwrite"]
        cost = run([*PSDVEC, "count", text, "-o", counts, *how])
        cost += run([*PSDVEC, "fit", counts, "-o", own, "--dim", "100"])
        records.add({"vectors of": data.name}, asdict(cost))
    return counts, own


def vectors_of(data: Set, given: argparse.Namespace, records: Records) -> dict[str, Path]:
    """Return our vectors by where they come from: other text, the documents themselves, both."""
    counts, own = own_vectors(data, given, records)
    found = {"the documents": own}
    if given.model:
        found["other text"] = given.model
    if given.counts:
        merged, both = given.work / f"{data.name}-merged", given.work / f"{data.name}-both"
        if not both.exists():
            run([*PSDVEC, "merge", given.counts, counts, "-o", merged])
            run([*PSDVEC, "fit", merged, "-o", both, "--dim", "300", "--max-words", "60000"])
        found["both"] = both
    return found


def run_ours(data: Set, given: argparse.Namespace, records: Records) -> None:
    for name, vectors in vectors_of(data, given, records).items():
        for seed in range(given.runs):
            key = {
                "set": data.name, "method": f"psdvec, vectors of {name}", "topics": list(given.topics), "seed": seed
            }  # fmt: skip
            if records.find(key) is not None:
                continue
            scores, costs = {}, []
            for number in given.topics:
                found, cost = learn_ours(data, vectors, number, seed, given)
                costs.append(cost)
                scores[number] = judge(data, found.top_words(), found.proportions)
            records.add(key, {**asdict(reduce(add, costs)), "scores": scores})


def learn_ours(
    data: Set, vectors: Path, number: int, seed: int, given: argparse.Namespace
) -> tuple[Topics, Cost]:
    """Run ``psdvec topics`` as a command, so that it is measured as the rivals are."""
    text, _ = data.write(given.work)
    folder = given.work / f"{data.name}-topics"
    how = ["--topics", str(number), "--seed", str(seed), "--min-documents", "1", "--overwrite", "--quiet"]
    cost = run([*PSDVEC, "topics", vectors, text, "-o", folder, *how])
    return read_topics(folder), cost


def run_stability(data: Set, method: str, seed: int, given: argparse.Namespace, records: Records) -> None:
    """Learn topics from each half of the documents, and keep how many of their words they share."""
    key = {"halves of": data.name, "method": method, "seed": seed}
    if records.find(key) is not None:
        return
    halves = [Set(f"{data.name}-half{h}", data.documents[h::2], data.labels[h::2]) for h in (0, 1)]
    found = []
    for half in halves:
        if method in OURS:
            source = data if method == FROM_ALL else half
            vectors = own_vectors(source, given, records)[1]
            found.append(learn_ours(half, vectors, HALF_TOPICS, seed, given)[0].top_words())
        else:
            place = given.work / f"{half.name}-{method}-{seed}"
            learn_rival(half, method, [HALF_TOPICS], seed, place, given)
            found.append(read_rival(place, HALF_TOPICS)[0])
    records.add(key, {"shared": shared_words(*found)})


def shared_words(first: list[list[str]], second: list[list[str]]) -> float:
    """Return the mean share of common words of topics that are matched so that it is largest."""
    from scipy.optimize import linear_sum_assignment

    common = np.array([[len(set(a) & set(b)) / max(len(a), len(b), 1) for b in second] for a in first])
    rows, columns = linear_sum_assignment(-common)
    return float(common[rows, columns].sum() / max(len(first), len(second)))


def table(record: dict[str, Any]) -> str:
    """Write the means over numbers of topics and runs, a row for each method and set, the most coherent first.

    Seconds are those for one number of topics, with those of the documents' own vectors where these were used.
    """
    vectors = {step["vectors of"]: step["processor"] for step in record["steps"] if "vectors of" in step}
    rows = []
    for (name, method), results in by_method(record, "set"):
        scores = [score for result in results for score in result["scores"].values()]
        measures = ("npmi", "octis", "diversity", "nmi", "purity", "told")
        means = [f"{np.mean([score[what] for score in scores]):.3f}" for what in measures]
        fitted = vectors[name] if method.endswith("the documents") else 0.0
        seconds = f"{sum(result['processor'] for result in results) / len(scores) + fitted:.1f}"
        memory = f"{max(result['memory'] for result in results) / 1e9:.2f}"
        rows.append([TITLES[name], NAMES.get(method, method), *means, seconds, memory, str(len(scores))])
    rows.sort(key=lambda row: (row[0], -float(row[2])))
    titles = [
        "method",
        "NPMI",
        "by OCTIS",
        "diversity",
        "NMI",
        "purity",
        "told",
        "processor seconds",
        "GB of memory",
        "runs",
    ]
    return markdown(["set", *titles], rows, names=2)


def stability_table(record: dict[str, Any]) -> str:
    """Write how many words the topics of two halves share, a row for each method and set, the most stable first."""
    rows = [
        [
            TITLES[name],
            NAMES.get(method, method),
            f"{np.mean([one['shared'] for one in results]):.2f}",
            str(len(results)),
        ]
        for (name, method), results in by_method(record, "halves of")
    ]
    rows.sort(key=lambda row: (row[0], -float(row[2])))
    return markdown(["set", "method", "shared words", "runs"], rows, names=2)


def by_method(record: dict[str, Any], what: str) -> list[tuple[tuple[str, str], list[dict[str, Any]]]]:
    """Return the steps of each set and method; ``what`` is how they name the set."""
    rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for step in record["steps"]:
        if what in step:
            rows.setdefault((step[what], step["method"]), []).append(step)
    return sorted(rows.items())


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("data", type=Path, help="folder of 20news-bydate-*.jsonl.xz and bbc-octis.tsv.xz")
    parser.add_argument(
        "--work", type=Path, required=True, help="folder to keep results in; a later run goes on there"
    )
    parser.add_argument("--rivals", help="Python that has the rivals; without it, ours alone")
    parser.add_argument("--methods", nargs="*", default=RIVALS, choices=RIVALS)
    parser.add_argument("--model", type=Path, help="vectors of other text")
    parser.add_argument("--counts", type=Path, help="counts of that text")
    parser.add_argument("--topics", type=int, nargs="+", default=NUMBERS, help="numbers of topics")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--stability", action="store_true", help="compare the topics of two halves too")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    if not (given.data / "bbc-octis.tsv.xz").is_file():
        raise InputError(f"'{given.data}' holds no bbc-octis.tsv.xz; name the folder of the two sets")
    records = Records(given.work / "topics.jsonl")
    sets = [bbc(given.data), newsgroups(given.data)]
    rivals = given.methods if given.rivals else ()
    for data in sets:
        run_ours(data, given, records)
    for seed, method, data in product(range(given.runs), rivals, sets):
        run_rival(data, method, seed, given, records)
    if given.stability:
        for seed, method, data in product(range(given.runs), (*OURS, *rivals), sets):
            run_stability(data, method, seed, given, records)
    steps = [{**json.loads(key), **result} for key, result in records.found.items()]
    asked = [step for step in steps if step.get("topics", list(given.topics)) == list(given.topics)]
    publish({"steps": asked}, table, *[stability_table] * given.stability, record=given.record)


if __name__ == "__main__":
    run_script(main)
