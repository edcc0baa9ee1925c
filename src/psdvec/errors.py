"""The exceptions of this package, all with messages that say what is wrong, where, and what to do.

::

    PSDVecError
     ├── InputError          what was given cannot be read, or makes no sense
     ├── StoreError          an artefact on disk is missing, damaged, or of another kind or version
     ├── ResourceError       memory or disk do not suffice
     └── MissingExtraError   an optional package is needed; the message holds the ``pip`` line

The library raises; only :mod:`psdvec.cli` turns an exception into an exit code, and never into 0.
"""

from __future__ import annotations

import importlib
from types import ModuleType


class PSDVecError(Exception):
    """Base of every error this package raises on purpose."""


class InputError(PSDVecError):
    """What was given cannot be read, or makes no sense."""


class StoreError(PSDVecError):
    """An artefact on disk is missing, damaged, or of another kind or version."""


class ResourceError(PSDVecError):
    """Memory or disk do not suffice."""


class MissingExtraError(PSDVecError):
    """An optional package is needed and not installed."""


def import_extra(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import an optional ``module`` or say which extra of this package brings it.

    >>> import_extra("json", extra="none", purpose="nothing").__name__
    'json'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{purpose} needs the package '{module.partition('.')[0]}', which is not installed; "
            f"run: pip install 'psdvec[{extra}]'"
        ) from error
