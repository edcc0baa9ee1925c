"""A worker that is lost while something is sent to all of them costs nothing but time."""

from __future__ import annotations

import logging
from contextlib import nullcontext

import pytest

from psdvec.cluster import client as cluster_client
from psdvec.cluster.client import LostWorkError, ask_workers, check_workers, hand_out, open_client
from psdvec.errors import ClusterError

pytest.importorskip(
    "distributed", reason="distributed is not installed; run pip install 'psdvec[distributed]'"
)


class LosingClient:
    """A client whose first attempts to reach the workers fail, because one has just been lost."""

    scheduler = None

    def __init__(self, losses, answers=None):
        self.losses, self.answers, self.sent = losses, answers or {"tcp://worker": 7}, 0

    def wait_for_workers(self, number, timeout):
        pass

    def _send(self, result):
        self.sent += 1
        if self.sent <= self.losses:
            raise OSError("Connection reset by peer")
        return result

    def scatter(self, value, *, broadcast, hash):
        return self._send(("handed out", value))

    def run(self, function, *arguments, on_error):
        return self._send(self.answers)


@pytest.fixture(autouse=True)
def in_no_time(monkeypatch):
    monkeypatch.setattr(cluster_client, "_PAUSE", 0)


@pytest.fixture
def answering(monkeypatch):
    monkeypatch.setattr(cluster_client, "_answers", lambda client: True)


@pytest.mark.usefixtures("answering")
def test_what_a_lost_worker_did_not_get_is_sent_again():
    client = LosingClient(losses=2)
    assert hand_out(client, "setting") == ("handed out", "setting")
    assert client.sent == 3
    assert ask_workers(LosingClient(losses=1), print) == [7]


@pytest.mark.usefixtures("answering")
def test_if_a_worker_is_lost_while_it_is_asked_the_others_are_asked_again(monkeypatch):
    client = LosingClient(losses=0)
    answers = iter([{"tcp://gone": OSError("closed"), "tcp://there": 4}, {}, {"tcp://there": 5}])
    monkeypatch.setattr(client, "run", lambda *_, **__: next(answers))
    assert ask_workers(client, print) == [5]


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


def test_dask_shows_no_traceback_of_its_own(monkeypatch, caplog):
    """``caplog`` listens to the root, which the loggers of Dask do not reach unless they are told to."""
    logger = logging.getLogger("distributed.client")
    monkeypatch.setattr(logger, "propagate", True)
    monkeypatch.setattr(logging.getLogger("distributed"), "propagate", True)
    monkeypatch.setattr(cluster_client, "_PATIENCE", 0.1)
    said = "a worker takes much memory"

    def connect(*_, **__):
        logger.warning(said)
        try:
            raise ConnectionRefusedError
        except ConnectionRefusedError as error:
            logger.exception("in the middle of Dask")
            raise OSError("refused") from error

    monkeypatch.setattr("distributed.Client", connect)
    with pytest.raises(ClusterError, match="no Dask scheduler answers"), open_client(scheduler="tcp://x:1"):
        pass
    assert [record.getMessage() for record in caplog.records] == [said]


def test_a_local_cluster_that_is_slow_to_close_is_no_warning(monkeypatch, caplog):
    logger = logging.getLogger("distributed.nanny")
    monkeypatch.setattr(logger, "propagate", True)
    monkeypatch.setattr(logging.getLogger("distributed"), "propagate", True)

    class SlowCluster:
        def __init__(self, **_):
            pass

        def close(self):
            logger.warning("Worker process still alive after 4.0 seconds, killing")

    monkeypatch.setattr("distributed.LocalCluster", SlowCluster)
    monkeypatch.setattr("distributed.Client", lambda cluster, **_: nullcontext(cluster))
    with open_client(cluster="local:1"):
        logger.warning("a worker takes much memory")
    assert [record.getMessage() for record in caplog.records] == ["a worker takes much memory"]


def test_without_a_scheduler_or_a_cluster_there_is_no_client():
    with open_client() as client:
        assert client is None
