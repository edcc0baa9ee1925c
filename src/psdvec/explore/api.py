"""The desk: where questions are answered, one method an address of the API.

Goes in: a :class:`~psdvec.explore.request.Question`. Comes out: a value that JSON can hold. The one thing that is kept
between questions is what takes long: maps, and what moved between two models.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from psdvec.errors import InputError
from psdvec.explore import map as map_module
from psdvec.explore import projections, request
from psdvec.explore.models import Subject
from psdvec.explore.new_words import add_words
from psdvec.explore.request import Question
from psdvec.vectors import answers

Answer = Callable[[Question], dict[str, Any]]


class Desk:
    """Answers questions about one or two subjects."""

    def __init__(self, subjects: list[Subject]) -> None:
        self.subjects = subjects
        self.layouts = ["pca", *projections.available_layouts()]
        self._jobs: dict[tuple[int, str], projections.LayoutJob] = {}
        self._moved: dict[str, Any] | None = None
        self._lock = threading.Lock()
        self.questions: dict[str, Answer] = {
            "info": self.info,
            "similar": self.similar,
            "analogy": self.analogy,
            "odd": self.odd,
            "contexts": self.contexts,
            "compare": self.compare,
            "moved": self.moved,
            "map": self.map,
        }
        self.tasks: dict[str, Answer] = {"extend": self.extend, "map": self.start_map}

    def close(self) -> None:
        """End what is still being computed."""
        for job in list(self._jobs.values()):
            job.stop()

    def info(self, question: Question) -> dict[str, Any]:
        """Say what is looked at, what can be asked, and within which bounds."""
        return {
            "models": [_describe(subject) for subject in self.subjects],
            "layouts": self.layouts,
            "limits": {
                "word": request.LONGEST_WORD, "text": request.LONGEST_TEXT,
                "words": request.MOST_WORDS, "topn": request.MOST_TOPN,
            },
        }  # fmt: skip

    def similar(self, question: Question) -> dict[str, Any]:
        """Return the neighbours of a word."""
        subject, _ = self._subject(question)
        return answers.similar(subject.embeddings, question.word("word"), topn=_topn(question))

    def analogy(self, question: Question) -> dict[str, Any]:
        """Return the words that are to c as b is to a."""
        subject, _ = self._subject(question)
        a, b, c = (question.word(name) for name in "abc")
        add, topn = question.switch("add"), _topn(question)
        return answers.analogy(subject.embeddings, a, b, c, add=add, topn=topn)

    def odd(self, question: Question) -> dict[str, Any]:
        """Return the word that does not belong with the others."""
        subject, _ = self._subject(question)
        words = list(dict.fromkeys(question.words("word")))
        if len(words) < 3:
            raise InputError(f"at least 3 different words are needed, not {len(words)}; add more")
        return answers.odd(subject.embeddings, words)

    def contexts(self, question: Question) -> dict[str, Any]:
        """Return the contexts that pulled hardest on a word, or on a word and another."""
        subject, _ = self._subject(question)
        if subject.contexts is None:
            raise InputError(f"the contexts of '{subject.name}' are not at hand; {subject.no_contexts}")
        word, other, topn = question.word("word"), question.optional_word("other"), _topn(question)
        if other is None or other == word:
            return subject.contexts.of_word(word, topn=topn)
        return subject.contexts.of_pair(word, other, topn=topn)

    def compare(self, question: Question) -> dict[str, Any]:
        """Return the neighbours of a word in both models."""
        first, second = self._both()
        word = question.word("word")
        for here, there in ((first, second), (second, first)):
            if word in here.embeddings and word not in there.embeddings:
                raise InputError(
                    f"'{word}' is in '{here.name}' but not in '{there.name}'; compare another word"
                )
        return answers.compare(first.embeddings, second.embeddings, word, topn=_topn(question))

    def moved(self, question: Question) -> dict[str, Any]:
        """Return the words whose neighbours changed most between the two models."""
        first, second = self._both()
        with self._lock:
            if self._moved is None:
                self._moved = answers.moved(first.embeddings, second.embeddings)
            return self._moved

    def map(self, question: Question) -> dict[str, Any]:
        """Return the map of words; of a layout that is not finished, how far it is."""
        subject, number = self._subject(question)
        layout = question.choice("layout", self.layouts)
        with self._lock:
            word_map = subject.map
            job = self._jobs.get((number, layout))
        if layout == "pca":
            return {"state": "done", **_draw(subject, word_map.places)}
        if job is None:
            return {"state": "absent", "progress": 0.0}
        if job.error:
            raise InputError(f"{job.error}; look at the map by pca")
        if job.places is None:
            return {"state": "running", "progress": job.progress}
        return {"state": "done", **_draw(subject, job.places)}

    def start_map(self, question: Question) -> dict[str, Any]:
        """Begin to compute a slow layout, unless it is begun already."""
        subject, number = self._subject(question)
        layout = question.choice("layout", self.layouts)
        with self._lock:
            if layout != "pca" and (number, layout) not in self._jobs:
                if len(subject.map.ids) < 4:
                    raise InputError(f"{layout} needs 4 words or more; look at the map by pca")
                self._jobs[number, layout] = projections.LayoutJob(layout, subject.map.units)
        return {"state": "running" if layout != "pca" else "done"}

    def extend(self, question: Question) -> dict[str, Any]:
        """Learn new words from a pasted text; return their neighbours and places, and keep nothing."""
        subject, number = self._subject(question)
        if subject.model is None:
            raise InputError(f"no word can be added to '{subject.name}': {subject.no_extending}")
        text, word = question.text("text"), question.optional_word("word")
        extension, counts = add_words(subject.model, text, word=word)
        if not extension.learned:
            raise InputError(
                f"'{extension.thin[0]}' stands beside too few words that the model knows; "
                "paste more sentences, with 5 different known words near it at least"
            )
        new = extension.model.embeddings.take(slice(len(subject.model), None))
        learned = [
            {
                **record,
                "neighbours": answers.nearest(subject.embeddings, vector, topn=_topn(question)),
                "places": self._places(subject, number, vector),
                "vector": [round(float(x), 6) for x in vector],
            }
            for record, vector in zip(answers.describe(new, new.words), new.vectors, strict=True)
        ]
        return {"learned": learned, "thin": list(extension.thin), "words_read": counts.tally.tokens}

    def _places(self, subject: Subject, number: int, vector: Any) -> dict[str, list[float]]:
        """Where a new vector belongs on every map that is drawn."""
        with self._lock:
            word_map = subject.map
        found = {"pca": map_module.place(word_map, word_map.places, vector, by_axes=True)}
        for (owner, layout), job in list(self._jobs.items()):
            if owner == number and job.places is not None:
                found[layout] = map_module.place(word_map, job.places, vector, by_axes=False)
        return found

    def _subject(self, question: Question) -> tuple[Subject, int]:
        """The model a question is about, 1 or 2."""
        number = question.number("model", 1, most=len(self.subjects))
        return self.subjects[number - 1], number

    def _both(self) -> tuple[Subject, Subject]:
        if len(self.subjects) < 2:
            raise InputError("there is one model only; start the page with two: psdvec explore MODEL MODEL2")
        return self.subjects[0], self.subjects[1]


def _topn(question: Question) -> int:
    return question.number("topn", 10, most=request.MOST_TOPN)


def _describe(subject: Subject) -> dict[str, Any]:
    e = subject.embeddings
    deviations = e.deviations is not None and bool(np.isfinite(e.deviations).any())
    return {
        "name": subject.name,
        "words": len(e),
        "dim": e.dim,
        "counts": e.counts is not None,
        "deviations": deviations,
        "extend": subject.model is not None,
        "no_extending": subject.no_extending,
        "contexts": subject.contexts is not None,
        "no_contexts": subject.no_contexts,
    }


def _draw(subject: Subject, places: Any) -> dict[str, Any]:
    e, word_map = subject.embeddings, subject.map
    return {
        "words": [e.words[i] for i in word_map.ids.tolist()],
        "x": np.round(places[:, 0].astype(float), 4).tolist(),
        "y": np.round(places[:, 1].astype(float), 4).tolist(),
        "counts": None if e.counts is None else e.counts[word_map.ids].tolist(),
        "clusters": word_map.clusters.tolist(),
        "cluster_names": [list(names) for names in word_map.names],
    }
