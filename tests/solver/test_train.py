"""Training in one call: whatever the text is in, with every option of every stage, in memory or on disk."""

from __future__ import annotations

import inspect
import logging

import numpy as np
import pytest

from psdvec.counts.count import count_pairs
from psdvec.errors import InputError
from psdvec.loading import load
from psdvec.progress import LogProgress
from psdvec.solver.fit import fit
from psdvec.solver.train import train
from psdvec.text.corpus import read_corpus
from tests.helpers import Watched

_RNG = np.random.default_rng(0)
LINES = [" ".join(f"w{i}" for i in _RNG.zipf(1.5, 20) if i < 40) for _ in range(300)]


@pytest.fixture
def file(tmp_path):
    (tmp_path / "small.txt").write_text("\n".join(LINES))
    return tmp_path / "small.txt"


def test_a_name_texts_words_and_a_generator_give_the_same_model_in_memory(file, monkeypatch):
    monkeypatch.chdir(file.parent)
    expected = fit(count_pairs(read_corpus(file)), dim=4)
    for corpus in ("small.txt", LINES, [line.split() for line in LINES], (line for line in LINES)):
        model = train(corpus, dim=4)
        assert model.words == expected.words
        assert model.vectors.tobytes() == expected.vectors.tobytes()
    assert [path.name for path in file.parent.iterdir()] == ["small.txt"]


def test_a_model_in_memory_is_the_one_on_disk(file, tmp_path):
    written = train(file, dim=4, output=tmp_path / "model")
    assert train(file, dim=4).vectors.tobytes() == written.vectors.tobytes()
    assert load(tmp_path / "model").vectors.tobytes() == written.vectors.tobytes()


def test_options_of_every_stage_reach_it(file):
    counting = {"min_count": 2, "max_words": 20, "window": 3, "weighting": "flat", "gaps": "close"}
    fitting = {
        "dim": 3,
        "core": 10,
        "seed": 5,
        "recipe": "default",
        "changes": {"rounds": 2},
        "min_contexts": 2,
    }
    by_hand = fit(count_pairs(read_corpus(file, tokenizer="whitespace"), **counting), **fitting)
    model = train(file, tokenizer="whitespace", **counting, **fitting)
    assert model.words == by_hand.words
    assert model.vectors.tobytes() == by_hand.vectors.tobytes()


def test_defaults_are_those_of_the_stages():
    shown = inspect.signature(train).parameters
    for function in (count_pairs, fit):
        for name, option in inspect.signature(function).parameters.items():
            if name in shown and option.kind is option.KEYWORD_ONLY:
                assert shown[name].default == option.default or name == "progress", name
    reading = [name for name in inspect.signature(read_corpus).parameters if name != "paths"]
    assert {shown[name].default for name in reading} == {None}, "a corpus that is read already has its own"
    assert {"dim", "window", "min_count", "max_words", "tokenizer", "quiet", "output", "keep"} <= set(shown)


def test_a_misspelt_option_is_refused():
    with pytest.raises(TypeError, match="unexpected keyword argument 'windw'"):
        train(LINES, windw=3)


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("recipe", "defualt", "there is no recipe 'defualt'"),
        ("changes", {"ridge": "ato"}, "'ato' is not a ridge"),
        ("dim", 0, "dim is 0"),
        ("dim", 2.5, "dim is 2.5; give a whole number"),
        ("max_words", "10", "max_words is '10'; give a whole number"),
        ("seed", None, "seed is None; give a whole number"),
        ("core", 0, "core is 0"),
        ("min_contexts", 0, "min_contexts is 0"),
        ("seed", -1, "the seed is -1; give a number from 0"),
        ("memory", "much", "'much' is not a size"),
        ("workers", 0, "the number of workers is 0"),
        ("device", "torch:abacus", "abacus"),
        ("window", 0, "the window is 0"),
        ("window", 2.5, "window is 2.5; give a whole number"),
        ("weighting", "flt", "there is no weighting 'flt'"),
    ],
)
def test_a_wrong_option_of_any_stage_is_refused_before_the_first_and_costs_no_finished_work(
    file, tmp_path, option, value, said
):
    with pytest.raises(KeyboardInterrupt):
        train(file, dim=4, output=tmp_path / "model", progress=Watched(stop_at="weights"))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert tmp_path / "model.train.work" / "counts" / "meta.json" in before
    with pytest.raises(InputError, match=said):
        train(file, **{"dim": 4, option: value}, output=tmp_path / "model", progress=Watched(stop_at=""))
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_a_name_that_is_not_there_is_refused_instead_of_read_letter_by_letter():
    with pytest.raises(InputError, match=r"there is no file 'small\.txt'; check the name"):
        train("small.txt")


def test_counts_are_kept_and_used_again_without_an_output(file, tmp_path, caplog):
    first = train(file, dim=4, keep=tmp_path / "counts")
    with caplog.at_level(logging.INFO, logger="psdvec"):
        again = train(file, dim=4, keep=tmp_path / "counts")
    assert "using the counts in" in caplog.text
    assert again.vectors.tobytes() == first.vectors.tobytes()


def test_kept_counts_are_never_taken_for_those_of_other_texts(tmp_path):
    train(LINES, dim=4, keep=tmp_path / "counts")
    for corpus in (LINES[::-1], [line.split() for line in LINES]):
        with pytest.raises(
            InputError, match="holds counts already, and whether they are of this text cannot be told"
        ):
            train(corpus, dim=4, keep=tmp_path / "counts")


def test_long_training_shows_itself_and_quiet_silences_it(capsys):
    logging.getLogger("psdvec").setLevel(logging.NOTSET)
    train(LINES, dim=4, progress=LogProgress(after=0.0))
    shown = capsys.readouterr().err
    for stage in ("reading", "counting pairs", "rounds"):
        assert f"psdvec: {stage}: done in " in shown
    train(LINES, dim=4, progress=LogProgress(after=0.0), quiet=True)
    train(LINES, dim=4)
    assert not capsys.readouterr().err
