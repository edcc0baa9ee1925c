"""Golden bytes: every command of two checkouts on the same input, and which of the files they write differ.

    python -m scripts.golden BEFORE [AFTER] [--text FILE] [--keep FOLDER]

BEFORE and AFTER are checkouts; AFTER is this one if it is left out. A change that only moves code shows no difference;
one that is meant to change some bytes shows just those. Counts are made with one worker, several and little memory;
models with one thread, four, little memory, from an interrupted fit, and with a core; then come extend, topics, every
format, reports as JSON and HTML, and the answers of queries. ``--text`` takes another text than the sample.
"""

from __future__ import annotations

import argparse
import bz2
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from examples.sample import make_dump, make_records, make_text

HERE = Path(__file__).parent.parent
COMMANDS = """
extract dump.xml.bz2 -o extracted.txt -q
count text.txt -o counts --window 5 -q
count text.txt -o counts-1 --workers 1 -q
count text.txt -o counts-4 --workers 4 --memory 300M -q
count medical.txt -o more --min-count 2 -q
count text.txt -o flat --weighting flat --window 3 -q
merge counts-1 more -o merged -q
export-grams flat 2.txt --words 1.txt
import-grams 2.txt --words 1.txt -o imported -q
fit counts-1 -o model --dim 20 --workers 1 -q
fit counts-1 -o model-4 --dim 20 --workers 4 -q
fit counts-1 -o model-small --dim 20 --memory 400M -q
fit counts-1 -o model-resumed --dim 20 -q
fit counts-1 -o model-core --dim 20 --core 60 -q
fit counts-1 -o model-paper --dim 20 --recipe paper -q
fit counts-1 -o model-svd --dim 20 --method svd -q
train text.txt -o trained --keep kept --dim 20 -q
extend model more -o larger --report placed.tsv -q
topics model articles.jsonl -o topics --topics 5 --by year -q
convert model vectors.txt
convert model vectors.vec.gz
convert model glove.txt --to glove
convert model vectors.bin
convert model vectors.npz
convert model model2vec --to model2vec
convert vectors.bin from-binary
vectorize model medical.txt means.npy -q
vectorize model medical.txt sif.npy --weighting sif -q
evaluate model model-svd --task pairs.tsv --intervals --html report.html -q
evaluate model model-svd --task pairs.tsv --json -q
similar model berlin --json
similar larger berlin --json
analogy model france paris germany --json
odd model berlin rome violin
info model --json
"""

# Outputs of different ways to the same result, within one checkout.
ALIKE = (("counts-1", "counts-4"), ("model", "model-4"), ("model", "model-small"), ("model", "model-resumed"))


def make_inputs(folder: Path, text: Path | None) -> None:
    """Make what the commands read; a given text takes the place of the sample."""
    folder.mkdir(parents=True)
    (folder / "dump.xml.bz2").write_bytes(bz2.compress(make_dump().encode()))
    (folder / "text.txt").write_text(make_text("text") if text is None else text.read_text(encoding="utf-8"))
    (folder / "medical.txt").write_text(make_text("medical"))
    (folder / "articles.jsonl").write_text(make_records())
    words = sorted(set(re.findall(r"[a-z]{4,}", (folder / "text.txt").read_text()[:20_000])))
    pairs = zip(words, words[7:], strict=False)
    lines = [f"{one}\t{other}\t{len(set(one) & set(other))}" for one, other in pairs]
    (folder / "pairs.tsv").write_text("\n".join(lines))


def run_all(checkout: Path, folder: Path) -> None:
    """Run all commands of a checkout in ``folder``; what each prints is kept in a file of its own."""
    environment = {**os.environ, "PYTHONPATH": f"{checkout / 'src'}{os.pathsep}{checkout}"}
    for number, line in enumerate(COMMANDS.strip().splitlines()):
        command = [sys.executable, "-m", "psdvec", *line.split()]
        if "resumed" in line:
            _begin_and_kill(command, folder, environment, folder / "model-resumed.work" / "round")
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        said = "" if done.returncode == 0 else done.stderr
        (folder / f"printed-{number:02d}.txt").write_text(
            f"$ {line}\n{done.stdout}{said}exit {done.returncode}\n"
        )


def _begin_and_kill(command: list[str], folder: Path, environment: dict[str, str], awaited: Path) -> None:
    """Start a command and kill it as soon as it has kept a finished round; one that is quicker ends by itself."""
    process = subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.DEVNULL)
    while process.poll() is None and not awaited.exists():
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()
    if (folder / "model-resumed").exists():  # it was quicker than the kill
        shutil.rmtree(folder / "model-resumed")


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files below ``folder`` by name, less what differs from run to run: times, sizes of memory, places."""
    found = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    return {name: re.sub(rb"peak memory [0-9.]+ [kMG]B", b"", data) for name, data in found.items()}


def main(given: list[str] | None = None) -> int:
    """Run both and say which files differ; return 1 if any do."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path, nargs="?", default=HERE)
    parser.add_argument("--text", type=Path)
    parser.add_argument("--keep", type=Path, help="folder to keep what was written in")
    options = parser.parse_args(given)
    with tempfile.TemporaryDirectory(prefix="golden-") as temporary:
        home = options.keep or Path(temporary)
        found = []
        for name, checkout in (("before", options.before), ("after", options.after)):
            make_inputs(home / name, options.text)
            run_all(checkout.resolve(), home / name)
            found.append(contents(home / name))
    before, after = found
    apart = [pair for pair in ALIKE if _below(after, pair[0]) != _below(after, pair[1])]
    for one, other in apart:
        print(f"{one} and {other}: not the same bytes")
    different = [name for name in sorted({**before, **after}) if before.get(name) != after.get(name)]
    for name in different:
        how = (
            "differs"
            if name in before and name in after
            else "only before"
            if name in before
            else "only after"
        )
        print(f"{name}: {how}")
    failed = [
        name for name, data in after.items() if name.startswith("printed-") and not data.endswith(b"exit 0\n")
    ]
    for name in failed:
        lines = after[name].decode().splitlines()
        print(f"{name}: {lines[0]}: {lines[-2]}")
    print(f"{len(after)} files, {len(different)} differ, {len(failed)} commands failed")
    return 1 if different or failed or apart else 0


def _below(found: dict[str, bytes], folder: str) -> dict[str, bytes]:
    return {name.removeprefix(folder): data for name, data in found.items() if name.startswith(f"{folder}/")}


if __name__ == "__main__":
    sys.exit(main())
