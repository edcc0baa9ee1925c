"""An index as a whole: what is found, what is added, what is refused, and what is on the disk."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import psdvec
from psdvec.errors import InputError, StoreError
from psdvec.search import segments
from psdvec.search.index import DocumentIndex
from tests.conftest import REPOSITORY


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of an index and of its model."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


ANIMALS = ("cat", "dog", "horse", "cow", "goat", "sheep")
MONEY = ("bank", "loan", "market", "stock", "bond", "price")


def texts(many: int = 60) -> list[dict[str, str]]:
    """Documents about animals and, every other one, about money; each has a word of its own."""
    rng = np.random.default_rng(0)
    found = []
    for i in range(many):
        words = rng.choice(ANIMALS if i % 2 == 0 else MONEY, 8)
        kind = "animals" if i % 2 == 0 else "money"
        found.append({"id": f"d{i}", "text": f"{' '.join(words)} number{i}", "kind": kind})
    return found


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> DocumentIndex:
    place = tmp_path_factory.mktemp("built") / "index"
    return DocumentIndex.build(texts(), output=place, keep=["kind"], quiet=True)


def test_a_document_is_found_by_a_word_of_its_own(built):
    for name in ("d0", "d31", "d59"):
        assert built.search(f"number{name[1:]}", topn=1)[0].id == name


def test_scores_fall_and_are_the_sum_of_their_reasons(built):
    hits = built.search("cat bank number7", topn=20)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit in hits:
        assert sum(met.score for met in hit.why) + hit.meaning == pytest.approx(hit.score)


def test_a_list_of_questions_is_answered_as_each_alone_by_any_number_of_threads(built):
    asked = ["cat bank number7", "goat", "marklet loan", "♥ qq", 'dog "cow"']
    alone = [built.search(one, topn=5) for one in asked if one != "♥ qq"]
    for workers in (1, 3):
        answers = built.search(asked, topn=5, workers=workers)
        assert answers[3] == []
        assert [*answers[:3], *answers[4:]] == alone
    for wrong in ({"cat": 1}, 7, ["cat", 7]):
        with pytest.raises(InputError, match="question"):
            built.search(wrong)


def test_hits_without_reasons_are_the_same_hits(built):
    for exact in (True, False):
        hits = built.search("cat bank number7", exact=exact)
        short = built.search("cat bank number7", exact=exact, why=False)
        assert [(hit.id, hit.score, hit.fields) for hit in short] == [
            (hit.id, hit.score, hit.fields) for hit in hits
        ]
        assert all((hit.why, hit.snippet) == ((), "") for hit in short)


def test_words_that_stand_for_nothing_leave_bm25_as_it_is(built):
    index = DocumentIndex.build([{"id": str(i), "text": f"w{i} v{i}"} for i in range(9)], quiet=True)
    exact, widened = index.search("w3", exact=True)[0], index.search("w3")[0]
    assert [(met.question, met.document, met.score) for met in exact.why] == [
        (met.question, met.document, met.score) for met in widened.why if met.question == met.document
    ]


def test_a_filter_leaves_only_documents_of_that_value(built):
    hits = built.search("cat bank dog loan", topn=60, where={"kind": "money"})
    assert {hit.fields["kind"] for hit in hits} == {"money"}
    assert len(built.search("cat bank", topn=60, where={"kind": ["money", "animals"]})) > len(hits) / 2
    with pytest.raises(InputError, match="no field 'colour'"):
        built.search("cat", where={"colour": "red"})


def test_what_is_quoted_stands_so_in_every_hit():
    index = DocumentIndex.build(
        ["new york is big", "york is new and old", "a new day in old york", "The New York Times"], quiet=True
    )
    assert {hit.id for hit in index.search('"New York" news')} == {"0", "3"}
    assert index.search('"york new"') == []


def test_the_snippet_shows_what_is_quoted_however_little_it_tells():
    long = f"{'zebra ' * 40} {'so ' * 40} as it is {'and so ' * 40}"
    index = DocumentIndex.build([long, *["this is as it is"] * 9], quiet=True)
    assert "**as** **it** **is**" in index.search('zebra "as it is"')[0].snippet


def test_what_is_quoted_is_found_in_every_document_that_has_it_however_unlike_it_is():
    given = [{**one, "text": f"the {one['text']}"} for one in texts()]
    index = DocumentIndex.build(given, keep=["kind"], quiet=True)
    assert len(index.search('"the" bond', topn=60)) == 60
    assert len(index.search('"the" bond', topn=60, where={"kind": "animals"})) == 30


def test_what_vectors_give_is_nothing_where_they_are_left_out(built):
    assert {hit.meaning for hit in built.search("cat bank number7", topn=20, exact=True)} == {0.0}


def test_a_misspelt_word_meets_the_one_that_was_meant(built):
    hit = built.search("marklet", topn=1)[0]
    assert ("marklet", "market") in {(met.question, met.document) for met in hit.why}
    with pytest.raises(InputError, match="no document has a word of the question 'marklet'"):
        built.search("marklet", exact=True)


def test_a_question_of_unknown_words_is_refused_in_a_sentence(built):
    with pytest.raises(InputError, match="no document has a word of the question '♥ qq'"):
        built.search("♥ qq")


def test_letters_with_accents_are_the_same_however_they_are_written():
    index = DocumentIndex.build(["a cafe\u0301 au lait", "th\u00e9 vert", "rien"], quiet=True)
    for question, name in (
        ("caf\u00e9", "0"),
        ("cafe\u0301", "0"),
        ("the\u0301", "1"),
        ('"the\u0301 vert"', "1"),
    ):
        assert [hit.id for hit in index.search(question, exact=True)] == [name]
    assert index.search("cafe\u0301", exact=True)[0].snippet == "a **caf\u00e9** au lait"


def test_equal_scores_come_in_the_order_of_the_documents():
    index = DocumentIndex.build(["same words here"] * 5 + ["other things there"] * 5, quiet=True)
    assert [hit.id for hit in index.search("words", topn=3, exact=True)] == ["0", "1", "2"]


def test_two_segments_score_as_one_by_words(tmp_path):
    whole = DocumentIndex.build(texts(), quiet=True)
    first = DocumentIndex.build(texts()[:40], quiet=True)
    both = first.add(texts()[40:], quiet=True)
    for question in ("cat bank", "number3 stock", "goat goat sheep"):
        one = [(hit.id, hit.score) for hit in whole.search(question, exact=True, topn=60)]
        assert [(hit.id, hit.score) for hit in both.search(question, exact=True, topn=60)] == one
    assert len(first) == 40


def test_adding_leaves_the_files_of_old_documents_as_they_were(tmp_path):
    place = tmp_path / "index"
    index = DocumentIndex.build(texts()[:40], output=place, quiet=True)
    before = {path.name: path.read_bytes() for path in place.glob("0-*")}
    larger = index.add(texts()[40:], quiet=True)
    assert {path.name: path.read_bytes() for path in place.glob("0-*")} == before
    assert len(larger) == len(psdvec.load(place)) == 60
    assert larger.search("number55", topn=1)[0].id == "d55"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index"]


def test_added_words_get_vectors_and_old_ones_keep_theirs(tmp_path):
    index = DocumentIndex.build(texts()[:40], output=tmp_path / "index", quiet=True)
    new = [{"id": f"n{i}", "text": "cat dog horse llama cow goat llama sheep"} for i in range(5)]
    larger = index.add(new, quiet=True)
    assert "llama" in larger.model
    assert np.array_equal(larger.model.vectors[: len(index.model)], index.model.vectors)


def test_blocks_and_threads_make_no_difference_to_the_bytes(tmp_path, monkeypatch):
    DocumentIndex.build(texts(), output=tmp_path / "one", workers=1, quiet=True)
    monkeypatch.setattr(segments, "_MERGED", 7)
    DocumentIndex.build(texts(), output=tmp_path / "two", workers=4, quiet=True)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_many_blocks_find_what_one_block_finds(built, monkeypatch):
    monkeypatch.setattr(segments, "_BLOCK", 20)
    many = DocumentIndex.build(texts(), quiet=True)
    for question in ("cat bank", "number3 stock"):
        found = [(hit.id, hit.score) for hit in many.search(question, exact=True)]
        assert found == [(hit.id, hit.score) for hit in built.search(question, exact=True)]


def test_documents_without_words_are_left_out_and_named(tmp_path):
    class Said(psdvec.progress.SilentProgress):
        lines: list[str] = []

        def say(self, text: str) -> None:
            self.lines.append(text)

    given = [{"id": "full", "text": "a word"}, {"id": "empty", "text": " "}, {"id": "marks", "text": "?!"}]
    index = DocumentIndex.build(given, progress=Said())
    assert (len(index), index.left_out) == (1, ("empty", "marks"))
    assert "2 documents have no words and were left out: 'empty', 'marks'" in Said.lines
    with pytest.raises(InputError, match=r"there are no documents with words \(2 documents without words\)"):
        DocumentIndex.build(given[1:], quiet=True)


def test_an_id_that_is_there_is_refused_or_skipped(tmp_path):
    twice = [{"id": "a", "text": "one cat"}, {"id": "a", "text": "two cats"}]
    with pytest.raises(InputError, match="the document 'a' is there twice"):
        DocumentIndex.build(twice, output=tmp_path / "index", quiet=True)
    assert list(tmp_path.iterdir()) == []
    index = DocumentIndex.build(twice, output=tmp_path / "index", skip_known=True, quiet=True)
    with pytest.raises(InputError, match="the document 'a' is in the index already"):
        index.add(twice[:1], quiet=True)
    assert len(index.add(twice[:1], skip_known=True, quiet=True)) == 1
    assert [hit.id for hit in psdvec.load(tmp_path / "index").search("cat")] == ["a"]


def test_the_same_documents_given_again_leave_the_index_as_it_is(tmp_path):
    DocumentIndex.build(texts(), output=tmp_path / "index", keep=["kind"], quiet=True)
    before = contents(tmp_path / "index")
    given = [*texts()[:5], {"id": "none", "text": "..."}]
    again = psdvec.load(tmp_path / "index").add(given, skip_known=True, quiet=True)
    assert (len(again), again.left_out) == (60, ("none",))
    assert contents(tmp_path / "index") == before
    assert again.search("cat")


def test_documents_without_the_fields_of_the_old_ones_can_be_added(tmp_path):
    index = DocumentIndex.build(texts(), output=tmp_path / "index", keep=["kind"], quiet=True)
    index = index.add([{"id": "new", "text": "a zebra and a cat"}], quiet=True)
    assert [(hit.id, hit.fields) for hit in index.search("zebra", exact=True)] == [("new", {})]
    assert "new" not in {hit.id for hit in index.search("cat", topn=99, where={"kind": "animals"})}


@pytest.mark.parametrize(
    "question",
    [
        "cat " + " ".join(f"wonder{i}" for i in range(20_000)),
        "cat " + "a" * 1_000_000,
        "cat " + '"cat" ' * 200_000,
        "cat " + '"' * 1_000_001,
    ],
    ids=["words", "letters", "quotes", "marks"],
)
def test_a_question_may_be_as_long_as_a_book(built, question):
    with no_lookup_beyond(built.collection, 300):
        assert len(built.search(question, topn=3)) == 3


@contextmanager
def no_lookup_beyond(collection, most: int):
    """Fail if the words that may stand for another are looked up more than ``most`` times."""
    found, others = [], type(collection)._others

    def counted(self, word):
        found.append(word)
        assert len(found) <= most
        return others(self, word)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(collection), "_others", counted)
        yield


def test_ids_and_texts_may_have_other_names(tmp_path):
    file = tmp_path / "table.csv"
    file.write_text("key,body,party\nx,the cat sat,A\ny,the dog ran,B\n")
    index = DocumentIndex.build(
        file, column="body", id="key", keep=["party"], where={"party": "B"}, quiet=True
    )
    assert [(hit.id, hit.fields) for hit in index.search("the")] == [("y", {"party": "B"})]
    for wrong, sentence in (
        ({"keep": ["year"]}, "a field 'year'"),
        ({"id": "no"}, "a field 'no' with its id"),
    ):
        with pytest.raises(InputError, match=f"no document has {sentence}"):
            DocumentIndex.build(file, column="body", quiet=True, **wrong)


def test_ids_that_are_numbers_are_whole_and_those_that_are_none_are_places():
    given = [7.0, 7, float("nan"), None, "", ["a", 1], "a/b\n,c"]
    records = [{"id": one, "text": "the cat"} for one in given]
    with pytest.raises(InputError, match="the document '7' is there twice"):
        DocumentIndex.build(records, quiet=True)
    index = DocumentIndex.build(records[1:], quiet=True)
    assert [hit.id for hit in index.search("cat")] == ["7", "1", "2", "3", "['a', 1]", "a/b\n,c"]


def test_a_folder_of_files_is_indexed_by_their_names(tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    for name, text in {"a.txt": "the cat\nsat on a mat", "b.txt": "stocks fell"}.items():
        (folder / name).write_text(text)
    hit = DocumentIndex.build(folder, quiet=True).search("mat")[0]
    assert (hit.id, "sat on a **mat**" in hit.snippet) == ("a.txt", True)


def test_a_given_model_widens_and_gets_the_words_it_lacks(tmp_path):
    rng = np.random.default_rng(1)
    corpus = [" ".join(rng.choice(ANIMALS if i % 2 else MONEY, 8)) for i in range(200)]
    model = psdvec.train(corpus, dim=5, min_count=1, quiet=True)
    given = [{"id": f"d{i}", "text": f"{line} llama"} for i, line in enumerate(corpus[:30])]
    index = DocumentIndex.build(given, model=model, output=tmp_path / "index", quiet=True)
    assert "llama" in index.model
    assert np.array_equal(index.model.vectors[: len(model)], model.vectors)
    plain = psdvec.Embeddings(model.words, model.vectors, tokenizer="unicode")
    assert len(DocumentIndex.build(given, model=plain, quiet=True).model) == len(model)


def test_another_model_in_the_folder_is_refused(tmp_path):
    DocumentIndex.build(texts(), output=tmp_path / "index", quiet=True)
    DocumentIndex.build(texts()[:20], output=tmp_path / "other", quiet=True)
    shutil.rmtree(tmp_path / "index" / "model")
    shutil.copytree(tmp_path / "other" / "model", tmp_path / "index" / "model")
    with pytest.raises(StoreError, match="is another model than that of the index"):
        psdvec.load(tmp_path / "index")


def test_what_is_no_index_is_refused(tmp_path):
    psdvec.train(["to be or not to be"], min_count=1, dim=2, output=tmp_path / "model", quiet=True)
    from psdvec.search.index import read_index

    with pytest.raises(StoreError, match="holds word vectors, not an index"):
        read_index(tmp_path / "model")


def test_an_index_in_place_of_its_model_is_refused_with_the_name_of_the_model(built):
    with pytest.raises(
        StoreError, match=r"holds an index, not word vectors; give '.*index/model', its model"
    ):
        DocumentIndex.build(["a cat"], model=built.path, quiet=True)


def test_an_index_is_not_replaced_unless_asked(tmp_path):
    DocumentIndex.build(texts(), output=tmp_path / "index", quiet=True)
    with pytest.raises(InputError, match="exists already"):
        DocumentIndex.build(texts()[:3], output=tmp_path / "index", quiet=True)
    again = DocumentIndex.build(texts()[:3], output=tmp_path / "index", overwrite=True, quiet=True)
    assert len(again) == 3


def test_killed_after_training_it_trains_no_second_time(tmp_path, monkeypatch):
    from psdvec.search import index as module

    place, fits = tmp_path / "index", []
    trained = module.fit

    def fit(*given, **options):
        fits.append(1)
        return trained(*given, **options)

    def killed(*given, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "fit", fit)
    with monkeypatch.context() as patched:
        patched.setattr(module, "write_segment", killed)
        with pytest.raises(KeyboardInterrupt):
            DocumentIndex.build(texts(), output=place, quiet=True)
    assert not place.exists()
    resumed = DocumentIndex.build(texts(), output=place, quiet=True)
    assert fits == [1]
    DocumentIndex.build(texts(), output=tmp_path / "fresh", quiet=True)
    assert contents(place) == contents(tmp_path / "fresh")
    assert resumed.search("number7", topn=1)[0].id == "d7"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fresh", "index"]


def test_killed_while_adding_the_index_is_as_it_was(tmp_path, monkeypatch):
    from psdvec.search import index as module

    place = tmp_path / "index"
    index = DocumentIndex.build(texts()[:40], output=place, quiet=True)
    before = contents(place)

    def killed(*given, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(module, "_write_rest", killed)
        with pytest.raises(KeyboardInterrupt):
            index.add(texts()[40:], quiet=True)
    assert contents(place) == before
    assert len(psdvec.load(place).add(texts()[40:], quiet=True)) == 60


def test_hits_are_plain_values_for_json(built):
    from dataclasses import asdict

    hits = built.search("cat dog", topn=2)
    told = json.loads(json.dumps([asdict(hit) for hit in hits]))
    assert [list(one) for one in told] == [["id", "score", "why", "meaning", "snippet", "fields"]] * 2


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [({"topn": 0}, "topn"), ({"topn": 1.5}, "topn is 1.5"), ({"where": "kind=money"}, "where is")],
)
def test_wrong_arguments_are_refused_in_a_sentence(built, wrong, sentence):
    with pytest.raises(InputError, match=sentence):
        built.search("cat", **wrong)


def test_a_path_and_the_folder_tell_what_it_is(built):
    from psdvec.loading import summarise
    from psdvec.storage.artefact import open_artefact

    assert summarise(open_artefact(Path(built.path)))["what"].startswith("an index of 60 documents")


KILLED = """
import os, signal, sys
from pathlib import Path
import psdvec
from psdvec.search import index as module
from tests.search.test_index import contents, texts

folder = Path(sys.argv[1])
DocumentIndex = psdvec.DocumentIndex
steps = ("gather", "count_pairs", "fit", "write_segment", "_write_rest", "read_index")

def build(name):
    DocumentIndex.build(texts()[:40], output=folder / name, quiet=True)

def add(name):
    psdvec.load(folder / name).add(texts()[40:], quiet=True)

def die(*given, **options):
    os.kill(os.getpid(), signal.SIGKILL)

def killed(work, name, step, late):
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    whole = getattr(module, step)
    setattr(module, step, lambda *given, **options: (whole(*given, **options) if late else None, die()))
    try:
        work(name)
    finally:
        os._exit(0)

build("whole")
before = contents(folder / "whole")
add("whole")
after = contents(folder / "whole")
told = []
for late in (False, True):
    for step in steps:
        name = f"{step}-{late}"
        told.append(killed(build, name, step, late))
        assert not (folder / name).exists() or step == "read_index", step
        if not (folder / name).exists():
            build(name)
        assert contents(folder / name) == before, step
        told.append(killed(add, name, "extend" if step == "fit" else step, late))
        there = contents(folder / name)
        assert there in (before, after), step
        if there == before:
            add(name)
        assert contents(folder / name) == after, step
assert len(list(folder.iterdir())) == 1 + 2 * len(steps), "something is left"
print(set(told))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")
def test_killed_at_any_step_of_building_or_adding_it_goes_on_to_the_same_bytes(tmp_path):
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", KILLED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, check=False)
    assert (done.returncode, done.stdout) == (0, "{-9}\n"), done.stderr


def test_a_forked_child_and_threads_find_what_the_parent_finds(built):
    import multiprocessing
    from concurrent.futures import ThreadPoolExecutor

    found = built.search("cat bank number7")
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(built.search, ["cat bank number7"] * 8)) == [found] * 8
    if "fork" in multiprocessing.get_all_start_methods():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            with multiprocessing.get_context("fork").Pool(1) as children:
                assert children.apply(built.search, ("cat bank number7",)) == found
    assert built.path.exists()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="permissions do not stop this user")
def test_an_index_that_cannot_be_written_can_be_asked(tmp_path):
    place = tmp_path / "kept" / "index"
    DocumentIndex.build(texts(), output=place, quiet=True)
    place.parent.chmod(0o500)
    try:
        index = psdvec.load(place)
        assert index.search("number7")[0].id == "d7"
        with pytest.raises(psdvec.PSDVecError, match="Permission denied"):
            index.add([{"id": "new", "text": "new"}], quiet=True)
    finally:
        place.parent.chmod(0o700)


def test_while_one_process_adds_another_is_refused_and_can_still_ask(tmp_path):
    index = DocumentIndex.build(texts()[:40], output=tmp_path / "index", quiet=True)

    class Meanwhile(psdvec.progress.SilentProgress):
        told = ""

        def say(self, text: str) -> None:
            with pytest.raises(InputError, match="another process is using") as refused:
                psdvec.load(tmp_path / "index").add(texts()[41:42], quiet=True)
            Meanwhile.told = str(refused.value)
            assert index.search("number7", topn=1)[0].id == "d7"

    larger = index.add([*texts()[40:], {"id": "none", "text": ""}], progress=Meanwhile())
    assert Meanwhile.told
    assert len(larger) == 60
    assert index.search("number7", topn=1)[0].id == "d7"  # the older value still has its files
    assert len(index.add([{"id": "new", "text": "new"}], quiet=True)) == 61  # and adds to what is there now
