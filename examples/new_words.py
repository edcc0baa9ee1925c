"""Learn new words without moving the old ones, and see how certain their vectors are.

Prints:

    learned: aspirin, begins, bronchitis, ibuprofen, influenza, measles, penicillin
    old vectors unchanged: True
    nearest old word to penicillin: medicine
    penicillin and ibuprofen: 0.97, between 0.16 and 1.00
"""

import psdvec
from sample import make_text


def count(kind: str) -> psdvec.Cooccurrence:
    return psdvec.count_pairs(line.rstrip(".").split() for line in make_text(kind).splitlines())


model = psdvec.fit(count("text"), dim=50)
extension = psdvec.extend(model, count("medical"))
general, larger = model, extension

print("learned:", ", ".join(sorted(extension.learned)))
print("old vectors unchanged:", (larger.vectors[: len(general)] == general.vectors).all())

old = [word for word, _ in larger.most_similar("penicillin", topn=10) if word in general]
print("nearest old word to penicillin:", old[0])

value, low, high = larger.similarity("penicillin", "ibuprofen", interval=True)
print(f"penicillin and ibuprofen: {value:.2f}, between {low:.2f} and {high:.2f}")
