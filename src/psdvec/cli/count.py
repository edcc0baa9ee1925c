"""The commands around counts: ``count``, ``merge``, ``info``, ``import-grams`` and ``export-grams``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from psdvec.cli.defaults import default
from psdvec.cli.progress_bar import make_progress
from psdvec.resources import format_size, peak_memory
from psdvec.storage import artefact as artefact_module

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an output that exists.")]
Scheduler = Annotated[
    str | None, typer.Option(help="Work on the Dask cluster of this scheduler, as tcp://host:8786.")
]
Cluster = Annotated[str | None, typer.Option(help="Work on a Dask cluster of this machine: local:N workers.")]
Workers = Annotated[int | None, typer.Option(help="Threads; by default one a core.", show_default=False)]
Tokenizer = Annotated[str, typer.Option(help="unicode, paper or whitespace.")]
Field = Annotated[str | None, typer.Option(help="Field of JSON lines that holds the text.")]
Column = Annotated[str | None, typer.Option(help="Column of Parquet files that holds the text.")]
Errors = Annotated[str, typer.Option(help="Bytes that are not UTF-8: replace or strict.")]
MinCount = Annotated[int, typer.Option(help="Words must occur this often.")]
Window = Annotated[int, typer.Option(help="Pairs reach this many words ahead.")]
Weighting = Annotated[str, typer.Option(help="harmonic, flat, linear or power:P.")]
Gaps = Annotated[str, typer.Option(help="Place of a word outside the vocabulary: keep or close.")]


def count(
    corpus: Annotated[list[str], typer.Argument(help="Files, folders, globs, or - for standard input.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write the counts to.")],
    tokenizer: Tokenizer = default("text.corpus.read_corpus", "tokenizer"),
    field: Field = None,
    column: Column = None,
    errors: Errors = default("text.corpus.read_corpus", "errors"),
    min_count: MinCount = default("counts.count.count_pairs", "min_count"),
    max_words: Annotated[int | None, typer.Option(help="Keep this many words, the most frequent.")] = None,
    vocab: Annotated[
        Path | None, typer.Option(help="Count these words: a file, one a line, or counts.")
    ] = None,
    window: Window = default("counts.count.count_pairs", "window"),
    weighting: Weighting = default("counts.count.count_pairs", "weighting"),
    gaps: Gaps = default("counts.count.count_pairs", "gaps"),
    memory: Annotated[
        str | None,
        typer.Option(
            help="The most memory to take, on a cluster each worker; default: half of what is free."
        ),
    ] = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    cluster: Cluster = None,
    block_size: Annotated[
        str | None, typer.Option(help="How much text a worker of a cluster takes at a time, as 256M.")
    ] = None,
    overwrite: Overwrite = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be read, written and needed.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Count the words and the pairs of words of a corpus.

    Example: `psdvec count corpus.txt.xz -o counts/ --max-words 50000`

    Interrupted, it goes on where it stopped when the same command is given again.
    """
    from psdvec.cluster.client import name_cluster, open_client
    from psdvec.counts.count import count_pairs, plan_counting
    from psdvec.counts.vocabulary import read_word_list
    from psdvec.text.corpus import read_corpus

    text = read_corpus(corpus, tokenizer=tokenizer, field=field, column=column, errors=errors)
    options: dict[str, Any] = {
        "vocabulary": None if vocab is None else read_word_list(vocab),
        "min_count": min_count, "max_words": max_words, "window": window, "weighting": weighting, "gaps": gaps,
        "memory": memory, "workers": workers, "block_size": block_size,
        "output": output, "overwrite": overwrite,
    }  # fmt: skip
    if dry_run:
        for line in plan_counting(
            text, **options, cluster=name_cluster(scheduler=scheduler, cluster=cluster)
        ):
            print(line)
        return
    with open_client(scheduler=scheduler, cluster=cluster) as client:
        counts = count_pairs(text, **options, client=client, progress=make_progress(quiet=quiet))
    print(f"{counts.tally.tokens:,} words read in {counts.tally.sentences:,} sentences")
    for name, found in (("words longer than 1024 bytes left out", counts.tally.overlong_words),
                        ("stretches that were not UTF-8 replaced", counts.tally.replaced_bytes)):  # fmt: skip
        if found:
            print(f"{found:,} {name}")
    print(f"{len(counts):,} words and {len(counts.values):,} pairs written to {output}")
    print(f"peak memory {format_size(peak_memory())}; have a look with: psdvec info {output}")


def merge(
    stores: Annotated[list[Path], typer.Argument(help="Counts to add.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write the sum to.")],
    subtract: Annotated[list[Path] | None, typer.Option(help="Counts to take off; may be repeated.")] = None,
    workers: Workers = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Add counts, or take some off, exactly, over the union of their vocabularies.

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


def info(
    path: Annotated[Path, typer.Argument(help="Anything psdvec has made.")],
    verify: Annotated[
        bool, typer.Option("--verify", help="Read every file and compare it with its checksum.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Say what an artefact is, how it was made and from what.

    Example: `psdvec info counts/ --verify`
    """
    from psdvec.loading import describe

    artefact = artefact_module.open_artefact(path)
    if verify:
        artefact_module.verify_artefact(artefact)
    facts = describe(artefact) | {"verified": verify}
    if as_json:
        print(json.dumps(facts, ensure_ascii=False))
        return
    width = max(map(len, facts))
    for name, value in facts.items():
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        print(f"{name:<{width}}  {shown}")


def import_grams(
    words: Annotated[Path, typer.Argument(help="A top1grams file of the original toolbox.")],
    pairs: Annotated[Path, typer.Argument(help="The top2grams file that belongs to it.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write the counts to.")],
    window: Annotated[int, typer.Option(help="The window that was counted with; the files do not tell.")],
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
    counts: Annotated[Path, typer.Argument(help="Counts, of weighting flat.")],
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
