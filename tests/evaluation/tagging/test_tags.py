from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psdvec.errors import InputError
from psdvec.evaluation.tagging import Counts, count_by_label, count_spans, read_conll, spans_of, to_iob2

tags = st.sampled_from(["O"] + [f"{prefix}-{label}" for prefix in "BIES" for label in ("PER", "LOC")])
taggings = st.lists(st.tuples(tags, tags), max_size=12)


@pytest.mark.parametrize(
    ("scheme", "tagging"),
    [
        ("IOB1", "I-PER I-PER B-PER O I-LOC I-PER"),
        ("IOB2", "B-PER I-PER B-PER O B-LOC B-PER"),
        ("IOBES", "B-PER E-PER S-PER O S-LOC S-PER"),
        ("IOE2", "I-PER E-PER E-PER O E-LOC E-PER"),
    ],
)
def test_all_schemes_are_read_alike(scheme: str, tagging: str):
    assert spans_of(tagging.split()) == [(0, 2, "PER"), (2, 3, "PER"), (4, 5, "LOC"), (5, 6, "PER")], scheme


def test_labels_may_hold_hyphens():
    assert spans_of(["B-NP-SBJ", "I-NP-SBJ"]) == [(0, 2, "NP-SBJ")]


@given(st.lists(tags, max_size=12))
def test_writing_iob2_keeps_the_spans(tagging: list[str]):
    written = to_iob2(tagging)
    assert spans_of(written) == spans_of(tagging)
    assert to_iob2(written) == written


def scorer_of_conll(pairs: list[tuple[str, str]]) -> Counts:
    """Count spans in one pass over both taggings, as the scorer of the shared tasks does.

    It keeps no spans: it walks the tokens with a flag that says whether a span, begun in both taggings at the
    same token and with the same label, is still the same in both.
    """

    def split(tag: str) -> tuple[str, str]:
        prefix, _, label = tag.partition("-")
        return prefix, label

    def ends(before: tuple[str, str], now: tuple[str, str]) -> bool:
        changes = {
            ("B", "B"),
            ("B", "O"),
            ("I", "B"),
            ("I", "O"),
            ("E", "E"),
            ("E", "I"),
            ("E", "O"),
            ("E", "B"),
        }
        changes |= {("S", other) for other in "BIESO"} | {("B", "S"), ("I", "S"), ("E", "S")}
        return (before[0], now[0]) in changes or (before[0] != "O" and before[1] != now[1])

    def starts(before: tuple[str, str], now: tuple[str, str]) -> bool:
        changes = {
            ("B", "B"),
            ("I", "B"),
            ("O", "B"),
            ("O", "I"),
            ("E", "E"),
            ("E", "I"),
            ("O", "E"),
            ("E", "B"),
        }
        changes |= {(other, "S") for other in "BIESO"} | {("S", other) for other in "BIE"}
        return (before[0], now[0]) in changes or (now[0] != "O" and before[1] != now[1])

    right = found = gold = 0
    in_both = False
    before = (("O", ""), ("O", ""))
    for pair in [*pairs, ("O", "O")]:
        now = (split(pair[0]), split(pair[1]))
        end = ends(before[0], now[0]), ends(before[1], now[1])
        if in_both:
            if all(end):
                right += 1
                in_both = False
            elif any(end) or now[0][1] != now[1][1]:
                in_both = False
        start = starts(before[0], now[0]), starts(before[1], now[1])
        if all(start) and now[0][1] == now[1][1]:
            in_both = True
        gold += start[0]
        found += start[1]
        before = now
    return Counts(right, found, gold)


@given(taggings)
def test_spans_are_counted_as_a_second_implementation_counts_them(pairs: list[tuple[str, str]]):
    gold, found = [one for one, _ in pairs], [other for _, other in pairs]
    assert count_spans(gold, found) == scorer_of_conll(pairs)


def test_precision_recall_and_f1_of_a_case_worked_by_hand():
    gold = ["B-PER", "I-PER", "O", "B-LOC", "O", "B-ORG", "I-ORG"]
    found = ["B-PER", "I-PER", "O", "B-ORG", "O", "B-ORG", "O"]
    counts = count_spans(gold, found)
    assert counts == Counts(right=1, found=3, gold=3)
    assert (counts.precision, counts.recall, counts.f1) == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    assert count_by_label([(gold, found)]) == {
        "LOC": Counts(0, 0, 1),
        "ORG": Counts(0, 2, 1),
        "PER": Counts(1, 1, 1),
    }


def test_nothing_found_scores_zero():
    assert count_spans(["B-PER"], ["O"]).precision == 0
    assert count_spans(["B-PER"], ["O"]).f1 == 0
    assert count_spans(["O"], ["O"]).f1 == 0
    assert count_spans(["O"], ["O"]).recall == 0


@pytest.mark.parametrize("row", ["sat VBD x B-VP", "sat VBD B-VP x y"])
def test_rows_of_unequal_width_are_refused_with_their_line(tmp_path, row):
    (tmp_path / "train").write_text(f"The DT B-NP\ncat NN I-NP\n{row}\n\n")
    with pytest.raises(
        InputError, match=r"line 3 of '.*' has \d columns, but those before it in its sentence have 3"
    ):
        read_conll(tmp_path / "train")
    (tmp_path / "train").write_text(f"The DT B-NP\n\n{row}\n")
    assert len(read_conll(tmp_path / "train")) == 2
