from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from psdvec.options import make_recipe
from psdvec.solver.extend import extend
from psdvec.solver.fit import fit
from tests.toy import drawn_counts, problem_of, rounds_of

recipes = st.builds(
    make_recipe,
    st.sampled_from(["default", "paper"]),
    smoothing=st.floats(0.01, 0.9),
    background=st.floats(0.01, 0.9),
    exponent=st.sampled_from([0.3, 0.5, 1.0]),
    saturation=st.floats(0.1, 50),
    majoriser=st.floats(0, 0.6),
    emphasis=st.floats(0, 0.4),
    negligible=st.sampled_from([0.0, 0.01]),
    relaxation=st.floats(0.5, 1.95),
    momentum=st.floats(0, 0.9),
    head=st.sampled_from([0, 20]),
    spectrum=st.sampled_from(["signed", "positive"]),
    start=st.sampled_from(["zero", "half"]),
    rounds=st.just(4),
)


@settings(max_examples=20, deadline=None)
@given(recipe=recipes, seed=st.integers(0, 9))
def test_no_recipe_makes_the_objective_rise(recipe, seed):
    problem = problem_of(drawn_counts(words=50, sentences=200, seed=seed), recipe)
    objectives = [state.objective for state in rounds_of(problem, rank=7, recipe=recipe)]
    assert all(after <= before * (1 + 1e-5) for before, after in pairwise(objectives))


@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_any_partition_of_the_new_words_gives_the_same_vectors(data):
    counts = drawn_counts(words=50, sentences=300)
    model = fit(counts, dim=5, max_words=30)
    together = extend(model, counts)
    order = data.draw(st.permutations(counts.vocabulary.words[30:]))
    cut = data.draw(st.integers(0, len(order)))
    steps = model
    for part in (order[:cut], order[cut:]):
        steps = extend(steps, counts, words=part)
    for word in together.words:
        assert np.array_equal(
            steps.vectors[steps.key_to_index[word]], together.vectors[together.key_to_index[word]]
        )
