"""The commands that learn: ``fit``, ``extend`` and ``train``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from psdvec.cli.count import (
    Cluster,
    Column,
    Errors,
    Field,
    Gaps,
    MinCount,
    Overwrite,
    Quiet,
    Scheduler,
    Tokenizer,
    Weighting,
    Window,
    Workers,
)
from psdvec.cli.defaults import default
from psdvec.cli.progress_bar import make_progress
from psdvec.cli.recipe_options import HELP, with_recipe
from psdvec.errors import InputError
from psdvec.methods import METHODS
from psdvec.methods.run import fit_method, parse_settings
from psdvec.resources import format_size, peak_memory

OURS = "psdvec"

Dim = Annotated[int, typer.Option(help="Numbers a word.")]
RecipeName = Annotated[str, typer.Option(help="default or paper.")]
Core = Annotated[int | None, typer.Option(help="Words to fit together; the others by ridge. Default: all.")]
MaxWords = Annotated[int | None, typer.Option(help="Only this many words, the most frequent.")]
Memory = Annotated[str | None, typer.Option(help="The most memory to take, as 4G; default: what is free.")]
Seed = Annotated[int, typer.Option(help="Of the eigensolver's random start.")]
Device = Annotated[str, typer.Option(help="cpu, cuda, or auto: a graphics card where there is one.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done and needed.")]
Ridge = Annotated[str | None, typer.Option(show_default="recipe's", help=HELP["ridge"])]
MinContexts = Annotated[
    int, typer.Option(help="Words placed later and seen with fewer different words get no vector.")
]
Damping = Annotated[float | None, typer.Option(show_default="recipe's", help=HELP["damping"])]


@with_recipe
def fit(
    counts: Annotated[Path, typer.Argument(help="Counts, made by psdvec count.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write the model to.")],
    method: Annotated[str, typer.Option(help=f"{', '.join(METHODS)}.")] = OURS,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting of another method, name=value; may be repeated."),
    ] = None,
    corpus: Annotated[
        list[str] | None, typer.Option(help="The text, for methods that read it; may be repeated.")
    ] = None,
    dim: Dim = default("solver.fit.fit", "dim"),
    recipe: RecipeName = default("solver.fit.fit", "recipe"),
    core: Core = None,
    max_words: MaxWords = None,
    min_contexts: MinContexts = default("solver.fit.fit", "min_contexts"),
    seed: Seed = default("solver.fit.fit", "seed"),
    memory: Memory = None,
    workers: Workers = None,
    device: Device = default("solver.fit.fit", "device"),
    overwrite: Overwrite = False,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    changes: Any = None,
) -> None:
    """Make vectors of counted words.

    Example: `psdvec fit counts/ -o model/ --dim 300`

    Interrupted, it goes on after the last finished round when the same command is given again. Other methods than
    psdvec start anew; the options `--recipe`, `--core`, `--max-words`, `--min-contexts`, `--memory`, `--device`,
    `--dry-run` and from `--smoothing` on are psdvec's, theirs are given with `--set`.
    """
    from psdvec.solver import fit as fit_module

    options: dict[str, Any] = {
        "dim": dim, "recipe": recipe, "changes": changes, "core": core, "max_words": max_words, "memory": memory,
        "device": device,
    }  # fmt: skip
    if method != OURS or settings or corpus:
        own = {
            **changes,
            **options,
            "recipe": None if recipe == "default" else recipe,
            "device": None if device == "cpu" else device,
            "dry_run": dry_run or None,
            "min_contexts": None
            if min_contexts == default("solver.fit.fit", "min_contexts")
            else min_contexts,
        }
        given = [name for name, value in own.items() if value is not None and name not in ("dim", "changes")]
        if given:
            raise InputError(
                f"--{given[0].replace('_', '-')} is an option of the method {OURS} alone; leave it out, or --method"
            )
        vectors = fit_method(
            method, counts, output=output, corpus=corpus, settings=parse_settings(method, settings or []),
            dim=dim, seed=seed, workers=workers, overwrite=overwrite, progress=make_progress(quiet=quiet),
        )  # fmt: skip
        _report(vectors, output)
        return
    if dry_run:
        for line in fit_module.plan_fit(counts, **options):
            print(line)
        return
    model = fit_module.fit(
        counts, **options, min_contexts=min_contexts, seed=seed, workers=workers, output=output, overwrite=overwrite,
        progress=make_progress(quiet=quiet),
    )  # fmt: skip
    _report(model, output)


def extend(
    model: Annotated[Path, typer.Argument(help="A model, made by psdvec fit.")],
    counts: Annotated[Path, typer.Argument(help="Counts that hold the new words.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write the larger model to.")],
    words: Annotated[
        Path | None, typer.Option(help="Learn the words of this file, one a line; default: all.")
    ] = None,
    refresh: Annotated[Path | None, typer.Option(help="Solve the old words of this file anew.")] = None,
    core: Core = None,
    ridge: Ridge = None,
    damping: Damping = None,
    unigrams: Annotated[
        str, typer.Option(help="Old words' frequencies: the corpus' or the model's.")
    ] = default("solver.extend.extend", "unigrams"),
    min_contexts: MinContexts = default("solver.extend.extend", "min_contexts"),
    workers: Workers = None,
    device: Device = default("solver.extend.extend", "device"),
    scheduler: Scheduler = None,
    cluster: Cluster = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Learn new words beside old ones, which do not move.

    Example: `psdvec extend model/ medical-counts/ -o model2/ --words terms.txt`
    """
    from psdvec.cluster.client import open_client
    from psdvec.counts.vocabulary import read_word_list
    from psdvec.solver.extend import extend as extend_model

    with open_client(scheduler=scheduler, cluster=cluster) as client:
        extension = extend_model(
            model, counts, words=None if words is None else read_word_list(words),
            refresh=() if refresh is None else read_word_list(refresh), core=core, ridge=ridge, damping=damping,
            unigrams=unigrams, min_contexts=min_contexts, workers=workers, device=device, output=output,
            overwrite=overwrite, client=client, progress=make_progress(quiet=quiet),
        )  # fmt: skip
    for word in extension.thin:
        print(f"seen too little: {word}")
    if not extension.learned and not extension.refreshed:
        print("nothing to learn: the model has all these words; nothing was written")
        return
    print(f"{len(extension.learned):,} words learned, {len(extension.refreshed):,} refreshed")
    _report(extension.model, output)


@with_recipe
def train(
    corpus: Annotated[list[str], typer.Argument(help="Files, folders, globs, or - for standard input.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write the model to.")],
    keep: Annotated[Path | None, typer.Option(help="Folder to keep the counts in.")] = None,
    tokenizer: Tokenizer = default("text.corpus.read_corpus", "tokenizer"),
    field: Field = None,
    column: Column = None,
    errors: Errors = default("text.corpus.read_corpus", "errors"),
    min_count: MinCount = default("counts.count.count_pairs", "min_count"),
    max_words: MaxWords = None,
    window: Window = default("counts.count.count_pairs", "window"),
    weighting: Weighting = default("counts.count.count_pairs", "weighting"),
    gaps: Gaps = default("counts.count.count_pairs", "gaps"),
    dim: Dim = default("solver.fit.fit", "dim"),
    recipe: RecipeName = default("solver.fit.fit", "recipe"),
    core: Core = None,
    min_contexts: MinContexts = default("solver.fit.fit", "min_contexts"),
    seed: Seed = default("solver.fit.fit", "seed"),
    memory: Memory = None,
    workers: Workers = None,
    device: Device = default("solver.fit.fit", "device"),
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    changes: Any = None,
) -> None:
    """Count a corpus, fit vectors and place the rarer words, in one go.

    Example: `psdvec train corpus.txt.xz -o model/ --max-words 50000 --dim 300`

    Interrupted, it goes on with the first unfinished stage when the same command is given again.
    """
    from psdvec.solver.train import train as train_model
    from psdvec.text.corpus import read_corpus

    model = train_model(
        read_corpus(corpus, tokenizer=tokenizer, field=field, column=column, errors=errors), output=output, keep=keep,
        counting={
            "min_count": min_count, "max_words": max_words, "window": window, "weighting": weighting, "gaps": gaps,
        },
        dim=dim, recipe=recipe, changes=changes, core=core, min_contexts=min_contexts, seed=seed, memory=memory,
        workers=workers, device=device, overwrite=overwrite, progress=make_progress(quiet=quiet),
    )  # fmt: skip
    _report(model, output)


def _report(model: Any, output: Path) -> None:
    print(f"{len(model):,} vectors of {model.dim} numbers written to {output}")
    print(f"peak memory {format_size(peak_memory())}; have a look with: psdvec info {output}")
