"""The commands that learn vectors: ``fit``, ``extend``, ``spell`` and ``train``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from psdvec.cli import graphs, options
from psdvec.cli.tables import make_progress, print_table
from psdvec.errors import InputError, printable
from psdvec.formats import Format, choose_format, load, save
from psdvec.methods import METHODS
from psdvec.methods.run import fit_method, parse_settings
from psdvec.options import ENCODING, ERRORS, NUMBERS, PUNCTUATION, TOKENIZER, UNIGRAMS, Counting, Fitting
from psdvec.resources import format_size
from psdvec.storage.files import check_file_output
from psdvec.system import peak_memory

if TYPE_CHECKING:
    from psdvec.solver.extend import Extension
    from psdvec.vectors.embeddings import Embeddings
    from psdvec.vectors.model import Model

OURS = "psdvec"
SHOWN = 20  # words at most that extend prints; --report writes all


def whole_or_auto(text: str | int) -> int | str:
    """Read a number of dimensions, or ``auto``.

    >>> whole_or_auto("auto"), whole_or_auto("50")
    ('auto', 50)
    """
    try:
        return "auto" if text == "auto" else int(text)
    except ValueError:
        raise typer.BadParameter(f"'{text}' is not a whole number; give one, such as 50, or auto") from None


Dim = Annotated[
    Any,
    typer.Option(
        help="Dimensions of each vector; auto: as many as two halves of the counts agree on, at most 300.",
        parser=whole_or_auto,
        metavar="N",
    ),
]
RecipeName = Annotated[
    str,
    typer.Option(
        help="Recipe to start from: default, graph, paper or original. The numbers under Solver are the default "
        "recipe's; the other recipes have others."
    ),
]
Core = Annotated[
    int | None,
    typer.Option(
        help="Fit the N most frequent words together and place the others by ridge; default: all.",
        metavar="N",
    ),
]
Memory = Annotated[str | None, typer.Option(help="Memory to use at most, such as 4G; default: what is free.")]
Seed = Annotated[int, typer.Option(help="Seed of the eigensolver's random start, and of --dim auto.")]
Ridge = Annotated[str | None, typer.Option(help=f"{options.HELP['ridge'][:-1]}; default: the model's.")]
MinContexts = Annotated[
    int, typer.Option(help="Place no word that was seen with fewer different words than this.")
]
Map = Annotated[
    bool,
    typer.Option(
        "--map", help="Also draw the map of words that psdvec explore shows, and keep it with the model."
    ),
]
Damping = Annotated[float | None, typer.Option(help=f"{options.HELP['damping'][:-1]}; default: the model's.")]


@options.with_recipe
def fit(
    counts: Annotated[Path, typer.Argument(help="Counts made by psdvec count.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write the model to.")],
    dim: Dim = Fitting.dim,
    max_words: options.MaxWords = None,
    core: Core = None,
    recipe: RecipeName = Fitting.recipe,
    method: Annotated[str, typer.Option(help=f"Method: {', '.join(METHODS)}.")] = OURS,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting of another method, as name=value; may be repeated."),
    ] = None,
    corpus: Annotated[
        list[str] | None, typer.Option(help="Text, for the methods that read it; may be repeated.")
    ] = None,
    min_contexts: MinContexts = Fitting.min_contexts,
    seed: Seed = Fitting.seed,
    memory: Memory = None,
    workers: options.Workers = None,
    device: options.Device = Fitting.device,
    scheduler: options.Scheduler = None,
    cluster: options.Cluster = None,
    allow_unlike: options.AllowUnlike = False,
    with_map: Map = False,
    overwrite: options.Overwrite = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be done, and what it needs.")
    ] = False,
    quiet: options.Quiet = False,
    changes: Any = None,
) -> None:
    """Make vectors from counts.

    Example: `psdvec fit counts/ -o model/ --dim 300`

    If it is interrupted, the same command continues after the last finished round. The options `--recipe`, `--core`,
    `--max-words`, `--memory`, `--device`, `--scheduler`, `--cluster`, `--allow-unlike`, `--dry-run` and all under
    Solver belong to the method psdvec; the settings of other methods are given with `--set`, and those methods start
    from scratch.
    """
    from psdvec.cluster.client import name_cluster, open_client
    from psdvec.solver.fit import fit as fit_model
    from psdvec.solver.fit import plan_fit

    fitting: dict[str, Any] = {
        "dim": dim, "recipe": recipe, "changes": changes, "core": core, "max_words": max_words,
        "min_contexts": min_contexts, "seed": seed, "memory": memory, "device": device,
    }  # fmt: skip
    where = {"scheduler": scheduler, "cluster": cluster}
    how: dict[str, Any] = {"workers": workers, "output": output, "overwrite": overwrite}
    vectors: Model | Embeddings
    if method != OURS or settings or corpus:
        _refuse_ours(fitting, **where, allow_unlike=allow_unlike, dry_run=dry_run)
        vectors = fit_method(
            method, counts, **how, corpus=corpus, settings=parse_settings(method, settings or []),
            dim=dim, seed=seed, progress=make_progress(quiet=quiet),
        )  # fmt: skip
    elif dry_run:
        print(*plan_fit(counts, **fitting, **how, cluster=name_cluster(**where)), sep="\n")
        return
    else:
        with open_client(**where) as client:
            progress = make_progress(quiet=quiet)
            vectors = fit_model(
                counts, **fitting, **how, client=client, allow_unlike=allow_unlike, progress=progress
            )
    _report(vectors, output, draw=with_map, quiet=quiet)


def _refuse_ours(fitting: dict[str, Any], **others: Any) -> None:
    """Raise :class:`InputError` if an option was given that only our own method has."""
    changed = (name for name, value in fitting.items() if value != getattr(Fitting, name))
    given = [*fitting["changes"], *changed, *(name for name, value in others.items() if value)]
    for name in given:
        if name not in ("dim", "changes", "seed"):
            raise InputError(
                f"--{name.replace('_', '-')} works with the method {OURS} only; leave it out, or leave --method out"
            )


def extend(
    model: Annotated[
        Path, typer.Argument(help="A model, or other vectors: a file in any format psdvec reads.")
    ],
    counts: Annotated[
        Path,
        typer.Argument(
            help="Counts that hold the new words, or a text, which is counted as the model's was; or edges; with "
            "--items, a file of baskets."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write the larger model to.")],
    recipe: Annotated[
        str | None,
        typer.Option(
            help="Recipe for vectors that psdvec did not fit: paper, original, graph or default; paper if not given. A "
            "model has its own.",
            show_default=False,
        ),
    ] = None,
    words: Annotated[
        Path | None,
        typer.Option(help="Learn only the words of this file, one per line; default: all new words."),
    ] = None,
    refresh: Annotated[
        Path | None, typer.Option(help="Also solve the old words of this file again, one per line.")
    ] = None,
    format: Annotated[
        str,
        typer.Option(
            help="counts, or edges: a file of edges, for a model of walks those of the whole graph, old and new."
        ),
    ] = graphs.COUNTS,
    items: options.Items = False,
    basket: options.Basket = None,
    item: options.Item = None,
    separator: options.Separator = None,
    core: Annotated[
        int | None,
        typer.Option(help="Solve against the N most frequent core words; default: all.", metavar="N"),
    ] = None,
    ridge: Ridge = None,
    damping: Damping = None,
    unigrams: Annotated[
        str, typer.Option(help="Where the old words' frequencies come from: corpus or model.")
    ] = UNIGRAMS[0],
    min_count: Annotated[
        int | None,
        typer.Option(
            help="Learn new words that are seen so often; default: of a text 5, of counts all.",
            show_default=False,
        ),
    ] = None,
    min_contexts: MinContexts = Fitting.min_contexts,
    workers: options.Workers = None,
    device: options.Device = Fitting.device,
    scheduler: options.Scheduler = None,
    cluster: options.Cluster = None,
    allow_unlike: options.AllowUnlike = False,
    report: Annotated[
        Path | None,
        typer.Option(help="File to write the table of all words to, tab-separated; default: none."),
    ] = None,
    overwrite: options.Overwrite = False,
    quiet: options.Quiet = False,
) -> None:
    """Add new words to a model or other vectors; no old word moves.

    Example: `psdvec extend model/ medical.txt -o model2/ --words terms.txt`

    Of each new word, the table says which words are nearest to it, how often it was seen and with how many different
    words that the model knows, how much of its vector comes from its spelling (0 to 1, the rest is from its contexts),
    and the standard deviation of its coordinates. If it is interrupted, the same command continues after the words that
    are solved.
    """
    from psdvec.cluster.client import open_client
    from psdvec.counts.vocabulary import key_text, read_word_list
    from psdvec.solver.extend import extend as extend_model
    from psdvec.solver.extend import write_report

    if report is not None:
        check_file_output(report, overwrite=overwrite)
    stale = () if refresh is None else read_word_list(refresh)
    given = graphs.what_to_extend(model, counts, format=format, refresh=stale)
    with open_client(scheduler=scheduler, cluster=cluster) as client:
        extension = extend_model(
            *given, items=items, basket=basket, item=item, separator=separator, recipe=recipe,
            words=None if words is None else read_word_list(words), refresh=stale, core=core, ridge=ridge,
            damping=damping, unigrams=unigrams, min_count=min_count, min_contexts=min_contexts, workers=workers,
            device=device, output=output, overwrite=overwrite, client=client, allow_unlike=allow_unlike,
            progress=make_progress(quiet=quiet),
        )  # fmt: skip
    if not extension.learned and not extension.refreshed:
        is_text = counts.is_file() and not items and format == graphs.COUNTS
        seldom = ", or they are seen too seldom (--min-count)" if min_count or is_text else ""
        print(f"nothing to learn: the model has all of these words{seldom}; nothing was written")
        return
    if "vectors" in extension.sources[0]:
        _report_scales(extension, counts)
    rows = extension.report(SHOWN if report is None else None)
    if report is not None:
        write_report(rows, extension.unplaced, report, overwrite=overwrite)
    cells = [
        (key_text(row.word), " ".join(map(key_text, row.nearest)), f"{row.occurrences:,}", f"{row.contexts:,}",
         f"{row.spelling:.2f}", f"{row.deviation:.3f}")
        for row in rows[:SHOWN]
    ]  # fmt: skip
    print_table((extension.noun, "nearest", "seen", "contexts", "spelling", "deviation"), cells, left=2)
    _print_rest(len(extension.learned) + len(extension.refreshed))
    for word, reason in list(extension.unplaced.items())[:SHOWN]:
        print(f"not placed: {printable(key_text(word))} ({reason})")
    _print_rest(len(extension.unplaced))
    print(f"{len(extension.learned):,} {extension.noun}s learned, {len(extension.refreshed):,} refreshed")
    _report(extension, output)


@options.with_recipe
def train(
    corpus: options.CorpusPaths,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write the model to.")],
    dim: Dim = Fitting.dim,
    max_words: options.MaxWords = None,
    min_count: options.MinCount = Counting.min_count,
    core: Core = None,
    recipe: RecipeName = Fitting.recipe,
    keep: Annotated[Path | None, typer.Option(help="Folder to keep the counts in; default: none.")] = None,
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
    items: options.Items = False,
    basket: options.Basket = None,
    item: options.Item = None,
    separator: options.Separator = None,
    window: options.Window = None,
    weighting: options.Weighting = None,
    gaps: options.Gaps = Counting.gaps,
    min_contexts: MinContexts = Fitting.min_contexts,
    seed: Seed = Fitting.seed,
    memory: Memory = None,
    workers: options.Workers = None,
    device: options.Device = Fitting.device,
    scheduler: options.Scheduler = None,
    cluster: options.Cluster = None,
    allow_unlike: options.AllowUnlike = False,
    with_map: Map = False,
    overwrite: options.Overwrite = False,
    quiet: options.Quiet = False,
    changes: Any = None,
) -> None:
    """Count a corpus, fit vectors, place the rarer words.

    Example: `psdvec train corpus.txt.xz -o model/ --max-words 50000 --dim 300`, or for what is bought together
    `psdvec train orders.csv -o model/ --items --basket order_id --item sku`

    If it is interrupted, the same command continues with the first unfinished stage.
    """
    from psdvec.cluster.client import open_client
    from psdvec.solver.train import train as train_model
    from psdvec.text.corpus import read_corpus

    text = read_corpus(
        corpus, tokenizer=tokenizer, case=case, stop_words=stop_words, lemmas=lemmas, numbers=numbers,
        punctuation=punctuation, column=column, where=options.read_where(where), errors=errors, encoding=encoding,
    )  # fmt: skip
    with open_client(scheduler=scheduler, cluster=cluster) as client:
        model = train_model(
            text, items=items, basket=basket, item=item, separator=separator,
            output=output, keep=keep, min_count=min_count, max_words=max_words, window=window,
            weighting=weighting, gaps=gaps, dim=dim, recipe=recipe, changes=changes, core=core,
            min_contexts=min_contexts, seed=seed, memory=memory, workers=workers, device=device, overwrite=overwrite,
            client=client, allow_unlike=allow_unlike, phrases=phrases, progress=make_progress(quiet=quiet),
        )  # fmt: skip
    _report(model, output, draw=with_map, quiet=quiet)


def spell(
    vectors: options.Vectors,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write: a folder, or .txt, .vec, .bin or .npz.")
    ],
    to: Annotated[
        Format | None, typer.Option(help="Format to write; default: by the ending of the output.")
    ] = None,
    workers: options.Workers = None,
    overwrite: options.Overwrite = False,
    quiet: options.Quiet = False,
) -> None:
    """Mix spelling into any vectors; unseen words get some too.

    Example: `psdvec spell glove.6B.300d.txt -o better/`

    The most frequent word should come first, as in most files: where counts are not known, the order stands for them.
    Only a folder of psdvec keeps what was learned of letters; other formats hold the better vectors of the same words.
    """
    from psdvec.methods.spelling import spell as mix_spelling

    progress = make_progress(quiet=quiet)
    form = choose_format(output, to, overwrite=overwrite)
    better = mix_spelling(load(vectors, progress=progress), workers=workers, progress=progress)
    save(better, output, format=to, overwrite=overwrite)
    if form != "model":
        print(f"{form} holds no letters, so unseen words have no vector there; a folder of psdvec keeps them")
    _report(better, output, ours=form == "model")


def _print_rest(words: int) -> None:
    """Say of how many words nothing was printed."""
    if words > SHOWN:
        print(f"and {words - SHOWN:,} more; --report FILE writes all")


def _report_scales(extension: Extension, counts: Path) -> None:
    """Say what was measured from the counts because vectors came without it."""
    core, missing = extension.core, len(extension) - len(extension.learned) - extension.core
    print(
        f"the scales of {core:,} words were measured from {counts}, with the recipe {extension.recipe.name}"
    )
    if missing:
        print(f"words of the vectors that the counts lack, and that no word is solved against: {missing:,}")


def _report(
    model: Model | Embeddings, output: Path, *, draw: bool = False, ours: bool = True, quiet: bool = True
) -> None:
    """Say what was written; with ``draw``, draw its map too, and say how far that can be trusted.

    ``ours`` says whether it is a folder of ours, which ``psdvec info`` shows.
    """
    print(f"{len(model):,} vectors of {model.dim} dimensions written to {output}")
    advice = f"; have a look with: psdvec info {output}" if ours else ""
    print(f"peak memory {format_size(peak_memory())}{advice}")
    if draw:
        from psdvec.maps.drawing import make_map

        drawing, kept = make_map(output, progress=make_progress(quiet=quiet))
        where = "it could not be kept" if kept is None else f"kept in {kept}"
        print(
            f"map of {len(drawing.places):,} {model.noun}s: {drawing.fidelity:.0%} of the ten nearest are among the "
            f"ten nearest dots; {where}"
        )
