"""Classify texts by topic in a scikit-learn pipeline, from twenty labelled sentences. Needs psdvec[sklearn].

Prints:

    191 of 200 unseen sentences classified correctly
"""

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import psdvec
from psdvec.sklearn import WordVectors
from sample import COUNTRIES, ENGLISH, ENGLISH_FILLERS, make_articles, make_text

text = make_text("text").splitlines()
e = psdvec.fit(psdvec.count_pairs(line.rstrip(".").split() for line in text), dim=50)

articles = make_articles(ENGLISH, ENGLISH_FILLERS, COUNTRIES, number=220, seed=7)
sentences = [sentences[0] for _, sentences in articles]
topics = [title.split()[0] for title, _ in articles]

pipeline = make_pipeline(WordVectors(e), LogisticRegression(C=100))
pipeline.fit(sentences[:20], topics[:20])
right = sum(pipeline.predict(sentences[20:]) == topics[20:])
print(f"{right} of 200 unseen sentences classified correctly")
