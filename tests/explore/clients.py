"""A client that speaks to the application without a network."""

from __future__ import annotations

from typing import Any

from starlette.testclient import TestClient

from psdvec.explore.api import Api
from psdvec.explore.app import make_app


def client_of(api: Api, *, host: str = "127.0.0.1", raising: bool = True) -> TestClient:
    app: Any = make_app(api, host=host)
    return TestClient(app, base_url="http://127.0.0.1:8765", raise_server_exceptions=raising)
