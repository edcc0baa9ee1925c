"""Search, against BM25, TF-IDF and vectors alone: quality by a paired test, misspelt words, time and memory.

    python -m benchmarks.bench.bench_search CRANFIELD NEWS WIKI [--passages 50000] [--record FILE]

CRANFIELD: the folder with ``cran.all.1400``, ``cran.qry`` and ``cranqrel``; a document is relevant if its judgement is
above 0. NEWS: the folder with 20 Newsgroups by date; the documents are those of the training half without their
headers, questions the subjects of others, and relevant is what is of the same group. WIKI: articles between blank
lines; titles are asked, and the text below them is searched. bm25s is tuned on the even
questions of Cranfield, and the odd ones are reported. The weights of the ranking were not chosen blindly: some twenty
settings were looked at on both halves of Cranfield and on 120 questions of 20 Newsgroups.
"""

from __future__ import annotations

import json
import lzma
import re
import resource
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.lib.measure import markdown, run_script
from benchmarks.lib.records import make_parser, publish

import psdvec
from psdvec.search import rank
from psdvec.text.tokenizers import split_words

GRID = [(k1, b) for k1 in (0.9, 1.2, 1.6, 2.0, 2.5) for b in (0.5, 0.75, 0.9)]
DRAWS = 10_000
SEED = 0


def quality_table(record: dict[str, Any]) -> str:
    """Write nDCG@10 and recall@100 of every way to rank."""
    rows = [
        (
            collection,
            way,
            f"{found['ndcg']:.3f}",
            f"{np.mean(np.array(found['each']) > 0):.3f}",
            f"{found['recall']:.3f}",
            _gain(found),
        )
        for collection, ways in record["quality"].items()
        for way, found in ways.items()
    ]
    return markdown(
        ("collection", "ranking", "nDCG@10", "one in ten", "recall@100", "nDCG@10 above BM25 alone"),
        rows,
        names=2,
    )


def _gain(found: dict[str, Any]) -> str:
    return f"{found['gain']:+.3f} ({found['low']:+.3f} to {found['high']:+.3f})" if "gain" in found else ""


def misspelt_table(record: dict[str, Any]) -> str:
    """Write what misspelt questions find."""
    rows = [
        (way, f"{found['ndcg']:.3f}", f"{found['recall']:.3f}") for way, found in record["misspelt"].items()
    ]
    return markdown(("one word in two misspelt", "nDCG@10", "recall@100"), rows)


def cost_table(record: dict[str, Any]) -> str:
    """Write what indexing and asking cost."""
    rows = [
        (way, f"{cost['index']:.1f}", f"{cost['second']:.0f}" if cost["second"] else "")
        for way, cost in record["cost"]["ways"].items()
    ]
    return markdown(("", "index, processor seconds", "questions a second of processor"), rows)


Scores = Callable[[str], Any]


def measure(
    scores: Scores, questions: Sequence[str], relevant: Sequence[Any]
) -> tuple[list[float], list[float]]:
    """Return nDCG@10 and recall@100 of each question, relevance being yes or no."""
    discount = 1 / np.log2(np.arange(2, 12))
    ndcg, recall = [], []
    for question, wanted in zip(questions, relevant, strict=True):
        best = np.argsort(-scores(question), kind="stable")[:100]
        hits = np.isin(best, wanted)
        ndcg.append(
            float((hits[:10] * discount[: len(hits[:10])]).sum() / discount[: min(10, len(wanted))].sum())
        )
        recall.append(float(hits.sum() / len(wanted)))
    return ndcg, recall


def ways_of(index: psdvec.DocumentIndex) -> dict[str, Scores]:
    """Return the ways to rank that the parts of the index make."""
    found, cut = index.collection, index.model.tokenize

    def widened(question: str, *, fused: bool) -> Any:
        scores = found.bm25(found.terms(cut(question), exact=False))
        return scores + found.meaning(cut(question), float(scores.std())) if fused else scores

    return {
        "BM25 alone (`--exact`)": lambda question: found.bm25(found.terms(cut(question), exact=True)),
        "vectors alone": lambda question: found.meaning(cut(question), 1.0),
        "BM25 with near words": lambda question: widened(question, fused=False),
        "ours: and vectors": lambda question: widened(question, fused=True),
    }


def rivals(texts: Sequence[str], questions: Sequence[str], relevant: Sequence[Any]) -> dict[str, Scores]:
    """Return bm25s, tuned on these questions, and TF-IDF of scikit-learn."""
    import bm25s
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = [split_words(text, tokenizer="unicode") for text in texts]

    def retriever(k1: float, b: float) -> Scores:
        made = bm25s.BM25(k1=k1, b=b)
        made.index(words, show_progress=False)
        return lambda question: made.get_scores(
            [one for one in split_words(question, tokenizer="unicode") if one in made.vocab_dict] or [""]
        )

    tuned = {(k1, b): np.mean(measure(retriever(k1, b), questions, relevant)[0]) for k1, b in GRID}
    k1, b = max(tuned, key=lambda one: (tuned[one], one))
    tfidf = TfidfVectorizer(analyzer=lambda text: split_words(text, tokenizer="unicode"), sublinear_tf=True)
    matrix = tfidf.fit_transform(texts)
    return {
        f"bm25s, k1 {k1:g}, b {b:g} (tuned)": retriever(k1, b),
        "TF-IDF": lambda question: (matrix @ tfidf.transform([question]).T).toarray().ravel(),
    }


def compare(ways: dict[str, Scores], questions: Sequence[str], relevant: Sequence[Any]) -> dict[str, Any]:
    """Return the figures of every way, and its gain above the first with an interval of the paired bootstrap."""
    rng = np.random.default_rng(SEED)
    draws = rng.integers(len(questions), size=(DRAWS, len(questions)))
    found: dict[str, Any] = {}
    base: Any = None
    for way, scores in ways.items():
        ndcg, recall = measure(scores, questions, relevant)
        found[way] = {"ndcg": float(np.mean(ndcg)), "recall": float(np.mean(recall)), "each": ndcg}
        if base is None:
            base = np.array(ndcg)
            continue
        apart = np.array(ndcg) - base
        low, high = np.quantile(apart[draws].mean(axis=1), [0.025, 0.975])
        found[way] |= {"gain": float(apart.mean()), "low": float(low), "high": float(high)}
    return found


def misspell(question: str, rng: np.random.Generator) -> str:
    """Return a question in which every other word of five letters or more has a letter dropped, or two swapped."""
    words = question.split()
    for i in [i for i, word in enumerate(words) if len(word) >= 5 and word.isalpha()][::2]:
        at = int(rng.integers(1, len(words[i]) - 1))
        head, tail = words[i][:at], words[i][at:]
        words[i] = head + (tail[1:] if rng.random() < 0.5 else tail[1] + tail[0] + tail[2:])
    return " ".join(words)


def read_cranfield(folder: Path) -> tuple[list[str], list[str], list[Any]]:
    """Return texts, questions and the numbers of the relevant texts; questions are numbered in order."""

    def parts(name: str) -> list[dict[str, str]]:
        text = (folder / name).read_text(encoding="latin-1")
        found = []
        for one in re.split(r"^\.I ", text, flags=re.M)[1:]:
            pieces = re.split(r"^\.([A-Z])\s*\n", one, flags=re.M)
            found.append({"id": pieces[0].strip(), **dict(zip(pieces[1::2], pieces[2::2], strict=True))})
        return found

    documents = parts("cran.all.1400")
    places = {one["id"]: i for i, one in enumerate(documents)}
    judged: dict[int, list[int]] = {}
    for line in (folder / "cranqrel").read_text().splitlines():
        question, document, grade = line.split()[:3]
        if int(grade) > 0 and document in places:
            judged.setdefault(int(question), []).append(places[document])
    questions = parts("cran.qry")
    # The two abstracts without text get a mark, so that numbers are places.
    texts = [one.get("W", "").strip() or "missing" for one in documents]
    return texts, [one["W"] for one in questions], [np.array(judged[i + 1]) for i in range(len(questions))]


def read_news(folder: Path, many: int) -> tuple[list[str], list[str], list[Any]]:
    """Return texts, subjects of other messages, and the numbers of the texts of their group."""

    def read(part: str) -> list[dict[str, str]]:
        with lzma.open(folder / f"20news-bydate-{part}.jsonl.xz", "rt", encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    training, others = read("train"), read("test")
    labels = np.array([one["label"] for one in training])
    chosen = np.random.default_rng(SEED).permutation(len(others))
    subjects = [re.search(r"^Subject:(.*)$", others[i]["text"], re.M) for i in chosen]
    asked = [
        (re.sub(r"(?i)^(\s*re:)+", "", found[1]).strip(), others[i]["label"])
        for i, found in zip(chosen, subjects, strict=True)
        if found and len(found[1].split()) > 2
    ][:many]
    texts = [one["text"].partition("\n\n")[2].strip() or "missing" for one in training]
    return texts, [text for text, _ in asked], [np.flatnonzero(labels == label) for _, label in asked]


def read_wiki(file: Path, many: int) -> tuple[list[str], list[str], list[Any]]:
    """Return the texts of the first articles, and every tenth title with the number of its text."""
    titles: list[str] = []
    texts: list[str] = []
    with file.open(encoding="utf-8") as lines:
        article: list[str] = []
        for line in lines:
            if line.strip():
                article.append(line.strip())
            elif article:
                if len(article) > 1 and len(article[0].split()) <= 6:
                    titles.append(article[0])
                    texts.append(" ".join(article[1:]))
                article = []
            if len(texts) == many:
                break
    asked = range(0, len(texts), 10)
    return texts, [titles[i] for i in asked], [np.array([i]) for i in asked]


def costs(file: Path, many: int, questions: Sequence[str]) -> dict[str, Any]:
    """Index passages of 100 words, ours and by bm25s, and ask."""
    import bm25s

    words = file.read_text(encoding="utf-8")[: many * 700].split()
    passages = [" ".join(words[i : i + 100]) for i in range(0, len(words), 100)][:many]
    ways: dict[str, Any] = {}
    began = time.process_time()
    index = psdvec.DocumentIndex.build(passages, quiet=True)
    ways["ours, with training"] = {"index": time.process_time() - began, "second": 0.0}
    for name, exact in (("ours", False), ("ours, `--exact`", True)):
        began = time.process_time()
        for question in questions:
            index.search(question, exact=exact)
        ways[name] = {
            "index": ways["ours, with training"]["index"],
            "second": len(questions) / (time.process_time() - began),
        }
    began = time.process_time()
    cut = [split_words(passage, tokenizer="unicode") for passage in passages]
    made = bm25s.BM25()
    made.index(cut, show_progress=False)
    spent = time.process_time() - began
    began = time.process_time()
    for question in questions:
        made.retrieve([split_words(question, tokenizer="unicode")], k=10, show_progress=False, n_threads=1)
    ways["bm25s"] = {"index": spent, "second": len(questions) / (time.process_time() - began)}
    del ways["ours, with training"]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"passages": len(passages), "peak_mb_of_both": memory, "ways": ways}


def main() -> None:
    """Run it all."""
    parser = make_parser(__doc__)
    parser.add_argument("cranfield", type=Path)
    parser.add_argument("news", type=Path)
    parser.add_argument("wiki", type=Path)
    parser.add_argument("--passages", type=int, default=50_000)
    given = parser.parse_args()
    texts, questions, relevant = read_cranfield(given.cranfield)
    index = psdvec.DocumentIndex.build(texts, quiet=True)
    even, odd = slice(1, None, 2), slice(0, None, 2)
    ways = ways_of(index) | rivals(texts, questions[even], relevant[even])
    quality = {"Cranfield, odd questions": compare(ways, questions[odd], relevant[odd])}
    rng = np.random.default_rng(SEED)
    wrong = [misspell(question, rng) for question in questions[odd]]
    own = ways_of(index)
    misspelt = {
        "BM25 alone": compare({"": own["BM25 alone (`--exact`)"]}, wrong, relevant[odd])[""],
        "ours": compare({"": own["ours: and vectors"]}, wrong, relevant[odd])[""],
        "ours, spelled well": compare({"": own["ours: and vectors"]}, questions[odd], relevant[odd])[""],
    }
    for name, (others, asked, wanted) in {
        "20 Newsgroups, same group": read_news(given.news, 300),
        "Simple Wikipedia, title": read_wiki(given.wiki, 4000),
    }.items():
        quality[name] = compare(ways_of(psdvec.DocumentIndex.build(others, quiet=True)), asked, wanted)
    figures = {
        "weights": {"near": rank.NEAR, "share": rank.SHARE, "spelled": rank.SPELLED, "meaning": rank.MEANING},
        "quality": quality, "misspelt": misspelt,
        "cost": costs(given.wiki, given.passages, questions[:100]),
    }  # fmt: skip
    publish(figures, quality_table, misspelt_table, cost_table, record=given.record)


if __name__ == "__main__":
    run_script(main)
