"""What several tests need: counts as dictionaries, artefacts as bytes, plans so small that every path is taken."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from contextlib import AbstractContextManager
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psdvec.counts import pairs as out_of_core
from psdvec.counts.matrix import Cooccurrence
from psdvec.counts.pairs import Range
from psdvec.progress import SilentProgress, Stage
from psdvec.storage.artefact import META, seal

needs_gensim = pytest.mark.skipif(
    find_spec("gensim") is None,
    reason="gensim, which has no release for Python 3.14 and newer, is not installed",
)


VOID = {"meta", "br", "hr", "img", "input", "link"}  # tags that need no end


class Watched(SilentProgress):
    """Notes the stages and remarks of long work, ``heard``, and the ``units`` that it finishes one after the other.

    It is interrupted at the stage or remark that begins with ``stop_at``, or after ``stop_after`` such units.
    """

    def __init__(self, *, stop_at: str | None = None, stop_after: int | None = None) -> None:
        self.heard: list[str] = []
        self.units: list[float] = []
        self._stop_at, self._stop_after = stop_at, stop_after

    def stage(self, label: str, *, total: float | None, unit: str) -> AbstractContextManager[Stage]:
        self.say(label)
        return super().stage(label, total=total, unit=unit)

    def say(self, text: str) -> None:
        self.heard.append(text)
        if self._stop_at is not None and text.startswith(self._stop_at):
            raise KeyboardInterrupt

    def advance(self, done: float, **rates: float) -> None:
        if len(self.units) == self._stop_after:
            raise KeyboardInterrupt
        self.units.append(done)

    @property
    def rounds(self) -> list[int]:
        """The numbers of the rounds that were done."""
        return [int(text.split(":")[0][6:]) for text in self.heard if text.startswith("round ")]


class Page(HTMLParser):
    """The ``tags`` of a page, with how often each stands there, its ``attributes`` and ``texts``; it is well-formed."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(source)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += attrs
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def cells(counts: Cooccurrence) -> dict[tuple[str, str], int]:
    """All cells as {(context, focus): value in units}."""
    words = counts.vocabulary.words
    return {
        (words[i], words[j]): int(value)
        for i in range(len(words))
        for j, value in zip(
            counts.indices[counts.indptr[i] : counts.indptr[i + 1]].tolist(),
            counts.values[counts.indptr[i] : counts.indptr[i + 1]].tolist(),
            strict=True,
        )
    }


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of an artefact."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def put_right(folder: Path, changed: Path) -> None:
    """Write the size and the checksum of a changed file into ``meta.json``, and its own anew, as malice would."""
    meta = json.loads((folder / META).read_text())
    if changed.name != META:
        data = changed.read_bytes()
        meta["files"][changed.name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (folder / META).write_text(json.dumps(seal(meta)))


def replace_array(folder: Path, name: str, array: Any) -> None:
    """Put another array in the place of one, with all checksums right."""
    np.save(folder / f"{name}.npy", array)
    put_right(folder, folder / f"{name}.npy")


def replace_parameter(folder: Path, *names: str, value: Any) -> None:
    """Put another value in the place of a parameter, which may lie in others, with all checksums right."""
    meta = json.loads((folder / META).read_text())
    record = meta["parameters"]
    for name in names[:-1]:
        record = record[name]
    record[names[-1]] = value
    (folder / META).write_text(json.dumps(seal(meta)))


def count_in_small_runs(
    monkeypatch: pytest.MonkeyPatch, *, chunk: int, cells: int = 7, fan_in: int = 3
) -> None:
    """Make counting proceed as it would with little memory: short chunks, small blocks, several merge passes."""

    def portions(
        ids: int, *, n: int, memory: int, workers: int, rows: Range | None = None
    ) -> out_of_core.Portions:
        return out_of_core.Portions(n, rows or Range(0, n), ids, chunk, cells, workers)

    monkeypatch.setattr(out_of_core, "choose_portions", portions)
    monkeypatch.setattr(out_of_core, "FAN_IN", fan_in)
