"""What a comparison shows: the paper's tables, values for programs, and the page."""

from __future__ import annotations

import json
from pathlib import Path

from psdvec.compare.report import (
    CORE_WORDS,
    COSTS,
    as_markdown,
    as_page,
    as_values,
    make_remarks,
    make_tables,
)
from psdvec.compare.values import Comparison, Cost, TrainingRun
from psdvec.evaluation.evaluate import evaluate
from psdvec.evaluation.report import make_tables as make_report_tables
from tests.helpers import Page


def made_up(*, second: bool = False) -> Comparison:
    paper = {"psd-core-20": Cost(30.0, 30.0, 3_000_000_000), "psd": Cost(6.0, 6.0, 1_000_000_000)}
    runs = (
        TrainingRun("psd", Cost(2.0, 2.0, 10), paper, (Path("models/psd"),)),
        TrainingRun("svd", Cost(2.0, 2.0, 10), {"svd": Cost(9.0, 9.0, 500)}, (Path("models/svd"),)),
        TrainingRun("glove", Cost(2.0, 2.0, 10), {}, error="it <was> ended"),
    )
    later = (
        TrainingRun("psd", Cost(1.0, 1.0, 10), {name: Cost(3.0, 3.0, 9) for name in paper}, (Path("x"),)),
        TrainingRun("svd", Cost(1.0, 1.0, 10), {"svd": Cost(3.0, 3.0, 9)}, (Path("x"),)),
        TrainingRun("glove", Cost(1.0, 1.0, 10), {}, error="it <was> ended"),
    )
    found = {
        "settings": {"svd": {"window": 5, "shift": 1.0}},
        "sizes": ({"tokens": 1000, "vocabulary": 60}, {"tokens": 300, "vocabulary": 60})[
            : 2 if second else 1
        ],
    }
    left_out = {"word2vec": "no package"}
    report, later = evaluate({}, []), later if second else ()
    evaluation = make_report_tables(report)
    return Comparison(
        header={"date": "today", "machine": "a <small> one"},
        runs=runs,
        second=later,
        quality={"psd": 0.5, "svd": 0.4},
        report=report,
        left_out=left_out,
        evaluation=evaluation,
        tables=make_tables(evaluation, runs, later, **found),
        remarks=make_remarks(runs, later, left_out, judged=False),
        **found,
    )


def test_table_two_adds_steps_and_divides_by_the_second_corpus():
    rows = made_up(second=True).tables[f"Table 2. {COSTS}"].rows
    assert rows[0] == ("psd", "1", "36.0", "36.0", "3.0 GB", "2.0", "38.0", "6.0", "6.0", "9 B", "6.0")
    assert rows[1][-1] == "3.0"
    assert rows[2][:3] == ("glove", "–", "failed")


def test_methods_that_read_the_text_are_not_charged_with_counting():
    one, two = (
        TrainingRun(name, Cost(5.0, 5.0, 1), {name: Cost(2.0, 2.0, 1)}, (Path(name),))
        for name in ("word2vec", "svd")
    )
    assert (one.total, two.total) == (2.0, 7.0)


def test_table_three_sets_core_words_against_the_others():
    assert made_up().tables[f"Table 3. {CORE_WORDS}"].rows == (
        ("core", "20", "30.0", "3.0 GB", "40", "1.0"),
        ("by ridge", "40", "6.0", "1.0 GB", "400", "10.0"),
    )


def test_values_are_ready_for_json_and_hold_every_step():
    values = json.loads(json.dumps(as_values(made_up())))
    assert values["costs"][0]["training"]["wall"] == 36
    assert values["costs"][0]["steps"]["psd"]["wall"] == 6
    assert values["costs"][2] == {
        "method": "glove", "error": "it <was> ended", "training": None, "steps": {}, "seeds": 0,
        "counting": {"wall": 2, "processor": 2, "memory": 10},
    }  # fmt: skip


def test_markdown_holds_the_header_the_failures_and_what_was_left_out():
    text = as_markdown(made_up())
    assert text.splitlines()[2] == "**Nothing was judged, because there was no test set.**"
    assert "- machine: a <small> one" in text
    assert "- glove failed: it <was> ended." in text
    assert "- word2vec was left out: no package." in text


def test_the_page_is_whole_safe_and_needs_nothing_else():
    page = as_page(made_up(second=True))
    links = [value for name, value in Page(page).attributes if name in ("src", "href")]
    assert all(value.startswith("#") for value in links)
    assert "a &lt;small&gt; one" in page
    assert page.index("Nothing was judged") < page.index("<h2")
    assert "it &lt;was&gt; ended" in page
    assert "Quality against time" in page
    assert "Growth of the training time" not in as_page(made_up())
