"""Compare ``psdvec extract`` with gensim's WikiCorpus: the same dumps, the same run, two workers each.

    python -m benchmarks.bench.bench_extract [DUMP ...] [--repeats 40] [--record FILE]

It takes the English sample that comes with gensim, its pages ``--repeats`` times over, since real dumps are larger than
the sample; dumps given as arguments follow as they are. Speeds are of XML before compression, peak memory is that of
the largest process.
"""

from __future__ import annotations

import bz2
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.lib.measure import COST, PSDVEC, Cost, cells, markdown, run, run_script
from benchmarks.lib.records import make_parser, publish

from psdvec.text.streams import open_stream

SAMPLE = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
WORKERS = 2
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


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("dumps", nargs="*", type=Path, help="dumps of MediaWiki")
    parser.add_argument("--repeats", type=int, default=40, help="of the sample's pages")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "theirs.py").write_text(THEIRS)
        tiny = folder / "tiny.xml"
        tiny.write_text("<mediawiki><page><title>A</title><ns>0</ns><text>a</text></page></mediawiki>")
        ours(tiny, folder / "ours.txt")  # which may have to compile
        sample = repeated_sample(folder, options.repeats)
        dumps = [compare(dump, folder) for dump in [sample, *options.dumps]]
    publish({"workers": WORKERS, "dumps": dumps}, table, record=options.record)


def repeated_sample(folder: Path, repeats: int) -> Path:
    """Write the pages of gensim's sample over and over into one compressed dump."""
    import gensim

    xml = bz2.decompress((Path(gensim.__file__).parent / "test" / "test_data" / SAMPLE).read_bytes())
    start, end = xml.index(b"  <page>"), xml.rindex(b"</mediawiki>")
    path = folder / f"gensim-sample-x{repeats}.bz2"
    path.write_bytes(bz2.compress(xml[:start] + xml[start:end] * repeats + xml[end:]))
    return path


def compare(dump: Path, folder: Path) -> dict[str, Any]:
    """Return what both programs took, and how much markup ours left."""
    output = folder / "ours.txt"
    mine = ours(dump, output)
    others = [sys.executable, folder / "theirs.py", dump, folder / "theirs.txt", str(WORKERS)]
    return {
        "dump": dump.name, "xml": xml_size(dump), "psdvec": asdict(mine), "gensim": asdict(run(others)),
        "markup_left": sum(output.read_text(encoding="utf-8").count(mark) for mark in MARKUP),
    }  # fmt: skip


def ours(dump: Path, output: Path) -> Cost:
    options = ["--paper", "--workers", str(WORKERS), "--overwrite", "--quiet"]
    return run([*PSDVEC, "extract", dump, "-o", output, *options])


def xml_size(dump: Path) -> int:
    with open_stream(dump) as stream:
        return sum(len(data) for data in iter(lambda: stream.read(1 << 20), b""))


def table(record: dict[str, Any]) -> str:
    """Write what either program took for each dump, and gensim's processor seconds over ours."""
    rows = []
    for found in record["dumps"]:
        name = f"`{found['dump'].partition('.')[0]}`, {found['xml'] / 1e6:.0f} MB of XML"
        ratio = f"{found['gensim']['processor'] / found['psdvec']['processor']:.1f}"
        rows.append([f"`psdvec extract`, {name}", *cells(found["psdvec"]), "", f"{found['markup_left']}"])
        rows.append([f"gensim's `WikiCorpus`, {name}", *cells(found["gensim"]), ratio, ""])
    return markdown(["", *COST, "processor, ratio", "markup left"], rows)


if __name__ == "__main__":
    run_script(main)
