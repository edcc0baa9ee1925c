"""Add a corpus to existing counts and subtract it again, exactly and without reading any text twice.

Prints:

    67338 and 22393 words apart, 89731 together
    'of' after 'capital': 253.0 + 89.0 = 342.0
    after subtracting, the counts are the same: True
"""

import numpy as np

import psdvec
from sample import make_text


def count(kind: str) -> psdvec.Cooccurrence:
    sentences = [line.rstrip(".").split() for line in make_text(kind).splitlines()]
    return psdvec.count_pairs(sentences, min_count=1)


general, medical = count("text"), count("medical")
both = psdvec.merge_counts([general, medical])
print(f"{general.tally.tokens} and {medical.tally.tokens} words apart, {both.tally.tokens} together")

a, b, c = (counts.row("capital")["of"] for counts in (general, medical, both))
print(f"'of' after 'capital': {a} + {b} = {c}")

back = psdvec.merge_counts([both], subtract=[medical])
same = np.array_equal(back.values, general.values) and back.vocabulary == general.vocabulary
print("after subtracting, the counts are the same:", same)
