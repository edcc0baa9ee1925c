"""PSDVec: word vectors from your own text, and new words later."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psdvec.embeddings import Embeddings
    from psdvec.errors import PSDVecError
    from psdvec.evaluation import Report, evaluate
    from psdvec.formats import load, save

__version__ = "0.1.0"

# Where each public name lives; a module is imported when a name of it is first used.
_HOME = {
    "Embeddings": "psdvec.embeddings",
    "PSDVecError": "psdvec.errors",
    "Report": "psdvec.evaluation",
    "evaluate": "psdvec.evaluation",
    "load": "psdvec.formats",
    "save": "psdvec.formats",
}

__all__ = ["Embeddings", "PSDVecError", "Report", "evaluate", "load", "save"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'psdvec' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOME[name]), name)
