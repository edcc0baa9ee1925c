"""The options of counting and fitting with their defaults, each written once, and recipes.

:class:`Counting` and :class:`Fitting` are what :func:`psdvec.count_pairs` and :func:`psdvec.fit` are asked for, held to
what makes sense before any work begins. A :class:`Recipe` is every setting that decides which vectors come out of a
count store, made from the name of a known one and the settings to change. It is written into the model, so that nothing
has to be guessed later. The symbols are those of ``docs/theory.md``. The command line shows these defaults without
loading NumPy for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from psdvec.errors import InputError, check_fields, demand_positive, demand_seed
from psdvec.progress import Shown
from psdvec.resources import parse_size

if TYPE_CHECKING:
    from psdvec.arrays import Int64s

TOKENIZER, ERRORS, ENCODING = "unicode", "replace", "utf-8"  # how text is read
NUMBERS = PUNCTUATION = "keep"
SPECTRA = ("signed", "positive")
STARTS = ("zero", "half")
UNIGRAMS = ("corpus", "model")  # of these and of the two above, the first is the default
DIM = 300  # dimensions, and the most that "auto" chooses
BASKET = "basket"  # the weighting of items whose order says nothing
LONGEST = 16  # words of a phrase that is looked for
HUGE = 1e15  # no number of a recipe is as large: half precision ends long before
RIDGES = tuple(4.0**k / 2 for k in range(8))  # what "auto" tries


def parse_ridge(text: str) -> Callable[[int], tuple[float, ...]]:
    """Read μ as ``"auto"``, a number, or bands by rank, and return a function from a word's rank to the μ to try.

    Bands are ``μ:last rank`` in rising order; a last one without a rank holds for all further words.

    >>> parse_ridge("2:80000,4:130000,8")(100_000)
    (4.0,)
    """
    if text == "auto":
        return lambda rank: RIDGES
    try:
        parts = [band.partition(":") for band in text.split(",")]
        bands = [(float(mu), int(last) if last else None) for mu, _, last in parts]
    except ValueError:
        bands = []
    ranks = [math.inf if last is None else last for _, last in bands]
    sound = all(0 <= mu < HUGE for mu, _ in bands)
    if not bands or not sound or ranks != sorted(ranks) or ranks.count(math.inf) > 1:
        raise InputError(
            f"'{text}' is not a ridge; give auto, a number, or rising bands such as 2:80000,4:130000,8"
        )
    return lambda rank: (next((mu for mu, last in bands if last is None or rank <= last), bands[-1][0]),)


@dataclass(frozen=True)
class Recipe(Shown):
    """The settings of one way to make vectors.

    Parameters
    ----------
    smoothing
        κ of equation (1): the share of the independent model in the smoothed probabilities.
    background
        β of equation (3): the share of the expected count in the weights, so that unseen pairs matter.
    exponent
        p of equation (3): weights grow with the smoothed count to this power.
    saturation
        The smoothed count at which a pair of average words has weight 1; 0 leaves it to ``cut``.
    cut
        The share of seen pairs whose weight is cut off at 1, where ``saturation`` is 0.
    majoriser
        γ of equation (4): the majoriser grows with the word's frequency to this power.
    emphasis
        δ of equation (4): errors of a word weigh its frequency to this power, squared.
    unigram
        α of equation (1): focus words' frequencies are raised to this power.
    diagonal
        Whether a word beside itself is a pair like any other; otherwise it has weight 0.
    negligible
        Seen pairs whose weighted target differs from an unseen pair's by less are treated as unseen, except among
        the most frequent words, where keeping them costs nothing.
    spectrum
        ``"signed"`` keeps both ends of the spectrum, ``"positive"`` is the paper's PSD constraint.
    start
        The first approximation: ``"zero"``, or ``"half"`` of the PMI matrix as in the paper.
    head
        The first approximation is made for this many of the most frequent words and carried over to the others
        by one product; for all words, if 0.
    exact
        Whether the eigenpairs of every round are iterated, over all words, until they are exact to float32, as in the
        paper; otherwise they are approximate, and depend a little on the seed.
    rounds, relaxation, momentum
        The number of rounds of equation (7); the length ω of their step, where 1 is the plain majoriser; and how far
        they look ahead along the last step, θ.
    ridge
        μ of equation (10) for words placed later: ``"auto"``, a number, or bands ``"2:80000,4:130000"``.
    damping
        η of equation (9): the weight with which fitted values of words placed later are held at 0, which stands for
        the few rounds that words fitted together get.
    power
        Of the eigenvalues in the vectors, equation (13); in the factorisation it is 1/2.
    spelling
        τ of equation (18): how much letters know of what contexts know of a word, from which follows how much both
        count in its vector; 0 is off.
    spelling_ridge, spelling_noise
        λ of equation (14), and c₀: how often a word must have been seen for its vector to count half of what it may.
    own_cap
        Whether ``cut`` is taken anew over the pairs of core words with words placed later, as the original program
        did; these pairs are rarer, so that more of them weigh much.
    """

    smoothing: float = 0.2
    background: float = 0.2
    exponent: float = 0.5
    saturation: float = 1.0
    cut: float = 0.0
    majoriser: float = 0.2
    emphasis: float = 0.2
    unigram: float = 0.85
    diagonal: bool = True
    negligible: float = 0.13
    spectrum: str = "signed"
    start: str = "zero"
    head: int = 12_500
    exact: bool = False
    rounds: int = 6
    relaxation: float = 1.5
    momentum: float = 0.5
    ridge: str = "0.5"
    damping: float = 0.04
    power: float = 0.35
    spelling: float = 0.7
    spelling_ridge: float = 2.0
    spelling_noise: float = 20.0
    own_cap: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        for name, holds, wanted in (
            ("smoothing", 0 < self.smoothing < 1, "a number between 0 and 1"),
            ("background", 0 <= self.background < 1, "a number from 0 to below 1"),
            ("exponent", 0 <= self.exponent <= 1, "a number from 0 to 1"),
            ("saturation", 0 <= self.saturation < HUGE, "a positive count, or 0 to use the cut"),
            ("cut", 0 <= self.cut < 1, "a share from 0 to below 1"),
            ("own_cap", not (self.own_cap and self.saturation), "saturation 0 with it"),
            ("majoriser", 0 <= self.majoriser <= 1, "a number from 0 to 1"),
            ("emphasis", 0 <= self.emphasis <= 1, "a number from 0 to 1"),
            ("unigram", 0 <= self.unigram <= 1, "a number from 0 to 1"),
            ("negligible", self.negligible >= 0, "0 or a positive number"),
            ("spectrum", self.spectrum in SPECTRA, " or ".join(SPECTRA)),
            ("start", self.start in STARTS, " or ".join(STARTS)),
            ("rounds", self.rounds >= 1, "a number of rounds, at least 1"),
            ("damping", 0 <= self.damping < HUGE, "a weight from 0 to below 1e15"),
            ("head", self.head >= 0, "a number of words, or 0 for all"),
            ("momentum", 0 <= self.momentum < 1, "a share from 0 to below 1"),
            ("power", 0 <= self.power <= 1, "a number from 0 to 1"),
            ("spelling", 0 <= self.spelling < HUGE, "off or a number from 0 to below 1e15"),
            ("spelling_ridge", 0 < self.spelling_ridge < HUGE, "a positive number below 1e15"),
            ("spelling_noise", 0 <= self.spelling_noise < HUGE, "a number from 0 to below 1e15"),
            ("relaxation", 0 < self.relaxation < 2, "a step between 0 and 2"),
        ):
            if not holds:
                raise InputError(f"{name} is {str(getattr(self, name))[:40]}; give {wanted}")
        parse_ridge(self.ridge)

    def _facts(self) -> dict[str, str]:
        return {"name": self.name, **{one.name: str(getattr(self, one.name)) for one in fields(self)}}

    @property
    def name(self) -> str:
        """The name of the recipe with these numbers, and the numbers that differ from the nearest one.

        >>> make_recipe("paper", rounds=6).name
        'paper, rounds 6'
        """
        changes = {
            name: [
                field.name
                for field in fields(Recipe)
                if getattr(self, field.name) != getattr(known, field.name)
            ]
            for name, known in RECIPES.items()
        }
        nearest = min(changes, key=lambda name: len(changes[name]))
        return ", ".join([nearest, *(f"{number} {getattr(self, number)}" for number in changes[nearest])])


_PAPER = Recipe(
    smoothing=0.02,
    background=0.0,
    saturation=0.0,
    cut=0.0002,
    majoriser=0.0,
    emphasis=0.0,
    unigram=1.0,
    diagonal=False,
    negligible=0.0,
    spectrum="positive",
    start="half",
    head=0,
    exact=True,
    rounds=4,
    relaxation=1.0,
    momentum=0.0,
    ridge="2:80000,4:130000,8",
    damping=0.0,
    power=0.5,
    spelling=0.0,
)

_GRAPH = Recipe(
    smoothing=0.1,
    exponent=0.0,
    majoriser=0.0,
    unigram=1.0,
    negligible=0.0,
    rounds=2,
    relaxation=1.0,
    momentum=0.0,
    damping=0.0,
    power=0.5,
    spelling=0.0,
)

RECIPES: Mapping[str, Recipe] = {
    "default": Recipe(),
    "graph": _GRAPH,
    "paper": _PAPER,
    "original": replace(_PAPER, damping=0.0005, own_cap=True),
}


def make_recipe(name: str = "default", **changes: Any) -> Recipe:
    """Return the recipe ``name`` with ``changes``; a change that is None leaves the setting as it is.

    ``spelling`` may also be ``"off"``.

    >>> make_recipe("paper", rounds=6).rounds
    6
    """
    if name not in RECIPES:
        raise InputError(f"there is no recipe '{name}'; choose one of: {', '.join(RECIPES)}")
    known = {field.name for field in fields(Recipe)}
    unknown = sorted(set(changes) - known)
    if unknown:
        raise InputError(f"a recipe has no '{unknown[0]}'; it has: {', '.join(sorted(known))}")
    given = {key: value for key, value in changes.items() if value is not None}
    if given.get("spelling") == "off":
        given["spelling"] = 0.0
    if "ridge" in given:
        given["ridge"] = str(given["ridge"])
    return replace(RECIPES[name], **given)


@dataclass(frozen=True)
class Counting:
    """The options that decide the counts: which words (``given`` ones or the frequent ones), and how pairs count.

    ``weighting`` :data:`BASKET` counts every pair of a basket once, whatever the window. ``keys`` is the kind of the
    words (:func:`psdvec.counts.vocabulary.kind_of`).

    The other options of counting (memory, workers, a cluster) make no difference to the result.
    """

    min_count: int = 5
    max_words: int | None = None
    window: int = 20
    weighting: str = "harmonic"
    gaps: str = "keep"
    given: tuple[Any, ...] | None = None
    keys: str = "str"

    def __post_init__(self) -> None:
        check_fields(self)
        demand_positive(self.min_count, "min_count")
        demand_positive(self.max_words, "max_words")
        if self.gaps not in ("keep", "close"):
            raise InputError(f"gaps='{self.gaps}' is unknown; choose keep or close")
        self.weights  # noqa: B018 - refuses a wrong window or weighting

    @cached_property
    def weights(self) -> Int64s:
        """int64[window]: what a pair counts at distance 1, 2, ... (equation (H) of docs/theory.md); one for baskets."""
        from psdvec.counts.matrix import pair_weights

        return pair_weights(self.window, self.weighting)


@dataclass(frozen=True)
class Finding:
    """The options that decide which phrases are found; see :func:`psdvec.find_phrases`."""

    min_count: int = 5
    min_score: float = 0.4
    fdr: float = 0.001
    max_length: int = 5

    def __post_init__(self) -> None:
        check_fields(self)
        demand_positive(self.min_count, "min_count")
        for name, holds, wanted in (
            ("min_score", -1 <= self.min_score <= 1, "a number from -1 to 1"),
            ("fdr", 0 < self.fdr <= 1, "a share above 0 and up to 1, such as 0.001"),
            ("max_length", 2 <= self.max_length <= LONGEST, f"a number of words from 2 to {LONGEST}"),
        ):
            if not holds:
                raise InputError(f"{name} is {getattr(self, name)}; give {wanted}")


@dataclass(frozen=True)
class Fitting:
    """The options that decide what is fitted; see :func:`psdvec.fit`."""

    dim: int | Literal["auto"] = DIM
    recipe: str = "default"
    changes: Mapping[str, Any] | None = None
    core: int | None = None
    max_words: int | None = None
    min_contexts: int = 5
    seed: int = 0
    memory: float | str | None = None
    device: str = "cpu"

    def __post_init__(self) -> None:
        check_fields(self)
        if isinstance(self.dim, str) and self.dim != "auto":
            raise InputError(f'dim is {self.dim[:40]!r}; give a whole number, or "auto"')
        for name in ("most_dim", "core", "max_words", "min_contexts"):
            demand_positive(getattr(self, name), "dim" if name == "most_dim" else name)
        demand_seed(self.seed)
        if self.memory is not None:
            parse_size(self.memory)
        self.settings  # noqa: B018 - refuses a wrong recipe

    @property
    def most_dim(self) -> int:
        """The dimensions, or the most that ``"auto"`` chooses."""
        return DIM if self.dim == "auto" else self.dim

    @cached_property
    def settings(self) -> Recipe:
        """The recipe with the changes."""
        return make_recipe(self.recipe, **(self.changes or {}))
