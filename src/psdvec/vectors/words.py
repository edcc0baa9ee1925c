"""Words in an order: which there are, which id each has, and how they are spelled.

A word as it is written is found or not; a word in a text, or one that a person typed, goes through the tokenizer of the
vectors' own text first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from psdvec.errors import InputError, MissingWordError, checked
from psdvec.text.tokenizers import split_runs, split_words
from psdvec.vectors.spelling import closest_spellings
from psdvec.vectors.subwords import Unseen, wants_spelling


class WordIndex:
    """What :class:`~psdvec.vectors.embeddings.Embeddings` knows of its ``words`` without their vectors.

    ``tokenizer`` names how their text was cut, and is None where that is not known.
    """

    words: Sequence[str]
    tokenizer: str | None

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        try:
            return word in self.key_to_index
        except TypeError:  # a list, for one, can be no key
            return False

    @property
    def index_to_key(self) -> Sequence[str]:
        """The words, in the order of their ids."""
        return self.words

    @cached_property
    def key_to_index(self) -> dict[str, int]:
        """The id of every word."""
        ids = {word: i for i, word in enumerate(self.words)}
        if len(ids) < len(self.words):
            twice = next(word for i, word in enumerate(self.words) if ids[word] != i)
            raise InputError(f"the word '{twice}' has two vectors; keep only one of them")
        return ids

    def get_index(self, word: str) -> int:
        """Return the id of ``word``; the error for a missing word names the closest spellings."""
        try:
            return self.key_to_index[word]
        except (KeyError, TypeError):
            raise MissingWordError(word, self.closest_spellings) from None

    @checked
    def look_up(self, word: str, *, unseen: Unseen = "error") -> str:
        """Return ``word`` as it is in the vocabulary: as it is written or else as the tokenizer writes it.

        Subscripts and questions such as ``most_similar`` take words as they are written. ``m[m.look_up("King")]`` is
        for words that people type: a model that folds case finds ``king``, and ``u.s`` for ``U.S.``. A word that is in
        the vocabulary in neither form is an error or, with ``unseen="spelling"``, comes back as it would be spelled
        there: as the tokenizer writes it, if it takes it for one word.

        >>> import numpy as np
        >>> from psdvec.vectors.embeddings import Embeddings
        >>> e = Embeddings(("king", "u.s"), np.eye(2, dtype=np.float32), tokenizer="unicode")
        >>> e.look_up("King"), e.look_up("U.S.")
        ('king', 'u.s')
        >>> e.look_up("Kingmaker", unseen="spelling")
        'kingmaker'
        """
        spell, found = wants_spelling(unseen), self._known_form(word)
        if found is None and not spell:
            raise MissingWordError(word, self.closest_spellings)
        return self._only_form(word) if found is None else found

    @checked
    def tokenize(self, text: str) -> list[str]:
        """Return the words of ``text``, cut as the text of the vectors was, whether they have vectors or not.

        Without a ``tokenizer``, words are runs of letters, digits and inner apostrophes, in lower case if no word of
        the vocabulary has a capital.

        >>> import numpy as np
        >>> from psdvec.vectors.embeddings import Embeddings
        >>> vectors = np.ones((1, 2), dtype=np.float32)
        >>> Embeddings(("king",), vectors).tokenize("King of the U.S.")
        ['king', 'of', 'the', 'u', 's']
        >>> Embeddings(("king",), vectors, tokenizer="unicode").tokenize("King of the U.S.")
        ['king', 'of', 'the', 'u.s']
        """
        if self.tokenizer is not None:
            return split_words(text, tokenizer=self.tokenizer)
        return split_runs(text if self.has_capitals else text.lower())

    @cached_property
    def has_capitals(self) -> bool:
        """Whether any word changes when it is put into lower case."""
        return any(word != word.lower() for word in self.words)

    @checked
    def closest_spellings(self, word: str) -> list[str]:
        """Return a few words that are spelled like ``word``, first the one that :meth:`look_up` finds."""
        found = self._known_form(word)
        near = closest_spellings(word, self.words, self.key_to_index)
        return near if found is None else list(dict.fromkeys([found, *near]))[: max(len(near), 1)]

    def _known_form(self, word: str) -> str | None:
        """Return the only word that ``word`` is read as, if it is known."""
        form = word if word in self else self._only_form(word)
        return form if form in self else None

    def _only_form(self, word: str) -> str:
        """Return ``word`` as the tokenizer writes it if it takes it for one word, otherwise as it is."""
        forms = self.tokenize(word)
        return forms[0] if len(forms) == 1 else word
