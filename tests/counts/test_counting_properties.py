"""Counting equals the ten-line counter, however the work is split."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psdvec.counts.count import count_pairs
from psdvec.counts.matrix import pair_weights
from psdvec.text import corpus as corpus_module
from psdvec.text.corpus import read_corpus
from tests.helpers import cells, contents, count_in_small_runs
from tests.reference import counting

SENTENCES = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=12), min_size=1, max_size=15).filter(any)
WEIGHTINGS = st.sampled_from(["harmonic", "flat", "linear", "power:1.5"])


@pytest.mark.slow
@given(SENTENCES, st.integers(1, 5), WEIGHTINGS, st.integers(1, 4), st.booleans(), st.integers(1, 4))
def test_counts_equal_the_ten_line_counter(sentences, window, weighting, min_count, close_gaps, workers):
    if max(sum(s.count(word) for s in sentences) for word in "abcdefgh") < min_count:
        return
    gaps = "close" if close_gaps else "keep"
    counts = count_pairs(
        sentences, window=window, weighting=weighting, min_count=min_count, gaps=gaps, workers=workers
    )
    weights = pair_weights(window, weighting).tolist()
    expected = counting.count_pairs(sentences, counts.vocabulary.words, weights, close_gaps=close_gaps)
    assert cells(counts) == expected
    occurring = [word for word in "abcdefgh" if sum(s.count(word) for s in sentences) >= min_count]
    assert sorted(counts.vocabulary.words) == occurring


@pytest.mark.slow
@given(
    SENTENCES, st.integers(1, 4), st.integers(1, 30), st.integers(1, 3), st.sampled_from(["keep", "close"])
)
def test_little_memory_gives_the_same_counts(tmp_path_factory, sentences, window, chunk, workers, gaps):
    folder = tmp_path_factory.mktemp("counts")
    options = {"window": window, "min_count": 2, "max_words": 5, "gaps": gaps}
    if max(sum(s.count(word) for s in sentences) for word in "abcdefgh") < 2:
        return
    count_pairs(sentences, **options, workers=1, output=folder / "whole")
    with pytest.MonkeyPatch.context() as patch:
        count_in_small_runs(patch, chunk=chunk)
        count_pairs(sentences, **options, workers=workers, output=folder / "runs")
    assert contents(folder / "runs") == contents(folder / "whole")


@pytest.mark.slow
@given(
    st.text(alphabet="aB c\n\t\r\0é漢'", max_size=80).filter(
        lambda text: any(c in text for c in "aBcé漢") and 8 * text.count("\0") <= len(text)  # more is UTF-16
    ),
    st.integers(4, 20),
    st.sampled_from(["unicode", "unicode-cased", "whitespace"]),
    st.integers(1, 9),
)
def test_where_blocks_are_cut_does_not_matter(tmp_path_factory, text, block_bytes, tokenizer, chunk):
    """Words of fewer bytes than a block, so that none is cut; sentences go on over block ends."""
    words = [word for word in text.replace("\0", " ").split() if len(word.encode()) >= block_bytes]
    if words:
        return
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "text").write_bytes(text.encode())
    corpus = read_corpus(folder / "text", tokenizer=tokenizer)
    options = {"window": 3, "min_count": 1}
    count_pairs(corpus, **options, workers=1, output=folder / "whole")
    sentences = list(corpus)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus_module, "BLOCK_BYTES", block_bytes)
        count_in_small_runs(patch, chunk=chunk)
        assert list(corpus) == sentences
        count_pairs(corpus, **options, workers=3, output=folder / "blocks")
    assert contents(folder / "blocks") == contents(folder / "whole")
