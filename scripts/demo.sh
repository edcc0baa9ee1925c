#!/usr/bin/env bash
# From a real Wikipedia dump (the sample that ships with gensim) to vectors. Called by `make demo`.
set -euo pipefail
out=demo-output
rm -rf "$out" && mkdir "$out"
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
run() { printf '$ %s\n' "$*"; "$@"; }

dump=$(python - <<'PY'
import sys
from importlib.resources import files
from importlib.util import find_spec

if find_spec("gensim") is None:
    sys.exit(
        "make demo: the dump comes with gensim, which has no release for Python 3.14 and newer; run make clean, and then "
        "make demo PYTHON=python3.13"
    )
print(next(f for f in files("gensim").joinpath("test/test_data").iterdir() if f.name.startswith("enwiki-latest-pages-articles1")))
PY
)

say "1. Clean the dump: one article per line"
run psdvec extract "$dump" -o "$out/corpus.txt"
head -3 "$out/corpus.txt" | cut -c 1-100

say "2. Count words and pairs of words"
run psdvec count "$out/corpus.txt" -o "$out/counts" --min-count 5
run psdvec info "$out/counts" --verify

say "3. Which words follow 'united'?"
python - "$out/counts" <<'PY'
import sys
import psdvec

counts = psdvec.load(sys.argv[1])
row = sorted(counts.row("united").items(), key=lambda item: -item[1])
print(", ".join(f"{word} {count:.1f}" for word, count in row[:12]))
PY

say "4. Make vectors for these words"
run psdvec fit "$out/counts" -o "$out/model" --dim 100

say "5. Ask the vectors"
run psdvec similar "$out/model" king music germany
run psdvec analogy "$out/model" france french germany
run psdvec odd "$out/model" france italy germany music

say "6. Judge them on the test sets that ship with gensim"
run psdvec evaluate "$out/model" --html "$out/report.html"

say "7. Compare with other methods: quality, time and memory"
run psdvec compare "$out/corpus.txt" -o "$out/compared" --methods psdvec,svd,word2vec --dim 100 --quiet

say "The results are in $out/. What to try next:"
cat <<TXT
  psdvec train YOUR-TEXT.txt -o vectors/         your own corpus, in any language
  psdvec extend $out/model COUNTS -o larger/     new words from other counts; the old vectors do not move
  psdvec convert $out/model vectors.vec          for gensim, spaCy and others
  $out/compared/report.html                      the comparison as plots, for your browser
TXT
