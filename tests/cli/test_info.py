"""``info`` tells people what a folder holds in a few short lines, and programs everything."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import psdvec
from psdvec.loading import describe_artefact, summarise
from psdvec.storage.artefact import create_artefact, open_artefact
from tests.cli.test_cli import TEXT


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with counts, a model, a larger one, vectors by another method, and plain vectors."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "corpus.txt").write_text(TEXT * 20 + "a bird sang\n" * 3)
    text = psdvec.read_corpus(folder / "corpus.txt")
    counts = psdvec.count_pairs(text, min_count=1, window=2, output=folder / "counts")
    psdvec.fit(counts, dim=3, core=5, min_contexts=1, output=folder / "model")
    psdvec.fit(
        counts,
        dim=3,
        max_words=4,
        recipe="paper",
        changes={"rounds": 2},
        min_contexts=1,
        output=folder / "small",
    )
    psdvec.extend(folder / "small", counts, min_contexts=1, output=folder / "larger")
    vectors = psdvec.Embeddings(["a", "b"], np.eye(2, 5, dtype=np.float32))
    psdvec.save(vectors, folder / "plain")
    return folder


FOLDERS = ("counts", "model", "small", "larger", "plain")


def facts(text: str) -> dict[str, str]:
    """Read lines of ``name  value``."""
    pairs = [line.split("  ", 1) for line in text.splitlines()]
    assert len({name for name, _ in pairs}) == len(pairs)
    return {name: value.strip() for name, value in pairs}


@pytest.mark.parametrize("folder", FOLDERS)
def test_people_read_a_few_short_lines_without_braces(run, made, folder):
    code, out, _ = run("info", made / folder)
    assert code == 0
    assert len(out.splitlines()) <= 11
    assert not set(out) & set("{}[]")
    assert max(map(len, out.splitlines())) <= 100
    assert facts(out)["words"].startswith(str(len(psdvec.load(made / folder))))


@pytest.mark.parametrize("folder", FOLDERS)
def test_nobody_reads_that_a_folder_failed_unless_it_did(run, made, folder):
    assert facts(run("info", made / folder)[1])["state"] == "not verified; add --verify"
    assert facts(run("info", made / folder, "--verify")[1])["state"].startswith("intact")
    values = [
        json.loads(run("info", made / folder, "--json", *more)[1])["verified"] for more in ([], ["--verify"])
    ]
    assert values == [None, True]


@pytest.mark.parametrize("folder", FOLDERS)
def test_programs_read_everything(run, made, folder):
    artefact = open_artefact(made / folder)
    code, out, _ = run("info", made / folder, "--json")
    found = json.loads(out)
    assert code == 0
    assert found | json.loads(json.dumps(dict(artefact.parameters))) == found
    assert found["bytes"] == sum(found["files"].values())
    assert found["words"] == len(psdvec.load(made / folder))
    assert found["sources"] == [dict(source) for source in artefact.sources]
    assert found["digest"] == artefact.digest


def test_a_model_says_how_many_words_it_fitted_and_placed(run, made):
    shown = facts(run("info", made / "model")[1])
    model = psdvec.load(made / "model")
    assert shown["what"].startswith("a model")
    assert shown["words"] == f"{len(model)}: 5 fitted together, {len(model) - 5} placed by ridge"
    assert shown["dimensions"] == "3"
    assert shown["recipe"] == "default"
    assert shown["counted"] == "tokenizer unicode, window 2, weighting harmonic, gaps keep"
    assert shown["from"] == "the counts 'counts'"


def test_an_extended_model_says_from_what(run, made):
    shown = facts(run("info", made / "larger")[1])
    assert shown["from"] == "the model 'small', the counts 'counts'"
    assert shown["recipe"] == "paper, rounds 2"
    assert facts(run("info", made / "small")[1])["words"] == "4: 4 fitted together"


def test_counts_say_what_was_read(run, made):
    shown = facts(run("info", made / "counts")[1])
    assert shown["what"] == "counts of words and of pairs of words"
    assert shown["read"] == "189 words in 63 sentences"
    assert shown["from"] == "corpus.txt (716 B)"
    assert shown["pairs"] == str(len(psdvec.load(made / "counts").values))


def test_plain_vectors_say_no_more_than_is_known(run, made):
    shown = facts(run("info", made / "plain")[1])
    assert list(shown) == ["what", "words", "dimensions", "size", "made by", "state"]
    assert (shown["what"], shown["words"], shown["dimensions"]) == ("word vectors", "2", "5")


def test_vectors_of_another_method_show_its_settings(run, made, tmp_path):
    assert run("fit", made / "counts", "-o", tmp_path / "svd", "--method", "svd", "--dim", "2", "-q")[0] == 0
    shown = facts(run("info", tmp_path / "svd")[1])
    assert shown["what"] == "word vectors, by the method svd"
    assert shown["settings"].startswith("shift 1.0, ")


def test_many_sources_are_cut_short_for_people_only(made, tmp_path):
    for name in "abcdefgh":
        (tmp_path / f"{name}.txt").write_text(TEXT)
    psdvec.count_pairs(psdvec.read_corpus(tmp_path), min_count=1, output=tmp_path / "counts")
    artefact = open_artefact(tmp_path / "counts")
    assert summarise(artefact)["from"].endswith("e.txt (34 B), and 3 more")
    assert len(describe_artefact(artefact)["sources"]) == 8


def test_what_another_version_wrote_is_described_as_far_as_it_can_be(tmp_path, run):
    with create_artefact(
        tmp_path / "new", kind="novelty", version=1, parameters={"recipe": {"spin": 2}}, sources=[]
    ):
        pass
    code, out, _ = run("info", tmp_path / "new")
    assert code == 0
    assert facts(out)["what"] == "novelty, which this version of psdvec does not know"
    assert facts(out)["recipe"] == "of another version of psdvec"
