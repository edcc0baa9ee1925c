"""The API answers what the library answers, with the command line's names, and errors are sentences."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed

import numpy as np
import pytest

import psdvec
from psdvec import formats
from psdvec.counts.count import count_pairs
from psdvec.explore.api import MAX_LINES, MAX_TEXT_LENGTH, Api
from psdvec.explore.models import LearnedWords, Suggestions, open_model
from psdvec.solver.extend import extend
from psdvec.text.corpus import read_corpus
from psdvec.vectors.embeddings import Embeddings
from tests.explore.clients import client_of
from tests.explore.conftest import HOSTILE, RARE, TOPICS

MUSIC = {"guitar", "piano", "violin", "song", "melody", "concert", "orchestra", "singer"}
SENTENCES = """the guitar and the zither with piano and violin in concert
a song for zither and orchestra they play melody with drums
singer with zither and band in concert"""


@pytest.fixture
def client(api: Api):
    return client_of(api)


def ask(client, name: str, **parameters):
    reply = client.get(f"/api/{name}", params=parameters)
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_info_says_what_is_there(client):
    info = ask(client, "info")
    assert [model["name"] for model in info["models"]] == ["model", "other"]
    first, second = info["models"]
    assert (first["contexts"], first["extend"], first["deviations"]) == (True, True, True)
    assert first["spelling"]
    assert not second["contexts"]
    assert "counts=FOLDER" in second["no_contexts"]


def test_a_change_is_told_as_its_folder_tells_it(client, library):
    found = ask(client, "change")
    assert found == json.loads((library.change / "change.json").read_text(encoding="utf-8"))
    assert found["slices"] == ["first", "second"]
    reply = client.get("/api/change", params={"model": 2})
    assert reply.status_code == 400
    assert "no change is open beside 'other'" in reply.json()["error"]


def test_documents_are_told_as_the_index_finds_them(client, library):
    index = psdvec.load(library.index)
    for ways in ("near", "exact"):
        found = ask(client, "documents", question="guitar ship", topn=3, ways=ways)
        hits = index.search("guitar ship", topn=3, exact=ways == "exact")
        assert [one["id"] for one in found["hits"]] == [hit.id for hit in hits]
        assert found["hits"][0]["why"][0]["document"] == hits[0].why[0].document
    for wrong, sentence in (
        ({"question": " "}, "a question has 0 characters"),
        ({"question": "x" * 1001}, "a question has 1,001 characters"),
        ({"question": "♥"}, "no document has a word of the question"),
        ({"question": "guitar", "model": 2}, "no documents are open beside 'other'"),
        ({"question": "guitar", "ways": "far"}, "'ways' is 'far'"),
    ):
        reply = client.get("/api/documents", params=wrong)
        assert reply.status_code == 400
        assert sentence in reply.json()["error"]


def test_topics_are_told_as_their_folder_tells_them(client, library):
    found = ask(client, "topics")
    assert found["documents"] == 900
    assert found["topics"] == json.loads((library.topics / "topics.json").read_text(encoding="utf-8"))
    kinds = [
        next(kind for kind, words in TOPICS.items() if one["words"][0] in words.split())
        for one in found["topics"]
    ]
    assert sorted(kinds) == sorted(TOPICS)
    reply = client.get("/api/topics", params={"model": 2})
    assert reply.status_code == 400
    assert "there are no topics beside 'other'" in reply.json()["error"]


def test_similar_answers_as_the_embeddings_do(client, models):
    e = models[0].embeddings
    for word in ("guitar", "the", *RARE.split(), *HOSTILE):
        found = ask(client, "similar", word=word, topn=5)
        assert [(one["word"], one["score"]) for one in found["neighbours"]] == [
            (other, pytest.approx(score)) for other, score in e.most_similar(word, topn=5)
        ]


def test_a_word_that_nobody_has_seen_is_asked_about_by_its_spelling_if_that_is_wanted(client, models):
    e = models[0].embeddings
    assert client.get("/api/similar", params={"word": "orchestral"}).status_code == 404
    found = ask(client, "similar", word="orchestral", unseen="spelling", topn=5)
    assert [one["word"] for one in found["neighbours"]] == [
        word for word, _ in e.most_similar("orchestral", topn=5, unseen="spelling")
    ]
    assert (found["count"], found["thin"], found["spelled"]) == (0, True, True)
    assert found["deviation"] > 0
    analogy = {"a": "concert", "b": "orchestral", "c": "ship"}
    assert client.get("/api/analogy", params=analogy).status_code == 404
    found = ask(client, "analogy", **analogy, unseen="spelling")
    answers = e.analogy("concert", "orchestral", "ship", unseen="spelling")
    assert [one["word"] for one in found["answers"]] == [word for word, _ in answers]
    assert found["spelled"] == ["orchestral"]
    assert len(found["plane"]["places"]) == 4
    found = ask(client, "odd", word=["guitar", "orchestral", "oven"], unseen="spelling")
    assert {one["word"] for one in found["words"] if one.get("spelled")} == {"orchestral"}
    reply = client.get("/api/similar", params={"word": "zzz", "unseen": "spelling"})
    assert (reply.status_code, reply.json()["word"]) == (404, "zzz")
    reply = client.get("/api/similar", params={"word": "zzz", "unseen": "guess"})
    assert reply.status_code == 400
    assert "choose one of: error, spelling" in reply.json()["error"]


def test_words_with_vectors_are_answered_the_same_whether_spelling_may_tell_or_not(client):
    three = {"a": "guitar", "b": "piano", "c": "ship"}
    for name, question in (
        ("similar", {"word": "guitar"}),
        ("analogy", three),
        ("odd", {"word": [*three.values()]}),
    ):
        assert ask(client, name, **question, unseen="spelling") == ask(client, name, **question)


@pytest.mark.parametrize(
    ("arguments", "parameters", "name"),
    [
        (("similar", "guitar"), {"word": "guitar"}, "similar"),
        (("analogy", "guitar", "piano", "ship"), {"a": "guitar", "b": "piano", "c": "ship"}, "analogy"),
        (("odd", "guitar", "piano", "ship"), {"word": ["guitar", "piano", "ship"]}, "odd"),
    ],
)
def test_the_command_lines_json_is_part_of_the_answer(client, run, library, arguments, parameters, name):
    command, *words = arguments
    printed = json.loads(run(command, library.model, *words, "--json", "-q")[1])[0]
    assert_part_of(printed, ask(client, name, **parameters))


def assert_part_of(part, whole) -> None:
    if isinstance(part, dict):
        for key, value in part.items():
            assert_part_of(value, whole[key])
    elif isinstance(part, list):
        assert len(part) == len(whole)
        for one, other in zip(part, whole, strict=True):
            assert_part_of(one, other)
    else:
        assert part == (pytest.approx(whole, abs=1e-6) if isinstance(part, float) else whole)


def test_confidence_is_given_where_both_deviations_are_known(client, models):
    e = models[0].embeddings
    lute, oboe = RARE.split()
    found = ask(client, "similar", word=lute, topn=100)
    by_word = {one["word"]: one for one in found["neighbours"]}
    assert found["deviation"] > 0
    interval = dict(e.most_similar_intervals(lute, topn=100))[oboe]
    assert (by_word[oboe]["low"], by_word[oboe]["high"]) == (interval.low, interval.high)
    fitted = by_word["guitar"]
    assert fitted["deviation"] > 0
    assert fitted["low"] <= fitted["score"] <= fitted["high"]


def test_analogies_add_or_multiply(client, models):
    e = models[0].embeddings
    for given, method in (
        ({}, "3cosadd"),
        ({"method": "3cosadd"}, "3cosadd"),
        ({"method": "3cosmul"}, "3cosmul"),
    ):
        found = ask(client, "analogy", a="guitar", b="piano", c="ship", **given)
        expected = [word for word, _ in e.analogy("guitar", "piano", "ship", method=method)]
        assert [one["word"] for one in found["answers"]] == expected
        assert found["method"] == method


def test_the_odd_one_is_the_one_of_another_topic(client):
    assert ask(client, "odd", word=["guitar", "piano", "oven", "violin"])["odd"] == "oven"


def test_a_model_with_itself_shares_everything(library):
    api = Api([open_model(library.model), open_model(library.model)])
    client = client_of(api)
    found = ask(client, "compare", word="guitar")
    assert found["overlap"] == 1
    assert found["neighbours"][0] == found["neighbours"][1]
    assert all(one["place_in_other"] == place for place, one in enumerate(found["neighbours"][0], 1))


def test_two_models_are_compared_word_by_word(client, models):
    found = ask(client, "compare", word="guitar", topn=8)
    lists = [[one["word"] for one in side] for side in found["neighbours"]]
    assert lists == [[word for word, _ in s.embeddings.most_similar("guitar", topn=8)] for s in models]
    assert set(found["shared"]) == set(lists[0]) & set(lists[1])
    assert found["overlap"] == len(found["shared"]) / 8


@pytest.mark.parametrize(
    ("name", "parameters", "sentence"),
    [
        ("similar", {"word": "  "}, "the field 'word' is empty; type a word"),
        ("similar", {"word": "x" * 101}, "longer than 100 characters"),
        ("similar", {"word": "guitar", "topn": "101"}, "give a number from 1 to 100"),
        ("similar", {"word": "guitar", "topn": "-1"}, "give a number from 1 to 100"),
        ("similar", {"word": "guitar", "model": "3"}, "give a number from 1 to 2"),
        ("analogy", {"a": "guitar", "b": "piano"}, "the field 'c' is empty"),
        ("analogy", {"a": "a", "b": "b", "c": "c", "method": "maybe"}, "choose one of: 3cosadd, 3cosmul"),
        (
            "odd",
            {"word": ["guitar", "guitar", "piano"]},
            "give at least 3 different words; only 2 given",
        ),
        ("odd", {"word": ["guitar"] * 51}, "give at most 50"),
        ("contexts", {"word": "guitar", "model": 2}, "start the explorer with counts=FOLDER"),
        ("map", {"layout": "../../etc"}, "choose one of: neighbours, pca"),
    ],
)
def test_a_request_that_makes_no_sense_gets_one_friendly_sentence(client, name, parameters, sentence):
    reply = client.get(f"/api/{name}", params=parameters)
    assert reply.status_code == 400
    assert sentence in reply.json()["error"]


def test_an_unknown_word_comes_with_similar_spellings(client):
    for name in ("similar", "contexts", "compare"):
        reply = client.get(f"/api/{name}", params={"word": "guitarr"})
        assert reply.status_code == 404
        assert reply.json()["suggestions"][0] == "guitar"
        assert "did you mean 'guitar'" in reply.json()["error"]


def test_a_word_that_one_model_lacks_is_not_compared(library, models):
    client = client_of(Api([models[0], open_model(library.plain)]))
    for word, here, there in (("guitar", "model", "plain.txt"), ("king", "plain.txt", "model")):
        reply = client.get("/api/compare", params={"word": word})
        assert reply.status_code == 400
        assert f"'{word}' is in '{here}' but not in '{there}'" in reply.json()["error"]


def test_one_model_has_nothing_to_compare_with(models):
    reply = client_of(Api(models[:1])).get("/api/compare", params={"word": "guitar"})
    assert reply.status_code == 400
    assert "psdvec explore MODEL MODEL2" in reply.json()["error"]


def test_vectors_from_elsewhere_can_be_explored_but_not_extended(library):
    client = client_of(Api([open_model(library.plain)]))
    assert ask(client, "similar", word="king", topn=1)["neighbours"][0]["word"] == "queen"
    assert ask(client, "map", layout="pca")["counts"] is None
    reply = client.post("/api/extend", json={"text": SENTENCES})
    assert reply.status_code == 400
    assert "these vectors come without the scales of a fit; fit them with psdvec" in reply.json()["error"]


def test_a_folder_without_the_scales_of_a_fit_can_be_explored_too(library, tmp_path):
    model = formats.load(library.model)
    formats.save(Embeddings(model.words, model.vectors), tmp_path / "bare")
    opened = open_model(tmp_path / "bare", counts=library.counts)
    assert opened.embeddings.words == formats.load(library.model).words
    assert "without the scales of a fit" in opened.no_extending
    assert str(tmp_path) not in opened.no_extending
    assert opened.no_contexts == opened.no_extending


# Adding a word


def test_an_added_word_is_what_extend_makes_of_the_same_text(client, models, tmp_path):
    (tmp_path / "text").write_text(SENTENCES)
    counts = count_pairs(read_corpus(tmp_path / "text", tokenizer="whitespace"), min_count=1, window=5)
    model = models[0].model
    expected = extend(model, counts, words=["zither"], unigrams="model")
    before = model.vectors.tobytes()
    reply = client.post("/api/extend", json={"text": SENTENCES, "word": "zither", "topn": "5"})
    assert reply.status_code == 200, reply.text
    (learned,) = reply.json()["learned"]
    assert (learned["word"], learned["count"]) == ("zither", 3)
    np.testing.assert_allclose(learned["vector"], expected.vectors[-1], atol=1e-6)
    assert learned["deviation"] == pytest.approx(float(expected.deviations[-1]))
    assert learned["spelling"] == pytest.approx(expected.report()[0].spelling)
    assert {one["word"] for one in learned["neighbours"]} & MUSIC
    assert model.vectors.tobytes() == before


def learn(client, text: str = SENTENCES, word: str = "zither"):
    reply = client.post("/api/extend", json={"text": text, "word": word})
    assert reply.status_code == 200, reply.text
    return reply.json()["learned"][0]


def test_a_learned_word_is_asked_about_like_any_other_until_the_server_ends(client, models):
    learned = learn(client)
    found = ask(client, "similar", word="zither")
    assert found["neighbours"] == learned["neighbours"]
    assert found["deviation"] == learned["deviation"]
    assert any(
        one["word"] == "zither" for one in ask(client, "similar", word="violin", topn=100)["neighbours"]
    )
    assert ask(client, "odd", word=["zither", "oven", "knife", "butter"])["odd"] == "zither"
    assert len(ask(client, "analogy", a="ship", b="sailor", c="zither")["answers"]) == 10
    assert ask(client, "words", prefix="zi")["words"] == [{"word": "zither", "count": 3}]
    contexts = ask(client, "contexts", word="zither", topn=100)["contexts"]
    assert {one["word"] for one in contexts} <= set(SENTENCES.split())
    fresh = client_of(Api(models))
    assert fresh.get("/api/similar", params={"word": "zither"}).status_code == 404


def test_a_word_that_is_learned_again_is_replaced(client):
    first = learn(client)
    other = learn(client, "the oven and the zither with bread and butter in soup\nknife sugar zither flour")
    assert other["vector"] != first["vector"]
    assert ask(client, "similar", word="zither")["neighbours"] == other["neighbours"]
    assert learn(client)["vector"] == first["vector"]


def test_learned_words_stay_when_others_are_learned(client):
    first = learn(client)
    learn(client, SENTENCES.replace("zither", "harp"), "harp")
    assert ask(client, "similar", word="zither", topn=100)["count"] == first["count"]
    neighbours = {one["word"] for one in ask(client, "similar", word="zither", topn=100)["neighbours"]}
    assert "harp" in neighbours


def test_the_evidence_names_the_contexts_and_the_sentences_that_placed_a_word(client, models):
    text = "no new word is here\n" + SENTENCES + "\nnor the here"
    learned = learn(client, text)
    assert learned["sentences"] == [1, 2, 3]
    weights = [one["weight"] for one in learned["evidence"]]
    assert 0 < len(weights) <= 20
    assert weights == sorted(weights, reverse=True)
    assert sum(map(abs, weights)) <= 1 + 1e-9
    assert {one["word"] for one in learned["evidence"]} <= set(SENTENCES.split()) - {"zither"}


def test_contexts_of_a_learned_word_are_not_mixed_with_those_of_the_models_text(client):
    learn(client)
    reply = client.get("/api/contexts", params={"word": "guitar", "other": "zither"})
    assert reply.status_code == 400
    assert "'zither' was learned from pasted sentences" in reply.json()["error"]
    assert "direct" in ask(client, "contexts", word="guitar", other="piano")


# Suggestions


def test_suggestions_begin_as_typed_the_most_frequent_first(client, models):
    e = models[0].embeddings
    for prefix in ("s", "so", "the", "<", "zzz"):
        found = [one["word"] for one in ask(client, "words", prefix=prefix, topn=100)["words"]]
        counts = [e.get_vecattr(word, "count") for word in found]
        assert counts == sorted(counts, reverse=True)
        assert set(found) == {word for word in e.words if word.startswith(prefix)}
    assert len(ask(client, "words", prefix="s", topn=2)["words"]) == 2


def test_suggestions_fold_case_as_the_models_tokenizer_does():
    vectors = np.eye(3, dtype=np.float32)
    folding = Suggestions(Embeddings(("king", "kite", "Kiel"), vectors, tokenizer="unicode"))
    assert [one["word"] for one in folding.beginning_with("KI", topn=5)] == ["king", "kite"]
    assert [one["word"] for one in folding.beginning_with("Ki", topn=5)] == ["king", "kite", "Kiel"]
    strict = Suggestions(Embeddings(("king", "kite", "Kiel"), vectors, tokenizer="whitespace"))
    assert [one["word"] for one in strict.beginning_with("Ki", topn=5)] == ["Kiel"]


def test_without_a_beginning_the_most_frequent_words_are_suggested(client, models):
    e = models[0].embeddings
    found = ask(client, "words", topn=3)["words"]
    assert [one["count"] for one in found] == sorted(e.counts.tolist(), reverse=True)[:3]


def test_without_a_name_every_new_word_is_learned_or_listed_as_thin(client, models):
    reply = client.post("/api/extend", json={"text": SENTENCES}).json()
    new = {word for word in SENTENCES.split() if word not in models[0].embeddings}
    assert {one["word"] for one in reply["learned"]} | set(reply["thin"]) == new
    assert reply["words_read"] == len(SENTENCES.split())


def test_empty_lines_count_as_lines_but_are_not_looked_at(client, models, monkeypatch):
    looked_at = []
    tokenize = type(models[0].model).tokenize
    monkeypatch.setattr(
        type(models[0].model), "tokenize", lambda e, text: looked_at.append(text) or tokenize(e, text)
    )
    empty = 100_000
    text = "\n" * empty + " \t\r\n" + SENTENCES.replace("\n", "\n\n")
    found = learn(client, text=text)
    lines = text.split("\n")
    assert found["sentences"] == [k for k, line in enumerate(lines) if "zither" in line.split()]
    assert min(found["sentences"]) > empty
    assert len(looked_at) < 100


def test_only_the_latest_words_are_kept_and_the_answer_says_which_are_forgotten(models):
    api = Api(models)
    api._learned[0] = LearnedWords(models[0].embeddings, words=2)
    client = client_of(api)

    def forgotten(word: str) -> list[str]:
        text = SENTENCES.replace("zither", word)
        return client.post("/api/extend", json={"text": text, "word": word}).json()["forgotten"]

    assert [forgotten(word) for word in ("one", "two", "one", "three", "four")] == [
        [],
        [],
        [],
        ["two"],
        ["one"],
    ]
    assert client.get("/api/similar", params={"word": "one"}).status_code == 404
    assert client.get("/api/contexts", params={"word": "one"}).status_code == 404
    assert client.get("/api/similar", params={"word": "three"}).status_code == 200


def test_the_texts_behind_learned_words_are_kept_within_limits_but_never_without_the_latest(models):
    api = Api(models)
    api._learned[0] = LearnedWords(models[0].embeddings, pairs=1)
    client = client_of(api)
    for word, before in (("one", []), ("two", ["one"])):
        text = SENTENCES.replace("zither", word)
        reply = client.post("/api/extend", json={"text": text, "word": word}).json()
        assert reply["forgotten"] == before
        assert client.get("/api/contexts", params={"word": word}).status_code == 200


def test_many_texts_at_once_wait_or_are_refused_in_a_sentence(api, monkeypatch):
    """While the first is being read, one more may wait; other questions are answered meanwhile."""
    monkeypatch.setattr("psdvec.explore.app.ACTIONS", 1)
    monkeypatch.setattr("psdvec.explore.app.WAITING", 1)
    go_on, begun, several = threading.Event(), threading.Event(), 4

    def slow(parameters):
        begun.set()
        assert go_on.wait(600)
        return {}

    api.actions["extend"] = slow
    with client_of(api) as client, ThreadPoolExecutor(several) as pool:
        asked = [pool.submit(client.post, "/api/extend", json={}) for _ in range(several)]
        assert begun.wait(600)
        ended = as_completed(asked, timeout=600)
        refused = [next(ended).result() for _ in range(2)]
        assert client.get("/api/info").status_code == 200
        go_on.set()
        replies = [one.result() for one in asked]
    assert all("try again in a moment" in reply.json()["error"] for reply in refused)
    assert sorted(reply.status_code for reply in replies) == [200, 200, 503, 503]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"text": " \n "}, "there is no text"),
        ({"text": SENTENCES, "word": "guitar"}, "'guitar' is in the model already"),
        ({"text": SENTENCES, "word": "absent"}, "'absent' does not occur in the text"),
        ({"text": SENTENCES, "word": "two words"}, "finds 2 words in 'two words'"),
        ({"text": "the guitar and piano"}, "already knows every word of the text"),
        ({"text": "zither the", "word": "zither"}, "too few words that the model knows"),
        ({"text": "zyx qqq"}, "no word in common"),
        ({"text": "x" * (MAX_TEXT_LENGTH + 1)}, "paste at most 1,000,000"),
        ({"text": "x\n" * (MAX_LINES + 1)}, "has 20,001 lines with words; paste at most 20,000"),
        ({"text": 7}, "'text' is not text"),
        ({"text": SENTENCES, "word": "\ud800"}, "does not occur in the text"),
    ],
)
def test_errors_in_a_pasted_text_are_sentences(client, body, sentence):
    reply = client.post("/api/extend", content=json.dumps(body), headers={"content-type": "application/json"})
    assert reply.status_code == 400
    assert sentence in reply.json()["error"]


def test_a_body_that_is_not_a_json_object_is_refused(client):
    for content in (b"{", b"[]", b"\xff\xfe", b"[" * 100_000):
        reply = client.post("/api/extend", content=content, headers={"content-type": "application/json"})
        assert reply.status_code == 400
        assert "send an object" in reply.json()["error"]
    reply = client.post("/api/extend", content=b"{}", headers={"content-type": "text/plain"})
    assert "content-type application/json" in reply.json()["error"]


def test_an_internal_error_is_a_sentence_too(api, monkeypatch):
    monkeypatch.setitem(api.queries, "info", lambda parameters: {}["oops"])
    reply = client_of(api, raising=False).get("/api/info")
    assert reply.status_code == 500
    assert "psdvec itself has failed (KeyError)" in reply.json()["error"]
