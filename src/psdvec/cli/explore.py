"""The command that opens the explorer: ``explore``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from psdvec.cli.options import Quiet, Vectors
from psdvec.cli.progress_bar import make_progress
from psdvec.cli.tables import spell_options
from psdvec.errors import InputError, import_extra


def explore(
    context: typer.Context,
    model: Vectors,
    other: Annotated[
        Path | None, typer.Argument(help="Other vectors, to compare with the first.", metavar="MODEL2")
    ] = None,
    counts: Annotated[
        list[Path] | None,
        typer.Option(help="Counts that the model was made from, to show contexts; once per model, in order."),
    ] = None,
    topics: Annotated[
        list[Path] | None,
        typer.Option(help="Topics found with the model, to show them too; once per model, in order."),
    ] = None,
    points: Annotated[int, typer.Option(min=2, max=200_000, help="Number of words on the map.")] = 20_000,
    host: Annotated[
        str,
        typer.Option(help="Address to listen at; any but 127.0.0.1 lets others on the network in."),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen at; 0 is any free one.")] = 8765,
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in the browser.")
    ] = True,
    quiet: Quiet = False,
) -> None:
    """Explore vectors in the browser: a map, neighbours, analogies, contexts, new words, two models compared.

    Example: `psdvec explore model/ --counts counts/`

    The page is served on this machine only and needs no network; Control-C stops it.
    """
    for module in ("starlette", "uvicorn"):
        import_extra(module, extra="explore", purpose="the explorer")
    from psdvec.explore.api import Api
    from psdvec.explore.app import address_of, make_app, open_socket, serve
    from psdvec.explore.models import open_model

    progress = make_progress(quiet=quiet)
    paths = [model] if other is None else [model, other]
    stores, found = (
        _for_each(paths, given, name) for given, name in ((counts, "counts"), (topics, "topics"))
    )
    models = []
    for path, store, beside in zip(paths, stores, found, strict=True):
        opened = open_model(path, counts=store, topics=beside, map_words=points, progress=progress)
        advice = spell_options(opened.no_contexts, context.command.params)
        models.append(replace(opened, no_contexts=advice))
    listener = open_socket(host, port)
    address = address_of(listener)

    if host not in ("127.0.0.1", "::1", "localhost"):
        progress.say(f"listening at {host}: everybody who can reach this machine can use the page")

    def announce() -> None:
        print(f"exploring {' and '.join(map(str, paths))} at {address} (Control-C stops it)", flush=True)
        if open_browser:
            import webbrowser

            webbrowser.open(address)

    serve(make_app(Api(models), host=host), listener, ready=announce)


def _for_each(paths: list[Path], given: list[Path] | None, name: str) -> list[Path | None]:
    """Return what was given for each model, None for the models after the last for which something was."""
    found: list[Path | None] = [*(given or [])]
    if len(found) > len(paths):
        raise InputError(
            f"{name} were given {len(found)} times for {len(paths)} models; give them once per model"
        )
    return found + [None] * (len(paths) - len(found))
