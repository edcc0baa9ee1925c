"""What nobody has run, reckoned from records: more cores, a trillion words, a fit of two million words.

    python -m benchmarks.studies.on_paper

Nothing is measured here, so there is no record: the tables of docs/scaling.md are made of the records of
``bench_cores``, ``bench_growth`` and ``bench_distributed``, and every line says what it is derived from.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from benchmarks.lib.measure import markdown, run_script
from benchmarks.lib.tables import read_record

CORES = (2, 16, 64)
MACHINES, CORES_EACH = 100, 16
TRILLION = 1e12
ROOM = 5e9  # bytes that a core has for a group of blocks
IN_MEMORY = 8  # bytes of a word of text in a group
CELL = 12  # bytes of a cell of counts: a column and a whole number
FANOUT = 64  # matrices that are added up at a time
BLOCK = 268e6  # bytes of text in the largest blocks
DISKS = (100, 5)  # GB a second of a shared disk
NETWORK = 1.25e9  # bytes a second of 10 Gbit/s
ROUNDS = 6
FIT_WORDS, FIT_PAIRS, FIT_DIM, SPARE = 2e6, 20e9, 300, 20


def main() -> None:
    cores, growth = read_record("cores.json"), read_record("growth.json")
    crawled = read_record("distributed.json"), read_record("distributed-little.json")
    for text in (
        machines(cores, growth, crawled[0]),
        crawl_constants(*crawled),
        crawl(*crawled),
        large_fit(growth),
    ):
        print(f"{text}\n")


def machines(cores: dict[str, Any], growth: dict[str, Any], crawled: dict[str, Any]) -> str:
    """Write what counting and fitting would take on one machine with more or fewer cores."""
    words = cores["bytes"] * crawled["counting"]["tokens"] / crawled["bytes"]
    small, large = (count_seconds(cores, times) for times in (1, 4))
    slope = tuple((b - a) / (3 * words) for a, b in zip(small, large, strict=True))
    rows = [
        [f"count {name}", *(duration(at(slope, p) * size) for p in CORES)]
        for name, size in (("2.1 billion words", 2.1e9), ("1,000 billion words", TRILLION))
    ]
    fit, parts = serial_and_shared(cores["fit"]), fit_constants(growth)
    measured = fit_seconds(parts, words=50_000, pairs=72e6)
    for n, pairs in ((50_000, 72e6), (180_000, 340e6), (1_000_000, 2e9)):
        share = fit_seconds(parts, words=n, pairs=pairs) / measured
        name = f"fit {n:,} words × 300, {pairs / 1e6:,.0f} million pairs"
        rows.append([name, *(duration(at(fit, p) * share) for p in CORES)])
    return markdown(["on one machine, estimated", *(f"{p} cores" for p in CORES)], rows)


def count_seconds(cores: dict[str, Any], times: int) -> tuple[float, float]:
    """Return the serial seconds of counting a text so many times over, and those that cores share."""
    return serial_and_shared([run for run in cores["count"] if run["times"] == times])


def serial_and_shared(runs: list[dict[str, Any]]) -> tuple[float, float]:
    """Return a and b of a + b / p from what one worker took and what eight did."""
    one, eight = (next(run["wall"] for run in runs if run["workers"] == p) for p in (1, 8))
    shared = (one - eight) * 8 / 7
    return one - shared, shared


def at(parts: tuple[float, ...], workers: int) -> float:
    """Return the seconds that so many workers take."""
    serial, shared = parts
    return serial + shared / workers


def fit_constants(growth: dict[str, Any]) -> tuple[float, float, float]:
    """Return c, p and w of c + p · pairs + w · words, processor seconds, by least squares over the fits of a record."""
    fits = growth["fits"]
    known = np.array([[1, fit["pairs"], fit["words"]] for fit in fits], float)
    found = np.linalg.lstsq(known, np.array([fit["processor"] for fit in fits]), rcond=None)[0]
    return float(found[0]), float(found[1]), float(found[2])


def fit_seconds(parts: tuple[float, float, float], *, words: float, pairs: float) -> float:
    return parts[0] + parts[1] * pairs + parts[2] * words


class Crawl(NamedTuple):
    """What counting on a cluster takes for each word or cell."""

    tokens: int
    cells: int  # of all words
    groups: int
    group_cells: float  # of one group
    text: float  # bytes a word
    numbers: float  # bytes a word
    read: float  # processor seconds a word
    count_one: float  # a word, as one group
    count_many: float  # a word, as several
    add: float  # processor seconds a cell
    job: float  # seconds of the one who asks

    @property
    def power(self) -> float:
        """Return the power of the words with which cells grow."""
        return math.log(self.cells / self.group_cells) / math.log(self.groups)


def constants(one: dict[str, Any], many: dict[str, Any]) -> Crawl:
    """Return the constants of a text that was counted as ``one`` group, and as ``many``."""
    tokens, cells = one["counting"]["tokens"], one["counting"]["cells"]
    alone, split = ({stage["stage"]: stage for stage in record["stages"]} for record in (one, many))
    adding = next(name for name in split if name.startswith("adding up"))
    groups = int(adding.split()[2])
    group_cells = split["counting pairs"]["bytes"]["pairs"] / CELL / groups
    return Crawl(
        tokens, cells, groups, group_cells,
        text=one["bytes"] / tokens,
        numbers=alone["reading blocks"]["bytes"]["blocks"] / tokens,
        read=alone["reading blocks"]["worker"] / tokens,
        count_one=alone["counting pairs"]["worker"] / tokens,
        count_many=split["counting pairs"]["worker"] / tokens,
        add=split[adding]["worker"] / (groups * group_cells),
        job=alone["nothing"]["here"] / alone["nothing"]["total"],
    )  # fmt: skip


def crawl_constants(one: dict[str, Any], many: dict[str, Any]) -> str:
    """Write what a cluster took and left on disk for each word of a text, as one group of blocks and as several."""
    k = constants(one, many)
    rows = [
        ["a word of text", f"{k.text:.1f} bytes"],
        ["a word as numbers, with the lists of words", f"{k.numbers:.1f} bytes"],
        [f"all {k.tokens / 1e6:.1f} million words", f"{k.cells / 1e6:.1f} million cells"],
        [f"one of {k.groups} groups of them", f"{k.group_cells / 1e6:.1f} million cells"],
        ["reading a million words", f"{1e6 * k.read:.3f} processor seconds"],
        ["counting a million words, as one group", f"{1e6 * k.count_one:.3f} processor seconds"],
        [f"counting a million words, as {k.groups} groups", f"{1e6 * k.count_many:.3f} processor seconds"],
        ["adding up a million cells", f"{1e6 * k.add:.3f} processor seconds"],
        ["a job that does nothing", f"{1e3 * k.job:.1f} ms of the one who asks"],
    ]
    return markdown(["measured", ""], rows)


def crawl(one: dict[str, Any], many: dict[str, Any]) -> str:
    """Write what a trillion words would take on a hundred machines."""
    k, cores, most = constants(one, many), MACHINES * CORES_EACH, 50_000 * 50_001 / 2
    group = ROOM / IN_MEMORY
    groups, sums = TRILLION / group, TRILLION / group / FANOUT
    cells = min(most, k.cells * (group / k.tokens) ** k.power)
    text, numbers, matrices = k.text * TRILLION, k.numbers * TRILLION, groups * cells * CELL
    first, last = sums * most * CELL, most * CELL
    kept = numbers + matrices + first + last
    work = TRILLION * (k.read + k.count_many) + (groups * cells + sums * most) * k.add
    blocks = text / BLOCK
    rows = [
        ["text", size(text), f"{k.text:.1f} bytes a word"],
        ["blocks", f"{blocks:,.0f}", "of 268 MB, the largest default"],
        ["numbers", size(numbers), f"{k.numbers:.1f} bytes a word"],
        ["groups", f"{groups:,.0f} of {group / 1e6:.0f} million words", "5 GB for each core to count in"],
        ["cells of a group", f"{cells / 1e6:,.0f} million", f"growing with the power {k.power:.2f} of the words"],
        ["matrices of groups", size(matrices), "12 bytes a cell"],
        ["first pass of sums", f"at most {size(first)}", f"{sums:.0f} sums of {FANOUT}, on the workers' own disks"],
        ["result", f"at most {size(last)}", "50,000² / 2 cells"],
        ["**through the shared disk**", f"**{size(text + 2 * kept)}**", "the text once, all else twice"],
        ["**on disk during the work**", f"**{size(kept)}**", "nothing is deleted before the end"],
        ["jobs", f"{blocks + groups:,.0f}", f"{k.job * 1e3:.1f} ms each for the one who asks"],
        ["processor time", f"{work / 3600:.0f} core hours", "as several groups"],
        [f"**on {cores:,} cores**", f"**{duration(work / cores)}**", "without the disk"],
    ]  # fmt: skip
    for speed in DISKS:
        seconds = (text + 2 * kept) / speed / 1e9
        rows.append([f"at {speed} GB/s from all machines together", f"{duration(seconds)} more", ""])
    return markdown(["1,000 billion words, estimated", "", "from"], rows)


def large_fit(growth: dict[str, Any]) -> str:
    """Write what a fit of two million words would take on a hundred machines."""
    _, per_pair, per_word = fit_constants(growth)
    cores, width = MACHINES * CORES_EACH, FIT_DIM + SPARE
    pairs, x = 16 * FIT_PAIRS, 4 * FIT_WORDS * width
    hops = math.ceil(math.log2(MACHINES))
    once = ROUNDS * x / NETWORK
    looked = MACHINES * FIT_PAIRS * CELL
    of_pairs = f"{1e6 * per_pair:.3f} processor seconds a million, on {cores:,} cores"
    of_words = f"{1e3 * per_word:.2f} processor seconds a thousand, on {CORES_EACH} cores"
    rows = [
        ["pairs", f"{size(pairs / MACHINES)} on each machine", "16 bytes for both directions of one"],
        ["X", size(x), f"2 million × {width} numbers of 4 bytes"],
        ["work on pairs", duration(per_pair * FIT_PAIRS / cores), of_pairs],
        ["work on words, by the one who asks", duration(per_word * FIT_WORDS / CORES_EACH), of_words],
        [f"handing X out, {ROUNDS} rounds", duration(hops * once), f"{hops} hops of a tree at 10 Gbit/s"],
        [f"rows that come back, {ROUNDS} rounds", duration(once), "all to one machine at 10 Gbit/s"],
        ["**counts to read**", f"**{size(looked)}**", f"all {size(FIT_PAIRS * CELL)}, by each machine"],
    ]
    for speed in DISKS:
        rows.append([f"at {speed} GB/s from all machines together", duration(looked / speed / 1e9), ""])
    return markdown(["2 million words, 20,000 million pairs, estimated", "", "from"], rows)


def size(count: float) -> str:
    """Write bytes as people do: two figures that matter."""
    unit, scale = ("TB", 1e12) if count >= 1e12 else ("GB", 1e9)
    return f"{round_two(count / scale):g} {unit}"


def duration(seconds: float) -> str:
    """Write seconds as people do: two figures that matter."""
    for unit, scale in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * scale:
            return f"{round_two(seconds / scale):g} {unit}"
    return f"{round_two(seconds):g} s"


def round_two(number: float) -> float:
    """Round to two figures that matter."""
    return round(number, 1 - math.floor(math.log10(number)))


if __name__ == "__main__":
    run_script(main)
