"""The stages of the program as commands on small input, each with what it writes; inputs are made once.

:func:`make_inputs` makes them in a folder, by the program itself, and :data:`STAGES` are the commands: ``{in}`` stands
for that folder, and outputs are relative to the working folder.
"""

from __future__ import annotations

import bz2
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from examples.sample import make_dump, make_text

import psdvec
from psdvec import cli
from psdvec.compare import jobs as steps
from psdvec.compare import run as compare_run
from psdvec.compare.values import Cost
from psdvec.counts.count import count_pairs
from psdvec.formats import model2vec
from psdvec.formats import model2vec as tokenizer_json
from psdvec.text import corpus
from psdvec.text import wikipedia as wikidump
from tests.helpers import count_in_small_runs

LINES = 60  # of each text


@dataclass(frozen=True)
class Stage:
    """A command: its arguments, what it writes, what to add to go on after an interruption, and to write over."""

    name: str
    arguments: tuple[str, ...]
    outputs: tuple[str, ...]
    chunk: int | None = None  # how much is counted at a time; all, if None
    resume: tuple[str, ...] = ()
    overwrite: tuple[str, ...] | None = ("--overwrite",)

    def argv(self, inputs: Path) -> list[str]:
        return [argument.replace("{in}", str(inputs)) for argument in self.arguments]


def _stage(name: str, command: str, *outputs: str, **named: Any) -> Stage:
    return Stage(name, tuple(command.split()), outputs, **named)


_COUNT = "count {in}/text -o out --min-count 2 --window 3 --workers 1 --memory 1G -q"
_FIT = "--dim 4 --max-words 40 --workers 1 --memory 1G -q"
STAGES = (
    _stage("extract", "extract {in}/dump.xml.bz2 -o out --workers 1 -q", "out"),
    _stage("count at once", _COUNT, "out"),
    _stage("count in runs", _COUNT, "out", chunk=300),
    _stage("count in passes", _COUNT, "out", chunk=90),
    _stage("merge", "merge {in}/counts {in}/more -o out --workers 1 -q", "out"),
    _stage("fit", f"fit {{in}}/counts -o out {_FIT}", "out"),
    _stage("fit and place", f"fit {{in}}/counts -o out --core 25 {_FIT}", "out"),
    _stage("fit svd", "fit {in}/counts -o out --method svd --dim 4 --workers 1 -q", "out"),
    _stage("extend", "extend {in}/model {in}/more -o out --report report.tsv --workers 1 -q", "out", "report.tsv"),
    _stage("train", f"train {{in}}/text -o out --min-count 2 {_FIT}", "out"),
    _stage("train and keep", f"train {{in}}/text -o out --keep kept --min-count 2 {_FIT}", "out", "kept"),
    _stage("convert to text", "convert {in}/model out.txt", "out.txt"),
    _stage("convert to gzip", "convert {in}/model out.txt.gz", "out.txt.gz"),
    _stage("convert to binary", "convert {in}/model out.bin", "out.bin"),
    _stage("convert to npz", "convert {in}/model out.npz", "out.npz"),
    _stage("convert to model2vec", "convert {in}/model out --to model2vec", "out"),
    _stage("convert to model", "convert {in}/vectors.txt out", "out"),
    _stage("vectorize", "vectorize {in}/model {in}/some.txt out.npy -q", "out.npy"),
    _stage("topics", "topics {in}/model {in}/some.txt -o out --topics 2 --min-documents 1 --workers 1 -q", "out"),
    _stage("index", "index {in}/some.txt -o out --workers 1 --memory 1G -q", "out"),
    _stage("evaluate", "evaluate {in}/model --task {in}/pairs.tsv --html out.html -q", "out.html", overwrite=()),
    _stage("export grams", "export-grams {in}/flat 2.txt --words 1.txt", "2.txt", "1.txt"),
    _stage("import grams", "import-grams {in}/2.txt --words {in}/1.txt -o out -q", "out"),
    _stage(
        "compare",
        "compare {in}/text -o out --methods svd,psd --dim 4 --min-count 2 --only-tasks {in}/pairs.tsv --workers 1 -q",
        "out", resume=("--resume",), overwrite=None,
    ),
)  # fmt: skip


def make_inputs(folder: Path) -> None:
    """Make everything that the stages read."""
    folder.mkdir()
    (folder / "dump.xml.bz2").write_bytes(bz2.compress(make_dump().encode()))
    lines = [line for line in make_text("text").splitlines() if line][:LINES]
    (folder / "text").write_text("\n".join(lines))
    (folder / "some.txt").write_text("\n".join(lines[:20]))
    other = [line for line in make_text("medical").splitlines() if line][:LINES]
    options: dict[str, Any] = {"min_count": 2, "window": 3, "workers": 1, "tokenizer": "unicode"}
    counts = count_pairs(
        psdvec.read_corpus(folder / "text"), **{**options, "tokenizer": None}, output=folder / "counts"
    )
    count_pairs(other, **options, output=folder / "more")
    flat = count_pairs(lines, **options, weighting="flat", output=folder / "flat")
    psdvec.fit(counts, dim=4, max_words=40, workers=1, output=folder / "model")
    psdvec.save(psdvec.load(folder / "model"), folder / "vectors.txt")
    from psdvec.counts.grams import write_grams

    write_grams(flat, folder / "2.txt", words=folder / "1.txt")
    words = counts.vocabulary.words
    pairs = "".join(f"{words[i]}\t{words[i + 1]}\t{i}\n" for i in range(20))
    (folder / "pairs.tsv").write_text(pairs)


def prepare(run_command: Callable[[list[str], Path], int]) -> None:
    """Make all stages small and quick: little blocks, and commands of a comparison that are forked, not started."""
    corpus.BLOCK_BYTES = 2000
    wikidump._BATCH = 20_000

    def forked(command: Any, *, folder: Path, workers: int, note: Any = None) -> Cost:
        if run_command(list(command), folder) != 0:
            raise steps.FailedCommandError("it failed")
        return Cost(1.0, 1.0, 1)

    described = cache(tokenizer_json.describe_tokenizer)  # slow
    model2vec.describe_tokenizer = lambda words, tokenizer: described(tuple(words), tokenizer)
    command = typer.main.get_command(cli.app)  # takes longer to build than most stages run
    cli.app, typer.main.get_command = command, lambda _: command  # type: ignore[assignment]
    steps.run_measured = forked  # type: ignore[assignment]
    steps.versions = cache(steps.versions)
    compare_run.warm_up = lambda *_: None  # type: ignore[assignment]


def count_in_chunks(chunk: int | None) -> None:
    """Count that many words at a time in this process, as with little memory."""
    if chunk is not None:
        count_in_small_runs(pytest.MonkeyPatch(), chunk=chunk, cells=500, fan_in=3)


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below ``folder`` by its relative name; folders without files by a name that ends in a slash."""
    found: dict[str, bytes] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file():
            found[name] = _stable(path)
        elif not any(path.iterdir()):
            found[f"{name}/"] = b""
    return found


def _stable(path: Path) -> bytes:
    """Return what of a file is the same in every run: a comparison names the time, and its records name places."""
    data = path.read_bytes()
    if path.stem == "report":
        return re.sub(rb"\d{4}-\d\d-\d\d \d\d:\d\d UTC", b"", data)
    if path.suffix == ".json" and data.startswith(b'{\n "key"'):
        return json.dumps(json.loads(data)["cost"]).encode()
    return data
