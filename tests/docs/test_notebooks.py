"""The notebooks of ``examples/notebooks`` run from top to bottom, show what is kept in them, and say what is so.

Jupyter itself runs them when they are kept (``make notebooks``). Here each cell is executed as it would be there, but
without a kernel: what it prints, the value of its last line, and the figures that it leaves open are what it shows.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from scripts import notebooks

from tests.conftest import REPOSITORY
from tests.docs.blocks import agrees

NOTEBOOKS = sorted(notebooks.FOLDER.glob("*.ipynb"))
FROM_MANUALS = ("first-hour", "groups")  # what these show varies with the versions of NumPy and SciPy
BYTES = 400_000  # of all notebooks with their pictures


class Shown(NamedTuple):
    """Something below a cell: its types, such as ``image/png``, or ``stdout``; and its text."""

    types: frozenset[str]
    text: str


def read_cells(path: Path, kind: str = "code") -> list[dict[str, Any]]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == kind]


def kept(cell: dict[str, Any]) -> list[Shown]:
    """What is kept below a cell."""
    return [
        Shown(frozenset({output["name"]}), "".join(output["text"]))
        if output["output_type"] == "stream"
        else Shown(frozenset(output["data"]), "".join(output["data"]["text/plain"]))
        for output in cell["outputs"]
    ]


def run_cell(source: str, names: dict[str, Any]) -> list[Shown]:
    """Execute a cell, and return what a notebook would show."""
    import matplotlib.pyplot as plt

    tree = ast.parse(re.sub(r"^(\s*)%.*", r"\1pass", source, flags=re.MULTILINE))
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    value = None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    shown = [Shown(frozenset({"stdout"}), printed.getvalue())] if printed.getvalue() else []
    shown += [as_shown(value)] if value is not None else []
    for number in plt.get_fignums():
        figure = plt.figure(number)
        figure.savefig(io.BytesIO(), format="png")
        shown.append(Shown(frozenset({"image/png", "text/plain"}), repr(figure)))
    plt.close("all")
    return shown


def as_shown(value: Any) -> Shown:
    """What a notebook shows of a value."""
    ways = {"text/plain": "__repr__", "text/html": "_repr_html_", "image/png": "_repr_png_"}
    return Shown(frozenset(one for one, way in ways.items() if getattr(value, way, str)()), repr(value))


def mostly_agrees(shown: str, found: str) -> bool:
    """Whether at least half of the words that are shown were found."""
    words = Counter(shown.split())
    return 2 * (words & Counter(found.split())).total() >= words.total()


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_is_kept_in_it_and_says_what_is_so(path: Path, tmp_path: Path, monkeypatch):
    matplotlib = pytest.importorskip(
        "matplotlib", reason="matplotlib is not installed; pip install 'psdvec[plot]'"
    )
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in read_cells(path):
        found, wanted = run_cell("".join(cell["source"]), names), kept(cell)
        where = f"{path.name}, cell {cell['id']}; make notebooks keeps what it shows now"
        assert [one.types for one in found] == [one.types for one in wanted], where
        for one, other in zip(wanted, found, strict=True):
            compare = mostly_agrees if path.stem in FROM_MANUALS else agrees
            texts = [" ".join(text.split()) for text in (one.text, other.text)]
            assert compare(*texts), f"{where}\n--- kept\n{one.text}\n--- found\n{other.text}"
    CLAIMS[path.stem](names)


def check_first_hour(names: dict[str, Any]) -> None:
    model, larger = names["model"], names["larger"]
    nearest = {
        word: [other for other, _ in model.most_similar(word, topn=5)] for word in ("cosine", "minimum")
    }
    assert "sine" in nearest["cosine"]
    assert "maximum" in nearest["minimum"]
    assert model.analogy("row", "rows", "column", topn=1)[0][0] == "columns"
    assert "passband" not in model
    assert "stopband" in [word for word, _ in larger.most_similar("passband", topn=3)]
    assert (larger.vectors[: len(model)] == model.vectors).all()
    lows = [larger.most_similar_intervals(word, topn=8)[-1][1].low for word in ("spectrogram", "passband")]
    assert max(lows) < 0 < model.most_similar_intervals("matrix", topn=8)[-1][1].low


def check_groups(names: dict[str, Any]) -> None:
    found, words, sides = names["found"], names["words"], names["sides"]
    place = found.place_of("density")
    assert found.low[place] > 0.1
    assert found.q[place] < 0.05
    assert found.low[found.place_of("the")] > 0  # in other company, which is no other meaning
    near = {part: {word for word, _ in near} for part, near in found.neighbours("density").items()}
    assert "spectral" in near["scipy.signal"]
    assert "probability" in near["scipy.stats"]
    assert {"filter", "window"} <= {row[1] for row in words.rows("scipy.signal", topn=5)}
    apart = {one.word: one for one in sides.estimates if one.slice == "between slices"}
    assert apart["sample"].value > 0
    assert apart["axis"].documents_low < 0 < apart["axis"].documents_high


def check_shop(names: dict[str, Any]) -> None:
    shop, larger, found = names["shop"], names["larger"], names["found"]
    assert found["complete"] > 5 * found["best sellers"]
    assert shop.most_similar("spaghetti", topn=1)[0][0] == "penne"
    assert "penne" not in [item for item, _ in shop.complete(["spaghetti"], topn=3)]
    assert set(larger.learned) == {"oat drink", "naan"}
    assert larger.most_similar("oat drink", topn=1)[0][0] == "milk"
    assert (larger.vectors[: len(shop)] == shop.vectors).all()


CLAIMS = {"first-hour": check_first_hour, "groups": check_groups, "shop": check_shop}


def test_there_are_three_notebooks_and_the_first_pages_name_them():
    assert [path.stem for path in NOTEBOOKS] == sorted(CLAIMS)
    for page in ("README.md", "docs/index.md"):
        text = (REPOSITORY / page).read_text(encoding="utf-8")
        assert all(path.name in text for path in NOTEBOOKS), page


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_short_and_was_run_once_from_top_to_bottom(path: Path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert notebook["metadata"] == {"kernelspec": notebooks.KERNEL, "language_info": {"name": "python"}}
    cells = notebook["cells"]
    assert 12 <= len(cells) <= 25
    assert len({cell["id"] for cell in cells}) == len(cells)
    code = read_cells(path)
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert any("image/png" in one.types for cell in code for one in kept(cell))
    assert not any(cell["metadata"] for cell in cells)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_kept_has_no_errors_and_tells_nothing_of_a_machine(path: Path):
    for cell in read_cells(path):
        assert all(output["output_type"] != "error" for output in cell["outputs"])
        for one in kept(cell):
            assert "stderr" not in one.types
            assert not re.search(r"/(home|root|tmp|usr|Users)\b|site-packages| at 0x|Warning", one.text), (
                one.text
            )


def test_the_notebooks_with_their_pictures_are_small():
    assert sum(path.stat().st_size for path in NOTEBOOKS) < BYTES


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_first_cell_installs_what_is_missing_and_the_others_nothing(path: Path):
    first, *others = ["".join(cell["source"]) for cell in read_cells(path)]
    assert '%pip install --quiet "psdvec[plot]"' in first
    assert not any(line.startswith(("%", "!")) for code in others for line in code.splitlines())


def test_progress_is_not_kept_and_warnings_are_refused():
    assert doctest.testmod(notebooks).failed == 0
    with pytest.raises(SystemExit, match="is one: UserWarning"):
        notebooks.tidied({"output_type": "stream", "name": "stderr", "text": "UserWarning\n" + os.linesep})
