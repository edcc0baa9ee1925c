"""A small library of models made by the product itself, with words in them that no page must ever interpret."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from psdvec.explore.api import Api
from psdvec.explore.models import ExploredModel, open_model
from psdvec.search.index import DocumentIndex
from psdvec.slices.change import change as find_change
from psdvec.solver import train
from psdvec.text.corpus import read_corpus
from psdvec.topic_model.topics import topics as find_topics
from tests.explore.browsers import browser, open_page
from tests.explore.servers import running

TOPICS = {
    "music": "guitar piano violin drums singer concert melody song band orchestra",
    "sea": "ship harbour sailor wave anchor coast island captain fish tide",
    "kitchen": "bread butter oven knife soup pepper cook kettle flour sugar",
}
COMMON = "the of and in to with was they for on"
HOSTILE = (
    "<script>window.hacked=1</script>",
    "<img/src=x/onerror=window.hacked=1>",
    "<b>bold</b>",
    '"><svg/onload=window.hacked=1>',
    "&lt;i&gt;",
    "javascript:alert(1)",
    "__proto__",
    "constructor",
    "${7*7}",
    "../../etc/passwd",
)
RARE = "lute oboe"  # placed after the core, so that they have deviations


@dataclass(frozen=True)
class Library:
    """Where the models are: two fitted ones with counts, the first with all that lies beside, and plain vectors."""

    model: Path
    counts: Path
    other: Path
    plain: Path
    topics: Path
    change: Path
    index: Path


def write_text(path: Path, *, seed: int, sentences: int = 900) -> None:
    rng = np.random.default_rng(seed)
    common, topics = COMMON.split(), [words.split() for words in TOPICS.values()]
    lines = []
    for number in range(sentences):
        topic = topics[number % len(topics)]
        words = [*rng.choice(topic, 7), *rng.choice(common, 4)]
        if number % 9 == 0:
            words.append(HOSTILE[number // 9 % len(HOSTILE)])
        if number % 90 == 0:
            words.extend(RARE.split())
        rng.shuffle(words)
        lines.append(" ".join(words))
    path.write_text("\n".join(lines), encoding="utf-8")


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory):
    """A cache folder for the tests, so that no map of theirs is kept in the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("library")
    for name, seed in (("model", 0), ("other", 1)):
        write_text(folder / f"{name}.txt", seed=seed)
        train.train(
            read_corpus(folder / f"{name}.txt", tokenizer="whitespace"),
            output=folder / name, keep=folder / f"{name}.counts", dim=8, core=50,
            min_count=2, window=5,
        )  # fmt: skip
    find_topics(folder / "model", folder / "model.txt", 3, output=folder / "topics", quiet=True)
    halves = {
        name: (folder / f"{text}.txt").read_text(encoding="utf-8").split("\n")
        for name, text in (("first", "model"), ("second", "other"))
    }
    find_change(folder / "model", slices=halves, min_count=5, output=folder / "change", quiet=True)
    records = [{"id": f"d{i}", "text": line, "half": "first"} for i, line in enumerate(halves["first"][:300])]
    DocumentIndex.build(records, model=folder / "model", keep=["half"], output=folder / "index", quiet=True)
    words, rows = ("man", "woman", "king", "queen"), ("1 0 0", "1 1 0", "1 0 1", "1 1 1")
    lines = [f"{word} {row}" for word, row in zip(words, rows, strict=True)]
    (folder / "plain.txt").write_text("\n".join(lines))
    names = ("model", "model.counts", "other", "plain.txt", "topics", "change", "index")
    return Library(*(folder / name for name in names))


@pytest.fixture(scope="session")
def models(library: Library) -> list[ExploredModel]:
    return [
        open_model(
            library.model,
            counts=library.counts,
            topics=library.topics,
            change=library.change,
            index=library.index,
        ),
        open_model(library.other),
    ]


@pytest.fixture
def api(models: list[ExploredModel]):
    api = Api(models)
    yield api
    api.close()


@pytest.fixture(scope="module")
def chromium():
    with browser() as chromium:
        yield chromium


@pytest.fixture(scope="module")
def address(library):
    names = ("counts", "topics", "change", "index")
    beside = [part for name in names for part in (f"--{name}", getattr(library, name))]
    with running(library.model, library.other, *beside) as (address, _):
        yield address


@pytest.fixture
def trouble():
    """What the console complains of; nothing, or the test fails."""
    found: list[str] = []
    yield found
    assert found == []


@pytest.fixture
def page(chromium, address, trouble):
    page = open_page(chromium, address, trouble=trouble)
    yield page
    page.context.close()
