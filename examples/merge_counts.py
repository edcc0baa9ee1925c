"""Add a corpus to counts, and take it off again, to the bit; no text is read twice.

Prints:

    apart 67338 and 22393 words, together 89731
    'capital' before 'of': 253.0 + 89.0 = 342.0
    taken off again, the counts are the same: True
"""

import numpy as np

import psdvec
from sample import make_text


def count(kind: str) -> psdvec.Cooccurrence:
    sentences = [line.rstrip(".").split() for line in make_text(kind).splitlines()]
    return psdvec.count_pairs(sentences, min_count=1)


general, medical = count("text"), count("medical")
both = psdvec.merge_counts([general, medical])
print(f"apart {general.tally.tokens} and {medical.tally.tokens} words, together {both.tally.tokens}")

a, b, c = (counts.row("capital")["of"] for counts in (general, medical, both))
print(f"'capital' before 'of': {a} + {b} = {c}")

back = psdvec.merge_counts([both], subtract=[medical])
same = np.array_equal(back.values, general.values) and back.vocabulary == general.vocabulary
print("taken off again, the counts are the same:", same)
