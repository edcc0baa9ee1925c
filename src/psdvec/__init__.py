"""PSDVec: word vectors from your own text, and new words later.

The names below are loaded when they are first used, so that importing the package is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psdvec.artefacts import load
    from psdvec.cooccurrence import Cooccurrence
    from psdvec.corpus import read_corpus
    from psdvec.counts import count_pairs, count_words
    from psdvec.embeddings import Embeddings
    from psdvec.errors import PSDVecError
    from psdvec.evaluation import Report, evaluate
    from psdvec.formats import save
    from psdvec.learning import extend, fit
    from psdvec.merging import merge_counts
    from psdvec.training import train
    from psdvec.vocabulary import Vocabulary

__version__ = "0.1.0"

__all__ = [
    "Cooccurrence",
    "Embeddings",
    "PSDVecError",
    "Report",
    "Vocabulary",
    "count_pairs",
    "count_words",
    "evaluate",
    "extend",
    "fit",
    "load",
    "merge_counts",
    "read_corpus",
    "save",
    "train",
]

_HOMES = {
    "Cooccurrence": "cooccurrence",
    "Embeddings": "embeddings",
    "PSDVecError": "errors",
    "Report": "evaluation",
    "Vocabulary": "vocabulary",
    "count_pairs": "counts",
    "count_words": "counts",
    "evaluate": "evaluation",
    "extend": "learning",
    "fit": "learning",
    "load": "artefacts",
    "merge_counts": "merging",
    "read_corpus": "corpus",
    "save": "formats",
    "train": "training",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'psdvec' has no attribute '{name}'")
    return getattr(importlib.import_module(f"psdvec.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
