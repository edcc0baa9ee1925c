from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import psdvec
from psdvec.documents import distinctive as module
from psdvec.documents.distinctive import Distinctive, distinctive
from psdvec.errors import InputError
from psdvec.vectors.embeddings import Embeddings

NUMBERS = ("counts", "having", "effect", "low", "high", "z", "p", "q")


def made_up(seed: int = 0, *, documents: int = 120, bursts: int = 1) -> list[dict[str, Any]]:
    """Documents of two places in which no word differs, but each word comes ``bursts`` times where it comes at all."""
    generator = np.random.default_rng(seed)
    records = []
    for i in range(documents):
        own = generator.zipf(1.4, int(generator.integers(20, 120))) % 300
        records.append(
            {"place": "ab"[i % 2], "text": " ".join(f"w{k} " * bursts for k in own), "who": f"s{i % 30}"}
        )
    return records


def planted() -> list[dict[str, Any]]:
    """Made-up documents; every third one of b has sea, one of a has said hill very often, and all have the."""
    records = made_up()
    for i, record in enumerate(records):
        record["text"] += " the the" + (" sea" if i % 3 == 0 and record["place"] == "b" else "")
    records[0]["text"] += " hill" * 400
    return records


def find(records: Any, **more: Any) -> Distinctive:
    return distinctive(
        records, **{"by": "place", "permutations": 500, "min_documents": 1, "quiet": True, **more}
    )


def test_a_word_of_many_documents_is_found_and_one_of_a_single_document_is_not():
    found = find(planted())
    assert [row[1] for row in found.rows("b")] == ["sea"]
    assert found.rows("a") == []
    hill = found.words.index("hill")
    assert found.counts[hill].tolist() == [400, 0]
    assert found.effect[hill, 0] > found.effect[found.words.index("sea"), 1]
    assert found.q[hill, 0] > 0.2


@pytest.mark.parametrize("bursts", [1, 5])
def test_where_no_word_differs_one_in_twenty_has_p_below_a_twentieth_and_none_is_sure(bursts: int):
    shares, sure = [], 0
    for seed in range(8):
        found = find(made_up(seed, bursts=bursts), min_documents=5, seed=seed)
        shares.append((found.p[:, 0] < 0.05).mean())
        sure += int((found.q < 0.01).sum())
    assert 0.025 < np.mean(shares) < 0.075
    assert sure == 0


def test_z_is_as_its_definition_says():
    records = planted()
    found = find(records)
    counts = np.array(
        [[record["text"].split().count(word) for word in found.words] for record in records], float
    )
    lengths = counts.sum(axis=1)
    is_a = np.array([record["place"] == "a" for record in records])
    excess = counts - np.outer(lengths, counts.sum(axis=0) / lengths.sum())
    means = [excess[side].sum(axis=0) / lengths[side].sum() for side in (is_a, ~is_a)]
    spread = [(excess[side] ** 2).sum(axis=0) / lengths[side].sum() ** 2 for side in (is_a, ~is_a)]
    assert found.z[:, 0] == pytest.approx((means[0] - means[1]) / np.sqrt(spread[0] + spread[1]))
    assert found.z[:, 1] == pytest.approx(-found.z[:, 0])


def test_the_effect_is_the_log_odds_ratio_with_so_many_documents_of_ordinary_text_on_each_side():
    records = planted()
    found = find(records, prior=3)
    sea = found.words.index("sea")
    words = [sum(len(one["text"].split()) for one in records if one["place"] == place) for place in "ab"]
    added = 3 * sum(words) / len(records)
    own = added * found.counts[sea].sum() / sum(words)
    y = found.counts[sea] + own
    odds = y / (np.array(words) + added - y)
    assert found.effect[sea, 0] == pytest.approx(np.log(odds[0] / odds[1]))


def test_counts_of_a_model_are_the_prior_and_its_words_are_looked_at():
    e = Embeddings(
        ("the", "sea", "hill"), np.eye(3, dtype=np.float32), np.array([90, 9, 1]), tokenizer="unicode"
    )
    found = find(planted(), model=e)
    assert set(found.words) == {"the", "sea", "hill"}
    assert [row[1] for row in found.rows("b")] == ["sea"]
    with pytest.raises(InputError, match="no counts of words"):
        find(planted(), model=Embeddings(e.words, e.vectors))


def test_documents_of_a_unit_are_dealt_together():
    records = [
        {
            "place": "ab"[i % 2],
            "who": "one" if i % 6 == 1 else f"s{i % 10}",
            "text": "the the " + "xy"[i % 6 == 1],
        }
        for i in range(96)
    ]
    alone, together = (find(records, unit=unit, min_documents=5) for unit in (None, "who"))
    assert "y" in [row[1] for row in alone.rows("b")]
    assert "y" not in together.words  # a single speaker says it


def test_any_number_of_workers_and_any_cut_gives_the_same(workers: int, monkeypatch):
    whole = find(made_up(), workers=1)
    monkeypatch.setattr(module, "_AT_ONCE", 5000)
    cut = find(made_up(), workers=workers)
    for name in NUMBERS:
        assert getattr(cut, name).tolist() == getattr(whole, name).tolist()


def test_several_groups_are_each_compared_with_all_others():
    records = planted() + [{"place": "c", "text": "the moon"}] * 20
    found = find(records)
    assert found.groups == ("a", "b", "c")
    assert "moon" in [row[1] for row in found.rows("c")]
    assert found.counts.sum(axis=1).tolist() == [
        sum(one["text"].split().count(word) for one in records) for word in found.words
    ]


def test_a_folder_holds_a_table_a_page_and_what_load_returns(tmp_path: Path, run):
    find(planted(), output=tmp_path / "report")
    told = psdvec.load(tmp_path / "report")
    assert [one["group"] for one in told["groups"]] == ["a", "b"]
    assert told["groups"][1]["words"][0]["word"] == "sea"
    table = (tmp_path / "report" / "distinctive.csv").read_text().splitlines()
    assert table[0] == ",".join(module.HEAD)
    assert table[1].startswith("b,sea,")
    page = (tmp_path / "report" / "distinctive.html").read_text()
    assert "b: sea." in page
    assert "a: nothing for sure." in page
    assert "intact" in run("info", tmp_path / "report", "--verify")[1]


def test_slices_are_groups_too():
    places = {place: [one["text"] for one in planted() if one["place"] == place] for place in "ab"}
    assert find(None, by=None, slices=places).rows("b") == find(planted()).rows("b")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ({"prior": 0}, "the prior is 0; give a number of documents above 0"),
        ({"min_documents": 10**6}, "in 1,000,000 documents or more"),
        ({"permutations": 3}, "permutations=3 does not do"),
        ({"by": None}, "nothing says which document is of which slice"),
        ({"by": "party"}, "no document has a field 'party'"),
    ],
)
def test_what_cannot_be_done_is_said(call: dict[str, Any], sentence: str):
    with pytest.raises(InputError, match=sentence):
        find(made_up(), **call)


def test_a_group_that_is_not_there_is_said():
    pytest.importorskip("matplotlib")
    for ask in (Distinctive.rows, Distinctive.plot):
        with pytest.raises(InputError, match="there is no group 'c'; choose one of a, b"):
            ask(find(made_up()), "c")


def test_a_figure_shows_the_words_of_both_groups():
    pytest.importorskip("matplotlib")
    figure = find([*planted(), *[{"place": "a", "text": "the shore"}] * 30]).plot()
    assert {"sea", "shore"} <= {label.get_text() for label in figure.axes[0].get_yticklabels()}


def test_a_single_word_among_thousands_is_found():
    rng = np.random.default_rng(0)
    records = [
        {
            "place": "ab"[i % 2],
            "text": " ".join(f"w{k}" for k in rng.integers(0, 2000, 40)) + " ship" * (i % 10 == 0),
        }
        for i in range(300)
    ]
    found = distinctive(records, by="place", permutations=100, quiet=True)
    assert [row[1] for row in found.rows("a")] == ["ship"]
    assert found.rows("b") == []


def test_a_figure_without_words_says_so():
    pytest.importorskip("matplotlib")
    alike = find([{"place": "ab"[i % 2], "text": "the same words"} for i in range(40)])
    assert alike.plot().axes[0].get_title(loc="left") == "Words of a and b: nothing for sure"
    with pytest.raises(InputError, match="topn is 0"):
        alike.plot(topn=0)


@pytest.mark.parametrize(("groups", "sections"), [(3, 4), (12, 2)])
def test_the_page_of_many_groups_folds_their_numbers(tmp_path, groups: int, sections: int):
    records = [{"text": f"word{i % groups} and more", "group": f"g{i % groups}"} for i in range(20 * groups)]
    psdvec.distinctive(records, by="group", output=tmp_path / "out", quiet=True)
    page = (tmp_path / "out" / "distinctive.html").read_text()
    assert page.count("<h2") == sections
    assert page.count("<details") == (groups if sections == 2 else 0)
    assert page.count("Words of g0") == (2 if sections == 2 else 3)
