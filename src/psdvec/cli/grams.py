"""The commands that read and write counts of the original toolbox: ``import-grams`` and ``export-grams``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from psdvec.cli.options import Overwrite, Quiet
from psdvec.cli.progress_bar import make_progress


def import_grams(
    pairs: Annotated[Path, typer.Argument(help="A top2grams file of the original toolbox.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write the counts to.")],
    words: Annotated[
        Path | None,
        typer.Option(
            help="The top1grams file that it was made with; default: count words by the pairs that they end."
        ),
    ] = None,
    tokenizer: Annotated[
        str | None,
        typer.Option(help="How the text was cut into words, if you know: unicode, paper or whitespace."),
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Read counts of the original PSDVec toolbox.

    Example: `psdvec import-grams top2grams-wiki.txt --words top1grams-wiki.txt -o counts/`
    """
    from psdvec.counts.legacy_grams import read_grams
    from psdvec.storage.artefact import check_output

    check_output(output, overwrite=overwrite)
    counts = read_grams(pairs, words=words, tokenizer=tokenizer, progress=make_progress(quiet=quiet))
    counts.save(output, overwrite=overwrite)
    print(f"{len(counts):,} words and {len(counts.values):,} pairs written to {output}")
    if words is None:
        print("words are counted by the pairs that they end; give --words to have their occurrences")


def export_grams(
    counts: Annotated[Path, typer.Argument(help="Counts made with flat weighting.")],
    pairs: Annotated[Path, typer.Argument(help="The top2grams file to write.")],
    words: Annotated[Path | None, typer.Option(help="Write a top1grams file too, to this place.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write counts for the original PSDVec toolbox.

    Example: `psdvec export-grams counts/ top2grams.txt --words top1grams.txt`
    """
    from psdvec.counts.legacy_export import write_grams
    from psdvec.counts.matrix import load_counts

    loaded = load_counts(counts)
    left_out = write_grams(loaded, pairs, words=words, overwrite=overwrite)
    for word in left_out:
        print(f"left out: {word}")
    also = "" if words is None else f", and their occurrences to {words}"
    print(f"the pairs of {len(loaded) - len(left_out):,} words written to {pairs}{also}")
