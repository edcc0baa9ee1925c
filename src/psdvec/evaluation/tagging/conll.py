"""Tagged sentences of the CoNLL shared tasks: chunking of 2000, named entities of 2003.

A folder with the task's own files becomes a :class:`TaggingData`: sentences to learn from, to choose settings on, and
to test on. CoNLL-2000 has no development part, so a thousand sentences drawn at random from the training part serve as
one, as in Turian et al. (2010).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from psdvec.errors import InputError, demand_seed
from psdvec.evaluation.tagging.tags import to_iob2
from psdvec.text.readers import read_lines

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
    held_out = set(
        np.random.default_rng(seed).permutation(len(whole))[: min(_HELD_OUT, len(whole) // 5)].tolist()
    )
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
