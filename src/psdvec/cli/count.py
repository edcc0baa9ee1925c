"""The commands that make counts: ``count`` from text, ``merge`` from others, and those for the original's files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from psdvec.cli import options
from psdvec.cli.tables import make_progress
from psdvec.errors import printable
from psdvec.options import ENCODING, ERRORS, NUMBERS, PUNCTUATION, TOKENIZER, Counting
from psdvec.resources import format_size, peak_memory

NAMED = 20  # words at most that export-grams names


def count(
    corpus: options.CorpusPaths,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write the counts to.")],
    tokenizer: options.Tokenizer = TOKENIZER,
    case: options.Case = None,
    stop_words: options.StopWords = None,
    lemmas: options.Lemmas = None,
    numbers: options.Numbers = NUMBERS,
    punctuation: options.Punctuation = PUNCTUATION,
    column: options.Column = None,
    where: options.Where = None,
    errors: options.Errors = ERRORS,
    encoding: options.Encoding = ENCODING,
    min_count: options.MinCount = Counting.min_count,
    max_words: options.MaxWords = None,
    vocab: Annotated[
        Path | None,
        typer.Option(help="Count exactly the words of a file, one per line, or those of other counts."),
    ] = None,
    window: options.Window = Counting.window,
    weighting: options.Weighting = Counting.weighting,
    gaps: options.Gaps = Counting.gaps,
    memory: Annotated[
        str | None,
        typer.Option(
            help="Memory to use at most, such as 4G, on a cluster per worker; default: half of what is free."
        ),
    ] = None,
    workers: options.Workers = None,
    scheduler: options.Scheduler = None,
    cluster: options.Cluster = None,
    block_size: Annotated[
        str | None, typer.Option(help="Text that a worker of a cluster reads at a time, such as 256M.")
    ] = None,
    overwrite: options.Overwrite = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be read and written, and what it needs.")
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Count the words of a corpus and the pairs of words that stand close together.

    Example: `psdvec count corpus.txt.xz -o counts/ --max-words 50000`

    If it is interrupted, the same command continues where it stopped.
    """
    from psdvec.cluster.client import name_cluster, open_client
    from psdvec.counts.count import count_pairs, plan_counting
    from psdvec.counts.vocabulary import read_word_list
    from psdvec.text.corpus import read_corpus

    text = read_corpus(
        corpus, tokenizer=tokenizer, case=case, stop_words=stop_words, lemmas=lemmas, numbers=numbers,
        punctuation=punctuation, column=column, where=options.read_where(where), errors=errors, encoding=encoding,
    )  # fmt: skip
    asked: dict[str, Any] = {
        "vocabulary": None if vocab is None else read_word_list(vocab),
        "min_count": min_count, "max_words": max_words, "window": window, "weighting": weighting, "gaps": gaps,
        "memory": memory, "workers": workers, "block_size": block_size,
        "output": output, "overwrite": overwrite,
    }  # fmt: skip
    if dry_run:
        place = name_cluster(scheduler=scheduler, cluster=cluster)
        print(*plan_counting(text, **asked, cluster=place), sep="\n")
        return
    with open_client(scheduler=scheduler, cluster=cluster) as client:
        counts = count_pairs(text, **asked, client=client, progress=make_progress(quiet=quiet))
    print(f"{counts.tally.tokens:,} words read in {counts.tally.sentences:,} sentences")
    print(f"{len(counts):,} words and {len(counts.values):,} pairs written to {output}")
    print(f"peak memory {format_size(peak_memory())}; have a look with: psdvec info {output}")


def merge(
    stores: Annotated[list[Path], typer.Argument(help="Counts to add up.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write the sum to.")],
    subtract: Annotated[list[Path] | None, typer.Option(help="Counts to subtract; may be repeated.")] = None,
    workers: options.Workers = None,
    overwrite: options.Overwrite = False,
    quiet: options.Quiet = False,
) -> None:
    """Add counts up exactly, over the union of their vocabularies, and subtract others.

    Example: `psdvec merge general/ medical/ -o both/`
    """
    from psdvec.counts.matrix import load_counts
    from psdvec.counts.merge import merge_counts

    merged = merge_counts(
        [load_counts(path) for path in stores],
        subtract=[load_counts(path) for path in subtract or ()],
        workers=workers, output=output, overwrite=overwrite, progress=make_progress(quiet=quiet),
    )  # fmt: skip
    print(f"{len(merged):,} words and {len(merged.values):,} pairs written to {output}")


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
        typer.Option(
            help="How the text was cut into words, if you know: unicode, unicode-cased, paper or whitespace."
        ),
    ] = None,
    overwrite: options.Overwrite = False,
    quiet: options.Quiet = False,
) -> None:
    """Read counts of the original PSDVec toolbox.

    Example: `psdvec import-grams top2grams-wiki.txt --words top1grams-wiki.txt -o counts/`
    """
    from psdvec.counts.grams import read_grams
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
    overwrite: options.Overwrite = False,
) -> None:
    """Write counts for the original PSDVec toolbox.

    Example: `psdvec export-grams counts/ top2grams.txt --words top1grams.txt`
    """
    from psdvec.counts.grams import write_grams
    from psdvec.counts.matrix import load_counts

    loaded = load_counts(counts)
    left_out = write_grams(loaded, pairs, words=words, overwrite=overwrite)
    if left_out:
        more = f" and {len(left_out) - NAMED:,} more" if len(left_out) > NAMED else ""
        print(f"left out, as the original cannot use them: {printable(' '.join(left_out[:NAMED]))}{more}")
    also = "" if words is None else f", and their occurrences to {words}"
    print(f"the pairs of {len(loaded) - len(left_out):,} words written to {pairs}{also}")
