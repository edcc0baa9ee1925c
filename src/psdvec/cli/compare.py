"""The command that compares methods: ``compare``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from psdvec.cli.evaluate import Folder, Tagging
from psdvec.cli.options import Case, Column, Encoding, Quiet, Where, Workers, read_where
from psdvec.cli.tables import format_table, make_progress
from psdvec.errors import InputError, printable
from psdvec.methods import METHODS
from psdvec.options import DIM, ENCODING, TOKENIZER, Counting, Fitting


def compare(
    corpus: Annotated[list[str], typer.Argument(help="Files, folders or globs.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write the report to.")],
    methods: Annotated[str, typer.Option(help="Which methods, separated by commas.")] = ",".join(METHODS),
    dim: Annotated[int, typer.Option(help="Dimensions of each vector.")] = DIM,
    max_words: Annotated[int | None, typer.Option(help="Keep this many words, the most frequent.")] = None,
    min_count: Annotated[int, typer.Option(help="Drop words that occur fewer times.")] = Counting.min_count,
    tokenizer: Annotated[str, typer.Option(help="unicode, paper or whitespace.")] = TOKENIZER,
    case: Case = None,
    column: Column = None,
    where: Where = None,
    encoding: Encoding = ENCODING,
    window: Annotated[
        int | None, typer.Option(help="Window of the counts for all methods; otherwise each paper's own.")
    ] = None,
    weighting: Annotated[
        str | None, typer.Option(help="Weighting of the counts for all methods; otherwise each paper's own.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="method.name=value; may be repeated.")
    ] = None,
    second: Annotated[
        list[str] | None, typer.Option(help="A second corpus, for the ratio of times; may be repeated.")
    ] = None,
    also: Annotated[
        list[str] | None, typer.Option(help="name=path of further vectors to judge; may be repeated.")
    ] = None,
    only_tasks: Annotated[
        str | None, typer.Option(help="Which test sets, separated by commas; otherwise the usual ones.")
    ] = None,
    testsets: Folder = None,
    tagging: Tagging = None,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = Fitting.seed,
    seeds: Annotated[
        str,
        typer.Option(help="How many seeds per method; auto: two to five, fewer for methods that take long."),
    ] = "1",
    workers: Workers = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Continue in an output that exists already; finished steps are kept."),
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Train several methods on one corpus; show quality and cost.

    Example: `psdvec compare corpus.txt -o report/ --methods psdvec,svd,word2vec --max-words 30000`

    After an interruption, add `--resume` to continue with the first unfinished method.
    """
    from psdvec.compare.run import compare as compare_methods

    comparison = compare_methods(
        corpus, output=output, methods=_names(methods), dim=dim, max_words=max_words, min_count=min_count,
        tokenizer=tokenizer, case=case, column=column, where=read_where(where), encoding=encoding,
        window=window, weighting=weighting, settings=settings or (), second=second or (),
        also=_names_and_paths(also or ()), tasks=_names(only_tasks) if only_tasks else None,
        testsets=testsets, tagging=tagging or (), seed=seed, seeds=int(seeds) if seeds.isdecimal() else seeds,
        workers=workers, resume=resume, progress=make_progress(quiet=quiet),
    )  # fmt: skip
    for name, text in comparison.header.items():
        print(printable(f"{name}: {text}"))
    for title, table in comparison.tables.items():
        if title != "Settings":
            print(f"\n{title}\n{format_table(table.header, table.rows)}")
    print("", comparison.evaluation.rules, *comparison.remarks, sep="\n")
    print(f"The whole report is in {output / 'report.html'}.")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _names_and_paths(texts: Sequence[str]) -> dict[str, str]:
    paths: dict[str, str] = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if not equals or not name or name in METHODS or name in paths:
            raise InputError(
                f"'{text}' is not name=path, or its name is that of a method or of other vectors; choose another name"
            )
        paths[name] = path
    return paths
