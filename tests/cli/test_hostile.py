"""Commands in hostile surroundings: each ends with one sentence and an exit code, never with a traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from psdvec.cli.tables import format_table
from psdvec.counts.count import count_pairs
from psdvec.counts.vocabulary import Vocabulary
from psdvec.errors import (
    SHORT_OF_MEMORY,
    InputError,
    MissingExtraError,
    ResourceError,
    import_extra,
    one_line,
)
from psdvec.formats import save
from psdvec.resources import resolve_workers
from psdvec.vectors.embeddings import Embeddings

PAGE = "<page><title>A</title><ns>0</ns><id>1</id><revision><text>a b</text></revision></page>"
DUMP = f"<mediawiki>\n{PAGE}\n</mediawiki>\n"


def psdvec(*arguments: object, cwd: Path, **options) -> subprocess.CompletedProcess[bytes]:
    """Run the command line as users do."""
    environment = {**os.environ, **options.pop("env", {})}
    return subprocess.run(
        [sys.executable, "-m", "psdvec", *map(str, arguments)],
        cwd=cwd, env=environment, capture_output=True, timeout=120, check=False, **options,
    )  # fmt: skip


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    save(Embeddings(("ä", "東京", "c"), np.eye(3, dtype=np.float32) + 1), tmp_path / "vectors.txt")
    return tmp_path / "vectors.txt"


@pytest.mark.parametrize("command", ["count", "extract"])
def test_a_closed_standard_input_is_one_sentence(tmp_path, command):
    done = psdvec(command, "-", "-o", "out", "-q", cwd=tmp_path, preexec_fn=lambda: os.close(0))
    assert done.returncode == 1
    assert done.stderr.startswith(b"psdvec: standard input is closed")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.slow
def test_a_closed_standard_output_is_one_sentence_if_the_result_goes_there(tmp_path):
    (tmp_path / "dump.xml").write_text(DUMP)
    done = psdvec("extract", "dump.xml", "-o", "-", "-q", cwd=tmp_path, preexec_fn=lambda: os.close(1))
    assert done.returncode == 1
    assert (
        done.stderr == b"psdvec: standard output is closed, and nothing can be written to it; give a file\n"
    )


@pytest.mark.slow
def test_names_that_are_not_utf8_are_read_written_and_described(tmp_path):
    name, output = os.fsdecode(b"te\xffxt.txt"), os.fsdecode(b"cou\xffnts")
    (tmp_path / name).write_text("a b a b a b\n")
    done = psdvec("count", name, "-o", output, "--min-count", 1, "-q", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = psdvec("info", output, "--json", cwd=tmp_path)
    assert json.loads(shown.stdout)["sources"][0]["name"] == name
    assert psdvec("info", output, cwd=tmp_path).returncode == 0
    missing = psdvec("count", os.fsdecode(b"no\xff"), "-o", "x", cwd=tmp_path)
    assert (missing.returncode, missing.stderr.count(b"\n")) == (1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_json_is_json_whatever_letters_standard_output_has(tmp_path, vectors, encoding):
    done = psdvec("similar", vectors, "c", "--json", "-q", cwd=tmp_path, env={"PYTHONIOENCODING": encoding})
    assert done.returncode == 0, done.stderr
    assert "東京" in json.dumps(json.loads(done.stdout.decode(encoding)), ensure_ascii=False)
    assert psdvec("similar", vectors, "c", cwd=tmp_path, env={"PYTHONIOENCODING": encoding}).returncode == 0


@pytest.mark.parametrize("option", ["--dim", "--max-words"])
def test_a_number_beyond_all_arrays_is_one_sentence(tmp_path, run, option):
    (tmp_path / "text.txt").write_text("a b a b\n" * 20)
    assert run("count", tmp_path / "text.txt", "-o", tmp_path / "counts", "--min-count", 1)[0] == 0
    code, _, said = run("fit", tmp_path / "counts", "-o", tmp_path / "model", option, "9" * 20)
    assert code == 1
    assert f"is {'9' * 20}; give 2147483647 or less" in said


@pytest.mark.parametrize("workers", [0, -1, 100_000, 10**20])
def test_a_number_of_workers_that_no_machine_has_is_refused(workers):
    with pytest.raises(InputError, match=r"the number of workers is .*; give one from 1 to "):
        resolve_workers(workers)


def test_little_address_space_is_said_to_be_that(tmp_path, vectors):
    import resource

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (300_000_000, 300_000_000))

    done = psdvec("similar", vectors, "c", cwd=tmp_path, preexec_fn=limit)
    assert done.returncode == 1
    assert done.stderr.startswith(b"psdvec: memory is short: this program may use 300 MB of addresses")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("can't start new thread"),
        OSError(12, "Cannot allocate memory"),
        ImportError("libx.so: failed to map segment from shared object"),
    ],
    ids=repr,
)
def test_too_little_memory_is_one_sentence_wherever_it_is_noticed(run, vectors, monkeypatch, error):
    def fail(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr("psdvec.cli.query.load", fail)
    code, out, said = run("similar", vectors, "c", "-q")
    assert (code, out, said) == (1, "", f"psdvec: {SHORT_OF_MEMORY}\n")


def test_a_fault_of_our_own_is_not_called_a_lack_of_memory(run, vectors, monkeypatch):
    def fail(*arguments: object, **options: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr("psdvec.cli.query.load", fail)
    with pytest.raises(RuntimeError, match="a fault"):
        run("similar", vectors, "c", "-q")


def test_a_package_that_does_not_fit_into_memory_is_not_called_missing(monkeypatch):
    def fail(name: str) -> None:
        raise ImportError("libx.so: failed to map segment from shared object")

    monkeypatch.setattr("psdvec.errors.importlib.import_module", fail)
    with pytest.raises(ResourceError, match="no more memory"):
        import_extra("pyarrow", extra="parquet", purpose="reading")
    monkeypatch.undo()
    with pytest.raises(MissingExtraError, match="is not installed"):
        import_extra("no_such_package", extra="parquet", purpose="reading")


@pytest.mark.parametrize("name", ["signal", "psdvec.errors", "typer"])
def test_an_interrupt_before_the_commands_are_loaded_is_one_sentence(tmp_path, name):
    code = (
        "import os, signal, sys, psdvec.__main__ as m\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a command in the background ignores it
        "class Finder:\n"
        "    def find_spec(self, name, *rest):\n"
        f"        if name == '{name}': os.kill(os.getpid(), {int(signal.SIGINT)})\n"
        f"sys.modules.pop('{name}', None)\n"  # some packages have it imported when Python starts
        "sys.meta_path.insert(0, Finder())\n"
        "m.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 130
    assert done.stderr == b"psdvec: interrupted before it began; run the same command again\n"


def test_what_takes_long_to_import_is_imported_when_an_interrupt_is_already_awaited():
    code = "import sys; before = set(sys.modules); import psdvec.__main__; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "psdvec.__main__" in done.stdout.split()
    assert not {"typing", "signal", "importlib", "psdvec.errors", "numpy"} & set(done.stdout.split())


def test_a_link_to_nowhere_is_not_replaced(tmp_path, run, vectors):
    (tmp_path / "dump.xml").write_text(DUMP)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    for options in ([], ["--overwrite"]):
        code, _, said = run("extract", tmp_path / "dump.xml", "-o", link, *options)
        assert (code, "choose another output" in said) == (1, True)
        code, _, said = run("convert", vectors, link, "--to", "text", *options)
        assert (code, "choose another output" in said) == (1, True)
    assert link.is_symlink()
    assert not link.exists()


def test_every_message_is_one_line_that_moves_no_cursor_and_ends_with_what_to_do():
    message = str(InputError("a\nb\r\n c \x1b[2J " + "x" * 5000 + "; correct it"))
    assert message.startswith("a b c \\x1b[2J xxx")
    assert message.endswith("; correct it")
    assert len(message) < 1000
    assert len(str(InputError("\0" * 5000))) < 1000
    assert one_line("näive 東京") == "näive 東京"


@pytest.mark.parametrize(
    "command",
    [
        ["fit", "counts", "-o", "out"],
        ["fit", "counts", "-o", "out", "--method", "svd"],
        ["fit", "counts", "-o", "out", "--method", "glove"],
        ["train", "text.txt", "-o", "out"],
        ["topics", "vectors.txt", "text.txt", "-o", "out"],
        ["compare", "text.txt", "-o", "out"],
        ["evaluate", "vectors.txt", "--task", "pairs.txt"],
    ],
    ids=" ".join,
)
def test_a_seed_below_0_is_one_sentence(tmp_path, vectors, command, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("a b a b a b\n")
    Path("pairs.txt").write_text("ä c 1\n東京 c 2\n")
    count_pairs("text.txt", min_count=1, output="counts", quiet=True)
    code, _, said = run(*command, "--seed", "-1", "-q")
    assert (code, said) == (1, "psdvec: the seed is -1; give a number from 0 to 4294967295\n")
    assert not Path("out").exists()


def test_no_word_of_vectors_from_elsewhere_moves_the_cursor(run, tmp_path: Path):
    evil = "\x1b]0;title\x07"
    words = ("man", "woman", f"king{evil}", f"queen{evil}")
    vectors = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1]], dtype=np.float32)
    save(Embeddings(words, vectors), tmp_path / "model")
    shown, king = "queen\\x1b]0;title\\x07", words[2]
    for command in (["similar", king], ["analogy", "man", "woman", king], ["odd", "man", "woman", words[3]]):
        code, out, said = run(command[0], tmp_path / "model", *command[1:], "-q")
        assert (code, shown in out, "\x1b" in out + said) == (0, True, False)
        _, out, _ = run(command[0], tmp_path / "model", *command[1:], "--json", "-q")
        assert repr(words[3]) in str(json.loads(out))
    text = [["man", "woman", "king!", "queen!"]] * 5 + [["man", "woman", "new!"] * 3, ["rare!"] * 5]
    counts = count_pairs(text, min_count=1, quiet=True)  # counting refuses such words, and others may not
    strange = tuple(word.replace("!", evil) for word in counts.vocabulary.words)
    replace(counts, vocabulary=Vocabulary(strange, counts.vocabulary.counts)).save(tmp_path / "counts")
    options = ["-o", tmp_path / "more", "--min-contexts", 2, "-q"]
    code, out, said = run("extend", tmp_path / "model", tmp_path / "counts", *options)
    assert (code, "\x1b" in out + said) == (0, False)
    assert "new\\x1b]0;title\\x07 " in out
    assert "not placed: rare\\x1b]0;title\\x07 (" in out


def test_letters_that_scripts_are_joined_with_are_printed_as_they_are():
    assert format_table(["می\u200cخواهم"], []) == "می\u200cخواهم"
