"""The command that describes anything psdvec has written: ``info``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from psdvec.cli.tables import print_json
from psdvec.errors import printable


def info(
    path: Annotated[Path, typer.Argument(help="A folder that psdvec has written.")],
    verify: Annotated[
        bool, typer.Option("--verify", help="Read every file and compare it with its checksum.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print everything that is known, as JSON for programs.")
    ] = False,
) -> None:
    """Show what a folder holds, how it was made and from what.

    Example: `psdvec info counts/ --verify`
    """
    from psdvec import loading
    from psdvec.storage.artefact import open_artefact

    artefact = open_artefact(path)
    if verify:
        loading.verify(artefact)
    if as_json:
        print_json(loading.describe(artefact) | {"verified": True if verify else None})
        return
    state = "intact: every file is as it was written" if verify else "not verified; add --verify"
    lines = {**loading.summarise(artefact), "state": state}
    width = max(map(len, lines))
    for name, text in lines.items():
        print(f"{name:<{width}}  {printable(text)}")
