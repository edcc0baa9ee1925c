"""Matrices and graphs as counts: names that stand together, without any text.

:func:`counts_of_matrix` and :func:`counts_of_edges` make a :class:`~psdvec.counts.matrix.Cooccurrence` of a matrix or
of edges, as they stand. :func:`count_walks` makes one of random walks through a graph, in closed form or from walks
that are drawn; its docstring has the equation. The closed form is what NetMF factorises (Qiu et al. 2018), and what
the walks of DeepWalk tend to (Perozzi et al. 2014).
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from psdvec.arrays import Array, Float64s, Int32s, Int64s
from psdvec.counts.matrix import KIND, UNIT, Cooccurrence, Rows, Tally, in_memory, pair_weights, write_counts
from psdvec.counts.vocabulary import MOST, TEXT_KEYS, TOO_MANY, Key, Vocabulary, as_key, kind_of_all
from psdvec.errors import InputError, checked, demand_positive, demand_seed
from psdvec.kernels import kernel
from psdvec.progress import LogProgress, Progress, SilentProgress, count_of
from psdvec.resources import available_memory, format_size, map_ordered, parse_size, resolve_workers
from psdvec.storage.artefact import check_output
from psdvec.storage.workspace import place_for
from psdvec.text.readers import stream_lines
from psdvec.text.streams import open_stream

COLUMNS = ("source", "target", "weight")  # of a table of edges; the last may be missing
# Parameters of counts that are of no text.
_NO_TEXT: dict[str, Any] = {"tokenizer": "none", "noun": "node", "unit": UNIT}


# A matrix as counts.


def counts_of_matrix(
    matrix: Any, names: Iterable[Any], *, symmetric: bool, sources: Sequence[Mapping[str, Any]]
) -> Cooccurrence:
    """Return the counts that :meth:`psdvec.Cooccurrence.from_matrix` promises."""
    if not isinstance(names, Iterable):
        raise InputError(f"names is {names!r:.40}; give one name for each row")
    M, words = _square(matrix), [as_key(name) for name in names]
    if len(words) != M.shape[0]:
        raise InputError(
            f"the matrix has {M.shape[0]:,} rows, and there are {len(words):,} names; give one name for each row"
        )
    if len(set(words)) < len(words):
        twice = next(word for i, word in enumerate(words) if word in words[:i])
        raise InputError(f"the name '{twice}' is there twice; give each row a name of its own")
    M = _mirrored(M) if symmetric else M
    M.data = _in_units(M.data)
    M.eliminate_zeros()
    rows, columns = (np.asarray(M.sum(axis=axis)).ravel() for axis in (1, 0))
    sums = np.maximum(rows, columns)
    if not sums.any():
        raise InputError("the matrix holds no weight above 0; give one that does")
    seen = np.maximum(np.rint(sums / UNIT), sums > 0).astype(np.int64)
    vocabulary = Vocabulary.from_counts(
        {word: count for word, count in zip(words, seen.tolist(), strict=True) if count}
    )
    if len(vocabulary) < len(words):
        alone = f"{count_of(len(words) - len(vocabulary), 'name')} without a weight"
        LogProgress().say(f"{alone} left out, such as '{words[int(np.argmin(seen))]}'")
    M = _reordered(M, words, vocabulary)
    return Cooccurrence(
        vocabulary, M.indptr.astype(np.int64), M.indices.astype(np.int32), M.data, _parameters(words),
        Tally(tokens=int(vocabulary.counts.sum())), tuple(sources),
    )  # fmt: skip


def _parameters(names: Sequence[Key]) -> dict[str, Any]:
    """Return the parameters of counts that are of no text; names that are no strings come back as they are."""
    kind = kind_of_all(names)
    return _NO_TEXT if kind == TEXT_KEYS else {**_NO_TEXT, "keys": kind}


def _square(matrix: Any) -> Any:
    """Return a square matrix of finite weights, none below 0, as a new CSR array whose cells are all different."""
    try:
        M = sparse.csr_array(matrix, copy=True)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{type(matrix).__name__} is no matrix; give a sparse matrix of SciPy or an array with two dimensions"
        ) from error
    if M.ndim != 2 or M.shape[0] != M.shape[1]:
        raise InputError(
            f"the matrix has the shape {M.shape}; give one with a row and a column for each name"
        )
    if M.dtype.kind not in "biuf":
        raise InputError(f"the matrix holds {M.dtype}; give weights that are real numbers")
    M.sum_duplicates()
    weights = M.data
    if not np.isfinite(weights).all() or (weights < 0).any():
        wrong = weights[~(np.isfinite(weights) & (weights >= 0))][0]
        raise InputError(
            f"a weight is {wrong}; give weights of 0 or more, such as how often two names were seen together"
        )
    return M


def _mirrored(M: Any) -> Any:
    """Return a matrix that is equal to its transpose: ``M`` itself, or, of a triangle, both triangles."""
    if (abs(M - M.T) > 1e-9 * abs(M).max()).nnz == 0:
        return M
    if sparse.triu(M, 1).nnz and sparse.tril(M, -1).nnz:
        raise InputError(
            "the matrix is neither symmetric nor a triangle; leave symmetric out to count its two directions apart"
        )
    return _both_triangles(M)


def _both_triangles(M: Any) -> Any:
    """Return M + Mᵀ with the diagonal of ``M``."""
    return sparse.csr_array(M + sparse.triu(M, 1).T + sparse.tril(M, -1).T)


def _in_units(weights: Array) -> Int64s:
    """Return weights in units of 1/720720, whole numbers as they are and others to the nearest unit."""
    with np.errstate(over="ignore"):
        above, total = weights[weights > 0], UNIT * float(weights.sum(dtype=np.float64))
    if total >= MOST:
        raise InputError(f"{TOO_MANY}; divide all weights by a number such as {_next_power(total / MOST)}")
    if above.size and UNIT * float(above.min()) < 0.5:
        raise InputError(
            f"the smallest weight above 0 is {above.min():.3g}, but weights are kept in steps of 1/{UNIT}; multiply "
            f"all by a number such as {_next_power(1 / (UNIT * float(above.min())))}, or leave the small ones out"
        )
    if weights.dtype.kind in "biu":
        return weights.astype(np.int64) * UNIT
    return np.asarray(np.rint(weights.astype(np.float64) * UNIT), np.int64)


def _next_power(factor: float) -> str:
    """Return a power of 10 well above ``factor``.

    >>> _next_power(250.0)
    '1e+04'
    """
    return f"{10.0 ** (math.ceil(math.log10(min(factor, 1e300))) + 1):.0e}"


def _reordered(M: Any, words: Sequence[Key], vocabulary: Vocabulary) -> Any:
    """Return the rows and columns of ``M``, which are those of ``words``, in the order of ``vocabulary``."""
    ids = {word: i for i, word in enumerate(words)}
    order = np.array([ids[word] for word in vocabulary], np.int64)
    M = M[order][:, order]
    M.sort_indices()
    return M


# Edges, from a file or from Python, as counts.


class Edges(NamedTuple):
    """Edges between ``names``: the ends of each, int64, and its weight, float64; ``file`` is where they are from."""

    names: list[Key]
    sources: Int64s
    targets: Int64s
    weights: Float64s
    file: str = "edges from Python"


def counts_of_edges(edges: Any, *, directed: bool) -> Cooccurrence:
    """Return the counts that :meth:`psdvec.Cooccurrence.from_edges` promises."""
    found = read_edges(edges) if isinstance(edges, str | Path) else _edges_of(edges)
    if not found.names:
        raise InputError("there is no edge; give at least one, such as ('a', 'b')")
    n, ends = len(found.names), (found.sources, found.targets)
    M = sparse.coo_array((found.weights, ends), shape=(n, n)).tocsr()
    if not directed:
        M = _both_triangles(M)
    return counts_of_matrix(M, found.names, symmetric=False, sources=[{"name": found.file}])


def read_edges(path: str | Path) -> Edges:
    """Read a file of edges, plain or compressed: two names a line and, if there is one, a weight.

    They are separated by tabs, by commas or by blanks, as the first line is. Lines that begin with # are comments, and
    a first line may say ``source`` and ``target``.
    """
    if "\0" in str(path):
        raise InputError(f"there is no file {str(path)!r}; check the name")
    with open_stream(path) as stream:
        return _gather(_edges_in(stream_lines(stream), str(path)), file=Path(path).name)


def _edges_in(lines: Iterable[str], name: str) -> Iterator[tuple[str, str, float]]:
    separator: str | None = ""  # not known yet
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        is_first = separator == ""
        if is_first:
            separator = next((mark for mark in "\t," if mark in line), None)
        fields = [field.strip() for field in line.split(separator)]
        if is_first and tuple(fields[:2]) == COLUMNS[:2]:
            continue
        where = f"'{name}' line {number}"
        if not 2 <= len(fields) <= 3 or not (fields[0] and fields[1]):
            between = {"\t": "tabs", ",": "commas", None: "blanks"}[separator]
            raise InputError(
                f"{where} is {line[:60]!r}; write two names and, if there is one, a weight, with {between} between them"
            )
        try:
            weight = float(fields[2]) if len(fields) == 3 else 1.0
        except ValueError:
            raise InputError(f"{where} has the weight {fields[2][:40]!r}; write a number") from None
        yield fields[0], fields[1], _weight(weight, where)


def _weight(weight: float, where: str) -> float:
    if not 0 <= weight < math.inf:
        raise InputError(f"{where} has the weight {weight}; give 0 or more")
    return weight


def _edges_of(edges: Any) -> Edges:
    """Return the edges of a graph of networkx, a table with columns, or an iterable of pairs and triples."""
    if hasattr(edges, "edges") and callable(edges.edges):  # networkx
        nodes = [(name, name, 0.0) for name in edges.nodes]
        return _gather(chain(nodes, edges.edges(data="weight", default=1.0)))
    # Arrow has the one, pandas and Polars have the other.
    names = getattr(edges, "column_names", getattr(edges, "columns", None))
    if names is not None:
        missing = [column for column in COLUMNS[:2] if column not in list(names)]
        if missing:
            raise InputError(
                f"the table has no column '{missing[0]}' (it has: {', '.join(map(str, names))}); name its columns "
                "source, target and, if there is one, weight"
            )
        columns = [_values(edges[column]) for column in COLUMNS if column in list(names)]
        return _gather(zip(*columns, strict=True))
    if isinstance(edges, bytes | Mapping) or not isinstance(edges, Iterable):
        raise InputError(
            f"{type(edges).__name__} holds no edges; give pairs or triples such as ('a', 'b', 2), a table, a graph of "
            "networkx, or the name of a file"
        )
    return _gather(edges)


def _values(column: Any) -> Any:
    return column.to_pylist() if hasattr(column, "to_pylist") else column


def _gather(edges: Iterable[Any], file: str = Edges._field_defaults["file"]) -> Edges:
    """Number the names of edges in the order in which they come."""
    ids: dict[Key, int] = {}
    ends: list[int] = []
    weights: list[float] = []
    for number, edge in enumerate(edges):
        try:
            source, target, weight = edge if len(edge) == 3 else (*edge, 1.0)
            weights.append(_weight(float(weight), f"edge {number}"))
        except (TypeError, ValueError):
            raise InputError(
                f"edge {number} is {str(edge)[:60]!r}; give two names, or two names and a weight"
            ) from None
        ends += (ids.setdefault(as_key(source), len(ids)), ids.setdefault(as_key(target), len(ids)))
    pairs = np.array(ends, np.int64).reshape(-1, 2)
    return Edges(list(ids), pairs[:, 0], pairs[:, 1], np.array(weights, np.float64), file)


# Random walks through a graph as counts.

_TOGETHER = 16  # nodes whose walks are followed together, so that processors compute with several at once
_CELL = 12  # bytes of a pair of the counts


@checked
def count_walks(
    edges: Any,
    *,
    directed: bool = False,
    window: int = 10,
    weighting: str = "flat",
    walks: int = 1000,
    exact: bool | None = None,
    nodes: Sequence[Any] | None = None,
    seed: int = 0,
    memory: float | str | None = None,
    workers: int | None = None,
    output: str | Path | None = None,
    overwrite: bool = False,
    quiet: bool = False,
    progress: Progress = LogProgress(),
) -> Cooccurrence:
    """Count which nodes of a graph random walks visit within a window of each other.

    With A the weights of the edges, d their sums by node and P = A / d the step of a walk, the count of i before j is
    ``walks · n · d_i / Σd · Σ_r w(r) (P^r)_ij`` with r from 1 to ``window``.

    Parameters
    ----------
    edges
        What :meth:`psdvec.Cooccurrence.from_edges` takes, or the counts that it makes.
    directed
        Walk along the direction of each edge only, and end where no edge leads on.
    window, weighting
        How many steps of a walk form pairs with the node it was at, and what a pair counts after r steps, as in
        :func:`psdvec.count_pairs`.
    walks
        How many walks begin at a node, in the mean: in proportion to the weights of its edges.
    exact
        True computes the counts in closed form, False draws the walks; None draws them only where the exact counts
        might not fit into ``memory``.
    nodes
        Count only the pairs of these nodes, all others in this graph being known: for :func:`psdvec.extend`.
    seed
        Of walks that are drawn. The same seed gives the same bytes, for any number of ``workers``.
    memory
        The most memory that the counts may take, such as ``"4G"``; half of what is free, if None.
    output
        Where to write the counts; they stay in memory, if None.

    Examples
    --------
    >>> counts = count_walks([("a", "b"), ("b", "c")], window=2, walks=4, quiet=True)
    >>> counts.row("a")  # 4 · 3 · 1/4 walks begin at a; all are at b next, and then half of them at a, half at c
    {'b': 3.0, 'a': 1.5, 'c': 1.5}
    """
    progress = SilentProgress() if quiet else progress
    demand_positive(walks, "walks")
    weights = pair_weights(window, weighting)
    if output is not None:
        check_output(output, overwrite=overwrite, kind=KIND)
    graph = edges if isinstance(edges, Cooccurrence) else counts_of_edges(edges, directed=directed)
    if directed and isinstance(edges, Cooccurrence):
        raise InputError("these counts know their directions already; give directed=True to from_edges")
    walking = _plan(graph, weights, walks=walks, seed=demand_seed(seed))
    n = len(walking.vocabulary)
    room = available_memory() // 2 if memory is None else parse_size(memory)
    asked = np.arange(n) if nodes is None else _ids_of(nodes, walking)
    if exact is None:
        exact = _CELL * n * asked.size <= room
        _say_how(exact, _CELL * asked.size * np.array([n, min(n, walks * window)]), room, progress)
    threads = resolve_workers(workers)
    parameters = {
        **_parameters(walking.vocabulary.words),
        "window": window,
        "weighting": weighting,
        "walks": walks,
    }
    follow = _follow_exactly if exact else _follow_drawn
    with (
        ThreadPoolExecutor(threads) as pool,
        place_for(output) as place,
        progress.stage("walks", total=asked.size, unit="nodes") as stage,
        closing(_rows(pool, partial(follow, walking), asked, threads, stage.advance)) as rows,
    ):
        blocks: Iterable[Rows] = rows
        if nodes is not None:
            blocks, parameters = [_both_ways(rows, asked, n)], {**parameters, "sums": "words"}
        counts = write_counts(
            place, blocks, walking.vocabulary, parameters=parameters, sources=graph.sources, overwrite=overwrite,
            tally=Tally(tokens=int(walking.vocabulary.counts.sum())),
        )  # fmt: skip
        return in_memory(counts) if output is None else counts


class Walking(NamedTuple):
    """A graph as walks go through it, its nodes in the order of ``vocabulary``.

    ``starts`` float64[n]: how many walks begin at each node. ``indptr``, ``indices``, ``sums``: the probabilities of
    steps by rows, each added to all before it; ``back``: those by columns, (indptr, indices, steps). ``weights``
    int64[window]: what a pair counts after each step, in units.
    """

    vocabulary: Vocabulary
    starts: Float64s
    indptr: Int64s
    indices: Int32s
    sums: Float64s
    back: tuple[Int64s, Int32s, Float64s]
    weights: Int64s
    is_symmetric: bool
    seed: int


def _plan(graph: Cooccurrence, weights: Int64s, *, walks: int, seed: int) -> Walking:
    """Return ``graph`` with what walks through it need."""
    n, words = len(graph), graph.vocabulary.words
    A = sparse.csr_array((graph.values, graph.indices, graph.indptr), shape=(n, n))
    degrees = np.asarray(A.sum(axis=1), np.float64)
    if not degrees.any():
        raise InputError("the graph has no edge; give at least one")
    begun = walks * n * (degrees / degrees.sum())
    if walks * n * int(weights.sum()) > MOST:
        raise InputError(f"{TOO_MANY}; give fewer walks")
    seen = np.maximum(np.rint(begun * (int(weights.sum()) / UNIT)), 1).astype(np.int64)
    vocabulary = Vocabulary.from_counts(dict(zip(words, seen.tolist(), strict=True)))
    A = _reordered(A, words, vocabulary)
    order = np.array([graph.vocabulary.ids[word] for word in vocabulary], np.int64)
    P = sparse.csr_array(
        (A.data / np.repeat(np.maximum(degrees[order], 1), np.diff(A.indptr)), A.indices, A.indptr),
        shape=(n, n),
    )
    B = P.T.tocsr()
    B.sort_indices()
    back = B.indptr.astype(np.int64), B.indices.astype(np.int32), B.data
    return Walking(
        vocabulary, begun[order], P.indptr.astype(np.int64), P.indices.astype(np.int32), np.cumsum(P.data), back,
        weights, is_symmetric=(A != A.T).nnz == 0, seed=seed,
    )  # fmt: skip


def _ids_of(nodes: Sequence[Any], walking: Walking) -> Int64s:
    """Return the ids of ``nodes``, rising."""
    ids, names = walking.vocabulary.ids, [as_key(node) for node in nodes]
    if not names:
        raise InputError("no node was named; name at least one, or leave nodes out")
    if not walking.is_symmetric:
        raise InputError("the edges have directions, so that all nodes must be counted; leave nodes out")
    for name in names:
        if name not in ids:
            raise InputError(f"the node '{name}' has no edge in this graph; give the edges that it has")
    return np.unique([ids[name] for name in names])


def _say_how(exact: bool, sizes: Int64s, room: int, progress: Progress) -> None:
    """Say how walks are counted; ``sizes`` are those of the exact counts and of counts of walks that are drawn."""
    need, drawn = (format_size(size) for size in sizes.tolist())
    if exact:
        progress.say(f"the exact counts take at most {need}: computed in closed form")
    else:
        progress.say(
            f"the exact counts take up to {need}, and {format_size(room)} may be used: walks are drawn, whose counts "
            f"take up to {drawn}, or less if fewer are drawn"
        )


def _rows(
    pool: Executor, follow: Any, nodes: Int64s, threads: int, advance: Any
) -> Generator[Rows, None, None]:
    """Yield the rows of ``nodes`` in order, some at a time."""
    parts = (nodes[begin : begin + _TOGETHER] for begin in range(0, nodes.size, _TOGETHER))
    for rows in map_ordered(pool, follow, parts, ahead=4 * threads):
        yield rows
        advance(rows.sizes.size)


def _follow_exactly(walking: Walking, nodes: Int64s) -> Rows:
    """Return the rows of some nodes in closed form; each is the same in whatever company."""
    n = len(walking.vocabulary)
    now, total = np.zeros((n, _TOGETHER)), np.zeros((n, _TOGETHER))
    now[nodes, np.arange(nodes.size)] = walking.starts[nodes]
    for weight in walking.weights.tolist():
        now = step_back(*walking.back, now, float(weight), total)
    values = np.rint(total.T[: nodes.size]).astype(np.int64)
    return _rows_of(values)


def _rows_of(values: Int64s) -> Rows:
    """Return the cells of dense rows that are not 0."""
    rows, columns = np.nonzero(values)
    sizes = np.bincount(rows, minlength=len(values))
    return Rows(columns.astype(np.int32), values[rows, columns], sizes)


# indptr int64[n + 1], indices int32[m], steps float64[m]; now and total float64[n, k], total is added to
@kernel
def step_back(indptr, indices, steps, now, weight, total):
    """Return where walks are a step after ``now``: each row of the result is Σ steps · now over the row's indices.

    ``weight`` times that is added to ``total``.
    """
    n, k = now.shape
    after = np.zeros((n, k))
    for j in range(n):
        for place in range(indptr[j], indptr[j + 1]):
            i, step = indices[place], steps[place]
            for c in range(k):
                after[j, c] += step * now[i, c]
        for c in range(k):
            total[j, c] += weight * after[j, c]
    return after


def _follow_drawn(walking: Walking, nodes: Int64s) -> Rows:
    """Return the rows of some nodes from walks that are drawn; each node has random numbers of its own."""
    n = len(walking.vocabulary)
    columns, values, sizes = [], [], []
    visits = np.zeros(n, np.int64)
    for node in nodes.tolist():
        begun = walking.starts[node]
        drawn = max(round(begun), 1) if begun else 0
        found = draw_walks(
            walking.indptr,
            walking.indices,
            walking.sums,
            node,
            drawn,
            walking.weights,
            np.uint64(walking.seed),
            visits,
        )
        found.sort()
        counted = np.rint(visits[found] * (begun / max(drawn, 1))).astype(np.int64)
        visits[found] = 0
        columns.append(found[counted > 0])
        values.append(counted[counted > 0])
        sizes.append(np.count_nonzero(counted))
    return Rows(np.concatenate(columns), np.concatenate(values), np.array(sizes, np.int64))


_GOLDEN, _FIRST, _SECOND = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)


@kernel(inline="always")
def _mixed(state):
    """Return 64 random bits of a ``state`` (SplitMix64, Steele et al. 2014)."""
    z = (state ^ (state >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))


# indptr int64[n + 1], indices int32[m], sums float64[m]: of all probabilities up to here; weights int64[window]
@kernel
def draw_walks(indptr, indices, sums, node, walks, weights, seed, visits):
    """Draw walks from ``node`` and add the weight of each visit to ``visits``, int64[n]; return who was visited."""
    met = np.empty(min(visits.size, walks * weights.size), np.int32)
    size = 0
    state = _mixed(_mixed(seed + _GOLDEN) + np.uint64(node) * _GOLDEN)
    for _ in range(walks):
        now = node
        for weight in weights:
            begin, end = indptr[now], indptr[now + 1]
            if begin == end:
                break
            state += _GOLDEN
            share = (_mixed(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
            before = sums[begin - 1] if begin else 0.0
            place = begin + np.searchsorted(
                sums[begin:end], before + share * (sums[end - 1] - before), side="right"
            )
            now = indices[min(place, end - 1)]
            if visits[now] == 0:
                met[size] = now
                size += 1
            visits[now] += weight
    return met[:size]


def _both_ways(rows: Iterable[Rows], nodes: Int64s, n: int) -> Rows:
    """Return the ``rows`` of some nodes with the same cells as columns of all others."""
    blocks = list(rows)
    columns, values, sizes = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    own = sparse.csr_array((values, columns, np.concatenate([[0], np.cumsum(sizes)])), shape=(nodes.size, n))
    turned = own.T.tocsr()
    turned = sparse.csr_array((turned.data, nodes[turned.indices], turned.indptr), shape=(n, n))
    others = np.setdiff1d(np.arange(n), nodes)
    M = sparse.vstack([own, turned[others]], format="csr")[np.argsort(np.concatenate([nodes, others]))]
    return Rows(M.indices.astype(np.int32), M.data, np.diff(M.indptr).astype(np.int64))
