"""Maps of the explorer: drawn in another process, kept, found again, and described as the page needs them."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import numpy as np
import pytest

from psdvec.explore import maps
from psdvec.explore import maps as jobs
from psdvec.explore.api import Api
from psdvec.explore.maps import DrawingJob
from psdvec.explore.models import open_model
from psdvec.maps.drawing import FOLDER, LAYOUTS, MappedWords, draw, take_words
from psdvec.vectors.embeddings import Embeddings
from tests.explore.clients import client_of
from tests.explore.conftest import COMMON, TOPICS


@pytest.fixture
def own(library, tmp_path) -> Path:
    """A model without a map."""
    shutil.copytree(library.model, tmp_path / "model", ignore=shutil.ignore_patterns(FOLDER))
    return tmp_path / "model"


def mapped_of(words: int = 80) -> MappedWords:
    vectors = np.random.default_rng(0).normal(size=(words, 10)).astype(np.float32)
    return take_words(Embeddings([f"w{i}" for i in range(words)], vectors))


def ask(client, **parameters):
    return client.get("/api/map", params=parameters).json()


def wait(client, **parameters):
    end = time.monotonic() + 600
    while (found := ask(client, **parameters))["state"] == "running":
        assert 0 <= found["progress"] <= 1
        assert time.monotonic() < end
        time.sleep(0.1)
    return found


def test_both_layouts_are_offered_the_better_one_first(api):
    assert client_of(api).get("/api/info").json()["layouts"] == ["neighbours", "pca"] == list(LAYOUTS)


def test_a_map_is_drawn_when_asked_for_kept_and_there_at_once_the_next_time(own):
    api = Api([open_model(own)])
    client = client_of(api)
    assert ask(client)["state"] == "absent"
    assert client.post("/api/map", json={"layout": "neighbours"}).json() == {"state": "running"}
    found = wait(client, layout="neighbours")
    assert (own / FOLDER).is_dir()
    assert found["kept"] == "in the model's folder"
    pca = ask(client, layout="pca")
    assert found["words"] == pca["words"]
    assert found["x"] != pca["x"]
    text = "the guitar and the zither with piano and violin in concert"
    learned = client.post("/api/extend", json={"text": text, "word": "zither"}).json()["learned"]
    assert set(learned[0]["places"]) == {"pca", "neighbours"}
    api.close()
    assert ask(client_of(Api([open_model(own)])), layout="neighbours") == found


def test_a_map_says_where_it_is_kept_if_not_with_the_model(own, cache, monkeypatch, tmp_path):
    (own / FOLDER).write_text("in the way, as in a folder that cannot be written to")
    for folder, where in (("cache", "in the user's cache folder"), ("own/meta.json", "in memory, until the")):
        (tmp_path / "own").mkdir(exist_ok=True)
        (tmp_path / "own" / "meta.json").write_text("a file where a folder would have to be")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / folder))
        api = Api([open_model(own)])
        client = client_of(api)
        client.post("/api/map", json={"layout": "neighbours"})
        assert wait(client)["kept"].startswith(where)


def test_a_map_of_another_number_of_words_is_not_shown(own):
    api = Api([open_model(own)])
    client = client_of(api)
    client.post("/api/map", json={"layout": "neighbours"})
    wait(client)
    assert ask(client_of(Api([open_model(own, map_words=20)])))["state"] == "absent"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_list_of_a_map_is_of_one_length_and_every_region_has_its_words(api, models, layout):
    client = client_of(api)
    client.post("/api/map", json={"layout": layout})
    found = wait(client, layout=layout)
    n = len(models[0].embeddings)
    assert found["layout"] == layout
    assert {len(found[name]) for name in ("words", "x", "y", "counts", "clusters", "fine")} == {n}
    assert 0 <= found["fidelity"] <= 1
    for level, name in ((0, "clusters"), (1, "fine")):
        regions = [one for one in found["regions"] if one["level"] == level]
        assert [one["id"] for one in regions] == list(range(len(regions)))
        assert [one["size"] for one in regions] == np.bincount(found[name]).tolist()
        for one in regions:
            members = {
                word for word, label in zip(found["words"], found[name], strict=True) if label == one["id"]
            }
            assert 1 <= len(one["words"]) <= 3
            assert set(one["words"]) <= members
            assert min(found["x"]) <= one["x"] <= max(found["x"])
            assert min(found["y"]) <= one["y"] <= max(found["y"])


def test_places_are_rounded_to_what_a_picture_needs(models):
    explored = models[0]
    drawing = draw(explored.mapped.units, layout="pca")
    found = maps.describe_drawing(drawing, explored)
    width = np.ptp(drawing.places, axis=0).max()
    assert np.abs(np.array(found["x"]) - drawing.places[:, 0]).max() < width / 10_000
    assert max(len(str(number)) for number in found["x"]) <= 9


def test_words_of_one_topic_are_near_each_other_on_the_map(api):
    client = client_of(api)
    client.post("/api/map", json={"layout": "neighbours"})
    found = wait(client)
    places = {w: np.array(p) for w, *p in zip(found["words"], found["x"], found["y"], strict=True)}
    topics = [words.split() for words in TOPICS.values()]
    for number, words in enumerate(topics):
        others = [word for k, other in enumerate(topics) if k != number for word in other]
        near, far = (
            np.mean([np.linalg.norm(places[a] - places[b]) for a in words for b in some if a != b])
            for some in (words, others)
        )
        assert near < far


# What words have in common


def test_words_of_a_topic_share_that_topic(api):
    client = client_of(api)
    words = ask(client, layout="pca")["words"]
    music = TOPICS["music"].split()
    ids = [words.index(word) for word in [*music[:5], COMMON.split()[0]]]
    found = client.post("/api/shared", json={"ids": ids, "topn": 5}).json()
    assert found["size"] == 6
    assert found["words"][-1]["word"] == COMMON.split()[0]
    scores = [one["score"] for one in found["words"]]
    assert scores == sorted(scores, reverse=True)
    assert {one["word"] for one in found["shared"]} <= set(music)
    assert len(found["shared"]) == 5


def test_what_the_whole_map_shares_is_still_an_answer(api, models):
    n = len(models[0].embeddings)
    found = client_of(api).post("/api/shared", json={"ids": list(range(n)), "topn": 2}).json()
    assert (found["size"], len(found["words"]), len(found["shared"])) == (n, 10, 2)


@pytest.mark.parametrize("ids", [None, [], "1", [True], [-1], [10**9], [0.5], ["a"], list(range(5001)), {}])
def test_positions_that_are_not_on_the_map_are_refused_in_one_sentence(api, ids):
    reply = client_of(api).post("/api/shared", json={"ids": ids})
    assert reply.status_code == 400
    assert "'ids'" in reply.json()["error"]


# The other process


def test_a_job_reports_its_progress_and_gives_what_draw_gives(tmp_path, capsys):
    mapped = mapped_of()
    np.save(tmp_path / "units.npy", mapped.units)
    jobs.main(tmp_path)
    shares = [float(line) for line in capsys.readouterr().out.split()]
    assert shares == sorted(set(shares))
    assert shares[-1] == 1
    assert len(shares) > 50
    job = DrawingJob(mapped, tmp_path / "vectors.txt")
    job.wait(600)
    assert job.drawing.places.tobytes() == draw(mapped.units).places.tobytes()
    assert job.kept.name == mapped.identity[:32]


def test_a_job_can_be_stopped_and_leaves_nothing(tmp_path):
    job = DrawingJob(mapped_of(), tmp_path)
    folder = job._folder.name
    job.stop()
    assert job._process.returncode is not None
    assert job.drawing is None
    assert job.error == ""
    assert not Path(folder).exists()
    assert not list(tmp_path.iterdir())


def test_a_job_that_fails_says_so(own, monkeypatch):
    monkeypatch.setattr(jobs, "_UNITS", "nothing.npy")
    api = Api([open_model(own)])
    client = client_of(api)
    client.post("/api/map", json={"layout": "neighbours"})
    api._maps[0]._job.wait(600)
    reply = client.get("/api/map", params={"layout": "neighbours"})
    assert reply.status_code == 400
    assert "the map was not finished: " in reply.json()["error"]
    assert "use the layout pca" in reply.json()["error"]
