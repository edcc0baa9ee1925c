"""The command that describes anything psdvec has written: ``info``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from psdvec.cli.options import Json
from psdvec.storage.artefact import open_artefact, verify_artefact


def info(
    path: Annotated[Path, typer.Argument(help="A folder that psdvec has written.")],
    verify: Annotated[
        bool, typer.Option("--verify", help="Read every file and compare it with its checksum.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show what a folder holds, how it was made and from what.

    Example: `psdvec info counts/ --verify`
    """
    from psdvec.loading import describe

    artefact = open_artefact(path)
    if verify:
        verify_artefact(artefact)
    facts = describe(artefact) | {"verified": verify}
    if as_json:
        print(json.dumps(facts, ensure_ascii=False))
        return
    width = max(map(len, facts))
    for name, value in facts.items():
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        print(f"{name:<{width}}  {shown}")
