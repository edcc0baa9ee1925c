"""What is said of words that were placed, and of those that could not be."""

import csv
import os
import pickle
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

import psdvec
from psdvec.counts.count import count_pairs
from psdvec.errors import InputError
from psdvec.options import make_recipe
from psdvec.solver import ridge as cpu_ridge
from psdvec.solver.devices.cpu import Cpu
from psdvec.solver.extend import COLUMNS, extend, parts_of
from psdvec.solver.fit import fit
from tests.helpers import Watched, contents
from tests.toy import drawn_counts, fit_recipe

CORE = 40


@pytest.fixture(scope="module")
def counts():
    return drawn_counts(words=70, sentences=1500, topics=3)


@pytest.fixture(scope="module")
def model(counts):
    return fit(counts, dim=8, max_words=CORE)


@pytest.fixture(scope="module")
def folders(model, counts, tmp_path_factory):
    folder = tmp_path_factory.mktemp("folders")
    counts.save(folder / "counts")
    model.save(folder / "model")
    return folder


def seen_with(counts, word, core):
    """Return the different words among the first ``core`` that stand next to ``word``, read from the matrix."""
    H = np.zeros((len(counts), len(counts)))
    for row in range(len(counts)):
        part = slice(counts.indptr[row], counts.indptr[row + 1])
        H[row, counts.indices[part]] = counts.values[part]
    place = counts.vocabulary.ids[word]
    return {j for j in range(core) if j != place and (H[place, j] or H[j, place])}


def test_words_that_cannot_be_placed_are_listed_with_the_reason_and_the_others_are_placed(model, counts):
    new = counts.vocabulary.words[CORE]
    extension = extend(model, counts, words=["nowhere", new], refresh=["lost", model.words[3]])
    assert extension.learned == (new,)
    assert extension.refreshed == (model.words[3],)
    assert extension.unplaced == {"nowhere": "not in the counts", "lost": "not in the counts"}
    assert "unplaced 2 words" in repr(extension)


def test_a_word_to_refresh_that_only_the_counts_have_is_not_learned_by_the_way(model, counts):
    new = counts.vocabulary.words[CORE:][:2]
    extension = extend(model, counts, words=new[:1], refresh=new)
    assert extension.learned == new[:1]
    assert extension.unplaced == {new[1]: "not in the model"}


def test_words_near_too_few_core_words_are_listed_with_how_many_there_were(model, counts):
    words = counts.vocabulary.words[CORE:]
    near = {word: len(seen_with(counts, word, CORE)) for word in words}
    limit = sorted(near.values())[len(near) // 2]
    extension = extend(model, counts, min_contexts=limit)
    few = {word: number for word, number in near.items() if number < limit}
    assert few
    assert extension.learned == tuple(word for word in words if word not in few)
    assert extension.unplaced == {
        word: f"near too few words that the model knows: {number}, and {limit} are needed"
        for word, number in few.items()
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"words": ["nowhere"]}, "'nowhere' cannot be placed: it is not in the counts"),
        ({"words": [], "refresh": ["nowhere"]}, "'nowhere' cannot be placed: it is not in the counts"),
        ({"words": ["nowhere", "lost"]}, "none of 2 words can be placed, such as 'nowhere', which is not in"),
        ({"min_contexts": 10**6}, "none of 30 words can be placed, such as .* and 1000000 are needed"),
    ],
)
def test_it_is_an_error_if_not_a_single_word_can_be_placed(model, counts, tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        extend(model, counts, output=tmp_path / "larger", **options)
    assert not list(tmp_path.iterdir())


def test_a_fit_whose_further_words_cannot_be_placed_is_a_fit_of_the_core(counts):
    assert len(fit(counts, dim=5, core=CORE, min_contexts=10**6)) == CORE


def test_the_report_says_what_each_word_was_placed_with(model, counts):
    old = model.words[3]
    extension = extend(model, counts, refresh=[old])
    report = extension.report()
    assert [row.word for row in report] == [*extension.learned, old]
    for row in report[::5] + report[-1:]:
        assert row.occurrences == counts.vocabulary.counts[counts.vocabulary.ids[row.word]]
        assert row.contexts == len(seen_with(counts, row.word, CORE))
        assert row.deviation == extension.get_vecattr(row.word, "deviation")
        assert row.nearest == tuple(word for word, _ in extension.most_similar(row.word, topn=3))
        told = extension.subwords.predict([row.word]).any()
        assert 0 < row.spelling < 1 if told else row.spelling == 0
    assert any(row.spelling for row in report)
    assert extension.report(2) == report[:2]


def test_fewer_core_words_are_fewer_contexts(model, counts):
    row = extend(model, counts, words=[counts.vocabulary.words[CORE]], core=20).report()[0]
    assert row.contexts == len(seen_with(counts, row.word, 20))


def test_contexts_are_counted_in_counts_of_fewer_words_than_the_model_has():
    model = fit(drawn_counts(words=60, sentences=900), dim=5)
    more = count_pairs([["w58", "w59", "new", "w0", "w57", "w56"], ["other", "w59"]], min_count=1, window=4)
    report = extend(model, more, words=["new", "other"], min_contexts=1).report()
    assert [row.contexts for row in report] == [5, 1]


def test_contexts_are_counted_the_same_in_batches_of_any_size(model, counts, monkeypatch):
    together = extend(model, counts).contexts
    monkeypatch.setattr(cpu_ridge, "BATCH", 7)
    assert extend(model, counts).contexts.tolist() == together.tolist()


def test_a_report_and_an_extension_can_be_pickled(model, counts):
    extension = extend(model, counts, words=["nowhere", counts.vocabulary.words[CORE]])
    again = pickle.loads(pickle.dumps(extension))
    assert (again.report(), again.unplaced) == (extension.report(), extension.unplaced)


def test_the_parts_of_spelling_and_contexts_add_up_to_the_vector(model, counts):
    extension = extend(model, counts, refresh=[model.words[3]])
    words = [*extension.learned, model.words[3]]
    spelling, contexts = parts_of(extension, words, extension.occurrences)
    whole, vectors = spelling + contexts, extension[words]
    cosines = (
        np.sum(whole * vectors, axis=1) / np.linalg.norm(whole, axis=1) / np.linalg.norm(vectors, axis=1)
    )
    np.testing.assert_allclose(cosines, 1, atol=1e-5)
    assert spelling.any(axis=1).any()


def test_a_word_that_stands_where_its_spelling_expects_it_owes_nothing_to_its_contexts(model, counts):
    extension = extend(model, counts)
    told = [word for word in extension.learned if extension.subwords.predict([word]).any()]
    rows = np.array(extension.rows)
    rows[[extension.key_to_index[word] for word in told]] = (
        extension.subwords.vectors_of(told) / extension.stretch
    )
    contexts = parts_of(replace(extension, rows=rows), told, np.full(len(told), 9))[1]
    assert told
    np.testing.assert_allclose(contexts, 0, atol=1e-5)


def test_without_n_grams_nothing_comes_from_the_spelling(counts):
    model = fit_recipe(counts, make_recipe("paper"), dim=8, max_words=CORE)
    assert {row.spelling for row in extend(model, counts).report()} == {0.0}


def test_the_command_prints_a_table_and_writes_the_whole_of_it(run, folders, counts, tmp_path):
    words = (*counts.vocabulary.words[CORE:], "nowhere")
    (tmp_path / "words").write_text("\n".join(words))
    code, out, _ = run(
        "extend", folders / "model", folders / "counts", "-o", tmp_path / "larger", "--words",
        tmp_path / "words", "--report", tmp_path / "all.tsv", "-q",
    )  # fmt: skip
    assert code == 0
    lines = out.splitlines()
    assert lines[0].split() == ["word", "nearest", "seen", "contexts", "spelling", "deviation"]
    assert lines[1].startswith(words[0])
    assert lines[21] == "and 10 more; --report FILE writes all"
    assert lines[22] == "not placed: nowhere (not in the counts)"
    assert lines[23] == "30 words learned, 0 refreshed"
    with (tmp_path / "all.tsv").open(newline="") as file:
        rows = list(csv.reader(file, delimiter="\t"))
    report = extend(folders / "model", folders / "counts").report()
    assert tuple(rows[0]) == COLUMNS
    assert [row[0] for row in rows[1:]] == list(words)
    for row, known in zip(rows[1:31], report, strict=True):
        assert row[1:3] == [str(known.occurrences), str(known.contexts)]
        assert float(row[3]) == pytest.approx(known.spelling, abs=1e-3)
        assert tuple(row[5:8]) == known.nearest
    assert rows[31] == ["nowhere", *[""] * 7, "not in the counts"]


def test_a_report_that_exists_is_refused_before_any_work(run, folders, tmp_path):
    report = tmp_path / "words.tsv"
    report.write_text("mine")
    command = (
        "extend",
        folders / "model",
        folders / "counts",
        "-o",
        tmp_path / "larger",
        "--report",
        report,
        "-q",
    )
    code, _, error = run(*command)
    assert (code, report.read_text()) == (1, "mine")
    assert "exists already" in error
    assert not (tmp_path / "larger").exists()
    code, _, _ = run(*command, "--overwrite")
    assert (code, report.read_text()[:4]) == (0, "word")


# Solves slowly, in blocks of 8 words, so that it can be killed between two of them.
SLOW = """
import sys, time
import psdvec
from psdvec.solver.devices.cpu import Cpu

Cpu.words_at_once = 8
solve = Cpu.solve_words
def slowly(*given, **options):
    time.sleep(0.5)
    return solve(*given, **options)
Cpu.solve_words = slowly
psdvec.extend(sys.argv[1], sys.argv[2], output=sys.argv[3], quiet=True)
"""


@pytest.mark.slow
def test_killed_and_called_again_it_solves_only_what_is_missing_and_ends_with_the_same_bytes(
    folders, tmp_path, monkeypatch
):
    output, work = tmp_path / "larger", tmp_path / "larger.work"
    extend(folders / "model", folders / "counts", output=tmp_path / "undisturbed")
    command = [sys.executable, "-c", SLOW, folders / "model", folders / "counts", output]
    with subprocess.Popen(command) as process:
        deadline = time.monotonic() + 60
        while len(list(work.glob("*.block"))) < 2 and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
    kept = {path.name: path.stat().st_mtime_ns for path in work.glob("*.block")}
    assert 2 <= len(kept) < 4
    assert not output.exists()

    monkeypatch.setattr(Cpu, "words_at_once", 8)
    psdvec.extend(folders / "model", folders / "counts", output=output, progress=(watched := Watched()))
    assert watched.units.count(1) == 30 - 8 * len(kept)
    assert contents(output) == contents(tmp_path / "undisturbed")
    assert not work.exists()


@pytest.mark.parametrize("changed", ["nothing", "model", "counts", "options"])
def test_only_what_was_solved_for_the_same_model_counts_and_options_is_used_again(
    model, counts, tmp_path, monkeypatch, changed
):
    """The model and the counts are in memory, where no folder tells them apart."""
    monkeypatch.setattr(Cpu, "words_at_once", 8)
    with pytest.raises(KeyboardInterrupt):
        extend(model, counts, output=tmp_path / "larger", workers=1, progress=Watched(stop_after=20))
    assert len(list((tmp_path / "larger.work").glob("*.block"))) == 2
    if changed == "model":
        model = fit(counts, dim=8, max_words=CORE, seed=5, changes={"rounds": 3})
    if changed == "counts":
        counts = drawn_counts(words=70, sentences=1500, topics=3, seed=8)
    options = {"ridge": "7"} if changed == "options" else {}
    watched = Watched()
    extension = extend(model, counts, output=tmp_path / "larger", **options, progress=watched)
    asked = len(extension.learned) + len(extension.unplaced)
    assert watched.units.count(1) == asked - (16 if changed == "nothing" else 0)
    assert extension == extend(model, counts, **options)
