"""Learn new words beside old ones: the old vectors do not move, and a new word knows how sure it is.

Prints:

    learned: aspirin, begins, bronchitis, ibuprofen, influenza, measles, penicillin
    old vectors unchanged: True
    nearest old word to penicillin: medicine
    penicillin and ibuprofen: 1.00, between 0.19 and 1.00
"""

from tempfile import TemporaryDirectory

import psdvec
from sample import make_text


def count(kind: str) -> psdvec.Cooccurrence:
    return psdvec.count_pairs(line.rstrip(".").split() for line in make_text(kind).splitlines())


with TemporaryDirectory() as folder:
    psdvec.fit(count("text"), dim=50, output=f"{folder}/general")
    extension = psdvec.extend(f"{folder}/general", count("medical"), output=f"{folder}/larger")
    general, larger = psdvec.load(f"{folder}/general"), psdvec.load(f"{folder}/larger")

print("learned:", ", ".join(sorted(extension.learned)))
print("old vectors unchanged:", (larger.vectors[: len(general)] == general.vectors).all())

old = [word for word, _ in larger.most_similar("penicillin", topn=10) if word in general]
print("nearest old word to penicillin:", old[0])

value, low, high = larger.similarity("penicillin", "ibuprofen", interval=True)
print(f"penicillin and ibuprofen: {value:.2f}, between {low:.2f} and {high:.2f}")
