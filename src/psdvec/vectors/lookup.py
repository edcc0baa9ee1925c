"""Words that have vectors, and how a word is found among them.

:class:`Lexicon` is the part of :class:`~psdvec.vectors.embeddings.Embeddings` that looks words up: as they are written,
as the tokenizer writes them, or by their spelling. It compares none. The names are gensim's where gensim has one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast, overload

import numpy as np

from psdvec.arrays import Float32s, Int64s, as_numbers
from psdvec.counts.vocabulary import KEY_TYPES, TEXT_KEYS, Key, demand_keys, key_text, kind_of, read_key
from psdvec.errors import InputError, MissingWordError, checked, demand_words
from psdvec.progress import Shown, count_of
from psdvec.text.phrases import Phrases
from psdvec.text.tokenizers import can_cut, find_tokenizer, split_runs, split_words
from psdvec.vectors.neighbours import is_wrapped, norms_of
from psdvec.vectors.subwords import Subwords, Unseen, closest_spellings, need_subwords, wants_spelling

T = TypeVar("T")

# What gensim has and we have not, under the same name, with what to write instead; m is what was asked for it
INSTEAD = {
    "wv": "what psdvec returns has its vectors itself: write m[...] in place of m.wv[...]",
    "add_vector": "no vectors change: psdvec.extend(m, counts) makes a larger model",
    "add_vectors": "no vectors change: psdvec.extend(m, counts) makes a larger model",
    "distances": "write 1 - m.most_similar(word, topn=None)",
    "evaluate_word_analogies": "write psdvec.evaluate(m, tasks)",
    "evaluate_word_pairs": "write psdvec.evaluate(m, tasks)",
    "get_normed_vectors": "write m.vectors / m.lengths[:, None]",
    "has_index_for": "write word in m",
    "index2entity": "write m.index_to_key",
    "index2word": "write m.index_to_key",
    "init_sims": "write m.fill_norms()",
    "intersect_word2vec_format": "read the other vectors by psdvec.load(path)",
    "load": "write psdvec.load(path)",
    "load_word2vec_format": "write psdvec.load(path)",
    "most_similar_to_given": "write max(words, key=lambda other: m.similarity(word, other))",
    "set_vecattr": "no vectors change: write psdvec.Embeddings(m.words, m.vectors, counts)",
    "similar_by_key": "write m.similar_by_word(word)",
    "sort_by_descending_frequency": "write m.take(np.argsort(-m.counts, kind='stable'))",
    "unit_normalize_all": "no vectors change: write psdvec.Embeddings(m.words, m.vectors / m.lengths[:, None])",
    "vectors_for_all": "write m.select(word for word in words if word in m)",
    "vectors_norm": "write m.vectors / m.lengths[:, None]",
    "vocab": "write m.key_to_index, and m.get_vecattr(word, 'count')",
    "words_closer_than": "write m.closer_than(a, b)",
}


@dataclass(frozen=True, eq=False, repr=False)
class Lexicon(Shown):
    """Words with a vector each, and what looks them up; its fields are those of ``Embeddings``."""

    words: Sequence[Key]
    vectors: Float32s
    counts: Int64s | None = None
    deviations: Float32s | None = None
    tokenizer: str | None = field(default=None, kw_only=True)
    phrases: Phrases | None = field(default=None, kw_only=True)
    subwords: Subwords | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.words, (list, tuple)):
            object.__setattr__(self, "words", tuple(demand_keys(self.words)))
        elif self.words and not isinstance(self.words[0], str):  # all would take as long as opening a model
            demand_keys(self.words)
        if self.subwords is not None and not isinstance(self.subwords, Subwords):
            raise InputError(
                "subwords must be what a model has learned of spelling; give those of a model, or None"
            )
        given = self.vectors
        vectors = given if is_wrapped(given) else as_numbers("vectors", given, np.float32)
        if vectors.ndim != 2 or len(vectors) != len(self.words):
            raise InputError(
                f"vectors must be a matrix with one row per word; found shape {vectors.shape} "
                f"for {len(self.words)} words"
            )
        object.__setattr__(self, "vectors", vectors)
        for name, dtype in (("counts", np.int64), ("deviations", np.float32)):
            values = getattr(self, name)
            if values is not None and np.shape(values) != (len(vectors),):
                raise InputError(
                    f"{name} must hold one number per word; found shape {np.shape(values)} for {len(vectors)} words"
                )
            object.__setattr__(self, name, None if values is None else as_numbers(name, values, dtype))
        if self.tokenizer is not None and can_cut(self.tokenizer):
            find_tokenizer(self.tokenizer)  # refuses what is none

    def _facts(self) -> dict[str, str]:
        return {"size": f"{count_of(len(self), self.noun)} × {self.dim} dimensions"}

    @property
    def noun(self) -> str:
        """What the vectors are of: a ``"word"``, or of baskets an ``"item"``."""
        return "word"

    if not TYPE_CHECKING:  # type checkers would take every name for one that is there

        def __getattr__(self, name: str) -> NoReturn:
            """Say what to write in place of a name of gensim's that is not here."""
            hint = f"; {INSTEAD[name]}" if name in INSTEAD else ""
            raise AttributeError(
                f"'{type(self).__name__}' object has no attribute '{name}'{hint}", name=name, obj=self
            )

    # Words in their order, and how they are spelled

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[Key]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return self._exact_id_of(word) >= 0

    def __getitem__(self, word: Key | Sequence[Key]) -> Float32s:
        """Return the vector of a word, or the (m, d) matrix of a list of words."""
        return self.get_vector(word) if self._is_key(word) else self.vectors_of(word)

    @cached_property
    def _kind(self) -> str:
        """The kind of the keys, see :func:`psdvec.counts.vocabulary.kind_of`."""
        return kind_of(self.words[0]) if self.words and not isinstance(self.words[0], str) else TEXT_KEYS

    def _is_key(self, given: object) -> bool:
        """Tell whether ``given`` is one key, rather than a list of some; a string always is."""
        return isinstance(given, (str, KEY_TYPES[self._kind])) or (
            self._kind == "int" and isinstance(given, np.integer)
        )

    @property
    def index_to_key(self) -> Sequence[Key]:
        """The words, in the order of their ids."""
        return self.words

    @cached_property
    def key_to_index(self) -> dict[Key, int]:
        """The id of every word."""
        ids = {word: i for i, word in enumerate(self.words)}
        if len(ids) < len(self.words):
            twice = next(word for i, word in enumerate(self.words) if ids[word] != i)
            raise InputError(f"the word '{twice}' has two vectors; keep only one of them")
        return ids

    @property
    def dim(self) -> int:
        """Dimensions of each vector."""
        return int(self.vectors.shape[1])

    @property
    def vector_size(self) -> int:
        """Dimensions of each vector, by gensim's name."""
        return self.dim

    @cached_property
    def norms(self) -> Float32s:
        """The Euclidean length of every vector, computed when it is first needed and then kept."""
        norms = norms_of(self.vectors)
        if not np.isfinite(norms).all():
            word = self.words[int(np.flatnonzero(~np.isfinite(norms))[0])]
            raise InputError(
                f"the vector of '{word}' holds numbers too large to compute with; divide all vectors by the same number"
            )
        return norms

    @cached_property
    def lengths(self) -> Float32s:
        """The Euclidean length of every vector, 1 for a vector of zeros."""
        return np.where(self.norms == 0, np.float32(1), self.norms)

    @checked
    def fill_norms(self, force: bool = False) -> None:
        """Compute ``norms`` now; with ``force`` once more, if an array that was given as vectors has changed since.

        Of vectors that are mapped from disk, all are read once, a block at a time.
        """
        if force:
            for name in ("norms", "lengths"):
                vars(self).pop(name, None)
        _ = self.norms

    @overload
    def get_index(self, word: Key, default: None = ...) -> int: ...
    @overload
    def get_index(self, word: Key, default: T) -> int | T: ...

    def get_index(self, word: Key, default: T | None = None) -> int | T:
        """Return the id of ``word`` as it is written, or else ``default``; without one, a missing word is an error."""
        found = self._exact_id_of(word)
        if found >= 0:
            return found
        if default is None:
            raise MissingWordError(word, self.closest_spellings, kind=self._kind)
        return default

    def _known_id_of(self, word: Key) -> int:
        """Return the id of ``word`` as :meth:`look_up` finds it; the error for a missing one names similar words."""
        found = self._id_of(word)
        if found < 0:
            raise MissingWordError(word, self.closest_spellings, kind=self._kind)
        return found

    def _id_of(self, word: Any) -> int:
        """Return the id of ``word`` as :meth:`look_up` finds it, or -1 if it has none."""
        found = self._exact_id_of(word)
        if found < 0 and self._kind == TEXT_KEYS and isinstance(word, str):
            return self._exact_id_of(self._form_of(word))
        return found

    def _exact_id_of(self, word: Any) -> int:
        """Return the id of ``word`` as it is, also of a phrase that is written with blanks, or -1 if it has none."""
        try:
            found = self.key_to_index.get(word, -1)
        except TypeError:  # a list, for one, can be no key
            return -1
        if found < 0 and self.phrases is not None and isinstance(word, str) and " " in word:
            forms = self.tokenize(word)
            return self.key_to_index.get(forms[0], -1) if len(forms) == 1 else -1
        return found

    @checked
    def look_up(self, word: Key, *, unseen: Unseen = "error") -> Key:
        """Return ``word`` as it is in the vocabulary: as it is written or else as the tokenizer writes it.

        So do subscripts, questions such as ``most_similar`` and the commands find a word, and so was it read in the
        text of the vectors: a model that folds case finds ``king`` for ``King``, and ``u.s`` for ``U.S.``; one of the
        tokenizer ``"unicode-cased"`` finds ``King`` and, if there is none, ``king``. ``word in m``, ``get_index``,
        ``key_to_index`` and ``select`` take a word as it is written. One that is in the vocabulary in no such form is
        an error or, with ``unseen="spelling"``, comes back as it would be spelled there: as the tokenizer writes it,
        if it takes it for one word. Of keys that are no strings, this finds those that are written like ``word``.

        >>> from psdvec import Embeddings
        >>> e = Embeddings(("king", "u.s"), np.eye(2, dtype=np.float32), tokenizer="unicode")
        >>> e.look_up("King"), e.look_up("U.S.")
        ('king', 'u.s')
        >>> e.look_up("Kingmaker", unseen="spelling")
        'kingmaker'
        """
        spell, form = wants_spelling(unseen), self._form_of(word)
        if not spell and form not in self:
            raise MissingWordError(word, self.closest_spellings)
        return form

    @checked
    def tokenize(self, text: str) -> list[str]:
        """Return the words of ``text``, cut as the text of the vectors was, whether they have vectors or not.

        Phrases that were joined in that text are joined here, too.
        Without a ``tokenizer``, words are runs of letters, digits and inner apostrophes, in lower case if no word of
        the vocabulary has a capital.

        >>> from psdvec import Embeddings
        >>> vectors = np.ones((1, 2), dtype=np.float32)
        >>> Embeddings(("king",), vectors).tokenize("King of the U.S.")
        ['king', 'of', 'the', 'u', 's']
        >>> Embeddings(("king",), vectors, tokenizer="unicode").tokenize("King of the U.S.")
        ['king', 'of', 'the', 'u.s']
        """
        if self.tokenizer is not None:
            words = split_words(text, tokenizer=self.tokenizer)
        else:
            words = split_runs(text if self.has_capitals else text.lower())
        return words if self.phrases is None else self.phrases.join(words)

    @cached_property
    def has_capitals(self) -> bool:
        """Whether any word changes when it is put into lower case."""
        return self._kind == TEXT_KEYS and any(word != word.lower() for word in self.words)

    @checked
    def closest_spellings(self, word: Key) -> list[Key]:
        """Return a few words that are spelled like ``word``, first the one that :meth:`look_up` finds."""
        form = self._form_of(word)
        if self._kind != TEXT_KEYS or not isinstance(word, str):
            return [form] if form in self else []
        near = closest_spellings(word, self.words, self.key_to_index)
        return list(dict.fromkeys([form, *near]))[: max(len(near), 1)] if form in self else near

    def _form_of(self, word: Key) -> Key:
        """Return ``word`` as it is if it is known or no single word, otherwise as the tokenizer writes it.

        In a vocabulary that keeps case, it is in lower case if only that is known, as at the beginning of a sentence.
        Keys that are no strings are also known by their texts, and strings by the numbers that they look like.
        """
        if self._kind != TEXT_KEYS or not isinstance(word, str):
            return self._key_like(word)
        knows_how = self.tokenizer is None or can_cut(self.tokenizer)
        forms = [word] if word in self.key_to_index or not knows_how else self.tokenize(word)
        if len(forms) != 1:
            return word
        small = forms[0].lower() if self.tokenizer == "unicode-cased" else forms[0]
        return small if forms[0] not in self and small in self else forms[0]

    def _key_like(self, word: Key) -> Key:
        """Return the key whose text is that of ``word``, or ``word`` itself."""
        try:
            key = read_key(key_text(word), self._kind)
        except InputError:
            return word
        return key if key in self else word

    # Looking up

    def get_vector(self, word: Key, norm: bool = False) -> Float32s:
        """Return the vector of ``word``, scaled to length 1 if ``norm``; it is read-only."""
        index = self._known_id_of(word)
        vector = np.asarray(self.vectors[index] / self.lengths[index] if norm else self.vectors[index]).view()
        vector.setflags(write=False)
        return vector

    def word_vec(self, word: Key, norm: bool = False) -> Float32s:
        """Return ``get_vector(word)``, by gensim's older name."""
        return self.get_vector(word, norm)

    def vector(self, word: Key, *, unseen: Unseen = "error") -> Float32s:
        """Return the vector of ``word``; of a word without one, that of its spelling if ``unseen`` is "spelling".

        A word that was fitted or placed has its own vector either way. One that is neither is a ``KeyError`` unless
        its spelling is asked for, and a word of whose letters nothing is known is one then too.
        """
        if word in self:
            return self.get_vector(word)
        vector: Float32s = self.vectors_of([word], unseen=unseen)[0]
        vector.setflags(write=False)
        return vector

    def vectors_of(self, words: Sequence[Key], *, unseen: Unseen = "error") -> Float32s:
        """Return the vectors (m, d) of ``words``, each as :meth:`vector` finds it."""
        words, spell = listed(words), wants_spelling(unseen)
        ids = np.array([self._id_of(word) for word in words], dtype=np.int64)
        own = ids >= 0
        missing = [words[i] for i in np.flatnonzero(~own).tolist()]
        if not missing:
            return np.asarray(self.vectors[ids])
        if self._kind == TEXT_KEYS:
            demand_words(words)  # says which of them is no word
        if spell:
            spelled = need_subwords(self.subwords).vectors_of([self._form_of(word) for word in missing])
        else:
            spelled = np.zeros((1, self.dim), np.float32)
        untold = np.flatnonzero(~spelled.any(axis=1))
        if untold.size:
            raise MissingWordError(missing[untold[0]], self.closest_spellings, kind=self._kind)
        found = np.empty((len(words), self.dim), np.float32)
        found[own] = np.asarray(self.vectors[ids[own]])
        found[~own] = spelled
        return found

    def get(self, word: Key, default: T | None = None) -> Float32s | T | None:
        """Return the vector of ``word``, or ``default`` if there is none."""
        try:
            return self.get_vector(word)
        except MissingWordError:
            return default

    @checked
    def get_vecattr(self, word: Key, attr: str) -> int | float:
        """Return how often ``word`` was seen (``attr`` "count"), or the deviation of its vector ("deviation")."""
        values = {"count": self.counts, "deviation": self.deviations}.get(attr)
        if values is None:
            raise InputError(
                f"these vectors have no {attr} for each word; those of psdvec have a count and a deviation"
            )
        return cast("int | float", values[self._known_id_of(word)].item())


def listed(words: Iterable[Key]) -> Sequence[Key]:
    """Return ``words`` as they are if they can be read twice, or else a list of them; whoever looks them up checks."""
    return words if isinstance(words, (list, tuple)) else demand_keys(words)
