"""Misuse of the public functions: each call below is refused in one sentence, or right. The tables are the promise."""

from __future__ import annotations

import inspect
import resource
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import psdvec
from psdvec import Cooccurrence, Embeddings, Model, PSDVecError, Recipe, Vocabulary
from psdvec.errors import checked_options
from psdvec.evaluation.tasks import Pairs
from psdvec.formats import load as load_vectors
from psdvec.topic_model.page import sizes_over

TEXT = ["to be or not to be", "the king and the queen are not to be", "the queen is to be the king"] * 3
TASK = Pairs("toy", (("to", "be"), ("king", "queen"), ("the", "king")), np.array([1.0, 3.0, 2.0]))
COUNTS = psdvec.count_pairs(TEXT, min_count=1, window=3, quiet=True)
MODEL = psdvec.fit(COUNTS, dim=3, quiet=True)
PLAIN = Embeddings(MODEL.words, np.array(MODEL.vectors))
TOPICS = psdvec.topics(MODEL, TEXT, 2, min_documents=1, quick=True, quiet=True)
INDEX = psdvec.DocumentIndex.build(TEXT[:3], model=MODEL, quiet=True)
REPORT = psdvec.evaluate(PLAIN, [TASK], resamples=0)

# What an argument can be and seldom should.
WRONG: dict[str, Any] = {
    "None": None, "-1": -1, "0": 0, "1.5": 1.5, "NaN": float("nan"), "infinite": float("inf"), "True": True,
    "a string": "x", "no string": "", "bytes": b"1G", "a NUL": "a\0b", "no list": [], "numbers": [1],
    "a list of None": [None], "an object": object(), "a dictionary": {"x": 1}, "a set": {"x"}, "a function": len,
    "a matrix": sparse.csr_matrix(np.eye(3)), "a vector": np.ones(2), "not numbers": np.full(3, np.nan),
    "an array": np.ones((2, 3)), "a path": Path("nowhere"), "counts": COUNTS, "a model": MODEL, "complex": 1j,
    "NumPy's 2": np.int64(2), "NumPy's 2.0": np.float64(2), "very large": 10**30,
}  # fmt: skip

# Every public function with arguments that are right; each is then given every wrong one in turn.
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "count_words": (psdvec.count_words, {"corpus": TEXT, "min_count": 1, "max_words": None, "workers": 1}),
    "count_pairs": (
        psdvec.count_pairs,
        {"corpus": TEXT, "tokenizer": None, "case": None, "vocabulary": None, "min_count": 1, "max_words": None,
         "window": 2, "weighting": "flat", "gaps": "keep", "memory": None, "workers": 1, "client": None,
         "block_size": None},
    ),
    "find_phrases": (
        psdvec.find_phrases,
        {"corpus": TEXT, "tokenizer": None, "case": None, "min_count": 1, "min_score": 0.1, "fdr": 0.5,
         "max_length": 2, "connectors": None, "memory": None, "workers": 1},
    ),
    "phrases": (psdvec.count_pairs, {"corpus": TEXT, "phrases": None}),
    "Phrases": (psdvec.Phrases, {"phrases": ("to be",), "counts": np.ones(1, int), "scores": np.ones(1), "made": ""}),
    "Phrases.of": (psdvec.Phrases.of, {"phrases": ["to be"]}),
    "Phrases.join": (psdvec.Phrases.of(["to be"]).join, {"words": ["to", "be"]}),
    "cut_by": (psdvec.Phrases.of(["to be"]).cut_by, {"tokenizer": "unicode"}),
    "count_walks": (
        psdvec.count_walks,
        {"edges": [("a", "b")], "directed": False, "window": 2, "weighting": "flat", "walks": 10, "exact": None,
         "nodes": None, "seed": 0, "memory": None, "workers": 1},
    ),
    "from_matrix": (Cooccurrence.from_matrix, {"matrix": np.eye(2), "names": ["a", "b"], "symmetric": False}),
    "from_edges": (Cooccurrence.from_edges, {"edges": [("a", "b")], "directed": False}),
    "place_by_features": (
        psdvec.place_by_features,
        {"model": MODEL, "features": {"to": [1.0], "be": [2.0], "new": [3.0]}, "ridge": 2.0},
    ),
    "change": (
        psdvec.change,
        {"model": MODEL, "documents": None, "by": None, "slices": {"a": ["to be"] * 20, "b": ["be to"] * 20},
         "unit": None, "column": None, "where": None, "window": 2, "min_count": 1, "permutations": 20, "seed": 0,
         "workers": 1},
    ),
    "why": (
        psdvec.why,
        {"model": MODEL, "word": "king", "other": "queen", "counts": COUNTS, "topn": 2, "texts": TEXT, "passages": 1,
         "column": None, "where": None, "encoding": "utf-8"},
    ),
    "association": (
        psdvec.association,
        {"model": MODEL, "documents": TEXT * 3, "targets": {"x": ["the", "and"], "y": ["not", "or"]},
         "attributes": {"a": ["to", "be"], "b": ["king", "queen"]}, "words": ["to"], "lists": None,
         "by": None, "slices": None, "unit": None, "column": None, "where": None, "window": 2, "min_count": 1,
         "permutations": 20, "seed": 0, "workers": 1},
    ),
    "vectorize": (
        psdvec.vectorize,
        {"model": MODEL, "documents": TEXT, "weighting": "sif", "column": None, "id": "id", "where": None,
         "encoding": "utf-8", "tokenizer": None, "unseen": "ignore", "workers": 1},
    ),
    "near_duplicates": (
        psdvec.near_duplicates,
        {"documents": TEXT, "threshold": 0.5, "shingle": 2, "column": None, "id": "id", "where": None,
         "encoding": "utf-8", "tokenizer": "unicode", "workers": 1},
    ),
    "distinctive": (
        psdvec.distinctive,
        {"documents": None, "by": None, "slices": {"a": ["to be"] * 20, "b": ["be or"] * 20}, "model": None,
         "unit": None, "column": None, "where": None, "encoding": "utf-8", "tokenizer": None, "min_documents": 1,
         "prior": 1.0, "permutations": 20, "seed": 0, "workers": 1},
    ),
    "stability": (
        psdvec.stability,
        {"model": MODEL, "documents": ["to be or not to be"] * 20, "column": None, "where": None, "refits": 1,
         "seed": 0, "workers": 1},
    ),
    "merge_counts": (psdvec.merge_counts, {"stores": [COUNTS], "subtract": (), "workers": 1}),
    "fit": (
        psdvec.fit,
        {"counts": COUNTS, "dim": 2, "recipe": "default", "changes": None, "core": None, "max_words": None,
         "min_contexts": 1, "seed": 0, "memory": None, "workers": 1, "device": "cpu", "client": None},
    ),
    "train": (
        psdvec.train,
        {"corpus": TEXT, "min_count": 1, "window": 2, "weighting": "flat", "dim": 2, "seed": 0, "device": "cpu",
         "changes": None, "memory": None, "workers": 1, "tokenizer": None},
    ),
    "extend": (
        psdvec.extend,
        {"model": MODEL, "counts": COUNTS, "recipe": None, "words": None, "refresh": ["to"], "core": None,
         "ridge": None, "damping": None, "unigrams": "corpus", "min_contexts": 1, "workers": 1, "device": "cpu"},
    ),
    "topics": (
        psdvec.topics,
        {"model": MODEL, "documents": TEXT, "topics": 2, "text": None, "by": (), "seed_words": None,
         "min_documents": 1, "quick": True, "seed": 0, "workers": 1},
    ),
    "DocumentIndex.build": (
        psdvec.DocumentIndex.build,
        {"documents": TEXT[:3], "model": PLAIN, "output": None, "column": None, "id": "id", "where": None, "keep": (),
         "encoding": "utf-8", "skip_known": False, "memory": None, "workers": 1, "overwrite": False},
    ),
    "index.add": (
        INDEX.add,
        {"documents": ["new"], "column": None, "id": "id", "where": None, "encoding": "utf-8", "skip_known": True,
         "workers": 1},
    ),
    "index.search": (
        INDEX.search,
        {"question": "king", "topn": 3, "where": None, "exact": False, "why": True, "workers": 1},
    ),
    "evaluate": (
        psdvec.evaluate,
        {"models": PLAIN, "tasks": [TASK], "oov": "skip", "methods": ("3cosadd",), "restrict_vocab": None,
         "resamples": 0, "seed": 0, "common": False},
    ),
    "load": (psdvec.load, {"path": "nowhere", "expected": object}),
    "load vectors": (load_vectors, {"path": "nowhere", "limit": None, "bad_rows": "refuse", "scratch": None}),
    "save": (psdvec.save, {"embeddings": PLAIN, "path": "no/folder", "format": None, "spaces": None}),
    "publish": (
        psdvec.publish,
        {"model": PLAIN, "folder": "out", "formats": (), "name": None, "license": None, "languages": (), "report": None,
         "card": None, "quantize": None, "spaces": None, "overwrite": True},
    ),
    "read_corpus": (
        psdvec.read_corpus,
        {"paths": "nowhere", "tokenizer": "unicode", "case": None, "errors": "replace"},
    ),
    "Embeddings": (
        Embeddings,
        {"words": ("a", "b"), "vectors": np.eye(2), "counts": None, "deviations": None, "tokenizer": None,
         "phrases": None, "subwords": None},
    ),
    "from_counts": (Vocabulary.from_counts, {"counts": {"a": 1}}),
    "Recipe": (Recipe, {name: getattr(Recipe(), name) for name in inspect.signature(Recipe).parameters}),
    "subscript": (lambda word: PLAIN[word], {"word": "to"}),
    "contains": (lambda word: word in PLAIN, {"word": "to"}),
    **{
        name: (getattr(MODEL, name), arguments)
        for name, arguments in {
            "get": {"word": "to"},
            "get_index": {"word": "to", "default": None},
            "fill_norms": {"force": False},
            "get_vector": {"word": "to"},
            "word_vec": {"word": "to"},
            "get_vecattr": {"word": "to", "attr": "count"},
            "get_mean_vector": {"keys": ["to"], "weights": None},
            "look_up": {"word": "to", "unseen": "error"},
            "tokenize": {"text": "to"},
            "select": {"words": ["to"]},
            "take": {"ids": np.array([0])},
            "with_spelled": {"words": ["too"]},
            "vector": {"word": "to", "unseen": "error"},
            "vectors_of": {"words": ["to"], "unseen": "error"},
            "similarity": {"a": "to", "b": "be", "confidence": 0.9, "unseen": "error", "interval": True},
            "distance": {"a": "to", "b": "be", "unseen": "error"},
            "n_similarity": {"first": ["to"], "second": ["be"], "unseen": "error"},
            "wmdistance": {"first": ["to"], "second": ["be"], "norm": True},
            "doesnt_match": {"words": ["to", "be"], "unseen": "error"},
            "rank": {"a": "to", "b": "be"},
            "thin_evidence": {"words": ["to"]},
            "most_similar": {
                "positive": "to", "negative": (), "topn": 3, "restrict_vocab": None, "unseen": "error",
                "clip_start": 0, "clip_end": None,
            },
            "relative_cosine_similarity": {"wa": "to", "wb": "be", "topn": 3},
            "cosine_similarities": {"vector_1": np.ones(3), "vectors_all": np.eye(3)},
            "most_similar_cosmul": {
                "positive": "to", "negative": (), "topn": 3, "restrict_vocab": None, "unseen": "error"
            },
            "analogy": {"a": "to", "b": "be", "c": "king", "method": "3cosadd", "topn": 3},
            "similar_by_word": {"word": "to", "topn": 3, "restrict_vocab": None},
            "similar_by_vector": {"vector": np.ones(3), "topn": 3, "restrict_vocab": None},
            "most_similar_many": {"words": ["to"], "topn": 3, "restrict_vocab": None, "unseen": "error"},
        }.items()
    },
    **{
        f"topics.{name}": (getattr(TOPICS, name), arguments)
        for name, arguments in {
            "top_words": {"topn": 3},
            "transform": {"documents": TEXT, "text": None, "model": None, "workers": 1},
            "chance_of": {"word": "king", "model": None},
            "merge": {"first": 0, "second": 1},
        }.items()
    },
    "report.get": (REPORT.get, {"model": "model", "task": "toy", "metric": None}),
    "report.mean": (REPORT.mean, {"model": "model"}),
}  # fmt: skip
# Flags of the two functions that are called in the innermost loops are not looked at.
UNCHECKED = {("similarity", "interval")}


@pytest.fixture
def little_memory() -> Iterator[None]:
    """Four gigabytes more than now, so that an argument that asks for all of the machine's is named, not killed."""
    kinds = resource.getrlimit(resource.RLIMIT_DATA)
    held = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (held + (4 << 30), kinds[1]))
    yield
    resource.setrlimit(resource.RLIMIT_DATA, kinds)


@pytest.mark.slow
@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("name", CALLS)
def test_no_wrong_argument_ends_in_an_error_that_is_not_ours(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function, right = CALLS[name]
    for argument in right:
        for kind, wrong in WRONG.items() if (name, argument) not in UNCHECKED else ():
            try:
                function(**{**right, argument: wrong})
            except PSDVecError as error:
                said = str(error)
                if "\n" in said or len(said) > 810:
                    pytest.fail(f"{name}({argument}={kind}) says more than a sentence: {said}")
            except Exception as error:
                pytest.fail(f"{name}({argument}={kind}) ends in {type(error).__name__}: {error}")


# The calls that are most often wrong, with what is to be said of them.
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "dim=None": (lambda: psdvec.fit(COUNTS, dim=None), "dim is None; give a whole number"),
    "dim=True": (lambda: psdvec.fit(COUNTS, dim=True), "dim is True; give a whole number"),
    "weighting=3": (lambda: psdvec.count_pairs(TEXT, weighting=3), "weighting is 3; give a string"),
    "memory=b'1G'": (lambda: psdvec.count_pairs(TEXT, memory=b"1G"), "memory is b'1G'; give a number, or a string"),
    "memory=-1": (lambda: psdvec.count_pairs(TEXT, memory=-1), "'-1' is not a size"),
    "rounds=1.5": (lambda: psdvec.fit(COUNTS, changes={"rounds": 1.5}), "rounds is 1.5; give a whole number"),
    "a matrix": (
        lambda: psdvec.fit(sparse.csr_matrix(np.eye(2))),
        r"of type csr_matrix; give Cooccurrence, such as Cooccurrence.from_matrix\(matrix, names\) makes",
    ),
    "load(None)": (lambda: psdvec.load(None), "path is None; give the name of a file or folder"),
    "expected='Model'": (lambda: psdvec.load("nowhere", "Model"), "expected is no class; give one, such as"),
    "load(3)": (lambda: psdvec.load(3), "path is 3; give the name of a file or folder"),
    "overwrite='no'": (lambda: psdvec.save(PLAIN, "x", overwrite="no"), "overwrite is 'no'; give True or False"),
    "safetensors": (
        lambda: psdvec.save(PLAIN, "x", format="safetensors"),
        "there is no format 'safetensors'; choose one of model, text",
    ),
    "one number of merge": (lambda: psdvec.merge_counts([COUNTS, 3]), r"stores\[1\] is 3; give Cooccurrence"),
    "a word of seeds": (
        lambda: psdvec.topics(MODEL, TEXT, 2, seed_words={"rulers": "king"}),
        r"seed_words\['rulers'\] is one string, 'king'; give a list of words, such as \['king'\]",
    ),
    "topn=True": (lambda: MODEL.most_similar("to", topn=True), "topn is True; give a whole number"),
    "restrict_vocab=-1": (lambda: MODEL.most_similar("to", restrict_vocab=-1), "restrict_vocab is -1; give 1 or"),
    "restrict_vocab=0": (lambda: psdvec.evaluate(PLAIN, [TASK], restrict_vocab=0), "restrict_vocab is 0; give 1"),
    "clip_start=-1": (lambda: MODEL.most_similar("to", clip_start=-1), "clip_start -1 and clip_end None leave none"),
    "clip_end=0": (lambda: MODEL.most_similar("to", clip_end=0), "clip_end is 0; give 1 or more"),
    "an empty part": (lambda: MODEL.most_similar("to", clip_start=3, clip_end=2), "leave none of the 10 words"),
    "a part beyond": (lambda: MODEL.most_similar("to", clip_start=99), "give a clip_start from 0 on"),
    "a share of nothing": (
        lambda: MODEL.relative_cosine_similarity("to", "be", topn=0), "the 0 words nearest to 'to' add up to 0"
    ),
    "vectors of two lengths": (
        lambda: MODEL.cosine_similarities(np.ones(2), np.eye(3)), r"vector_1 has shape \(2,\) and vectors_all \(3, 3\)"
    ),
    "vectors of many lengths": (
        lambda: MODEL.cosine_similarities(np.ones(2), [[1, 2], [3]]), "was given as lists of several lengths"
    ),
    "infinite vectors": (
        lambda: MODEL.cosine_similarities(np.ones(2), [[np.inf, 2]]), "numbers that are not finite, or too large"
    ),
    "NaN": (lambda: MODEL.similar_by_vector(np.full(3, np.nan)), "a vector holds a number that is not finite"),
    "a weight of NaN": (lambda: MODEL.most_similar([("to", np.nan)]), "a weight is not a finite number"),
    "too short a vector": (
        lambda: MODEL.most_similar(np.ones(2)),
        r"a vector has shape \(2,\) where words have 3 dimensions; give 3 numbers",
    ),
    "a mask": (lambda: MODEL.take(np.array([True, False])), "ids are True and False; give the ids"),
    "a number": (lambda: MODEL[3], "words is 3; give a list of words"),
    "a number in a list": (lambda: MODEL[["to", 3]], r"words\[1\] is 3; give a string"),
    "an index": (lambda: MODEL.get_vector(3), "3 is no word; give a string"),
    "oov": (lambda: psdvec.evaluate(PLAIN, [TASK], oov="drop"), "oov is 'drop'; choose one of skip, zero"),
    "unseen": (lambda: MODEL.most_similar("to", unseen="x"), "unseen is 'x'; choose"),
    "a count of 1.5": (lambda: Vocabulary.from_counts({"a": 1.5}), "the count of 'a' is 1.5; give a whole number"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_misuse_is_refused_in_one_sentence(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, sentence = REFUSED[name]
    with pytest.raises(PSDVecError, match=sentence):
        call()
    assert not list(tmp_path.iterdir())


def same_model(one: Model, other: Model) -> bool:
    return one == other and one.vectors.tobytes() == other.vectors.tobytes()


def test_integers_of_numpy_are_integers_everywhere(tmp_path):
    numbers = {"window": 2, "min_count": 1, "max_words": 5, "dim": 2, "seed": 3, "workers": 1, "core": 4}
    given = {name: np.int64(number) for name, number in numbers.items()}
    plain = psdvec.train(TEXT, **numbers, output=tmp_path / "plain", quiet=True)
    model = psdvec.train(TEXT, **given, output=tmp_path / "model", keep=tmp_path / "counts", quiet=True)
    assert same_model(plain, model)
    assert same_model(plain, psdvec.load(tmp_path / "model"))
    assert MODEL.most_similar("to", topn=np.int32(2)) == MODEL.most_similar("to", topn=2)
    changed = psdvec.fit(
        COUNTS, dim=2, changes={"rounds": np.int8(2), "power": np.float32(0.5)}, quiet=True
    ).recipe
    assert (type(changed.rounds), type(changed.power)) == (int, float)


def test_whatever_takes_words_takes_them_from_a_generator():
    def words(*given: str) -> Any:
        return (word for word in given)

    assert MODEL.most_similar_many(words("to", "be")) == MODEL.most_similar_many(["to", "be"])
    assert MODEL.most_similar(words("to", "be")) == MODEL.most_similar(["to", "be"])
    assert MODEL.select(words("be", "to")).words == ("be", "to")
    assert MODEL.doesnt_match(words("to", "be", "king")) == MODEL.doesnt_match(["to", "be", "king"])
    assert MODEL.n_similarity(words("to"), words("be")) == MODEL.n_similarity(["to"], ["be"])
    assert MODEL.wmdistance(words("to"), words("be")) == MODEL.wmdistance(["to"], ["be"])
    assert MODEL.get_mean_vector(words("to")).tolist() == MODEL.get_mean_vector(["to"]).tolist()
    assert MODEL.thin_evidence(words("to", "be")).tolist() == MODEL.thin_evidence(["to", "be"]).tolist()
    assert MODEL[words("to", "be")].tolist() == MODEL[["to", "be"]].tolist()
    assert MODEL.with_spelled(words("to", "be")).words == MODEL.words
    assert psdvec.extend(MODEL, COUNTS, refresh=words("to"), quiet=True).refreshed == ("to",)


def test_more_words_to_search_than_there_are_means_all_of_them():
    assert MODEL.most_similar("to", restrict_vocab=10**6) == MODEL.most_similar("to")


def test_counts_are_merged_from_their_folders(tmp_path):
    COUNTS.save(tmp_path / "counts")
    merged = psdvec.merge_counts([tmp_path / "counts", str(tmp_path / "counts")], subtract=[COUNTS])
    assert isinstance(merged, Cooccurrence)
    assert merged.values.tolist() == COUNTS.values.tolist()


def test_counts_with_other_gaps_extend_no_model():
    other = psdvec.count_pairs([*TEXT, "the new words"], min_count=1, window=3, gaps="close", quiet=True)
    with pytest.raises(
        PSDVecError, match="with gaps keep, these counts with close; count again with gaps keep"
    ):
        psdvec.extend(MODEL, other, quiet=True)


def test_a_ridge_may_be_a_number():
    one, other = (
        psdvec.extend(MODEL, COUNTS, refresh=["to"], ridge=ridge, quiet=True) for ridge in (2.0, "2.0")
    )
    assert one == other


def test_one_word_is_refused_whatever_the_recipe():
    for recipe in ("default", "paper"):
        with pytest.raises(PSDVecError, match="only one word is to be fitted, and it says nothing by itself"):
            psdvec.train(["a a a a"], min_count=1, recipe=recipe, quiet=True)
    with pytest.raises(PSDVecError, match="no two different words were seen together other than by chance"):
        psdvec.train(["a a a", "b b b"], min_count=1, recipe="paper", quiet=True)


def test_dimensions_that_the_text_cannot_fill_are_told_once(caplog):
    caplog.set_level("INFO", logger="psdvec")
    model = psdvec.train(["a b"] * 5, min_count=1, dim=300)
    said = [line for line in caplog.messages if "dimensions" in line]
    assert said == [
        "2 words of this text fill only 1 of the 300 dimensions asked for, and all further numbers of each vector are "
        "0; ask for 1, or give more text"
    ]
    assert model.rows.any(axis=0).sum() == 1
    caplog.clear()
    psdvec.fit(COUNTS, dim=2)
    assert not [line for line in caplog.messages if "dimensions" in line]


YEARS = replace(TOPICS, fields={"year": tuple(str(1900 + i) for i in range(len(TEXT)))})


@pytest.mark.parametrize(
    "value",
    [COUNTS, COUNTS.vocabulary, PLAIN, MODEL, TOPICS, sizes_over(YEARS, "year"), REPORT, Recipe(),
     psdvec.read_corpus(__file__)],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_a_value_is_shown_in_a_line_and_in_a_small_table(value):
    assert repr(value).startswith(type(value).__name__ + "(")
    assert len(repr(value)) < 400
    assert "\n" not in repr(value)
    assert value._repr_html_().startswith("<table>")
    assert len(value._repr_html_()) < 1500


def test_what_is_shown_of_words_moves_no_cursor():
    shown = Vocabulary.from_counts({"\x1b]0;title\x07<b>": 2})
    assert "\x1b" not in repr(shown)
    assert "\\x1b]0;title\\x07&lt;b&gt;" in shown._repr_html_()


def test_options_of_an_unknown_name_pass_unchecked_to_whoever_knows_them():
    assert checked_options(psdvec.fit, {"dim": np.int64(2), "other": None}) == {"dim": 2, "other": None}
