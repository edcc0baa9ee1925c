"""Matrices and graphs on the command line."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import psdvec
from psdvec.counts.matrix import load_counts

EDGES = "a b\nb c 2\nc a\nc d\nd e\ne f\nf d\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "graph.edges").write_text(EDGES)
    (tmp_path / "names.txt").write_text("tea\nmilk\n")
    sparse.save_npz(tmp_path / "m.npz", sparse.csr_matrix([[0, 2.5], [1, 0]]))
    return tmp_path


def test_edges_become_counts(run, folder):
    code, output, _ = run("count", folder / "graph.edges", "--format", "edges", "-o", folder / "counts")
    assert (code, output.splitlines()[0]) == (0, f"6 names and 14 pairs written to {folder / 'counts'}")
    assert load_counts(folder / "counts").row("b") == {"c": 2.0, "a": 1.0}
    run("count", folder / "graph.edges", "--format", "edges", "--directed", "-o", folder / "directed")
    assert load_counts(folder / "directed").row("b") == {"c": 2.0}


def test_a_matrix_becomes_counts(run, folder):
    how = ("--from-matrix", folder / "m.npz", "--names", folder / "names.txt")
    assert run("count", *how, "-o", folder / "counts")[0] == 0
    assert load_counts(folder / "counts").row("tea") == {"milk": 2.5}


def test_walks_are_fitted_and_a_new_node_is_placed(run, folder):
    assert run("walks", folder / "graph.edges", "-o", folder / "walks", "--window", "3")[0] == 0
    assert run("fit", folder / "walks", "-o", folder / "model", "--recipe", "graph", "--dim", "2")[0] == 0
    (folder / "graph.edges").write_text(EDGES + "new a\nnew b\n")
    how = ("--format", "edges", "--min-contexts", "1", "-o", folder / "larger")
    code, output, errors = run("extend", folder / "model", folder / "graph.edges", *how)
    assert code == 0, errors
    assert "1 nodes learned" in output
    assert {name for name, _ in psdvec.load(folder / "larger").most_similar("new", topn=3)} == {"a", "b", "c"}


def test_walks_through_counts_are_those_through_their_edges(run, folder):
    run("count", folder / "graph.edges", "--format", "edges", "-o", folder / "counts")
    for place in ("graph.edges", "counts"):
        assert run("walks", folder / place, "-o", folder / f"walks of {place}", "--sample")[0] == 0
    one, two = (load_counts(folder / f"walks of {place}") for place in ("graph.edges", "counts"))
    np.testing.assert_array_equal(one.values, two.values)


def test_a_model_of_edges_takes_new_edges(run, folder):
    run("count", folder / "graph.edges", "--format", "edges", "-o", folder / "counts")
    run("fit", folder / "counts", "-o", folder / "model", "--recipe", "graph", "--dim", "2")
    (folder / "new.edges").write_text("new a\nnew b\n")
    how = ("--format", "edges", "--min-contexts", "1", "--unigrams", "model", "-o", folder / "larger")
    assert "1 nodes learned" in run("extend", folder / "model", folder / "new.edges", *how)[1]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (["count", "graph.edges", "--format", "graph"], "choose text or edges"),
        (["extend", "model", "graph.edges", "--format", "text"], "choose counts or edges"),
        (["count"], "nothing was named to count"),
        (["count", "graph.edges", "--format", "edges", "--window", "3"], "--window is about text"),
        (["count", "graph.edges", "names.txt", "--format", "edges"], "name one"),
        (["count", "graph.edges", "--directed"], "--directed belongs to --format edges"),
        (["count", "graph.edges", "--names", "names.txt"], "--names belongs to --from-matrix"),
        (["count", "--from-matrix", "m.npz"], "give --names FILE"),
        (["count", "graph.edges", "--from-matrix", "m.npz", "--names", "names.txt"], "leave out one of them"),
        (["count", "--from-matrix", "names.txt", "--names", "names.txt"], "is no sparse matrix"),
        (["count", "--from-matrix", "nowhere.npz", "--names", "names.txt"], "nowhere.npz"),
        (["walks", "names.txt"], "line 1 is 'tea'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(run, folder, monkeypatch, call, said):
    monkeypatch.chdir(folder)
    code, _, errors = run(*call, "-o", "out")
    assert code == 1
    assert said in errors
    assert not (folder / "out").exists()
