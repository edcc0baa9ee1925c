"""Runs that can be killed and go on, and settings that exist: ``benchmarks/studies/ablation.py`` and ``search.py``."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
from benchmarks.lib import measure
from benchmarks.lib.corpora import count_once
from benchmarks.lib.records import Records
from benchmarks.studies import ablation, search

from psdvec.errors import InputError, PSDVecError
from psdvec.methods import METHODS
from psdvec.options import RECIPES, Recipe, make_recipe


def test_the_rows_of_the_ablation_are_all_that_the_two_recipes_do_differently():
    differing = {
        field.name
        for field in fields(Recipe)
        if getattr(RECIPES["default"], field.name) != getattr(RECIPES["paper"], field.name)
    }
    assert {name for row in ablation.DEPARTURES for name in row.settings} == differing


@pytest.mark.parametrize("recipe", ablation.OTHER)
def test_no_two_rows_of_an_ablation_are_the_same_fit(recipe: str):
    rows = list(ablation.variants(recipe))
    fits = {(make_recipe(recipe, **row.changes), tuple(row.counting.items()), row.third) for row in rows}
    assert len(fits) == len({row.name for row in rows}) == len(rows)


def test_every_method_has_six_tries_at_most_each_with_settings_that_it_has():
    searched = {name for name, method in METHODS.items() if method.base is None or name == "sparse"}
    assert set(search.SETTINGS) == searched - {"psd-unreg", "psd-original", "psdvec-plain"}
    for name, tries in search.SETTINGS.items():
        described = [search.describe(settings) for settings in tries]
        assert len(set(described)) == len(tries) <= 6
        for settings in tries:
            search.sort_settings(name, settings)


def test_the_window_is_counted_where_it_is_no_setting_of_the_method():
    assert search.sort_settings("svd", {"window": 2, "power": 0.0}) == (
        {"window": 2, "weighting": "linear", "gaps": "close"},
        {"power": 0.0},
    )
    assert search.sort_settings("skipgram", {"window": 2}) == ({}, {"window": 2})
    with pytest.raises(InputError, match="svd has no setting 'epochs'"):
        search.sort_settings("svd", {"epochs": 2})


def test_the_best_try_of_a_method_is_that_of_the_highest_mean_if_it_has_one():
    means = [("svd", 2.0), ("glove", 9.0), ("svd", float("nan")), ("svd", 3.0)]
    tries = [
        search.Try(name, {}, {"points": {"development": {"mean": mean}}}, Path()) for name, mean in means
    ]
    assert search.best_of("svd", tries).mean == 3.0
    with pytest.raises(InputError, match="put word2vec among --methods too"):
        search.best_of("word2vec", tries)


def test_a_command_that_fails_ends_in_its_last_sentence(tmp_path: Path):
    with pytest.raises(PSDVecError, match=r"failed: .*there is no file"):
        measure.run([*measure.PSDVEC, "count", tmp_path / "nowhere.txt", "-o", tmp_path / "counts"])


def test_the_best_settings_of_a_search_are_those_that_a_comparison_takes():
    record = {
        "tries": [
            {"method": "svd", "settings": settings, "points": {"development": {"mean": mean}}}
            for settings, mean in (({"window": 2}, 1.0), ({"window": 5, "add_contexts": True}, 2.0))
        ]
    }
    assert search.best_settings(record) == ["svd.add_contexts=true"]


def test_a_result_is_found_again_even_after_a_line_that_was_cut_short(tmp_path: Path):
    path = tmp_path / "work" / "results.jsonl"
    first, second = {"seed": 0, "dim": 2}, {"seed": 1, "dim": 2}
    Records(path).add(first, {"mean": 1.0})
    with path.open("a") as file:
        file.write('{"key": {"se')
    records = Records(path)
    assert records.find(second) is None
    records.add(second, {"mean": 2.0})
    again = Records(path)
    assert (again.find({"dim": 2, "seed": 0}), again.find(second)) == ({"mean": 1.0}, {"mean": 2.0})


def test_counts_are_made_once_and_those_of_another_corpus_are_refused(tmp_path: Path):
    text = tmp_path / "text.txt"
    text.write_text("To be, or not to be.\n" * 5)
    folder = count_once(text, tmp_path, tokenizer="paper", words=9, window=2)
    text.unlink()
    assert count_once(text, tmp_path, tokenizer="paper", words=9, window=2) == folder
    with pytest.raises(
        InputError, match=r"holds counts of text\.txt, not of other\.txt; give another --work"
    ):
        count_once(tmp_path / "other.txt", tmp_path, tokenizer="paper", words=9, window=2)
