"""A published folder: whole or absent, loaded with the same neighbours; its card says what is known and no more."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import psdvec
from psdvec.errors import InputError, MissingExtraError, PSDVecError
from psdvec.maps.drawing import make_map
from psdvec.publishing.card import choose_words
from psdvec.publishing.publish import measure_loss
from psdvec.storage.artefact import MANIFEST, digest_file
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.neighbours import EightBitRows, eight_bit_vectors
from psdvec.vectors.subwords import in_eight_bits
from tests.conftest import REPOSITORY


@pytest.fixture(scope="module")
def kept(sample_files, tmp_path_factory) -> Path:
    """A fitted model in a folder, with its map."""
    path = tmp_path_factory.mktemp("kept") / "cows"
    model = psdvec.fit(psdvec.load(sample_files / "counts"), dim=20, quiet=True)
    psdvec.save(model, path)
    make_map(path)
    return path


def published(model, folder: Path, **options) -> Embeddings:
    psdvec.publish(model, folder, quiet=True, **options)
    return psdvec.load(folder)


def card_of(folder: Path) -> str:
    return (folder / "README.md").read_text(encoding="utf-8")


def metadata_of(folder: Path) -> dict[str, object]:
    """The block of metadata; each of its values is JSON, which is YAML, or a plain word."""
    _, block, _ = card_of(folder).split("---\n", 2)
    pairs = (line.split(": ", 1) for line in block.splitlines())
    return {key: json.loads(value) if value[0] in '"[' else value for key, value in pairs}


def section(folder: Path, title: str) -> str:
    return card_of(folder).partition(f"\n## {title}\n\n")[2].partition("\n## ")[0]


def test_it_is_loaded_with_the_same_vectors_counts_and_neighbours(kept, tmp_path):
    model, found = psdvec.load(kept), published(kept, tmp_path / "out")
    assert list(found.words) == list(model.words)
    assert np.array_equal(found.vectors, model.vectors)
    assert np.array_equal(found.counts, model.counts)
    assert np.array_equal(found.deviations, model.deviations, equal_nan=True)
    assert found.tokenizer == model.tokenizer
    assert found.most_similar("cow") == model.most_similar("cow")
    assert found.similarity("cow", "horse", interval=True) == model.similarity("cow", "horse", interval=True)


def test_the_same_model_gives_the_same_bytes_and_a_list_of_them(kept, tmp_path):
    pytest.importorskip("pyarrow")
    for name in ("one", "other"):
        published(
            kept, tmp_path / name, formats=["vec", "parquet", "projector"], name="cows", quantize="int8"
        )
    files = {path.relative_to(tmp_path / "one").as_posix() for path in (tmp_path / "one").rglob("*.*")}
    assert {"vectors.vec", "words.parquet", "projector/vectors.tsv", "model.safetensors"} < files
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes(), name
    listed = json.loads((tmp_path / "one" / MANIFEST).read_text())["files"]
    assert set(listed) == files - {MANIFEST}
    for name, record in listed.items():
        path = tmp_path / "one" / name
        assert record == {"bytes": path.stat().st_size, "sha256": digest_file(path, is_parted=False)}


def test_info_says_what_a_published_folder_is_and_whether_it_is_whole(run, kept, tmp_path):
    folder = tmp_path / "out"
    published(kept, folder, name="Cows", license="cc0-1.0", quantize="int8")
    code, told, _ = run("info", folder, "--verify")
    assert code == 0
    for line in ("in eight bits, published", "Cows", "cc0-1.0", "recipe      default", "text.txt", "intact"):
        assert line in told
    (folder / "README.md").write_text("a card of my own")
    code, _, complaint = run("info", folder, "--verify")
    assert code == 1
    assert "README.md" in complaint
    said = json.loads((folder / MANIFEST).read_text())
    said["files"]["../elsewhere"] = {"bytes": 1, "sha256": "0"}
    (folder / MANIFEST).write_text(json.dumps(said))
    code, _, complaint = run("info", folder)
    assert code == 1
    assert "does not describe a published folder" in complaint


def test_only_a_published_folder_is_replaced(kept, tmp_path):
    folder = tmp_path / "out"
    published(kept, folder)
    with pytest.raises(InputError, match="exists already"):
        published(kept, folder)
    published(kept, folder, overwrite=True, formats=["projector"])
    published(kept, folder, overwrite=True)
    assert not (folder / "projector").exists()
    (folder / "README.md").write_text("a card of my own")
    with pytest.raises(InputError, match=r"'README\.md', which psdvec did not write"):
        published(kept, folder, overwrite=True)
    with pytest.raises(InputError, match="is not a folder that psdvec has published"):
        published(kept, kept, overwrite=True)
    psdvec.save(psdvec.load(kept), tmp_path / "static", format="model2vec")
    with pytest.raises(InputError, match="is not a folder that psdvec has published"):
        published(kept, tmp_path / "static", overwrite=True)


def test_what_fails_leaves_nothing_behind(kept, tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("psdvec.publishing.publish.write_card", stop)
    with pytest.raises(KeyboardInterrupt):
        published(kept, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_the_card_says_the_text_the_counting_and_the_recipe(kept, sample_files, tmp_path):
    published(kept, tmp_path / "out", license="CC-BY-SA-4.0", languages=["en", "de"])
    text = section(tmp_path / "out", "Text")
    for name in ("text.txt", "medical.txt"):
        assert f"| {name} |" in text
        assert digest_file(sample_files / "text" / name, is_parted=False) in text
    assert "- window: 20" in section(tmp_path / "out", "Counting and recipe")
    assert "recipe *default*" in section(tmp_path / "out", "Counting and recipe")
    said = metadata_of(tmp_path / "out")
    assert said["license"] == "cc-by-sa-4.0"
    assert said["language"] == ["en", "de"]
    assert said["library_name"] == "model2vec"
    assert str(tmp_path) not in card_of(tmp_path / "out") + (tmp_path / "out" / MANIFEST).read_text()
    assert str(sample_files) not in card_of(tmp_path / "out") + (tmp_path / "out" / MANIFEST).read_text()


def test_what_is_not_known_is_said_and_not_made_up(tmp_path):
    plain = Embeddings(("to", "be"), np.eye(2, dtype=np.float32))
    published(plain, tmp_path / "out")
    card = card_of(tmp_path / "out")
    assert "license" not in card.split("---\n")[1]
    assert "No licence was given with these vectors" in section(tmp_path / "out", "Licence")
    assert "is not known" in section(tmp_path / "out", "Text")
    assert "is not known" in section(tmp_path / "out", "How certain")
    assert "## Scores" not in card
    assert "model-index" not in card
    assert not (tmp_path / "out" / "psdvec.safetensors").exists()


@pytest.mark.parametrize(
    ("license", "name"),
    [
        ("Only for my friends", "only-for-my-friends"),
        ("AGPL-3.0-or-later", "agpl-3.0-or-later"),
        ("許可", None),
    ],
)
def test_a_licence_that_hubs_do_not_know_is_another_with_a_name_that_they_allow(
    kept, tmp_path, license, name
):
    published(kept, tmp_path / "out", license=license)
    assert metadata_of(tmp_path / "out")["license"] == "other"
    assert metadata_of(tmp_path / "out").get("license_name") == name
    assert section(tmp_path / "out", "Licence") == f"{license}.\n"


def test_hubs_get_bare_codes_of_languages_and_longer_ones_apart(kept, tmp_path):
    published(kept, tmp_path / "out", languages=["zh-Hans", "en", "zh-Hant", "en"])
    said = metadata_of(tmp_path / "out")
    assert said["language"] == ["zh", "en"]
    assert said["language_bcp47"] == ["zh-Hans", "zh-Hant"]


def test_the_card_keeps_what_a_model_says_of_its_licence(kept, tmp_path):
    about = {"title": "Cows", "licence": "CC-BY-SA-4.0", "attribution": "made from the text of a_farm"}
    psdvec.save(replace(psdvec.load(kept), about=about), tmp_path / "told")
    for name, license, said in (("one", None, "No licence was given"), ("other", "mit", "mit.")):
        published(tmp_path / "told", tmp_path / name, license=license)
        text = section(tmp_path / name, "Licence")
        assert text.startswith(said)
        assert "\n- licence: CC-BY-SA-4.0\n- attribution: made from the text of a\\_farm\n" in text


def test_the_card_of_an_extended_model_says_of_each_count_how_large_it_is(kept, tmp_path):
    text = ["the vet gave the cow a zorblax", "a zorblax helps the horse"] * 5
    extended = psdvec.extend(psdvec.load(kept), text, quiet=True)
    published(extended, tmp_path / "out")
    assert "The counts 'in memory' are of 60 words in 10 sentences.\n" in section(tmp_path / "out", "Text")


def test_the_card_says_that_phrases_are_not_joined_by_others(tmp_path):
    model = psdvec.train(
        ["we saw new york in the rain"] * 9, phrases=["new york"], dim=2, min_count=1, quiet=True
    )
    published(model, tmp_path / "out")
    assert "where they stand so: `new_york`." in card_of(tmp_path / "out")


SCORES = {
    "scores": [
        {"model": "cows", "task": "men", "metric": "spearman", "score": 0.5, "low": 0.4, "high": 0.6, "covered": 90,
         "total": 100, "too_few": False},
        {"model": "cows", "task": "toefl", "metric": "accuracy", "score": 0.7, "low": None, "high": None, "covered": 5,
         "total": 80, "too_few": True},
    ],
    "tagging": [],
}  # fmt: skip


def test_scores_stand_in_the_card_with_coverage_and_intervals(kept, tmp_path):
    (tmp_path / "report.json").write_text(json.dumps(SCORES))
    published(kept, tmp_path / "out", report=tmp_path / "report.json")
    scores = section(tmp_path / "out", "Scores")
    assert "| men | spearman | 0.500 | 0.400 to 0.600 | 90 of 100 |" in scores
    assert "| toefl | accuracy | too few items |" in scores
    (index,) = metadata_of(tmp_path / "out")["model-index"]
    assert [one["dataset"]["type"] for one in index["results"]] == ["men"]
    assert index["results"][0]["metrics"][0]["value"] == 0.5


def test_a_report_from_python_is_taken_too(kept, tmp_path):
    from psdvec.evaluation.tasks import Pairs

    task = Pairs("toy", (("cow", "horse"), ("cow", "piano"), ("horse", "piano")), np.array([3.0, 1.0, 1.0]))
    published(kept, tmp_path / "out", report=psdvec.evaluate(psdvec.load(kept), [task], resamples=0))
    assert "| toy | spearman |" in section(tmp_path / "out", "Scores")


def test_a_report_of_other_models_is_refused(kept, tmp_path):
    rows = [{**row, "model": name} for row in SCORES["scores"] for name in ("sheep", "goats")]
    (tmp_path / "report.json").write_text(json.dumps({"scores": rows, "tagging": []}))
    with pytest.raises(InputError, match="the report is of sheep, goats, and not of 'cows'"):
        published(kept, tmp_path / "out", report=tmp_path / "report.json")
    published(kept, tmp_path / "out", report=tmp_path / "report.json", name="goats")
    for name in ("sheep", "model"):
        (tmp_path / "report.json").write_text(
            json.dumps({"scores": [{**rows[0], "model": name}], "tagging": []})
        )
        with pytest.raises(InputError, match=f"the report is of {name}, and not of 'cows'"):
            published(kept, tmp_path / "again", report=tmp_path / "report.json")
    (tmp_path / "report.json").write_text("[]")
    with pytest.raises(InputError, match="is not the report of an evaluation"):
        published(kept, tmp_path / "again", report=tmp_path / "report.json")


def test_vectors_from_python_have_no_name_and_take_the_only_model_of_a_report(kept, tmp_path):
    baseline = {"model": "no vectors", "task": "ner", "f1": 0.5, "too_few": False}
    report = {"scores": SCORES["scores"], "tagging": [baseline, {**baseline, "model": "cows", "f1": 0.75}]}
    (tmp_path / "report.json").write_text(json.dumps(report))
    published(psdvec.load(kept), tmp_path / "out", report=tmp_path / "report.json")
    assert "| ner | f1 | 0.750 |" in section(tmp_path / "out", "Scores")
    assert "0.500 |  |" not in section(tmp_path / "out", "Scores")


@pytest.mark.parametrize(
    "wrong", [{"score": "high"}, {"covered": "many"}, {"low": float("nan")}, {"metric": None}]
)
def test_a_report_with_something_else_than_scores_is_refused(kept, tmp_path, wrong):
    rows = [{**SCORES["scores"][0], **wrong}]
    (tmp_path / "report.json").write_text(json.dumps({"scores": rows, "tagging": []}))
    with pytest.raises(InputError, match="is not the report of an evaluation"):
        published(kept, tmp_path / "out", report=tmp_path / "report.json")


def test_own_text_is_put_in(kept, tmp_path):
    (tmp_path / "own.md").write_text("Made for a *barn*.\n")
    published(kept, tmp_path / "out", card=tmp_path / "own.md", name="Barn")
    assert "# Barn\n\nVectors learned" in card_of(tmp_path / "out")
    assert "\n\nMade for a *barn*.\n\n## Licence" in card_of(tmp_path / "out")


def test_words_with_signs_of_markdown_stand_in_the_card_as_they_are(tmp_path):
    words = ("a|b", "`c`", "*d*")
    published(Embeddings(words, np.eye(3, dtype=np.float32)), tmp_path / "out", name="x_y|z")
    rows = [line for line in section(tmp_path / "out", "Neighbours").splitlines() if line.startswith("| ")]
    assert all(row.replace("\\|", "").count("|") == 4 for row in rows)
    assert "# x\\_y\\|z\n" in card_of(tmp_path / "out")


@pytest.mark.skipif(sys.platform != "linux", reason="names that are not UTF-8 are of Linux")
def test_names_of_files_that_no_card_can_hold_are_escaped(tmp_path):
    (tmp_path / os.fsdecode(b"co\nws\xff.txt")).write_text("the cow ate hay and the cow ate grass\n" * 9)
    model = psdvec.train(tmp_path / os.fsdecode(b"co\nws\xff.txt"), dim=2, min_count=1, quiet=True)
    psdvec.save(model, tmp_path / os.fsdecode(b"mo\ndel\xff"))
    published(tmp_path / os.fsdecode(b"mo\ndel\xff"), tmp_path / "out", formats=["projector"])
    assert "| co\\\\nws\\\\udcff.txt |" in section(tmp_path / "out", "Text")
    assert "# mo\\\\ndel\\\\udcff\n" in card_of(tmp_path / "out")


def test_words_and_titles_with_joiners_stand_in_the_card_as_they_are(tmp_path):
    published(
        Embeddings(("می\u200cشود", "be"), np.eye(2, dtype=np.float32)), tmp_path / "out", name="کتاب\u200cها"
    )
    assert "# کتاب\u200cها\n" in card_of(tmp_path / "out")
    assert "| می\u200cشود |" in section(tmp_path / "out", "Neighbours")


def test_twenty_words_from_frequent_to_rare(kept):
    e = psdvec.load(kept)
    words = choose_words(e)
    assert words == choose_words(e)
    counts = [e.get_vecattr(word, "count") for word in words]
    assert counts == sorted(counts, reverse=True)
    assert len(words) == len(set(words)) <= 20
    assert len(words) >= 10


def test_the_card_cites_what_the_repository_says():
    cited = (REPOSITORY / "CITATION.cff").read_text(encoding="utf-8")
    from psdvec.publishing.card import _CITATION

    for said in ("PSDVec: word vectors from your own text, and new words later", "Neurocomputing", "2016",
                 "PSDVec: a Toolbox for Incremental and Scalable Word Embedding"):  # fmt: skip
        assert said in cited
        assert said in _CITATION


# Eight bits


@pytest.fixture(scope="module")
def many() -> Embeddings:
    vectors = np.random.default_rng(0).standard_normal((300, 40)).astype(np.float32)
    return Embeddings(tuple(f"w{i}" for i in range(300)), vectors, np.arange(300, 0, -1))


def test_eight_bits_are_mapped_and_take_a_quarter_of_the_place(many, tmp_path):
    exact, rounded = published(many, tmp_path / "f"), published(many, tmp_path / "q", quantize="int8")
    assert isinstance(rounded.vectors, EightBitRows)
    assert not rounded.vectors.codes.flags.writeable
    assert not rounded.vectors.codes.flags.owndata
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in "fq"]
    assert sizes[1] < 0.35 * sizes[0]
    step = np.abs(many.vectors).max(axis=1, keepdims=True) / 127
    assert (np.abs(np.asarray(rounded.vectors) - exact.vectors) <= 0.501 * step).all()
    assert not (tmp_path / "q" / "modules.json").exists()
    assert "cannot load them" in section(tmp_path / "q", "How to load it")


@pytest.mark.parametrize("quantize", [None, "int8"])
def test_vectors_that_came_in_eight_bits_say_so_and_claim_no_loss(many, tmp_path, quantize):
    published(many, tmp_path / "q", quantize="int8")
    again = published(tmp_path / "q", tmp_path / "again", quantize=quantize)
    assert again == psdvec.load(tmp_path / "q")
    assert not (tmp_path / "again" / "modules.json").exists()
    assert "sentence-transformers" not in metadata_of(tmp_path / "again")["tags"]
    assert "cannot load them" in section(tmp_path / "again", "How to load it")
    assert "They were given so, and what was lost by that is not known." in section(
        tmp_path / "again", "Size"
    )


def test_the_loss_in_the_card_is_what_was_measured(many, tmp_path):
    rounded = published(many, tmp_path / "q", quantize="int8")
    loss = measure_loss(many, rounded)
    assert 0.999 < loss.cosine < 1
    assert 0.8 < loss.kept <= 1
    assert loss.words == 300
    said = section(tmp_path / "q", "Size")
    assert f"mean cosine with the exact vectors is {loss.cosine:.5f}" in said
    assert f"{100 * loss.kept:.1f} % of the ten nearest words" in said


def test_everything_asked_of_eight_bits_is_answered_as_of_the_same_numbers_in_32(many, tmp_path):
    rounded = replace(many, vectors=eight_bit_vectors(*in_eight_bits(many.vectors)))
    same = replace(many, vectors=np.asarray(rounded.vectors))
    assert rounded == same
    assert np.array_equal(rounded["w3"], same["w3"])
    assert np.array_equal(rounded[["w3", "w9"]], same[["w3", "w9"]])
    assert np.array_equal(rounded.vectors[np.arange(300) < 7], same.vectors[:7])
    assert np.array_equal(rounded.vectors @ same["w3"], same.vectors @ same["w3"])
    assert rounded.take(slice(9)) == same.take(slice(9))
    assert rounded.take(np.array([3, 1])) == same.take(np.array([3, 1]))
    for answer in ("most_similar", "similar_by_word"):
        ours, theirs = getattr(rounded, answer)("w5"), getattr(same, answer)("w5")
        assert [word for word, _ in ours] == [word for word, _ in theirs]
        assert [x for _, x in ours] == pytest.approx([x for _, x in theirs], abs=1e-6)
    assert rounded.doesnt_match(["w1", "w2", "w3"]) == same.doesnt_match(["w1", "w2", "w3"])
    for name in ("a.txt", "b.bin", "c.npz", "d"):
        psdvec.save(rounded, tmp_path / name)
        assert np.array_equal(psdvec.load(tmp_path / name).vectors, same.vectors)


# Further formats


def test_the_projector_has_a_line_for_each_word(kept, tmp_path):
    e = published(kept, tmp_path / "out", formats=["projector"])
    folder = tmp_path / "out" / "projector"
    assert np.array_equal(np.loadtxt(folder / "vectors.tsv", delimiter="\t", dtype=np.float32), e.vectors)
    head, *rows = (folder / "metadata.tsv").read_text(encoding="utf-8").splitlines()
    assert head == "word\tcount"
    assert [row.split("\t")[0] for row in rows] == list(e.words)
    assert 'metadata_path: "metadata.tsv"' in (folder / "projector_config.pbtxt").read_text()
    assert "tensorboard --logdir" in section(tmp_path / "out", "How to load it")


def test_parquet_has_counts_the_map_and_the_nearest_words(kept, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    e = published(kept, tmp_path / "out", formats=["parquet"])
    rows = parquet.read_table(tmp_path / "out" / "words.parquet").to_pylist()
    assert [row["word"] for row in rows] == list(e.words)
    assert [row["count"] for row in rows] == e.counts.tolist()
    assert all(isinstance(row["x"], float) and isinstance(row["y"], float) for row in rows)
    for row in rows[:30]:
        ranking = dict(e.most_similar(row["word"], topn=10))
        assert row["cosines"] == pytest.approx(list(ranking.values()), abs=1e-4)
        assert [rows[i]["word"] for i in row["neighbors"]["ids"]] == row["nearest"]
        assert row["cosines"] == pytest.approx([1 - far for far in row["neighbors"]["distances"]], abs=1e-6)


def test_without_a_map_there_are_no_places(many, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    published(many, tmp_path / "out", formats=["parquet"])
    assert not {"x", "y"} & set(parquet.read_table(tmp_path / "out" / "words.parquet").column_names)


def test_vectors_of_the_text_format_are_those_of_the_folder(many, tmp_path):
    e = published(many, tmp_path / "out", formats=["vec"], quantize="int8")
    assert np.array_equal(psdvec.load(tmp_path / "out" / "vectors.vec").vectors, np.asarray(e.vectors))


# Misuse


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"license": "a\nb"}, "license is"),
        ({"name": " "}, "name is"),
        ({"languages": ["English"]}, "no code of a language"),
        ({"card": "nowhere.md"}, "cannot be read"),
        ({"report": "nowhere.json"}, r"'nowhere.json' cannot be read \(No such file or directory\)"),
        ({"formats": ["excel"]}, "formats"),
        ({"quantize": "int4"}, "quantize"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(kept, tmp_path, options, said):
    with pytest.raises(PSDVecError, match=said):
        published(kept, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "wrong", [{"counts": np.array([5, -1])}, {"deviations": np.array([0.5, np.inf], np.float32)}]
)
def test_numbers_that_would_be_refused_when_they_are_read_are_not_written(tmp_path, wrong):
    e = Embeddings(("to", "be"), np.eye(2, dtype=np.float32), **wrong)
    for write in (lambda: published(e, tmp_path / "out"), lambda: e.save(tmp_path / "e")):
        with pytest.raises(InputError, match=f"{next(iter(wrong))} has .* for 'be'"):
            write()


def test_vectors_without_dimensions_are_refused(tmp_path):
    e = Embeddings(("to", "be"), np.zeros((2, 0), np.float32))
    for write in (
        lambda: published(e, tmp_path / "out", formats=["vec"]),
        lambda: e.save(tmp_path / "e.txt"),
    ):
        with pytest.raises(InputError, match="the vectors have no dimensions"):
            write()


def test_words_with_spaces_need_another_sign(tmp_path):
    e = Embeddings(("new york", "be"), np.eye(2, dtype=np.float32))
    with pytest.raises(InputError, match='spaces="_"'):
        published(e, tmp_path / "out")
    assert published(e, tmp_path / "out", spaces="_").words == ("new_york", "be")


def test_items_are_published_by_their_texts(tmp_path):
    model = psdvec.train([[1, 2], [1, 2, 3], [3, 4], [3, 4, 1]] * 5, items=True, dim=2, quiet=True)
    assert set(published(model, tmp_path / "out").words) == {"1", "2", "3", "4"}
    assert "4 items" in card_of(tmp_path / "out")


@pytest.mark.parametrize("name", ["counts", "deviations"])
def test_damaged_facts_of_words_are_refused(kept, tmp_path, name):
    from psdvec.storage.artefact import write_safetensors

    published(kept, tmp_path / "out")
    types = {"counts": np.int64, "deviations": np.float32}
    wrong = np.full(len(psdvec.load(kept)), -1, types[name])
    write_safetensors(tmp_path / "out" / "psdvec.safetensors", {name: wrong})
    with pytest.raises(InputError, match=f"its {name} are not one number per word"):
        psdvec.load(tmp_path / "out")


def test_the_command_publishes_and_says_what_it_wrote(run, kept, tmp_path):
    out = tmp_path / "out"
    code, said, _ = run("publish", kept, "-o", out, "--with", "vec, projector", "--language", "en", "-q")
    assert code == 0
    assert "written to" in said
    assert (out / "vectors.vec").is_file()
    code, _, errors = run("publish", kept, "-o", tmp_path / "again", "--with", "vec,excel", "-q")
    assert code == 1
    assert "--with excel is not known; give one or more of vec, parquet, projector, spacy" in errors


def test_a_pipeline_of_spacy_needs_spacy_before_anything_is_written(kept, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'psdvec\[spacy\]'"):
        published(kept, tmp_path / "out", formats=["spacy"])
    assert not (tmp_path / "out").exists()
