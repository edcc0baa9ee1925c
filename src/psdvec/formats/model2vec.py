"""The folder that model2vec and sentence-transformers load: tensors, a tokenizer, and their settings.

It holds ``model.safetensors``, ``tokenizer.json`` (one token per word), ``config.json``, ``modules.json`` and
``README.md``. Those programs take the mean of the words' vectors as the vector of a text, without the words that are
not in the vocabulary.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from psdvec.arrays import Array
from psdvec.counts.vocabulary import WordList
from psdvec.errors import InputError
from psdvec.formats.word2vec import ReadingRules, VectorFormat, keep_good_rows
from psdvec.progress import Progress
from psdvec.storage.artefact import check_folder_output, map_safetensors, parse_json, write_safetensors
from psdvec.storage.files import replaced_folder
from psdvec.text.tokenizers import is_custom, split_words
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.neighbours import eight_bit_vectors, eight_bits_of

# The ``tokenizer.json`` of the package tokenizers: our tokenizers in its language, and words read from its files.

UNKNOWN = "[UNK]"  # stands for unknown words, with as many _ after it as make it none of the words

_LOWERCASE = {"type": "Lowercase"}
_PAPER_WORD = "[a-z]+(?:'[a-z]+)*"
_BETWEEN_BLANKS = r"[^\x00-\x20]+"
_WORD_OR_SIGNS = re.compile(r"\w+|[^\w\s]+")  # what the pre-tokenizer Whitespace keeps


def describe_tokenizer(words: Sequence[str], tokenizer: str | None) -> dict[str, Any]:
    """Return the contents of ``tokenizer.json`` for ``words``, the unknown one last; ``tokenizer`` cut their text.

    Where that is not known, texts are cut at blanks and around punctuation, and put into lower case if every word is.
    """
    if tokenizer == "unicode":
        normalizer, pre_tokenizer = _fold_case(words), _keep(_unicode_word())
    elif tokenizer == "unicode-cased":
        normalizer, pre_tokenizer = None, _keep(_unicode_word())
    elif tokenizer == "paper":
        normalizer, pre_tokenizer = _keep_ascii(), _keep(_PAPER_WORD)
    elif tokenizer == "whitespace":
        normalizer, pre_tokenizer = None, _keep(_BETWEEN_BLANKS)
    else:
        normalizer = _LOWERCASE if all(word == word.lower() for word in words[:-1]) else None
        pre_tokenizer = {"type": "Whitespace"}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
        "normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "post_processor": None, "decoder": None,
        "model": {
            "type": "WordLevel", "vocab": {word: i for i, word in enumerate(words)}, "unk_token": words[-1]
        },
    }  # fmt: skip


def unreachable_words(words: Sequence[str], tokenizer: str | None) -> list[str]:
    """Return the words that a text cannot lead to, as they are cut when they stand in it.

    >>> unreachable_words(["king", "u.s", "3.5"], None), unreachable_words(["king", "u.s", "3.5"], "unicode")
    (['u.s', '3.5'], [])
    """
    if tokenizer is None or is_custom(tokenizer):
        return [word for word in words if _WORD_OR_SIGNS.findall(word) != [word]]
    return [word for word in words if split_words(word, tokenizer=tokenizer) != [word]]


class Tokens(NamedTuple):
    """What a ``tokenizer.json`` tells: tokens by id, the id of the unknown one, and which of our tokenizers it is."""

    words: list[str]
    unknown: int | None
    tokenizer: str | None


def read_tokens(path: Path) -> Tokens:
    """Read a ``tokenizer.json``, ours or another's; the ids of its tokens are 0, 1, 2 and so on, each given once."""
    try:
        settings = parse_json(path.read_text(encoding="utf-8"))
        vocabulary = settings["model"]["vocab"]
        if isinstance(vocabulary, list):  # Unigram: pairs of a token and its score
            vocabulary = {token: i for i, (token, _) in enumerate(vocabulary)}
        vocabulary = dict(vocabulary)
        for added in settings.get("added_tokens") or []:
            vocabulary.setdefault(added["content"], added["id"])
        unknown = vocabulary.get(settings["model"].get("unk_token"))
        name = _recognise(settings.get("pre_tokenizer"), settings.get("normalizer"))
        return Tokens(_by_id(vocabulary), unknown, name)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"'{path}' does not describe a tokenizer ({error}); get it again") from error


def _by_id(vocabulary: dict[Any, Any]) -> list[str]:
    """Return the tokens in the order of their ids; a gap, or an id given twice, would give a word another's vector."""
    tokens: list[str | None] = [None] * len(vocabulary)
    for token, i in vocabulary.items():
        is_new = type(i) is int and 0 <= i < len(tokens) and tokens[i] is None
        if not is_new or not isinstance(token, str):
            raise ValueError(
                f"token {str(token)[:40]!r} has the id {str(i)[:20]}, and {len(tokens)} tokens have those from 0 to "
                f"{len(tokens) - 1}, each its own"
            )
        tokens[i] = token
    return cast("list[str]", tokens)


def _recognise(pre_tokenizer: Any, normalizer: Any) -> str | None:
    """Return our tokenizer that cuts by ``pre_tokenizer``; its pattern is compared, which nobody else writes."""
    if pre_tokenizer in (_keep(_PAPER_WORD), _keep(_BETWEEN_BLANKS)):
        return "paper" if pre_tokenizer == _keep(_PAPER_WORD) else "whitespace"
    is_ours = isinstance(pre_tokenizer, dict) and pre_tokenizer.get("type") == "Split"
    if not is_ours or pre_tokenizer != _keep(_unicode_word()):
        return None
    return "unicode-cased" if normalizer is None else "unicode"


def _keep(pattern: str) -> dict[str, Any]:
    """Keep what ``pattern`` matches, each match a word, and nothing else."""
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Removed", "invert": True}


def _replace(old: dict[str, str], new: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": old, "content": new}


def _keep_ascii() -> dict[str, Any]:
    """Make a typographic apostrophe a plain one, other letters than a to z blanks, and capitals small."""
    apostrophe = _replace({"String": "\N{RIGHT SINGLE QUOTATION MARK}"}, "'")
    blanks = _replace({"Regex": r"[^\x00-\x7F]"}, " ")
    return {"type": "Sequence", "normalizers": [apostrophe, blanks, _LOWERCASE]}


def _fold_case(words: Iterable[str]) -> dict[str, Any]:
    """Fold case; a letter whose folded form is in no word is left alone, since no word is lost by that."""
    used = set().union(*words)
    letters = (chr(i) for i in range(0x110000) if not 0xD800 <= i < 0xE000)
    folded = {letter: letter.casefold() for letter in letters if letter == letter.lower()}
    changed = [
        _replace({"String": old}, new) for old, new in folded.items() if old != new and used.issuperset(new)
    ]
    return {"type": "Sequence", "normalizers": [_LOWERCASE, *changed]}


def _unicode_word() -> str:
    """Return the pattern of a word by Unicode Standard Annex 29, as the kernel of the tokenizer."""
    from psdvec.text import tokenizer_kernels as roles

    def one_of(*wanted: int) -> str:
        return _character_class(np.isin(roles.word_break_roles(), wanted))

    ignored = f"{one_of(roles.TRANSPARENT)}*"
    letter, number = one_of(roles.LETTER, roles.HEBREW), one_of(roles.NUMBER)
    hebrew, connector = one_of(roles.HEBREW), f"(?:{one_of(roles.CONNECTOR)}{ignored})"
    in_letters = one_of(roles.MID_LETTER, roles.MID_BOTH, roles.SINGLE_QUOTE)
    in_numbers = one_of(roles.MID_NUMBER, roles.MID_BOTH, roles.SINGLE_QUOTE)
    unit = (
        f'(?:{hebrew}{ignored}"{ignored}(?={hebrew})'
        f"|{letter}{ignored}(?:{in_letters}{ignored}(?={letter}))?"
        f"|{number}{ignored}(?:{in_numbers}{ignored}(?={number}))?)"
    )
    part = f"(?>{unit}+|(?:{one_of(roles.KATAKANA)}{ignored})+)"
    quoted = (
        f"{unit}*{hebrew}{ignored}'(?!{ignored}{letter})"  # a word ends with the quote after a Hebrew letter
    )
    alone = f"{one_of(roles.ALONE)}{ignored}"
    return f"{connector}*(?:{part}{connector}+)*(?:{quoted}|{part}{connector}*)|{alone}"


def _character_class(members: np.ndarray[Any, np.dtype[np.bool_]]) -> str:
    """Return the class of the code points that are True in ``members``."""
    edges = np.flatnonzero(np.diff(members.astype(np.int8), prepend=0, append=0)).reshape(-1, 2)
    ranges = (
        f"\\x{{{first:X}}}" + (f"-\\x{{{last:X}}}" if last > first else "")
        for first, last in ((begin, end - 1) for begin, end in edges.tolist())
    )
    return f"[{''.join(ranges)}]"


FACTS = "psdvec.safetensors"  # in a published folder: what psdvec knows of each word
FACT_TYPES = {"counts": np.int64, "deviations": np.float32}
_TENSORS = ("embeddings", "embedding.weight")
_FILES = {"model.safetensors", "tokenizer.json", "config.json", "modules.json", "README.md"}
_TITLE = "# Word vectors made by psdvec"
_CARD = f"""---
library_name: model2vec
tags: [embeddings, static-embeddings, sentence-transformers, psdvec]
---

{_TITLE}

{{words}} words, {{dim}} dimensions. Load them with `StaticModel.from_pretrained(folder)` of model2vec,
or with `SentenceTransformer(folder)` of sentence-transformers.

{{reach}}
"""


def is_model2vec(path: Path) -> bool:
    """Say whether ``path`` is a folder of this kind."""
    return (
        any((folder / "tokenizer.json").is_file() for folder in _folders(path))
        and not (path / "meta.json").is_file()
    )


def check_model2vec_output(path: Path, *, overwrite: bool) -> None:
    """Raise :class:`InputError` if a folder of this kind must not be written to ``path``."""
    check_folder_output(path, _foreign_in, what="a Model2Vec folder of psdvec", overwrite=overwrite)


def _foreign_in(folder: Path) -> Path | None:
    """Return what psdvec did not write: ``folder`` itself, or something in it; None if all of it is ours."""
    card = folder / "README.md"
    if not card.is_file() or _TITLE.encode() not in card.read_bytes() or not is_model2vec(folder):
        return folder
    return next((each for each in sorted(folder.iterdir()) if each.name not in _FILES or each.is_dir()), None)


def write_model2vec(embeddings: Embeddings, path: Path, *, overwrite: bool = False) -> None:
    """Write ``embeddings`` as a Model2Vec folder at ``path``.

    Texts are cut into words as the vectors' own text was; where that is not known, at blanks and around punctuation,
    and in lower case if every word of the vocabulary is. ``README.md`` in the folder says how many words cannot be
    found in a text.
    """
    check_model2vec_output(path, overwrite=overwrite)
    demand_single_words(embeddings.words)
    with replaced_folder(path, overwrite=overwrite) as folder:
        write_static_files(embeddings, folder)
        card = _CARD.format(
            words=f"{len(embeddings):,}", dim=embeddings.dim, reach=describe_reach(embeddings)
        )
        (folder / "README.md").write_text(card, encoding="utf-8", newline="\n")
        if overwrite:  # again: something may have been put into it meanwhile
            check_model2vec_output(path, overwrite=True)


def demand_single_words(words: Iterable[str]) -> None:
    """Raise :class:`InputError` where one of ``words`` is none that a tokenizer of this kind can look up."""
    for word in words:
        if not word or word.split() != [word]:
            raise InputError(
                f"the word {word!r} is empty or holds a space, and a Model2Vec folder looks up single words; "
                'write another character instead of spaces, as with spaces="_"'
            )
    WordList.pack(words)  # refuses a word that is no text


def read_model2vec(path: Path, *, rules: ReadingRules, progress: Progress) -> Embeddings:
    """Read a static folder of Model2Vec or sentence-transformers; a quantised vocabulary is expanded."""
    folder = next(folder for folder in _folders(path) if (folder / "tokenizer.json").is_file())
    tensors = map_safetensors(folder / "model.safetensors")
    matrix = next((tensors[name] for name in _TENSORS if name in tensors), None)
    if matrix is None or matrix.ndim != 2:
        raise InputError(
            f"'{folder / 'model.safetensors'}' holds {sorted(tensors)} but no matrix 'embeddings'; "
            "give a folder that model2vec made"
        )
    tokens = read_tokens(folder / "tokenizer.json")
    words = tokens.words
    vectors = _expand(matrix, tensors.get("mapping"), tensors.get("weights"), len(words), path)
    is_ours = tokens.unknown == len(words) - 1 and words[-1].rstrip("_") == UNKNOWN
    if is_ours and np.count_nonzero(vectors[-1]) == 0:
        words, vectors = words[:-1], vectors[:-1]
    known: dict[str, Any] = _read_facts(path / FACTS, len(words))
    embeddings = Embeddings(tuple(words), vectors, **known, tokenizer=tokens.tokenizer)
    return keep_good_rows(embeddings, f"'{path}'", rules.bad_rows, progress)


def _read_facts(path: Path, n: int) -> dict[str, Array]:
    """Return what a published folder tells of each of its ``n`` words: counts and deviations."""
    if not path.is_file():
        return {}
    known = {name: array for name, array in map_safetensors(path).items() if name in FACT_TYPES}
    for name, array in known.items():
        if (
            array.shape != (n,)
            or array.dtype != FACT_TYPES[name]
            or (array < 0).any()
            or np.isinf(array).any()
        ):
            raise InputError(f"'{path}' is damaged: its {name} are not one number per word; get it again")
    return known


def _expand(matrix: Array, mapping: Array | None, weights: Array | None, n: int, path: Path) -> Array:
    """Return the vectors of ``n`` tokens: the rows that ``mapping`` names, each times its weight."""
    parts = (matrix if mapping is None else mapping, weights)
    found = [len(each) for each in parts if each is not None and each.ndim]
    if any(length != n for length in found):
        raise InputError(
            f"'{path}' is damaged: it has {n} tokens and {' or '.join(map(str, found))} vectors; get it again"
        )
    if mapping is not None:
        is_whole = mapping.ndim == 1 and mapping.dtype.kind in "iu"
        if not is_whole or not ((mapping >= 0) & (mapping < len(matrix))).all():
            raise InputError(
                f"'{path}' is damaged: its mapping names other rows than the {len(matrix)} that it has; get it again"
            )
        matrix = matrix[mapping]
    if weights is None:
        return matrix
    if weights.ndim != 1 or weights.dtype.kind != "f":
        raise InputError(f"'{path}' is damaged: it does not hold one weight per token; get it again")
    if matrix.dtype == np.int8:
        return eight_bit_vectors(matrix, np.asarray(weights, np.float32))
    with np.errstate(over="ignore", invalid="ignore"):
        return matrix * weights[:, None]


def _folders(path: Path) -> tuple[Path, Path]:
    return path, path / "0_StaticEmbedding"


def write_static_files(embeddings: Embeddings, folder: Path) -> None:
    """Write what both programs load into ``folder``: single words and their vectors, in eight bits if they are so.

    model2vec multiplies each row by its weight. sentence-transformers does not, and in eight bits the file by which it
    would take the folder for its own is left out.
    """
    rounded = eight_bits_of(embeddings.vectors)
    tensors: dict[str, Array] = {"embeddings": embeddings.vectors}
    if rounded is not None:
        tensors = {"embeddings": rounded.codes, "weights": rounded.steps}
    write_safetensors(folder / "model.safetensors", tensors, zero_rows=1)
    unknown = UNKNOWN
    while unknown in embeddings:
        unknown += "_"
    config = {
        "model_type": "model2vec", "architectures": ["StaticModel"], "hidden_dim": embeddings.dim,
        "normalize": False, "embedding_dtype": "float32" if rounded is None else "int8",
    }  # fmt: skip
    module = {"idx": 0, "name": "0", "path": ".", "type": "sentence_transformers.models.StaticEmbedding"}
    files = {
        "tokenizer.json": describe_tokenizer([*embeddings.words, unknown], embeddings.tokenizer),
        "config.json": config,
        **({"modules.json": [module]} if rounded is None else {}),
    }
    for name, value in files.items():
        text = json.dumps(value, ensure_ascii=False, indent=1)
        (folder / name).write_text(f"{text}\n", encoding="utf-8", newline="\n")


def describe_reach(embeddings: Embeddings) -> str:
    """Say how texts are cut there, and which words cannot be found in them."""
    how, found = "at blanks and around punctuation", "Every word can be found in a text"
    if embeddings.tokenizer is not None and not is_custom(embeddings.tokenizer):
        how = f"by psdvec's tokenizer `{embeddings.tokenizer}`, as the text of the vectors was"
    lost = unreachable_words(embeddings.words, embeddings.tokenizer)
    if lost:
        examples = ", ".join(f"`{word}`" for word in lost[:5])
        found = f"{len(lost):,} of the words cannot be found in a text, such as {examples}"
    return f"Texts are cut into words {how}. {found}."


MODEL2VEC = VectorFormat(
    "model2vec", (), is_model2vec, read_model2vec, write_model2vec, check_model2vec_output, is_folder=True
)
