"""A model in few bytes that still takes new words: rows in eight bits, fewer n-grams in three, no vectors.

:func:`compact` writes such a folder, which :func:`psdvec.load` opens as any other, and ``extend``, ``explore`` and all
else take: vectors are mixed from rows and n-grams when it is opened, equations (13) and (15). A new word needs no pairs
of old ones, only their rows and sums, equation (9), so that no counts need to be handed on. What psdvec publishes for
other programs is in :mod:`psdvec.publishing.publish`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from psdvec.arrays import Float32s
from psdvec.errors import InputError, checked, demand_positive
from psdvec.formats import load
from psdvec.progress import LogProgress, Progress, SilentProgress
from psdvec.publishing.card import Loss, one_line
from psdvec.publishing.publish import measure_loss
from psdvec.vectors.model import ABOUT, Model, write_model
from psdvec.vectors.subwords import Subwords, learn_subwords, mix, mixing_factors, own_pull, unit_rows

LARGEST = 3  # of the codes of n-grams: three bits, which is what they take in a compressed archive


@checked
def compact(
    model: Model,
    folder: str | Path,
    *,
    ngrams: int | None = None,
    about: Mapping[str, str] | None = None,
    overwrite: bool = False,
    quiet: bool = False,
    progress: Progress = LogProgress(),
) -> Loss:
    """Write ``model`` as a compact folder, and return what is lost by that.

    Parameters
    ----------
    model
        A model all of whose words were fitted together.
    folder
        What to write; only a model is ever replaced, with ``overwrite``.
    ngrams
        How many n-grams of letters to keep, those that the most words share; all of them, if None. They are learned
        anew, so that what is left says what it can.
    about
        What the model tells of itself, where it tells another thing or none: ``"title"``, ``"licence"`` and
        ``"attribution"``, each a line of text.

    Examples
    --------
    >>> import tempfile
    >>> import psdvec
    >>> model = psdvec.train([["to", "be", "or", "not", "to", "be"]] * 9, dim=2, quiet=True)
    >>> with tempfile.TemporaryDirectory() as place:
    ...     loss = compact(model, f"{place}/small", about={"licence": "CC0-1.0"}, quiet=True)
    ...     psdvec.load(f"{place}/small").about["licence"]
    'CC0-1.0'
    """
    progress = SilentProgress() if quiet else progress
    demand_positive(ngrams, "ngrams")
    if model.core < len(model):
        raise InputError(
            f"{len(model) - model.core:,} words of the model were placed later; fit all of its words together"
        )
    told = {**model.about, **_check_about(dict(about or {}))}
    small = _with_fewer_ngrams(replace(model, about=told), ngrams, progress)
    write_model(small, folder, is_compact=True, overwrite=overwrite)
    return measure_loss(model, load(folder, progress=progress))


def _check_about(about: dict[str, str]) -> dict[str, str]:
    for name, said in about.items():
        if name not in ABOUT or not isinstance(said, str) or not said.strip() or one_line(said) != said:
            raise InputError(f"about[{name!r}] is {said!r:.60}; give lines of text for {', '.join(ABOUT)}")
    return about


def _with_fewer_ngrams(model: Model, ngrams: int | None, progress: Progress) -> Model:
    """Return ``model`` with n-grams that are learned anew, and the vectors and deviations that follow from them."""
    if model.subwords is None:
        return model
    units, lengths = unit_rows(np.asarray(model.rows), model.stretch)
    subwords = learn_subwords(
        model.words, units, model.counts, length=float(lengths.mean()), recipe=model.recipe,
        most=ngrams, largest=LARGEST, progress=progress,
    )  # fmt: skip
    if subwords is None:
        return model
    spelled = subwords.predict(model.words)
    before = _mixing_factors(model, model.subwords, model.subwords.predict(model.words))
    return replace(
        model,
        subwords=subwords,
        vectors=mix(model.rows, model.stretch, spelled, share=subwords.share),
        deviations=model.deviations * (_mixing_factors(model, subwords, spelled) / before),
    )


def _mixing_factors(model: Model, subwords: Subwords, spelled: Float32s) -> Float32s:
    """Return what mixing with spelling multiplies the deviation of each word by."""
    own = own_pull(subwords, model.counts, noise=model.recipe.spelling_noise)
    return mixing_factors(model.rows, model.stretch, spelled, own, share=subwords.share)
