"""The command line: results go to standard output, and an error is one sentence and never exit code 0."""

from __future__ import annotations

import inspect
import json
import signal
import subprocess
import sys
import time

import pytest
import typer

from psdvec import cli, count_pairs, extend, fit, read_corpus, topics, train
from psdvec.compare.run import compare
from psdvec.counts.matrix import load_counts
from psdvec.text.wikipedia import extract
from tests.helpers import cells, contents

TEXT = "the cat sat\nthe dog sat\na cat ran\n"
COUNT_TYPED = [sys.executable, "-m", "psdvec", "count", "-", "--min-count", "1", "-o"]


@pytest.fixture
def psdvec(run, monkeypatch, tmp_path):
    """Run a command in a folder with a small corpus; return exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.txt").write_text(TEXT)
    return run


def test_count_merge_and_info(psdvec, tmp_path):
    code, out, _ = psdvec("count", "corpus.txt", "-o", "counts", "--min-count", "1", "--window", "2")
    assert code == 0
    assert "9 words read in 3 sentences" in out
    assert "6 words and 8 pairs written to counts" in out
    code, out, _ = psdvec("merge", "counts", "counts", "-o", "twice")
    assert (code, "6 words and 8 pairs" in out) == (0, True)
    assert {pair: 2 * n for pair, n in cells(load_counts("counts")).items()} == cells(load_counts("twice"))
    code, _, _ = psdvec("merge", "twice", "--subtract", "counts", "-o", "once")
    assert code == 0
    assert contents(tmp_path / "once") == contents(tmp_path / "counts")
    code, out, _ = psdvec("info", "counts", "--verify", "--json")
    facts = json.loads(out)
    assert (code, facts["kind"], facts["window"], facts["verified"]) == (0, "cooccurrence", 2, True)
    code, out, _ = psdvec("info", "counts")
    assert (code, "counts of words and of pairs of words" in out) == (0, True)


def test_a_dry_run_says_what_it_would_do_and_does_nothing(psdvec, tmp_path):
    code, out, _ = psdvec(
        "count", "corpus.txt", "-o", "counts", "--dry-run", "--memory", "1G", "--workers", "2"
    )
    assert code == 0
    assert "read 1 file, 34 B, with tokenizer unicode" in out
    assert "use at most 1.0 GB of memory and 2 threads" in out
    assert "write 'counts'" in out
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.txt"]


def test_what_was_left_out_or_replaced_is_reported(psdvec, tmp_path):
    (tmp_path / "odd.txt").write_bytes(b"caf\xe9 " + b"x" * 2000 + b" bar\n")
    _, _, err = psdvec("count", "odd.txt", "-o", "counts", "--min-count", "1")
    assert "psdvec: warning: words longer than 1024 bytes left out: 1\n" in err
    assert (
        "psdvec: warning: sequences of bytes that were not UTF-8 replaced: 1; 'odd.txt' looks like latin-1; if it is, "
        "give --encoding latin-1\n"
    ) in err


@pytest.mark.slow
def test_every_command_that_reads_text_warns_of_another_encoding_and_takes_it(psdvec, tmp_path):
    (tmp_path / "latin.txt").write_bytes(("le café noir\nun thé noir\n" * 20).encode("latin-1"))
    commands = {
        "train": ("train", "latin.txt", "-o", "model", "--dim", "2", "--min-count", "1"),
        "count": ("count", "latin.txt", "-o", "counts", "--min-count", "1"),
        "topics": ("topics", "model", "latin.txt", "-o", "topics", "--topics", "2"),
        "vectorize": ("vectorize", "model", "latin.txt", "out.npy"),
    }
    for command in commands.values():
        code, _, err = psdvec(*command, "-q")
        assert (code, err.count("psdvec: warning: ")) == (0, 1), err
        assert "replaced: 40; 'latin.txt' looks like latin-1; if it is, give --encoding latin-1" in err
    for command in commands.values():
        code, _, err = psdvec(*command, "--overwrite", "--encoding", "latin-1", "-q")
        assert (code, err) == (0, "")
    assert "café" in psdvec("similar", "model", "café")[1]


def test_a_little_damage_is_a_remark(psdvec, tmp_path, caplog):
    (tmp_path / "text.txt").write_bytes(b"to be or not\n" * 999 + b"caf\xe9\n")
    _, _, err = psdvec("train", "text.txt", "-o", "model", "--dim", "2")
    assert "sequences of bytes that were not UTF-8 replaced: 1" in caplog.messages
    assert "warning" not in err


def test_grams_of_the_original_toolbox_are_read_and_written(psdvec, tmp_path):
    (tmp_path / "text.txt").write_text("the cat saw the dog\nthe dog met the cat\nsee the cat and the cat\n")
    psdvec("count", "text.txt", "-o", "counts", "--min-count", "2", "--window", "2", "--weighting", "flat")
    code, out, _ = psdvec("export-grams", "counts", "top2", "--words", "top1")
    assert (code, out) == (0, "the pairs of 3 words written to top2, and their occurrences to top1\n")
    assert psdvec("import-grams", "top2", "--words", "top1", "-o", "again")[0] == 0
    assert cells(load_counts("again")) == cells(load_counts("counts"))
    assert "read     16 words\n" in psdvec("info", "again")[1]
    code, out, _ = psdvec("import-grams", "top2", "-o", "alone")
    assert code == 0
    assert "words are counted by the pairs that they end; give --words to have their occurrences" in out
    code, _, err = psdvec("export-grams", "alone", "other", "--words", "top3")
    assert code != 0
    assert "import them with --words FILE" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("count", "missing.txt", "-o", "c"), "there is no file 'missing.txt'; check the name"),
        (
            ("count", "corpus.txt", "-o", "c", "-q"),
            "no word occurs 5 times or more among 9 words",
        ),
        (("count", "corpus.txt", "-o", "c", "--vocab", "missing"), "cannot read 'missing'"),
        (("count", "corpus.txt", "-o", "corpus.txt"), "'corpus.txt' exists and is not an artefact of psdvec"),
        (
            ("count", "corpus.txt", "-o", "c", "--memory", "1M", "--min-count", "1", "-q"),
            "does not fit into 1.0 MB",
        ),
        (("info", "missing"), "there is no 'missing'; check the name"),
        (("merge", "corpus.txt", "-o", "c"), "'corpus.txt' is not an artefact of psdvec"),
    ],
)
def test_errors_are_one_sentence_on_standard_error_and_exit_code_1(psdvec, tmp_path, arguments, message):
    code, out, err = psdvec(*arguments)
    assert (code, out) == (1, "")
    (sentence,) = err.splitlines()
    assert sentence.startswith("psdvec: ")
    assert message in sentence
    assert (tmp_path / "corpus.txt").read_text() == TEXT
    assert not (tmp_path / "c").exists()


def test_a_wrong_call_is_exit_code_2(psdvec):
    assert psdvec("count", "corpus.txt", "--nonsense")[0] == 2
    assert psdvec("nonsense")[0] == 2


def test_standard_input_is_counted(tmp_path):
    (tmp_path / "-").touch()  # a file of that name is another
    command = [*COUNT_TYPED, str(tmp_path / "counts"), "-q"]
    done = subprocess.run(command, input=TEXT.encode(), capture_output=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(load_counts(tmp_path / "counts")) == 6
    assert done.stderr == b""


def test_an_interrupted_count_says_how_to_continue_it(tmp_path):
    command = [*COUNT_TYPED, str(tmp_path / "counts")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not (tmp_path / "counts.work").exists():
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert process.returncode == 130
    assert err.strip().splitlines()[-1] == "psdvec: interrupted; run the same command again to continue"
    assert not (tmp_path / "counts").exists()


@pytest.mark.parametrize(
    ("command", "functions"),
    [
        ("count", (count_pairs, read_corpus)), ("fit", (fit,)), ("extend", (extend,)),
        ("train", (train, count_pairs, fit, read_corpus)), ("topics", (topics,)), ("compare", (compare,)),
        ("extract", (extract,)),
    ],
)  # fmt: skip
def test_defaults_are_those_of_the_library(command, functions):
    theirs = {}
    for function in functions:
        theirs |= {
            name: parameter.default
            for name, parameter in inspect.signature(function).parameters.items()
            if isinstance(parameter.default, (int, float, str))
        }
    options = {
        option.name: option.default for option in typer.main.get_command(cli.app).commands[command].params
    }
    shared = theirs.keys() & options.keys()
    assert shared >= {"overwrite", "quiet", "seed", "encoding"} & theirs.keys()
    assert {name: str(options[name]) for name in shared} == {name: str(theirs[name]) for name in shared}


def test_export_grams_names_some_of_the_words_that_it_leaves_out(psdvec, tmp_path):
    last = [f"last{i:02}" for i in range(25)]
    (tmp_path / "corpus.txt").write_text("".join(f"the cat the cat {word}\n" for word in last))
    counting = ["--min-count", "1", "--window", "2", "--weighting", "flat"]
    assert psdvec("count", "corpus.txt", "-o", "counts", *counting)[0] == 0
    code, out, _ = psdvec("export-grams", "counts", "top2grams.txt")
    said = f"left out, as the original cannot use them: {' '.join(last[:20])} and 5 more\n"
    assert (code, out) == (0, f"{said}the pairs of 2 words written to top2grams.txt\n")


SWALLOWED = """
import ctypes, os, signal, sys, time
from psdvec import cli

def command():
    @ctypes.CFUNCTYPE(None)
    def callback():  # like LLVM's: C has no way to pass on what is raised in it
        os.kill(os.getpid(), signal.{signal})
        for _ in range(1000):
            pass
    callback()
    for _ in range(6000):
        time.sleep(0.01)

cli.app = command
cli.main()
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_inside_a_callback_of_c_is_not_lost(name):
    done = subprocess.run(
        [sys.executable, "-c", SWALLOWED.format(signal=name)], capture_output=True, text=True, check=False
    )
    assert done.stderr == "psdvec: interrupted; run the same command again to continue\n"
    assert done.returncode == 130


def test_case_that_is_kept_stays_with_the_counts_and_the_model(psdvec, tmp_path):
    text = "Das Essen ist gut, wir essen gern.\nGut ist, wer das Essen teilt und mit uns isst.\n"
    (tmp_path / "text").write_text(text * 9)
    train = ("train", "text", "--dim", "3", "--min-count", "1", "-q", "-o")
    assert psdvec(*train, "cased", "--case", "keep", "--keep", "cased-counts")[0] == 0
    assert psdvec(*train, "folded", "--case", "fold", "--keep", "folded-counts")[0] == 0
    assert psdvec(*train, "plain", "--keep", "plain-counts")[0] == 0
    assert contents(tmp_path / "plain-counts") == contents(tmp_path / "folded-counts")
    assert {"Essen", "essen", "Gut", "gut"} <= set(load_counts("cased-counts").vocabulary.words)
    assert "Essen" not in load_counts("folded-counts").vocabulary.words
    for folder in ("cased", "cased-counts"):
        assert "tokenizer unicode-cased" in psdvec("info", folder)[1]
    code, out, err = psdvec("similar", "cased", "Essen", "essen", "TEILT", "-n", "1")
    assert (code, err, [word in out for word in ("Essen ~", "essen ~", "TEILT looked up as teilt")]) == (
        0,
        "",
        [True] * 3,
    )
    for command in (("merge", "cased-counts", "folded-counts"), ("extend", "cased", "folded-counts")):
        code, _, err = psdvec(*command, "-o", "neither")
        assert (code, err.count("\n")) == (1, 1)
        assert "tokenizer unicode-cased" in err
        assert "tokenizer unicode" in err
    code, _, err = psdvec("count", "text", "-o", "neither", "--tokenizer", "paper", "--case", "keep")
    assert (code, err.count("\n")) == (1, 1)
    assert "'paper' puts words into lower case, but --case keep was given; use --tokenizer unicode" in err
