"""``dim="auto"``: as many dimensions as two halves of the counts agree on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import psdvec
from psdvec.cli import app
from psdvec.counts.count import count_pairs
from psdvec.counts.matrix import UNIT, half_of, pair_weights
from psdvec.errors import InputError
from psdvec.options import Fitting
from psdvec.solver import fit as fit_module
from psdvec.solver.fit import fit, plan_fit
from tests.helpers import Watched, cells
from tests.toy import drawn_counts

PLAIN = {"spelling": 0}


def baskets(
    categories: int, *, items: int, number: int, strays: float = 0.2, seed: int = 0
) -> list[list[str]]:
    """Draw baskets of 3 to 8 items, most of them from one category or two."""
    rng, size, found = np.random.default_rng(seed), items // categories, []
    for _ in range(number):
        own = rng.choice(categories, size=rng.integers(1, min(categories, 2) + 1), replace=False)
        drawn = rng.choice(own, size=rng.integers(3, 9)) * size
        drawn += rng.integers(size, size=drawn.size)
        stray = rng.random(drawn.size) < strays
        found.append([f"i{i:04d}" for i in np.where(stray, rng.integers(items, size=drawn.size), drawn)])
    return found


def counted(categories: int, *, weighting: str = "flat", **how):
    return count_pairs(baskets(categories, **how), window=50, weighting=weighting, min_count=1, quiet=True)


def chosen(counts, **options) -> int:
    return fit(counts, dim="auto", **{"changes": PLAIN, "quiet": True, **options}).dim


@pytest.mark.parametrize("weighting", ["flat", "harmonic"])
@pytest.mark.parametrize("categories", [4, 10, 20])
def test_as_many_categories_as_baskets_have_are_found(categories, weighting):
    found = chosen(counted(categories, items=400, number=6000, weighting=weighting))
    assert categories - 2 <= found <= categories + 2


@pytest.mark.parametrize("weighting", ["flat", "harmonic"])
def test_noise_alone_fills_few_dimensions(weighting):
    assert chosen(counted(1, items=300, number=5000, weighting=weighting)) <= 2


def test_fewer_dimensions_are_better_with_little_data():
    counts = counted(10, items=200, number=500)
    models = [fit(counts, dim=dim, changes=PLAIN, quiet=True) for dim in ("auto", 100)]
    few, many = (same_category(model, size=20) for model in models)
    assert few > many + 0.1


def same_category(model, *, size: int) -> float:
    """Return the share of the five nearest items of each item that are of its category."""
    near = [(word, other) for word in model.words for other, _ in model.most_similar(word, topn=5)]
    return float(np.mean([int(one[1:]) // size == int(other[1:]) // size for one, other in near]))


def test_no_more_dimensions_than_asked_or_than_words(monkeypatch):
    counts = counted(20, items=400, number=6000)
    monkeypatch.setattr("psdvec.options.DIM", 7)
    assert chosen(counts) == 7
    monkeypatch.undo()
    assert 1 <= chosen(drawn_counts(words=5, topics=2)) <= 5


@pytest.mark.parametrize("recipe", ["default", "paper"])
def test_the_number_and_the_vectors_are_those_of_any_threads(recipe, tmp_path):
    counts = counted(10, items=200, number=1000)
    counts.save(tmp_path / "counts")
    one, many = (
        fit(source, dim="auto", recipe=recipe, workers=workers, quiet=True)
        for source, workers in ((counts, 1), (tmp_path / "counts", 4))
    )
    assert one.vectors.tobytes() == many.vectors.tobytes()
    assert one.vectors.tobytes() == fit(counts, dim=one.dim, recipe=recipe, quiet=True).vectors.tobytes()


def test_it_is_said_once_and_kept_with_the_model(tmp_path):
    watched = Watched()
    model = fit(counted(4, items=40, number=500), dim="auto", output=tmp_path / "model", progress=watched)
    said = [text for text in watched.heard if "two halves" in text]
    assert said == [f"{model.dim} dimensions: two halves of the counts agree on no more"]
    assert psdvec.load(tmp_path / "model").dim == model.dim


def test_an_interrupted_fit_goes_on_with_the_same_number(tmp_path, all_rounds_kept):
    counts = counted(4, items=40, number=500)
    with pytest.raises(KeyboardInterrupt):
        fit(counts, dim="auto", output=tmp_path / "model", progress=Watched(stop_at="round 3"))
    again = fit(counts, dim="auto", output=tmp_path / "model", progress=(watched := Watched()))
    assert watched.rounds[0] == 3
    assert again.vectors.tobytes() == fit(counts, dim="auto", quiet=True).vectors.tobytes()


@pytest.mark.parametrize("text", [["to be or not to be"], ["a b"], ["a b c"] * 3])
def test_one_sentence_is_enough(text):
    model = psdvec.train(text, min_count=1, dim="auto", quiet=True)
    assert 1 <= model.dim <= len(model)


def test_of_many_words_the_most_frequent_are_compared(monkeypatch):
    counts = counted(4, items=200, number=4000)
    monkeypatch.setattr(fit_module, "CELLS", 2000)
    n = fit_module._words_compared(counts, len(counts))
    among = [sum(j < n + more for i in range(n + more) for j in row(counts, i)) for more in (0, 1)]
    assert among[0] <= 2000 < among[1]
    assert 2 <= chosen(counts) <= 6


def row(counts, i: int) -> list[int]:
    return counts.indices[counts.indptr[i] : counts.indptr[i + 1]].tolist()


@pytest.mark.parametrize("weighting", ["flat", "harmonic", "linear"])
def test_two_halves_add_up_to_the_counts(weighting):
    counts = drawn_counts(weighting=weighting, window=7)
    one, other = (cells(half_of(counts, len(counts), seed=3, other=other)) for other in (False, True))
    assert {pair: one.get(pair, 0) + other.get(pair, 0) for pair in one | other} == cells(counts)
    assert min(*one.values(), *other.values()) > 0
    assert sum(one.values()) == pytest.approx(sum(other.values()), rel=0.1)


def test_what_was_seen_once_or_twice_is_split_into_just_that():
    counts = count_pairs(["a b", "c d e", "c d x e"], window=3, min_count=1)
    for seed in range(10):
        found = cells(half_of(counts, len(counts), seed=seed))
        assert found.get(("a", "b"), 0) in (0, UNIT)
        assert found.get(("c", "e"), 0) in (0, UNIT // 3, UNIT // 2, UNIT // 3 + UNIT // 2)


def test_halves_vary_as_if_every_meeting_were_tossed_for():
    weights = pair_weights(20, "harmonic")
    counts = drawn_counts(words=2, topics=1, window=20)
    drawn = np.random.default_rng(0).choice(weights, size=300)
    counts = replace(
        counts,
        indptr=np.array([0, 0, 1]),
        indices=np.zeros(1, np.int32),
        values=np.array([drawn.sum()]),
    )
    halves = [cells(half_of(counts, 2, seed=seed)).get(("w1", "w0"), 0) for seed in range(400)]
    assert np.mean(halves) == pytest.approx(drawn.sum() / 2, rel=0.05)
    assert np.std(halves) == pytest.approx(np.sqrt(np.sum(drawn.astype(float) ** 2)) / 2, rel=0.25)


def test_counts_that_do_not_say_how_they_were_made_are_split_by_whole_numbers():
    counts = replace(count_pairs(["a b"] * 4, min_count=1), parameters={"tokenizer": "unknown", "unit": UNIT})
    assert all(value % UNIT == 0 for value in cells(half_of(counts, 2, seed=1)).values())


def test_another_word_than_auto_is_refused():
    for call in (lambda: Fitting(dim="many"), lambda: fit(drawn_counts(), dim="many")):
        with pytest.raises(InputError, match="dim is 'many'; give a whole number, or \"auto\""):
            call()
    with pytest.raises(InputError, match=r'dim is 2\.5; give a whole number, or "auto"'):
        fit(drawn_counts(), dim=2.5)


def test_the_command_takes_auto(tmp_path, caplog):
    caplog.set_level("INFO", logger="psdvec")
    counted(4, items=40, number=500).save(tmp_path / "counts")
    command = ["fit", str(tmp_path / "counts"), "-o", str(tmp_path / "model"), "--dim"]
    planned = CliRunner().invoke(app, [*command, "auto", "--dry-run"])
    assert planned.output.splitlines()[:3] == plan_fit(tmp_path / "counts", dim="auto")[:3]
    assert "in at most 300 dimensions, at most " in planned.output
    done = CliRunner().invoke(app, [*command, "auto"])
    dim = psdvec.load(tmp_path / "model").dim
    assert f"{dim} dimensions: two halves of the counts agree on no more" in caplog.messages
    assert f"40 vectors of {dim} dimensions written to" in done.output
    wrong = CliRunner().invoke(app, [*command, "many"])
    assert wrong.exit_code == 2
    other = CliRunner().invoke(app, [*command, "auto", "--method", "svd", "--overwrite"])
    assert "dim is 'auto'; give a whole number" in str(other.exception)
