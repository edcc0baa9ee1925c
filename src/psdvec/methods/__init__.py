"""Methods that turn counts into vectors: one file each, one line each in :data:`METHODS`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from psdvec.methods import psd

METHODS: dict[str, Callable[..., Any]] = {
    "psd": psd.fit,
}
