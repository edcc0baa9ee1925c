"""Words fitted, placed and never seen: ``bench_rare.py``, ``bench_together.py`` and ``bench_calibration.py``."""

from __future__ import annotations

import json
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
    together, split = [line.split(" | ") for line in capsys.readouterr().out.splitlines()[3:]]
    assert (together[0], split[0]) == ("| together", "| `--core 12`")
    assert together[1] == split[1] == "20"
    assert together[6].endswith("(3 of 4)")
    other = tmp_path / "other.txt"
    other.write_text("walk")
    with pytest.raises(InputError, match=r"holds counts of text\.txt, not of other\.txt, text\.txt"):
        run(monkeypatch, bench_growth, other, text, "--work", work, "--words", 20)
    run(monkeypatch, bench_growth, text, "--work", work, "--words", 20, "--dim", 4)
    assert capsys.readouterr().out.splitlines()[-1].startswith("| 20 | 0.0 |")


def test_intervals_of_all_kinds_of_words_are_measured_on_halves(
    text: Path, tmp_path: Path, monkeypatch, capsys
):
    monkeypatch.setattr(bench_calibration, "LINES", 5)
    options = (
        "--million",
        2e-3,
        "--held-out",
        3,
        "--first-rank",
        4,
        "--dim",
        4,
        "--record",
        tmp_path / "r.json",
    )
    run(monkeypatch, bench_calibration, text, *options)
    (found,) = json.loads((tmp_path / "r.json").read_text())["corpora"]
    assert found["unseen"]["words"] == 3
    shares = [share for kind in ("fitted", "placed") for share in found[kind].values()]
    assert all(0 <= share <= 100 for share in shares)
    assert capsys.readouterr().out.count("| text |") == 4


def test_an_article_goes_to_one_half_as_a_whole(tmp_path: Path):
    (tmp_path / "articles").write_text("\n".join(f"a{i}\nb{i}\n" for i in range(8)))
    halves = bench_calibration.write_halves(tmp_path / "articles", tmp_path, words=8)
    first, second = (set(half.read_text().split()) for half in halves)
    assert not first & second
    assert all((f"a{i}" in half) == (f"b{i}" in half) for half in (first, second) for i in range(8))


def test_an_interval_that_holds_everything_holds_all_and_one_of_the_same_vectors_too():
    model = fit(drawn_counts(), dim=5, quiet=True)
    other = fit(drawn_counts(), dim=4, quiet=True)
    unsure = Embeddings(model.words, model.vectors, deviations=np.full(len(model), 1e6, np.float32))
    for first, second in ((unsure, other), (model, model)):
        found = bench_calibration.coverage(first, second, model.words[:9])
        assert found["random"] == found["nearest, as a pair"] == 100
