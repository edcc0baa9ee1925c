"""Comparing methods: measured processes, steps that are found again, what is refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from psdvec import cli, formats
from psdvec.cli import app
from psdvec.compare import jobs as steps
from psdvec.compare import run as comparing
from psdvec.compare.jobs import FailedCommandError, compile_kernels, run_measured, warm_up
from psdvec.compare.report import CORE_WORDS, COSTS
from psdvec.compare.run import compare
from psdvec.compare.values import Cost, measure
from psdvec.errors import InputError, ResourceError
from psdvec.methods import METHODS
from psdvec.methods.run import fit_method
from psdvec.methods.spelling import spell
from psdvec.options import make_recipe
from psdvec.storage.artefact import open_artefact
from psdvec.text.tokenizers import TOKENIZERS
from tests.evaluation.test_scores import count_resampling
from tests.helpers import needs_gensim


def write_corpus(path: Path, *, seed: int, lines: int) -> Path:
    rng = np.random.default_rng(seed)
    chance = 1 / np.arange(1, 61)
    drawn = rng.choice(60, size=(lines, 15), p=chance / chance.sum())
    path.write_text("\n".join(" ".join(f"w{i}" for i in line) for line in drawn))
    return path


@pytest.fixture
def corpus(tmp_path):
    return write_corpus(tmp_path / "text.txt", seed=0, lines=400)


@pytest.fixture
def task(tmp_path):
    """A task of similarity whose items any corpus of these tests covers."""
    path = tmp_path / "pairs.txt"
    path.write_text("\n".join(f"w{i} w{j} {i + j / 10}" for i in range(9) for j in range(i)))
    return str(path)


@pytest.fixture
def in_process(monkeypatch):
    """Run the commands of a comparison here, without processes, and note which were run."""
    commands: list[str] = []

    def run(command, *, folder, workers, note=print):
        place = command[command.index("-o") + 1]
        commands.append(place)
        before = Path.cwd()
        os.chdir(folder)
        try:
            result = CliRunner().invoke(app, [*command, "-q"])
        finally:
            os.chdir(before)
        if result.exit_code:
            raise FailedCommandError(str(result.exception))
        return Cost(len(commands), 1.0, 1_000_000)

    monkeypatch.setattr(steps, "run_measured", run)
    monkeypatch.setattr(comparing, "warm_up", lambda *_: None)
    return commands


# Processes


@pytest.mark.slow
def test_time_and_memory_of_a_command_are_its_own(tmp_path):
    ballast = np.ones(50_000_000)  # 400 MB in this process, which a child must not be charged with
    cost = run_measured(["--help"], folder=tmp_path, workers=1)
    assert cost.wall > 0.05
    assert cost.processor > 0
    assert 10_000_000 < cost.memory < ballast.nbytes / 2
    # Nor with more than the small process in between has.
    assert measure(["sleep", "0.1"]).memory < 30_000_000


def test_a_measured_command_reads_and_prints_where_it_is_told(tmp_path):
    (tmp_path / "in").write_text("b\na\n")
    measure(["sort"], stdin=tmp_path / "in", stdout=tmp_path / "out")
    assert (tmp_path / "out").read_text() == "a\nb\n"


def test_what_is_measured_ends_with_who_asked_for_it():
    said = []

    def stop(line: str) -> None:
        said.append(int(line))
        raise KeyboardInterrupt

    speak = "import os, sys, time; print(os.getpid(), file=sys.stderr, flush=True); time.sleep(600)"
    with pytest.raises(KeyboardInterrupt):
        measure([sys.executable, "-c", speak], note=stop)
    with pytest.raises(ProcessLookupError):
        os.kill(said[0], 0)


@pytest.mark.slow
def test_a_command_that_fails_says_why(tmp_path):
    with pytest.raises(FailedCommandError, match="there is no 'nowhere'; check the name"):
        run_measured(["fit", "nowhere", "-o", "model"], folder=tmp_path, workers=1)


def test_a_command_ends_with_the_process_that_started_it_however_that_ends(tmp_path):
    result = tmp_path / "result.json"
    launch = [sys.executable, "-m", "psdvec.compare.values", str(result), os.devnull, "sleep", "600"]
    with subprocess.Popen(launch, stdin=subprocess.PIPE) as process:
        process.stdin.close()  # as the system does when its other end is killed
        assert process.wait(60) == 0
    assert json.loads(result.read_text())["code"] == -signal.SIGTERM


def test_two_comparisons_do_not_share_a_folder(tmp_path, corpus, task, in_process):
    def again(*_, **__):
        compare([corpus], output=tmp_path / "out", methods=["svd"], tasks=[task], dim=4, resume=True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparing, "warm_up", again)
        with pytest.raises(InputError, match="another process is using"):
            compare([corpus], output=tmp_path / "out", methods=["svd"], tasks=[task], dim=4)


@pytest.mark.slow
def test_lines_of_a_command_are_passed_on(tmp_path, corpus):
    lines: list[str] = []
    run_measured(["count", str(corpus), "-o", "counts"], folder=tmp_path, workers=1, note=lines.append)
    assert any("counting pairs" in line for line in lines)
    assert (tmp_path / "counts" / "meta.json").is_file()


def test_costs_add_up_in_time_and_not_in_memory():
    assert Cost(1, 2, 30) + Cost(10, 20, 3) == Cost(11, 22, 30)


@pytest.mark.slow
def test_a_whole_comparison_in_processes(tmp_path, corpus, task):
    output = tmp_path / "report"
    code = (
        f"from psdvec.cli import main; import sys; sys.argv = ['psdvec', 'compare', {str(corpus)!r}, '-o', "
        f"{str(output)!r}, '--methods', 'svd,ppmi', '--dim', '5', '--only-tasks', {task!r}, '--workers', '1']; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Table 1. Scores" in done.stdout
    values = json.loads((output / "report.json").read_text())
    assert [cost["method"] for cost in values["costs"]] == ["svd", "ppmi"]
    assert all(cost["training"]["memory"] > 20_000_000 for cost in values["costs"])
    assert values["costs"][0]["counting"] == values["costs"][1]["counting"]


def test_kernels_that_cannot_be_compiled_are_one_sentence():
    with pytest.raises(ResourceError, match=r"compiling the kernels failed: .*no tokenizer 'no such'"):
        warm_up([], "no such")


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (["compare", "text", "-o", "r"], "run the same command again with --resume to continue"),
        (["compare", "text", "-o", "r", "--resume"], "run the same command again to continue"),
        (["train", "text", "-o", "r"], "run the same command again to continue"),
    ],
)
def test_who_interrupts_is_told_how_to_go_on(run, monkeypatch, arguments, advice):
    def interrupt():
        raise cli._InterruptedError

    monkeypatch.setattr(cli, "app", interrupt)
    code, _, said = run(*arguments)
    assert (code, said) == (130, f"psdvec: interrupted; {advice}\n")


@pytest.mark.slow
def test_kernels_are_compiled_for_any_method_of_counts():
    own = [name for name, method in METHODS.items() if method.reads == "counts" and method.base is None]
    compile_kernels(own, "whitespace")


@pytest.mark.slow
def test_what_a_method_is_based_on_is_compiled_in_its_place():
    warm_up(["svd-spelling", "skipgram-spelling"], "whitespace")


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_kernels_are_compiled_for_any_tokenizer(tokenizer):
    compile_kernels(["psdvec"], tokenizer)


# Steps


@needs_gensim
@pytest.mark.slow
def test_every_method_reads_the_column_and_the_encoding_that_are_named(tmp_path, corpus, task, in_process):
    rows = "".join(f'é,"{line}",é\n' for line in corpus.read_text().splitlines())
    (tmp_path / "rows.csv").write_bytes(f"id,body,note\n{rows}".encode("latin-1"))
    options = {"methods": ["svd", "word2vec"], "dim": 5, "tasks": [task], "workers": 1}
    compare([str(corpus)], output=tmp_path / "plain", **options)
    compare(
        [str(tmp_path / "rows.csv")], output=tmp_path / "table", column="body", encoding="latin-1", **options
    )
    for name in ("svd", "word2vec"):
        folders = [tmp_path / report / "models" / name for report in ("plain", "table")]
        first, second = map(formats.load, folders)
        assert first.words == second.words
        assert np.array_equal(first.vectors, second.vectors)


def test_the_paper_s_method_in_two_steps_equals_it_in_one(tmp_path, corpus, task, in_process):
    output = tmp_path / "report"
    compare([str(corpus)], output=output, methods=["psd", "psd-unreg"], dim=5, tasks=[task])
    assert in_process == ["counts/3-flat-keep", "models/psd-core-20", "models/psd", "models/psd-unreg"]
    for name in ("psd", "psd-unreg"):
        alone = fit_method(name, output / "counts" / "3-flat-keep", output=tmp_path / name, dim=5)
        found = formats.load(output / "models" / name)
        assert tuple(found.words) == alone.words
        assert found.vectors.tobytes() == alone.vectors.tobytes()


@needs_gensim
def test_sparse_coding_takes_the_word2vec_vectors_that_are_compared(tmp_path, corpus, task, in_process):
    output = tmp_path / "report"
    found = compare(
        [str(corpus)], output=output, methods=["word2vec", "sparse"], dim=5, tasks=[task], workers=1,
        settings=["sparse.factor=2", "word2vec.window=2"],
    )  # fmt: skip
    assert in_process == ["counts/20-harmonic-keep", "models/word2vec", "models/sparse"]
    assert [list(one.steps) for one in found.runs] == [["word2vec"], ["word2vec", "sparse"]]
    assert formats.load(output / "models" / "sparse").dim == 10
    assert found.settings["word2vec"]["window"] == 2


@needs_gensim
def test_spelling_takes_the_vectors_that_are_compared(tmp_path, corpus, task, in_process):
    methods = ["skipgram", "skipgram-spelling", "svd", "svd-spelling"]
    found = compare([str(corpus)], output=tmp_path / "r", methods=methods, dim=5, tasks=[task], workers=1)
    assert [place for place in in_process if place.startswith("models/")] == [
        f"models/{name}" for name in methods
    ]
    assert [list(one.steps) for one in found.runs] == [
        ["skipgram"],
        ["skipgram", "skipgram-spelling"],
        ["svd"],
        ["svd", "svd-spelling"],
    ]
    for name in ("skipgram", "svd"):
        alone = spell(formats.load(tmp_path / "r" / "models" / name), workers=1, quiet=True)
        assert formats.load(tmp_path / "r" / "models" / f"{name}-spelling") == alone


@pytest.mark.slow
def test_what_is_finished_is_not_trained_again(tmp_path, corpus, task, in_process):
    options = {"output": tmp_path / "report", "dim": 5, "tasks": [task]}
    first = compare([str(corpus)], methods=["svd", "cca"], **options)
    again = compare([str(corpus)], methods=["svd", "cca", "ppmi"], resume=True, **options)
    assert in_process == [
        "counts/5-linear-close",
        "models/svd",
        "counts/5-flat-keep",
        "models/cca",
        "models/ppmi",
    ]
    assert again.runs[:2] == first.runs
    in_process.clear()
    compare([str(corpus)], methods=["svd", "cca"], settings=["svd.power=1"], resume=True, **options)
    assert in_process == ["models/svd"]
    in_process.clear()
    write_corpus(corpus, seed=1, lines=300)
    compare([str(corpus)], methods=["cca"], resume=True, **options)
    assert in_process == ["counts/5-flat-keep", "models/cca"]


def flip_last_byte(path):
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


def test_what_is_damaged_is_made_again(tmp_path, corpus, task, in_process):
    options = {"output": tmp_path / "report", "dim": 5, "tasks": [task], "methods": ["svd"]}
    first = compare([str(corpus)], **options)
    in_process.clear()
    for name, remade in {
        "models/svd.json": "models/svd",
        "models/svd/vectors.safetensors": "models/svd",
        "counts/5-linear-close/values.npy": "counts/5-linear-close",
    }.items():
        flip_last_byte(tmp_path / "report" / name)
        again = compare([str(corpus)], resume=True, **options)
        assert in_process == [remade]
        assert again.quality == first.quality
        in_process.clear()


@pytest.mark.slow
def test_a_method_trained_with_several_seeds_is_judged_by_their_mean(tmp_path, corpus, task, in_process):
    output = tmp_path / "report"
    options = {"dim": 5, "tasks": [task], "workers": 1}
    found = compare([str(corpus)], output=output, methods=["glove", "ppmi"], seeds=3, **options)
    places = ["models/glove", "models/glove-seed-1", "models/glove-seed-2"]
    assert [place for place in in_process if place.startswith("models")] == [*places, "models/ppmi"]
    alone = [
        compare([str(corpus)], output=tmp_path / str(seed), methods=["glove"], seed=seed, **options)
        for seed in range(3)
    ]
    values = [one.report.get("glove", "pairs").value for one in alone]
    score = found.report.get("glove", "pairs")
    assert (score.value, score.spread) == pytest.approx((np.mean(values), np.std(values, ddof=1)))
    assert (score.seeds, found.report.get("ppmi", "pairs").seeds) == (3, 1)
    assert [row[:2] for row in found.tables["Spread over seeds"].rows] == [("glove", "3")]
    assert "Spread over seeds" in (output / "report.md").read_text()
    assert "Spread over seeds" in (output / "report.html").read_text()


def test_time_and_memory_are_medians_over_seeds(tmp_path, corpus, task, in_process):
    options = {"output": tmp_path / "report", "methods": ["svd"], "dim": 5, "tasks": [task]}
    (run,) = compare([str(corpus)], seeds=3, **options).runs
    assert run.training is not None
    assert run.training.wall == 3.0  # the counts took 1 by the clock of these tests, the seeds 2, 3 and 4
    in_process.clear()
    again = compare([str(corpus)], seeds=4, resume=True, **options)
    assert in_process == ["models/svd-seed-3"]
    assert len(again.runs[0].vectors) == 4


@needs_gensim
def test_every_seed_has_its_own_steps(tmp_path, corpus, task, in_process):
    compare(
        [str(corpus)], output=tmp_path / "r", methods=["psd", "sparse"], dim=5, tasks=[task], seeds=2, workers=1,
        settings=["sparse.factor=2"],
    )  # fmt: skip
    assert [place for place in in_process if place.endswith("-seed-1")] == [
        "models/psd-core-20-seed-1", "models/psd-seed-1", "models/word2vec-seed-1", "models/sparse-seed-1",
    ]  # fmt: skip
    made = open_artefact(tmp_path / "r" / "models" / "sparse-seed-1").parameters
    assert made["settings"]["vectors"] == "models/word2vec-seed-1"
    assert made["seed"] == 1


def test_the_number_of_seeds_follows_the_time_of_the_first(tmp_path, corpus, task, in_process):
    found = compare(
        [str(corpus)], output=tmp_path / "r", methods=["svd", "ppmi"], dim=5, tasks=[task], seeds="auto",
        second=[str(write_corpus(tmp_path / "second.txt", seed=2, lines=200))],
    )  # fmt: skip
    assert [len(run.vectors) for run in found.runs] == [5, 1]
    assert [len(run.vectors) for run in found.second] == [1, 1]
    assert found.header["seeds per method"] == "auto"


def test_a_method_that_fails_with_one_seed_has_failed(tmp_path, corpus, task, in_process, monkeypatch):
    really = steps.run_measured

    def run(command, **options):
        if "models/svd-seed-1" in command:
            raise FailedCommandError("it was killed")
        return really(command, **options)

    monkeypatch.setattr(steps, "run_measured", run)
    found = compare(
        [str(corpus)], output=tmp_path / "r", methods=["svd", "ppmi"], dim=5, tasks=[task], seeds=2
    )
    assert [run.error for run in found.runs] == ["it was killed", None]


def test_another_program_trains_again_whatever_its_version(tmp_path, corpus, task, in_process, monkeypatch):
    options = {"output": tmp_path / "report", "methods": ["svd"], "dim": 5, "tasks": [task]}
    compare([str(corpus)], **options)
    monkeypatch.setattr(steps, "program_digest", lambda home: "other")
    in_process.clear()
    again = compare([str(corpus)], resume=True, **options)
    assert [run.error for run in again.runs] == [None]
    assert in_process == ["counts/5-linear-close", "models/svd"]


def test_a_step_depends_on_the_modules_it_uses_alone():
    counting, rival, ours = (
        steps.modules_used(f"psdvec.{name}") for name in ("counts.count", "methods.gensim", "solver.fit")
    )
    assert "psdvec.text.tokenizers" in counting.keys() & rival.keys() & ours.keys()
    assert not [
        name for name in {*counting, *rival} if name.startswith(("psdvec.solver", "psdvec.evaluation"))
    ]
    assert "psdvec.solver.pmi" in ours
    assert not [name for name in ours if name.startswith(("psdvec.cli", "psdvec.explore", "psdvec.methods"))]


def test_another_program_trains_again_only_what_uses_it(tmp_path, corpus, task, in_process, monkeypatch):
    options = {"output": tmp_path / "report", "methods": ["svd"], "dim": 5, "tasks": [task]}
    compare([str(corpus)], **options)
    really = steps.program_digest
    monkeypatch.setattr(steps, "program_digest", lambda home: "other" if "methods" in home else really(home))
    in_process.clear()
    compare([str(corpus)], resume=True, **options)
    assert in_process == ["models/svd"]


def test_the_time_of_a_corpus_does_not_matter_but_its_text_does(tmp_path, corpus, task, in_process):
    text = tmp_path / "text.txt"
    text.write_bytes(corpus.read_bytes())
    options = {"output": tmp_path / "report", "methods": ["svd"], "dim": 5, "tasks": [task], "resume": True}
    compare([str(text)], **options)
    in_process.clear()
    os.utime(text, (1, 1))
    compare([str(text)], **options)
    assert in_process == []
    text.write_bytes(corpus.read_bytes() + b"one more line\n")
    compare([str(text)], **options)
    assert in_process == ["counts/5-linear-close", "models/svd"]


def test_numbers_of_our_recipes_are_settings(tmp_path, corpus, task, in_process):
    output = tmp_path / "report"
    found = compare(
        [str(corpus)], output=output, methods=["psdvec", "psd", "psd-unreg"], dim=5, tasks=[task],
        settings=["psdvec.rounds=2", "psd.smoothing=0.1", "psd.ridge=3", "psd.core=15", "psd.diagonal=true"],
    )  # fmt: skip
    assert found.settings["psdvec"]["rounds"] == 2
    assert found.settings["psdvec"]["smoothing"] == make_recipe().smoothing
    assert found.settings["psd-unreg"]["ridge"] == "0"
    assert "models/psd-core-15-psd" in in_process
    recipes = {
        name: open_artefact(output / "models" / name).parameters["recipe"]
        for name in ("psdvec", "psd", "psd-unreg")
    }
    assert (recipes["psdvec"]["rounds"], recipes["psd"]["smoothing"]) == (2, 0.1)
    assert (recipes["psd"]["diagonal"], recipes["psd-unreg"]["diagonal"]) == (True, False)
    alone = fit_method(
        "psd", output / "counts" / "3-flat-keep", output=tmp_path / "alone", dim=5,
        settings={"smoothing": 0.1, "ridge": "3", "core": 15, "diagonal": True},
    )  # fmt: skip
    assert formats.load(output / "models" / "psd").vectors.tobytes() == alone.vectors.tobytes()
    assert [row[1] for row in found.tables[f"Table 3. {CORE_WORDS}"].rows] == ["15", "45"]


def test_a_comparison_is_resampled_once_for_its_three_reports(
    tmp_path, corpus, task, in_process, monkeypatch, run
):
    drawn = count_resampling(monkeypatch)
    code, shown, _ = run(
        "compare",
        corpus,
        "-o",
        tmp_path / "r",
        "--methods",
        "svd,ppmi",
        "--dim",
        "5",
        "--only-tasks",
        task,
        "-q",
    )
    assert code == 0
    assert "Table 1. Scores" in shown
    assert {path.suffix for path in (tmp_path / "r").glob("report.*")} == {".md", ".json", ".html"}
    assert drawn == {"correlation_interval": 2, "variance_of": 3}


def test_a_method_that_fails_is_shown_and_the_others_go_on(tmp_path, corpus, task, in_process):
    output = tmp_path / "report"
    found = compare(
        [str(corpus)], output=output, methods=["svd", "ppmi"], dim=5, tasks=[task], settings=["svd.shift=-1"]
    )
    assert [one.error is None for one in found.runs] == [False, True]
    assert found.report.models == ("ppmi",)
    text = (output / "report.md").read_text()
    assert "svd failed: no PMI can be computed with shift -1.0" in text
    assert "| svd | – | failed |" in text
    in_process.clear()
    compare([str(corpus)], output=output, methods=["svd", "ppmi"], dim=5, tasks=[task], resume=True)
    assert in_process == ["models/svd"]


def test_a_method_whose_package_is_missing_is_left_out_with_the_line(
    tmp_path, corpus, task, in_process, monkeypatch
):
    monkeypatch.setitem(METHODS, "word2vec", replace(METHODS["word2vec"], package="no_such_package"))
    found = compare([str(corpus)], output=tmp_path / "r", methods=["word2vec", "svd"], dim=5, tasks=[task])
    assert [one.method for one in found.runs] == ["svd"]
    assert "pip install 'psdvec[compare]'" in found.remarks[0]


def test_the_summary_says_plainly_which_methods_are_left_out(
    tmp_path, corpus, task, in_process, monkeypatch, run
):
    for name in ("word2vec", "skipgram"):
        monkeypatch.setitem(METHODS, name, replace(METHODS[name], package="no_such_package"))
    line = (
        "left out: word2vec, skipgram (2 of 3 methods): the package no_such_package is not installed; "
        "run: pip install 'psdvec[compare]'\n"
    )
    options = ("--dim", "5", "--only-tasks", task, "-q")
    code, shown, _ = run(
        "compare", corpus, "-o", tmp_path / "r", "--methods", "word2vec,svd,skipgram", *options
    )
    assert code == 0
    assert line in shown
    assert line in (tmp_path / "r" / "report.md").read_text()
    assert "left out" not in run("compare", corpus, "-o", tmp_path / "s", "--methods", "svd", *options)[1]


def test_a_comparison_of_nothing_is_one_sentence_and_no_report(
    tmp_path, corpus, in_process, monkeypatch, run
):
    for name in ("word2vec", "skipgram"):
        monkeypatch.setitem(METHODS, name, replace(METHODS[name], package="no_such_package"))
    code, shown, said = run("compare", corpus, "-o", tmp_path / "r", "--methods", "word2vec,skipgram", "-q")
    assert (code, shown) == (1, "")
    assert said == (
        "psdvec: none of the methods asked for (word2vec, skipgram) can be trained: "
        "the package no_such_package is not installed; run: pip install 'psdvec[compare]'\n"
    )
    assert not in_process
    assert not (tmp_path / "r").exists()


def test_a_comparison_in_which_all_fail_is_an_error_with_the_reasons(tmp_path, corpus, task, in_process, run):
    arguments = ("compare", corpus, "-o", tmp_path / "r", "--methods", "svd,ppmi", "--only-tasks", task, "-q")
    code, shown, said = run(*arguments, "--dim", "5", "--set", "svd.shift=-1", "--set", "ppmi.shift=-1")
    assert (code, shown) == (1, "")
    assert "svd failed: no PMI can be computed" in said
    assert "ppmi failed: no PMI can be computed" in said
    assert said.endswith("with --resume\n")
    assert not list((tmp_path / "r").glob("report.*"))
    assert run(*arguments, "--dim", "5", "--resume")[0] == 0


def test_one_way_of_counting_can_be_forced_upon_all(tmp_path, corpus, task, in_process):
    compare(
        [str(corpus)], output=tmp_path / "r", methods=["svd", "cca"], dim=5, tasks=[task], window=4,
        weighting="harmonic",
    )  # fmt: skip
    assert in_process == [
        "counts/4-harmonic-close", "models/svd", "counts/4-harmonic-keep", "models/cca",
    ]  # fmt: skip


def test_other_vectors_and_a_second_corpus_stand_beside(tmp_path, corpus, task, in_process):
    compare([str(corpus)], output=tmp_path / "one", methods=["svd"], dim=5, tasks=[task])
    second = write_corpus(tmp_path / "second.txt", seed=2, lines=200)
    found = compare(
        [str(corpus)], output=tmp_path / "two", methods=["svd", "ppmi"], dim=5, tasks=[task], second=[str(second)],
        also={"theirs": tmp_path / "one" / "models" / "svd"},
    )  # fmt: skip
    assert found.report.models == ("svd", "ppmi", "theirs")
    assert found.quality["theirs"] == found.quality["svd"]
    assert [size["tokens"] for size in found.sizes] == [6000, 3000]
    assert "ratio of times" in found.tables[f"Table 2. {COSTS}"].header
    assert "Growth of the training time" in (tmp_path / "two" / "report.html").read_text()
    assert (tmp_path / "two" / "second" / "models" / "svd").is_dir()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": ["lsa"]}, "there is no method 'lsa'"),
        ({"methods": []}, "no method is named; choose from psdvec,"),
        ({"settings": ["power=1"]}, "write method.name=value"),
        ({"settings": ["glove.epochs=1"]}, "not a setting of a compared method"),
        ({"settings": ["svd.might=1"]}, "its settings are shift"),
        ({"tasks": ["nonsense"]}, "there is no test set or file 'nonsense'"),
        ({"seeds": 0}, "seeds=0 is not a number of seeds; give a whole number from 1 on, or auto"),
        ({"seeds": "many"}, "seeds=many is not a number of seeds"),
        ({"tagging": ["conll2000"]}, "is not a tagging task"),
        ({"also": {"x": "nowhere.txt"}}, "nowhere.txt"),
        ({"second": ["nowhere.txt"]}, "there is no file 'nowhere.txt'"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_is_trained(
    tmp_path, corpus, in_process, options, message
):
    options = {"methods": ["svd"], **options}
    with pytest.raises(InputError, match=message):
        compare([str(corpus)], output=tmp_path / "report", **options)
    assert not in_process
    assert not (tmp_path / "report").exists()


def test_a_record_that_no_comparison_wrote_is_not_replaced(tmp_path, corpus, task, in_process):
    record = tmp_path / "report" / "models" / "svd.json"
    record.parent.mkdir(parents=True)
    record.write_text('{"mine": 1}')
    with pytest.raises(InputError, match=r"svd.json' was not written by a comparison; move it away"):
        compare([str(corpus)], output=tmp_path / "report", methods=["svd"], dim=5, tasks=[task], resume=True)
    assert record.read_text() == '{"mine": 1}'
    assert in_process == ["counts/5-linear-close"]


def test_an_output_that_is_there_is_not_touched(tmp_path, corpus):
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "mine").write_text("mine")
    with pytest.raises(InputError, match="resume=True"):
        compare([str(corpus)], output=tmp_path / "report", methods=["svd"])
    with pytest.raises(InputError, match="contains 'mine', which no comparison made"):
        compare([str(corpus)], output=tmp_path / "report", methods=["svd"], resume=True)
    assert (tmp_path / "report" / "mine").read_text() == "mine"
    with pytest.raises(InputError, match="can be read only once"):
        compare(["-"], output=tmp_path / "other", methods=["svd"])


def test_names_of_other_vectors_must_be_their_own(tmp_path, corpus, run):
    code, _, said = run("compare", corpus, "-o", tmp_path / "r", "--also", "svd=x.txt")
    assert code == 1
    assert "its name is that of a method or of other vectors" in said
    code, _, said = run("compare", corpus, "-o", tmp_path / "r", "--also", "a=x.txt", "--also", "a=y.txt")
    assert (code, "'a=y.txt' is not name=path, or its name" in said) == (1, True)
