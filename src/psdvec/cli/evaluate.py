"""The commands that judge vectors: evaluate, testsets list, testsets fetch."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from psdvec.cli.options import Json
from psdvec.cli.tables import format_table, make_progress, print_json
from psdvec.errors import InputError

if TYPE_CHECKING:
    from psdvec.evaluation.report import ReportTables

testsets = typer.Typer(
    help="The test sets that vectors are judged by.\n\nExample: `psdvec testsets list`", no_args_is_help=True
)

Oov = Literal["skip", "zero", "mean", "spelling"]  # the library's, which would take NumPy to import
Folder = Annotated[
    Path | None,
    typer.Option(
        "--testsets",
        help="Folder that holds test sets, or a folder named testsets; otherwise PSDVEC_DATA, the cache, packages.",
        metavar="DIR",
    ),
]
Tagging = Annotated[list[str] | None, typer.Option(help="conll2000:DIR or conll2003:DIR; may be repeated.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress on standard error.")]


def evaluate_models(
    models: Annotated[list[Path], typer.Argument(help="Vectors, in any format; several are compared.")],
    folder: Folder = None,
    task: Annotated[
        list[str] | None, typer.Option(help="A test set by name, or a file of your own; may be repeated.")
    ] = None,
    tagging: Tagging = None,
    oov: Annotated[Oov, typer.Option(help="How to treat a word without a vector.")] = "skip",
    common: Annotated[bool, typer.Option("--common", help="Use only items that all models cover.")] = False,
    case: Annotated[
        bool, typer.Option("--case", help="Treat 'Paris' and 'paris' as different words.")
    ] = False,
    restrict_vocab: Annotated[
        int | None, typer.Option("--restrict-vocab", min=1, help="Use the first N words only.", metavar="N")
    ] = None,
    sections: Annotated[
        bool, typer.Option("--sections", help="Also show sections of analogies and labels of tags.")
    ] = False,
    intervals: Annotated[bool, typer.Option("--intervals", help="Also show 95 % intervals.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV instead of tables.")] = False,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with plots to this file.", metavar="FILE")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Also draw the scores, as PNG, SVG or PDF by the name of this file.", metavar="FILE"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the resampling and of everything else random.")] = 0,
    quiet: Quiet = False,
) -> None:
    """Score vectors at similarity, synonyms, analogies and tagging.

    Example: `psdvec evaluate mine glove.txt --common --html report.html`
    """
    from psdvec.evaluation.evaluate import add_tagging, evaluate
    from psdvec.evaluation.page import as_html
    from psdvec.evaluation.report import as_csv, make_tables
    from psdvec.evaluation.tagging import check_tagger, evaluate_tagging, load_tagging
    from psdvec.evaluation.testsets import find_tasks
    from psdvec.formats import load
    from psdvec.pages.figures import check_figure_output, write_figure
    from psdvec.storage.files import check_file_output, replaced_file

    progress = make_progress(quiet=quiet)
    if as_json and csv:
        raise InputError("--json and --csv both print to standard output; choose one of them")
    if html is not None:
        check_file_output(html, overwrite=True)
    if plot is not None:
        check_figure_output(plot, overwrite=True)
    tasks = find_tasks(task, folder=folder)
    to_tag = [load_tagging(spec, seed=seed) for spec in tagging or []]
    if to_tag:
        check_tagger()
    if not tasks and not tagging:
        raise InputError(
            "no test set was found on this machine; download them all with: psdvec testsets fetch, "
            "or name a folder that holds some with --testsets DIR"
        )
    loaded = {name: load(path, progress=progress) for name, path in _name_models(models).items()}
    report = evaluate(
        loaded, tasks, oov=oov, common=common, ignore_case=not case, restrict_vocab=restrict_vocab,
        seed=seed, progress=progress,
    )  # fmt: skip
    for data in to_tag:
        report = add_tagging(report, evaluate_tagging(loaded, data, progress=progress))
    tables = make_tables(report)
    if html is not None:
        with replaced_file(html, overwrite=True) as file:
            file.write(as_html(report, tables).encode())
        progress.say(f"report written to {html}")
    if plot is not None:
        write_figure(report.plot(), plot, overwrite=True)
        progress.say(f"figure written to {plot}")
    if as_json:
        print_json(tables.values)
    elif csv:
        print(as_csv(report), end="")
    else:
        _print_tables(tables, sections=sections, intervals=intervals)


@testsets.command("list")
def list_testsets(folder: Folder = None, as_json: Json = False) -> None:
    """Show the catalogue, and where each test set is on this machine.

    Example: `psdvec testsets list`
    """
    from psdvec.evaluation.testsets import CATALOGUE, locate

    found = {entry.name: locate(entry, folder=folder) for entry in CATALOGUE}
    if as_json:
        told = ("name", "kind", "title", "source", "licence")
        records = [
            {
                **{name: getattr(entry, name) for name in told},
                "sha256": entry.origin.sha256 if entry.origin else None,
                "path": str(found[entry.name]) if found[entry.name] else None,
            }
            for entry in CATALOGUE
        ]
        print_json(records)
        return
    rows = []
    for entry in CATALOGUE:
        how = f"psdvec testsets fetch {entry.name}" if entry.origin else f"ask {entry.source}"
        where = str(found[entry.name] or f"not here; {how}")
        rows.append((entry.name, entry.kind, entry.title, entry.licence, where))
    print(format_table(("name", "kind", "title", "licence", "where"), rows, left=5))


@testsets.command("fetch")
def bring_testsets(
    names: Annotated[
        list[str] | None, typer.Argument(help="Which test sets; without any, all that are missing.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Download test sets into the cache, each checked against its known checksum.

    Example: `psdvec testsets fetch simlex-999 men`

    Whatever can be reached is fetched, and what cannot is listed. It is an error only if nothing could be had.
    """
    from psdvec.evaluation.testsets import CATALOGUE, cache_folder, entry_named, fetch_testsets, locate

    progress = make_progress(quiet=quiet)
    wanted = (
        [entry_named(name) for name in names]
        if names
        else [entry for entry in CATALOGUE if entry.origin is not None and locate(entry) is None]
    )
    missed = []
    for result in fetch_testsets(wanted, progress=progress):
        if result.path is None:
            missed.append(result)
        else:
            print(f"{result.entry.name}\t{result.path}\t{result.entry.licence}")
    had = len(wanted) - len(missed)
    if len(missed) > 1 or had:
        for result in missed:
            print(f"not fetched: {result.entry.name}: {result.problem}", file=sys.stderr)
    if missed and not had:
        count = f"none of the {len(missed)} test sets could be had: " if len(missed) > 1 else ""
        raise InputError(f"{count}{missed[0].problem}")
    progress.say(f"{had} test sets are in {cache_folder()}; {len(missed)} could not be had")


def _name_models(paths: list[Path]) -> dict[str, Path]:
    """Name models by the last part of their paths, or by the whole paths if that is not unique."""
    twice = next((path for i, path in enumerate(paths) if path in paths[:i]), None)
    if twice is not None:
        raise InputError(f"the model '{twice}' is given twice; give each model once")
    short = [path.resolve().name for path in paths]
    names = short if len(set(short)) == len(short) else [str(path) for path in paths]
    return dict(zip(names, paths, strict=True))


def _print_tables(tables: ReportTables, *, sections: bool, intervals: bool) -> None:
    shown = [tables.scores, tables.intervals if intervals else None, tables.coverage, tables.tagging]
    for table in filter(None, [*shown, *(tables.sections if sections else ())]):
        print(format_table(table.header, table.rows), end="\n\n")
    print(tables.rules)
