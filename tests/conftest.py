from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "default", deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], print_blob=True
)
settings.load_profile("default")

REPOSITORY = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with real corpora and test sets, or a skip that says so."""
    folder = Path(os.environ.get("PSDVEC_DATA", REPOSITORY.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}; set PSDVEC_DATA to a folder that holds it")
    return folder


@pytest.fixture(params=[1, 2, 4], ids=lambda n: f"{n}-workers")
def workers(request: pytest.FixtureRequest) -> int:
    return request.param
