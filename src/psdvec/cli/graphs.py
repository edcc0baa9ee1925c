"""Matrices and graphs on the command line: ``walks``, and what ``count`` and ``extend`` do with what is no text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from psdvec.cli import options
from psdvec.cli.tables import make_progress
from psdvec.errors import InputError
from psdvec.resources import format_size
from psdvec.system import peak_memory

if TYPE_CHECKING:
    from psdvec.counts.matrix import Cooccurrence

EDGES, TEXT, COUNTS = "edges", "text", "counts"  # what files may hold
Form = Annotated[
    str,
    typer.Option(
        "--format",
        help="What the files are: text, or edges: two names a line and, if there is one, a weight, separated by tabs, "
        "commas or blanks.",
    ),
]
Directed = Annotated[
    bool, typer.Option("--directed", help="Edges lead only from their first name to their second.")
]
FromMatrix = Annotated[
    Path | None,
    typer.Option(help="Take the counts from a sparse matrix, as scipy.sparse.save_npz writes it."),
]
Names = Annotated[Path | None, typer.Option(help="With --from-matrix: the names of its rows, one per line.")]
_READY = {"corpus", "output", "format", "directed", "from_matrix", "names", "overwrite", "quiet"}


def walks(
    edges: Annotated[Path, typer.Argument(help="Edges, as in psdvec count --format edges; or counts.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write the counts to.")],
    directed: Directed = False,
    window: Annotated[
        int, typer.Option(help="Steps of a walk that form pairs with the node it was at.")
    ] = 10,
    weighting: Annotated[
        str, typer.Option(help="Weight of a pair by steps: flat, harmonic, linear or power:P.")
    ] = "flat",
    walks: Annotated[int, typer.Option(help="Walks that begin at a node, in the mean.", metavar="N")] = 1000,
    exact: Annotated[
        bool | None,
        typer.Option(
            "--exact/--sample",
            help="Compute the counts in closed form, or draw walks; default: draw them only where the exact counts "
            "might not fit into memory.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of walks that are drawn.")] = 0,
    memory: Annotated[
        str | None, typer.Option(help="Memory for the counts, such as 4G; default: half of what is free.")
    ] = None,
    workers: options.Workers = None,
    overwrite: options.Overwrite = False,
    quiet: options.Quiet = False,
) -> None:
    """Count which nodes of a graph random walks visit together.

    Example: `psdvec walks graph.edges -o counts/`, then `psdvec fit counts/ -o model/ --recipe graph --dim 128`
    """
    from psdvec.counts.graphs import count_walks
    from psdvec.counts.matrix import load_counts

    counts = count_walks(
        load_counts(edges) if edges.is_dir() else edges, directed=directed, window=window, weighting=weighting,
        walks=walks, exact=exact, seed=seed, memory=memory, workers=workers, output=output, overwrite=overwrite,
        progress=make_progress(quiet=quiet),
    )  # fmt: skip
    _report(counts, output)


def count_ready(call: typer.Context) -> bool:
    """Do what ``count`` was asked for if that is counts of no text; say whether it was."""
    asked = call.params
    matrix, form = asked["from_matrix"], _form(asked["format"], TEXT)
    if matrix is None and form == TEXT:
        _refuse(asked["names"] is not None, "--names belongs to --from-matrix; give both")
        _refuse(asked["directed"], "--directed belongs to --format edges; give both, or leave it out")
        _refuse(not asked["corpus"], "nothing was named to count; name files, or give --from-matrix")
        return False
    for name in asked:
        source = call.get_parameter_source(name)
        if name not in _READY and source is not None and source.name != "DEFAULT":
            raise InputError(f"--{name.replace('_', '-')} is about text, and no text is read; leave it out")
    if matrix is None:
        _refuse(len(asked["corpus"] or ()) != 1, "edges are read from one file; name one")
    else:
        _refuse(
            form == EDGES or bool(asked["corpus"]),
            "--from-matrix was given with files; leave out one of them",
        )
        _refuse(
            asked["names"] is None, "a matrix has no names of its own; give --names FILE, one name per line"
        )
    counts = (
        _edges(asked["corpus"][0], asked["directed"]) if matrix is None else _matrix(matrix, asked["names"])
    )
    counts.save(asked["output"], overwrite=asked["overwrite"])
    _report(counts, asked["output"])
    return True


def what_to_extend(vectors: Path, counts: Path, *, format: str, refresh: Sequence[str]) -> tuple[Any, Any]:
    """Return the vectors and the counts to give to ``extend``: those named, or read from edges.

    A model that was fitted to walks gets the walks of nodes that it lacks, or that are to be solved again, through
    these edges, which must then be those of the whole graph.
    """
    if _form(format, COUNTS) == COUNTS:
        return vectors, counts
    from psdvec.counts.graphs import count_walks
    from psdvec.formats import load

    model, graph = load(vectors), _edges(counts, directed=False)
    counting = getattr(model, "counting", {})
    if "walks" not in counting:
        return model, graph
    new = [node for node in graph.vocabulary if node not in model.key_to_index]
    how = {name: counting[name] for name in ("window", "weighting", "walks")}
    return model, count_walks(graph, nodes=[*new, *refresh], **how)


def _form(form: str, usual: str) -> str:
    if form not in (usual, EDGES):
        raise InputError(f"there is no format '{form}'; choose {usual} or edges")
    return form


def _refuse(wrong: bool, sentence: str) -> None:
    if wrong:
        raise InputError(sentence)


def _edges(path: str | Path, directed: bool) -> Cooccurrence:
    from psdvec.counts.matrix import Cooccurrence

    return Cooccurrence.from_edges(path, directed=directed)


def _matrix(path: Path, names: Path) -> Cooccurrence:
    from zipfile import BadZipFile

    from scipy import sparse

    from psdvec.counts.graphs import counts_of_matrix
    from psdvec.counts.vocabulary import read_word_list

    try:
        matrix = sparse.load_npz(path)
    except (ValueError, KeyError, BadZipFile, EOFError) as error:
        raise InputError(f"'{path}' is no sparse matrix; write one with scipy.sparse.save_npz") from error
    return counts_of_matrix(matrix, read_word_list(names), symmetric=False, sources=[{"name": path.name}])


def _report(counts: Cooccurrence, output: Path) -> None:
    print(f"{len(counts):,} names and {len(counts.values):,} pairs written to {output}")
    print(f"peak memory {format_size(peak_memory())}; have a look with: psdvec info {output}")
