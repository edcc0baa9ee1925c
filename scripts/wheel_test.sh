#!/usr/bin/env bash
# What a release hands out, as a user gets it: the sdist, and the wheel that is built from it, are made, installed into an
# empty environment in another folder, and used. Only what passed is put into dist/. Called by `make wheel-test`.
set -euo pipefail
source=$PWD
folder=$(mktemp -d)
trap 'kill %1 2> /dev/null || true; rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/building"
"$folder/building/bin/pip" install --quiet build
"$folder/building/bin/python" -m build --outdir "$folder/dist" "$source" > "$folder/build.log" 2>&1 || { cat "$folder/build.log"; exit 1; }
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet "$(echo "$folder"/dist/psdvec-*.whl)[explore]"
cd "$folder"
PATH="$folder/venv/bin:$PATH"

psdvec --version
psdvec --help > help.txt
for i in $(seq 200); do
  echo "the king and the queen live in the old castle number $((i % 7)) by the sea"
done > text.txt
psdvec train text.txt -o model --dim 5 --min-count 2 --quiet
psdvec similar model king --topn 3

psdvec explore model --port 0 --no-open --quiet > page.log 2>&1 &
python - <<'PY'
import re
import time
import urllib.request
from pathlib import Path

for _ in range(150):
    said = re.search(r"http://\S+", Path("page.log").read_text())
    if said:
        break
    time.sleep(0.2)
assert said, Path("page.log").read_text()
with urllib.request.urlopen(said[0].rstrip(".,;")) as answer:
    page = answer.read().decode()
assert answer.status == 200, answer.status
assert "<title>" in page, page[:200]
print("the explorer's page is served:", re.search("<title>(.*?)</title>", page)[1])
PY

# The sdist is a checkout without its history: its own tests run on the wheel that was made of it.
mkdir sdist
tar -xzf dist/psdvec-*.tar.gz -C sdist --strip-components 1
pip install --quiet pytest pytest-timeout hypothesis
(cd sdist && python -m pytest tests/test_by_hand.py tests/test_layers.py)

mkdir -p "$source/dist"
cp dist/* "$source/dist/"
echo "built and tried:" dist/*
