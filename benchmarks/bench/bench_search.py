"""Search, against BM25, TF-IDF and vectors alone: quality by paired tests, misspelt and unseen words, time and memory.

    python -m benchmarks.bench.bench_search quality CRANFIELD NEWS WIKI [--record FILE]
    python -m benchmarks.bench.bench_search weights CRANFIELD NEWS WIKI [--record FILE]
    python -m benchmarks.bench.bench_search cost CRANFIELD TEXT... [--passages 50000 1000000] [--record FILE]

CRANFIELD: the folder with ``cran.all.1400``, ``cran.qry`` and ``cranqrel``; a document is relevant if its judgement is
above 0. NEWS: the folder with 20 Newsgroups by date; the documents are those of the training half without their
headers, questions the subjects of others, and relevant is what is of the same group. WIKI: articles between blank
lines; titles are asked, and the text below them is searched.

How documents are ranked was chosen on the even questions of Cranfield, on 300 subjects of 20 Newsgroups and on the
first 4,000 articles, of which ``weights`` shows a few settings; bm25s is tuned on the same. Reported are the odd
questions, 300 other subjects and the next 4,000 articles. TEXT is cut into passages of 62 words; ours and bm25s index
them, each in a process of its own, and answer the questions of Cranfield. ``index`` and ``ask`` are what those
processes run.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from benchmarks.lib.measure import PSDVEC, markdown, run, run_script
from benchmarks.lib.records import make_parser, publish

import psdvec
from psdvec.search import rank
from psdvec.text.tokenizers import split_words

GRID = [(k1, b) for k1 in (0.9, 1.2, 1.6, 2.0, 2.5) for b in (0.3, 0.5, 0.75, 0.9)]
TRIED = [  # settings of the ranking; the first is BM25 alone
    {"OWN": own, "MEANING": meaning, "FIRST": first}
    for own, meaning, first in (
        (1, 0, 3), (0.5, 0, 3), (0, 0, 3), (1, 0.6, 3), (0.5, 0.6, 0), (0.5, 0.4, 3), (0.5, 0.6, 3), (0.5, 0.8, 3),
        (0.5, 1.2, 3), (0, 0.6, 3),
    )
]  # fmt: skip
DRAWS = 10_000
SEED = 0
ASKED = 300  # subjects of 20 Newsgroups, to choose by and to report
ARTICLES = 4000
PASSAGE = 62  # words
RIVAL = "bm25s, tuned"
OURS = "ours"
WAYS = ("ours", "ours, without why", "ours, `--exact`", "ours, `--exact`, without why", "bm25s")


def quality_table(record: dict[str, Any]) -> str:
    """Write nDCG@10 and recall@100 of every way to rank."""
    rows = [
        (
            collection,
            f"{way}, k1 {found['k1']:g}, b {found['b']:g}" if "k1" in found else way,
            f"{np.mean(found['ndcg']):.3f}",
            f"{np.mean(np.array(found['ndcg']) > 0):.3f}",
            f"{np.mean(found['recall']):.3f}",
        )
        for collection, ways in record["quality"].items()
        for way, found in ways.items()
    ]
    return markdown(("collection", "ranking", "nDCG@10", "one in ten", "recall@100"), rows, names=2)


def gains_table(record: dict[str, Any]) -> str:
    """Write by how much ours is above every other way, with intervals and p."""
    rows = [
        (collection, way, *(_gain(found["below"][metric]) for metric in ("ndcg", "ten", "recall")))
        for collection, ways in record["quality"].items()
        for way, found in ways.items()
        if "below" in found
    ]
    return markdown(("collection", "ours above", "nDCG@10", "one in ten", "recall@100"), rows, names=2)


def _gain(found: dict[str, float]) -> str:
    p = f"{found['p']:.4f}" if found["p"] >= 0.0001 else "below 0.0001"
    return f"{found['gain']:+.3f} ({found['low']:+.3f} to {found['high']:+.3f}), p {p}"


def misspelt_table(record: dict[str, Any]) -> str:
    """Write what questions with misspelt and unseen words find."""
    rows = [
        (wrong, way, f"{np.mean(found['ndcg']):.3f}", f"{np.mean(found['recall']):.3f}")
        for wrong, ways in record["misspelt"].items()
        for way, found in ways.items()
    ]
    return markdown(("every other long word", "ranking", "nDCG@10", "recall@100"), rows, names=2)


def weights_table(record: dict[str, Any]) -> str:
    """Write what other weights give, by nDCG@10 above BM25 alone."""
    means = {name: np.mean(found, axis=1) for name, found in record["weights"].items()}
    rows = [
        (*(f"{value:g}" for value in one.values()), *(f"{mean[i] - mean[0]:+.3f}" for mean in means.values()))
        for i, one in enumerate(record["tried"])
    ]
    return markdown(("share by itself", "weight of the cosine", "moved towards", *means), rows, names=3)


def cost_table(record: dict[str, Any]) -> str:
    """Write what indexing costs."""
    rows = [
        (
            f"{one['passages']:,}", way, f"{cost['processor']:.0f}", f"{cost['wall']:.0f}",
            f"{cost['memory'] / 1e9:.2f}", f"{cost['size'] / 1e6:,.0f}",
        )
        for one in record["cost"]
        for way, cost in one["index"].items()
    ]  # fmt: skip
    titles = ("passages", "index", "processor seconds", "seconds", "GB of memory", "MB on disk")
    return markdown(titles, rows, names=2)


def asking_table(record: dict[str, Any]) -> str:
    """Write what asking costs."""
    rows = [
        (
            f"{one['passages']:,}", way, f"{cost['first']:,.0f}", f"{cost['again']:,.0f}",
            f"{cost['memory'] / 1e9:.2f}",
        )
        for one in record["cost"]
        for way, cost in one["ask"].items()
    ]  # fmt: skip
    titles = ("passages", "asked", "questions a second, the first time", "and again", "GB of memory")
    return markdown(titles, rows, names=2)


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
        words = cut(question)
        scores = found.bm25(found.terms(words, exact=False))
        if fused:
            found.add_meaning(words, scores)
        return scores

    def cosines(words: list[str]) -> Any:
        vector = found.question_vector(words)
        return np.concatenate(
            [one.steps * (one.vectors[:, : len(vector)] @ vector) for one in found.segments]
        )

    return {
        "BM25 alone (`--exact`)": lambda question: found.bm25(found.terms(cut(question), exact=True)),
        "vectors alone": lambda question: cosines(cut(question)),
        "BM25 with near words": lambda question: widened(question, fused=False),
        OURS: lambda question: widened(question, fused=True),
    }


def rivals(
    texts: Sequence[str], chosen_by: tuple[Sequence[str], Sequence[str], Sequence[Any]]
) -> tuple[dict[str, Scores], dict[str, float]]:
    """Return bm25s, tuned on other texts, questions and answers, and TF-IDF of scikit-learn; and what was chosen."""
    import bm25s
    from sklearn.feature_extraction.text import TfidfVectorizer

    def retriever(words: list[list[str]], k1: float, b: float) -> Scores:
        made = bm25s.BM25(k1=k1, b=b)
        made.index(words, show_progress=False)

        def scores(question: str) -> Any:
            known = [one for one in split_words(question, tokenizer="unicode") if one in made.vocab_dict]
            return made.get_scores(known) if known else np.zeros(len(words))

        return scores

    others = [split_words(text, tokenizer="unicode") for text in chosen_by[0]]
    tuned = {(k1, b): np.mean(measure(retriever(others, k1, b), *chosen_by[1:])[0]) for k1, b in GRID}
    k1, b = max(tuned, key=lambda one: (tuned[one], one))
    words = [split_words(text, tokenizer="unicode") for text in texts]
    tfidf = TfidfVectorizer(analyzer=lambda text: split_words(text, tokenizer="unicode"), sublinear_tf=True)
    matrix = tfidf.fit_transform(texts)
    return {
        RIVAL: retriever(words, k1, b),
        "TF-IDF": lambda question: (matrix @ tfidf.transform([question]).T).toarray().ravel(),
    }, {"k1": k1, "b": b}


def measured(scores: Scores, questions: Sequence[str], relevant: Sequence[Any]) -> dict[str, list[float]]:
    """Return nDCG@10 and recall@100 of each question, as a record holds them."""
    ndcg, recall = measure(scores, questions, relevant)
    return {"ndcg": ndcg, "recall": recall}


def compare(ways: dict[str, Scores], questions: Sequence[str], relevant: Sequence[Any]) -> dict[str, Any]:
    """Return the figures of every way, and how far each is below ours, by questions."""
    found: dict[str, Any] = {way: measured(scores, questions, relevant) for way, scores in ways.items()}
    for way, figures in found.items():
        if way != OURS:
            apart = {name: np.array(found[OURS][name]) - figures[name] for name in ("ndcg", "recall")}
            apart["ten"] = (np.array(found[OURS]["ndcg"]) > 0) - (np.array(figures["ndcg"]) > 0) * 1.0
            figures["below"] = {name: paired(one) for name, one in apart.items()}
    return found


def paired(apart: Any) -> dict[str, float]:
    """Return the mean of differences, its interval by the bootstrap, and p by signs turned at random."""
    rng = np.random.default_rng(SEED)
    drawn = apart[rng.integers(len(apart), size=(DRAWS, len(apart)))].mean(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    turned = (apart * rng.choice([-1, 1], size=(DRAWS, len(apart)))).mean(axis=1)
    as_far = np.abs(turned) >= abs(apart.mean()) - 1e-12
    p = (1 + as_far.sum()) / (DRAWS + 1)
    return {"gain": float(apart.mean()), "low": float(low), "high": float(high), "p": float(p)}


def change_words(question: str, change: Callable[[str], str]) -> str:
    """Change every other word of five letters or more."""
    words = question.split()
    for i in [i for i, word in enumerate(words) if len(word) >= 5 and word.isalpha()][::2]:
        words[i] = change(words[i])
    return " ".join(words)


def slip(word: str, rng: np.random.Generator) -> str:
    """Return a word with a letter dropped, or two swapped."""
    at = int(rng.integers(1, len(word) - 1))
    head, tail = word[:at], word[at:]
    return head + (tail[1:] if rng.random() < 0.5 else tail[1] + tail[0] + tail[2:])


def other_form(word: str, known: Any) -> str:
    """Return a word with the first ending that makes a word which no document has."""
    endings = ("s", "ed", "ing", "ly", "like", "wise")
    return next((word + ending for ending in endings if word + ending not in known), word)


def read_changed(questions: Sequence[str], known: Any) -> dict[str, list[str]]:
    """Return questions as they are, and changed in each way."""
    once, twice = (np.random.default_rng(SEED + i) for i in range(2))
    return {
        "as it is": list(questions),
        "one slip": [change_words(one, lambda word: slip(word, once)) for one in questions],
        "two slips": [change_words(one, lambda word: slip(slip(word, twice), twice)) for one in questions],
        "a form that no document has": [
            change_words(one, lambda word: other_form(word, known)) for one in questions
        ],
    }


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


def read_news(folder: Path, part: slice) -> tuple[list[str], list[str], list[Any]]:
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
    ][part]
    bodies = [one["text"].partition("\n\n")[2].strip() for one in training]
    texts = [body if split_words(body, tokenizer="unicode") else "missing" for body in bodies]
    return texts, [text for text, _ in asked], [np.flatnonzero(labels == label) for _, label in asked]


def read_wiki(file: Path, part: slice) -> tuple[list[str], list[str], list[Any]]:
    """Return the texts of some articles, and every fifth title with the number of its text."""
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
            if len(texts) == part.stop:
                break
    titles, texts = titles[part], texts[part]
    asked = range(0, len(texts), 5)
    return texts, [titles[i] for i in asked], [np.array([i]) for i in asked]


def read_collections(given: argparse.Namespace) -> dict[str, Any]:
    """Return texts, questions and relevant texts of each collection: what was chosen by, and what is reported."""
    texts, questions, relevant = read_cranfield(given.cranfield)
    halves = slice(1, None, 2), slice(0, None, 2)
    news = slice(0, ASKED), slice(ASKED, 2 * ASKED)
    wiki = slice(0, ARTICLES), slice(ARTICLES, 2 * ARTICLES)
    return {
        "Cranfield": [(texts, questions[part], relevant[part]) for part in halves],
        "20 Newsgroups": [read_news(given.news, part) for part in news],
        "Simple Wikipedia": [read_wiki(given.wiki, part) for part in wiki],
    }


def find_weights(given: argparse.Namespace) -> dict[str, Any]:
    """Measure what other weights give, on what they were chosen by."""
    weights: dict[str, Any] = {}
    for name, ((texts, *asked), _) in read_collections(given).items():
        ways = ways_of(psdvec.DocumentIndex.build(texts, quiet=True))
        weights[name] = []
        for one in TRIED:
            with mock.patch.multiple(rank, **one):
                weights[name].append(measure(ways[OURS], *asked)[0])
    return {"tried": TRIED, "weights": weights}


def find_quality(given: argparse.Namespace) -> dict[str, Any]:
    """Measure how well documents are found."""
    quality, misspelt = {}, {}
    for name, (chosen_by, reported) in read_collections(given).items():
        own = psdvec.DocumentIndex.build(reported[0], quiet=True)
        if len(own) != len(reported[0]):
            raise psdvec.PSDVecError("a document has no words, so that the numbers of the others are wrong")
        ways, tuned = rivals(reported[0], chosen_by)
        quality[name] = compare(ways_of(own) | ways, *reported[1:])
        quality[name][RIVAL] |= tuned
        if not misspelt:
            misspelt = find_misspelt(own, *reported[1:])
    settings = {
        name: getattr(rank, name) for name in ("NEAR", "SHARE", "OWN", "SPELLED", "MEANING", "FEW", "FIRST")
    }
    return {"settings": settings, "quality": quality, "misspelt": misspelt}


def find_misspelt(
    index: psdvec.DocumentIndex, questions: Sequence[str], relevant: Sequence[Any]
) -> dict[str, Any]:
    """Measure what misspelt and unseen words cost, with and without looking for what they may mean."""
    found, ways, cut = index.collection, ways_of(index), index.model.tokenize
    known = {word for word in index.model.words if found.frequency(word)}

    def left_out(question: str) -> Any:
        return ways[OURS](" ".join(word for word in cut(question) if found.frequency(word)))

    kinds = {
        "BM25 alone": ways["BM25 alone (`--exact`)"],
        "ours, such words left out": left_out,
        OURS: ways[OURS],
    }
    return {
        changed: {way: measured(scores, asked, relevant) for way, scores in kinds.items()}
        for changed, asked in read_changed(questions, known).items()
    }


# Time and memory


def cut_passages(files: Sequence[Path], many: int) -> Iterator[str]:
    """Yield the first passages of texts."""
    words: list[str] = []
    for file in files:
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                words += line.split()
                while len(words) >= PASSAGE:
                    yield " ".join(words[:PASSAGE])
                    words, many = words[PASSAGE:], many - 1
                    if not many:
                        return


def find_costs(given: argparse.Namespace) -> dict[str, Any]:
    """Measure what indexing and asking cost, each in a process of its own."""
    return {"cost": [costs_of(many, given) for many in given.passages]}


def costs_of(many: int, given: argparse.Namespace) -> dict[str, Any]:
    """Measure what so many passages cost."""
    own = [*PSDVEC[:1], "-m", "benchmarks.bench.bench_search"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        passages, said = folder / "passages.txt", folder / "said.json"
        with passages.open("w", encoding="utf-8") as file:
            file.writelines(f"{passage}\n" for passage in cut_passages(given.text, many))
        places = {"ours": folder / "ours", "bm25s": folder / "bm25s"}
        commands = {
            "ours": [*PSDVEC, "index", passages, "-o", places["ours"], "--memory", "4G", "-q"],
            "bm25s": [*own, "index", passages, places["bm25s"]],
        }
        index: dict[str, Any] = {}
        for way, command in commands.items():
            cost = run(command)
            size = sum(path.stat().st_size for path in places[way].rglob("*") if path.is_file())
            index[way] = {"processor": cost.processor, "wall": cost.wall, "memory": cost.memory, "size": size}
        ask: dict[str, Any] = {}
        for way in WAYS:
            cost = run([*own, "ask", places[way.partition(",")[0]], given.cranfield, way], stdout=said)
            ask[way] = {**json.loads(said.read_text()), "memory": cost.memory}
    return {"passages": many, "index": index, "ask": ask}


def index_by_bm25s(given: argparse.Namespace) -> None:
    """Index a file of passages by bm25s, with its own tokenizer."""
    import bm25s

    texts = given.passages.read_text(encoding="utf-8").splitlines()
    made = bm25s.BM25()
    made.index(bm25s.tokenize(texts, stopwords=None, show_progress=False), show_progress=False)
    made.save(given.index, corpus=texts)


def ask(given: argparse.Namespace) -> None:
    """Ask the questions of Cranfield one after the other, once and then thrice again; write questions a second."""
    _, questions, _ = read_cranfield(given.cranfield)
    if given.way == "bm25s":
        import bm25s

        made = bm25s.BM25.load(given.index, load_corpus=True)

        def answer(question: str) -> Any:
            cut = bm25s.tokenize([question], stopwords=None, show_progress=False, return_ids=False)
            return made.retrieve(cut, k=10, show_progress=False, n_threads=1)

        answer(questions[0])
    else:
        index = psdvec.load(given.index)
        how = {"exact": "exact" in given.way, "why": "without" not in given.way}
        index.search("the", **how)  # what is compiled or read only once

        def answer(question: str) -> Any:
            return index.search(question, **how)

    spent = []
    for _ in range(4):
        began = time.process_time()
        for question in questions:
            answer(question)
        spent.append(time.process_time() - began)
    print(json.dumps({"first": len(questions) / spent[0], "again": len(questions) / min(spent[1:])}))


def main() -> None:
    """Run what is asked for."""
    parser = make_parser(__doc__)
    modes = parser.add_subparsers(required=True)
    for name, work, paths in (
        ("quality", find_quality, ("cranfield", "news", "wiki")),
        ("weights", find_weights, ("cranfield", "news", "wiki")),
        ("cost", find_costs, ("cranfield",)),
        ("index", index_by_bm25s, ("passages", "index")),
        ("ask", ask, ("index", "cranfield")),
    ):
        mode = modes.add_parser(name)
        mode.set_defaults(work=work, mode=name)
        for path in paths:
            mode.add_argument(path, type=Path)
        if name == "cost":
            mode.add_argument("text", type=Path, nargs="+")
            mode.add_argument("--passages", type=int, nargs="+", default=[50_000, 1_000_000])
        if name == "ask":
            mode.add_argument("way", choices=WAYS)
        mode.add_argument("--record", type=Path, default=argparse.SUPPRESS)
    given = parser.parse_args()
    tables = {
        "quality": (quality_table, gains_table, misspelt_table),
        "weights": (weights_table,),
        "cost": (cost_table, asking_table),
    }
    figures = given.work(given)
    if given.mode in tables:
        publish(figures, *tables[given.mode], record=given.record)


if __name__ == "__main__":
    run_script(main)
