"""Words fitted, placed and never seen: ``bench_rare.py``, ``bench_together.py`` and ``bench_calibration.py``."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.bench import bench_calibration, bench_growth, bench_rare, bench_together
from benchmarks.studies.nine_sets import named_tasks
from hypothesis import given
from hypothesis import strategies as st

from psdvec.errors import InputError
from psdvec.evaluation.tasks import Pairs
from psdvec.solver.extend import extend
from psdvec.solver.fit import fit
from psdvec.vectors.embeddings import Embeddings
from tests.toy import drawn_counts

WORDS = st.sampled_from("abcdefgh")


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Sentences of words with common stems and endings, some frequent and some rare."""
    rng = np.random.default_rng(0)
    words = [
        stem + end for end in ("", "s", "ed", "ing") for stem in ("walk", "talk", "jump", "play", "climb")
    ]
    chance = 1 / np.arange(1, len(words) + 1)
    lines = rng.choice(words, size=(300, 8), p=chance / chance.sum())
    path = tmp_path / "text.txt"
    path.write_text("\n".join(" ".join(line) for line in lines))
    return path


def run(monkeypatch: pytest.MonkeyPatch, script, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmark", *map(str, arguments)])
    script.main()


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=30))
def test_every_pair_is_of_one_kind_that_does_not_depend_on_its_order(items):
    task = Pairs("x", tuple(items), np.arange(float(len(items))))
    states = bench_rare.state_of(fitted="abc", occurring="def")
    parts = bench_rare.by_kind(task, states)
    assert sorted(item for part in parts.values() for item in part.items) == sorted(items)
    turned = Pairs("x", tuple((b, a) for a, b in items), task.gold)
    assert {kind: part.gold.tolist() for kind, part in parts.items()} == {
        kind: part.gold.tolist() for kind, part in bench_rare.by_kind(turned, states).items()
    }


def test_kinds_are_named_from_the_best_known_word_to_the_least_known():
    task = Pairs("x", (("c", "A"), ("b", "a"), ("a", "a"), ("d", "b")), np.arange(4.0))
    parts = bench_rare.by_kind(task, bench_rare.state_of(fitted="a", occurring="b"))
    assert {kind: part.gold.tolist() for kind, part in parts.items()} == {
        "both fitted": [2.0],
        "fitted, placed": [1.0],
        "fitted, unseen": [0.0],
        "placed, unseen": [3.0],
    }


def test_a_pair_without_a_vector_counts_among_all_pairs_and_not_among_the_covered():
    e = Embeddings(tuple("abc"), np.array([[1, 0], [1, 0.1], [1, 1]], np.float32))
    pairs = Pairs("x", (("a", "b"), ("a", "c"), ("a", "z")), np.array([2.0, 1.0, 3.0]))
    assert bench_rare.correlation(e, pairs) == (100.0, 2)
    assert bench_rare.correlation(e, pairs, oov="zero") == (-50.0, 2)


def test_spelling_covers_the_pairs_that_placing_leaves_out(text: Path, tmp_path: Path, monkeypatch, capsys):
    (tmp_path / "luong_rare.txt").write_text(
        "walk talk 8\nwalk walking 9\nclimbing climbed 7\nclimber walked 3\njumper talker 2\n"
    )
    run(monkeypatch, bench_rare, text, tmp_path, "--words", 12, "--dim", 4)
    lines = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("| ")
    ]
    assert lines[0] == [
        "", "covered", "all (5)", "both fitted (1)", "fitted, placed (1)", "fitted, unseen (1)", "both placed (1)",
        "both unseen (1)",
    ]  # fmt: skip
    covered = {name: cells[0].partition(" ")[2] for name, *cells in lines[1:]}
    assert covered == {
        "spelling off": "(1)",
        "spelling off, placed": "(3)",
        "spelling alone": "(5)",
        "placed and spelling": "(5)",
    }


@pytest.mark.slow
def test_words_fitted_together_and_words_placed_are_counted_once_and_both_scored(
    text: Path, tmp_path: Path, monkeypatch, capsys
):
    (tmp_path / "luong_rare.txt").write_text(
        "walk talk 8\nwalk walking 9\nclimbing climbed 7\nclimber jumper 2\n"
    )
    monkeypatch.setattr(bench_together, "nine_tasks", lambda folder: named_tasks(["rare-words"], folder))
    work = tmp_path / "work"
    run(monkeypatch, bench_together, tmp_path, text, "--work", work, "--words", 20, "--core", 12, "--dim", 4)
    together, split = [line.split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    assert (together[0], split[0]) == ("| together", "| --core 12")
    assert together[1] == split[1] == "20"
    assert together[6].endswith("(3 of 4)")
    other = tmp_path / "other.txt"
    other.write_text("walk")
    with pytest.raises(InputError, match=r"holds counts of text\.txt, not of other\.txt, text\.txt"):
        run(monkeypatch, bench_growth, other, text, "--work", work, "--words", 20)
    run(monkeypatch, bench_growth, text, "--work", work, "--words", 20, "--dim", 4)
    assert capsys.readouterr().out.splitlines()[-1].startswith("| 20 | 0.0 |")


def test_both_kinds_of_deviation_are_measured_on_words_left_out(text: Path, monkeypatch, capsys):
    run(monkeypatch, bench_calibration, text, "--words", 20, "--held-out", 6, "--first-rank", 4, "--dim", 4)
    out = capsys.readouterr().out
    assert "placed: 6 words; 4 dimensions" in out
    assert "unseen: 6 words of whose spelling something is known" in out
    assert out.count("is told: spread") == 3


def test_a_placed_word_lies_within_an_interval_that_holds_everything_and_outside_one_that_holds_nothing():
    counts = drawn_counts()
    model = fit(counts, dim=5, max_words=50, quiet=True)
    placed = extend(model, counts, words=counts.vocabulary.words[50:52], quiet=True)
    spelled = model.with_spelled(placed.learned)
    places = bench_calibration.at_random(model, placed.learned)
    for deviation, share in ((1e6, 1.0), (1e-9, 0.0)):
        sure = Embeddings(
            spelled.words, spelled.vectors, deviations=np.full(len(spelled), deviation, np.float32)
        )
        found = bench_calibration.within(sure, placed, placed.learned, places)
        assert found.tolist() == [share, share]


def test_the_nearest_core_word_of_a_vector_is_the_one_it_belongs_to():
    model = fit(drawn_counts(), dim=5, quiet=True)
    assert bench_calibration.nearest(model, model.vectors[:9])[:, 0].tolist() == list(range(9))
