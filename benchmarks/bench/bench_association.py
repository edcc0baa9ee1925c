"""The ten tests of Caliskan et al. (2017) with ``psdvec.association``, beside WEFE, and whether intervals hold.

    python -m benchmarks.bench.bench_association CORPUS.txt --model FOLDER [--wefe PYTHON] [--record FILE]

A model of 30,000 words and 200 dimensions is trained on the text, a document a line, unless FOLDER is there. *Tests*:
effect and p on its vectors, beside WEFE's on the same (PYTHON is that of an environment with ``wefe``), and in the
documents. *Halves*: the documents are split at random, thirty times; an interval of one half should hold, widened by
√2, the value of the other in 95 of 100. *Tenths*: an interval of a tenth should hold the value of all documents.
"""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from benchmarks.lib.measure import markdown, run_script
from benchmarks.lib.records import make_parser, publish

import psdvec
from psdvec.errors import InputError
from psdvec.progress import SilentProgress
from psdvec.slices.association import ASSOCIATION, EFFECT, Estimate, Summed, find_words, measure, read_lists
from psdvec.slices.blocks import find_uses
from psdvec.slices.reading import read_slices

TESTS = {  # targets, attributes, and d of Caliskan et al. with GloVe on 840 billion words
    1: ("flowers", "insects", "pleasant", "unpleasant", 1.50),
    2: ("instruments", "weapons", "pleasant", "unpleasant", 1.53),
    3: ("european-names", "african-names", "pleasant", "unpleasant-3", 1.41),
    4: ("european-names-4", "african-names-4", "pleasant", "unpleasant-3", 1.50),
    5: ("european-names-4", "african-names-4", "pleasant-5", "unpleasant-5", 1.28),
    6: ("male-names", "female-names", "career", "family", 1.81),
    7: ("math", "arts", "male", "female", 1.06),
    8: ("science", "arts-8", "male-8", "female-8", 1.24),
    9: ("mental-disease", "physical-disease", "temporary", "permanent", 1.38),
    10: ("young-names", "old-names", "pleasant-5", "unpleasant-5", 1.21),
}
FINE, BLOCKS = 480, 48  # blocks that documents are dealt to once, and those that intervals are made of
SPLITS, LEAST = 30, 20
QUIET = SilentProgress()
LISTS = read_lists()
WEFE = """
import json, sys, warnings
from gensim.models import KeyedVectors
from wefe.metrics import WEAT
from wefe.query import Query
from wefe.word_embedding_model import WordEmbeddingModel
warnings.simplefilter("ignore")
model = WordEmbeddingModel(KeyedVectors.load_word2vec_format(sys.argv[1]), "vectors")
found = {}
for number, lists in json.load(open(sys.argv[2])).items():
    query = Query(lists[:2], lists[2:])
    some = dict(preprocessors=[{"lowercase": True}])
    ask = lambda **more: WEAT().run_query(query, model, return_effect_size=True, **some, **more)
    found[number] = {"default": ask()["effect_size"], "all": ask(lost_vocabulary_threshold=1.0)["effect_size"]}
print(json.dumps(found))
"""


def table(record: dict[str, Any]) -> str:
    """Write effects with their intervals, in the model and in documents, beside those of WEFE and of the paper."""
    titles = ("test", "words", "paper", "WEFE", "model", "over words", "p", "documents", "over words",
              "over documents")  # fmt: skip
    rows = []
    for number, one in record["tests"].items():
        ours, texts = one["model"], one["documents"]
        rows.append([
            f"{number}: {', '.join(one['lists'][:2])}", f"{one['used']} of {one['given']}", _number(one["paper"]),
            _number(one["wefe"]["default"]) if "wefe" in one else "–", _number(ours["value"]), _interval(ours, ""),
            f"{ours['p']:.2g}", _number(texts["value"]), _interval(texts, ""), _interval(texts, "documents_"),
        ])  # fmt: skip
    return markdown(titles, rows)


def coverage_table(record: dict[str, Any]) -> str:
    """Write how often intervals over documents hold what they should, and how large effects are in less text."""
    titles = (
        "documents",
        "should hold the value of",
        "effects",
        "held",
        "words",
        "held",
        "mean effect",
        "of all",
    )
    rows = []
    for name, other in (("halves", "the other half (× √2)"), ("tenths", "all documents")):
        one = record[name]
        effects, words = one["effect"], one["association"]
        rows.append([
            name, other, f"{effects['number']:,}", f"{100 * effects['held']:.1f} %", f"{words['number']:,}",
            f"{100 * words['held']:.1f} %", f"{one['mean']:.2f}", f"{one['mean of all']:.2f}",
        ])  # fmt: skip
    return markdown(titles, rows, names=2)


def _number(value: float | None) -> str:
    return "nan" if value is None else f"{value:.2f}"


def _interval(one: dict[str, float], kind: str) -> str:
    return f"{one[f'{kind}low']:.2f} to {one[f'{kind}high']:.2f}"


def _plain(numbers: dict[str, Any]) -> dict[str, Any]:
    """Return None in place of nan, which JSON has not."""
    return {name: None if value != value else value for name, value in numbers.items()}


def ask_wefe(model: psdvec.Model, python: str) -> dict[str, Any]:
    """Return the effects that WEFE finds with the same vectors, by default, and whatever is missing."""
    asked = {number: [LISTS[name] for name in test[:4]] for number, test in TESTS.items()}
    words = {
        model.look_up(word, unseen="spelling") for each in asked.values() for one in each for word in one
    }
    with TemporaryDirectory() as folder:
        psdvec.save(
            model.select(sorted(words & set(model.words))), Path(folder) / "vectors.txt", format="text"
        )
        (Path(folder) / "lists.json").write_text(json.dumps(asked), encoding="utf-8")
        call = [python, "-c", WEFE, f"{folder}/vectors.txt", f"{folder}/lists.json"]
        done = subprocess.run(call, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def sum_blocks(model: psdvec.Model, corpus: Path) -> tuple[Any, dict[int, int], Any]:
    """Return sums of all words of the lists in fine blocks, the place of each, and how often words occur."""
    sliced = read_slices(
        model, corpus, by=None, slices=None, column=None, where=None, encoding="utf-8", tokenizer=None, alone=True,
        progress=QUIET,
    )  # fmt: skip
    uses = find_uses(model, sliced, window=5, seed=0, workers=1, progress=QUIET)
    forms = {model.look_up(word, unseen="spelling") for words in LISTS.values() for word in words}
    ids = np.array(sorted(model.key_to_index[word] for word in forms if word in model))
    members = np.array_split(np.random.default_rng(0).permutation(len(sliced.owners)), FINE)
    sums = replace(uses, blocks=replace(uses.blocks, members=tuple(members))).of(ids)[0]
    return sums, {int(row): place for place, row in enumerate(ids)}, uses.occurrences[:, 0]


def in_documents(
    model: psdvec.Model, test: tuple[Any, ...], summed: Any, fine: Any, least: int
) -> list[Estimate]:
    """Measure a test in some of the fine blocks, joined to 48."""
    sums, places, occurrences = summed
    found = find_words(model, [(name, LISTS[name]) for name in (*test[2:4], *test[:2])], occurrences >= least)
    joined = sums[fine].reshape(BLOCKS, -1, *sums.shape[1:]).sum(axis=1)
    blocks = Summed(
        ("documents",), np.zeros(BLOCKS, int), lambda ids: joined[:, [places[row] for row in ids]]
    )
    return measure(found, blocks, permutations=20, seed=0, progress=QUIET)


def try_intervals(model: psdvec.Model, summed: Any, share: int) -> dict[str, Any]:
    """Return how often the interval of a part holds the value of the other half, or of all documents."""
    rng = np.random.default_rng(share)
    held: dict[str, list[bool]] = {EFFECT: [], ASSOCIATION: []}
    raw: dict[int, list[list[float]]] = {}
    whole: dict[int, float] = {}
    for number, test in TESTS.items():
        try:
            alike = in_documents(model, test, summed, np.arange(FINE), LEAST * share)
        except InputError:
            continue
        whole[number], raw[number] = alike[0].value, []
        for _ in range(SPLITS):
            order = rng.permutation(FINE)
            part = FINE // share
            one = in_documents(model, test, summed, order[:part], LEAST * share)
            against, wider = alike, 1.0
            if share == 2:
                against, wider = in_documents(model, test, summed, order[part:], LEAST * share), math.sqrt(2)
            for mine, theirs in _pairs(one, against):
                reach = wider * max(mine.value - mine.documents_low, mine.documents_high - mine.value)
                held[mine.measure].append(abs(mine.value - theirs.value) <= reach)
            raw[number].append([one[0].value, one[0].documents_low, one[0].documents_high, against[0].value])
    return {
        **{name: {"number": len(each), "held": float(np.mean(each))} for name, each in held.items()},
        "mean": float(np.mean([row[0] for rows in raw.values() for row in rows])),
        "mean of all": float(np.mean(list(whole.values()))),
        "all": whole,
        "effects": {number: np.round(rows, 4).tolist() for number, rows in raw.items()},
    }


def _pairs(one: list[Estimate], other: list[Estimate]) -> Iterator[tuple[Estimate, Estimate]]:
    theirs = {(each.measure, each.word): each for each in other}
    return ((each, theirs[each.measure, each.word]) for each in one)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("corpus", type=Path, help="text with a document a line")
    parser.add_argument(
        "--model", type=Path, required=True, help="folder of the model; made if it is not there"
    )
    parser.add_argument("--wefe", help="python of an environment with wefe")
    given = parser.parse_args()
    if not given.model.exists():
        psdvec.train(given.corpus, dim=200, max_words=30_000, output=given.model, quiet=True)
    model = psdvec.load(given.model)
    wefe = ask_wefe(model, given.wefe) if given.wefe else {}
    summed = sum_blocks(model, given.corpus)
    tests: dict[str, Any] = {}
    for number, test in TESTS.items():
        ours = psdvec.association(model, targets=test[:2], attributes=test[2:4], quiet=True)
        used = sum(len(words) for each in (ours.targets, ours.attributes) for words in each.values())
        texts = in_documents(model, test, summed, np.arange(FINE), LEAST)[0]
        tests[str(number)] = {
            "lists": test[:4], "paper": test[4], "given": sum(len(LISTS[name]) for name in test[:4]), "used": used,
            "missing": ours.missing, "model": _plain(ours.effects["model"]._asdict()),
            "documents": _plain(texts._asdict()),
            **({"wefe": _plain(wefe[str(number)])} if wefe else {}),
        }  # fmt: skip
    figures = {
        "tests": tests, "halves": try_intervals(model, summed, 2), "tenths": try_intervals(model, summed, 10)
    }  # fmt: skip
    publish(figures, table, coverage_table, record=given.record)


if __name__ == "__main__":
    run_script(main)
