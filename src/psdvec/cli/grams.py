"""The commands that read and write counts of the original toolbox: ``import-grams`` and ``export-grams``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from psdvec.cli.options import Overwrite


def import_grams(
    words: Annotated[Path, typer.Argument(help="A top1grams file of the original toolbox.")],
    pairs: Annotated[Path, typer.Argument(help="The top2grams file that belongs to it.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write the counts to.")],
    window: Annotated[
        int, typer.Option(help="Window that the pairs were counted with; the files do not say.")
    ],
    overwrite: Overwrite = False,
) -> None:
    """Read counts of the original PSDVec toolbox.

    Example: `psdvec import-grams top1grams-wiki.txt top2grams-wiki.txt --window 3 -o counts/`
    """
    from psdvec.counts.legacy_grams import read_top1grams, read_top2grams

    counts = read_top2grams(pairs, read_top1grams(words), window=window)
    counts.save(output, overwrite=overwrite)
    print(f"{len(counts):,} words and {len(counts.values):,} pairs written to {output}")


def export_grams(
    counts: Annotated[Path, typer.Argument(help="Counts made with flat weighting.")],
    words: Annotated[Path, typer.Argument(help="The top1grams file to write.")],
    pairs: Annotated[Path, typer.Argument(help="The top2grams file to write.")],
) -> None:
    """Write counts for the original PSDVec toolbox.

    Example: `psdvec export-grams counts/ top1grams.txt top2grams.txt`
    """
    from psdvec.counts.legacy_grams import write_top1grams, write_top2grams
    from psdvec.counts.matrix import load_counts

    loaded = load_counts(counts)
    write_top2grams(loaded, pairs)
    write_top1grams(loaded.vocabulary, words)
    print(f"{len(loaded):,} words written to {words}, {len(loaded.values):,} pairs to {pairs}")
