"""From the words that topics are expected to have, to the topics: equation (23) of ``docs/topic-model.md``.

Each topic maximises a concave function of d numbers. A step goes to the top of the parabola that touches it where the
topic is now: ``H x = g`` with the exact H, for all topics at once, by conjugate gradients. They need H only times
vectors, which takes n × d operations a topic, and are preconditioned by the covariance of all text. A topic whose value
would fall takes half the step, and so on.
"""

from __future__ import annotations

import numpy as np

from psdvec.arrays import Float64s
from psdvec.topic_model.space import Space

_STEPS = 8  # of conjugate gradients
_HALVINGS = 6


def solve_topics(
    space: Space, expected: Float64s, tilts: Float64s, *, hold: float, times: int = 1
) -> Float64s:
    """Return better ``tilts`` (K, d) for topics that have ``expected`` (n, K) of each word, after ``times`` steps."""
    sizes = expected.sum(axis=0)
    is_used = sizes > 0
    means = (expected / np.where(is_used, sizes, 1.0)).T @ space.centred
    factor = np.asarray(np.linalg.inv(space.moment + hold * np.eye(tilts.shape[1])), dtype=np.float64)
    for _ in range(times):
        chances = space.chances(tilts)
        slopes = means - chances.T @ space.centred - hold * tilts
        steps = _newton_steps(space, chances, slopes, factor, hold)
        tilts = _climb(space, means, tilts, np.where(is_used[:, None], steps, 0.0), hold)
    return tilts


def topic_values(space: Space, means: Float64s, tilts: Float64s, *, hold: float) -> Float64s:
    """Return, for each topic, what a word of it gains over the background: the maximum of (23) is sought."""
    logs = np.log(space.shares)[:, None] + space.centred @ tilts.T
    top = logs.max(axis=0)
    normaliser = top + np.log(np.exp(logs - top).sum(axis=0))
    return np.asarray((means * tilts).sum(axis=1) - normaliser - hold / 2 * (tilts**2).sum(axis=1))


def _newton_steps(
    space: Space, chances: Float64s, slopes: Float64s, factor: Float64s, hold: float
) -> Float64s:
    """Return about H⁻¹ slope of each topic, H = Cov(v | t) + ρ."""
    means = chances.T @ space.centred

    def curve(x: Float64s) -> Float64s:
        seen = space.centred @ x.T
        return np.asarray(
            (chances * seen).T @ space.centred - means * (means * x).sum(1, keepdims=True) + hold * x
        )

    x = np.zeros_like(slopes)
    rest = slopes.copy()
    near = rest @ factor
    direction = near.copy()
    power = (rest * near).sum(axis=1)
    for _ in range(_STEPS):
        bent = curve(direction)
        along = (direction * bent).sum(axis=1)
        length = np.where(along > 0, power / np.where(along > 0, along, 1.0), 0.0)[:, None]
        x += length * direction
        rest -= length * bent
        near = rest @ factor
        new = (rest * near).sum(axis=1)
        direction = (
            near + np.where(power > 0, new / np.where(power > 0, power, 1.0), 0.0)[:, None] * direction
        )
        power = new
    return x


def _climb(space: Space, means: Float64s, tilts: Float64s, steps: Float64s, hold: float) -> Float64s:
    """Return ``tilts + steps``, with shorter steps for topics that would fall."""
    before = topic_values(space, means, tilts, hold=hold)
    for _ in range(_HALVINGS):
        falls = topic_values(space, means, tilts + steps, hold=hold) < before
        if not falls.any():
            return np.asarray(tilts + steps)
        steps = np.where(falls[:, None], steps / 2, steps)
    falls = topic_values(space, means, tilts + steps, hold=hold) < before
    return np.asarray(tilts + np.where(falls[:, None], 0.0, steps))
