"""The commands that make counts: ``count`` from text, ``merge`` from others, and those for the original's files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from psdvec.cli import graphs, options
from psdvec.cli.tables import make_progress
from psdvec.errors import printable
from psdvec.options import ENCODING, ERRORS, NUMBERS, PUNCTUATION, TOKENIZER, Counting, Finding, Fitting
from psdvec.resources import format_size
from psdvec.system import peak_memory

NAMED = 20  # words at most that export-grams names


def phrases(
    corpus: options.CorpusPaths,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write the phrases to.")],
    tokenizer: options.Tokenizer = TOKENIZER,
    case: options.Case = None,
    column: options.Column = None,
    where: options.Where = None,
    errors: options.Errors = ERRORS,
    encoding: options.Encoding = ENCODING,
    min_count: Annotated[
        int, typer.Option(help="Leave out phrases that occur less often than this.")
    ] = Finding.min_count,
    min_score: Annotated[
        float, typer.Option(help="Leave out phrases of a lower score: discounted normalised PMI, at most 1.")
    ] = Finding.min_score,
    fdr: Annotated[
        float, typer.Option(help="False discovery rate: share of phrases that may be chance.")
    ] = Finding.fdr,
    max_length: Annotated[
        int, typer.Option(help="Most words of a phrase.", metavar="N")
    ] = Finding.max_length,
    connectors: Annotated[
        Path | None,
        typer.Option(
            help="File of words that no phrase begins or ends with, one per line; default: the most frequent words."
        ),
    ] = None,
    join: Annotated[
        Path | None,
        typer.Option(help="Also write the text to this file, cut into words, with its phrases joined."),
    ] = None,
    memory: Annotated[
        str | None, typer.Option(help="Memory to use at most, such as 4G; default: half of what is free.")
    ] = None,
    workers: options.Workers = None,
    overwrite: options.Overwrite = False,
    quiet: options.Quiet = False,
) -> None:
    """Find phrases such as new york in a corpus.

    Example: `psdvec phrases corpus.txt -o phrases.txt`, then `psdvec count corpus.txt --phrases phrases.txt -o counts/`

    The file has a line for each phrase, best first: phrase, count and score, separated by tabs. It may be changed by
    hand, or written by hand with phrases only.
    """
    from psdvec.counts.phrases import find_phrases
    from psdvec.counts.vocabulary import read_word_list
    from psdvec.storage.files import check_file_output
    from psdvec.text.corpus import read_corpus

    check_file_output(output, overwrite=overwrite)
    text = read_corpus(
        corpus, tokenizer=tokenizer, case=case, column=column, where=options.read_where(where), errors=errors,
        encoding=encoding,
    )  # fmt: skip
    found = find_phrases(
        text, min_count=min_count, min_score=min_score, fdr=fdr, max_length=max_length, memory=memory,
        connectors=None if connectors is None else read_word_list(connectors), workers=workers,
        joined=join, overwrite=overwrite, progress=make_progress(quiet=quiet),
    )  # fmt: skip
    found.save(output, overwrite=overwrite)
    print(f"{len(found):,} phrases written to {output}")
    if join is not None:
        print(f"the text with its phrases joined written to {join}")


def count(
    call: typer.Context,
    *,
    corpus: Annotated[
        list[str] | None,
        typer.Argument(help="Files, folders or glob patterns; - is standard input.", show_default=False),
    ] = None,
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
    phrases: options.Phrases = None,
    min_count: options.MinCount = Counting.min_count,
    max_words: options.MaxWords = None,
    vocab: Annotated[
        Path | None,
        typer.Option(help="Count exactly the words of a file, one per line, or those of other counts."),
    ] = None,
    format: graphs.Form = graphs.TEXT,
    directed: graphs.Directed = False,
    from_matrix: graphs.FromMatrix = None,
    names: graphs.Names = None,
    items: options.Items = False,
    basket: options.Basket = None,
    item: options.Item = None,
    separator: options.Separator = None,
    window: options.Window = None,
    weighting: options.Weighting = None,
    gaps: options.Gaps = Counting.gaps,
    memory: Annotated[
        str | None,
        typer.Option(
            help="Memory to use at most, such as 4G, on a cluster per worker; default: half of what is free."
        ),
    ] = None,
    workers: options.Workers = None,
    device: options.Device = Fitting.device,
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
    """Count words or items, and pairs that stand close together.

    Example: `psdvec count corpus.txt.xz -o counts/ --max-words 50000`

    If it is interrupted, the same command continues where it stopped. Edges of a graph and a ready matrix are taken as
    they are.
    """
    if graphs.count_ready(call):
        return
    from psdvec.cluster.client import name_cluster, open_client
    from psdvec.counts.count import count_pairs, plan_counting, read_what_counts
    from psdvec.counts.vocabulary import read_word_list
    from psdvec.text.corpus import read_corpus

    text: Any = read_what_counts(
        read_corpus(
            corpus or (), tokenizer=tokenizer, case=case, stop_words=stop_words, lemmas=lemmas, numbers=numbers,
            punctuation=punctuation, column=column, where=options.read_where(where), errors=errors, encoding=encoding,
        ),
        items=items, basket=basket, item=item, separator=separator, ordered=window is not None,
    )  # fmt: skip
    asked: dict[str, Any] = {
        "phrases": phrases, "vocabulary": None if vocab is None else read_word_list(vocab),
        "min_count": min_count, "max_words": max_words, "window": window, "weighting": weighting, "gaps": gaps,
        "memory": memory, "workers": workers, "device": device, "block_size": block_size,
        "output": output, "overwrite": overwrite,
    }  # fmt: skip
    if dry_run:
        place = name_cluster(scheduler=scheduler, cluster=cluster)
        print(*plan_counting(text, **asked, cluster=place), sep="\n")
        return
    with open_client(scheduler=scheduler, cluster=cluster) as client:
        counts = count_pairs(text, **asked, client=client, progress=make_progress(quiet=quiet))
    noun, whole = counts.noun, "baskets" if items else "sentences"
    print(f"{counts.tally.tokens:,} {noun}s read in {counts.tally.sentences:,} {whole}")
    print(f"{len(counts):,} {noun}s and {len(counts.values):,} pairs written to {output}")
    print(f"peak memory {format_size(peak_memory())}; have a look with: psdvec info {output}")


def merge(
    stores: Annotated[list[Path], typer.Argument(help="Counts to add up.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write the sum to.")],
    subtract: Annotated[list[Path] | None, typer.Option(help="Counts to subtract; may be repeated.")] = None,
    workers: options.Workers = None,
    overwrite: options.Overwrite = False,
    quiet: options.Quiet = False,
) -> None:
    """Add counts up exactly, all words of any, and subtract others.

    Example: `psdvec merge general/ medical/ -o both/`
    """
    from psdvec.counts.matrix import load_counts
    from psdvec.counts.merge import merge_counts

    merged = merge_counts(
        [load_counts(path) for path in stores],
        subtract=[load_counts(path) for path in subtract or ()],
        workers=workers, output=output, overwrite=overwrite, progress=make_progress(quiet=quiet),
    )  # fmt: skip
    print(f"{len(merged):,} {merged.noun}s and {len(merged.values):,} pairs written to {output}")


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
