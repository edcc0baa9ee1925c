"""Tagging tasks: named entities and chunks in the files of CoNLL, a tagger with vectors as features, and its score."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from psdvec.errors import InputError, demand_seed, import_extra
from psdvec.progress import LogProgress, Progress
from psdvec.text.readers import read_lines
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.neighbours import csr_of

# Tagged sentences of the CoNLL shared tasks: chunking of 2000, named entities of 2003.

_HELD_OUT = 1000
_FILES = {
    "conll2000": ("train.txt", None, "test.txt"),
    "conll2003": ("eng.train", "eng.testa", "eng.testb"),
}


@dataclass(frozen=True)
class Sentence:
    """Words, their parts of speech, and their tags in IOB2."""

    words: tuple[str, ...]
    parts: tuple[str, ...]
    tags: tuple[str, ...]


@dataclass(frozen=True)
class TaggingData:
    """A tagging task: ``dev`` is disjoint from ``train``; the final tagger learns from ``final``."""

    name: str
    train: tuple[Sentence, ...]
    dev: tuple[Sentence, ...]
    test: tuple[Sentence, ...]
    final: tuple[Sentence, ...]


def load_tagging(spec: str, *, seed: int = 0) -> TaggingData:
    """Read the task that ``spec`` names, such as ``conll2000:folder``."""
    demand_seed(seed)
    name, _, folder = spec.partition(":")
    if name not in _FILES or not folder:
        raise InputError(
            f"'{spec}' is not a tagging task; write {' or '.join(f'{known}:FOLDER' for known in _FILES)}"
        )
    train_name, dev_name, test_name = _FILES[name]
    whole, test = (read_conll(Path(folder) / part) for part in (train_name, test_name))
    if dev_name is not None:
        return TaggingData(name, whole, read_conll(Path(folder) / dev_name), test, whole)
    order = np.random.default_rng(seed).permutation(len(whole))
    held_out = set(order[: min(_HELD_OUT, len(whole) // 5)].tolist())
    train = tuple(sentence for i, sentence in enumerate(whole) if i not in held_out)
    return TaggingData(name, train, tuple(whole[i] for i in sorted(held_out)), test, whole)


def read_conll(path: str | Path) -> tuple[Sentence, ...]:
    """Read lines ``word part-of-speech ... tag``, with a blank line after each sentence, in any IOB scheme."""
    path = Path(path)
    sentences: list[Sentence] = []
    rows: list[list[str]] = []
    for number, line in enumerate([*read_lines(path), ""], start=1):
        columns = line.split()
        if columns and columns[0] != "-DOCSTART-":
            if len(columns) < 3:
                raise InputError(
                    f"line {number} of '{path}' has {len(columns)} columns, but at least 3 are needed; correct it"
                )
            if rows and len(columns) != len(rows[0]):
                raise InputError(
                    f"line {number} of '{path}' has {len(columns)} columns, but those before it in its sentence have "
                    f"{len(rows[0])}; correct it"
                )
            rows.append(columns)
        elif rows:
            words, parts, *_ = zip(*rows, strict=True)
            sentences.append(Sentence(words, parts, tuple(to_iob2([row[-1] for row in rows]))))
            rows = []
    if not sentences:
        raise InputError(f"'{path}' contains no sentences; give the folder with the task's own files")
    return tuple(sentences)


# Tags of named entities and chunks: the spans they mark, and how many spans two taggings share.

Span = tuple[int, int, str]


def spans_of(tags: Sequence[str]) -> list[Span]:
    """Return the spans of a tagged sentence as ``(start, end, label)``, ``end`` exclusive.

    A span begins at a tag B or S, at any tag after O, after E or S, and where the label changes.

    >>> spans_of(["I-PER", "I-PER", "O", "B-LOC", "B-LOC", "I-ORG"])
    [(0, 2, 'PER'), (3, 4, 'LOC'), (4, 5, 'LOC'), (5, 6, 'ORG')]
    """
    spans: list[Span] = []
    start, prefix, label = 0, "O", ""
    for i, tag in enumerate([*tags, "O"]):
        next_prefix, _, next_label = tag.partition("-")
        begins = next_prefix in ("B", "S") or prefix in ("O", "E", "S") or next_label != label
        if prefix != "O" and (next_prefix == "O" or begins):
            spans.append((start, i, label))
        if next_prefix != "O" and begins:
            start = i
        prefix, label = next_prefix, next_label
    return spans


def to_iob2(tags: Sequence[str]) -> list[str]:
    """Return the same spans in IOB2: every span begins with B.

    >>> to_iob2(["I-PER", "I-PER", "O", "S-LOC"])
    ['B-PER', 'I-PER', 'O', 'B-LOC']
    """
    written = ["O"] * len(tags)
    for start, end, label in spans_of(tags):
        written[start] = f"B-{label}"
        written[start + 1 : end] = [f"I-{label}"] * (end - start - 1)
    return written


@dataclass(frozen=True)
class Counts:
    """How many spans are right, how many were found, and how many there are in the gold tagging."""

    right: int
    found: int
    gold: int

    @property
    def precision(self) -> float:
        """The share of found spans that are right; 0 if none was found."""
        return self.right / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """The share of gold spans that were found; 0 if there are none."""
        return self.right / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.right / (self.found + self.gold) if self.found + self.gold else 0.0


def sum_counts(counts: Sequence[Counts]) -> Counts:
    """Return the counts over all of several sentences."""
    return Counts(*(sum(getattr(one, name) for one in counts) for name in ("right", "found", "gold")))


def count_spans(gold: Sequence[str], found: Sequence[str]) -> Counts:
    """Compare two taggings of one sentence; a span is right if both its ends and its label are.

    >>> count_spans(["B-NP", "I-NP", "O"], ["B-NP", "O", "B-NP"])
    Counts(right=0, found=2, gold=1)
    """
    expected, given = set(spans_of(gold)), set(spans_of(found))
    return Counts(len(expected & given), len(given), len(expected))


def count_by_label(sentences: Iterable[tuple[Sequence[str], Sequence[str]]]) -> dict[str, Counts]:
    """Return the counts per label over pairs of a gold and a found tagging, the labels sorted."""
    spans = [(set(spans_of(expected)), set(spans_of(given))) for expected, given in sentences]
    right = Counter(label for expected, given in spans for _, _, label in expected & given)
    found = Counter(label for _, given in spans for _, _, label in given)
    gold = Counter(label for expected, _ in spans for _, _, label in expected)
    return {label: Counts(right[label], found[label], gold[label]) for label in sorted(found | gold)}


# Named entities and chunks tagged by a linear-chain CRF, with and without word vectors as features.

BASELINE = "no vectors"
PENALTIES = (0.1, 0.3, 1.0)
SCALES = (0.1, 0.3, 1.0)
# CRFsuite gives a feature no weight for a tag if its values, summed over the words with that tag, stay below a minimum.
# CRFsuite's own minimum, 0, leaves out every component of the vectors that is mostly negative there.
_NO_MINIMUM = -1e30
_TRIAL_STEPS = 100  # of the optimiser, while settings are chosen

Features = dict[str, float]


@dataclass(frozen=True)
class TaggingResult:
    """How well a test part was tagged, and with which settings.

    ``sentences``: the counts per sentence; ``labels``: the counts per label; ``accuracy``: the share of tokens with the
    right tag; ``dev_f1``: F1 on the development part, by which the settings were chosen.
    """

    task: str
    model: str
    sentences: tuple[Counts, ...]
    labels: Mapping[str, Counts]
    accuracy: float
    penalty: float
    scale: float | None
    dev_f1: float
    seconds: float

    @property
    def total(self) -> Counts:
        """The counts over all sentences."""
        return sum_counts(self.sentences)


def evaluate_tagging(
    models: Mapping[str, Embeddings],
    data: TaggingData,
    *,
    window: int = 1,
    penalties: Sequence[float] = PENALTIES,
    scales: Sequence[float] = SCALES,
    iterations: int = 1000,
    every: int = 3,
    progress: Progress = LogProgress(),
) -> tuple[TaggingResult, ...]:
    """Tag the test part of ``data`` without vectors and with those of each model.

    Parameters
    ----------
    window : how many words to the left and to the right lend their vectors as features, beside the word itself
    penalties : weights of the squared penalty to choose from, on the development part and without vectors
    scales : standard deviations of the vectors' components to choose from, per model, on the development part
    iterations : the most steps of the optimiser, which stops before if ten of them gain next to nothing
    every : while settings are chosen, learn from every ``every``-th sentence only, in at most 100 steps; the final
        tagger learns from all
    """
    for name, embeddings in models.items():
        if csr_of(embeddings.vectors) is not None:
            raise InputError(
                f"the vectors of '{name}' are sparse, with {embeddings.dim:,} dimensions, which are too many features "
                "for a tagger; leave this model out"
            )
    tag = partial(choose_and_tag, data, window=window, iterations=iterations, every=every, progress=progress)
    base = tag(BASELINE, None, [(penalty, None) for penalty in penalties])
    others = [tag(name, e, [(base.penalty, scale) for scale in scales]) for name, e in models.items()]
    return base, *others


def choose_and_tag(
    data: TaggingData,
    name: str,
    embeddings: Embeddings | None,
    candidates: Sequence[tuple[float, float | None]],
    *,
    window: int = 1,
    iterations: int = 1000,
    every: int = 3,
    progress: Progress,
) -> TaggingResult:
    """Choose among penalties and scales on the development part, and tag the test part with the best."""

    def train(sentences: Sequence[Sentence], penalty: float, scale: float | None, steps: int) -> Tagger:
        extract: Extractor = base_features
        if embeddings is not None and scale is not None:
            extract = _VectorFeatures(embeddings, scale, window)
        return train_tagger(sentences, extract, penalty=penalty, iterations=steps, progress=progress)

    start = time.monotonic()
    tried = []
    for penalty, scale in candidates:
        tagger = train(data.train[::every], penalty, scale, min(iterations, _TRIAL_STEPS))
        f1 = sum_counts([count_spans(sentence.tags, tagger(sentence)) for sentence in data.dev]).f1
        chosen = f"penalty {penalty:g}" + (f", scale {scale:g}" if scale is not None else "")
        progress.say(f"{data.name}, {name}: {chosen}: F1 {100 * f1:.2f} on the development part")
        tried.append((f1, penalty, scale))
    dev_f1, penalty, scale = max(tried, key=lambda one: one[0])
    tagger = train(data.final, penalty, scale, iterations)
    tagged = [(sentence.tags, tagger(sentence)) for sentence in data.test]
    pairs = [pair for gold, found in tagged for pair in zip(gold, found, strict=True)]
    return TaggingResult(
        task=data.name,
        model=name,
        sentences=tuple(count_spans(gold, found) for gold, found in tagged),
        labels=count_by_label(tagged),
        accuracy=sum(gold == found for gold, found in pairs) / len(pairs),
        penalty=penalty,
        scale=scale,
        dev_f1=dev_f1,
        seconds=time.monotonic() - start,
    )


def check_tagger() -> ModuleType:
    """Return the package that does the tagging, or say how to install it."""
    return import_extra("pycrfsuite", extra="eval", purpose="tagging")


Tagger = Callable[[Sentence], list[str]]
Extractor = Callable[[Sentence], list[Features]]


def train_tagger(
    sentences: Sequence[Sentence],
    extract: Extractor,
    *,
    penalty: float,
    iterations: int = 1000,
    progress: Progress = LogProgress(),
) -> Tagger:
    """Train a CRF on ``sentences`` and return the function that tags one."""
    crfsuite = check_tagger()
    trainer = crfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params(
        {"c1": 0.0, "c2": penalty, "max_iterations": iterations, "feature.minfreq": _NO_MINIMUM}
    )
    with progress.stage("features", total=len(sentences), unit="sentences") as stage:
        for sentence in sentences:
            trainer.append(extract(sentence), list(sentence.tags))
            stage.advance(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        with progress.stage("training the tagger", total=None, unit="steps") as stage:
            trainer.message = lambda text: stage.advance(text.startswith("***** Iteration"))
            trainer.train(str(path))
        tagger = crfsuite.Tagger()
        tagger.open(str(path))  # reads the whole file
    return lambda sentence: list(tagger.tag(extract(sentence)))


def base_features(sentence: Sentence) -> list[Features]:
    """Return the usual features of each word: words, parts of speech, shapes and affixes, its own and around it.

    >>> features = base_features(Sentence(("EU", "rejects"), ("NNP", "VBZ"), ("B-ORG", "O")))
    >>> sorted(features[1])[:4]
    ['bias', 'end', 'low=rejects', 'p-1=NNP']
    """
    words, parts = sentence.words, sentence.parts
    shapes = [word_shape(word) for word in words]
    return [dict.fromkeys(_features_at(words, parts, shapes, i), 1.0) for i in range(len(words))]


def _features_at(words: Sequence[str], parts: Sequence[str], shapes: Sequence[str], i: int) -> Iterator[str]:
    word, low = words[i], words[i].lower()
    yield from ("bias", f"low={low}", f"shape={shapes[i]}")
    if i == 0:
        yield "begin"
    if i == len(words) - 1:
        yield "end"
    for length in range(1, min(4, len(low)) + 1):
        yield f"pre={word[:length]}"
        yield f"suf={low[-length:]}"
    for offset in (-2, -1, 0, 1, 2):
        if 0 <= i + offset < len(words):
            yield f"w{offset}={words[i + offset]}"
            yield f"p{offset}={parts[i + offset]}"
            yield f"s{offset}={shapes[i + offset]}"
    for offset in (-1, 0):
        if i + offset >= 0 and i + offset + 1 < len(words):
            yield f"ww{offset}={words[i + offset]}|{words[i + offset + 1]}"
    for offset in (-2, -1, 0, 1):
        if i + offset >= 0 and i + offset + 1 < len(words):
            yield f"pp{offset}={parts[i + offset]}|{parts[i + offset + 1]}"
    for offset in (-2, -1, 0):
        if i + offset >= 0 and i + offset + 2 < len(words):
            yield f"ppp{offset}={'|'.join(parts[i + offset : i + offset + 3])}"


def word_shape(word: str) -> str:
    """Return the kinds of a word's characters, each run of one kind written once.

    >>> word_shape("McDonald's-7.5")
    'XxXx.x.9.9'
    """
    shape = ""
    for one in word:
        kind = "X" if one.isupper() else "x" if one.islower() else "9" if one.isdigit() else "."
        if not shape.endswith(kind):
            shape += kind
    return shape


class _VectorFeatures:
    """The base features, and the scaled components of the vectors around each word."""

    def __init__(self, embeddings: Embeddings, scale: float, window: int) -> None:
        self.embeddings = embeddings
        self.factor = scale / float(np.std(embeddings.vectors[:50_000])) if len(embeddings) else 0.0
        self.names = {
            offset: [f"v{offset}.{j}" for j in range(embeddings.dim)] for offset in range(-window, window + 1)
        }
        self.rows: dict[str, list[float] | None] = {}

    def __call__(self, sentence: Sentence) -> list[Features]:
        features = base_features(sentence)
        rows = [self._row(word) for word in sentence.words]
        for i, row_features in enumerate(features):
            for offset, names in self.names.items():
                row = rows[i + offset] if 0 <= i + offset < len(rows) else None
                if row is not None:
                    row_features.update(zip(names, row, strict=True))
        return features

    def _row(self, word: str) -> list[float] | None:
        """Return the scaled vector of a word, otherwise of its lower-case form, otherwise None."""
        if word not in self.rows:
            found: Any = self.embeddings.get(word, self.embeddings.get(word.lower()))
            self.rows[word] = None if found is None else (self.factor * found).tolist()
        return self.rows[word]
