"""Topics as features of a classifier, in the setting of TopicVec.

python -m benchmarks.bench.bench_topic_features DATA --work WORK [--quotes] [--record FILE]

Vectors are learned from the postings of 20 Newsgroups, training and test part, without labels. Topics are learned for
each labelled group of the training part by itself; the proportions of all of them (square roots) are the features of a
linear classifier, whose strength of regularisation is chosen by cross-validation on the training part. Headers and
signatures are stripped, and quotes too unless ``--quotes`` keeps them. Macro F1 on the test part, beside TF-IDF and
mean vectors.
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.bench.bench_topics import read_news, strip_posting
from benchmarks.lib.measure import PSDVEC, markdown, run, run_script
from benchmarks.lib.records import make_parser, publish

import psdvec
from psdvec.progress import SilentProgress
from psdvec.topic_model.documents import Documents, choose_words, read_documents
from psdvec.topic_model.learn import Prior, Space, cluster, document_vectors, infer_documents, learn, words_of
from psdvec.topic_model.topics import proportions_of

_HOLD = 0.001  # a tenth of the default: features may say more than what can be named
_TOPICS = 30  # for each of the twenty groups


def features(kept: Documents, space: Any, labels: Any, is_train: Any) -> Any:
    """Return the proportions of all documents among the topics of all groups."""
    tilts = []
    for label in np.unique(labels):
        own = kept.take(np.flatnonzero(is_train & (labels == label)))
        owners = cluster(document_vectors(own, space), _TOPICS, seed=0)
        begin = words_of(own, owners, topics=_TOPICS, words=len(space.words))
        tilts.append(
            learn(own, space, begin=begin, prior=Prior(), hold=_HOLD, progress=SilentProgress()).tilts
        )
    prior = Prior(0.1, 0.5)
    every = np.concatenate(tilts)
    return proportions_of(kept, infer_documents(kept, space, every, prior=prior, hold=_HOLD), prior)


def judge(name: str, found: Any, labels: Any, is_train: Any) -> dict[str, Any]:
    """Return macro F1 on the test part, and the strength that the training part chose."""
    from sklearn.metrics import f1_score
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import LinearSVC

    model = GridSearchCV(LinearSVC(dual=True), {"C": (0.1, 1.0, 10.0)}, cv=3, scoring="f1_macro")
    model.fit(found[is_train], labels[is_train])
    score = f1_score(labels[~is_train], model.predict(found[~is_train]), average="macro")
    return {"features": name, "macro_f1": float(score), "C": model.best_params_["C"]}


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--quotes", action="store_true", help="keep quoted lines")
    parser.add_argument("--dim", default="300")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    rows = read_news(given.data, strip=lambda text: strip_posting(text, quotes=given.quotes))
    labels = np.array([label for _, label, _ in rows])
    is_train = np.array([part == "train" for part, _, _ in rows])
    texts = [re.sub(r"\s+", " ", text) for _, _, text in rows]
    name = f"features-{'quoted' if given.quotes else 'stripped'}-{given.dim}"
    file, folder = given.work / f"{name}.txt", given.work / f"{name}-model"
    file.write_text("\n".join(texts) + "\n", encoding="utf-8")
    if not folder.exists():
        run([*PSDVEC, "train", file, "-o", folder, "--dim", given.dim, "--min-count", "5"])
    model = psdvec.load(folder)
    read = read_documents(texts, model, progress=SilentProgress())
    kept, ids = choose_words(read, model, 5)
    space = Space.of(kept, model, ids)
    means = document_vectors(kept, space)
    begun = time.process_time()
    found = np.sqrt(features(kept, space, labels, is_train))
    took = time.process_time() - begun
    features_of = {
        "TF-IDF": tf_idf(texts),
        "mean vectors": means,
        "proportions": found,
        "proportions and mean vectors": np.hstack([found, means]),
    }
    rows = [judge(name, each, labels, is_train) for name, each in features_of.items()]
    figures = {"dim": given.dim, "topics": found.shape[1], "processor": took, "rows": rows}
    publish(figures, table, record=given.record)


def table(record: dict[str, Any]) -> str:
    """Write macro F1 of each kind of features, in points."""
    return markdown(
        ["features", "macro F1"],
        [[row["features"], f"{100 * row['macro_f1']:.1f}"] for row in record["rows"]],
    )


def tf_idf(texts: list[str]) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(sublinear_tf=True, min_df=2, stop_words="english").fit_transform(texts)


if __name__ == "__main__":
    run_script(main)
