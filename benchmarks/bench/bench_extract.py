"""Compare ``psdvec extract`` with gensim's WikiCorpus: the same dumps, the same run, two workers each.

Run ``python -m benchmarks.bench.bench_extract [DUMP ...]``. It takes the English sample that comes with gensim, its
pages repeated in a temporary folder to 244 MB of XML, since real dumps are larger than the sample; dumps given
as arguments follow as they are. It prints a table of speeds (XML before compression), ratio and peak memory,
and writes nothing else.
"""

from __future__ import annotations

import argparse
import bz2
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import gensim

from psdvec.resources import format_size
from psdvec.text.streams import open_stream

SAMPLE = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
REPEATS = 40
WORKERS = 2

OURS = "from psdvec.cli import main; main()"
THEIRS = """
import sys
from gensim.corpora.wikicorpus import WikiCorpus
if __name__ == "__main__":
    corpus = WikiCorpus(sys.argv[1], processes=int(sys.argv[3]), dictionary={})
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        for words in corpus.get_texts():
            file.write(" ".join(words) + "\\n")
"""
MARKUP = ("{{", "[[", "|", "<ref")
COLUMNS = ("XML", "psdvec", "gensim", "ratio", "memory", "gensim", "markup left")


@dataclass
class Measure:
    """What one run took."""

    seconds: float
    peak: int


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dumps", nargs="*", type=Path, help="dumps of MediaWiki")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        theirs = folder / "theirs.py"
        theirs.write_text(THEIRS)
        warm_up(folder)
        print(f"{'dump':28}", *(f"{name:>11}" for name in COLUMNS))
        for dump in [repeated_sample(folder), *options.dumps]:
            report(dump, folder, theirs)


def warm_up(folder: Path) -> None:
    """Let numba fill its cache, which happens once in the life of an installation."""
    dump = folder / "tiny.xml"
    dump.write_text("<mediawiki><page><title>A</title><ns>0</ns><text>a</text></page></mediawiki>")
    measure(ours(dump, folder / "tiny.txt"))


def repeated_sample(folder: Path) -> Path:
    """Write the pages of gensim's sample over and over into one compressed dump."""
    xml = bz2.decompress((Path(gensim.__file__).parent / "test" / "test_data" / SAMPLE).read_bytes())
    start, end = xml.index(b"  <page>"), xml.rindex(b"</mediawiki>")
    path = folder / f"enwiki-sample-x{REPEATS}.bz2"
    path.write_bytes(bz2.compress(xml[:start] + xml[start:end] * REPEATS + xml[end:]))
    return path


def report(dump: Path, folder: Path, theirs: Path) -> None:
    output = folder / "ours.txt"
    size = xml_size(dump)
    first = measure(ours(dump, output))
    second = measure([sys.executable, str(theirs), str(dump), str(folder / "theirs.txt"), str(WORKERS)])
    left = sum(output.read_text(encoding="utf-8").count(mark) for mark in MARKUP)
    cells = (
        format_size(size),
        speed(size, first),
        speed(size, second),
        f"{second.seconds / first.seconds:.1f}",
        format_size(first.peak),
        format_size(second.peak),
        left,
    )
    print(f"{dump.name[:28]:28}", *(f"{cell:>11}" for cell in cells))


def ours(dump: Path, output: Path) -> list[str]:
    options = ["--paper", "--workers", str(WORKERS), "--overwrite", "--quiet"]
    return [sys.executable, "-c", OURS, "extract", str(dump), "-o", str(output), *options]


def speed(size: int, measured: Measure) -> str:
    return f"{size / measured.seconds / 1e6:.1f} MB/s"


def xml_size(dump: Path) -> int:
    with open_stream(dump) as stream:
        return sum(len(data) for data in iter(lambda: stream.read(1 << 20), b""))


def measure(command: list[str]) -> Measure:
    """Run ``command`` and watch the memory of it and its children."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    watcher = MemoryWatcher(process.pid)
    watcher.start()
    code = process.wait()
    seconds = time.perf_counter() - start
    watcher.finished.set()
    watcher.join()
    if code != 0:
        raise SystemExit(f"{command} failed with code {code}")
    return Measure(seconds, watcher.peak)


class MemoryWatcher(threading.Thread):
    """Adds up the proportional set sizes of a process and its descendants, five times a second."""

    def __init__(self, pid: int) -> None:
        super().__init__()
        self.pid, self.peak = pid, 0
        self.finished = threading.Event()

    def run(self) -> None:
        """Watch until ``finished`` is set."""
        while not self.finished.wait(0.2):
            self.peak = max(self.peak, sum(map(proportional_size, self.family())))

    def family(self) -> set[int]:
        """Return the process and all that descend from it."""
        parents = {}
        for status in Path("/proc").glob("[0-9]*/stat"):
            try:
                parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
        found, size = {self.pid}, 0
        while len(found) > size:
            size = len(found)
            found |= {pid for pid, parent in parents.items() if parent in found}
        return found


def proportional_size(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


if __name__ == "__main__":
    main()
