import pytest

from tests.cluster.clusters import started


@pytest.fixture(scope="module")
def client():
    with started(2, memory_limit="4GB") as client:
        yield client
