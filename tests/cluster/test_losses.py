"""A worker that is lost while something is sent to all of them costs nothing but time."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from contextlib import nullcontext

import pytest

import psdvec
from psdvec.cluster import client as cluster_client
from psdvec.cluster.client import (
    Likeness,
    LostWorkError,
    ask_workers,
    check_workers,
    demand_arithmetic,
    hand_out,
    open_client,
    result_of,
)
from psdvec.errors import ClusterError
from psdvec.resources import arithmetic
from tests.cluster.clusters import LOST

pytestmark = pytest.mark.slow

pytest.importorskip(
    "distributed", reason="distributed is not installed; run pip install 'psdvec[distributed]'"
)


class LosingClient:
    """A client whose first attempts to reach the workers fail, because one has just been lost."""

    status, address = "running", "tcp://scheduler"

    def __init__(self, losses, answers=None):
        self.losses, self.answers, self.sent = losses, answers or {"tcp://worker": 7}, 0
        self.scheduler, self.there = self, [{"tcp://worker": 1}]

    def sync(self, function, *arguments, callback_timeout=None):
        return asyncio.run(function(*arguments))

    async def ncores(self):
        return self.there.pop(0) if len(self.there) > 1 else self.there[0]

    def _send(self, result):
        self.sent += 1
        if self.sent <= self.losses:
            raise OSError("Connection reset by peer")
        return result

    async def _scatter(self, value, *, hash):
        return self._send(("handed out", value))

    async def _run(self, function, *arguments, on_error):
        return self._send(self.answers)


@pytest.fixture(autouse=True)
def in_no_time(monkeypatch):
    monkeypatch.setattr(cluster_client, "_PAUSE", 0)
    monkeypatch.setattr(cluster_client, "_POLL", 0.001)


@pytest.fixture
def answering(monkeypatch):
    monkeypatch.setattr(cluster_client, "_answers", lambda client: True)


@pytest.mark.usefixtures("answering")
def test_what_a_lost_worker_did_not_get_is_sent_again():
    client = LosingClient(losses=2)
    assert hand_out(client, "setting") == ("handed out", "setting")
    assert client.sent == 3
    assert ask_workers(LosingClient(losses=1), print) == {"tcp://worker": 7}


@pytest.mark.usefixtures("answering")
def test_if_a_worker_is_lost_while_it_is_asked_the_others_are_asked_again(monkeypatch):
    client = LosingClient(losses=0)
    answers = iter([{"tcp://gone": OSError("closed"), "tcp://there": 4}, {}, {"tcp://there": 5}])

    async def run(*_, **__):
        return next(answers)

    monkeypatch.setattr(client, "_run", run)
    assert ask_workers(client, print) == {"tcp://there": 5}


@pytest.mark.usefixtures("answering")
def test_a_worker_that_cannot_answer_is_named(tmp_path):
    seen = tmp_path / "seen"
    seen.touch()
    client = LosingClient(losses=0, answers={"tcp://bare": ModuleNotFoundError("no module psdvec")})
    with pytest.raises(ClusterError, match="tcp://bare cannot do its part"):
        check_workers(client, seen)


@pytest.mark.usefixtures("answering")
def test_workers_that_are_lost_again_and_again_are_reported():
    with pytest.raises(LostWorkError, match="could not be handed out"):
        hand_out(LosingClient(losses=1000), "setting")


def test_a_scheduler_that_no_longer_answers_is_reported_at_once(monkeypatch):
    monkeypatch.setattr(cluster_client, "_answers", lambda client: False)
    client = LosingClient(losses=1000)
    with pytest.raises(ClusterError, match="was lost; finished work is kept"):
        hand_out(client, "setting")
    assert client.sent == 1


@pytest.mark.usefixtures("answering")
def test_what_never_comes_back_from_a_lost_worker_is_sent_to_the_others():
    client = LosingClient(losses=0)
    both, left = {"tcp://gone": 1, "tcp://worker": 1}, {"tcp://worker": 1}
    client.there = [both, both, both, left]

    async def scatter(value, *, hash):
        client.sent += 1
        if client.sent == 1:
            await asyncio.Event().wait()
        return "handed out", value

    client._scatter = scatter
    assert hand_out(client, "setting") == ("handed out", "setting")
    assert client.sent == 2


class Job:
    """A job that takes a while, or never ends; each look at it is a turn."""

    def __init__(self, client, turns, status="pending"):
        self.client, self.turns, self.status = client, turns, status

    async def _result(self):
        while self.turns:
            self.turns -= 1
            await asyncio.sleep(0.001)
        return "done"


@pytest.mark.usefixtures("answering")
def test_a_job_may_take_long_while_its_worker_is_there_and_is_lost_with_it():
    client = LosingClient(losses=0)
    assert result_of(client, Job(client, turns=300), "a share", owner="tcp://worker") == "done"
    with pytest.raises(LostWorkError, match="a share was lost with the workers that held its data"):
        result_of(client, Job(client, turns=-1), "a share", owner="tcp://gone")
    with pytest.raises(LostWorkError, match="a share was lost"):
        result_of(client, Job(client, turns=-1, status="lost"), "a share", owner="tcp://worker")


@pytest.mark.usefixtures("answering")
def test_a_job_that_any_worker_may_do_is_lost_once_all_are_idle():
    client, busy = LosingClient(losses=0), {"tcp://worker": ("key",)}
    answers = iter([busy] * 20)

    async def processing(workers):
        return next(answers, {"tcp://worker": ()})

    client.processing = processing
    with pytest.raises(LostWorkError, match="a block was lost"):
        result_of(client, Job(client, turns=-1), "a block")
    assert next(answers, None) is None


@pytest.mark.parametrize("says", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_what_is_no_scheduler_is_said_within_ten_seconds(monkeypatch, says):
    assert cluster_client._CONNECT < 10
    monkeypatch.setattr(cluster_client, "_CONNECT", 0.5)
    taken = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            taken.append(server.accept()[0])
            taken[0].sendall(says)

        threading.Thread(target=answer, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with (
            pytest.raises(ClusterError, match=f"no Dask scheduler answers at '{address}'"),
            open_client(scheduler=address),
        ):
            pass
    taken[0].close()


def test_workers_that_compute_otherwise_are_refused_or_told_of():
    said = []
    strict = Likeness(allowed=False, say=said.append)
    strict.check("tcp://like", arithmetic())
    other = {**arithmetic(), "numpy": "1.0"}
    with pytest.raises(
        ClusterError, match=r"tcp://other computes otherwise .* numpy is '1\.0', not .*allow_unlike=True"
    ):
        strict.check("tcp://other", other)
    with pytest.raises(ClusterError, match=r"tcp://late, which joined meanwhile, .* numpy"):
        demand_arithmetic({**arithmetic(), "numpy": "1.0"}, "tcp://late")
    demand_arithmetic(strict.expected(), "tcp://like")
    assert not said
    lenient = Likeness(allowed=True, say=said.append)
    lenient.check("tcp://other", other)
    lenient.check("tcp://another", other)
    assert lenient.others == [{"numpy": "1.0"}]
    assert len(said) == 1, "one sentence for each kind of worker"
    assert lenient.expected() is None


def test_dask_shows_no_traceback_of_its_own(monkeypatch, caplog):
    """``caplog`` listens to the root, which the loggers of Dask do not reach unless they are told to."""
    logger = logging.getLogger("distributed.client")
    monkeypatch.setattr(logger, "propagate", True)
    monkeypatch.setattr(logging.getLogger("distributed"), "propagate", True)
    said = "a worker takes much memory"

    def connect(*_, **__):
        logger.warning(said)
        try:
            raise ConnectionRefusedError
        except ConnectionRefusedError as error:
            logger.exception("in the middle of Dask")
            raise OSError("refused") from error

    async def shake_hands(*_, **__):
        pass

    monkeypatch.setattr(cluster_client, "_shake_hands", shake_hands)
    monkeypatch.setattr("distributed.Client", connect)
    with pytest.raises(ClusterError, match="no Dask scheduler answers"), open_client(scheduler="tcp://x:1"):
        pass
    assert [record.getMessage() for record in caplog.records] == [said]


def test_a_local_cluster_that_is_slow_to_close_is_no_warning(monkeypatch, caplog):
    logger = logging.getLogger("distributed.nanny")
    monkeypatch.setattr(logger, "propagate", True)
    monkeypatch.setattr(logging.getLogger("distributed"), "propagate", True)

    class SlowCluster:
        scheduler_address = "tcp://scheduler"

        def __init__(self, **_):
            pass

        def scale(self, workers):
            pass

        def close(self):
            logger.warning("Worker process still alive after 4.0 seconds, killing")

    monkeypatch.setattr("distributed.LocalCluster", SlowCluster)
    monkeypatch.setattr("distributed.Client", lambda *_, **__: nullcontext(LosingClient(losses=0)))
    with open_client(cluster="local:1"):
        logger.warning("a worker takes much memory")
    assert [record.getMessage() for record in caplog.records] == ["a worker takes much memory"]


def test_a_worker_of_a_local_cluster_has_minutes_to_start_again(monkeypatch):
    """Dask gives up a worker that is gone for 15 seconds, which a busy machine may need to start another."""
    import dask

    found = []

    class Asked:
        scheduler_address = "tcp://scheduler"

        def __init__(self, **_):
            pass

        def scale(self, workers):
            found.append(dask.utils.parse_timedelta(dask.config.get(LOST)))

        close = __init__

    monkeypatch.setattr("distributed.LocalCluster", Asked)
    monkeypatch.setattr("distributed.Client", lambda *_, **__: nullcontext(LosingClient(losses=0)))
    with open_client(cluster="local:1"):
        found.append(dask.utils.parse_timedelta(dask.config.get(LOST)))
    assert min(found) >= 300


@pytest.mark.usefixtures("answering")
def test_workers_that_are_still_starting_are_waited_for_but_not_for_ever(monkeypatch, tmp_path):
    client, seen = LosingClient(losses=0), tmp_path / "seen"
    seen.touch()
    client.answers = {"tcp://worker": (psdvec.__version__, True, 1, {})}
    one, both = {"tcp://worker": 1}, {"tcp://worker": 1, "tcp://later": 1}
    client.there = [{}, one, one, both]
    monkeypatch.setitem(cluster_client._awaited, client, 2)
    check_workers(client, seen)
    assert client.there == [both]
    monkeypatch.setattr(cluster_client, "_STARTING", 0)
    monkeypatch.setitem(cluster_client._awaited, client, 3)
    check_workers(client, seen)


def test_a_local_cluster_may_be_left_before_its_workers_have_started():
    with open_client(cluster="local:2") as client:
        assert client.status == "running"


def test_without_a_scheduler_or_a_cluster_there_is_no_client():
    with open_client() as client:
        assert client is None
