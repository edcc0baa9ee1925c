"""What several tests need: counts as dictionaries, artefacts as bytes, plans so small that every path is taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from psdvec.counts import out_of_core
from psdvec.counts.matrix import Cooccurrence
from psdvec.counts.pair_rows import Range


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


def count_in_small_runs(
    monkeypatch: pytest.MonkeyPatch, *, chunk: int, cells: int = 7, fan_in: int = 3
) -> None:
    """Make counting proceed as it would with little memory: short chunks, small blocks, several merge passes."""

    def plan(
        ids: int, *, n: int, memory: int, workers: int, rows: Range | None = None
    ) -> out_of_core.RunPlan:
        return out_of_core.RunPlan(n, rows or Range(0, n), ids, chunk, cells, workers)

    monkeypatch.setattr(out_of_core, "plan_runs", plan)
    monkeypatch.setattr(out_of_core, "FAN_IN", fan_in)
