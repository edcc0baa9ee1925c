"""Words that tell groups of documents apart: how much more a group has of them than the others, and how sure that is.

The effect is the log-odds ratio with an informative Dirichlet prior (Monroe, Colaresi and Quinn 2008): as if each side
had said, beside its own documents, so many more that are like all text. Words come in bursts: a document that has a
word once has it more often than chance would give. So documents, not words, are what the test deals to groups by
chance, and over which intervals are taken. With c_d the count of a word in document d of length L_d, and r its share of
all words, a document exceeds what is expected by ``e_d = c_d - r L_d``; the test compares the sums of these of a group
and of the others, per word, each with its own variance.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from psdvec.arrays import Float64s, Int64s
from psdvec.counts.count import count_words
from psdvec.errors import InputError, StoreError, checked, demand_positive, demand_seed, import_extra
from psdvec.formats import load
from psdvec.kernels import kernel
from psdvec.options import ENCODING, TOKENIZER
from psdvec.pages.figures import rows_figure
from psdvec.pages.plots import Row, colour_at, draw_rows
from psdvec.pages.shell import Section, explained_table, figure, folded, make_page, paragraph, plots
from psdvec.progress import LogProgress, Progress, Shown, SilentProgress, count_of
from psdvec.resources import in_stretches, resolve_workers
from psdvec.slices.contrasts import ENOUGH, WIDTH, chances, check_permutations, false_discoveries, permuted
from psdvec.slices.reading import Sliced, check_given, corpus_of, read_slices
from psdvec.storage.artefact import Artefact, check_output, create_artefact, open_artefact, parse_json
from psdvec.text.readers import as_written
from psdvec.text.tokenizers import choose_tokenizer
from psdvec.topic_model.documents import Source, again_and_again
from psdvec.vectors.embeddings import Embeddings

KIND, VERSION = "distinctive", 1
SURE = 0.05  # false discoveries among the words that are called sure
_AT_ONCE = 1 << 22  # statistics of permutations that are held at once
_FEW, _TURNS = 200, 40  # units of a rare word at most, and how many times as many permutations it has
_MOST_TURNS = 1000  # where it could not be sure else
_DEALT = 1 << 32  # units times groups times permutations, at most
_NEARLY = 0.03  # of z: what is so near to it is as far out
_DRAWN, _LISTED = 20, 60  # words of a group in its plot, and in its table
_NAMED, _TOLD = 5, 12  # groups whose documents are told one by one, and words in the first sentence
HEAD = (
    "group", "word", "effect", "low", "high", "z", "p", "q", "count", "count elsewhere", "documents",
    "documents elsewhere",
)  # fmt: skip
_MEANINGS = {
    "effect": "log-odds ratio: 0.7 is twice as likely as in the other groups, 1.1 three times, 2.3 ten times",
    "low": "the lower end of its 95 % interval over documents, by which the words are in order",
    "high": "its upper end",
    "z": "how far the group is from the others, in standard errors over documents",
    "p": "how likely so large a z is if documents were dealt to groups by chance",
    "q": "the share of false discoveries among all words, of all groups, with a p no larger",
    "count": "how often the group has the word",
    "count elsewhere": "how often the other groups have it",
    "documents": "how many documents of the group have it",
    "documents elsewhere": "how many of the others",
}


@dataclass(frozen=True, eq=False, repr=False)
class Distinctive(Shown):
    """What :func:`distinctive` found: of each word and each group (words, groups), against all other groups.

    ``sizes``: how many documents each group has. ``counts``: how often it has a word, and ``having``: in how many of
    its documents. ``effect``: the log-odds ratio, with its 95 % interval from ``low`` to ``high``. ``z``, ``p`` and
    ``q``: of the test that deals documents to groups; q is over all words and groups.
    """

    groups: tuple[str, ...]
    sizes: tuple[int, ...]
    words: tuple[str, ...]
    counts: Int64s
    having: Int64s
    effect: Float64s
    low: Float64s
    high: Float64s
    z: Float64s
    p: Float64s
    q: Float64s
    permutations: int

    def __len__(self) -> int:
        return len(self.words)

    def _facts(self) -> dict[str, str]:
        first = {name: ", ".join(row[1] for row in self.rows(name, topn=5)) for name in self.groups[:6]}
        return {"size": f"{count_of(len(self), 'word')}, {count_of(len(self.groups), 'group')}", **first}

    @checked
    def rows(self, group: str, *, topn: int | None = None, fdr: float = SURE) -> list[tuple[Any, ...]]:
        """Return the rows of a table: the words that a group has more of, with q up to ``fdr``, most at least first."""
        if group not in self.groups:
            raise InputError(f"there is no group '{group}'; choose one of {', '.join(self.groups)}")
        g = self.groups.index(group)
        chosen = np.flatnonzero((self.q[:, g] <= fdr) & (self.effect[:, g] > 0))
        chosen = chosen[np.argsort(-self.low[chosen, g], kind="stable")][:topn]
        numbers = [getattr(self, name)[:, g] for name in ("effect", "low", "high", "z", "p", "q")]
        rest = [table.sum(axis=1) - table[:, g] for table in (self.counts, self.having)]
        return [
            (
                group, self.words[i], *(float(f"{values[i]:.6g}") for values in numbers), int(self.counts[i, g]),
                int(rest[0][i]), int(self.having[i, g]), int(rest[1][i]),
            )
            for i in chosen.tolist()
        ]  # fmt: skip

    @checked
    def to_frame(self, *, fdr: float = SURE) -> Any:
        """Return the rows of all groups as a pandas data frame, with q up to ``fdr``; 1 gives all words."""
        pandas = import_extra("pandas", extra="pandas", purpose="a data frame")
        return pandas.DataFrame(
            [row for name in self.groups for row in self.rows(name, fdr=fdr)], columns=HEAD
        )

    @checked
    def plot(self, group: str | None = None, *, topn: int = _DRAWN) -> Any:
        """Draw the words that a group has more of, with intervals; of two groups, by default, both to either side.

        Returns
        -------
        matplotlib.figure.Figure
            A notebook shows it; ``figure.savefig("words.png")`` keeps it.
        """
        demand_positive(topn, "topn")
        asked = self.groups[:1] if group is None and len(self.groups) > 2 else self.groups
        names = asked if group is None else (group,)
        drawn = [row for name in names for row in self._drawn(name, topn)]
        return rows_figure(
            drawn,
            title=f"Words of {' and '.join(names)}{'' if drawn else ': nothing for sure'}",
            x_title="log-odds against the others, 95 % interval over documents",
        )

    def _drawn(self, group: str, topn: int) -> list[Row]:
        rows = self.rows(group, topn=topn)
        colour = colour_at(self.groups.index(group))
        sign = -1.0 if len(self.groups) == 2 and group == self.groups[1] else 1.0
        found = []
        for _, word, effect, low, high, *_ in rows:
            ends = sorted((sign * low, sign * high))
            found.append(Row(word, sign * effect, f"{effect:.2f}", colour, ends[0], ends[1]))
        return found

    @checked
    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the folder ``path``: ``distinctive.csv``, ``distinctive.json`` and the page ``distinctive.html``."""
        rows = {name: self.rows(name) for name in self.groups}
        table = StringIO()
        csv.writer(table, lineterminator="\n").writerows(
            [HEAD, *(row for own in rows.values() for row in own)]
        )
        told = {
            "groups": [
                {
                    "group": name,
                    "documents": size,
                    "words": [dict(zip(HEAD[1:], row[1:], strict=True)) for row in rows[name]],
                }
                for name, size in zip(self.groups, self.sizes, strict=True)
            ],
            "compared": len(self),
            "permutations": self.permutations,
        }
        parameters = {
            "groups": list(self.groups), "sizes": list(self.sizes), "documents": sum(self.sizes),
            "words": len(self), "permutations": self.permutations,
        }  # fmt: skip
        with create_artefact(
            path, kind=KIND, version=VERSION, parameters=parameters, sources=[], overwrite=overwrite
        ) as writer:
            writer.add_text("distinctive.csv", as_written(table.getvalue()))
            writer.add_text(
                "distinctive.json", as_written(json.dumps(told, ensure_ascii=False, indent=1) + "\n")
            )
            writer.add_text("distinctive.html", as_written(_as_html(self)))


def read_distinctive(path: str | Path | Artefact) -> dict[str, Any]:
    """Return what ``distinctive.json`` tells in the folder ``path``."""
    artefact = open_artefact(path, kind=KIND, version=VERSION)
    found = parse_json(artefact.file("distinctive.json").read_text(encoding="utf-8"))
    if not isinstance(found, dict) or "groups" not in found:
        raise StoreError(f"'{artefact.path}' is damaged: its distinctive.json holds no groups; make it again")
    return found


@checked
def distinctive(
    documents: Source | None = None,
    *,
    by: str | None = None,
    slices: Mapping[str, Any] | None = None,
    model: Embeddings | str | Path | None = None,
    unit: str | None = None,
    column: str | None = None,
    where: Mapping[str, Any] | None = None,
    encoding: str = ENCODING,
    tokenizer: str | Callable[[str], Any] | None = None,
    min_documents: int = 5,
    prior: float = 10.0,
    permutations: int = 500,
    seed: int = 0,
    workers: int | None = None,
    output: str | Path | None = None,
    overwrite: bool = False,
    quiet: bool = False,
    progress: Progress = LogProgress(),
) -> Distinctive:
    """Find the words that each group of documents has more of than the others, how much more, and how sure that is.

    Parameters
    ----------
    documents, by
        Files, texts or a table, as for :func:`psdvec.topics`, and the field that says which group a document is of.
        Dates are put into years, decades or months, whichever gives at most 24 groups.
    slices
        In place of both: documents by the name of their group.
    model
        Vectors of other text, with counts: its words are looked at, and its counts are the prior. If None, the words
        and counts of all documents.
    unit
        Field whose documents belong together, such as the speaker: chance deals all of them to one group, or none.
    column, where, encoding, tokenizer
        As for :func:`psdvec.topics`; without a model, texts are cut by ``"unicode"``.
    min_documents
        Words that fewer documents have, or fewer units, are left out.
    prior
        How many average documents of ordinary text each side has beside its own: more of them draw the effects of rare
        words towards 0.
    permutations
        How often documents are dealt to groups at random, for the test.
    seed, workers
        Of the permutations; threads, for any number of which the result is the same.
    output
        A folder for a table, a page and JSON.

    Examples
    --------
    >>> sea, hill = "the ship sails the sea", "the path climbs the hill"
    >>> records = [{"text": text, "place": place} for text, place in [(sea, "sea"), (hill, "hill")] * 20]
    >>> found = distinctive(records, by="place", permutations=100, quiet=True)
    >>> sorted(row[1] for row in found.rows("sea")), found.p[found.words.index("the"), 0] > 0.9
    (['sails', 'sea', 'ship'], np.True_)
    """
    progress = SilentProgress() if quiet else progress
    demand_positive(min_documents, "min_documents")
    demand_seed(seed)
    check_permutations(permutations)
    if not 0 < prior < 1e9:
        raise InputError(f"the prior is {prior}; give a number of documents above 0, such as 10")
    threads = resolve_workers(workers)
    check_given(documents, by, slices)
    if output is not None:
        check_output(output, overwrite=overwrite)
    documents = None if documents is None else again_and_again(documents)
    slices = None if slices is None else {str(name): again_and_again(one) for name, one in slices.items()}
    how: dict[str, Any] = {"column": column, "where": where, "encoding": encoding}
    embeddings = _words_of(model, documents, slices, tokenizer, min_documents, workers, progress, **how)
    sliced = read_slices(
        embeddings, documents, by=by, slices=slices, unit=unit, tokenizer=tokenizer if model is not None else None,
        progress=progress, **how,
    )  # fmt: skip
    if sliced.counted:
        raise InputError("counts know of no documents, which the test needs; give texts for every group")
    found = compare_groups(
        embeddings, sliced, has_prior=model is not None, min_documents=min_documents, prior=prior,
        permutations=permutations, seed=seed, threads=threads, progress=progress,
    )  # fmt: skip
    if output is not None:
        found.save(output, overwrite=overwrite)
    return found


def compare_groups(
    embeddings: Embeddings,
    sliced: Sliced,
    *,
    has_prior: bool,
    min_documents: int,
    prior: float,
    permutations: int,
    seed: int,
    threads: int,
    progress: Progress,
) -> Distinctive:
    """Compare groups of documents that were read; the prior is their own words, unless ``embeddings`` ``has_prior``."""
    used = _uses(sliced, len(embeddings))
    ids = np.flatnonzero(np.diff(used.starts) >= min_documents)
    if not ids.size:
        raise InputError(
            f"no word is in {count_of(min_documents, 'document')} or more; ask for fewer: min_documents=N"
        )
    own = used.counts.sum(axis=1).astype(np.float64)
    counts = np.asarray(embeddings.counts, np.float64) if has_prior else own
    total = float(counts.sum() if has_prior else used.lengths.sum())
    strength = prior * float(used.lengths.sum()) / max(sum(sliced.sizes), 1)
    effect, error = _effects(used, ids, strength * counts[ids] / total, strength)
    z, p = _tested(used, ids, permutations, seed, threads, progress)
    q = false_discoveries(p.reshape(-1)).reshape(p.shape)
    words = [str(embeddings.index_to_key[i]) for i in ids.tolist()]
    return Distinctive(
        sliced.names, sliced.sizes, tuple(words), used.counts[ids], used.documents[ids], effect,
        effect - WIDTH * error, effect + WIDTH * error, z, p, q, permutations,
    )  # fmt: skip


def _words_of(
    model: Embeddings | str | Path | None,
    documents: Source | None,
    slices: Mapping[str, Any] | None,
    tokenizer: str | Callable[[str], Any] | None,
    min_documents: int,
    workers: int | None,
    progress: Progress,
    **how: Any,
) -> Embeddings:
    """Return the words to look at with their counts: those of a model, or of all documents, which need no vectors."""
    if model is not None:
        embeddings = model if isinstance(model, Embeddings) else load(model, progress=progress)
        if embeddings.counts is None:
            raise InputError(
                "these vectors have no counts of words, which the prior is made of; give a model, or none"
            )
        return embeddings
    sources = [documents] if slices is None else list(slices.values())
    corpus, options = corpus_of(sources, **how)
    own = tokenizer if tokenizer is not None else TOKENIZER
    is_cut = not options and bool(corpus) and not isinstance(corpus[0], str)
    cutting: dict[str, Any] = {} if is_cut else {"tokenizer": own}
    vocabulary = count_words(
        corpus, min_count=min_documents, workers=workers, progress=progress, **cutting, **options
    )
    vectors = np.zeros((len(vocabulary), 1), np.float32)
    return Embeddings(vocabulary.words, vectors, vocabulary.counts, tokenizer=choose_tokenizer(own))


class _Uses(NamedTuple):
    """How often units, u of them, use words: ``starts`` int64[n+1], ``units`` and ``times`` by word.

    ``owners`` (u,): the group of each unit; ``lengths`` (u,): its words. ``counts``, ``documents`` (n, groups).
    """

    starts: Int64s
    units: Int64s
    times: Float64s
    owners: Int64s
    lengths: Float64s
    counts: Int64s
    documents: Int64s


def _uses(sliced: Sliced, words: int) -> _Uses:
    """Count what units use, of those documents that are of a group."""
    read = sliced.documents
    groups = len(sliced.names)
    lengths = np.diff(read.starts)
    of_token = np.repeat(np.arange(len(read)), lengths)
    is_used = (read.tokens >= 0) & (sliced.owners[of_token] >= 0)
    tokens, documents = read.tokens[is_used].astype(np.int64), of_token[is_used]
    counts = np.bincount(tokens * groups + sliced.owners[documents], minlength=words * groups)
    pairs = np.unique(tokens * len(read) + documents)
    having = np.bincount(
        pairs // len(read) * groups + sliced.owners[pairs % len(read)], minlength=words * groups
    )
    inside = np.flatnonzero(sliced.owners >= 0)
    kept, units = np.unique(sliced.units[inside], return_inverse=True)
    unit_of = np.full(len(read), -1)
    unit_of[inside] = units
    owners = np.zeros(len(kept), np.int64)
    owners[units] = sliced.owners[inside]
    found, times = np.unique(tokens * len(kept) + unit_of[documents], return_counts=True)
    return _Uses(
        np.searchsorted(found, np.arange(words + 1) * len(kept)), found % len(kept), times.astype(np.float64), owners,
        np.bincount(units, weights=lengths[inside], minlength=len(kept)).astype(np.float64),
        counts.reshape(words, groups), having.reshape(words, groups),
    )  # fmt: skip


def _effects(used: _Uses, ids: Int64s, prior: Float64s, strength: float) -> tuple[Float64s, Float64s]:
    """Return the log-odds ratios of words and groups, and their standard errors over units, (words, groups).

    The log-odds of a side move with the count of a unit by ``(c - r L) / ((y + a) (1 - r))``, r the side's own share;
    their variance is never less than 1 / (y + a), that of words drawn one by one.
    """
    groups = used.counts.shape[1]
    effect, error = (np.zeros((len(ids), groups)) for _ in range(2))
    lengths = np.bincount(used.owners, weights=used.lengths, minlength=groups)
    squares = np.bincount(used.owners, weights=used.lengths**2, minlength=groups)
    sizes = np.bincount(used.owners, minlength=groups)
    word_of = np.repeat(np.arange(len(used.starts) - 1), np.diff(used.starts))
    cells = word_of * groups + used.owners[used.units]
    of_word = used.lengths[used.units]

    def summed(values: Float64s) -> Float64s:
        table: Float64s = np.bincount(cells, weights=values, minlength=used.counts.size).astype(np.float64)
        return table.reshape(-1, groups)[ids]

    sums = used.counts[ids].astype(np.float64), summed(used.times**2), summed(used.times * of_word)
    for g in range(groups):
        variance = np.zeros(len(ids))
        for sign, side in ((1, np.arange(groups) == g), (-1, np.arange(groups) != g)):
            y, cc, cl = (table[:, side].sum(axis=1) for table in sums)
            n, ll, m = lengths[side].sum(), squares[side].sum(), sizes[side].sum()
            odds = (y + prior) / np.maximum(n + strength - y - prior, 1e-9)
            share = (y + prior) / (n + strength)
            own = y / n  # so that what units exceed adds up to nothing
            spread = (cc - 2 * own * cl + own**2 * ll) * m / max(m - 1, 1)
            drawn = 1 / (y + prior)
            variance += np.maximum(spread / ((y + prior) * (1 - share)) ** 2, drawn)
            effect[:, g] += sign * np.log(odds)
        error[:, g] = np.sqrt(variance)
    return effect, error


def _tested(
    used: _Uses, ids: Int64s, permutations: int, seed: int, threads: int, progress: Progress
) -> tuple[Float64s, Float64s]:
    """Return z and p of all words and groups, (words, groups).

    What few units have can only be dealt in a few ways, so that no tail tells how far out a value is; the permutations
    beyond it are counted, of more and more of them until enough are, or until words that none is beyond could be called
    sure, however many words are tested. A small group mostly lacks a rare word: the two sides are not alike, and p is
    twice that of the nearer one.
    """
    z, p = (np.zeros((len(ids), used.counts.shape[1])) for _ in range(2))
    above, below = np.zeros(z.shape, np.int64), np.zeros(z.shape, np.int64)
    done = np.full((len(ids), 1), permutations)
    is_rare = np.diff(used.starts)[ids] <= _FEW
    with (
        ThreadPoolExecutor(threads) as pool,
        progress.stage("testing", total=len(ids), unit="words") as stage,
    ):
        for part, found in _compared(used, ids, permutations, seed, pool, threads):
            z[part], null = found[:, :, 0], found[:, :, 1:]
            above[part], below[part] = _beyond(z[part], null)
            for g in range(z.shape[1]):
                one, other = chances(z[part, g], null[:, g]), chances(-z[part, g], -null[:, g])
                p[part, g] = 2 * np.minimum(one, other)
            stage.advance(len(found))
        dealt = len(used.owners) * z.shape[1] * permutations  # in a turn
        for turn in range(1, max(_TURNS, min(_MOST_TURNS, _DEALT // dealt))):
            beyond = np.minimum(above, below)
            open_ones = np.flatnonzero(is_rare & (beyond < ENOUGH).any(axis=1))
            if not open_ones.size or (
                turn >= _TURNS and _are_told(beyond[open_ones], turn * permutations, z.size)
            ):
                break
            if turn.bit_count() == 1:
                stage.note(f"{count_of(len(open_ones), 'rare word')} once more")
            for part, found in _compared(used, ids[open_ones], permutations, seed + turn, pool, threads):
                own = open_ones[part]
                more = _beyond(z[own], found[:, :, 1:])
                above[own], below[own] = above[own] + more[0], below[own] + more[1]
                done[own] += permutations
    p[is_rare] = (2 * (1 + np.minimum(above, below)) / (1 + done))[is_rare]
    return z, np.minimum(p, 1)


def _beyond(z: Float64s, null: Float64s) -> tuple[Int64s, Int64s]:
    """Return how many permutations are as far out as z, above and below.

    Nearly as far is enough: how long documents are must not decide between deals of a word that are alike.
    """
    near = _NEARLY * np.abs(z)
    return (null >= (z - near)[:, :, None]).sum(axis=2), (null <= (z + near)[:, :, None]).sum(axis=2)


def _are_told(beyond: Int64s, permutations: int, tests: int) -> bool:
    """Tell whether all words that no permutation went beyond can be called sure, or there are none."""
    surest = int((beyond == 0).sum())
    return not surest or 2 * tests / (1 + permutations) <= SURE * surest


def _compared(
    used: _Uses, ids: Int64s, permutations: int, seed: int, pool: ThreadPoolExecutor, threads: int
) -> Iterator[tuple[slice, Float64s]]:
    """Yield stretches of words with how far each group is from all others: as units are dealt, and in permutations."""
    groups = used.counts.shape[1]
    orders = np.stack([used.owners, *permuted(used.owners, permutations, seed=seed)], axis=1).astype(np.uint8)
    lengths, squares = (np.zeros((groups, permutations + 1)) for _ in range(2))
    for g in range(groups):
        is_own = orders == g
        lengths[g], squares[g] = used.lengths @ is_own, used.lengths**2 @ is_own
    step = max(_AT_ONCE // (groups * (permutations + 1)), threads)
    for begin in range(0, len(ids), step):
        part = slice(begin, min(begin + step, len(ids)))

        def compare(one: int, other: int, chosen: Int64s = ids[part]) -> Float64s:
            found: Float64s = _compare(
                used.starts, used.units, used.times, used.lengths, orders, lengths, squares, chosen[one:other]
            )  # fmt: skip
            return found

        yield part, np.concatenate(in_stretches(pool, compare, part.stop - begin, threads=threads))


# starts int64[n+1], units int64[k], times float64[k], unit_lengths float64[u]; orders uint8[u, ways]; lengths, squares
# float64[groups, ways]; ids int64[w]; returns float64[w, groups, ways]
@kernel
def _compare(starts, units, times, unit_lengths, orders, lengths, squares, ids):
    """Return how far each group is from all others in some words, in standard errors, in each way to deal units."""
    groups, ways = lengths.shape
    total = unit_lengths.sum()
    found = np.zeros((len(ids), groups, ways))
    c, cc, cl = np.zeros((groups, ways)), np.zeros((groups, ways)), np.zeros((groups, ways))
    for w in range(len(ids)):
        c[:], cc[:], cl[:] = 0, 0, 0
        every = every_cc = every_cl = 0.0
        for k in range(starts[ids[w]], starts[ids[w] + 1]):
            u, t = units[k], times[k]
            tt, tl = t * t, t * unit_lengths[u]
            every, every_cc, every_cl = every + t, every_cc + tt, every_cl + tl
            for way in range(ways):
                g = orders[u, way]
                c[g, way] += t
                cc[g, way] += tt
                cl[g, way] += tl
        r = every / total
        all_squares = 0.0
        for g in range(groups):
            all_squares += squares[g, 0]
        for g in range(groups):
            for way in range(ways):
                own, rest = lengths[g, way], total - lengths[g, way]
                apart = (c[g, way] - r * own) / own - (every - c[g, way] - r * rest) / rest
                spread = cc[g, way] - 2 * r * cl[g, way] + r * r * squares[g, way]
                others = every_cc - cc[g, way] - 2 * r * (every_cl - cl[g, way])
                others += r * r * (all_squares - squares[g, way])
                variance = max(spread, 0.0) / own**2 + max(others, 0.0) / rest**2
                found[w, g, way] = apart / np.sqrt(variance) if variance > 0 else 0.0
    return found


# The page.


def _as_html(found: Distinctive) -> str:
    sizes = zip(found.groups, found.sizes, strict=True)
    groups = ", ".join(f"{name}: {count_of(size, 'document')}" for name, size in sizes)
    if len(found.groups) > _NAMED:
        groups = f"Between {min(found.sizes):,} and {max(found.sizes):,} documents in each"
    told = max(1, min(5, _TOLD // len(found.groups)))
    first = [
        f"{name}: {', '.join(row[1] for row in found.rows(name, topn=told)) or 'nothing for sure'}"
        for name in found.groups
    ]
    tables, many = {name: _table(found, name) for name in found.groups}, len(found.groups) > _NAMED
    between = " and ".join(found.groups) if len(found.groups) == 2 else count_of(len(found.groups), "group")
    return make_page(
        f"Words that tell {between} apart",
        f"{'; '.join(first) if told == 1 else '. '.join(first)}.",
        [
            Section("Most, at least", plots([_plot(found, name) for name in found.groups])),
            *(Section(f"Words of {name}", one) for name, one in tables.items() if not many),
            Section(
                "All numbers",
                "".join(folded(f"Words of {name}", one) for name, one in tables.items() if many),
            ),
        ],
        about=f"{groups}; {count_of(len(found), 'word')} compared. Of the words shown, {100 * SURE:.0f} % at most are "
        "expected to be there by chance, where documents, not words, are what chance deals.",
    )


def _plot(found: Distinctive, name: str) -> str:
    rows = [
        Row(word, effect, f"{effect:.2f}", colour_at(found.groups.index(name)), low, high)
        for _, word, effect, low, high, *_ in found.rows(name, topn=_DRAWN)
    ]
    if not rows:
        return ""
    return figure(
        name,
        draw_rows(rows, label=f"Words of {name}"),
        note="Log-odds, with the 95 % interval over documents.",
    )


def _table(found: Distinctive, name: str) -> str:
    rows = found.rows(name)
    cells = [
        [f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row[1:]]
        for row in rows[:_LISTED]
    ]
    more = f"{len(rows) - _LISTED:,} more are in distinctive.csv." if len(rows) > _LISTED else ""
    return (
        explained_table(HEAD[1:], cells, _MEANINGS) + paragraph(more)
        if cells
        else paragraph("None for sure.")
    )
