"""What chooses a setting is never reported: the parts of ``benchmarks/studies/split.py``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.studies import split
from benchmarks.studies.nine_sets import nine_tasks, score
from hypothesis import given
from hypothesis import strategies as st

from psdvec.errors import InputError
from psdvec.evaluation.evaluate import evaluate
from psdvec.evaluation.tasks import Analogies, Choices, Pairs
from psdvec.evaluation.testsets import CATALOGUE, NOT_IN_PAPER
from psdvec.vectors.embeddings import Embeddings

WORDS = st.sampled_from("abcdefgh")
ITEMS = st.lists(st.tuples(WORDS, WORDS, WORDS, WORDS), max_size=40)


def parts(task):
    return [split.part_of(task, side) for side in (split.DEVELOPMENT, split.REPORTED)]


@given(ITEMS)
def test_no_pair_of_words_of_an_analogy_is_in_both_parts(items):
    task = Analogies("x", tuple(items), ("all",) * len(items))
    pairs = [{pair for item in part.items for pair in split.pairs_of(item)} for part in parts(task)]
    assert not pairs[0] & pairs[1]


@given(ITEMS)
def test_every_analogy_keeps_its_place_and_its_section(items):
    task = Analogies("x", tuple(items), tuple(map(str, range(len(items)))))
    for side, part in enumerate(parts(task)):
        places = [int(section) for section in part.sections]
        assert all(place % 2 == side for place in places)
        assert [items[place] for place in places] == list(part.items)


def test_an_analogy_and_its_reverse_have_the_same_pairs():
    assert split.pairs_of(("good", "better", "rough", "rougher")) == split.pairs_of(
        ("Better", "good", "rougher", "rough")
    )


@given(st.integers(0, 30))
def test_every_pair_and_every_choice_is_in_exactly_one_part(size):
    items = tuple((f"a{i}", f"b{i}") for i in range(size))
    first, second = parts(Pairs("x", items, np.arange(float(size))))
    assert (first.items, second.items) == (items[::2], items[1::2])
    assert (first.gold.tolist(), second.gold.tolist()) == ([*range(0, size, 2)], [*range(1, size, 2)])
    assert [part.items for part in parts(Choices("x", items))] == [items[::2], items[1::2]]


def test_every_set_outside_the_paper_says_whether_anything_was_chosen_on_it():
    assert set(split.USED) == NOT_IN_PAPER
    assert not {Path(name).stem for name in split.UNTOUCHED} & {entry.name for entry in CATALOGUE}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a small file for every set of the catalogue, and no other place to look."""
    monkeypatch.delenv("PSDVEC_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    lines = {
        "similarity": "a b 1\nb c 2\nc d 3\na d 4\n",
        "synonyms": "a | b | c | d\nb | a | c | nothing\n",
        "analogies": "a b c d\nb a d c\nb c d a\n",
    }
    for entry in CATALOGUE:
        (tmp_path / entry.files[0]).write_text(lines[entry.kind] * 30)
    for name, kind in zip(split.UNTOUCHED, ("similarity", "analogies"), strict=True):
        (tmp_path / name).write_text(lines[kind] * 30)
    return tmp_path


def test_points_are_those_of_evaluate_for_synonyms_too(folder: Path):
    """A question with a choice that has no vector is left out, as ``psdvec evaluate`` leaves it out."""
    e = Embeddings(tuple("abcd"), np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32))
    tasks = nine_tasks(folder)
    report = evaluate(e, tasks, resamples=0)
    assert score(e, tasks)["TFL"] == 100 * report.get("model", "toefl").value
    assert score(e, tasks)["mean"] == pytest.approx(100 * report.mean("model"))


def test_a_mean_over_fewer_sets_than_its_name_says_is_refused(folder: Path):
    assert len(split.untouched_tasks(folder)) == 2
    (folder / "EN-TOEFL-80.txt").unlink()
    with pytest.raises(InputError, match=r"not on this machine: toefl; put them into"):
        split.development_tasks(folder)
    (folder / "yp-130.txt").unlink()
    with pytest.raises(InputError, match=r"lacks yp-130.txt; put them there"):
        split.untouched_tasks(folder)
