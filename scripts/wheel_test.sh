#!/usr/bin/env bash
# The wheel as a user gets it: built, installed into an empty environment in another folder, and used. Called by
# `make wheel-test`.
set -euo pipefail
source=$PWD
folder=$(mktemp -d)
trap 'kill %1 2> /dev/null || true; rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" wheel --quiet --no-deps --wheel-dir "$folder" "$source"
"$folder/venv/bin/pip" install --quiet "$(echo "$folder"/psdvec-*.whl)[explore]"
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
