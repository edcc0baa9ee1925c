"""A text, and what becomes of it: the same bytes on every system."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

import psdvec
from psdvec.cli import app

WORDS = [
    "könig",
    "königin",
    "schloß",
    "Großmutter",
    "lied",
    "meer",
    "stadt",
    "haus",
    "garten",
    "weg",
    "Москва",
    "東京",
]


def write_text(path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [" ".join(WORDS[i] for i in rng.zipf(1.5, 12).clip(max=len(WORDS)) - 1) for _ in range(300)]
    path.write_text("\n".join(lines), encoding="utf-8", newline="\n")


def work_in(folder: Path) -> None:
    """Go from a text to counts, a model, a larger one and files for others, all in ``folder``."""
    os.chdir(folder)
    write_text(Path("text.txt"))
    Path("more.txt").write_text("die neue tante im garten am meer\n" * 20, encoding="utf-8", newline="\n")
    counts = psdvec.count_pairs(psdvec.read_corpus("text.txt"), min_count=2, output="counts")
    model = psdvec.fit(counts, dim=5, output="model")
    larger = psdvec.extend("model", "more.txt", min_contexts=1, output="larger")
    psdvec.save(larger, "vectors.txt")
    psdvec.publish("larger", "published", formats=("vec", "projector"), license="CC0-1.0")
    psdvec.topics(model, Path("text.txt").read_text(encoding="utf-8").splitlines(), 2).save("topics")
    for command in ("vectorize model text.txt documents.csv", "index text.txt -o index --model model"):
        app(command.split(), standalone_mode=False)
