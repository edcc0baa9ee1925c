"""A cluster of separate processes gives the same bytes as one machine, whatever is lost on the way."""

from __future__ import annotations

import gzip
import json
import os
import re
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from psdvec.cluster import counting, fitting
from psdvec.cluster.client import check_workers, open_client
from psdvec.cluster.counting import plan_blocks
from psdvec.counts import pairs as out_of_core_module
from psdvec.counts.count import count_pairs
from psdvec.errors import ClusterError, InputError, MissingExtraError, ResourceError
from psdvec.solver.extend import extend
from psdvec.solver.fit import fit
from psdvec.storage.workspace import read_piece
from psdvec.system import current_memory, peak_memory
from psdvec.text.corpus import read_corpus
from tests.cluster.clusters import PATIENCE, die_at, scheduler_and_worker, some_worker, started, stop_after
from tests.helpers import contents
from tests.toy import drawn_counts

pytestmark = pytest.mark.slow

distributed = pytest.importorskip(
    "distributed", reason="distributed is not installed; run pip install 'psdvec[distributed]'"
)
OPTIONS = {"min_count": 2, "window": 4}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Files of every kind: lines longer than blocks, empty lines, bad bytes, no newline at the end."""
    folder = tmp_path_factory.mktemp("corpus")
    rng = np.random.default_rng(0)
    words = [[f"w{i}" for i in rng.zipf(1.3, 30).clip(max=500)] for _ in range(400)]
    lines = [" ".join(line) for line in words]
    lines[7] = " ".join(lines[7:90])
    lines[100:103] = ["", "  ", ""]
    (folder / "a.txt").write_bytes("\n".join(lines).encode() + b" bad \xff\xfe byte")
    (folder / "b.txt.gz").write_bytes(gzip.compress("\n".join(lines[:50]).encode()))
    (folder / "c.jsonl").write_text("".join(json.dumps({"text": line}) + "\n" for line in lines[200:300]))
    for name in ("d", "e", "f"):
        (folder / f"{name}.txt").write_text(f"tiny {name}\n\ufeffw1 w2 w3")
    return folder


def single(corpus, tmp_path, **options):
    count_pairs(corpus, **OPTIONS | options, output=tmp_path / "single")
    return contents(tmp_path / "single")


@pytest.mark.parametrize("block_size", [1500, 5000, "1M", None])
def test_counts_are_the_same_bytes_for_any_block_size(client, corpus, tmp_path, block_size):
    text = read_corpus(corpus)
    count_pairs(text, **OPTIONS, client=client, block_size=block_size, output=tmp_path / "counts")
    assert contents(tmp_path / "counts") == single(text, tmp_path)
    assert not (tmp_path / "counts.work").exists()


def test_given_words_closed_gaps_and_few_words_are_the_same_bytes(client, corpus, tmp_path):
    text = read_corpus(f"file://{corpus}/a.txt", tokenizer="whitespace")
    for name, options in {
        "given": {"vocabulary": ["w1", "w2", "w9", "absent"], "gaps": "close"},
        "few": {"max_words": 20, "weighting": "flat"},
        "phrases": {"phrases": ["w1 w2", "w2 w1 w1", "w1 w1"]},
    }.items():
        options = OPTIONS | options
        count_pairs(text, **options, client=client, block_size=3000, output=tmp_path / name)
        count_pairs(text, **options, output=tmp_path / f"single-{name}")
        assert contents(tmp_path / name) == contents(tmp_path / f"single-{name}")


def test_a_part_and_words_that_are_changed_are_the_same_bytes(client, tmp_path):
    lines = [json.dumps({"party": "ABC"[i % 3], "text": f"Word{i % 7} the {i} , word"}) for i in range(300)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    options = {"where": {"party": ["A", "C"]}, "tokenizer": str.split, "stop_words": "en", "numbers": "merge"}
    for name, more in (("here", {}), ("there", {"client": client, "block_size": 1000})):
        count_pairs(tmp_path / "a.jsonl", **options, **OPTIONS, output=tmp_path / name, **more)
    assert contents(tmp_path / "there") == contents(tmp_path / "here")
    with pytest.raises(InputError, match=r"nothing has party=D \('party' is A, B, C\); check where"):
        count_pairs(
            tmp_path / "a.jsonl", where={"party": "D"}, **OPTIONS, output=tmp_path / "no", client=client
        )


def test_matrices_are_added_up_by_ranges_few_at_a_time(client, corpus, tmp_path, monkeypatch):
    fan_in = out_of_core_module.FAN_IN
    client.run(setattr, out_of_core_module, "FAN_IN", 3)
    monkeypatch.setattr(counting, "MOST_IDS", 1000)
    monkeypatch.setattr(counting, "RANGE_CELLS", 300)
    jobs = counted_jobs(monkeypatch, counting)
    text = read_corpus(corpus)
    count_pairs(text, **OPTIONS, client=client, block_size=2500, output=tmp_path / "counts")
    with monkeypatch.context() as usual:
        usual.undo()
        assert contents(tmp_path / "counts") == single(text, tmp_path)
    client.run(setattr, out_of_core_module, "FAN_IN", fan_in)
    *_, shares, sums = jobs
    assert shares > 9, "so that there are several passes"
    assert sums > 9


def counted_jobs(monkeypatch, module):
    """Note how many jobs each call of ``run_jobs`` in ``module`` hands out."""
    found, original = [], module.run_jobs

    def run(client, function, jobs, *, label):
        found.append(len(jobs))
        return original(client, function, jobs, label=label)

    monkeypatch.setattr(module, "run_jobs", run)
    return found


def test_rows_are_shared_among_the_workers_and_stay_so_when_work_is_resumed(
    client, corpus, tmp_path, monkeypatch
):
    client.wait_for_workers(2, timeout=PATIENCE)
    text, output = read_corpus(corpus), tmp_path / "counts"
    jobs = counted_jobs(monkeypatch, counting)

    def count():
        jobs.clear()
        count_pairs(text, **OPTIONS, client=client, block_size=2000, output=output)

    def stop(*arguments, **named):
        raise KeyboardInterrupt

    with monkeypatch.context() as stopped:
        stopped.setattr(counting, "Counted", stop)
        with pytest.raises(KeyboardInterrupt):
            count()
    blocks, _, shares = jobs
    assert blocks > 10
    assert shares == 2
    work = tmp_path / "counts.work"
    shares, _ = read_piece(work / "shares")
    assert shares["groups"] == [[0, blocks]], "nothing needs adding up"
    assert len(shares["ranges"]) == 2
    (work / "pairs" / "0-1").rename(tmp_path / "lost")
    monkeypatch.setattr(counting, "check_workers", lambda client, work: {"tcp://all": 7})
    count()
    assert jobs == [0, 1], "no block is read again; the lost share is counted, not one of seven"
    assert contents(output) == single(text, tmp_path)


def test_small_files_share_a_block_and_compressed_ones_stay_whole(corpus):
    blocks = plan_blocks(read_corpus(corpus), 1500)
    names = [tuple(Path(file).name for file in block.files) for block in blocks]
    assert ("d.txt", "e.txt", "f.txt") in names
    assert names.count(("a.txt",)) > 10
    assert names.count(("b.txt.gz",)) == 1
    cut = {files for block, files in zip(blocks, names, strict=True) if block.byte_range is not None}
    assert cut == {("a.txt",), ("c.jsonl",)}


@pytest.mark.parametrize(
    ("module", "function"),
    [
        ("psdvec.counts.segments", "number_block"),
        ("psdvec.counts.pairs", "count_text"),
        ("psdvec.counts.pairs", "add_rows"),
    ],
)
def test_a_worker_killed_while_counting_costs_nothing_but_time(
    client, corpus, tmp_path, monkeypatch, module, function
):
    monkeypatch.setattr(counting, "MOST_IDS", 1000)
    monkeypatch.setattr(counting, "RANGE_CELLS", 500)
    client.wait_for_workers(2, timeout=PATIENCE)
    client.run(die_at, module, function, str(tmp_path / "dead"), alone=True)  # whichever comes first
    text = read_corpus(corpus)
    count_pairs(text, **OPTIONS, client=client, block_size=2000, output=tmp_path / "counts")
    assert (tmp_path / "dead").exists()
    assert contents(tmp_path / "counts") == single(text, tmp_path)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    drawn_counts(words=90, sentences=600).save(folder / "counts")
    fit(folder / "counts", dim=5, max_words=40, changes={"rounds": 2}, output=folder / "model")
    extend(folder / "model", folder / "counts", min_contexts=30, output=folder / "single")
    return folder


def extend_on(client, model, output):
    return extend(model / "model", model / "counts", min_contexts=30, client=client, output=output)


@pytest.mark.parametrize("block", [7, 1000])
def test_new_words_are_the_same_bytes_for_any_block(client, model, tmp_path, monkeypatch, block):
    monkeypatch.setattr(fitting, "MOST_WORDS", block)
    extension = extend_on(client, model, tmp_path / "larger")
    assert contents(tmp_path / "larger") == contents(model / "single")
    assert extension.learned
    assert extension.unplaced, "the words seen too little are told, too"
    assert not (tmp_path / "larger.work").exists()


@pytest.mark.parametrize("dying", ["one", "all"])
def test_workers_killed_while_solving_cost_nothing_but_time(client, model, tmp_path, monkeypatch, dying):
    monkeypatch.setattr(fitting, "MOST_WORDS", 5)
    chosen = [some_worker(client)] if dying == "one" else None
    client.run(die_at, "psdvec.solver.ridge", "solve_words", str(tmp_path / "dead"), workers=chosen)
    extend_on(client, model, tmp_path / "larger")
    assert (tmp_path / "dead").exists()
    assert contents(tmp_path / "larger") == contents(model / "single")


def test_too_little_memory_is_reported_by_the_worker_that_lacks_it(client, corpus, tmp_path):
    with pytest.raises(ResourceError, match=r"does not fit into .*; give memory="):
        count_pairs(read_corpus(corpus), **OPTIONS, client=client, memory="1K", output=tmp_path / "counts")
    assert not (tmp_path / "counts").exists()


def test_a_worker_counts_more_text_than_its_memory_holds(tmp_path):
    """Groups are made to fit the memory, and a block that does not fit is counted in runs; the words take 192 MB."""
    rng, margin = np.random.default_rng(1), 40_000_000
    text = np.full((24_000, 1000, 2), ord(" "), np.uint8)
    text[:, :, 0] = rng.integers(ord("a"), ord("z") + 1, text.shape[:2])
    text[:, -1, 1] = ord("\n")
    text.tofile(tmp_path / "letters.txt")
    letters = read_corpus(tmp_path / "letters.txt", tokenizer="whitespace")
    (tmp_path / "warm.txt").write_text("a b c\n" * 99)
    warm = read_corpus(tmp_path / "warm.txt")
    with started(2) as client:
        count_pairs(warm, min_count=1, client=client, block_size=40, output=tmp_path / "warm")
        memory = max(client.run(current_memory).values()) + 130_000_000
        for block_size in ("6M", "60M"):
            count_pairs(
                letters, window=1, client=client, memory=memory, block_size=block_size,
                output=tmp_path / block_size,
            )  # fmt: skip
            assert max(client.run(peak_memory).values()) < memory + margin
    count_pairs(letters, window=1, output=tmp_path / "single")
    assert contents(tmp_path / "6M") == contents(tmp_path / "60M") == contents(tmp_path / "single")


def test_a_worker_out_of_memory_is_reported_and_finished_work_is_kept(corpus, tmp_path):
    class Gluttony(distributed.WorkerPlugin):
        """Makes every worker, restarted ones too, take ever more memory when it counts pairs."""

        def setup(self, worker):
            from psdvec.counts import pairs as out_of_core_module

            def devour(*arguments, **named):
                taken = [bytearray(os.urandom(1 << 20)) * 40 for _ in range(50)]
                time.sleep(PATIENCE)
                raise AssertionError(f"nobody minded {len(taken)} times 40 MB")

            out_of_core_module.count_text = devour

    text = read_corpus(corpus)
    with started(1, memory_limit="1GB") as client:
        client.register_plugin(Gluttony())
        with pytest.raises(ResourceError, match=r"counting share 1 of 1 failed: 2 workers died at it, most"):
            count_pairs(text, **OPTIONS, client=client, block_size=5000, output=tmp_path / "counts")
    assert (tmp_path / "counts.work" / "vocabulary").exists()
    assert not (tmp_path / "counts").exists()


def test_a_lost_scheduler_is_reported_and_the_same_command_continues(
    client, corpus, tmp_path, monkeypatch, run
):
    arguments = [corpus, "-o", tmp_path / "counts", "--min-count", 2, "--window", 4, "--block-size", 2000]
    blocks = tmp_path / "counts.work" / "blocks"

    def finished():
        return [path for path in blocks.glob("*") if "." not in path.name]

    with scheduler_and_worker(tmp_path) as (scheduler, address):
        with distributed.Client(address) as other:
            other.wait_for_workers(1, timeout=PATIENCE)
            other.run(stop_after, 3)

        def kill_after_some():
            patience = time.monotonic() + PATIENCE
            while len(finished()) < 3 and time.monotonic() < patience:
                time.sleep(0.01)
            scheduler.kill()

        killer = threading.Thread(target=kill_after_some)
        killer.start()
        code, _, said = run("count", *arguments, "--scheduler", address)
        killer.join()
    assert code == 1
    assert f"psdvec: the scheduler at '{address}' was lost; finished work is kept" in said
    assert not (tmp_path / "counts").exists()
    assert len(finished()) == 3
    text, jobs = read_corpus(corpus), counted_jobs(monkeypatch, counting)
    count_pairs(text, **OPTIONS, client=client, block_size=2000, output=tmp_path / "counts")
    assert jobs[0] == len(plan_blocks(text, 2000)) - 3
    assert contents(tmp_path / "counts") == single(text, tmp_path)


def test_the_commands_work_on_a_cluster_of_their_own_or_on_another(client, corpus, model, tmp_path, run):
    options = ["--min-count", 2, "--window", 4]
    code, out, said = run("count", corpus, "-o", tmp_path / "counts", *options, "--cluster", "local:1")
    assert code == 0, said
    assert "words read" in out
    assert contents(tmp_path / "counts") == single(read_corpus(corpus), tmp_path)
    code, out, said = run(
        "extend", model / "model", model / "counts", "-o", tmp_path / "larger", "--min-contexts", 30,
        "--scheduler", client.scheduler.address,
    )  # fmt: skip
    assert code == 0, said
    assert contents(tmp_path / "larger") == contents(model / "single")


def test_workers_of_a_local_cluster_do_not_give_memory_back_at_once(monkeypatch):
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)  # left by clusters of other tests
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", "20000000")
    names = ["MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"]
    with open_client(cluster="local:1") as client:
        client.wait_for_workers(1, timeout=PATIENCE)
        (found,) = client.run(lambda: [os.environ.get(name) for name in names]).values()
    assert found == [str(1 << 25), "20000000"], "what is set already stands"


def test_a_dry_run_says_what_the_cluster_would_do_and_connects_to_none(corpus, tmp_path, run):
    arguments = ["count", corpus, "-o", tmp_path / "counts", "--dry-run"]
    code, out, _ = run(*arguments, "--scheduler", "tcp://127.0.0.1:9", "--block-size", 2000, "--memory", "1G")
    assert code == 0
    blocks = len(plan_blocks(read_corpus(corpus), 2000))
    assert (
        f"work on the Dask cluster of the scheduler at 'tcp://127.0.0.1:9': the text in {blocks} blocks, "
        "each worker with at most 1.0 GB" in out
    )
    assert "threads" not in out
    code, out, _ = run(*arguments, "--cluster", "local:3")
    assert code == 0
    assert (
        "this machine with 3 workers: the text in 1 blocks, each worker with at most half of the memory"
        in out
    )
    for wrong in (["--cluster", "x"], ["--cluster", "local:3", "--workers", 2], ["--block-size", "1M"]):
        assert run(*arguments, *wrong)[0] == 1
    assert not list(tmp_path.iterdir())


def test_bad_text_is_refused_by_file_and_place(client, tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"text": "a b"}\n' * 50 + "no JSON\n")
    with pytest.raises(InputError, match=r"bad.jsonl' line \d+ after byte \d+ is not JSON") as refused:
        count_pairs(
            read_corpus(tmp_path / "bad.jsonl"), min_count=1, client=client, block_size=300,
            output=tmp_path / "counts",
        )  # fmt: skip
    line, byte = map(int, re.findall(r"line (\d+) after byte (\d+)", str(refused.value))[0])
    assert byte + 16 * (line - 1) == 16 * 50
    (tmp_path / "empty.txt").write_text("\n\n")
    with pytest.raises(InputError, match="the corpus holds no words"):
        count_pairs(read_corpus(tmp_path / "empty.txt"), client=client, output=tmp_path / "counts")


def test_no_word_frequent_enough_is_reported_as_on_one_machine(client, corpus, tmp_path):
    for where in ({}, {"client": client}):
        with pytest.raises(InputError, match="no word occurs 1000000 times or more"):
            count_pairs(read_corpus(corpus), min_count=1_000_000, output=tmp_path / "counts", **where)
        assert not (tmp_path / "counts").exists()


def test_what_a_cluster_cannot_do_is_refused(client, corpus, model, tmp_path):
    text, output = read_corpus(corpus), tmp_path / "counts"
    with pytest.raises(InputError, match="write the text to files first"):
        count_pairs([["a", "b"]], client=client, output=output)
    with pytest.raises(InputError, match="name an output on a disk that all workers share"):
        count_pairs(text, client=client)
    with pytest.raises(InputError, match="leave out workers"):
        count_pairs(text, client=client, workers=2, output=output)
    with pytest.raises(InputError, match="a block size was given without a cluster"):
        count_pairs(text, block_size="1M", output=output)
    with pytest.raises(InputError, match="holds nothing"):
        count_pairs(text, client=client, block_size=0, output=output)
    with pytest.raises(InputError, match="a cluster works on folders"):
        extend(model / "model", model / "counts", client=client)
    with pytest.raises(InputError, match="leave out workers and device"):
        extend(model / "model", model / "counts", client=client, workers=2, output=output)
    assert not list(tmp_path.iterdir())


def test_a_cluster_that_cannot_be_used_is_refused(client, tmp_path, monkeypatch):
    seen = tmp_path / "seen"
    seen.touch()
    with pytest.raises(InputError, match="give only one of them"), open_client(scheduler="x", cluster="y"):
        pass
    with pytest.raises(InputError, match="'remote:3' is unknown"), open_client(cluster="remote:3"):
        pass
    with monkeypatch.context() as impatient:
        impatient.setattr("psdvec.cluster.client._CONNECT", 1)
        impatient.setattr("psdvec.cluster.client._PATIENCE", 1)
        with (
            pytest.raises(ClusterError, match=r"no Dask scheduler answers at 'tcp://127\.0\.0\.1:9'"),
            open_client(scheduler="tcp://127.0.0.1:9"),
        ):
            pass
        with started(0) as empty, pytest.raises(ClusterError, match="has no workers"):
            check_workers(empty, seen)
    monkeypatch.setattr(
        "psdvec.cluster.client._look_around",
        lambda file, contents, computes, dask_worker: ("0.0", True, 1, {}),
    )
    with pytest.raises(ClusterError, match=r"has psdvec 0\.0, not"):
        check_workers(client, seen)
    monkeypatch.setattr(
        "psdvec.cluster.client._look_around",
        lambda file, contents, computes, dask_worker: (__import__("psdvec").__version__, False, 1, {}),
    )
    with pytest.raises(ClusterError, match="does not see"):
        check_workers(client, seen)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(MissingExtraError, match=r"pip install 'psdvec\[distributed\]'"),
        open_client(cluster="local:1"),
    ):
        pass
