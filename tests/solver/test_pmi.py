import numpy as np
import pytest

from psdvec.counts.matrix import UNIT
from psdvec.errors import InputError
from psdvec.options import make_recipe
from psdvec.solver.pmi import margins, measure_constants, pmi, weight, word_scales
from tests.reference import rounds
from tests.toy import drawn_counts


def test_margins_are_the_sums_of_the_dense_matrix():
    counts = drawn_counts()
    H = rounds.dense_rows(counts.indptr, counts.indices, counts.values, len(counts)) / UNIT
    rows, columns = margins(counts)
    np.testing.assert_allclose(rows, H.sum(axis=1))
    np.testing.assert_allclose(columns, H.sum(axis=0))


def test_an_unseen_pair_has_the_log_of_the_smoothing_as_its_pmi():
    G = pmi(np.zeros(3), np.array([1.0, 5.0, 9.0]), np.array([0.1, 0.2, 0.3]), smoothing=0.02)
    np.testing.assert_allclose(G, np.log(0.02))


def test_an_independent_pair_has_pmi_zero():
    assert pmi(np.array(2.0), np.array(10.0), np.array(0.2), smoothing=0.3) == pytest.approx(0.0)


@pytest.mark.parametrize("recipe", ["default", "paper"])
def test_the_background_is_the_weight_of_an_unseen_pair_unless_clamped(recipe):
    counts = drawn_counts()
    rows, columns = margins(counts)
    constants = measure_constants(counts, rows, columns, recipe=make_recipe(recipe, saturation=50.0))
    s = word_scales(rows, columns, constants)
    R = weight(
        np.zeros((len(s), len(s))),
        np.outer(s.frequencies, s.frequencies),
        np.outer(s.majorisers, s.majorisers),
        constants=constants,
    )
    B = np.outer(s.rho, s.rho)
    free = np.outer(s.rho < 1, s.rho < 1)
    np.testing.assert_allclose(B[free], R[free])
    assert (B <= 1).all()


def test_a_words_scales_do_not_depend_on_the_words_beside_it():
    counts = drawn_counts()
    rows, columns = margins(counts)
    constants = measure_constants(counts, rows, columns, recipe=make_recipe("default"))
    together = word_scales(rows, columns, constants)
    for i in (0, 7, len(counts) - 1):
        alone = word_scales(rows[i : i + 1], columns[i : i + 1], constants)
        assert all(
            np.array_equal(getattr(together, name)[i], getattr(alone, name)[0]) for name in vars(alone)
        )


def test_the_cut_is_a_true_share_of_the_seen_pairs():
    counts = drawn_counts(words=80, sentences=2000)
    rows, columns = margins(counts)
    recipe = make_recipe("paper", cut=0.05)
    constants = measure_constants(counts, rows, columns, recipe=recipe)
    saturated = np.sqrt(counts.values / UNIT) >= constants.cap * (1 - 1e-12)
    strictly = np.sqrt(counts.values / UNIT) > constants.cap * (1 + 1e-12)
    assert strictly.mean() <= 0.05 <= saturated.mean()


def test_the_saturating_count_has_weight_one_for_average_words():
    counts = drawn_counts()
    rows, columns = margins(counts)
    constants = measure_constants(
        counts, rows, columns, recipe=make_recipe("default", saturation=3.0, background=0.0)
    )
    one = np.ones(1)
    assert weight(3 * one, one, one, constants=constants) == pytest.approx(1.0)
    assert weight(1.5 * one, one, one, constants=constants) == pytest.approx(0.5**0.5)


def test_counts_without_a_pair_are_refused():
    counts = drawn_counts(words=3, sentences=1)
    with pytest.raises(InputError, match="holds no pair"):
        measure_constants(counts, np.zeros(3), np.zeros(3), recipe=make_recipe("default"))
