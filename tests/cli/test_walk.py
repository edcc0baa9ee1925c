"""The walk of CONTRIBUTING.md goes through every stage, whose kernels then have to run as plain Python."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from examples.sample import make_records, make_text

WALKS = """
count text.txt -o counts --min-count 2 --window 3
count medical.txt -o more --min-count 2 --window 3
fit counts -o model --dim 5
extend model more -o larger
topics model articles.jsonl -o topics --topics 3
evaluate larger --task pairs.tsv
"""


@pytest.mark.slow
def test_every_stage_can_be_walked_through(tmp_path):
    for name, text, lines in (
        ("text.txt", make_text("text"), 60),
        ("medical.txt", make_text("medical"), 40),
        ("articles.jsonl", make_records(), 30),
    ):
        (tmp_path / name).write_text("".join(text.splitlines(keepends=True)[:lines]))
    (tmp_path / "pairs.tsv").write_text("the\tand\t3\npatient\thospital\t2\npan\tsalt\t1\n")
    for command in WALKS.strip().splitlines():
        done = subprocess.run(
            [sys.executable, "-m", "scripts.walk", *command.split(), "-q"],
            cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        entered, *_, tally = done.stderr.strip().splitlines()
        assert entered == "cli/__init__.py: main", command
        assert re.fullmatch(r"\d+ functions in \d+ files, \d+ moves", tally), command
