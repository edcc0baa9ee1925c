"""Comparing methods: measured processes, steps that are found again, tables and the page."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from psdvec import compare as comparing
from psdvec import compare_steps, formats
from psdvec.cli import app
from psdvec.compare import Comparison, compare, compile_kernels
from psdvec.compare_page import Axis, as_page, labels
from psdvec.compare_process import Cost, FailedCommandError, run_measured
from psdvec.compare_steps import Outcome
from psdvec.compare_tables import as_markdown, as_values, core_table, cost_table, remarks
from psdvec.errors import InputError
from psdvec.evaluation import evaluate
from psdvec.methods import METHODS
from psdvec.methods.running import fit_method


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
    path.write_text("\n".join(f"w{i} w{i + 1} {i}" for i in range(12)))
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

    monkeypatch.setattr(compare_steps, "run_measured", run)
    monkeypatch.setattr(comparing, "warm_up", lambda *_: None)
    return commands


# Processes


def test_time_and_memory_of_a_command_are_its_own(tmp_path):
    ballast = np.ones(50_000_000)  # 400 MB in this process, which a child must not be charged with
    cost = run_measured(["--help"], folder=tmp_path, workers=1)
    assert cost.wall > 0.05
    assert cost.processor > 0
    assert 10_000_000 < cost.memory < ballast.nbytes / 2


def test_a_command_that_fails_says_why(tmp_path):
    with pytest.raises(FailedCommandError, match="there is no 'nowhere'; check the name"):
        run_measured(["fit", "nowhere", "-o", "model"], folder=tmp_path, workers=1)


def test_lines_of_a_command_are_passed_on(tmp_path, corpus):
    lines: list[str] = []
    run_measured(["count", str(corpus), "-o", "counts"], folder=tmp_path, workers=1, note=lines.append)
    assert any("counting pairs" in line for line in lines)
    assert (tmp_path / "counts" / "meta.json").is_file()


def test_costs_add_up_in_time_and_not_in_memory():
    assert Cost(1, 2, 30) + Cost(10, 20, 3) == Cost(11, 22, 30)


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


def test_kernels_are_compiled_for_any_method_of_counts():
    compile_kernels([name for name, method in METHODS.items() if method.reads == "counts"], "whitespace")


# Steps


def test_the_paper_s_method_in_two_steps_equals_it_in_one(tmp_path, corpus, task, in_process):
    output = tmp_path / "report"
    compare([str(corpus)], output=output, methods=["psd", "psd-unreg"], dim=5, tasks=[task])
    assert in_process == ["counts/3-flat-keep", "models/psd-core-20", "models/psd", "models/psd-unreg"]
    for name in ("psd", "psd-unreg"):
        alone = fit_method(name, output / "counts" / "3-flat-keep", output=tmp_path / name, dim=5)
        found = formats.load(output / "models" / name)
        assert tuple(found.words) == alone.words
        assert found.vectors.tobytes() == alone.vectors.tobytes()


def test_sparse_coding_takes_the_word2vec_vectors_that_are_compared(tmp_path, corpus, task, in_process):
    output = tmp_path / "report"
    found = compare(
        [str(corpus)], output=output, methods=["word2vec", "sparse"], dim=5, tasks=[task], workers=1,
        settings=["sparse.factor=2", "word2vec.window=2"],
    )  # fmt: skip
    assert in_process == ["counts/20-harmonic-keep", "models/word2vec", "models/sparse"]
    assert [list(one.steps) for one in found.outcomes] == [["word2vec"], ["word2vec", "sparse"]]
    assert formats.load(output / "models" / "sparse").dim == 10
    assert found.settings["word2vec"]["window"] == 2


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
    assert again.outcomes[:2] == first.outcomes
    in_process.clear()
    compare([str(corpus)], methods=["svd", "cca"], settings=["svd.power=1"], resume=True, **options)
    assert in_process == ["models/svd"]
    in_process.clear()
    write_corpus(corpus, seed=1, lines=300)
    compare([str(corpus)], methods=["cca"], resume=True, **options)
    assert in_process == ["counts/5-flat-keep", "models/cca"]


def test_a_method_that_fails_is_shown_and_the_others_go_on(tmp_path, corpus, task, in_process):
    output = tmp_path / "report"
    found = compare(
        [str(corpus)], output=output, methods=["svd", "ppmi"], dim=5, tasks=[task], settings=["svd.shift=-1"]
    )
    assert [one.error is None for one in found.outcomes] == [False, True]
    assert found.report.models == ("ppmi",)
    text = (output / "report.md").read_text()
    assert "svd failed: shift -1.0" in text
    assert "| svd | failed |" in text
    in_process.clear()
    compare([str(corpus)], output=output, methods=["svd", "ppmi"], dim=5, tasks=[task], resume=True)
    assert in_process == ["models/svd"]


def test_a_method_whose_package_is_missing_is_left_out_with_the_line(
    tmp_path, corpus, task, in_process, monkeypatch
):
    from dataclasses import replace

    monkeypatch.setitem(METHODS, "word2vec", replace(METHODS["word2vec"], package="no_such_package"))
    found = compare([str(corpus)], output=tmp_path / "r", methods=["word2vec", "svd"], dim=5, tasks=[task])
    assert [one.method for one in found.outcomes] == ["svd"]
    assert "pip install 'psdvec[compare]'" in remarks(found)[0]


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
    assert "ratio of times" in cost_table(found).header
    assert "Growth of the training time" in (tmp_path / "two" / "report.html").read_text()
    assert (tmp_path / "two" / "second" / "models" / "svd").is_dir()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": ["lsa"]}, "there is no method 'lsa'"),
        ({"settings": ["power=1"]}, "write method.name=value"),
        ({"settings": ["glove.epochs=1"]}, "no setting of a compared method"),
        ({"settings": ["svd.might=1"]}, "its settings are shift"),
        ({"tasks": ["nonsense"]}, "there is no test set or file 'nonsense'"),
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


def test_an_output_that_is_there_is_not_touched(tmp_path, corpus):
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "mine").write_text("mine")
    with pytest.raises(InputError, match="say --resume"):
        compare([str(corpus)], output=tmp_path / "report", methods=["svd"])
    with pytest.raises(InputError, match="can be read only once"):
        compare(["-"], output=tmp_path / "other", methods=["svd"])


def test_names_of_other_vectors_must_be_their_own(tmp_path, corpus, run):
    code, _, said = run("compare", corpus, "-o", tmp_path / "r", "--also", "svd=x.txt")
    assert code == 1
    assert "with a name that no method has" in said


# Tables and page


def made_up(*, second: bool = False, models: dict | None = None) -> Comparison:
    paper = {"psd-core-20": Cost(30.0, 30.0, 3_000_000_000), "psd": Cost(6.0, 6.0, 1_000_000_000)}
    outcomes = (
        Outcome("psd", Cost(2.0, 2.0, 10), paper, Path("models/psd")),
        Outcome("svd", Cost(2.0, 2.0, 10), {"svd": Cost(9.0, 9.0, 500)}, Path("models/svd")),
        Outcome("glove", Cost(2.0, 2.0, 10), {}, None, "it <was> ended"),
    )
    later = (
        Outcome("psd", Cost(1.0, 1.0, 10), {name: Cost(3.0, 3.0, 9) for name in paper}, Path("x")),
        Outcome("svd", Cost(1.0, 1.0, 10), {"svd": Cost(3.0, 3.0, 9)}, Path("x")),
        Outcome("glove", Cost(1.0, 1.0, 10), {}, None, "it <was> ended"),
    )
    return Comparison(
        header={"date": "today", "machine": "a <small> one"},
        settings={"svd": {"window": 5, "shift": 1.0}},
        outcomes=outcomes,
        second=later if second else (),
        sizes=({"tokens": 1000, "vocabulary": 60}, {"tokens": 300, "vocabulary": 60})[: 2 if second else 1],
        left_out={"word2vec": "no package"},
        quality={"psd": 0.5, "svd": 0.4},
        report=evaluate(models or {}, []),
    )


def test_table_two_adds_steps_and_divides_by_the_second_corpus():
    rows = cost_table(made_up(second=True)).rows
    assert rows[0] == ("psd", "36.0", "3.0 GB", "2.0", "38.0", "6.0", "9 B", "6.0")
    assert rows[1][-1] == "3.0"
    assert rows[2][:2] == ("glove", "failed")


def test_methods_that_read_the_text_are_not_charged_with_counting():
    one, two = (
        Outcome(name, Cost(5.0, 5.0, 1), {name: Cost(2.0, 2.0, 1)}, Path(name))
        for name in ("word2vec", "svd")
    )
    assert (one.total, two.total) == (2.0, 7.0)


def test_table_three_sets_core_words_against_the_others():
    table = core_table(made_up())
    assert table is not None
    assert table.rows == (
        ("core", "20", "30.0", "3.0 GB", "40", "1.0"),
        ("by ridge", "40", "6.0", "1.0 GB", "400", "10.0"),
    )


def test_values_are_ready_for_json_and_hold_every_step():
    values = json.loads(json.dumps(as_values(made_up())))
    assert values["costs"][0]["training"]["wall"] == 36
    assert values["costs"][0]["steps"]["psd"]["wall"] == 6
    assert values["costs"][2] == {
        "method": "glove", "error": "it <was> ended", "training": None, "steps": {},
        "counting": {"wall": 2, "processor": 2, "memory": 10},
    }  # fmt: skip


def test_markdown_holds_the_header_the_failures_and_what_was_left_out():
    text = as_markdown(made_up())
    assert "- machine: a <small> one" in text
    assert "- glove failed: it <was> ended." in text
    assert "- word2vec was left out: no package." in text


class Balance(HTMLParser):
    """Keeps the tags that are open, and what is loaded from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag, attributes):
        self.outside += [value for name, value in attributes if name in ("src", "href")]
        if tag not in ("meta", "path", "rect", "circle", "polyline"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("path", "rect", "circle", "polyline"):
            assert self.open.pop() == tag


def test_the_page_is_whole_safe_and_needs_nothing_else():
    page = as_page(made_up(second=True))
    balance = Balance()
    balance.feed(page)
    assert balance.open == []
    assert balance.outside == []
    assert "a &lt;small&gt; one" in page
    assert "it &lt;was&gt; ended" in page
    assert "Quality against time" in page
    assert "Growth of the training time" not in as_page(made_up())


def test_a_logarithmic_axis_gives_equal_room_to_equal_ratios():
    axis = Axis(1, 100, 50, 250, log=True)
    assert [round(axis.place(value)) for value in (1, 10, 100)] == [50, 150, 250]
    assert axis.ticks() == [1, 2, 5, 10, 20, 50, 100]
    assert Axis(2.5, 6, 50, 250, log=True).ticks() == [3, 4, 5, 6]
    assert Axis(31, 52, 0, 1).ticks() == [35, 40, 45, 50]


def test_labels_never_stand_on_one_another():
    drawing = labels([("alpha", 10, 50), ("beta", 12, 51), ("gamma", 200, 50), ("delta", 11, 52)])
    places = [
        tuple(float(part.split('"')[1]) for part in text.split(">")[0].split(" ")[1:3])
        for text in drawing.split("<text")[1:]
    ]
    crowded = sorted(y for x, y in places if x < 100)
    assert all(later - earlier >= 12 for earlier, later in pairwise(crowded))
    assert math.isclose(next(y for x, y in places if x > 100), 54)
