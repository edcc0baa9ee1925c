from __future__ import annotations

import json
import math
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from psdvec.errors import InputError
from psdvec.evaluation.evaluate import add_tagging, evaluate
from psdvec.evaluation.page import as_html
from psdvec.evaluation.report import as_values, make_tables
from psdvec.evaluation.tagging import (
    BASELINE,
    Counts,
    Sentence,
    TaggingData,
    TaggingResult,
    base_features,
    evaluate_tagging,
    load_tagging,
    read_conll,
    train_tagger,
    word_shape,
)
from psdvec.formats import save
from psdvec.progress import SilentProgress
from psdvec.vectors.embeddings import Embeddings

# Words whose letters tell nothing.
LETTERS = np.random.default_rng(5).choice(list("bdfgklmnprst"), size=(96, 5))
NAMES = ["".join(letters) for letters in LETTERS[:48]]
OTHERS = ["".join(letters) for letters in LETTERS[48:]]


def sentences(names: list[str], others: list[str], size: int, seed: int) -> tuple[Sentence, ...]:
    """Sentences in which a name follows nothing that gives it away but its vector."""
    generator = np.random.default_rng(seed)
    made = []
    for _ in range(size):
        is_name = generator.random(5) < 0.4
        words = tuple(str(generator.choice(names if name else others)) for name in is_name)
        made.append(Sentence(words, ("X",) * 5, tuple("B-PER" if name else "O" for name in is_name)))
    return tuple(made)


def toy_data() -> TaggingData:
    """Test words that the training part never shows."""
    train = sentences(NAMES[:24], OTHERS[:24], 60, seed=0)
    unseen = [sentences(NAMES[24:], OTHERS[24:], 30, seed=seed) for seed in (1, 2)]
    return TaggingData("toy", train, unseen[0], unseen[1], train)


def telling_vectors() -> Embeddings:
    """Vectors whose first number tells names from others."""
    generator = np.random.default_rng(3)
    vectors = generator.standard_normal((96, 4)).astype(np.float32) * 0.1
    vectors[:48, 0] += 1
    vectors[48:, 0] -= 1
    return Embeddings(tuple(NAMES + OTHERS), vectors)


def test_vectors_help_with_words_never_seen_in_training():
    pytest.importorskip("pycrfsuite")
    base, with_vectors = evaluate_tagging({"telling": telling_vectors()}, toy_data(), iterations=50, every=1)
    assert (base.model, with_vectors.model) == (BASELINE, "telling")
    assert with_vectors.total.f1 > 0.95
    assert base.total.f1 < 0.8
    assert with_vectors.labels["PER"] == with_vectors.total
    assert with_vectors.scale is not None
    assert base.scale is None


def test_vectors_help_whatever_the_sign_of_their_components():
    pytest.importorskip("pycrfsuite")
    telling = telling_vectors()
    negative = Embeddings(telling.words, telling.vectors - 3)
    _, result = evaluate_tagging({"negative": negative}, toy_data(), iterations=50, every=1)
    assert result.total.f1 > 0.95


def test_the_optimiser_stops_when_steps_gain_nothing_and_each_step_is_shown():
    pytest.importorskip("pycrfsuite")
    few, enough = (steps_shown(iterations) for iterations in (10, 1000))
    assert few == 10
    assert 10 < enough < 1000


def steps_shown(iterations: int) -> float:
    """Train a tagger and return how many steps its progress showed."""
    progress = Counting()
    train_tagger(toy_data().train, base_features, penalty=0.1, iterations=iterations, progress=progress)
    return progress.done["steps"]


class Counting(SilentProgress):
    """Progress that counts what was done, by its unit."""

    def __init__(self) -> None:
        self.done: Counter[str] = Counter()

    @contextmanager
    def stage(self, label, *, total, unit):
        self.unit = unit
        yield self

    def advance(self, done, **rates):
        self.done[self.unit] += done

    def note(self, text):
        pass


def test_tagging_twice_gives_the_same():
    pytest.importorskip("pycrfsuite")
    first, second = (
        evaluate_tagging(
            {"telling": telling_vectors()}, toy_data(), iterations=20, scales=(0.5,), penalties=(1.0,)
        )
        for _ in range(2)
    )
    assert [one.sentences for one in first] == [one.sentences for one in second]


def test_the_test_part_has_no_say_in_the_settings():
    pytest.importorskip("pycrfsuite")
    data = toy_data()
    swapped = TaggingData("toy", data.train, data.dev, sentences(OTHERS, NAMES, 30, seed=9), data.final)
    results = [
        evaluate_tagging({"telling": telling_vectors()}, one, iterations=30) for one in (data, swapped)
    ]
    settings = [[(one.penalty, one.scale, one.dev_f1) for one in result] for result in results]
    assert settings[0] == settings[1]


def test_f1_of_tagging_stands_beside_the_other_scores():
    pytest.importorskip("pycrfsuite")
    models = {"telling": telling_vectors()}
    results = evaluate_tagging(models, toy_data(), iterations=50)
    report = add_tagging(evaluate(models, []), results)
    assert report.models == ("telling", BASELINE)
    score = report.get("telling", "toy")
    assert score.value == pytest.approx(results[1].total.f1)
    assert score.low <= score.value <= score.high
    assert report.difference("telling", BASELINE, "toy") < 0.01
    assert report.difference("telling", "telling", "toy") == 1
    base, ours = make_tables(report).tagging.rows
    assert base[:2] == ("toy", BASELINE)
    assert float(ours[5]) == pytest.approx(100 * (results[1].total.f1 - results[0].total.f1), abs=0.01)
    assert as_values(report)["tagging"][1]["token_accuracy"] == results[1].accuracy
    assert ">Tagging</h2>" in as_html(report, make_tables(report))


def test_a_few_tagged_sentences_are_too_few_to_tell():
    for sentences, shown in ((29, "too few (29)"), (30, "50.00")):
        counts = Counts(right=1, found=2, gold=2)
        results = [
            TaggingResult("toy", model, (counts,) * sentences, {"A": counts}, 0.5, 1.0, None, 0.5, 1.0)
            for model in (BASELINE, "one")
        ]
        report = add_tagging(evaluate({}, []), results)
        assert [row[4] for row in make_tables(report).tagging.rows] == [shown] * 2
        assert (
            report.get("one", "toy").too_few == as_values(report)["tagging"][1]["too_few"] == (sentences < 30)
        )
        assert math.isnan(report.get("one", "toy").low) == math.isnan(report.mean("one")) == (sentences < 30)


def test_features_name_the_words_around():
    sentence = Sentence(("EU", "rejects", "German", "call"), ("NNP", "VBZ", "JJ", "NN"), ("O",) * 4)
    features = base_features(sentence)
    assert {"w-1=EU", "w0=rejects", "w1=German", "w2=call", "p-1=NNP", "suf=cts", "shape=x"} <= set(
        features[1]
    )
    assert {"ww-1=EU|rejects", "ppp-1=NNP|VBZ|JJ"} <= set(features[1])
    assert "begin" in features[0]
    assert "end" in features[3]


def test_shapes_write_each_run_of_a_kind_once():
    assert [word_shape(word) for word in ("EU", "McKay", "1996-08", "a.m.")] == ["X", "XxXx", "9.9", "x.x."]


def test_conll_files_are_read_in_any_scheme(tmp_path: Path):
    text = "-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\nis VBZ I-VP O\n\nAl NNP I-NP I-PER\nBo NNP B-NP B-PER\n"
    (tmp_path / "eng.train").write_text(text)
    first, second = read_conll(tmp_path / "eng.train")
    assert first == Sentence(("EU", "is"), ("NNP", "VBZ"), ("B-ORG", "O"))
    assert second.tags == ("B-PER", "B-PER")


@pytest.mark.parametrize(
    ("text", "message"), [("a b\n", "line 1 .* 2 columns, but at least 3"), ("\n\n", "contains no sentences")]
)
def test_a_bad_conll_file_is_refused(text: str, message: str, tmp_path: Path):
    (tmp_path / "x").write_text(text)
    with pytest.raises(InputError, match=message):
        read_conll(tmp_path / "x")


def test_a_task_is_named_by_its_folder(tmp_path: Path):
    with pytest.raises(InputError, match="conll2000:FOLDER or conll2003:FOLDER"):
        load_tagging("conll1999:x")
    with pytest.raises(InputError, match=r"cannot read '.*train\.txt'"):
        load_tagging(f"conll2000:{tmp_path}")


def test_the_development_part_of_conll2000_is_drawn_from_training_and_kept_apart(tmp_path: Path):
    rows = [f"w{i} NN B-NP\n" for i in range(50)]
    (tmp_path / "train.txt").write_text("\n".join(rows))
    (tmp_path / "test.txt").write_text("x NN B-NP\n")
    data = load_tagging(f"conll2000:{tmp_path}")
    assert len(data.dev) == 10
    assert not set(data.dev) & set(data.train)
    assert set(data.dev) | set(data.train) == set(data.final)
    assert data == load_tagging(f"conll2000:{tmp_path}")
    assert data.dev != load_tagging(f"conll2000:{tmp_path}", seed=1).dev


def test_evaluate_tags_from_the_command_line(run, tmp_path: Path):
    pytest.importorskip("pycrfsuite")
    save(telling_vectors(), tmp_path / "telling")
    data = toy_data()
    for name, part in (("eng.train", data.train), ("eng.testa", data.dev), ("eng.testb", data.test)):
        lines = ["".join(f"{w} X {t}\n" for w, t in zip(s.words, s.tags, strict=True)) for s in part]
        (tmp_path / name).write_text("\n".join(lines))
    (tmp_path / "own.txt").write_text("".join(f"{NAMES[i]} {OTHERS[i]} {i}\n" for i in range(3)))
    code, out, _ = run(
        "evaluate", tmp_path / "telling", "--task", tmp_path / "own.txt",
        "--tagging", f"conll2003:{tmp_path}", "--json", "-q",
    )  # fmt: skip
    assert code == 0
    scores = {(s["model"], s["task"]): s["score"] for s in json.loads(out)["scores"]}
    assert scores["telling", "conll2003"] > scores[BASELINE, "conll2003"]
