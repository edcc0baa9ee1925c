"""The workers of a cluster hold the pairs of a fit, and the model is the same bytes, whatever is lost on the way."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from psdvec.cluster import client as cluster_client
from psdvec.cluster import fitting
from psdvec.cluster.fitting import Board, ClusterPairs, deal, sees
from psdvec.counts.matrix import load_counts
from psdvec.errors import ClusterError, InputError
from psdvec.formats import load
from psdvec.resources import arithmetic
from psdvec.solver import rounds as rounds_module
from psdvec.solver.devices import cpu_pairs
from psdvec.solver.devices.cpu_pairs import Extent
from psdvec.solver.extend import extend
from psdvec.solver.fit import fit
from psdvec.solver.rounds import write_round
from psdvec.solver.train import train
from tests.cluster.clusters import PATIENCE, scheduler_and_worker, scheduler_and_workers
from tests.helpers import Watched, contents
from tests.toy import drawn_counts

pytestmark = pytest.mark.slow

distributed = pytest.importorskip(
    "distributed", reason="distributed is not installed; run pip install 'psdvec[distributed]'"
)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Counts in a folder, how to fit them, and the bytes of the model that one machine makes of them."""
    folder = tmp_path_factory.mktemp("fitted")
    drawn_counts(words=150, sentences=900).save(folder / "counts")
    options = {"dim": 6, "changes": {"rounds": 4, "head": 20}}
    fit(folder / "counts", **options, output=folder / "model")
    return folder / "counts", options, contents(folder / "model")


@pytest.fixture
def small_blocks(monkeypatch):
    """Cut small problems into several blocks; the places of the blocks go to the workers, which need not know."""
    monkeypatch.setattr(cpu_pairs, "TILE", 16)


@pytest.fixture
def far(monkeypatch):
    """Let no worker see memory of this process, as if all were on other machines."""
    monkeypatch.setattr(ClusterPairs, "_see_boards", lambda self: set())


@pytest.mark.parametrize("where", ["near", "far"])
def test_a_fit_is_the_same_bytes_on_a_cluster(client, fitted, tmp_path, small_blocks, where, request):
    counts, options, _ = fitted
    fit(counts, **options, output=tmp_path / "alone")
    if where == "far":
        request.getfixturevalue("far")
    fit(counts, **options, output=tmp_path / "together", client=client)
    fit(counts, **options, memory="1M", output=tmp_path / "from disk", client=client)
    alone = contents(tmp_path / "alone")
    assert contents(tmp_path / "together") == alone
    assert contents(tmp_path / "from disk") == alone


def test_a_cluster_chooses_the_same_dimensions(client, fitted, tmp_path):
    counts, _, _ = fitted
    fit(counts, dim="auto", output=tmp_path / "alone")
    fit(counts, dim="auto", memory="1M", output=tmp_path / "together", client=client)
    assert contents(tmp_path / "together") == contents(tmp_path / "alone")


@pytest.mark.parametrize("dying", [1, 3, 9, 24])
def test_a_worker_killed_in_a_round_costs_nothing_but_time(
    client, fitted, tmp_path, small_blocks, dying, monkeypatch
):
    counts, options, _ = fitted
    client.wait_for_workers(2, timeout=PATIENCE)  # the one that was killed before may still be starting
    fit(counts, **options, output=tmp_path / "alone")
    calls = []
    submit = ClusterPairs._submit

    def submit_and_kill(self, function, number, **more):
        calls.append(number)
        if len(calls) == dying:
            os.kill(client.run(os.getpid, workers=[self._owners[number]]).popitem()[1], signal.SIGKILL)
        return submit(self, function, number, **more)

    monkeypatch.setattr(ClusterPairs, "_submit", submit_and_kill)
    fit(counts, **options, output=tmp_path / "together", client=client)
    assert len(calls) > dying
    assert contents(tmp_path / "together") == contents(tmp_path / "alone")


def test_whoever_joins_while_a_matrix_is_posted_reads_it_as_it_is(
    client, fitted, tmp_path, small_blocks, monkeypatch
):
    counts, options, _ = fitted
    fit(counts, **options, output=tmp_path / "alone")
    submit = ClusterPairs._submit

    def submit_when_joined(self, function, number, **more):
        if number:  # the matrix was posted for the first share
            self._near = self._see_boards()
        return submit(self, function, number, **more)

    monkeypatch.setattr(ClusterPairs, "_submit", submit_when_joined)
    fit(counts, **options, output=tmp_path / "together", client=client)
    assert contents(tmp_path / "together") == contents(tmp_path / "alone")


def test_a_worker_that_nobody_starts_again_costs_nothing_but_time(
    fitted, tmp_path, monkeypatch, small_blocks, far
):
    """It dies just when X is handed out, and is not missed before."""
    counts, options, _ = fitted
    fit(counts, **options, output=tmp_path / "alone")
    handed, hand_out = [], fitting.hand_out
    with (
        scheduler_and_workers(tmp_path, workers=2) as ((_, _, victim), address),
        distributed.Client(address, timeout=PATIENCE) as client,
    ):
        client.wait_for_workers(2, timeout=PATIENCE)

        def hand_out_and_kill(client, value):
            handed.append(value)
            if len(handed) == 3:
                victim.kill()
            return hand_out(client, value)

        monkeypatch.setattr(fitting, "hand_out", hand_out_and_kill)
        fit(counts, **options, output=tmp_path / "together", client=client)
    assert len(handed) > 3
    assert contents(tmp_path / "together") == contents(tmp_path / "alone")


def test_workers_that_are_not_alike_are_refused_or_allowed(client, fitted, tmp_path, monkeypatch):
    counts, options, _ = fitted
    ours = {**arithmetic(), "blas": "another BLAS"}
    monkeypatch.setattr(cluster_client, "arithmetic", lambda: ours)
    with pytest.raises(ClusterError, match=r"its blas is .*, not 'another BLAS'; .* allow_unlike=True"):
        fit(counts, **options, output=tmp_path / "model", client=client)
    assert not (tmp_path / "model").exists()
    model = fit(counts, **options, output=tmp_path / "model", client=client, allow_unlike=True)
    assert model.arithmetic["others"] == [{"blas": arithmetic()["blas"]}]
    assert load(tmp_path / "model").arithmetic == model.arithmetic
    extending = {"min_contexts": 1, "refresh": model.words[:2], "client": client}
    with pytest.raises(ClusterError, match="allow_unlike=True"):
        extend(tmp_path / "model", counts, **extending, output=tmp_path / "larger")
    larger = extend(tmp_path / "model", counts, **extending, output=tmp_path / "larger", allow_unlike=True)
    assert larger.arithmetic == model.arithmetic


def test_a_worker_that_joins_a_fit_is_checked_before_it_gets_a_share(monkeypatch):
    pairs = object.__new__(ClusterPairs)
    pairs._client, pairs._extents, pairs._checked = None, [[], []], set()
    pairs._owners = {0: "tcp://a", 1: "tcp://b"}
    pairs._checked |= set(pairs._owners.values())
    asked = []

    def check():
        asked.append("all")
        return {"tcp://a": 1, "tcp://new": 1}

    pairs._check = check
    monkeypatch.setattr(ClusterPairs, "_see_boards", lambda self: {"tcp://new"})
    monkeypatch.setattr(fitting, "wait_for_workers", lambda client, patience: None)
    monkeypatch.setattr(fitting, "workers_of", lambda client: {"tcp://a": 1, "tcp://b": 1, "tcp://new": 1})
    pairs._assign()
    assert not asked, "nothing need be given to the new one"
    monkeypatch.setattr(fitting, "workers_of", lambda client: {"tcp://a": 1, "tcp://new": 1})
    pairs._assign()
    assert asked == ["all"]
    assert pairs._owners == {0: "tcp://a", 1: "tcp://new"}
    assert pairs._near == {"tcp://new"}


def test_every_share_has_about_as_much_of_frequent_words_as_of_rare_ones():
    extents = [Extent(lo, lo + 1, 0, 1000 - lo, 1000) for lo in range(1000)]
    for most in (1, 3, 8):
        shares = deal(extents, most)
        assert sorted(extent for share in shares for extent in share) == extents
        for words in (100, 1000):
            loads = [sum(one.most_bytes for one in share if one.lo < words) for share in shares]
            assert max(loads) <= 1.1 * min(loads)
    assert deal(extents[:2], 3) == [extents[:1], extents[1:2]]


def test_what_is_posted_is_read_by_those_who_find_it():
    board, first, second = Board(), np.ones((2, 3), np.float32), np.full((4, 5), 2, np.float32)
    assert np.array_equal(board.post(first).own(), first)
    posted = board.post(second)
    assert np.array_equal(posted.own(), second)
    assert sees(posted, None)
    assert not sees(replace(posted, name=Path("another")), None)
    assert not sees(replace(posted, path=Path("/nowhere")), None)


def test_a_fit_whose_scheduler_is_lost_says_so_and_continues(fitted, tmp_path, monkeypatch, all_rounds_kept):
    counts, options, whole = fitted
    with scheduler_and_worker(tmp_path) as (scheduler, address), distributed.Client(address) as lost:

        def write_and_lose(path, state):
            write_round(path, state)
            if state.number == 2:
                scheduler.kill()
                scheduler.wait()

        monkeypatch.setattr(rounds_module, "write_round", write_and_lose)
        with pytest.raises(ClusterError, match="was lost; finished work is kept: run it again to continue"):
            fit(counts, **options, output=tmp_path / "model", client=lost)
    monkeypatch.setattr(rounds_module, "write_round", write_round)
    fit(counts, **options, output=tmp_path / "model", progress=(watched := Watched()))
    assert watched.rounds == [3, 4]
    assert contents(tmp_path / "model") == whole


def test_a_fit_that_a_cluster_cannot_do_is_refused(client, fitted, tmp_path):
    counts, _, _ = fitted
    with pytest.raises(InputError, match="give the folder, not the counts"):
        fit(load_counts(counts), client=client)
    with pytest.raises(InputError, match="a cluster fits on CPUs"):
        fit(counts, device="cuda", client=client)
    with pytest.raises(InputError, match="give output or keep"):
        train(["a b a b"], min_count=1, client=client)


def test_a_whole_pipeline_runs_on_a_cluster(client, tmp_path, run):
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("the cat sat on the mat\nthe dog sat on the log\n" * 50)
    for name, where in (("alone", []), ("together", ["--scheduler", client.scheduler.address])):
        code, _, said = run("train", corpus, "-o", tmp_path / name, "--min-count", 1, "--dim", 4, *where)
        assert code == 0, said
    assert contents(tmp_path / "together") == contents(tmp_path / "alone")
