"""Learn new words beside fixed vectors, which stay as they are to the last bit.

:func:`extend` takes vectors and any count store that has words in common with them, or where they are on disk, and
returns an :class:`Extension`: a model with new rows after the old. Vectors that psdvec did not fit are adopted first,
and a text is counted first, as that of the model was.
Each word is its own weighted ridge regression, equations (9) to (12) of ``docs/theory.md``.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from psdvec.arrays import Array, Bools, Float32s, Int64s
from psdvec.counts.count import count_pairs
from psdvec.counts.items import NOUN
from psdvec.counts.matrix import Cooccurrence, counts_of
from psdvec.counts.vocabulary import Key, kind_of_all, read_keys
from psdvec.errors import InputError, checked, demand_client, demand_positive
from psdvec.options import BASKET, UNIGRAMS, Counting, Fitting, Recipe, make_recipe
from psdvec.progress import LogProgress, Progress, SilentProgress
from psdvec.resources import arithmetic, limit_threads
from psdvec.solver.devices import Device, open_device
from psdvec.solver.pmi import margins, measure_constants
from psdvec.solver.ridge import Setting, prepare
from psdvec.storage.artefact import META, find_model, open_artefact, verify_artefact
from psdvec.storage.files import replaced_file
from psdvec.storage.workspace import (
    Placed,
    blocks_in,
    check_resumable,
    digest_of,
    open_workspace,
    read_block,
    write_block,
)
from psdvec.text.corpus import Corpus, Input
from psdvec.text.tokenizers import CHANGES, parameters_of, tokenizer_of
from psdvec.vectors.embeddings import Embeddings
from psdvec.vectors.model import (
    KIND,
    LARGEST,
    VERSION,
    Model,
    check_vectors,
    demand_finite,
    read_model,
    write_model,
)
from psdvec.vectors.neighbours import csr_of, lengths_of
from psdvec.vectors.regression import regress
from psdvec.vectors.subwords import certainty, feature_matrix, mix, own_pull, place_spelled

# Vectors that psdvec did not fit, as a model that new words can be placed in.


def adopt(vectors: Embeddings, counts: Cooccurrence, *, recipe: str, origin: Mapping[str, Any]) -> Model:
    """Return ``vectors`` as a model whose scales are measured from ``counts``.

    Its core are the words that the counts have, in the order of the vectors. Words that the counts lack keep their
    vectors, after the core; new words are not solved against them. ``origin`` names the vectors among the sources.
    """
    if csr_of(vectors.vectors) is not None:
        raise InputError("sparse vectors cannot be extended; give vectors of a few hundred dimensions")
    old, new = vectors.tokenizer, tokenizer_of(counts.parameters)
    if None not in (old, new) and parameters_of(old) != parameters_of(new):
        raise InputError(
            f"the text of the vectors was cut with tokenizer {old}, that of the counts with {new}; count again with "
            f'tokenizer="{old}"'
        )
    places = np.array([counts.vocabulary.ids.get(word, -1) for word in vectors.words], dtype=np.int64)
    core = int(np.count_nonzero(places >= 0))
    if 0 < core < places.size:
        order = np.argsort(places < 0, kind="stable")
        vectors, places = vectors.take(order), places[order]
    row_sums, column_sums = margins(counts)
    settings = replace(make_recipe(recipe), power=0.5, spelling=0.0)
    # Products of the constant direction with itself, -c², stand for log κ, the PMI of unseen pairs.
    c = math.sqrt(-math.log(settings.smoothing)) if settings.spectrum == "signed" else 0.0
    seen = np.where(places >= 0, counts.vocabulary.counts[places], 0)
    unknown = np.full(places.size, np.nan, np.float32)
    return Model(
        words=tuple(vectors.words),
        vectors=vectors.vectors,
        rows=vectors.vectors,
        stretch=np.ones(vectors.dim, np.float32),
        counts=seen if vectors.counts is None else vectors.counts,
        deviations=unknown if vectors.deviations is None else vectors.deviations,
        signs=np.ones(vectors.dim, np.float32),
        constant=np.full(core, c, np.float32),
        row_sums=row_sums[places[:core]],
        column_sums=column_sums[places[:core]],
        constants=measure_constants(counts, row_sums, column_sums, recipe=settings),
        recipe=settings,
        core=core,
        adopted=True,
        counting=dict(counts.parameters),
        sources=(origin, counts.provenance),
        origin=origin,
        tokenizer=old or new,
        phrases=counts.phrases,
    )


# What a word was placed with: how often it was seen, what its vector is made of, and which words are near it.

NEAREST = 3  # words that are named
COLUMNS = (
    "word", "occurrences", "contexts", "spelling", "deviation", *(f"nearest {i + 1}" for i in range(NEAREST)),
    "not placed",
)  # fmt: skip


class PlacedWord(NamedTuple):
    """A word that was placed beside fixed ones.

    It was seen ``occurrences`` times, with ``contexts`` different core words. Its vector is the sum of what its
    spelling and what its contexts say; ``spelling`` is the length of the first over the sum of both lengths, from 0 to
    1, and the contexts have the rest. ``deviation`` is the standard deviation of each coordinate, and ``nearest`` are
    the words nearest to it.
    """

    word: str
    occurrences: int
    contexts: int
    spelling: float
    deviation: float
    nearest: tuple[str, ...]


def spelling_shares(model: Model, words: Sequence[str], occurrences: Int64s) -> Float32s:
    """Return |S| / (|S| + |C|) of each placed word, from 0 to 1, with the :func:`parts_of` its vector."""
    spelling, contexts = (np.linalg.norm(part, axis=1) for part in parts_of(model, words, occurrences))
    return np.asarray(spelling / np.maximum(spelling + contexts, np.float32(1e-12)))


def parts_of(model: Model, words: Sequence[str], occurrences: Int64s) -> tuple[Float32s, Float32s]:
    """Return S and C (m, d), whose sum has the direction of each placed word's vector; S is 0 without n-grams.

    With r the stretched row, q = a ℓ p the mean of its prior and o how far the word draws its own p, the vector shown
    has the direction of r/|r| + a (p + o (r/|r| - p)), equations (15) and (17). Of this, the spelling says
    ``S = (1 + a o) q / |r| + a (1 - o) p``, and the contexts move it by ``C = (1 + a o) (r - q) / |r|``. A fitted word
    that was refreshed has o = 0: its p was learned from the word itself.
    """
    r = model.rows[[model.get_index(word) for word in words]] * model.stretch
    if model.subwords is None:
        return np.zeros_like(r), r
    scale, spelled = mixture_of(model, words, occurrences)
    q = model.subwords.vectors_of(words)
    return scale * q + spelled, scale * (r - q)


def mixture_of(model: Model, words: Sequence[str], occurrences: Int64s) -> tuple[Float32s, Float32s]:
    """Return, of each word, the scale (m, 1) of its stretched row, and what is added to it (m, d) by its spelling.

    Their sum has the direction of the vector shown; the names are those of :func:`parts_of`.
    """
    r = model.rows[[model.get_index(word) for word in words]] * model.stretch
    lengths = np.maximum(np.linalg.norm(r, axis=1, keepdims=True), np.float32(1e-12))
    if model.subwords is None:
        return np.asarray(1 / lengths, np.float32), np.zeros_like(r)
    a = np.float32(model.subwords.share)
    own = own_pull(model.subwords, occurrences, noise=model.recipe.spelling_noise)
    o = np.where(_fitted(model, words), np.float32(0), own)[:, None]
    return (1 + a * o) / lengths, a * (1 - o) * model.subwords.predict(words)


def _fitted(model: Model, words: Sequence[str]) -> Bools:
    """Say of each word whether the model's n-grams were learned from it."""
    return np.array([model.key_to_index.get(word, model.core) < model.core for word in words], bool)


def write_report(
    rows: Sequence[PlacedWord], unplaced: Mapping[str, str], path: Path, *, overwrite: bool
) -> None:
    """Write all words to ``path``, tab-separated: those placed, then those ``unplaced`` with the reason."""
    text = io.StringIO()
    table = csv.writer(text, delimiter="\t", lineterminator="\n")
    table.writerow(COLUMNS)
    for *known, spelling, deviation, nearest in rows:
        missing = [""] * (NEAREST - len(nearest))
        table.writerow([*known, f"{spelling:.3f}", f"{deviation:.4g}", *nearest, *missing, ""])
    for word, reason in unplaced.items():
        table.writerow([word, *[""] * (len(COLUMNS) - 2), reason])
    with replaced_file(path, overwrite=overwrite) as file:
        file.write(text.getvalue().encode("utf-8", "surrogatepass"))


# Solves the words of a setting from counts; ``advance`` is told how many words are done.
Solve = Callable[..., list[Placed]]

# In these, a model and counts must agree to fit together.
MUST_AGREE = ("window", "weighting", "gaps", "tokenizer", "phrases", *CHANGES)
UNKNOWN = "unknown"  # the tokenizer of counts that another program made


@dataclass(frozen=True, eq=False, repr=False)
class Extension(Model):
    """A model with further words: those ``learned``, the old ones ``refreshed``, and why others are ``unplaced``.

    ``unplaced`` has a reason for each word that was asked for and could not be placed. ``occurrences`` and
    ``contexts``, int64, say how often each of the words learned and then of those refreshed was seen in the counts, and
    with how many different core words. It is a :class:`~psdvec.vectors.model.Model` like any other, and equal to one
    with the same words and numbers.
    """

    learned: tuple[str, ...] = ()
    refreshed: tuple[str, ...] = ()
    unplaced: Mapping[str, str] = field(default_factory=dict)
    occurrences: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    contexts: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))

    def report(self, limit: int | None = None) -> list[PlacedWord]:
        """Return what is known of the words learned and then of those refreshed; of the first ``limit``, if given."""
        words = (*self.learned, *self.refreshed)[:limit]
        occurrences, contexts = self.occurrences[: len(words)], self.contexts[: len(words)]
        shares = spelling_shares(self, words, occurrences)
        deviations = self.deviations[[self.get_index(word) for word in words]]
        numbers = (column.tolist() for column in (occurrences, contexts, shares, deviations))
        rankings = self.most_similar_many(words, topn=NEAREST)
        nearest = [tuple(other for other, _ in ranking) for ranking in rankings]
        return [PlacedWord(*known) for known in zip(words, *numbers, nearest, strict=True)]

    def _facts(self) -> dict[str, str]:
        found = {name: len(getattr(self, name)) for name in ("learned", "refreshed", "unplaced")}
        return super()._facts() | {name: f"{number:,} words" for name, number in found.items() if number}


@checked
def extend(
    model: Embeddings | str | Path,
    counts: Cooccurrence | Input,
    *,
    items: bool = False,
    basket: str | None = None,
    item: str | None = None,
    separator: str | None = None,
    recipe: str | None = None,
    words: Sequence[Key] | None = None,
    refresh: Sequence[Key] = (),
    core: int | None = None,
    ridge: float | str | None = None,
    damping: float | None = None,
    unigrams: str = UNIGRAMS[0],
    min_count: int | None = None,
    min_contexts: int = Fitting.min_contexts,
    workers: int | None = None,
    device: str = Fitting.device,
    output: str | Path | None = None,
    overwrite: bool = False,
    client: Any = None,
    allow_unlike: bool = False,
    quiet: bool = False,
    progress: Progress = LogProgress(),
) -> Extension:
    """Learn words that ``model`` lacks from ``counts``, or from a text.

    Words that cannot be placed are listed in :attr:`Extension.unplaced`, each with its reason. It is an error if none
    of those asked for can.

    Parameters
    ----------
    model
        A model, or any other vectors; or where they are, in any format that :func:`psdvec.load` reads. Vectors that
        psdvec did not fit get their scales from the counts: new words are solved against those of their words that the
        counts have.
    counts
        A count store, or the folder that holds it; with ``items``, baskets. A text, that is a file or whatever else
        :func:`psdvec.count_pairs` takes, is counted as that of the model was.
    items, basket, item, separator
        Whether ``counts`` are baskets of items, and where they are in tables and files; see :func:`psdvec.count_pairs`.
        They are counted as those of the model were, also the items that are there only once.
    recipe
        The name of the recipe for vectors that psdvec did not fit; ``"paper"``, if None. A model has its own.
    words
        The words to learn; all words of the counts that the model lacks, if None.
    refresh
        Words of the model to solve again from these counts.
    core
        Solve against this many of the core words; all of them, if None.
    ridge
        μ of equation (10): ``"auto"``, a number, or bands by rank; the recipe's, if None.
    damping
        η of equation (9); the recipe's, if None.
    unigrams
        Whose frequencies of the old words to use: those of the ``"corpus"`` at hand, or the ``"model"``'s.
    min_count
        Learn new words that are seen so often; if None, those of a text seen five times, and of counts all.
    min_contexts
        A word seen with fewer different core words is not placed.
    workers
        Threads; one per core, if None. The result is the same to the bit.
    device
        ``"cpu"``, where a word gets the same bits alone or among others; ``"cuda"`` or ``"auto"``, where it gets them
        to rounding.
    output
        Folder to write the larger model to; nothing is written if no word was learned or refreshed. If the work is
        interrupted, solved words are kept beside it, and the same call goes on after them.
    client
        A :class:`distributed.Client`, whose workers then solve, to the same bits. They must see the counts and the
        output under the same names.
    allow_unlike
        Use workers whose processor, BLAS or versions are not those of this process, too; they are refused otherwise,
        because the result would differ in its last digits.
    quiet
        Show no progress.
    """
    progress = SilentProgress() if quiet else progress
    ridge = None if ridge is None else str(ridge)
    check_resumable(output, kind=KIND, overwrite=overwrite)
    hardware = None
    if client is None:
        hardware = open_device(device, workers=workers)
    else:
        _check_cluster(client, counts, output, workers=workers, device=device)
    if items:
        model, store = _count_baskets(
            model, counts, basket, item, separator, workers=workers, progress=progress
        )
    elif isinstance(counts, Cooccurrence) or _names_counts(counts):
        store = counts_of(counts)
    else:
        model, store = _count_text(model, counts, workers=workers, progress=progress)
        min_count = Counting.min_count if min_count is None else min_count
    old = _model_of(model, store, recipe=recipe, progress=progress)
    check_compatible(old, store)
    kind = kind_of_all(store.vocabulary.words)
    words, refresh = None if words is None else read_keys(words, kind), read_keys(refresh, kind)
    least = demand_positive(min_count, "min_count")
    if words is None and least is not None:
        words = [store.vocabulary.words[i] for i in np.flatnonzero(store.vocabulary.counts >= least).tolist()]
    chosen = choose_words(old, store, words, refresh)
    options: dict[str, Any] = {
        "core": core, "ridge": ridge, "damping": damping, "unigrams": unigrams, "min_contexts": min_contexts
    }  # fmt: skip
    plan = {
        "model": dict(old.origin), "counts": dict(store.origin), **options, "words": words, "refresh": refresh,
        "device": device, "arithmetic": arithmetic(), "allow_unlike": allow_unlike,
    }  # fmt: skip
    with ExitStack() as stack:
        if hardware is None:
            solve = stack.enter_context(
                _on_cluster(client, counts, output, plan, allow_unlike=allow_unlike, progress=progress)
            )
            others = solve.likeness.others
        else:
            stack.enter_context(limit_threads(workers))
            solve, others = hardware.solve_words, hardware.others
            if output is not None and chosen.words:
                whole = _with_digests(plan, old, store)
                work = stack.enter_context(
                    open_workspace(Path(output), plan=whole, progress=progress, overwrite=overwrite)
                )
                solve = partial(_solve_in_blocks, hardware, work)
        extension = place(old, store, chosen, solve=solve, **options, progress=progress)
        is_changed = bool(extension.learned or extension.refreshed)
        if is_changed:
            extension = replace(extension, arithmetic=computed_with(others))
        if output is not None and is_changed:
            write_model(extension, output, overwrite=overwrite)
    if extension.unplaced and not is_changed:
        raise InputError(_none_placed(extension.unplaced))
    return extension


def _count_baskets(
    model: Embeddings | str | Path,
    baskets: Any,
    basket: str | None,
    item: str | None,
    separator: str | None,
    *,
    workers: int | None,
    progress: Progress,
) -> tuple[Model, Cooccurrence]:
    """Return the model, and the counts of ``baskets``, counted as those of the model were."""
    old = model if isinstance(model, Embeddings) else _read_vectors(Path(model), progress)
    if not isinstance(old, Model) or old.noun != NOUN:
        raise InputError("the model was not trained on baskets; count what is to be learned as its text was")
    how = old.counting
    is_ordered = how.get("weighting") != BASKET
    counts = count_pairs(
        baskets, items=True, basket=basket, item=item, separator=separator, min_count=1,
        window=how["window"] if is_ordered else None, weighting=how["weighting"] if is_ordered else None,
        gaps=how["gaps"], workers=workers, progress=progress,
    )  # fmt: skip
    return old, counts


def _names_counts(given: Any) -> TypeGuard[str | Path]:
    """Say whether this is where counts are, in a folder, rather than a file of text or texts in Python."""
    return isinstance(given, str | Path) and not Path(given).is_file()


def _count_text(
    model: Embeddings | str | Path, text: Input, *, workers: int | None, progress: Progress
) -> tuple[Model, Cooccurrence]:
    """Return the model, and the counts of ``text``, counted as those of the model were.

    All words are counted, since old ones that are rare here are contexts, too.
    """
    old = model if isinstance(model, Embeddings) else _read_vectors(Path(model), progress)
    if not isinstance(old, Model) or "window" not in old.counting:
        raise InputError(
            "these vectors do not say how their text was counted; count the new text with psdvec.count_pairs first, "
            "or, for baskets, items=True"
        )
    how = old.counting
    is_cut = isinstance(text, Corpus) or how.get("tokenizer") in ("none", UNKNOWN)
    cutting = {} if is_cut else parameters_of(tokenizer_of(how))
    counts = count_pairs(
        text, **cutting, phrases=old.phrases, min_count=1, window=how["window"], weighting=how["weighting"],
        gaps=how["gaps"], workers=workers, progress=progress,
    )  # fmt: skip
    return old, counts


class Chosen(NamedTuple):
    """The ``words`` to solve for, new ones first, and why others that were asked for cannot be."""

    words: tuple[str, ...]
    unplaced: Mapping[str, str]


def choose_words(
    model: Model, counts: Cooccurrence, words: Sequence[str] | None, refresh: Sequence[str] = ()
) -> Chosen:
    """Return the words to learn and those to refresh, each once; words to learn that the model has are left out."""
    known, counted = model.key_to_index, counts.vocabulary.ids
    wanted = dict.fromkeys(
        word for word in (counts.vocabulary.words if words is None else words) if word not in known
    )
    stale = dict.fromkeys(word for word in refresh if word not in wanted)
    unplaced = {word: "not in the model" for word in stale if word not in known}
    unplaced |= {word: "not in the counts" for word in (*wanted, *stale) if word not in counted}
    return Chosen(tuple(word for word in (*wanted, *stale) if word not in unplaced), unplaced)


def place(
    model: Model,
    counts: Cooccurrence,
    chosen: Chosen,
    *,
    solve: Solve,
    min_contexts: int,
    progress: Progress,
    **options: Any,
) -> Extension:
    """Return ``model`` with those of the ``chosen`` words that ``solve`` finds a vector for; it may be none.

    ``solve`` is :meth:`psdvec.solver.devices.Device.solve_words`, or does the same elsewhere. The ``options`` are those
    of :func:`psdvec.solver.ridge.prepare`.
    """
    if not chosen.words:
        return _extension(model, unplaced=chosen.unplaced)
    ids = np.array([counts.vocabulary.ids[word] for word in chosen.words], dtype=np.int64)
    setting = prepare(model, counts, ids, min_contexts=min_contexts, **options)
    with progress.stage("new words", total=ids.size, unit="words") as stage:
        placed = solve(setting, counts, advance=stage.advance)
    by_word = dict(zip(chosen.words, placed, strict=True))
    few = {
        word: f"near too few words that the model knows: {one.contexts}, and {min_contexts} are needed"
        for word, one in by_word.items()
        if one.vector is None
    }
    found = {word: one for word, one in by_word.items() if word not in few}
    return _merge(model, counts, found, unplaced={**chosen.unplaced, **few})


def _none_placed(unplaced: Mapping[str, str]) -> str:
    word, reason = next(iter(unplaced.items()))
    if len(unplaced) == 1:
        return f"'{word}' cannot be placed: it is {reason}; give more text that uses it, or min_contexts=1"
    return (
        f"none of {len(unplaced):,} words can be placed, such as '{word}', which is {reason}; "
        "give more text that uses them, or min_contexts=1"
    )


def _solve_in_blocks(
    hardware: Device, work: Path, setting: Setting, counts: Cooccurrence, *, advance: Callable[[int], None]
) -> list[Placed]:
    """Solve the words of ``setting`` in blocks, which are kept in ``work``; those kept before are read."""
    blocks = blocks_in(work, setting.ids.size, size=hardware.words_at_once)
    for path, part in blocks.items():
        if path.exists():
            advance(part.stop - part.start)
        else:
            write_block(path, hardware.solve_words(setting.take(part), counts, advance=advance))
    return [placed for path in blocks for placed in read_block(path)]


def computed_with(others: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Return what the last bits of vectors rest on, and what ``others``, workers that are not alike, computed with."""
    return {**arithmetic(), **({"others": others} if others else {})}


def _with_digests(plan: Mapping[str, Any], model: Model, counts: Cooccurrence) -> dict[str, Any]:
    """Return ``plan`` with the digests of a model and counts that came from no folder of psdvec."""
    made = {**plan, "counts": counts.identity()}
    if "digest" not in model.origin:
        made["model"] = {**model.origin, "digest": digest_of(*model._values())}
    return made


def check_compatible(model: Model, counts: Cooccurrence) -> None:
    """Raise :class:`InputError` where ``counts`` were made differently from the model's, or share no core word."""
    for name in MUST_AGREE:
        old, new = model.counting.get(name), counts.parameters.get(name)
        if old != new and UNKNOWN not in (old, new):
            if name == "phrases":
                raise InputError(
                    f"the model was counted with {'no' if old is None else 'other'} phrases than these counts; count "
                    f"again {'without' if old is None else 'with those of the model, its phrases.txt'}"
                )
            raise InputError(
                f"the model was counted with {name} {old!s:.60}, these counts with {new!s:.60}; count again with "
                f"{name} {old!s:.60}"
            )
    known = counts.vocabulary.ids
    if not any(word in known for word in model.words[: model.core]):
        raise InputError(
            "the model and the counts have no word in common; give counts of the same language and spelling"
        )
    with np.errstate(over="ignore"):
        longest = float(np.linalg.norm(model.rows[: model.core], axis=1).max())
    if longest == 0:
        raise InputError("all vectors of the model are zero; fit it again")
    if not longest < LARGEST:
        raise InputError(f"a vector of the model has the length {longest:.3g}; scale them to lengths near 1")


def _model_of(
    given: Embeddings | str | Path, counts: Cooccurrence, *, recipe: str | None, progress: Progress
) -> Model:
    """Return the vectors ``given``, or those at a path, as a model: as they are, or with scales from ``counts``."""
    if isinstance(given, Embeddings):
        vectors, name = given, "in memory"
    else:
        vectors, name = _read_vectors(Path(given), progress), Path(given).name
    if not isinstance(vectors, Model):
        vectors = adopt(vectors, counts, recipe=recipe or "paper", origin={"vectors": name})
    elif recipe is not None:
        raise InputError(f"the model has its own recipe, {vectors.recipe.name}; leave recipe out")
    if isinstance(given, Embeddings):  # whatever reads vectors looks at them
        check_vectors(vectors)
    return vectors


def _read_vectors(path: Path, progress: Progress) -> Embeddings:
    """Read vectors in any format; what is damaged, and would get new checksums here, is refused."""
    from psdvec.formats import load

    path = find_model(path)
    if not (path / META).is_file():
        return load(path, progress=progress)
    artefact = open_artefact(path, kind=KIND, version=VERSION)
    verify_artefact(artefact)
    return read_model(artefact)


_FOLDERS = "a cluster works on folders; give a model that psdvec made, the counts and the output as folders"


def _check_cluster(client: Any, counts: Any, output: Any, *, workers: int | None, device: str) -> None:
    """Raise :class:`InputError` where a cluster cannot do what is asked for."""
    demand_client(client)
    if not _names_counts(counts) or output is None:
        raise InputError(_FOLDERS)
    if workers is not None or device != "cpu":
        raise InputError("a cluster has its own threads; leave out workers and device")


def _on_cluster(
    client: Any, counts: Any, output: Any, plan: Mapping[str, Any], *, allow_unlike: bool, progress: Progress
) -> AbstractContextManager[Any]:
    """Return what holds the workspace of ``output`` and solves words on the workers of ``client``."""
    from psdvec.cluster.fitting import open_solver

    if "digest" not in plan["model"]:
        raise InputError(_FOLDERS)
    return open_solver(
        client, Path(counts), Path(output), plan=plan, allow_unlike=allow_unlike, progress=progress
    )


def _merge(
    model: Model, counts: Cooccurrence, found: Mapping[str, Placed], *, unplaced: Mapping[str, str]
) -> Extension:
    """Put new rows after the old ones, and refreshed ones in their place."""
    learned = tuple(word for word in found if word not in model.key_to_index)
    refreshed = tuple(word for word in found if word in model.key_to_index)
    new = [*refreshed, *learned]
    seen = counts.vocabulary.counts[[counts.vocabulary.ids[word] for word in new]]
    old = np.array([model.key_to_index[word] for word in refreshed], dtype=np.int64)
    constant = np.array(model.constant)
    solved: list[Any] = [found[word].vector for word in new]
    for row, x in zip(old.tolist(), solved, strict=False):  # those refreshed come first
        if row < model.core and x.size > model.dim:
            constant[row] = x[model.dim]
    rows = np.array([x[: model.dim] for x in solved], np.float32).reshape(-1, model.dim)
    deviations = np.array([found[word].deviation for word in new], np.float32)
    vectors, factors = show_placed(model, new, rows, seen)
    deviations = deviations * factors
    demand_finite(np.column_stack([vectors, deviations]), new)
    is_shown = model.rows is not model.vectors
    all_vectors = _with_rows(model.vectors, old, vectors)
    return _extension(
        model,
        words=(*model.words, *learned),
        counts=np.concatenate([model.counts, seen[len(refreshed) :]]),
        vectors=all_vectors,
        rows=_with_rows(model.rows, old, rows) if is_shown else all_vectors,
        deviations=_with_rows(model.deviations, old, deviations),
        constant=constant,
        sources=(model.provenance, counts.provenance),
        origin={"model": "in memory"},
        learned=learned,
        refreshed=refreshed,
        unplaced=unplaced,
        occurrences=np.roll(seen, -len(refreshed)),
        contexts=np.array([found[word].contexts for word in (*learned, *refreshed)], np.int64),
    )


def show_placed(
    model: Model, words: Sequence[str], rows: Float32s, occurrences: Int64s
) -> tuple[Float32s, Float32s]:
    """Return the vectors shown of words that were placed at ``rows``, and what their deviations are times."""
    if model.subwords is None:
        return mix(rows, model.stretch, None, share=0.0), np.ones(len(rows), np.float32)
    return place_spelled(
        model.subwords, words, rows, model.stretch, occurrences,
        noise=model.recipe.spelling_noise, fitted=_fitted(model, words),
    )  # fmt: skip


def _with_rows(old: Array, places: Int64s, new: Array) -> Array:
    """Return ``old`` with the first rows of ``new`` at ``places``, and the others at the end."""
    changed = np.concatenate([old, new[places.size :]])
    changed[places] = new[: places.size]
    return changed


def _extension(model: Model, **changes: Any) -> Extension:
    return Extension(**{**model.own_fields(), **changes})


# Words of which nothing is known but attributes: the ridge that learns spelling, on any features.

_CERTAIN = 0.9  # of b² |p|²; a prediction is never taken to be certain


@checked
def place_by_features(
    model: Model, features: Mapping[Any, Any], *, ridge: float = Recipe.spelling_ridge, quiet: bool = False
) -> Extension:
    """Give words that ``model`` lacks the vectors that their features predict; no old word moves.

    B of equation (14) is learned from the words that have both a vector and features, with features in place of
    n-grams. With p = z B and b how much of such predictions comes true for words that they were not learned from, (18),
    and ℓ the mean length of vectors, a new word gets ``ℓ b p``, with the deviation ``ℓ √((1 - b² |p|²) / d)``.

    Parameters
    ----------
    model
        Vectors that psdvec fitted.
    features
        For each name a list of numbers, as many for all, or categories: a list of strings, or one string, whose words
        they are. Names that the model knows teach, the others are placed.
    ridge
        λ of equation (14): how little is learned from a few words.

    Examples
    --------
    >>> from psdvec import Cooccurrence, fit
    >>> pairs = [(f"{kind}{i}", f"{kind}{j}") for kind in ("tea", "nut") for i in range(9) for j in range(i)]
    >>> model = fit(Cooccurrence.from_edges(pairs), dim=4, quiet=True)
    >>> kinds = {name: name[:3] for name in model.words}
    >>> larger = place_by_features(model, {**kinds, "oolong": "tea"})
    >>> larger.most_similar("oolong", topn=1)[0][0][:3]
    'tea'
    """
    if not 0 < ridge < math.inf:
        raise InputError(f"ridge is {ridge}; give a number above 0")
    known = [name for name in features if name in model.key_to_index]
    new = [name for name in features if name not in model.key_to_index]
    if not known or not new:
        which = "none of these names has a vector" if not known else "all of these names have vectors"
        raise InputError(f"{which}; give the features of names that the model knows, and of new ones")
    Z = feature_matrix([features[name] for name in (*known, *new)], teachers=len(known))
    rows = np.array([model.key_to_index[name] for name in known], np.int64)
    lengths = lengths_of(model.vectors[rows])
    certain = certainty(model.counts[rows], noise=model.recipe.spelling_noise)
    units = model.vectors[rows] / lengths[:, None]
    progress = SilentProgress() if quiet else LogProgress()
    B, others = regress(Z[: len(known)], units, certain, ridge=ridge, progress=progress)
    p, length, b = Z[len(known) :] @ B, float(lengths.mean()), others.slope
    vectors = np.asarray(length * b * p, np.float32)
    squares = np.minimum(b * b * np.square(p, dtype=np.float64).sum(axis=1), _CERTAIN)
    deviations = np.asarray(length * np.sqrt((1 - squares) / model.dim), np.float32)
    nobody = np.zeros(len(new), np.int64)
    is_shown = model.rows is not model.vectors
    all_vectors = np.concatenate([model.vectors, vectors])
    return _extension(
        model,
        words=(*model.words, *new),
        counts=np.concatenate([model.counts, nobody]),
        vectors=all_vectors,
        rows=np.concatenate([model.rows, vectors / model.stretch]) if is_shown else all_vectors,
        deviations=np.concatenate([model.deviations, deviations]),
        sources=(model.origin, {"features": "in memory"}),
        origin={"model": "in memory"},
        learned=tuple(new),
        occurrences=nobody,
        contexts=nobody,
    )
