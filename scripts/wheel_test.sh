#!/usr/bin/env bash
# What a release hands out, as a user gets it: of the program and of the package with a model, the sdist, and the wheel
# that is built from it, are made, installed into an empty environment in another folder, and used. Only what passed is
# put into dist/. The model is the one that `make boxed-model` has left here; where there is none, one of a small made-up
# text is tried and not kept. Called by `make wheel-test`.
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

# The package with a model, of which one is made here where none has been made for a release.
cp -r "$source/packages/psdvec-simplewiki" boxed
if [ -f boxed/psdvec_simplewiki/simplewiki/meta.json ]; then
  kept=dist
else
  kept=not-kept
  python sdist/examples/sample.py text sample.txt
  python boxed/build.py sample.txt --dim 20 --ngrams 200
fi
"$folder/building/bin/python" -m build --outdir "$kept" boxed > build.log 2>&1 || { cat build.log; exit 1; }
python - "$kept"/psdvec_simplewiki-* <<'PY'
import sys
import tarfile
import zipfile
from pathlib import Path

sdist, wheel = sorted(map(Path, sys.argv[1:]), key=lambda path: path.suffix)
names = {sdist: tarfile.open(sdist).getnames(), wheel: zipfile.ZipFile(wheel).namelist()}
for path, held in names.items():
    assert path.stat().st_size <= 6_000_000, f"{path} has {path.stat().st_size} bytes"
    for name in ("LICENSE", "simplewiki/meta.json", "simplewiki/vectors.safetensors", "simplewiki/ngrams.safetensors"):
        assert any(each.endswith(f"/{name}") for each in held), f"{path} lacks {name}"
    print(f"{path.name} has {path.stat().st_size:,} bytes")
PY
code=0
psdvec similar simplewiki france > said.txt 2>&1 || code=$?
test "$code" = 1 && grep "pip install psdvec-simplewiki" said.txt
pip install --quiet --no-deps "$kept"/psdvec_simplewiki-*.whl
psdvec similar simplewiki france --topn 3
psdvec similar simplewiki frannce --topn 3 --oov spelling
psdvec info simplewiki --verify | grep -E "^(licence|attribution|state)"
python sdist/examples/sample.py medical medical.txt
psdvec extend simplewiki medical.txt -o mine --quiet
python - <<'PY'
import psdvec

old, new = psdvec.load("simplewiki"), psdvec.load("mine")
assert new.vectors[: len(old)].tobytes() == old.vectors.tobytes(), "an old word moved"
assert "ibuprofen" in new and "ibuprofen" not in old
print("words were added:", ", ".join(new.words[len(old) :]))
PY

mkdir -p "$source/dist"
cp dist/* "$source/dist/"
echo "built and tried:" dist/*
