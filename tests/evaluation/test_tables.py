from __future__ import annotations

import csv
import io
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from psdvec.evaluation.evaluate import evaluate
from psdvec.evaluation.page import as_html, frequency_bands
from psdvec.evaluation.report import (
    Report,
    as_csv,
    as_values,
    coverage_table,
    interval_table,
    make_tables,
    rules,
    score_cells,
    score_table,
    section_table,
)
from psdvec.evaluation.statistics import variance_of
from psdvec.evaluation.tasks import Analogies, Pairs
from psdvec.formats import save
from psdvec.vectors.embeddings import Embeddings
from tests.helpers import Page

WORDS = tuple(f"w{i}" for i in range(60))


def models() -> dict[str, Embeddings]:
    vectors = np.random.default_rng(0).standard_normal((60, 8)).astype(np.float32)
    noisy = vectors + np.random.default_rng(1).standard_normal((60, 8)).astype(np.float32) * 3
    same = vectors + np.random.default_rng(2).standard_normal((60, 8)).astype(np.float32) * 0.02
    return {
        "good": Embeddings(WORDS, vectors),
        "alike": Embeddings(WORDS, same),
        "bad": Embeddings(WORDS[:50], noisy[:50]),
    }


def models_of(*names: str) -> dict[str, Embeddings]:
    return {name: e for name, e in models().items() if name in names}


def tasks() -> list[Pairs | Analogies]:
    truth = models()["good"]
    items = tuple((WORDS[i], WORDS[j]) for i in range(60) for j in range(i) if (i + j) % 3 == 0)
    gold = np.array([truth.similarity(a, b) for a, b in items])
    questions = tuple((WORDS[i], WORDS[i + 1], WORDS[i + 2], WORDS[i + 3]) for i in range(40))
    sections = tuple("first" if i < 30 else "second" for i in range(40))
    return [Pairs("men", items, gold), Analogies("google", questions, sections)]


@pytest.fixture(scope="module")
def report() -> Report:
    return evaluate(models(), tasks())


def test_the_best_is_marked_where_the_test_tells_it_from_all_others():
    table = score_table(evaluate(models_of("good", "bad"), tasks()))
    assert table.header == ("model", "MEN", "Google ×", "Google +", "mean")
    by_model = {row[0]: row[1] for row in table.rows}
    assert by_model["good"] == "100.0*"
    assert by_model["bad"].endswith(" ")


def test_nothing_is_marked_as_best_where_the_test_does_not_decide(report: Report):
    # forty questions cannot tell models apart that answer nearly all of them wrongly
    column = [row[2][-1] for row in score_table(report).rows[:-1]]
    assert "*" not in column
    highest = report.best("google", "3cosmul")
    assert column[report.models.index(highest)] == "≈"
    assert column.count("≈") >= 2


def test_marks_follow_the_tests_in_every_column_and_in_the_mean(report: Report):
    columns = [[report.find(model, *column) for model in report.models] for column in report.columns]
    for column in [*columns, [*report.means.values()]]:
        marks = [cell[-1] for cell in score_cells(column)]
        apart = [score.is_best or score.p_adjusted < 0.05 for score in column]
        for score, mark in zip(column, marks, strict=True):
            if score.is_best:
                assert mark == ("*" if all(apart) else "≈")
            else:
                assert mark == (" " if score.p_adjusted < 0.05 else "≈")


def test_a_score_that_nothing_can_be_compared_with_is_not_marked():
    other = Embeddings(("x", "y"), np.eye(2, dtype=np.float32))
    report = evaluate({"good": models()["good"], "none": other}, tasks())
    assert [row[1] for row in score_table(report).rows[:2]] == ["100.0 ", "too few (0) "]


def test_the_difference_that_could_have_been_seen_is_shown(report: Report):
    *models, last = score_table(report).rows
    assert [row[0] for row in models] == list(report.models)
    assert last[0] == "detectable"
    found = [report.get(name, "men").against_best for name in ("alike", "bad")]
    assert float(last[1]) == pytest.approx(np.median([100 * one.detectable for one in found]), abs=0.05)
    assert "not told apart from the highest at this size" in rules(report)
    alone = evaluate(models_of("good"), tasks())
    assert len(score_table(alone).rows) == 1


def test_the_mean_has_an_interval_and_is_compared(report: Report):
    assert interval_table(report).header[-1] == "mean"
    mean = report.means["bad"]
    sets = [report.get("bad", task) for task in report.tasks]
    assert mean.low == pytest.approx(mean.value - math.hypot(*(one.value - one.low for one in sets)) / 2)
    assert mean.high == pytest.approx(mean.value + math.hypot(*(one.high - one.value for one in sets)) / 2)
    assert all(one.high <= 1 for one in report.means.values())
    assert mean.low < mean.value == report.mean("bad") < mean.high
    assert as_values(report)["means"]["bad"]["low"] == mean.low
    assert report.means["good"].is_best
    assert mean.p_adjusted < 0.05
    assert report.mean_difference("good", "good").p == 1


def test_a_set_under_two_names_makes_the_mean_no_surer():
    men = tasks()[0]
    once = evaluate(models(), [men])
    twice = evaluate(models(), [men, replace(men, name="again")])
    score, mean = once.get("bad", "men"), twice.means["bad"]
    assert (mean.low, mean.high) == pytest.approx((score.low, score.high))
    assert mean.against_best.error == pytest.approx(score.against_best.error)
    assert mean.against_best.p == pytest.approx(score.against_best.p)


def test_seeds_that_differ_widen_the_interval_and_the_error():
    one, other = models()["good"], models()["alike"]
    apart = evaluate({"both": [one, other], "bad": models()["bad"]}, tasks())
    alike = evaluate({"both": [one, one], "bad": models()["bad"]}, tasks())
    single = evaluate({"both": one, "bad": models()["bad"]}, tasks())
    for column in apart.columns:
        items = apart.get("both", *column).items
        spread = apart.get("both", *column).spread
        against = [report.get("bad", *column).against_best.error for report in (alike, single)]
        assert against[0] == pytest.approx(against[1])
        found = replace(items.parts(), values=items.parts().values - items.parts().mean)
        without = variance_of(replace(found, seeds=()))
        assert variance_of(found).value == pytest.approx(without.value + spread**2 / 2)


def test_a_list_of_vectors_is_a_method_trained_with_several_seeds():
    one, other = models()["good"], models()["alike"]
    report = evaluate({"both": [one, other], "bad": models()["bad"]}, tasks())
    apart = evaluate({"one": one, "other": other}, tasks())
    for column in report.columns:
        values = [apart.get(name, *column).value for name in ("one", "other")]
        score = report.get("both", *column)
        assert (score.value, score.spread) == pytest.approx((np.mean(values), np.std(values, ddof=1)))
    assert [row[:2] for row in make_tables(report).seeds.rows] == [("both", "2")]
    assert make_tables(apart).seeds is None


def test_coverage_is_shown_for_every_set(report: Report):
    table = coverage_table(report)
    total = report.get("good", "men").total
    assert table.rows[0] == ("good", f"{total}/{total}", "40/40")
    assert table.rows[2][1] == f"{report.get('bad', 'men').covered}/{total}"


def test_sections_are_shown_where_there_are_some(report: Report):
    table = section_table(report, "google", "3cosadd")
    assert [row[:2] for row in table.rows] == [("first", "30"), ("second", "10")]
    assert table.rows[1][2:] == ("too few (10)",) * 3
    assert section_table(report, "men", "spearman") is None


def test_the_rules_are_said(report: Report):
    assert "items with a word that has no vector are left out" in rules(report)
    assert "only items that all models cover" in rules(evaluate(models(), tasks(), common=True))
    assert "vector of zeros" in rules(evaluate(models(), tasks(), oov="zero"))


def test_csv_has_a_line_for_each_model_task_and_metric(report: Report):
    rows = list(csv.DictReader(io.StringIO(as_csv(report))))
    assert len(rows) == 9 + 3
    assert [row["task"] for row in rows[9:]] == ["mean"] * 3
    assert float(rows[0]["score"]) == pytest.approx(report.scores[0].value)
    assert rows[0]["best"] == "True"
    assert rows[0]["p_against_best"] == ""
    assert 0 < float(rows[-1]["p_against_best"] or 1) <= 1


def test_a_data_frame_has_the_rows_of_the_csv(report: Report):
    pandas = pytest.importorskip("pandas")
    frame = report.to_frame()
    read = pandas.read_csv(io.StringIO(as_csv(report)))
    assert list(frame.columns) == list(read.columns)
    for name in ("model", "task", "score", "low", "high", "covered", "total"):
        assert frame[name].tolist() == pytest.approx(read[name].tolist())


def test_a_figure_has_a_dot_for_each_score_and_first_the_means(report: Report):
    pytest.importorskip("matplotlib")
    axes = report.plot().axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["mean", "MEN", "Google ×", "Google +"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == list(report.models)
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    for line, model in zip(dots, report.models, strict=True):
        scores = [report.means[model], *(report.get(model, *column) for column in report.columns)]
        assert list(line.get_xdata()) == pytest.approx([100 * score.value for score in scores])
    for lines, model in zip(axes.collections, report.models, strict=True):
        ends = [report.get(model, *column) for column in report.columns]
        drawn = [list(segment[:, 0]) for segment in lines.get_segments()]
        assert np.ravel(drawn[1:]) == pytest.approx([100 * e for one in ends for e in (one.low, one.high)])


def test_a_figure_of_one_model_has_its_name_and_leaves_out_what_tells_nothing():
    pytest.importorskip("matplotlib")
    few = Pairs("few", tasks()[0].items[:5], tasks()[0].gold[:5])
    axes = evaluate(models_of("good"), [*tasks(), few]).plot().axes[0]
    assert axes.get_title(loc="left") == "Scores of good"
    assert "few" not in [text.get_text() for text in axes.get_yticklabels()]
    assert axes.get_legend() is None
    nothing = evaluate(models_of("good"), [few]).plot().axes[0]
    assert not nothing.lines


def test_json_holds_only_what_json_can_hold(report: Report):
    missing = evaluate({"none": Embeddings(("x",), np.ones((1, 2), dtype=np.float32))}, tasks())
    for one in (report, missing):
        json.loads(json.dumps(as_values(one), allow_nan=False))
    assert as_values(missing)["scores"][0]["score"] is None


def test_the_page_is_whole_and_needs_nothing_from_elsewhere(report: Report):
    page = as_html(report, make_tables(report))
    tags = Page(page).tags
    # dots: three columns and the mean, each of three models, and a band; bars: coverage of two tasks by three models
    assert tags["circle"] >= 12 + 6
    assert tags["rect"] == 6
    assert "http" not in page
    assert "<script" not in page


def test_the_page_explains_every_column_where_it_stands(report: Report):
    page = as_html(report, make_tables(report))
    scores = page[page.index('<h2 id="scores">') : page.index('<h2 id="scores-with-95-intervals">')]
    for heading, meaning in (
        ("MEN", "MEN, 3,000 pairs"), ("Google ×", "answered by 3CosMul"), ("Google +", "answered by 3CosAdd"),
        ("mean", "of MEN, Google"), ("detectable", "a power of 80 %"),
    ):  # fmt: skip
        assert re.search(rf"<dt>{re.escape(heading)}</dt><dd>[^<]*{re.escape(meaning)}", scores), heading
    assert "* best: told apart from every other model" in scores
    assert "≈ highest, or not told apart from the highest at this size" in scores


def test_every_plot_says_its_numbers_to_those_who_do_not_see_it(report: Report):
    page = as_html(report, make_tables(report))
    said = re.findall(r'<svg[^>]* role="img" aria-label="([^"]+)"', page)
    assert len(said) == page.count("<svg")
    numbers = "; ".join(f"{row[0]} {row[1].strip()}" for row in score_table(report).rows[:-1])
    assert f"MEN: {numbers}" in said


def test_one_model_alone_has_one_plot_of_its_scores():
    alone = evaluate(models_of("good"), tasks())
    page = as_html(alone, make_tables(alone))
    assert 'aria-label="good: mean' in page
    assert "*" not in "".join(cell for row in score_table(alone).rows for cell in row)


def test_the_page_says_once_what_all_models_cover():
    alike = evaluate(models_of("good", "alike"), tasks())
    page = as_html(alike, make_tables(alike))
    assert "all models" in page[page.index('<h2 id="coverage">') :]
    assert "<rect" not in page


def test_names_in_the_page_are_escaped():
    e = Embeddings(WORDS, models()["good"].vectors)
    report = evaluate({"<i>&": e}, tasks())
    page = as_html(report, make_tables(report))
    assert "<i>" not in page
    assert "&lt;i&gt;&amp;" in page


def test_scores_by_frequency_fall_into_bands_of_rank(report: Report):
    bands = frequency_bands(report.get("good", "men"))
    assert [name for name, _, _ in bands] == ["1–1k"]
    assert bands[0][2] == report.get("good", "men").covered


def test_too_few_items_are_said_wherever_a_score_would_stand():
    few = Pairs("rg-65", *(column[:29] for column in (tasks()[0].items, tasks()[0].gold)))
    report = evaluate(models_of("good", "bad"), [tasks()[0], few])
    tables = make_tables(report)
    assert tables.scores.header == ("model", "MEN", "RG", "mean of 1 of 2")
    assert [row[2] for row in tables.scores.rows] == ["too few (29) ", "too few (29) ", "– "]
    assert [row[2] for row in tables.intervals.rows] == ["–", "–"]
    said = (
        "too few (n): n items are too few to tell; a score takes at least 30. "
        "The mean is of 1 of 2 sets; left out: RG (29 of 29)."
    )
    assert tables.rules.endswith(said)
    page = as_html(report, tables)
    assert said in page
    assert 'aria-label="RG' not in page
    found = tables.values["scores"]
    assert [one["too_few"] for one in found if one["task"] == "rg-65"] == [True, True]
    assert found[-2]["score"] == pytest.approx(1)
    assert (found[-2]["low"], found[-2]["best"]) == (None, False)
    assert tables.values["mean_over"] == ["men"]
    assert tables.values["left_out"] == {"rg-65": {"good": 29, "bad": 29}}
    rows = list(csv.DictReader(io.StringIO(as_csv(report))))
    assert [row["too_few"] for row in rows] == ["False", "False", "True", "True", "", ""]
    assert (rows[-1]["covered"], rows[-1]["total"]) == ("1", "2")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, e in models().items():
        save(e, tmp_path / name)
    lines = [f"{a}\t{b}\t{score}" for (a, b), score in zip(tasks()[0].items, tasks()[0].gold, strict=True)]
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "bruni_men.txt").write_text("\n".join(lines))
    (tmp_path / "own.txt").write_text("w1 w2 3\nw3 w4 5\nw5 w6 1\n")
    return tmp_path


def test_evaluate_prints_tables_and_writes_the_page(run, folder: Path):
    code, out, _ = run(
        "evaluate", folder / "good", folder / "bad", "--testsets", folder / "sets", "--task", "men",
        "--html", folder / "report.html", "--plot", folder / "report.png", "-q",
    )  # fmt: skip
    assert code == 0
    assert out.splitlines()[0].split() == ["model", "MEN", "mean"]
    assert out.splitlines()[1].split() == ["good", "100.0*", "100.0*"]
    assert "<svg" in (folder / "report.html").read_text()
    assert (folder / "report.png").read_bytes().startswith(b"\x89PNG")


def test_intervals_and_sections_are_shown_on_request(run, folder: Path):
    questions = "".join(f"{': first' if i == 0 else ''}\nw{i} w{i + 1} w{i + 2} w{i + 3}" for i in range(4))
    (folder / "own.txt").write_text(questions + "\n: second\nw9 w8 w7 w6\n")
    _, out, _ = run(
        "evaluate", folder / "good", "--task", folder / "own.txt", "--intervals", "--sections", "-q"
    )
    assert "95 % between" in out
    assert "second" in out


def test_evaluate_prints_json_and_csv(run, folder: Path):
    arguments = ("evaluate", folder / "good", "--testsets", folder / "sets", "--task", "men", "-q")
    assert json.loads(run(*arguments, "--json")[1])["scores"][0]["score"] == pytest.approx(1)
    assert run(*arguments, "--csv")[1].startswith("model,task,metric,score")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--json", "--csv"], "choose one of them"),
        (["--html", "own.txt/report.html"], "is not a folder"),
        (["--plot", "scores.doc"], "ends in .png or .svg or .pdf"),
        (["--tagging", "nonsense"], "is not a tagging task"),
        (["--tagging", "conll2003:nowhere"], "(No such file or directory); check the name"),
    ],
)
def test_what_cannot_be_done_is_said_before_any_work(run, folder: Path, options, message: str, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr("psdvec.formats.load", lambda *_, **__: pytest.fail("the model was read"))
    code, out, err = run("evaluate", "good", "--task", "own.txt", "-q", *options)
    assert (code, out) == (1, "")
    assert message in err


def test_a_model_given_twice_is_refused(run, folder: Path):
    code, _, err = run("evaluate", folder / "good", folder / "good", "--task", folder / "own.txt", "-q")
    assert code == 1
    assert "is given twice" in err


def test_a_users_own_file_is_one_option_away(run, folder: Path):
    _, out, _ = run("evaluate", folder / "good", "--task", folder / "own.txt", "-q", "--json")
    assert json.loads(out)["scores"][0]["task"] == "own"


def test_the_catalogue_is_listed_with_where_the_sets_are(run, folder: Path):
    _, out, _ = run("testsets", "list", "--testsets", folder / "sets", "--json")
    places = {record["name"]: record["path"] for record in json.loads(out)}
    assert places["men"] == str(folder / "sets" / "bruni_men.txt")
    _, out, _ = run("testsets", "list")
    assert out.splitlines()[0].split() == ["name", "kind", "title", "licence", "where"]
