"""Matrices, edges and walks as counts."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import psdvec
from psdvec import Cooccurrence, Vocabulary, count_walks
from psdvec.counts.graphs import _plan, draw_walks
from psdvec.counts.matrix import UNIT, Tally, load_counts, pair_weights
from psdvec.errors import InputError
from tests.reference import graphs as reference

TWO_TRIANGLES = [("a", "b"), ("b", "c"), ("c", "a", 2), ("x", "y"), ("y", "z"), ("z", "x")]


def dense(counts, names):
    places = [counts.vocabulary.ids[name] for name in names]
    return counts.to_matrix().toarray()[np.ix_(places, places)]


@st.composite
def matrices(draw):
    n = draw(st.integers(1, 6))
    cells = draw(st.lists(st.integers(0, 40).map(lambda k: k / 8), min_size=n * n, max_size=n * n))
    return np.array(cells).reshape(n, n)


@given(matrices())
def test_a_matrix_comes_back_as_it_went_in(matrix):
    names = [f"n{i}" for i in range(len(matrix))]
    if not matrix.any():
        with pytest.raises(InputError, match="no weight above 0"):
            Cooccurrence.from_matrix(matrix, names)
        return
    counts = Cooccurrence.from_matrix(matrix, names)
    kept = [i for i in range(len(matrix)) if matrix[i].any() or matrix[:, i].any()]
    np.testing.assert_array_equal(dense(counts, [names[i] for i in kept]), matrix[np.ix_(kept, kept)])
    assert set(counts.vocabulary) == {names[i] for i in kept}
    assert (np.diff(counts.vocabulary.counts) <= 0).all()


def test_weights_are_rounded_to_the_unit():
    counts = Cooccurrence.from_matrix([[0, 1 / 3], [np.pi, 0]], ["a", "b"])
    assert sorted(counts.values.tolist()) == [UNIT // 3, round(np.pi * UNIT)]


def test_saved_counts_of_a_matrix_are_like_any_others(tmp_path):
    counts = Cooccurrence.from_matrix(sparse.csr_matrix([[1, 2], [3, 0]]), [10, 20])
    counts.save(tmp_path / "counts")
    assert load_counts(tmp_path / "counts").row(20) == {10: 3.0}


@pytest.mark.parametrize("matrix", [[[1, 2], [0, 3]], [[1, 0], [2, 3]], [[1, 2], [2, 3]]])
def test_a_triangle_is_mirrored(matrix):
    counts = Cooccurrence.from_matrix(matrix, ["a", "b"], symmetric=True)
    assert dense(counts, ["a", "b"]).tolist() == [[1, 2], [2, 3]]


def test_edges_count_in_both_directions_unless_they_are_directed():
    both, one = (
        Cooccurrence.from_edges([("a", "b"), ("a", "b", 2), ("b", "b")], directed=d) for d in (False, True)
    )
    assert dense(both, "ab").tolist() == [[0, 3], [3, 1]]
    assert dense(one, "ab").tolist() == [[0, 3], [0, 1]]


@pytest.mark.parametrize(
    "text",
    [
        "a b\nb c 2.5\n",
        "a,b\nb,c,2.5\n",
        "# weights\n\na\tb\r\nb\tc\t2.5",
        "source,target,weight\na,b,1\nb,c,2.5\n",
    ],
)
def test_a_file_of_edges_in_any_spelling(tmp_path, text):
    (tmp_path / "graph.edges").write_text(text)
    counts = Cooccurrence.from_edges(tmp_path / "graph.edges")
    assert dense(counts, "abc").tolist() == [[0, 1, 0], [1, 0, 2.5], [0, 2.5, 0]]
    assert counts.sources == ({"name": "graph.edges"},)


def test_a_name_may_hold_blanks_between_tabs(tmp_path):
    (tmp_path / "graph.tsv").write_text("New York\tLos Angeles\n")
    assert set(Cooccurrence.from_edges(tmp_path / "graph.tsv").vocabulary) == {"New York", "Los Angeles"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a b\nc\n", "line 2 is 'c'; write two names"),
        ("a b c d\n", "with blanks between them"),
        ("a,b,much\n", "line 1 has the weight 'much'; write a number"),
        ("a b -1\n", "line 1 has the weight -1.0; give 0 or more"),
        ("a b nan\n", "has the weight nan"),
        ("# nothing\n", "there is no edge"),
    ],
)
def test_a_bad_line_is_named(tmp_path, text, said):
    (tmp_path / "graph").write_text(text)
    with pytest.raises(InputError, match=said):
        Cooccurrence.from_edges(tmp_path / "graph")


def test_tables_and_graphs_of_others():
    table = {"source": ["a", "b"], "target": ["b", "c"], "weight": [1, 2.5]}
    wanted = dense(Cooccurrence.from_edges([("a", "b"), ("b", "c", 2.5)]), "abc").tolist()

    class Frame(dict):
        columns = property(lambda self: list(self))

    arrow = Frame({name: SimpleNamespace(to_pylist=lambda held=held: held) for name, held in table.items()})
    graph = SimpleNamespace(
        nodes=["a", "b", "c", "alone"],
        edges=lambda *, data, default: [("a", "b", default), ("b", "c", 2.5)],
    )
    for given_edges in (Frame(table), arrow, graph):
        assert dense(Cooccurrence.from_edges(given_edges), "abc").tolist() == wanted
    with pytest.raises(InputError, match="no column 'target' \\(it has: source, weight\\)"):
        Cooccurrence.from_edges(Frame(source=["a"], weight=[1]))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: Cooccurrence.from_matrix(np.ones((2, 3)), "ab"), "shape"),
        (lambda: Cooccurrence.from_matrix(np.eye(2), ["a"]), "2 rows, and there are 1 names"),
        (lambda: Cooccurrence.from_matrix(np.eye(2), ["a", "a"]), "'a' is there twice"),
        (lambda: Cooccurrence.from_matrix(np.eye(2), ["a", ""]), "a key is empty"),
        (lambda: Cooccurrence.from_matrix(np.eye(2), ["a", 1.5]), "of type float"),
        (lambda: Cooccurrence.from_matrix([[-1.0]], ["a"]), "a weight is -1.0"),
        (lambda: Cooccurrence.from_matrix([[np.nan]], ["a"]), "a weight is nan"),
        (lambda: Cooccurrence.from_matrix([[1j]], ["a"]), "real numbers"),
        (lambda: Cooccurrence.from_matrix([[1e-9]], ["a"]), "smallest weight above 0 is 1e-09.*multiply all by"),
        (lambda: Cooccurrence.from_matrix([[1e300]], ["a"]), "divide all weights by"),
        (lambda: Cooccurrence.from_matrix([[0, 1], [2, 0]], "ab", symmetric=True), "neither symmetric nor a triangle"),
        (lambda: Cooccurrence.from_matrix("x", ["a"]), "no matrix"),
        (lambda: Cooccurrence.from_edges([("a",)]), "edge 0 is"),
        (lambda: Cooccurrence.from_edges(["ab", "abc"]), "edge 1"),
        (lambda: Cooccurrence.from_edges([("a", "b", "c")]), "two names and a weight"),
        (lambda: Cooccurrence.from_edges({"a": "b"}), "holds no edges"),
        (lambda: Cooccurrence.from_edges(3), "holds no edges"),
        (lambda: count_walks(TWO_TRIANGLES, nodes=["q"]), "'q' has no edge"),
        (lambda: count_walks(TWO_TRIANGLES, nodes=[]), "no node was named"),
        (lambda: count_walks(TWO_TRIANGLES, directed=True, nodes=["a"]), "have directions"),
        (lambda: count_walks([("a", "b", 0), ("b", "c", 0)]), "no weight above 0"),
        (lambda: count_walks(TWO_TRIANGLES, walks=0), "walks is 0"),
        (lambda: psdvec.fit(sparse.csr_matrix(np.eye(3))), "Cooccurrence.from_matrix"),
        (lambda: psdvec.fit(count_walks(TWO_TRIANGLES, nodes=["a"])), "some nodes only"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(call, said):
    with pytest.raises(InputError, match=said):
        call()


@pytest.mark.parametrize(
    ("values", "parameters"), [(np.ones(1), {"unit": UNIT}), (np.ones(1, np.int64), {}), (np.ones(1), {})]
)
def test_counts_made_by_hand_must_say_their_unit(values, parameters):
    words = Vocabulary(("a",), np.array([1]))
    with pytest.raises(InputError, match=r"units of 1/720720.*from_matrix"):
        Cooccurrence(words, np.array([0, 1]), np.array([0], np.int32), values, parameters, Tally())


# Walks.


@st.composite
def edge_lists(draw):
    node = st.integers(0, 7)
    weight = st.integers(1, 24).map(lambda k: k / 4)
    return draw(st.lists(st.tuples(node, node, weight), min_size=1, max_size=20))


@given(edge_lists(), st.booleans(), st.sampled_from(["flat", "harmonic"]))
def test_walks_in_closed_form_are_powers_of_the_step(edges, directed, weighting):
    """Loops, several components, nodes that no edge leaves: all are cases of the equation."""
    graph = Cooccurrence.from_edges(edges, directed=directed)
    names = graph.vocabulary.words
    counts = count_walks(edges, directed=directed, window=4, weighting=weighting, walks=10, quiet=True)
    weights = pair_weights(4, weighting) / UNIT
    np.testing.assert_allclose(
        dense(counts, names), reference.walk_counts(dense(graph, names), weights, 10), atol=2 / UNIT
    )


def test_walks_are_the_same_for_any_number_of_threads():
    edges = np.random.default_rng(0).integers(0, 60, (300, 2)).tolist()
    for exact in (True, False):
        one, four = (
            count_walks(edges, exact=exact, walks=50, workers=workers, quiet=True) for workers in (1, 4)
        )
        for name in ("indptr", "indices", "values"):
            np.testing.assert_array_equal(getattr(one, name), getattr(four, name))
    other = count_walks(edges, exact=False, walks=50, seed=1, quiet=True)
    assert other.values.size != one.values.size or (other.values != one.values).any()


@given(edge_lists(), st.booleans(), st.integers(0, 2**32 - 1))
def test_drawn_walks_go_as_their_slow_twin_does(edges, directed, seed):
    graph = Cooccurrence.from_edges(edges, directed=directed)
    weights = pair_weights(3, "harmonic")
    walking = _plan(graph, weights, walks=5, seed=seed)
    A = dense(graph, walking.vocabulary.words)
    degrees = A.sum(axis=1, keepdims=True)
    P = A / np.where(degrees > 0, degrees, 1)
    for node in range(len(A)):
        visits = np.zeros(len(A), np.int64)
        met = draw_walks(
            walking.indptr, walking.indices, walking.sums, node, 7, weights, np.uint64(seed), visits
        )
        wanted = reference.drawn_visits(P, node, 7, weights.tolist(), seed)
        assert {int(i): int(visits[i]) for i in met} == dict(wanted)


def test_drawn_walks_tend_to_the_closed_form():
    exact, drawn = (
        count_walks(TWO_TRIANGLES, window=3, walks=20_000, exact=exact, quiet=True) for exact in (True, False)
    )
    names = exact.vocabulary.words
    np.testing.assert_allclose(dense(drawn, names), dense(exact, names), rtol=0.05, atol=10)


def test_walks_are_drawn_where_the_exact_counts_have_no_room():
    said = []
    progress = SimpleNamespace(say=said.append, stage=psdvec.progress.SilentProgress().stage)
    for memory in ("10", "1M"):
        count_walks(TWO_TRIANGLES, memory=memory, progress=progress)
    assert said == [
        "the exact counts take up to 432 B, and 10 B may be used: walks are drawn, whose counts take up to 432 B, "
        "or less if fewer are drawn",
        "the exact counts take at most 432 B: computed in closed form",
    ]


def test_rows_of_some_nodes_are_those_of_all(tmp_path):
    rng = np.random.default_rng(0)
    edges = [*rng.integers(0, 40, (200, 2)).tolist()]
    everything = count_walks(edges, quiet=True, walks=1000)
    part = count_walks(edges, quiet=True, nodes=[3, 5], output=tmp_path / "part")
    names = everything.vocabulary.words
    assert part.vocabulary == everything.vocabulary
    a, b = dense(everything, names), dense(part, names)
    chosen = [names.index(3), names.index(5)]
    np.testing.assert_array_equal(b[chosen], a[chosen])
    np.testing.assert_allclose(b[:, chosen], a[:, chosen], atol=2 / UNIT)
    assert not np.delete(np.delete(b, chosen, 0), chosen, 1).any()


def test_nodes_of_two_communities_come_apart_and_letters_say_nothing():
    rng = np.random.default_rng(0)
    edges = [
        (f"item-{a + 50 * c}", f"item-{b + 50 * c}") for c in (0, 1) for a, b in rng.integers(0, 50, (400, 2))
    ]
    edges += [("item-0", "item-50"), ("item-1", "item-51")]
    model = psdvec.fit(count_walks(edges, quiet=True), dim=8, recipe="graph", quiet=True)
    assert model.subwords is None
    near = [int(name.partition("-")[2]) for name, _ in model.most_similar("item-7", topn=10)]
    assert max(near) < 50
    plain = psdvec.fit(Cooccurrence.from_edges(edges), dim=8, quiet=True)
    assert plain.subwords is None
    assert psdvec.fit(Cooccurrence.from_edges(edges), dim=8, changes={"spelling": 0.7}, quiet=True).subwords


def test_a_new_node_is_placed_from_its_edges_alone():
    rng = np.random.default_rng(0)
    old = [(a + 50 * c, b + 50 * c) for c in (0, 1) for a, b in rng.integers(0, 50, (400, 2))] + [(0, 50)]
    new = [(900, 51), (900, 52), (900, 60)]
    model = psdvec.fit(count_walks(old, quiet=True), dim=8, recipe="graph", quiet=True)
    walks = psdvec.extend(model, count_walks([*old, *new], nodes=[900], quiet=True), quiet=True)
    assert walks.learned == (900,)
    assert min(name for name, _ in walks.most_similar(900, topn=10)) >= 50
    assert 0 < walks.deviations[-1] < 1
    everything = psdvec.extend(model, count_walks([*old, *new], quiet=True), words=[900], quiet=True)
    np.testing.assert_allclose(walks[900], everything[900], atol=0.01)
    plain = psdvec.fit(Cooccurrence.from_edges(old), dim=8, recipe="graph", quiet=True)
    placed = psdvec.extend(plain, Cooccurrence.from_edges(new), unigrams="model", min_contexts=1, quiet=True)
    assert min(name for name, _ in placed.most_similar(900, topn=10)) >= 50
