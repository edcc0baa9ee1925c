"""New words can be placed beside vectors that psdvec did not fit: their scales are measured from the counts."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from psdvec import formats, load
from psdvec.counts.matrix import Cooccurrence
from psdvec.errors import InputError
from psdvec.options import make_recipe
from psdvec.solver.extend import extend
from psdvec.solver.fit import fit
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.model import Model
from psdvec.vectors.neighbours import sparse_vectors
from tests.reference import ridge as ridge_reference
from tests.solver.test_extend import dense_cells, vectors_of
from tests.toy import drawn_counts

CORE = 40


@pytest.fixture(scope="module")
def counts() -> Cooccurrence:
    return drawn_counts(words=70, sentences=1500, topics=3, weighting="flat")


@pytest.fixture(scope="module")
def model(counts) -> Model:
    return fit(counts, dim=8, max_words=CORE, recipe="paper")


@pytest.fixture(scope="module")
def bare(model) -> Embeddings:
    return Embeddings(model.words, model.vectors)


def original_text(vectors: Embeddings) -> str:
    """Vectors as the original's factorize.py writes them: numbers of words and dimensions, then five decimals."""
    rows = zip(vectors.words, vectors.vectors.tolist(), strict=True)
    lines = [" ".join([word, *(f"{number:.5f}" for number in row)]) for word, row in rows]
    return "\n".join([f"{len(vectors)} {vectors.dim}", *lines, ""])


def test_bare_vectors_are_extended_as_the_model_that_they_came_from(model, bare, counts):
    ours, theirs = extend(model, counts), extend(bare, counts)
    assert theirs.words == ours.words
    assert theirs.vectors.tobytes() == ours.vectors.tobytes()
    assert theirs.row_sums.tolist() == ours.row_sums.tolist()
    assert theirs.constants == ours.constants
    assert theirs.recipe == ours.recipe
    assert theirs.adopted
    assert not ours.adopted


def test_vectors_in_the_original_text_are_extended_to_its_rounding(model, counts, tmp_path):
    (tmp_path / "core.vec").write_text(original_text(model))
    ours, theirs = extend(model, counts), extend(tmp_path / "core.vec", counts)
    assert theirs.words == ours.words
    np.testing.assert_allclose(theirs.vectors[:CORE], ours.vectors[:CORE], atol=6e-6)
    np.testing.assert_allclose(theirs.vectors[CORE:], ours.vectors[CORE:], atol=2e-5)


@pytest.mark.parametrize("name", ["v.vec", "v.txt.gz", "v.bin", "v.npz", "folder"])
def test_vectors_in_any_format_are_extended_alike(bare, counts, tmp_path, name):
    bare.save(tmp_path / name)
    found = extend(tmp_path / name, counts)
    assert found == extend(bare, counts)
    assert found.sources[0] == {"vectors": name}


def test_the_original_can_read_the_vectors_that_are_written(model, tmp_path):
    """Its reader wants a first line of two numbers, and cuts the others at single blanks."""
    model.save(tmp_path / "core.vec")
    first, *lines = (tmp_path / "core.vec").read_text().splitlines()
    assert re.fullmatch(r"(\d+) (\d+)", first).groups() == (str(CORE), "8")
    fields = [line.split(" ") for line in lines]
    assert [word for word, *_ in fields] == list(model.words)
    numbers = np.array([[float(number) for number in row] for _, *row in fields], np.float32)
    assert numbers.tobytes() == model.vectors.tobytes()


@pytest.mark.parametrize("recipe", ["default", "paper"])
def test_old_rows_stay_bit_identical(bare, counts, recipe):
    extended = extend(bare, counts, recipe=recipe)
    assert extended.vectors[:CORE].tobytes() == bare.vectors.tobytes()
    assert extended.words == counts.vocabulary.words


@pytest.mark.parametrize("recipe", ["default", "paper"])
def test_a_then_b_equals_a_and_b_together(bare, counts, recipe, tmp_path):
    first, second = counts.vocabulary.words[CORE:55], counts.vocabulary.words[55:]
    extend(bare, counts, recipe=recipe, words=first).save(tmp_path / "between")
    steps = extend(tmp_path / "between", counts, words=second)
    together = extend(bare, counts, recipe=recipe)
    assert vectors_of(steps, together.words).tobytes() == together.vectors.tobytes()


def test_the_result_is_a_model_that_comes_back_from_disk(bare, counts, tmp_path):
    extended = extend(bare, counts, output=tmp_path / "model")
    found = load(tmp_path / "model")
    assert isinstance(found, Model)
    assert found == extended
    assert found.adopted
    assert repr(found).endswith("recipe paper, scales measured 40 words)")


@pytest.mark.parametrize("recipe", ["default", "paper"])
def test_the_solution_is_that_of_the_dense_normal_equations(bare, counts, recipe):
    word = counts.vocabulary.words[CORE + 5]
    found = extend(bare, counts, words=[word], recipe=recipe, ridge="2")
    cells = dense_cells(found, counts, counts.vocabulary.ids[word], CORE)
    x = ridge_reference.solve(cells, ridge=2.0, damping=make_recipe(recipe).damping)
    np.testing.assert_allclose(found.vectors[-1], x[:8], rtol=1e-3, atol=1e-4)


def test_a_signed_recipe_leaves_unseen_pairs_to_the_constant_direction(bare, counts):
    assert not extend(bare, counts, recipe="paper").constant.any()
    found = extend(bare, counts, recipe="default")
    np.testing.assert_allclose(-(found.constant**2), np.log(found.constants.smoothing), rtol=1e-6)


def test_words_that_the_counts_lack_keep_their_vectors_and_change_nothing(bare, counts):
    stranger = np.full((1, 8), 100, np.float32)
    mixed = Embeddings(
        (*bare.words[:7], "stranger", *bare.words[7:]),
        np.concatenate([bare.vectors[:7], stranger, bare.vectors[7:]]),
    )
    without, found = extend(bare, counts), extend(mixed, counts)
    assert found.core == CORE
    assert found.words[CORE] == "stranger"
    assert found["stranger"].tobytes() == stranger.tobytes()
    assert vectors_of(found, without.words).tobytes() == without.vectors.tobytes()


def test_only_the_first_words_are_solved_against_on_demand(bare, counts):
    few = extend(bare.take(slice(20)), counts, words=counts.vocabulary.words[CORE:])
    assert extend(bare, counts, core=20).vectors[CORE:].tobytes() == few.vectors[20:].tobytes()


def test_what_is_known_of_the_words_is_kept(bare, counts):
    known = replace(bare, counts=np.arange(CORE)[::-1])
    assert extend(known, counts).counts[:CORE].tolist() == list(range(CORE))[::-1]
    assert extend(bare, counts).counts.tolist() == counts.vocabulary.counts.tolist()


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"words": tuple(f"x{i}" for i in range(CORE))}, {}, "no word in common; give counts of the same language"),
        ({"tokenizer": "paper"}, {}, 'cut with tokenizer paper, that of the counts with whitespace; count again with'),
        ({}, {"recipe": "none such"}, "there is no recipe 'none such'"),
        ({"vectors": np.zeros((CORE, 8), np.float32)}, {}, "all vectors of the model are zero"),
        ({"vectors": sparse_vectors(sparse.csr_array(np.eye(CORE, dtype=np.float32)))}, {}, "sparse vectors cannot be"),
    ],
)  # fmt: skip
def test_vectors_that_do_not_fit_are_refused(bare, counts, change, options, message):
    with pytest.raises(InputError, match=message):
        extend(replace(bare, **change), counts, **options)


def test_a_model_keeps_its_own_recipe(model, counts):
    with pytest.raises(InputError, match="the model has its own recipe, paper; leave recipe out"):
        extend(model, counts, recipe="default")


def test_a_tokenizer_that_is_not_known_agrees_with_any(bare, counts):
    unknown = replace(counts, parameters={**counts.parameters, "tokenizer": "unknown"})
    half = extend(bare, unknown, words=counts.vocabulary.words[CORE:50])
    assert extend(half, counts).vectors.tobytes() == extend(bare, counts).vectors.tobytes()


def test_the_command_says_what_was_measured(run, bare, counts, tmp_path):
    counts.save(tmp_path / "counts")
    mixed = Embeddings((*bare.words, "stranger"), np.concatenate([bare.vectors, bare.vectors[:1]]))
    formats.save(mixed, tmp_path / "core.vec")
    output = tmp_path / "model"
    code, out, _ = run(
        "extend", tmp_path / "core.vec", tmp_path / "counts", "-o", output, "--recipe", "paper"
    )
    assert code == 0
    assert f"the scales of 40 words were measured from {tmp_path / 'counts'}, with the recipe paper\n" in out
    assert "words of the vectors that the counts lack, and that no word is solved against: 1\n" in out
    assert "30 words learned, 0 refreshed\n" in out
    code, out, _ = run("info", output)
    assert "71: 40 with scales measured from counts, 31 others" in out
    assert "the vectors 'core.vec', the counts 'counts'" in " ".join(out.split())
    code, out, _ = run("extend", output, tmp_path / "counts", "-o", tmp_path / "larger")
    assert "nothing to learn" in out
    assert "measured" not in out
