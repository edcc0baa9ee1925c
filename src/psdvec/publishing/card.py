"""The card of published vectors: what they are, from which text and how, how good, how certain, and how to load them.

:func:`write_card` makes Markdown, with the block of metadata at its top that hubs of models read. Nothing in it is made
up: what is not known of the vectors is left out, or said to be unknown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

import psdvec
from psdvec.formats.model2vec import describe_reach
from psdvec.loading import COUNTED, say_counted
from psdvec.progress import count_of
from psdvec.resources import format_size
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.model import Model
from psdvec.vectors.neighbours import eight_bits_of

CARD = "README.md"
SHOWN = 20  # words with their neighbours
_NEAREST = 5  # neighbours of each
_FIRST = 50  # rank of the first of them, among words enough
# Licences that hubs know, but for those of single models; a card with an identifier that they do not know is refused
_LICENCES = """
afl-3.0 agpl-3.0 apache-2.0 artistic-2.0 bsd bsd-2-clause bsd-3-clause bsd-3-clause-clear bsl-1.0 c-uda cc cc-by-2.0
cc-by-2.5 cc-by-3.0 cc-by-4.0 cc-by-nc-2.0 cc-by-nc-3.0 cc-by-nc-4.0 cc-by-nc-nd-3.0 cc-by-nc-nd-4.0 cc-by-nc-sa-2.0
cc-by-nc-sa-3.0 cc-by-nc-sa-4.0 cc-by-nd-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cc0-1.0 cdla-permissive-1.0
cdla-permissive-2.0 cdla-sharing-1.0 ecl-2.0 epl-1.0 epl-2.0 etalab-2.0 eupl-1.1 eupl-1.2 gfdl gpl gpl-2.0 gpl-3.0
isc lgpl lgpl-2.1 lgpl-3.0 lgpl-lr lppl-1.3c mit mpl-2.0 ms-pl ncsa odbl odc-by ofl-1.1 openrail openrail++ osl-3.0
pddl postgresql unlicense wtfpl zlib other unknown
"""
_BREAKING = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")  # lines, and what is no UTF-8
_SPECIAL = re.compile(r"([\\`*_|<>\[\]#~$])")
_KINDS = {"spearman": "word-similarity", "accuracy": "synonyms", "f1": "token-classification"}

_CITATION = f"""
@software{{psdvec,
  title = {{PSDVec: word vectors from your own text, and new words later}},
  author = {{{{The PSDVec developers}}}},
  version = {{{psdvec.__version__}}}
}}

@article{{li2016psdvec,
  title = {{PSDVec: a Toolbox for Incremental and Scalable Word Embedding}},
  author = {{Li, Shaohua and Zhu, Jun and Miao, Chunyan}},
  journal = {{Neurocomputing}},
  year = {{2016}}
}}
"""


class Loss(NamedTuple):
    """What eight bits lose, measured on ``words``: the mean ``cosine``, and the share of ten nearest words ``kept``."""

    words: int
    cosine: float
    kept: float


@dataclass(frozen=True)
class Described:
    """What a card is about: the ``own`` vectors, and what of them is ``published``; scores are rows of a report."""

    name: str
    own: Embeddings
    published: Embeddings
    license: str | None
    languages: tuple[str, ...]
    scores: Mapping[str, Any] | None
    own_text: str
    loss: Loss | None

    @property
    def is_rounded(self) -> bool:
        """Whether the published vectors are in eight bits, rounded here, with a ``loss``, or given so."""
        return eight_bits_of(self.published.vectors) is not None


def write_card(told: Described, sizes: Mapping[str, int]) -> str:
    """Return the card of a folder whose other files have these ``sizes`` in bytes."""
    sections = {
        "": _what(told),
        "Licence": _licence(told),
        "Text": _text(told.own),
        "Counting and recipe": _recipe(told.own),
        "Scores": _scores(told.scores),
        "How certain": _certainty(told.published),
        "Neighbours": _neighbours(told.published),
        "Size": _size(told, sizes),
        "How to load it": _loading(told, sizes),
        "How to cite": f"```bibtex{_CITATION}```" if isinstance(told.own, Model) else "",
    }
    titled = (f"## {title}\n\n{text}" if title else text for title, text in sections.items() if text)
    return "\n\n".join([_metadata(told), f"# {_plain(told.name)}", *titled]) + "\n"


# The block of metadata: YAML, in which every JSON text is what it is.


def _metadata(told: Described) -> str:
    tags = ["embeddings", "static-embeddings", "word-vectors", "psdvec"]
    if not told.is_rounded:
        tags.append("sentence-transformers")
    lines = [*_language_lines(told.languages), *_licence_lines(told.license)]
    lines += ["library_name: model2vec", f"tags: {json.dumps(tags)}"]
    results = list(_results(told.scores))
    if results:
        index = [{"name": told.name, "results": results}]
        lines.append(f"model-index: {json.dumps(index, ensure_ascii=False)}")
    return "\n".join(["---", *lines, "---"])


def _language_lines(languages: Sequence[str]) -> list[str]:
    """Return the languages as hubs know them: bare codes in one line, those with more to them in another, too."""
    bare = list(dict.fromkeys(language.partition("-")[0] for language in languages))
    longer = [language for language in dict.fromkeys(languages) if "-" in language]
    lines = {"language": bare, "language_bcp47": longer}
    return [f"{name}: {json.dumps(codes)}" for name, codes in lines.items() if codes]


def _licence_lines(license: str | None) -> list[str]:
    """Return a licence as hubs know it, or as another, with a name of the letters that they allow."""
    if license is None:
        return []
    if license.lower() in _LICENCES.split():
        return [f"license: {json.dumps(license.lower())}"]
    name = re.sub(r"[^a-z0-9.]+", "-", license.lower()).strip("-.")
    return ["license: other", *([f"license_name: {json.dumps(name)}"] if name else [])]


def _results(scores: Mapping[str, Any] | None) -> Iterator[dict[str, Any]]:
    """Yield each score that rests on enough items, as hubs read it."""
    for row in _rows(scores):
        if row.value is not None:
            metric = {"type": row.metric, "name": row.metric, "value": round(row.value, 4)}
            if row.low is not None and row.high is not None:
                metric["args"] = {
                    "covered": row.covered, "total": row.total, "low": round(row.low, 4), "high": round(row.high, 4)
                }  # fmt: skip
            yield {
                "task": {"type": _KINDS.get(row.metric, "word-analogy")},
                "dataset": {"type": row.task, "name": row.task},
                "metrics": [metric],
            }


class _Row(NamedTuple):
    """A score of a report; ``value`` is None where there were too few items."""

    task: str
    metric: str
    value: float | None
    low: float | None
    high: float | None
    covered: int | None
    total: int | None


def _rows(scores: Mapping[str, Any] | None) -> list[_Row]:
    found = scores or {"scores": [], "tagging": []}
    own = [
        _Row(
            row["task"], str(row.get("metric")), None if row.get("too_few") else row.get("score"), row.get("low"),
            row.get("high"), row.get("covered"), row.get("total"),
        )
        for row in found["scores"]
    ]  # fmt: skip
    return own + [
        _Row(row["task"], "f1", None if row.get("too_few") else row.get("f1"), None, None, None, None)
        for row in found["tagging"]
    ]


# The sections.


def _plain(text: str) -> str:
    r"""Return ``text`` as Markdown that shows just that.

    >>> print(_plain("a|b_c"))
    a\|b\_c
    """
    return _SPECIAL.sub(r"\\\1", one_line(text))


def one_line(text: str) -> str:
    r"""Return ``text``, such as the name of a file, in one line of UTF-8: what cannot stand there is an escape.

    >>> print(one_line("new\nyork"))
    new\nyork
    """
    return _BREAKING.sub(lambda found: ascii(found[0])[1:-1], text)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> str:
    marks = ["---"] * left + ["---:"] * (len(head) - left)
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, marks, *rows])


def _what(told: Described) -> str:
    e, noun = told.published, told.own.noun
    made = "Vectors of"
    if isinstance(told.own, Model) and not told.own.adopted:
        made = "Vectors learned by weighted low-rank approximation of the PMI matrix:"
    of = f"{made} {count_of(len(e), noun)}, {e.dim} dimensions each. Published with psdvec {psdvec.__version__}."
    joined = ""
    if told.own.phrases is not None and len(told.own.phrases):
        example = told.own.phrases.phrases[0].replace(" ", "_")
        joined = (
            f"Phrases were joined in that text; in others they are found where they stand so: `{example}`."
        )
    return "\n\n".join(filter(None, [of, describe_reach(e), joined, told.own_text]))


def _licence(told: Described) -> str:
    said = "No licence was given with these vectors: ask whoever published them before you use them."
    if told.license is not None:
        said = f"{_plain(told.license)}."
    about = told.own.about if isinstance(told.own, Model) else {}
    if not about:
        return said
    lines = [f"- {_plain(name)}: {_plain(text)}" for name, text in about.items()]
    return "\n".join([f"{said} The model that they were taken from says of itself:\n", *lines])


def _text(own: Embeddings) -> str:
    sources = own.sources if isinstance(own, Model) else ()
    files = [one for source in sources for one in _listed(source, "read")]
    rows = [
        [
            _plain(str(one.get("name", "without a name"))),
            format_size(one["bytes"]) if isinstance(one.get("bytes"), int) else "",
            f"`{one['sha256']}`" if isinstance(one.get("sha256"), str) else "",
        ]
        for one in files
    ]
    grouped = "baskets" if own.noun == "item" else "sentences"
    said = [
        f"The counts '{_plain(str(source.get('counts')))}' are of {source['words']:,} {own.noun}s in "
        f"{source['sentences']:,} {grouped}"
        + (f"; they have the digest `{source['digest']}`." if "digest" in source else ".")
        for source in sources
        if isinstance(source.get("words"), int) and isinstance(source.get("sentences"), int)
    ]
    if not rows and not said:
        return "From which text these vectors were learned is not known."
    return "\n\n".join([*([_table(["file", "size", "SHA-256"], rows, left=3)] if rows else []), *said])


def _listed(source: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = source.get(name)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def _recipe(own: Embeddings) -> str:
    if not isinstance(own, Model):
        return "How they were made is not known."
    counted = [
        f"- {name.replace('_', ' ')}: {_plain(str(say_counted(own.counting[name])))}"
        for name in COUNTED
        if name in own.counting
    ]
    numbers = ", ".join(f"{name} {value}" for name, value in asdict(own.recipe).items())
    fitted = "have scales measured from counts" if own.adopted else "were fitted together"
    placed = f", {len(own) - own.core:,} placed beside them" if len(own) > own.core else ""
    return "\n\n".join(
        [
            "\n".join(counted) or "How pairs were counted is not known.",
            f"{count_of(own.core, own.noun)} {fitted}{placed}, by the recipe *{own.recipe.name}*: {_plain(numbers)}.",
            "How long that took, and in how much memory, is not recorded, since a model has the same bytes each time "
            "it is made.",
        ]
    )


def _scores(scores: Mapping[str, Any] | None) -> str:
    rows = [
        [
            _plain(row.task),
            _plain(row.metric),
            "too few items" if row.value is None else f"{row.value:.3f}",
            f"{row.low:.3f} to {row.high:.3f}" if row.low is not None and row.high is not None else "",
            f"{row.covered:,} of {row.total:,}" if row.covered is not None and row.total is not None else "",
        ]
        for row in _rows(scores)
    ]
    if not rows:
        return ""
    head = ["set", "measure", "score", "95 % interval", "items covered"]
    return (
        f"{_table(head, rows, left=2)}\n\nItems with a word that has no vector are not among those covered."
    )


def _certainty(e: Embeddings) -> str:
    if e.deviations is None or np.isnan(e.deviations).all():
        return "How certain these vectors are is not known."
    thin = int(e.thin_evidence().sum())
    return (
        "Each word has a standard deviation, kept in `psdvec.safetensors`. From it psdvec takes 95 % intervals: "
        "`e.similarity(a, b, interval=True)` of two words, `e.most_similar_intervals(word)` of neighbours. "
        f"{thin:,} of the {len(e):,} words were seen so little that their vectors may point elsewhere. How often such "
        "intervals hold was measured on other texts; the documentation of psdvec says so on its page *How often "
        "intervals hold*."
    )


def _neighbours(e: Embeddings) -> str:
    words = choose_words(e)
    found = e.most_similar_many(words, topn=_NEAREST)
    counts = (
        [""] * len(words) if e.counts is None else [f"{e.get_vecattr(word, 'count'):,}" for word in words]
    )
    rows = [
        [_plain(word), ", ".join(f"{_plain(str(other))} {cosine:.2f}" for other, cosine in ranking), count]
        for word, ranking, count in zip(words, found, counts, strict=True)
    ]
    return f"Of words from frequent to rare:\n\n{_table(['word', 'nearest, with cosines', 'seen'], rows, left=2)}"


def choose_words(e: Embeddings) -> list[str]:
    """Return up to 20 words, at ranks of frequency that grow by the same factor; of letters, if there are so many.

    >>> e = Embeddings(("a", "the", "3", "king"), np.eye(4, dtype=np.float32))
    >>> choose_words(e)
    ['a', 'the', '3', 'king']
    """
    order = range(len(e)) if e.counts is None else np.argsort(-e.counts, kind="stable").tolist()
    ranked = [str(e.words[i]) for i in order]
    long = [word for word in ranked if word.isalpha() and len(word.encode()) > 2]
    ranked = long if len(long) >= SHOWN else ranked
    ranks = np.geomspace(min(_FIRST, max(len(ranked) // SHOWN, 1)), len(ranked), SHOWN)
    return [ranked[rank] for rank in dict.fromkeys((ranks.round().astype(int) - 1).tolist())]


def _size(told: Described, sizes: Mapping[str, int]) -> str:
    table = _table(["file", "size"], [[f"`{name}`", format_size(size)] for name, size in sizes.items()])
    if not told.is_rounded:
        return table
    rounded = "Vectors are kept in eight bits, with a step for each word."
    if told.loss is None:
        return f"{table}\n\n{rounded} They were given so, and what was lost by that is not known."
    words, cosine, kept = told.loss
    return (
        f"{table}\n\n{rounded} On {count_of(words, 'word')}, evenly from the most frequent to the rarest, their mean "
        f"cosine with the exact vectors is {cosine:.5f}, and {100 * kept:.1f} % of the ten nearest words are the same."
    )


def _loading(told: Described, sizes: Mapping[str, int]) -> str:
    has_text = "vectors.vec" in sizes
    place = "folder/vectors.vec" if has_text else "vectors.vec"
    convert = "" if has_text else "psdvec convert folder/ vectors.vec\n"
    code = {
        "psdvec": 'import psdvec\ne = psdvec.load("folder")\ne.most_similar("word")',
        "model2vec": 'from model2vec import StaticModel\nmodel = StaticModel.from_pretrained("folder")',
    }
    if not told.is_rounded:
        code["sentence-transformers"] = (
            'from sentence_transformers import SentenceTransformer\nmodel = SentenceTransformer("folder")'
        )
    first = convert and f"# first: {convert}"
    code["gensim"] = (
        f'{first}from gensim.models import KeyedVectors\nkv = KeyedVectors.load_word2vec_format("{place}")'
    )
    if any(name.startswith("spacy/") for name in sizes):
        code["spaCy"] = 'import spacy\nnlp = spacy.load("folder/spacy")'
    else:
        language = told.languages[0].partition("-")[0] if told.languages else "xx"
        code["spaCy"] = f"{convert}python -m spacy init vectors {language} {place} spacy-vectors"
    if "words.parquet" in sizes:
        code["pandas"] = 'import pandas\nwords = pandas.read_parquet("folder/words.parquet")'
    kinds = {name: "console" if "python -m" in lines else "python" for name, lines in code.items()}
    shown = [f"{name}:\n\n```{kinds[name]}\n{lines}\n```" for name, lines in code.items()]
    if told.is_rounded:
        shown.append(
            "sentence-transformers does not know the steps of vectors in eight bits, and cannot load them."
        )
    if any(name.startswith("projector/") for name in sizes):
        shown.append("TensorBoard: `tensorboard --logdir folder/projector`.")
    return "\n\n".join(shown)
