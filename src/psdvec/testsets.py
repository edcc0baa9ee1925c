"""Test sets: a catalogue of the standard ones, and where on this machine they are.

Goes in: the names of test sets, and a folder of the user's. Comes out: each set as a task of
:mod:`psdvec.tasks`, from the user's folder, from the folder in the environment variable ``PSDVEC_DATA``, from
the cache that ``psdvec testsets fetch`` fills, or from an installed package, in this order. No test set is
part of this package.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from psdvec.errors import InputError
from psdvec.tasks import Kind, Task, read_task

ENVIRONMENT = "PSDVEC_DATA"


@dataclass(frozen=True)
class TestSet:
    """What is known of a standard test set.

    ``files`` are the names it goes by in people's folders; ``package`` is an importable package that ships it
    and the path inside; ``column`` heads its column in tables.
    """

    __test__ = False  # the name begins with "Test", and this is none of pytest's

    name: str
    kind: Kind
    column: str
    title: str
    files: tuple[str, ...]
    source: str
    licence: str
    in_paper: bool = True
    package: tuple[str, str] | None = None


CATALOGUE: tuple[TestSet, ...] = (
    TestSet(
        "ws353-similarity",
        "similarity",
        "WS",
        "WordSim-353, similarity part (Agirre et al. 2009)",
        ("ws353_similarity.txt", "EN-WS-353-SIM.txt", "wordsim_similarity_goldstandard.txt"),
        "http://alfonseca.org/eng/research/wordsim353.html",
        "CC BY 4.0",
    ),
    TestSet(
        "ws353-relatedness",
        "similarity",
        "WR",
        "WordSim-353, relatedness part (Agirre et al. 2009)",
        ("ws353_relatedness.txt", "EN-WS-353-REL.txt", "wordsim_relatedness_goldstandard.txt"),
        "http://alfonseca.org/eng/research/wordsim353.html",
        "CC BY 4.0",
    ),
    TestSet(
        "men",
        "similarity",
        "MEN",
        "MEN, 3,000 pairs (Bruni et al. 2014)",
        ("bruni_men.txt", "MEN_dataset_natural_form_full", "EN-MEN-TR-3k.txt", "men.txt"),
        "https://staff.fnwi.uva.nl/e.bruni/MEN",
        "CC BY 2.0",
    ),
    TestSet(
        "mturk-287",
        "similarity",
        "Turk",
        "Mechanical Turk, 287 pairs (Radinsky et al. 2011)",
        ("radinsky_mturk.txt", "EN-MTurk-287.txt", "mturk-287.txt"),
        "http://www.kiraradinsky.com/files/Mtruk.csv",
        "research use",
    ),
    TestSet(
        "simlex-999",
        "similarity",
        "SL",
        "SimLex-999 (Hill et al. 2015)",
        ("simlex_999a.txt", "SimLex-999.txt", "EN-SIMLEX-999.txt", "simlex999.txt"),
        "https://fh295.github.io/simlex.html",
        "research use",
        package=("gensim", "test/test_data/simlex999.txt"),
    ),
    TestSet(
        "toefl",
        "synonyms",
        "TFL",
        "TOEFL synonyms, 80 questions (Landauer and Dumais 1997)",
        ("EN-TOEFL-80.txt", "toefl.txt"),
        "on request from Thomas Landauer's group",
        "research use, on request",
    ),
    TestSet(
        "rg-65",
        "similarity",
        "RG",
        "65 noun pairs (Rubenstein and Goodenough 1965)",
        ("EN-RG-65.txt", "rg65.txt"),
        "https://doi.org/10.1145/365628.365657",
        "research use",
    ),
    TestSet(
        "google",
        "analogies",
        "Google",
        "Google analogies, 19,544 questions (Mikolov et al. 2013)",
        ("google.txt", "questions-words.txt", "EN-GOOGLE.txt"),
        "https://code.google.com/archive/p/word2vec",
        "Apache 2.0",
        package=("gensim", "test/test_data/questions-words.txt"),
    ),
    TestSet(
        "msr",
        "analogies",
        "MSR",
        "Microsoft syntactic analogies, 8,000 questions (Mikolov et al. 2013)",
        ("msr.txt", "EN-MSR.txt"),
        "https://aka.ms/msrsemanticwordrelatedness",
        "research use",
    ),
    TestSet(
        "rare-words",
        "similarity",
        "RW",
        "Stanford Rare Words, 2,034 pairs (Luong et al. 2013)",
        ("luong_rare.txt", "rw.txt", "EN-RW-STANFORD.txt"),
        "https://nlp.stanford.edu/~lmthang/morphoNLM",
        "research use",
        in_paper=False,
    ),
    TestSet(
        "ws353",
        "similarity",
        "WS-353",
        "WordSim-353, all pairs (Finkelstein et al. 2002)",
        ("ws353.txt", "EN-WS-353-ALL.txt", "wordsim353.tsv", "combined.tab"),
        "http://alfonseca.org/eng/research/wordsim353.html",
        "CC BY 4.0",
        in_paper=False,
        package=("gensim", "test/test_data/wordsim353.tsv"),
    ),
)

PAPER = tuple(entry.name for entry in CATALOGUE if entry.in_paper)


def find_tasks(names: Iterable[str] | None = None, *, folder: str | Path | None = None) -> tuple[Task, ...]:
    """Read test sets by name; without ``names``, those of the paper that are on this machine.

    Parameters
    ----------
    names : names of the catalogue, or paths of the user's own files
    folder : looked into first

    Examples
    --------
    >>> find_tasks([])
    ()
    """
    if names is None:
        found = [(entry, locate(entry, folder=folder)) for entry in CATALOGUE if entry.in_paper]
        return tuple(read_task(path, name=entry.name, kind=entry.kind) for entry, path in found if path)
    return tuple(_read_named(name, folder) for name in names)


def locate(entry: TestSet, *, folder: str | Path | None = None) -> Path | None:
    """Return the file of a test set, or None where it is not on this machine."""
    for place in search_folders(folder):
        for name in entry.files:
            for path in (place / name, place / "testsets" / name, *place.glob(f"*/{name}")):
                if path.is_file():
                    return path
    return _in_package(entry)


def search_folders(folder: str | Path | None = None) -> list[Path]:
    """Return the folders that are looked into: the one given, the environment's, the cache."""
    places = [Path(folder)] if folder is not None else []
    if folder is not None and not places[0].is_dir():
        raise InputError(f"there is no folder '{folder}' of test sets; check the name")
    if os.environ.get(ENVIRONMENT):
        places.append(Path(os.environ[ENVIRONMENT]))
    return places + [cache_folder()]


def cache_folder() -> Path:
    """Return where fetched test sets are kept: ``psdvec/testsets`` in the user's cache folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "psdvec" / "testsets"


def entry_named(name: str) -> TestSet:
    """Return the entry of the catalogue with this name."""
    for entry in CATALOGUE:
        if entry.name == name:
            return entry
    known = ", ".join(entry.name for entry in CATALOGUE)
    raise InputError(f"there is no test set or file '{name}'; known are {known}")


def _read_named(name: str, folder: str | Path | None) -> Task:
    if Path(name).is_file():
        return read_task(name)
    entry = entry_named(name)
    path = locate(entry, folder=folder)
    if path is None:
        raise InputError(
            f"the test set '{name}' is not on this machine; run: psdvec testsets fetch {name}, "
            f"or give a folder that holds it with --testsets or {ENVIRONMENT}"
        )
    return read_task(path, name=entry.name, kind=entry.kind)


def _in_package(entry: TestSet) -> Path | None:
    if entry.package is None:
        return None
    spec = importlib.util.find_spec(entry.package[0])
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(spec.submodule_search_locations[0]) / entry.package[1]
    return path if path.is_file() else None
