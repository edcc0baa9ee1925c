"""The map is what PCA says, a word's place follows from its vector, and slow layouts run in the background."""

from __future__ import annotations

import importlib.util
import io
import time
from pathlib import Path

import numpy as np
import pytest

from psdvec.explore import projections
from psdvec.explore.api import Api
from psdvec.explore.map import find_clusters, make_map, place
from psdvec.explore.projections import LayoutJob, available_layouts, compute
from psdvec.vectors.embeddings import Embeddings
from tests.explore.clients import client_of


@pytest.fixture
def drawn() -> Embeddings:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(80, 10)).astype(np.float32)
    return Embeddings([f"w{i}" for i in range(80)], vectors, rng.integers(1, 1000, 80))


def test_places_are_the_two_leading_components(drawn):
    found = make_map(drawn, limit=80)
    units = found.units - found.units.mean(axis=0)
    _, lengths, directions = np.linalg.svd(units, full_matrices=False)
    np.testing.assert_allclose(np.abs(found.places), np.abs(units @ directions[:2].T), atol=1e-4)
    np.testing.assert_allclose((found.places**2).sum(axis=0), lengths[:2] ** 2, rtol=1e-4)


def test_the_map_holds_the_most_frequent_words_in_their_order(drawn):
    found = make_map(drawn, limit=10)
    counts = drawn.counts[found.ids]
    assert counts.tolist() == sorted(drawn.counts.tolist(), reverse=True)[:10]


def test_a_words_own_vector_belongs_where_the_word_stands(drawn):
    found = make_map(drawn, limit=80)
    for row, i in enumerate(found.ids[:20].tolist()):
        spot = place(found, found.places, 3 * drawn.vectors[i], by_axes=True)
        np.testing.assert_allclose(spot, found.places[row], atol=1e-5)


def test_without_axes_a_vector_belongs_amid_its_five_nearest(drawn):
    found = make_map(drawn, limit=80)
    places = np.arange(160, dtype=np.float32).reshape(80, 2)
    nearest = [
        found.ids.tolist().index(drawn.key_to_index[w]) for w, _ in drawn.most_similar([drawn["w3"]], topn=5)
    ]
    spot = place(found, places, drawn["w3"], by_axes=False)
    np.testing.assert_allclose(spot, places[nearest].mean(axis=0), rtol=1e-6)


def test_clusters_find_groups_that_are_there():
    rng = np.random.default_rng(0)
    centres = np.eye(4, 12)
    group = rng.integers(4, size=200)
    rows = (centres[group] + 0.05 * rng.normal(size=(200, 12))).astype(np.float32)
    labels = find_clusters(rows / np.linalg.norm(rows, axis=1, keepdims=True), 4)
    assert len({(int(a), int(b)) for a, b in zip(group, labels, strict=True)}) == 4
    sizes = np.bincount(labels).tolist()
    assert sizes == sorted(sizes, reverse=True)


def test_the_same_vectors_give_the_same_map(drawn):
    one, two = make_map(drawn, limit=80), make_map(drawn, limit=80)
    assert one.places.tobytes() == two.places.tobytes()
    assert one.clusters.tolist() == two.clusters.tolist()
    assert one.names == two.names


@pytest.mark.parametrize("vectors", [np.zeros((3, 4)), np.ones((5, 1)), np.eye(2), np.ones((1, 3))])
def test_degenerate_vectors_still_make_a_map(vectors):
    words = [f"w{i}" for i in range(len(vectors))]
    found = make_map(Embeddings(words, vectors.astype(np.float32)), limit=10)
    assert found.places.shape == (len(vectors), 2)
    assert np.isfinite(found.places).all()
    assert found.clusters.shape == (len(vectors),)


def test_every_list_of_a_drawn_map_is_of_one_length(api, models):
    found = client_of(api).get("/api/map").json()
    n = len(models[0].embeddings)
    assert {len(found[name]) for name in ("words", "x", "y", "counts", "clusters")} == {n}
    assert set(found["clusters"]) == set(range(len(found["cluster_names"])))


@pytest.mark.filterwarnings(
    "ignore:Tensorflow not installed:ImportWarning"
)  # umap-learn says so when imported
@pytest.mark.parametrize("name", list(projections.PACKAGES))
def test_a_layout_keeps_groups_together_and_reports_its_progress(name):
    if name not in available_layouts():
        pytest.skip(f"the package that computes {name} is not installed")
    rng = np.random.default_rng(0)
    group = np.arange(120) % 3
    rows = (np.eye(3, 20)[group] + 0.02 * rng.normal(size=(120, 20))).astype(np.float32)
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    out = io.StringIO()
    places = compute(name, units, out)
    shares = [float(line) for line in out.getvalue().split()]
    assert shares == sorted(shares)
    assert shares[-1] > 0.5
    middles = np.stack([places[group == k].mean(axis=0) for k in range(3)])
    nearest = np.linalg.norm(places[:, None] - middles, axis=2).argmin(axis=1)
    assert (nearest == group).mean() > 0.95


def test_a_layout_is_started_and_polled_until_it_is_done(api):
    if "tsne" not in available_layouts():
        pytest.skip("scikit-learn, which computes tsne, is not installed")
    client = client_of(api)
    assert client.get("/api/map", params={"layout": "tsne"}).json()["state"] == "absent"
    client.post("/api/map", json={"layout": "tsne"})
    end = time.monotonic() + 120
    while (found := client.get("/api/map", params={"layout": "tsne"}).json())["state"] == "running":
        assert 0 <= found["progress"] <= 1
        assert time.monotonic() < end
        time.sleep(0.1)
    pca = client.get("/api/map").json()
    assert found["words"] == pca["words"]
    assert found["x"] != pca["x"]
    text = "the guitar and the zither with piano and violin in concert"
    learned = client.post("/api/extend", json={"text": text, "word": "zither"}).json()["learned"]
    assert set(learned[0]["places"]) == {"pca", "tsne"}


def test_a_layout_can_be_stopped_and_leaves_nothing(drawn):
    job = LayoutJob("tsne", make_map(drawn, limit=80).units)
    folder = job._folder.name
    job.stop()
    assert job._process.returncode is not None
    assert job.places is None
    assert job.error == ""
    assert not Path(folder).exists()


def test_a_layout_that_fails_says_so(api, monkeypatch):
    job = LayoutJob("tsne", np.full((10, 3), np.nan, np.float32))
    job.wait(120)
    assert job.error.startswith("tsne did not finish: ")
    api._jobs[1, "tsne"] = job
    api.layouts = ["pca", "tsne"]
    reply = client_of(api).get("/api/map", params={"layout": "tsne"})
    assert reply.status_code == 400
    assert "use the layout pca" in reply.json()["error"]


def test_only_what_is_installed_is_offered(models, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    api = Api(models)
    assert client_of(api).get("/api/info").json()["layouts"] == ["pca"]
