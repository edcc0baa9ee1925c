"""Evaluate models with questions of your own: how many dimensions it takes to know the capitals.

Prints:

     8 dimensions: 33 of 90 right
    20 dimensions: 77 of 90 right
    50 dimensions: 90 of 90 right
"""

import psdvec
from psdvec.evaluation.tasks import Analogies
from sample import COUNTRIES, make_text

pairs = [line.split()[:2] for line in COUNTRIES]
questions = tuple((*first, *second) for first in pairs for second in pairs if first != second)
task = Analogies("capitals", questions, ("capitals",) * len(questions))

counts = psdvec.count_pairs(line.rstrip(".").split() for line in make_text("text").splitlines())
models = {f"{dim:2} dimensions": psdvec.fit(counts, dim=dim) for dim in (8, 20, 50)}

report = psdvec.evaluate(models, [task])
for name in models:
    score = report.get(name, "capitals")
    print(f"{name}: {score.value * score.covered:.0f} of {score.total} right")
