"""PSDVec: word vectors from your own text, and new words later.

The names below are loaded when they are first used, so that importing the package is quick.
"""

from __future__ import annotations

import os

# Threads of OpenBLAS wait for work by spinning, some 25 ms after each product; 2⁸ cycles are enough. It reads this
# when it is loaded. A fit takes a fifth less processor time with it.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "8")

TYPE_CHECKING = False  # typing takes longer to import than all else here, and only type checkers need it
if TYPE_CHECKING:
    from typing import Any

    from psdvec.counts.count import count_pairs, count_words
    from psdvec.counts.graphs import count_walks
    from psdvec.counts.matrix import Cooccurrence
    from psdvec.counts.merge import merge_counts
    from psdvec.counts.phrases import find_phrases
    from psdvec.counts.vocabulary import Vocabulary
    from psdvec.documents.distinctive import Distinctive, distinctive
    from psdvec.documents.duplicates import Duplicates, near_duplicates
    from psdvec.documents.vectorize import DocumentVectors, vectorize, vectorize_file
    from psdvec.errors import PSDVecError
    from psdvec.evaluation.evaluate import evaluate
    from psdvec.evaluation.report import Report
    from psdvec.explore.contexts import Why, why
    from psdvec.formats import save
    from psdvec.loading import load
    from psdvec.methods.spelling import spell
    from psdvec.options import Recipe
    from psdvec.publishing.publish import publish
    from psdvec.search.index import DocumentIndex
    from psdvec.slices.association import Association, association
    from psdvec.slices.change import Change, change
    from psdvec.slices.stability import Stability, stability
    from psdvec.solver.extend import Extension, extend, place_by_features
    from psdvec.solver.fit import fit
    from psdvec.solver.train import train
    from psdvec.text.corpus import read_corpus
    from psdvec.text.phrases import Phrases
    from psdvec.text.tokenizers import register_tokenizer
    from psdvec.topic_model.topics import Topics, topics
    from psdvec.vectors.embeddings import Embeddings
    from psdvec.vectors.model import Model

__version__ = "0.3.0"

__all__ = [
    "Association", "Change", "Cooccurrence", "Distinctive", "DocumentIndex", "DocumentVectors", "Duplicates",
    "Embeddings", "Extension", "Model", "PSDVecError", "Phrases", "Recipe", "Report", "Stability", "Topics",
    "Vocabulary", "Why", "association", "change", "count_pairs", "count_walks", "count_words", "distinctive",
    "evaluate", "extend", "find_phrases", "fit", "load", "merge_counts", "near_duplicates", "place_by_features",
    "publish", "read_corpus", "register_tokenizer", "save", "spell", "stability", "topics", "train", "vectorize",
    "vectorize_file", "why",
]  # fmt: skip

_HOMES = {
    "Association": "slices.association",
    "Change": "slices.change",
    "association": "slices.association",
    "change": "slices.change",
    "Cooccurrence": "counts.matrix",
    "Distinctive": "documents.distinctive",
    "DocumentIndex": "search.index",
    "DocumentVectors": "documents.vectorize",
    "Duplicates": "documents.duplicates",
    "Embeddings": "vectors.embeddings",
    "Extension": "solver.extend",
    "Model": "vectors.model",
    "PSDVecError": "errors",
    "Phrases": "text.phrases",
    "Recipe": "options",
    "Report": "evaluation.report",
    "Stability": "slices.stability",
    "Topics": "topic_model.topics",
    "Vocabulary": "counts.vocabulary",
    "Why": "explore.contexts",
    "count_pairs": "counts.count",
    "count_walks": "counts.graphs",
    "count_words": "counts.count",
    "distinctive": "documents.distinctive",
    "evaluate": "evaluation.evaluate",
    "extend": "solver.extend",
    "find_phrases": "counts.phrases",
    "fit": "solver.fit",
    "load": "loading",
    "merge_counts": "counts.merge",
    "near_duplicates": "documents.duplicates",
    "place_by_features": "solver.extend",
    "publish": "publishing.publish",
    "read_corpus": "text.corpus",
    "register_tokenizer": "text.tokenizers",
    "save": "formats",
    "spell": "methods.spelling",
    "stability": "slices.stability",
    "topics": "topic_model.topics",
    "train": "solver.train",
    "vectorize": "documents.vectorize",
    "vectorize_file": "documents.vectorize",
    "why": "explore.contexts",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'psdvec' has no attribute '{name}'")
    import importlib

    return getattr(importlib.import_module(f"psdvec.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
