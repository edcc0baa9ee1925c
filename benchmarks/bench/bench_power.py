"""Which changes of meaning are found: by ``psdvec.change``, and by what people do today.

    python -m benchmarks.bench.bench_power swapped CORPUS --work FILE [--record FILE]
    python -m benchmarks.bench.bench_power examples NAME=FIRST,SECOND ... --work FILE [--record FILE]

*Swapped*: random documents of CORPUS are dealt to two halves. In the second, words are changed by hand: a share of the
occurrences of A and as many of B, a word as frequent, change places, so that frequencies stay. Words that were left
alone are the controls. Judged by the area under the curve: how often a changed word gets a higher score than a control
of its frequency. *Examples*: the first thirty words of ours and of skip-gram, for two real texts each; a text is a
file, or FILE:FIELD=VALUE for JSON lines.

Rivals have the same words of the same documents. *Procrustes*: gensim's skip-gram for each slice, rows of length 1, one
rotated onto the other. *Compass* (the idea of CADE, Bianchi et al. 2020): skip-gram on all text; then each slice learns
its words from where those left them, against the context vectors of all text, which stay as they are.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numba
import numpy as np
from benchmarks.lib.measure import markdown, run_script
from benchmarks.lib.records import Records, make_parser, publish

import psdvec

BANDS = (20, 50, 200, 1000, 10**9)  # occurrences in the slice that has fewer
SHARES = (0.1, 0.25, 0.5, 1.0)
PAIRS, CONTROLS = 40, 400  # of a share and band, at most; words of a band, at most
DIM, WINDOW, EPOCHS = 100, 5, 15
SEEDS = {"procrustes": 3, "compass": 1}
LONGEST = 10_000  # words that gensim takes at once
STEP, LAST_STEP, NEGATIVE = 0.025, 0.0001, 5  # gensim's own
NAMES = {
    "low": "ours, `low`",
    "distance": "ours, `distance`",
    "p": "ours, `p`",
    "cosine": "ours, `cosine`",
    "uses": "plain cosine of our uses",
    "refreshed": "plain cosine of our words, placed anew",
    "procrustes": "skip-gram, Procrustes",
    "compass": "skip-gram, compass",
}
Words = list[list[str]]


def band_names() -> list[str]:
    """Return what the bands of frequency are called."""
    return [f"{low} to {high - 1}" for low, high in pairwise(BANDS[:-1])] + [f"{BANDS[-2]:,} or more"]


def bands_of(occurrences: Any) -> Any:
    """Return the band of each word by its occurrences, -1 below the first."""
    return np.searchsorted(BANDS, occurrences, side="right") - 1


def swapped_table(record: dict[str, Any]) -> str:
    """Write the area under the curve by band and share; the highest of a row in bold, and who has it."""
    areas = mean_areas(record["steps"])
    heads = ["occurrences", "share", "changed", "controls", *NAMES.values()]
    rows = []
    for place, one in enumerate(record["words"]):
        row = {name: areas[name][place] for name in NAMES}
        best = max(row.values())
        cells = [
            f"**{area:.2f}**" if f"{area:.2f}" == f"{best:.2f}" else f"{area:.2f}" for area in row.values()
        ]
        rows.append(
            [
                band_names()[one["band"]],
                f"{100 * one['share']:.0f} %",
                str(one["changed"]),
                str(one["controls"]),
                *cells,
            ]
        )
    means = [f"{np.mean(areas[name]):.3f}" for name in NAMES]
    return markdown(heads, [*rows, ["mean", "", "", "", *means]], names=2)


def dims_table(record: dict[str, Any]) -> str:
    """Write the mean area under the curve of ours by dimensions."""
    names = [name for name in NAMES if name in record["steps"][0]["areas"]]
    rows = [
        [str(step["dim"]), *(f"{np.mean(step['areas'][name]):.3f}" for name in names)]
        for step in record["steps"]
    ]
    return markdown(["dimensions", *(NAMES[name] for name in names)], rows)


def mean_areas(steps: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the areas of each method, the mean over its seeds."""
    found: dict[str, list[list[float]]] = {}
    for step in steps:
        for name, areas in step["areas"].items():
            found.setdefault(name, []).append(areas)
    return {name: np.mean(areas, axis=0) for name, areas in found.items()}


def examples_table(record: dict[str, Any]) -> str:
    """Write the first thirty words of both."""
    rows = [
        [step["name"], f"{step['tested']:,}", ", ".join(step["ours"]), ", ".join(step["procrustes"])]
        for step in record["steps"]
    ]
    return markdown(["slices", "words", "ours, by `low`", "skip-gram, Procrustes"], rows, names=4)


def kept_step(kept: Records, key: dict[str, Any], make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return a step with its key: the one that an earlier run kept, or made now."""
    found = kept.find(key)
    if found is None:
        found = make()
        kept.add(key, found)
    return {**key, **found}


def read_texts(given: Path | str) -> list[str]:
    """Return the documents of a file: records of JSON, articles with blank lines between them, or lines."""
    path, _, asked = str(given).partition(":")
    field, _, value = asked.partition("=")
    opened: Any = lzma.open if path.endswith(".xz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        if ".jsonl" in path:
            rows = [json.loads(line) for line in file]
            return [row["text"] for row in rows if not asked or str(row[field]) == value]
        text = file.read()
    return [part for part in text.split("\n\n" if "\n\n" in text else "\n") if part.strip()]


def draw_texts(given: Path | str, words: int, *, seed: int) -> list[str]:
    """Return documents in a random order until they have so many words."""
    texts, drawn, size = read_texts(given), [], 0
    for place in np.random.default_rng(seed).permutation(len(texts)):
        if size >= words:
            break
        drawn.append(texts[place])
        size += len(texts[place].split())
    return drawn


def cut(texts: Sequence[str]) -> Words:
    """Cut texts into lower-cased words of letters."""
    return [re.findall(r"[^\W\d_]+", text.lower()) for text in texts]


def swap(halves: list[Words], *, seed: int) -> tuple[list[Words], list[dict[str, Any]]]:
    """Change words of the second half by hand; return both halves, and for each band and share what was changed."""
    generator = np.random.default_rng(seed)
    counts: list[dict[str, int]] = [{}, {}]
    places: dict[str, list[tuple[int, int]]] = {}
    for half, own in zip(halves, counts, strict=True):
        for document in half:
            for word in document:
                own[word] = own.get(word, 0) + 1
    words = sorted(word for word in counts[1] if counts[0].get(word, 0) >= BANDS[0] <= counts[1][word])
    words.sort(key=lambda word: counts[1][word])
    bands = bands_of([min(counts[0][word], counts[1][word]) for word in words])
    changed = [list(document) for document in halves[1]]
    for number, document in enumerate(changed):
        for place, word in enumerate(document):
            places.setdefault(word, []).append((number, place))
    groups = []
    for band in range(len(BANDS) - 1):
        own_words = [word for word, in_band in zip(words, bands, strict=True) if in_band == band]
        pairs = [tuple(own_words[k : k + 2]) for k in range(0, len(own_words) - 1, 2)]
        pairs = [pairs[k] for k in generator.permutation(len(pairs))]
        size = min(PAIRS, len(pairs) // 10)
        rest = pairs[size * len(SHARES) :][: CONTROLS // 2]
        controls = [word for pair in rest for word in pair]
        for share in SHARES:
            chosen, pairs = pairs[:size], pairs[size:]
            for pair in chosen:
                number = round(share * min(len(places[word]) for word in pair))
                for word, other in (pair, pair[::-1]):
                    for at in generator.permutation(len(places[word]))[:number]:
                        document, place = places[word][at]
                        changed[document][place] = other
            groups.append(
                {
                    "band": band,
                    "share": share,
                    "changed": [w for pair in chosen for w in pair],
                    "controls": controls,
                }
            )
    return [halves[0], changed], [group for group in groups if group["changed"]]


def area(changed: Any, controls: Any) -> float:
    """Return how often a score of the first is higher than one of the second; half for equal ones."""
    higher = changed[:, None] > controls
    return float((higher + 0.5 * (changed[:, None] == controls)).mean())


def cosine_distances(one: Any, other: Any) -> Any:
    """Return 1 less the cosine of rows."""
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return 1 - (one * other).sum(axis=1) / np.maximum(lengths, 1e-12)


def skipgram(documents: Words, *, seed: int, dim: int, window: int, min_count: int, epochs: int) -> Any:
    """Train gensim's skip-gram."""
    from gensim.models import Word2Vec

    short = [document[k : k + LONGEST] for document in documents for k in range(0, len(document), LONGEST)]
    return Word2Vec(
        short, vector_size=dim, window=window, sg=1, negative=NEGATIVE, min_count=min_count, epochs=epochs, seed=seed,
        workers=2, alpha=STEP, min_alpha=LAST_STEP,
    )  # fmt: skip


def skipgram_distances(
    one: Words,
    other: Words,
    words: Sequence[str],
    *,
    seed: int,
    dim: int,
    window: int,
    min_count: int,
    epochs: int,
) -> Any:
    """Return the cosine distances of words between two slices: skip-gram for each, and one rotated onto the other."""
    models = [
        skipgram(slice_, seed=seed, dim=dim, window=window, min_count=min_count, epochs=epochs).wv
        for slice_ in (one, other)
    ]
    common = [word for word in models[0].index_to_key if word in models[1].key_to_index]
    first, second = (model[common] / np.linalg.norm(model[common], axis=1, keepdims=True) for model in models)
    left, _, right = np.linalg.svd(first.T @ second)
    rows = [common.index(word) for word in words]
    return cosine_distances((first @ (left @ right))[rows], second[rows])


@numba.njit(nogil=True, fastmath=True)
def learn_words(tokens, starts, kept, drawn, contexts, words, window, epochs, seed):
    """Learn ``words`` float32[n, d] in place by skip-gram with negative samples, ``contexts`` of that shape given.

    ``kept`` float64[n]: the chance that an occurrence of a word is used; ``drawn`` int32: the words to draw from.
    """
    np.random.seed(seed)
    gradient = np.empty(words.shape[1], np.float32)
    used = np.empty(len(tokens), np.int32)
    for epoch in range(epochs):
        for document in range(len(starts) - 1):
            done = (epoch + starts[document] / len(tokens)) / epochs
            step = STEP + (LAST_STEP - STEP) * done
            size = 0
            for place in range(starts[document], starts[document + 1]):
                if np.random.random() < kept[tokens[place]]:
                    used[size] = tokens[place]
                    size += 1
            for place in range(size):
                own = words[used[place]]
                reach = np.random.randint(1, window + 1)
                for near in range(max(0, place - reach), min(size, place + reach + 1)):
                    if near == place:
                        continue
                    gradient[:] = 0
                    for sample in range(NEGATIVE + 1):
                        other = used[near] if sample == 0 else drawn[np.random.randint(len(drawn))]
                        if sample and other == used[near]:
                            continue
                        product = np.float32(0)
                        for k in range(len(own)):
                            product += own[k] * contexts[other, k]
                        error = np.float32(((sample == 0) - 1 / (1 + np.exp(-product))) * step)
                        for k in range(len(own)):
                            gradient[k] += error * contexts[other, k]
                    for k in range(len(own)):
                        own[k] += gradient[k]


def compass_distances(slices: Sequence[Words], words: Sequence[str], *, seed: int) -> Any:
    """Return the cosine distances of words between slices that were learned against the contexts of all text."""
    every = [document for slice_ in slices for document in slice_]
    compass = skipgram(every, seed=seed, dim=DIM, window=WINDOW, min_count=5, epochs=EPOCHS)
    ids, n = compass.wv.key_to_index, len(compass.wv)
    counts = np.array([compass.wv.get_vecattr(k, "count") for k in range(n)], np.float64)
    frequent = 1e-3 * counts.sum() / counts
    kept = np.minimum(np.sqrt(frequent) + frequent, 1.0)
    shares = np.cumsum(counts**0.75) / (counts**0.75).sum()
    drawn = np.searchsorted(shares, (np.arange(1 << 20) + 0.5) / (1 << 20)).astype(np.int32)

    def learn(slice_: Words) -> Any:
        known = [[ids[word] for word in document if word in ids] for document in slice_]
        starts = np.concatenate([[0], np.cumsum([len(document) for document in known])])
        tokens = np.array([token for document in known for token in document], np.int32)
        learned = compass.wv.vectors.copy()
        learn_words(tokens, starts, kept, drawn, compass.syn1neg, learned, WINDOW, EPOCHS, seed)
        return learned[[ids[word] for word in words]]

    with ThreadPoolExecutor(2) as pool:
        return cosine_distances(*pool.map(learn, slices))


def our_scores(slices: Sequence[Words], words: Sequence[str], *, dim: int) -> dict[str, Any]:
    """Return what ``psdvec.change`` says of words, and what plain cosines say."""
    counts = psdvec.count_pairs([d for slice_ in slices for d in slice_], max_words=20_000, quiet=True)
    model = psdvec.fit(counts, dim=dim, quiet=True)
    found = psdvec.change(model, slices={str(k): slice_ for k, slice_ in enumerate(slices)}, quiet=True)
    rows = [found.ids[word] for word in words]
    anew = []
    for slice_ in slices:
        own = psdvec.count_pairs(slice_, min_count=5, quiet=True)
        anew.append(psdvec.extend(model, own, words=[], refresh=list(words), quiet=True)[list(words)])
    return {
        "low": found.low[rows], "distance": found.distance[rows], "p": -np.log(found.p[rows]),
        "cosine": np.nan_to_num(1 - found.cosine[rows], nan=1.0),
        "uses": cosine_distances(*found.vectors[:, rows].astype(float)), "refreshed": cosine_distances(*anew),
    }  # fmt: skip


def swapped_steps(given: argparse.Namespace) -> dict[str, Any]:
    """Run or find every method and seed."""
    documents = cut(draw_texts(given.corpus, given.words, seed=0))
    slices, groups = swap([documents[::2], documents[1::2]], seed=0)
    words = sorted({word for group in groups for word in [*group["changed"], *group["controls"]]})
    rows = {word: row for row, word in enumerate(words)}

    def judged(scores: dict[str, Any]) -> dict[str, Any]:
        return {
            "areas": {
                name: [
                    area(*(each[[rows[word] for word in group[kind]]] for kind in ("changed", "controls")))
                    for group in groups
                ]
                for name, each in scores.items()
            }
        }

    def rival(name: str, seed: int) -> dict[str, Any]:
        if name == "compass":
            return judged({name: compass_distances(slices, words, seed=seed)})
        options = {"dim": DIM, "window": WINDOW, "min_count": 5, "epochs": EPOCHS}
        return judged({name: skipgram_distances(*slices, words, seed=seed, **options)})

    def ours(dim: int) -> dict[str, Any]:
        return judged(our_scores(slices, words, dim=dim))

    kept = Records(given.work)
    steps = [kept_step(kept, {"method": "ours", "dim": dim}, partial(ours, dim)) for dim in given.dims]
    for name, seeds in SEEDS.items() if given.table is swapped_table else ():
        for seed in range(seeds):
            steps.append(kept_step(kept, {"method": name, "seed": seed}, partial(rival, name, seed)))
    sizes = [
        {**group, "changed": len(group["changed"]), "controls": len(group["controls"])} for group in groups
    ]
    return {"words": sizes, "steps": steps}


def example(sources: Sequence[str], words: int) -> dict[str, Any]:
    """Return the first words of ours and of skip-gram for two texts."""
    slices = [cut(draw_texts(source, words, seed=0)) for source in sources]
    model = psdvec.train([d for slice_ in slices for d in slice_], dim=DIM, max_words=20_000, quiet=True)
    found = psdvec.change(model, slices={str(k): slice_ for k, slice_ in enumerate(slices)}, quiet=True)
    distances = skipgram_distances(
        *slices, found.words, seed=0, dim=DIM, window=WINDOW, min_count=5, epochs=EPOCHS
    )
    return {
        "tested": len(found), "ours": list(found.words[:30]),
        "procrustes": [found.words[k] for k in np.argsort(-distances)[:30]],
    }  # fmt: skip


def example_steps(given: argparse.Namespace) -> dict[str, Any]:
    """Run or find every pair of texts."""
    kept, steps = Records(given.work), []
    for pair in given.pairs:
        name, _, sources = pair.partition("=")
        steps.append(
            kept_step(
                kept, {"name": name, "sources": sources, "words": given.words},
                partial(example, sources.split(","), given.words),
            )
        )  # fmt: skip
    return {"steps": steps}


def main() -> None:
    parser = make_parser(__doc__)
    kinds = parser.add_subparsers(required=True)
    one = kinds.add_parser("swapped")
    one.add_argument("corpus", type=Path, help="JSON lines with a field text, or plain text")
    one.add_argument("--words", type=int, default=3_000_000)
    one.add_argument("--dims", type=int, nargs="+", default=[DIM], help="of our vectors")
    one.add_argument(
        "--no-rivals",
        dest="table",
        action="store_const",
        const=dims_table,
        default=swapped_table,
        help="ours alone",
    )
    one.set_defaults(steps=swapped_steps)
    two = kinds.add_parser("examples")
    two.add_argument("pairs", nargs="+", help="NAME=FIRST,SECOND")
    two.add_argument("--words", type=int, default=1_000_000, help="of each slice, at most")
    two.set_defaults(steps=example_steps, table=examples_table)
    for each in (one, two):
        each.add_argument("--work", type=Path, required=True)
        each.add_argument("--record", type=Path)
    given = parser.parse_args()
    publish(given.steps(given), given.table, record=given.record)


if __name__ == "__main__":
    run_script(main)
