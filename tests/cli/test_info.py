"""``info`` tells people what a folder holds in a few short lines, and programs everything."""

from __future__ import annotations

import hashlib
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


def digest_of(made) -> str:
    return hashlib.sha256((made / "corpus.txt").read_bytes()).hexdigest()


@pytest.mark.parametrize("folder", FOLDERS)
def test_people_read_a_few_short_lines_without_braces(run, made, folder):
    code, out, _ = run("info", made / folder)
    assert code == 0
    assert len(out.splitlines()) <= 12
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
    assert shown["text"] == f"corpus.txt (716 B, sha256 {digest_of(made)[:12]})"


def test_an_extended_model_says_from_what(run, made):
    shown = facts(run("info", made / "larger")[1])
    assert shown["from"] == "the model 'small', the counts 'counts'"
    assert shown["text"] == f"corpus.txt (716 B, sha256 {digest_of(made)[:12]})"
    assert shown["recipe"] == "paper, rounds 2"
    assert facts(run("info", made / "small")[1])["words"] == "4: 4 fitted together"


def test_counts_say_what_was_read(run, made):
    shown = facts(run("info", made / "counts")[1])
    assert shown["what"] == "counts of words and of pairs of words"
    assert shown["read"] == "189 words in 63 sentences"
    assert shown["from"] == f"corpus.txt (716 B, sha256 {digest_of(made)[:12]})"
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
    digest = hashlib.sha256(TEXT.encode()).hexdigest()[:12]
    assert summarise(artefact)["from"].endswith(f"e.txt (34 B, sha256 {digest}), and 3 more")
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


def test_what_was_read_survives_every_stage(run, tmp_path):
    """From the counts, through models and what is made from them, to what is written and read again."""
    rows = [{"party": party, "body": "to be or not to be"} for party in "AAB"]
    (tmp_path / "speeches.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = {"column": "body", "where": {"party": "A"}, "min_count": 1}
    model = psdvec.train(tmp_path / "speeches.jsonl", **options, dim=2, output=tmp_path / "model")
    digest = hashlib.sha256((tmp_path / "speeches.jsonl").read_bytes()).hexdigest()
    (counts,) = model.sources
    (read,) = counts["read"]
    assert (counts["words"], counts["sentences"]) == (12, 2)
    assert (read["name"], read["sha256"]) == ("speeches.jsonl", digest)
    assert (read["column"], read["where"], read["min_count"]) == ("body", {"party": ["A"]}, 1)
    loaded = psdvec.load(tmp_path / "model")
    assert loaded.sources == model.sources
    more = psdvec.count_pairs(["to be or not to sing and sing", "not to sing"], min_count=1)
    larger = psdvec.extend(loaded, more, min_contexts=1)
    assert larger.sources[0] == {**loaded.origin, "read": [read]}
    assert larger.sources[1]["read"] == list(more.sources)
    topics = psdvec.topics(loaded, ["to be", "not to be"], 1, min_documents=1, quiet=True)
    assert topics.sources == ({**loaded.origin, "read": [read]},)
    shown = facts(run("info", tmp_path / "model")[1])["text"]
    assert shown == f"speeches.jsonl (135 B, sha256 {digest[:12]}, column body, party A)"


def test_texts_have_the_digest_of_a_file_that_holds_them(tmp_path):
    (tmp_path / "a.txt").write_text("to be\nor not\n")
    told = [
        psdvec.count_pairs(text, min_count=1).sources[0] for text in (tmp_path / "a.txt", ["to be", "or not"])
    ]
    assert told[0]["sha256"] == told[1]["sha256"]


def test_a_model_of_very_many_files_names_a_hundred(tmp_path):
    for number in range(103):
        (tmp_path / f"{number:03}.txt").write_text("to be or not")
    model = psdvec.train(tmp_path, min_count=1, dim=2)
    *named, rest = model.sources[0]["read"]
    assert len(named) == 100
    assert rest == {"name": "3 more files", "bytes": 36}
