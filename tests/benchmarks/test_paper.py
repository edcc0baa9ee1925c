"""Text that is generated, and what is measured on it: ``benchmarks/lib/generate.py`` and ``bench_paper.py``."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from benchmarks.bench import bench_generated, bench_paper
from benchmarks.lib import generate
from benchmarks.lib.generate import read_source, text_of

from tests.benchmarks.test_rare import run


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    """2,000 lines of words whose frequencies fall as those of text do."""
    drawn = np.random.default_rng(0).zipf(1.6, size=(2_000, 10)) % 5_000
    path = tmp_path_factory.mktemp("corpus") / "text.txt"
    letters = np.array(list("abcdefghij"))
    path.write_text(
        "\n".join(" ".join("".join(letters[list(map(int, str(n)))]) for n in line) for line in drawn)
    )
    return path


@pytest.fixture(scope="module")
def source(corpus: Path) -> generate.Source:
    return read_source([corpus])


def text(source: generate.Source, words: int, **options) -> bytes:
    return b"".join(part.tobytes() for part in text_of(source, words, **options))


def test_a_seed_gives_the_same_bytes_by_any_number_of_threads_and_another_seed_others(source, monkeypatch):
    monkeypatch.setattr(generate, "BLOCK", 3_000)
    one = text(source, 20_000, seed=1, workers=1)
    assert one == text(source, 20_000, seed=1, workers=3)
    assert one != text(source, 20_000, seed=2, workers=3)


@pytest.mark.parametrize("words", [1, 2_999, 3_000, 7_001])
def test_a_text_has_as_many_words_as_were_asked_for_and_ends_its_last_line(source, monkeypatch, words: int):
    monkeypatch.setattr(generate, "BLOCK", 3_000)
    written = text(source, words)
    assert len(written.split()) == words
    assert written.endswith(b"\n")
    assert b"\n\n" not in written
    assert b"  " not in written


def test_every_word_of_the_source_can_occur_and_most_words_are_as_frequent_as_there(source, corpus):
    read = Counter(corpus.read_text().split())
    written = Counter(text(source, 2_000_000).decode().split())
    assert set(read) <= set(written)
    for word, count in read.most_common(5):
        assert written[word] / 2_000_000 == pytest.approx(count / read.total(), rel=0.1)


def test_words_and_pairs_go_on_growing_where_the_source_ends(source):
    tokens = source.tokens.size
    words = text(source, 16 * tokens).split()
    different = [len(set(words[: k * tokens])) for k in (1, 4, 16)]
    pairs = [len(set(pairwise(words[: k * tokens]))) for k in (1, 4, 16)]
    for sizes in (different, pairs):
        slopes = np.diff(np.log(sizes)) / np.log(4)
        assert (slopes > 0.2).all(), sizes
        assert (slopes < 1).all(), sizes
    assert different[-1] > source.counts.size


def test_made_up_words_of_different_ranks_are_spelled_differently(source):
    room = np.zeros(20, np.uint8)
    ranks = [*range(3_000), *(2**30 + n for n in range(-1_000, 1_000)), 2**39]
    spelled = {bytes(room[: generate._spell(rank, source.pieces, room, 0)]) for rank in ranks}
    assert len(spelled) == len(ranks)
    assert {len(word) for word in spelled} == {9, 12}


def test_a_text_of_one_word_is_a_source_too(tmp_path: Path):
    (tmp_path / "one.txt").write_text("rose")
    assert len(text(read_source([tmp_path / "one.txt"]), 50).split()) == 50


@pytest.mark.slow
def test_a_run_is_killed_and_given_again_and_its_steps_are_done_once(
    corpus: Path, tmp_path: Path, monkeypatch, capsys
):
    sizes = ("--words-of-text", "3e4", "--words", 40, 60, 90, "--dim", 4)
    options = ("--work", tmp_path, *sizes, "--memory", "1G")
    steps = ("--steps", "count", "core", "extend", "together", "train", "--record", tmp_path / "r.json")
    run(monkeypatch, bench_paper, corpus, *options, *steps, "--again")
    record = json.loads((tmp_path / "r.json").read_text())
    steps_done = "; ".join(step["step"] for step in record["steps"])
    assert (
        steps_done == "generate; count; fit, core; extend, ridge 2; extend, ridge 4; fit, all together; train"
    )
    assert all(step["digest"] == step["again"]["digest"] for step in record["steps"][1:])
    assert all(step["memory"] > 0 for step in record["steps"])
    kept = (tmp_path / "steps.jsonl").read_text()
    run(monkeypatch, bench_paper, corpus, *options, *steps, "--again")
    assert (tmp_path / "steps.jsonl").read_text() == kept
    assert capsys.readouterr().out.count("| fit, core | 40 |") == 2
    run(monkeypatch, bench_paper, corpus, *options, *steps, "--so-far", "--kill", "core=9")
    assert "fit, core" not in capsys.readouterr().out


@pytest.mark.slow
def test_texts_are_measured_beside_real_ones_of_the_same_size(
    corpus: Path, tmp_path: Path, monkeypatch, capsys
):
    places = ("--work", tmp_path, "--record", tmp_path / "r.json")
    run(monkeypatch, bench_generated, corpus, *places, "--parts", 4, 1, "--times", 2, "--memory", "1G")
    texts = json.loads((tmp_path / "r.json").read_text())["texts"]
    real, whole, first, foretold, same, twice = texts
    assert [text["text"] for text in texts] == ["real"] * 2 + ["from the first"] * 2 + ["from all"] * 2
    assert [text["tokens"] for text in (first, foretold, same, twice)] == [
        real["tokens"], whole["tokens"], whole["tokens"], 2 * whole["tokens"],
    ]  # fmt: skip
    assert whole["words"] == len(set(corpus.read_text().split()))
    assert capsys.readouterr().out.count("| from all | 0.0 |") == 2
