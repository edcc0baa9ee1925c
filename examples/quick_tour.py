"""From text to counts to vectors to answers.

Prints:

    67338 words read, 156 in the vocabulary
    paris and france 0.69
    france is to paris as germany is to berlin
    piano does not belong with horse, cow and sheep
"""

import psdvec
from sample import make_text

sentences = [line.rstrip(".").split() for line in make_text("text").splitlines()]

counts = psdvec.count_pairs(sentences, min_count=5)
print(f"{counts.tally.tokens} words read, {len(counts)} in the vocabulary")

e = psdvec.fit(counts, dim=50)
print(f"paris and france {e.similarity('paris', 'france'):.2f}")

[(answer, _)] = e.most_similar(positive=["paris", "germany"], negative=["france"], topn=1)
print(f"france is to paris as germany is to {answer}")

print(f"{e.doesnt_match(['horse', 'cow', 'piano', 'sheep'])} does not belong with horse, cow and sheep")
