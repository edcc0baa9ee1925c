"""The API: one method per address, which takes the parameters of a request and returns a value that JSON can hold.

Only what takes long is kept between requests: maps, and what moved between two models.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from psdvec.errors import InputError
from psdvec.explore import projections, request
from psdvec.explore.map import place
from psdvec.explore.models import ExploredModel
from psdvec.explore.new_words import add_words
from psdvec.explore.plane import fit_plane
from psdvec.explore.request import Parameters
from psdvec.vectors import answers
from psdvec.vectors.search import ANALOGY, AnalogyMethod

Answer = Callable[[Parameters], dict[str, Any]]


class Api:
    """Answers requests about one or two models: ``queries`` by GET, ``actions`` by POST, each under its name."""

    def __init__(self, models: list[ExploredModel]) -> None:
        self.models = models
        self.layouts = ["pca", *projections.available_layouts()]
        self._jobs: dict[tuple[int, str], projections.LayoutJob] = {}
        self._moved: dict[str, Any] | None = None
        self._lock = threading.Lock()
        self.queries: dict[str, Answer] = {
            "info": self.info,
            "similar": self.similar,
            "analogy": self.analogy,
            "odd": self.odd,
            "contexts": self.contexts,
            "compare": self.compare,
            "moved": self.moved,
            "map": self.map,
        }
        self.actions: dict[str, Answer] = {"extend": self.extend, "map": self.start_map}

    def close(self) -> None:
        """Stop what is still being computed."""
        for job in list(self._jobs.values()):
            job.stop()

    def info(self, parameters: Parameters) -> dict[str, Any]:
        """Return which models are open, what can be asked of them, and within which limits."""
        return {
            "models": [_describe(explored) for explored in self.models],
            "layouts": self.layouts,
            "limits": {
                "word": request.MAX_WORD_LENGTH, "text": request.MAX_TEXT_LENGTH,
                "words": request.MAX_WORDS, "topn": request.MAX_TOPN,
            },
        }  # fmt: skip

    def similar(self, parameters: Parameters) -> dict[str, Any]:
        """Return the neighbours of a word."""
        explored, _ = self._model(parameters)
        return answers.similar(explored.embeddings, parameters.word("word"), topn=_topn(parameters))

    def analogy(self, parameters: Parameters) -> dict[str, Any]:
        """Return the words that are to c as b is to a, and the plane that fits the three and the first of them."""
        explored, _ = self._model(parameters)
        a, b, c = (parameters.word(name) for name in "abc")
        method = cast(AnalogyMethod, parameters.choice("method", (ANALOGY, "3cosmul")))
        found = answers.analogy(explored.embeddings, a, b, c, method=method, topn=_topn(parameters))
        four = [a, b, c, *(one["word"] for one in found["answers"][:1])]
        return {**found, "plane": fit_plane(np.stack([explored.embeddings[word] for word in four]))}

    def odd(self, parameters: Parameters) -> dict[str, Any]:
        """Return the word that does not belong with the others."""
        explored, _ = self._model(parameters)
        words = list(dict.fromkeys(parameters.words("word")))
        if len(words) < 3:
            raise InputError(f"give at least 3 different words; only {len(words)} given")
        return answers.odd(explored.embeddings, words)

    def contexts(self, parameters: Parameters) -> dict[str, Any]:
        """Return the contexts that pulled hardest on a word, or on a word and another."""
        explored, _ = self._model(parameters)
        if explored.contexts is None:
            raise InputError(f"no contexts can be shown for '{explored.name}'; {explored.no_contexts}")
        word, other, topn = parameters.word("word"), parameters.optional_word("other"), _topn(parameters)
        if other is None or other == word:
            return explored.contexts.of_word(word, topn=topn)
        return explored.contexts.of_pair(word, other, topn=topn)

    def compare(self, parameters: Parameters) -> dict[str, Any]:
        """Return the neighbours of a word in both models."""
        first, second = self._both()
        word = parameters.word("word")
        for here, there in ((first, second), (second, first)):
            if word in here.embeddings and word not in there.embeddings:
                raise InputError(
                    f"'{word}' is in '{here.name}' but not in '{there.name}'; compare another word"
                )
        return answers.compare(first.embeddings, second.embeddings, word, topn=_topn(parameters))

    def moved(self, parameters: Parameters) -> dict[str, Any]:
        """Return the words whose neighbours changed most between the two models."""
        first, second = self._both()
        with self._lock:
            if self._moved is None:
                self._moved = answers.moved(first.embeddings, second.embeddings)
            return self._moved

    def map(self, parameters: Parameters) -> dict[str, Any]:
        """Return the map of words, or how much of it is done while its layout is being computed."""
        explored, number = self._model(parameters)
        layout = parameters.choice("layout", self.layouts)
        with self._lock:
            word_map = explored.map
            job = self._jobs.get((number, layout))
        if layout == "pca":
            return {"state": "done", **_draw(explored, word_map.places)}
        if job is None:
            return {"state": "absent", "progress": 0.0}
        if job.error:
            raise InputError(f"{job.error}; use the layout pca")
        if job.places is None:
            return {"state": "running", "progress": job.progress}
        return {"state": "done", **_draw(explored, job.places)}

    def start_map(self, parameters: Parameters) -> dict[str, Any]:
        """Start to compute a slow layout, unless that was started before."""
        explored, number = self._model(parameters)
        layout = parameters.choice("layout", self.layouts)
        with self._lock:
            if layout != "pca" and (number, layout) not in self._jobs:
                if len(explored.map.ids) < 4:
                    raise InputError(f"{layout} needs at least 4 words; use the layout pca")
                self._jobs[number, layout] = projections.LayoutJob(layout, explored.map.units)
        return {"state": "running" if layout != "pca" else "done"}

    def extend(self, parameters: Parameters) -> dict[str, Any]:
        """Learn new words from a pasted text; return their neighbours and places, but keep nothing."""
        explored, number = self._model(parameters)
        if explored.model is None:
            raise InputError(f"no word can be added to '{explored.name}': {explored.no_extending}")
        text, word = parameters.text("text"), parameters.optional_word("word")
        extension, counts = add_words(explored.model, text, word=word)
        new = extension.take(slice(len(explored.model), None))
        learned = [
            {
                **record,
                "neighbours": answers.nearest(explored.embeddings, vector, topn=_topn(parameters)),
                "places": self._places(explored, number, vector),
                "vector": [round(float(x), 6) for x in vector],
            }
            for record, vector in zip(answers.describe(new, new.words), new.vectors, strict=True)
        ]
        return {"learned": learned, "thin": list(extension.unplaced), "words_read": counts.tally.tokens}

    def _places(self, explored: ExploredModel, number: int, vector: Any) -> dict[str, list[float]]:
        """Return where a new vector belongs on every map that is ready."""
        with self._lock:
            word_map = explored.map
        found = {"pca": place(word_map, word_map.places, vector, by_axes=True)}
        for (owner, layout), job in list(self._jobs.items()):
            if owner == number and job.places is not None:
                found[layout] = place(word_map, job.places, vector, by_axes=False)
        return found

    def _model(self, parameters: Parameters) -> tuple[ExploredModel, int]:
        """Return the model that a request is about, and its number, 1 or 2."""
        number = parameters.number("model", 1, most=len(self.models))
        return self.models[number - 1], number

    def _both(self) -> tuple[ExploredModel, ExploredModel]:
        if len(self.models) < 2:
            raise InputError(
                "there is only one model; start the explorer with two: psdvec explore MODEL MODEL2"
            )
        return self.models[0], self.models[1]


def _topn(parameters: Parameters) -> int:
    return parameters.number("topn", 10, most=request.MAX_TOPN)


def _describe(explored: ExploredModel) -> dict[str, Any]:
    e = explored.embeddings
    deviations = e.deviations is not None and bool(np.isfinite(e.deviations).any())
    return {
        "name": explored.name,
        "words": len(e),
        "dim": e.dim,
        "counts": e.counts is not None,
        "deviations": deviations,
        "extend": explored.model is not None,
        "no_extending": explored.no_extending,
        "contexts": explored.contexts is not None,
        "no_contexts": explored.no_contexts,
    }


def _draw(explored: ExploredModel, places: Any) -> dict[str, Any]:
    e, word_map = explored.embeddings, explored.map
    return {
        "words": [e.words[i] for i in word_map.ids.tolist()],
        "x": np.round(places[:, 0].astype(float), 4).tolist(),
        "y": np.round(places[:, 1].astype(float), 4).tolist(),
        "counts": None if e.counts is None else e.counts[word_map.ids].tolist(),
        "clusters": word_map.clusters.tolist(),
        "cluster_names": [list(names) for names in word_map.names],
    }
