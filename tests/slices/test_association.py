"""How lists of words go with others: Caliskan's formulas, planted associations, intervals, and what is refused."""

from __future__ import annotations

import csv
import json
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import psdvec
from psdvec.errors import InputError
from psdvec.progress import SilentProgress
from psdvec.slices.association import Estimate, Found, Summed, chance_of_partition, measure, read_lists
from tests.helpers import contents

LISTS = {name: [f"{name}{number}" for number in range(6)] for name in ("she", "he", "work", "home")}
SUBJECTS = [[f"s{subject}w{number}" for number in range(12)] for subject in range(8)]
TARGETS = {name: LISTS[name] for name in ("work", "home")}
ATTRIBUTES = {name: LISTS[name] for name in ("he", "she")}


GOES = [0.9, 0.7, 0.5, 0.3, 0.1, -0.1]  # how much the words of work go with him, and those of home with her
EVENLY = [0.9, -0.9, 0.5, -0.5, 0.1, -0.1]  # some with him, some with her, but neither list with either


def texts(number: int, *, seed: int, goes: list[float] = GOES) -> list[str]:
    """Texts of him or of her, and of one of eight subjects."""
    rng = np.random.default_rng(seed)
    tilts = np.concatenate([goes, -np.array(goes)])
    found = []
    for _ in range(number):
        person = ("he", "she")[rng.integers(2)]
        weights = np.concatenate([1 + tilts * (1 if person == "he" else -1), np.full(6, 1.5), np.ones(12)])
        words = [*LISTS["work"], *LISTS["home"], *LISTS[person], *SUBJECTS[rng.integers(8)]]
        found.append(" ".join(rng.choice(words, 25, p=weights / weights.sum())))
    return found


TEXTS = texts(400, seed=1)
EVEN = texts(400, seed=2, goes=EVENLY)


@pytest.fixture(scope="module")
def model() -> psdvec.Model:
    return psdvec.train([*TEXTS, *EVEN], dim=8, min_count=1, quiet=True)


def associate(model, *given, **options) -> psdvec.Association:
    lists = {"targets": TARGETS, "attributes": ATTRIBUTES, "quiet": True}
    return psdvec.association(model, *given, **{**lists, **options})


# What Caliskan, Bryson and Narayanan (2017) write, word for word.


def cos(a, b) -> float:
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def s_of_word(w, A, B) -> float:
    return float(np.mean([cos(w, a) for a in A]) - np.mean([cos(w, b) for b in B]))


def effect_size(X, Y, A, B) -> float:
    s = {word: [s_of_word(w, A, B) for w in W] for word, W in (("x", X), ("y", Y))}
    return float((np.mean(s["x"]) - np.mean(s["y"])) / np.std(s["x"] + s["y"]))


def p_value(X, Y, A, B) -> float:
    """Over all partitions of X and Y into lists of these sizes: as far apart, either way."""
    s = [s_of_word(w, A, B) for w in [*X, *Y]]

    def apart(chosen) -> float:
        return abs(
            np.mean([s[i] for i in chosen]) - np.mean([s[i] for i in range(len(s)) if i not in chosen])
        )

    observed = apart(range(len(X)))
    found = [apart(chosen) >= observed - 1e-9 for chosen in combinations(range(len(s)), len(X))]
    return float(np.mean(found))


def vectors(sizes, seed: int) -> tuple[psdvec.Embeddings, dict[str, list[str]]]:
    rng = np.random.default_rng(seed)
    lists = {name: [f"{name}{i}" for i in range(size)] for name, size in zip("XYAB", sizes, strict=True)}
    words = tuple(word for each in lists.values() for word in each)
    return psdvec.Embeddings(words, rng.standard_normal((len(words), 5)).astype(np.float32)), lists


@given(sizes=st.tuples(*[st.integers(2, 4)] * 4), seed=st.integers(0, 10**6))
def test_effect_associations_and_p_are_those_of_the_paper(sizes, seed):
    e, lists = vectors(sizes, seed)
    found = psdvec.association(
        e, targets={name: lists[name] for name in "XY"}, attributes={name: lists[name] for name in "AB"}
    )
    X, Y, A, B = ([e[word].astype(float) for word in lists[name]] for name in "XYAB")
    assert found.effects["model"].value == pytest.approx(effect_size(X, Y, A, B))
    assert found.effects["model"].p == pytest.approx(p_value(X, Y, A, B))
    singles = {one.word: one.value for one in found.estimates if one.measure == "association"}
    assert singles == pytest.approx(
        {word: s_of_word(e[word].astype(float), A, B) for word in lists["X"] + lists["Y"]}
    )


def test_p_of_two_and_two_words_by_hand():
    assert chance_of_partition(np.array([4.0, 3.0, 2.0, 1.0]), 2, seed=0) == 2 / 6  # 43|21 and 21|43
    assert chance_of_partition(np.array([4.0, 2.0, 3.0, 1.0]), 2, seed=0) == 4 / 6  # and 42|31 and 31|42
    assert chance_of_partition(np.array([4.0, 1.0, 2.0]), 1, seed=0) == 1 / 3  # 4|12


def test_p_of_many_words_is_drawn_and_near_the_exact_one():
    values = np.random.default_rng(0).standard_normal(30)
    drawn = chance_of_partition(values, 15, seed=0)
    apart = [abs(values[order[:15]].mean() - values[order[15:]].mean())
             for order in (np.random.default_rng(seed).permutation(30) for seed in range(4000))]  # fmt: skip
    assert drawn == pytest.approx(
        np.mean(np.array(apart) >= abs(values[:15].mean() - values[15:].mean())), abs=0.04
    )


def test_a_projection_is_the_cosine_with_the_axis():
    e, lists = vectors((2, 2, 3, 4), 1)
    found = psdvec.association(e, attributes={name: lists[name] for name in "AB"}, words=["X0", "Y1"])
    unit = {name: np.mean([e[w] / np.linalg.norm(e[w]) for w in lists[name]], axis=0) for name in "AB"}
    axis = unit["A"] - unit["B"]
    assert {one.word: one.value for one in found.estimates} == pytest.approx(
        {word: cos(e[word], axis) for word in ("X0", "Y1")}, abs=1e-6
    )
    assert found.effects == {}


# Intervals and tests.


def test_an_interval_over_words_is_that_of_means_without_each_of_them():
    e, lists = vectors((2, 2, 5, 6), 3)
    found = psdvec.association(
        e, attributes={name: lists[name] for name in "AB"}, targets={"X": lists["X"], "Y": lists["Y"]}
    )
    one = next(one for one in found.estimates if one.word == "X0")
    cosines = [
        np.array([cos(e["X0"].astype(float), e[w].astype(float)) for w in lists[name]]) for name in "AB"
    ]
    error = np.sqrt(sum(c.var(ddof=1) / len(c) for c in cosines))  # of two means, as Welch has it
    assert 2 < (one.high - one.low) / 2 / error < 2.8  # t with some degrees of freedom
    assert (one.high + one.low) / 2 == pytest.approx(one.value)
    assert np.isnan([one.documents_low, one.documents_high]).all()


def test_what_was_planted_is_found_over_words_and_over_documents(model):
    own = psdvec.train(TEXTS, dim=10, min_count=1, quiet=True)
    of_model, of_documents = (
        associate(e, documents, words=["work0", "home0"]) for e, documents in ((own, None), (model, TEXTS))
    )
    for found, name in ((of_model, "model"), (of_documents, "documents")):
        assert found.effects[name].value > 1
        assert found.effects[name].low > 0.2
        assert found.effects[name].p < 0.05
        first, last = (one for one in found.estimates if one.measure == "projection")
        assert (first.word, last.word) == ("work0", "home0")
    assert of_documents.effects["documents"].documents_low > 0.8
    assert of_documents.documents == (400,)


def test_slices_that_differ_are_told_apart_and_parts_of_one_are_not(model):
    found = associate(model, slices={"planted": TEXTS, "even": EVEN}, min_count=5)
    assert found.slices == ("planted", "even")
    apart = found.effects["between slices"]
    assert apart.p < 0.01
    assert apart.documents_low > 0.5
    assert found.effects["planted"].documents_low > 0.5
    assert found.effects["even"].documents_low < 0 < found.effects["even"].documents_high
    same = [
        associate(model, slices={"a": one[:300], "b": one[300:]}, min_count=5).effects["between slices"]
        for one in (texts(600, seed=seed) for seed in range(20, 28))
    ]  # fmt: skip
    assert np.mean([one.p < 0.05 for one in same]) < 0.3
    assert np.mean([one.documents_low < 0 < one.documents_high for one in same]) > 0.7


def random_blocks(seed: int, slices: np.ndarray) -> tuple[Found, Summed]:
    """Words that go together in no way but chance, in blocks of documents."""
    rng = np.random.default_rng(seed)
    names = "XYAB"
    places = {f"{name}{i}": 4 * k + i for k, name in enumerate(names) for i in range(4)}
    lists = {name: tuple(word for word in places if word[0] == name) for name in names}
    sums = rng.standard_normal((16, 6)) + rng.standard_normal((len(slices), 16, 6))
    found = Found({n: lists[n] for n in "XY"}, {n: lists[n] for n in "AB"}, (), {}, {}, places)
    return found, Summed(("a", "b")[: slices.max() + 1], slices, lambda ids: sums[:, ids])


@pytest.mark.slow
def test_where_nothing_differs_one_test_in_twenty_says_so():
    p: dict[str, list[float]] = {"words": [], "documents": []}
    covered = []
    for seed in range(300):
        estimates = measure(*random_blocks(seed, np.repeat([0, 1], [8, 24])), permutations=99, seed=seed,
                            progress=SilentProgress())  # fmt: skip
        words, _, apart = estimates[:3]
        p["words"].append(words.p)
        p["documents"].append(apart.p)
        covered.append(apart.documents_low < 0 < apart.documents_high)
    assert 0.005 < np.mean(np.array(p["words"]) < 0.05) < 0.06  # 2 of 70 partitions
    assert 0.02 < np.mean(np.array(p["documents"]) < 0.05) < 0.09
    assert np.mean(covered) > 0.9


def test_the_interval_over_documents_is_as_wide_as_resampled_documents_say(model):
    """The spread of the effect over resamples of all documents, each with its mean contexts added up anew."""
    found = associate(model, TEXTS).effects["documents"]
    rng = np.random.default_rng(0)
    drawn = [
        associate(model, [TEXTS[i] for i in rng.integers(len(TEXTS), size=len(TEXTS))]).effects["documents"].value
        for _ in range(40)
    ]  # fmt: skip
    width = (found.documents_high - found.documents_low) / 2 / 2.01
    assert width == pytest.approx(np.std(drawn), rel=0.5)


def test_noise_in_the_vectors_hardly_shrinks_an_effect():
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((16, 30))
    truth[[*range(4), *range(8, 12)], 0] += 4  # X and A
    found, _ = random_blocks(0, np.zeros(24, int))
    lists = [slice(begin, begin + 4) for begin in range(0, 16, 4)]
    exact = effect_size(*(truth[rows] for rows in lists))
    plain, measured, covered = [], [], []
    for _ in range(40):
        sums = truth + 5 * rng.standard_normal((24, 16, 30))
        blocks = Summed(("a",), np.zeros(24, int), lambda ids, sums=sums: sums[:, ids])
        one = measure(found, blocks, permutations=20, seed=0, progress=SilentProgress())[0]
        plain.append(exact - effect_size(*(sums.sum(axis=0)[rows] for rows in lists)))
        measured.append(exact - one.value)
        covered.append(one.documents_low < exact < one.documents_high)
    assert 0 <= np.mean(measured) < np.mean(plain) / 2
    assert np.mean(covered) > 0.9


# Words and lists.


def test_words_that_are_missing_or_rare_are_named_and_left_out(model):
    given = {"work": [*LISTS["work"], "Work0", "nowhere"], "home": LISTS["home"]}
    found = associate(model, [*TEXTS, "solo"], targets=given)
    assert found.missing == {"work": ("nowhere",)}
    assert found.targets["work"] == tuple(LISTS["work"])  # Work0 is work0, which is there already
    assert found.left_out() == ["1 word of 'work' without a vector, left out: nowhere"]
    rare = associate(model, [text.replace("home5", "x") for text in TEXTS] + ["home5 he0 she0"])
    assert rare.rare == {"home": ("home5",)}
    assert "too rare in some slice" in rare.left_out()[0]
    same = associate(model, targets={"work": LISTS["work"], "home": LISTS["home"][:5]})
    assert {one.word for one in same.estimates} == {one.word for one in rare.estimates}


def test_the_lists_of_the_paper_are_in_the_package():
    lists = read_lists()
    assert lists["male-names"][:2] == ["John", "Paul"]
    assert len(lists["flowers"]) == len(lists["insects"]) == 25
    assert all(len(words) == len(set(words)) >= 6 for words in lists.values())


@pytest.mark.parametrize("name", ["mine.json", "mine.toml"])
def test_lists_of_ones_own_are_read_by_their_names(model, tmp_path, name):
    text = json.dumps(LISTS) if name.endswith("json") else "".join(f"{k} = {v}\n" for k, v in LISTS.items())
    (tmp_path / name).write_text(text)
    found = associate(model, targets=["work", "home"], attributes=["he", "she"], lists=tmp_path / name)
    assert found.rows() == associate(model).rows()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ({"targets": None}, "there is nothing to measure"),
        ({"targets": ["work", "home"]}, "there is no word list 'work'; there are flowers, insects"),
        ({"targets": {"work": LISTS["work"]}}, "there must be two lists of targets, and 1 list came"),
        ({"targets": {"work": ["work0", "zz"], "home": LISTS["home"]}},
         r"the list 'work' has 1 word to measure, which is too few \(unknown: zz\); give others$"),
        ({"targets": {"work": LISTS["work"], "home": []}}, "has 0 words to measure, which is too few; give more"),
        ({"targets": {"one": ["he0", "he1"], "two": ["he1", "he2"]}}, "'he1' is in both lists, one and two"),
        ({"targets": {"he": LISTS["work"], "home": LISTS["home"]}}, "two lists are called 'he'"),
        ({"words": ["zz"]}, "the list 'words' has 0 words to measure"),
        ({"by": "party"}, "by, unit and window are about documents"),
        ({"permutations": 5}, "permutations=5 does not do; give 20 to 100,000"),
        ({"documents": TEXTS, "min_count": 9999},
         r"the list 'he' has 0 words .* \(too rare in some slice: he0, .*\); .* ask for fewer .* min_count=N$"),
        ({"documents": TEXTS[:10]}, "the slice 'documents' has 10 documents, and a test takes 16 or more"),
        ({"documents": [{"text": text, "who": "me"} for text in TEXTS], "unit": "who"}, "have one value of 'who'"),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_is_refused_in_one_sentence(model, call, sentence):
    with pytest.raises(InputError, match=sentence):
        associate(model, **call)


def test_words_that_do_not_differ_at_all_are_refused():
    same = psdvec.Embeddings(tuple("abcdwxyz"), np.ones((8, 2), np.float32))
    lists = {"targets": {"X": ["w", "x"], "Y": ["y", "z"]}, "attributes": {"A": ["a", "b"], "B": ["c", "d"]}}
    with pytest.raises(InputError, match="the lists 'A' and 'B' point the same way, and make no axis"):
        psdvec.association(same, **lists)
    vectors = np.ones((8, 2), np.float32)
    vectors[:2], vectors[2:4] = [1, 0], [0, 1]
    with pytest.raises(InputError, match="all target words go alike with 'A' and 'B'"):
        psdvec.association(psdvec.Embeddings(tuple("abcdwxyz"), vectors), **lists)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "is neither JSON nor TOML"),
        ("[]", "holds no word lists"),
        ('{"a": "bc"}', "a is one string, 'bc'"),
    ],
)
def test_a_file_that_holds_no_lists_is_refused(model, tmp_path, text, sentence):
    (tmp_path / "lists.json").write_text(text)
    with pytest.raises(InputError, match=sentence):
        associate(model, targets=["a", "b"], lists=tmp_path / "lists.json")
    with pytest.raises(InputError, match="cannot be read: No such file"):
        associate(model, targets=["a", "b"], lists=tmp_path / "nowhere.toml")


# What is written and shown.


def test_the_folder_is_the_same_for_any_number_of_threads(model, tmp_path):
    records = [{"text": text, "party": "ab"[n % 2], "who": str(n % 50)} for n, text in enumerate(TEXTS)]
    for workers in (1, 3):
        associate(model, records, by="party", unit="who", min_count=5, words=["s0w0"], permutations=50,
                  workers=workers, output=tmp_path / str(workers))  # fmt: skip
    one, three = (contents(tmp_path / str(workers)) for workers in (1, 3))
    assert one["association.csv"] == three["association.csv"]
    assert one["association.html"] == three["association.html"]


def test_the_table_has_a_row_for_each_number(model, tmp_path):
    found = associate(model, TEXTS, words=["s0w0"], output=tmp_path / "report")
    head, *rows = csv.reader(
        (tmp_path / "report" / "association.csv").read_text(encoding="utf-8").splitlines()
    )
    assert head == [
        "slice", "measure", "list", "word", "value", "low", "high", "documents low", "documents high", "p"
    ]  # fmt: skip
    assert [row[1] for row in rows] == ["effect", *["association"] * 12, "projection"]
    values = [float(row[4]) for row in rows[1:13]]
    assert values == sorted(values, reverse=True)
    assert len(found) == len(rows) == 14
    assert repr(found).startswith("Association(13 words, 1 slice, axis he - she, effect documents 1.")
    page = (tmp_path / "report" / "association.html").read_text(encoding="utf-8")
    assert "work and home between he and she" in page
    assert "over documents" in page


def test_a_frame_has_a_row_for_each_number(model):
    pytest.importorskip("pandas")
    frame = associate(model).to_frame()
    assert frame["value"][0] == associate(model).effects["model"].value
    assert Estimate._fields[4:7] == tuple(frame.columns[4:7])


def test_the_command_writes_a_report(run, tmp_path, model):
    model.save(tmp_path / "model")
    (tmp_path / "lists.json").write_text(json.dumps({**LISTS, "work": [*LISTS["work"], "nowhere"]}))
    lines = [{"text": text, "party": "ab"[n % 2]} for n, text in enumerate(TEXTS)]
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    call = ("association", tmp_path / "model", "--attributes", "he,she", "--lists", tmp_path / "lists.json")
    code, output, errors = run(*call, "--targets", "work,home", "--words", "s0w0")
    assert code == 0, errors
    assert output.splitlines()[1].split()[:5] == ["model", "effect", "work", "-", "home"]
    assert "1 word of 'work' without a vector, left out: nowhere" in output
    report = (
        *call,
        tmp_path / "d.jsonl",
        "--by",
        "party",
        "--targets",
        "work,home",
        "-o",
        tmp_path / "report",
    )
    assert run(*report, "--min-count", "5")[0] == 0
    assert (tmp_path / "report" / "association.html").exists()
    assert "how these lists of words go together" in run("info", tmp_path / "report")[1]
    assert "exists" in run(*report)[2]
    assert run(*call, "--targets", "work,nonsense")[2].startswith("psdvec: there is no word list 'nonsense'")


def test_a_report_says_what_it_is_and_is_read_again(run, model, tmp_path):
    associate(model, output=tmp_path / "report")
    code, output, errors = run("info", tmp_path / "report", "--verify")
    assert code == 0, errors
    assert "how these lists of words go together" in output
    assert psdvec.load(tmp_path / "report")[0]["measure"] == "effect"
