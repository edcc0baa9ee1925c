"""The command that opens a page: ``explore``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from psdvec.cli.options import Quiet
from psdvec.cli.progress_bar import make_progress
from psdvec.errors import InputError, import_extra


def explore(
    model: Annotated[
        Path, typer.Argument(help="Vectors: a model folder or a file in any format psdvec reads.")
    ],
    other: Annotated[
        Path | None, typer.Argument(help="Further vectors, to look at side by side.", metavar="MODEL2")
    ] = None,
    counts: Annotated[
        list[Path] | None,
        typer.Option(help="Counts the model was made from, to see contexts; once for each model, in order."),
    ] = None,
    points: Annotated[int, typer.Option(min=2, max=100_000, help="Words on the map.")] = 20_000,
    host: Annotated[
        str, typer.Option(help="Address to listen at; others than 127.0.0.1 are open to the network.")
    ] = ("127.0.0.1"),
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen at; 0 for any free one.")
    ] = 8765,
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in the browser.")
    ] = True,
    quiet: Quiet = False,
) -> None:
    """Look into vectors on a local page: a map, neighbours, analogies, contexts, new words, two models compared.

    Example: `psdvec explore model/ --counts counts/`

    The page is served on this machine only, needs no network, and is over when you press Control-C.
    """
    for module in ("starlette", "uvicorn", "plotly"):
        import_extra(module, extra="explore", purpose="the explorer")
    from psdvec.explore.api import Desk
    from psdvec.explore.app import make_app
    from psdvec.explore.models import open_subject
    from psdvec.explore.server import address_of, open_socket, serve

    progress = make_progress(quiet=quiet)
    paths = [model] if other is None else [model, other]
    stores: list[Path | None] = [*(counts or [])]
    if len(stores) > len(paths):
        raise InputError(f"{len(stores)} counts were given for {len(paths)} models; give one for each")
    stores += [None] * (len(paths) - len(stores))
    subjects = [
        open_subject(path, counts=store, map_words=points, progress=progress)
        for path, store in zip(paths, stores, strict=True)
    ]
    listener = open_socket(host, port)
    address = address_of(listener)

    if host not in ("127.0.0.1", "::1", "localhost"):
        progress.say(f"listening at {host}: whoever reaches this machine can ask")

    def announce() -> None:
        print(f"exploring {' and '.join(map(str, paths))} at {address} (Control-C ends it)", flush=True)
        if open_browser:
            import webbrowser

            webbrowser.open(address)

    serve(make_app(Desk(subjects), host=host), listener, ready=announce)
