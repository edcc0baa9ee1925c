"""Which package may import which. Data flows one way, and so do imports; nothing imports in a circle.

Imports inside functions count as well: they are lazy, not absent. The few that go up are listed with their reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import psdvec

HOME = Path(psdvec.__file__).parent

# From low to high: a package imports those before it, and itself.
LAYERS = (
    "errors", "system", "arrays", "resources", "progress", "options",
    "storage", "pages", "kernels", "text", "counts", "vectors", "solver", "formats",
    "topic_model", "search", "slices", "documents", "loading", "sklearn", "cluster", "methods", "evaluation", "compare",
    "maps", "publishing", "explore", "cli", "__main__",
)  # fmt: skip

# Imports that go up, all inside functions.
UPWARDS = {
    ("options", "counts.matrix"): "what pairs count at each distance is an array; options are shown without NumPy",
    ("vectors.embeddings", "formats"): "e.save(path) writes any format; formats are loaded when something is saved",
    ("counts.count", "cluster.counting"): "count_pairs(client=...) hands its work to a cluster; Dask is optional",
    ("solver.extend", "formats"): "extend(path, ...) takes vectors in any format; formats know how a model is stored",
    ("solver.fit", "cluster.fitting"): "fit(client=...) hands its work to a cluster; Dask is optional",
    ("solver.extend", "cluster.fitting"): "extend(client=...) hands its work to a cluster; Dask is optional",
}  # fmt: skip

# Imports inside functions that would make a circle.
BACK = {
    ("counts.matrix", "counts.graphs"): "Cooccurrence.from_matrix() reads matrices and edges, which become counts",
    ("evaluation.report", "evaluation.page"): "report.plot() draws the rows of the page, which is made of a report",
    ("slices.association", "slices.association_page"): "association(output=...) writes a folder, made of what it found",
    ("slices.change", "slices.page"): "change(output=...) writes a folder, and a folder is made of a change",
    ("topic_model.topics", "topic_model.page"): "topics.save(path) writes a folder, and a folder is made of topics",
    ("solver.devices", "solver.devices.cpu"): "open_device() loads the device that is asked for",
    ("solver.devices", "solver.devices.gpu"): "open_device() loads the device that is asked for",
}  # fmt: skip


def modules() -> dict[str, Path]:
    paths = {path.relative_to(HOME).with_suffix("").as_posix(): path for path in HOME.rglob("*.py")}
    return {name.removesuffix("/__init__").replace("/", "."): path for name, path in paths.items()}


MODULES = modules()


def imports(module: str) -> Iterator[str]:
    """Yield every module of the package that ``module`` imports, anywhere in it."""
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            pytest.fail(f"{module} has a relative import; write it in full")
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "psdvec":
            package = (node.module or "").removeprefix("psdvec").removeprefix(".")
            for alias in node.names:
                full = f"{package}.{alias.name}".removeprefix(".")
                found = full if full in MODULES else package
                if found:
                    yield found
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("psdvec."):
                    yield alias.name.removeprefix("psdvec.")


EDGES = {name: sorted(set(imports(name))) for name in MODULES if name not in ("__init__",)}


def layer(module: str) -> int:
    return LAYERS.index(module.partition(".")[0])


def test_every_package_has_its_layer():
    assert {name.partition(".")[0] for name in MODULES} - {"__init__"} == set(LAYERS)


def test_imports_go_down():
    upwards = {
        (name, other) for name, others in EDGES.items() for other in others if layer(other) > layer(name)
    }
    assert upwards == set(UPWARDS)


def test_nothing_imports_in_a_circle():
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, f"a circle: {' -> '.join((*path[path.index(name) :], name))}"
        if name not in done:
            for other in EDGES[name]:
                if (name, other) not in UPWARDS | BACK:
                    visit(other, (*path, name))
            done.add(name)

    for name in EDGES:
        visit(name, ())


def test_no_module_is_too_long():
    for name, path in MODULES.items():
        lines = path.read_text(encoding="utf-8").count("\n")
        assert lines <= 900, f"{name} has {lines} lines; is it two things?"


@pytest.mark.parametrize("package", [name for name in LAYERS if (HOME / name).is_dir()])
def test_what_is_tested_and_its_tests_are_in_folders_of_the_same_name(package):
    assert (Path(__file__).parent / package).is_dir()
