"""Text in a bucket gives the same counts, to the byte, as the same text on disk, also on a cluster."""

from __future__ import annotations

import gzip

import pytest
from tests.helpers import contents

from psdvec.counts.count import count_pairs
from psdvec.errors import InputError
from psdvec.text.corpus import read_corpus

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def bucket(consumer, monkeypatch):
    """A server that speaks S3, with an empty bucket."""
    server = consumer("moto.server").ThreadedMotoServer(port=0)
    s3fs = consumer("s3fs")
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "anyone")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "anything")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    system = s3fs.S3FileSystem(skip_instance_cache=True)
    system.mkdir("bucket")
    yield system
    server.stop()


def test_a_bucket_is_read_like_a_folder(bucket, consumer, tmp_path):
    text = "".join(f"word{i % 7} and word{i % 11} meet in sentence {i}\n" for i in range(3000))
    files = {"a.txt": text.encode(), "b.txt.gz": gzip.compress(text[:5000].encode())}
    (tmp_path / "near").mkdir()
    for name, data in files.items():
        (tmp_path / "near" / name).write_bytes(data)
        with bucket.open(f"bucket/texts/{name}", "wb") as file:
            file.write(data)
    count_pairs(read_corpus(tmp_path / "near"), output=tmp_path / "single")
    count_pairs(read_corpus("s3://bucket/texts"), output=tmp_path / "far")
    with (
        consumer("distributed").LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        cluster.get_client() as client,
    ):
        count_pairs(
            read_corpus("s3://bucket/texts"), client=client, block_size="9K", output=tmp_path / "cluster"
        )
    far, cluster, single = (contents(tmp_path / name) for name in ("far", "cluster", "single"))
    assert far == cluster
    single["meta.json"] = far["meta.json"]  # which has no digests of what would have to be fetched twice
    assert far == single
    with pytest.raises(InputError, match=r"there is no file at 's3://bucket/absent\.txt'"):
        read_corpus("s3://bucket/absent.txt")
