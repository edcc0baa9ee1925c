"""Chosen on what, reported on what: which questions may choose a setting, and which may only be reported.

    python -m benchmarks.studies.split [TESTSETS]

prints what each number of the default recipe was chosen on and, with a folder of test sets, the size of every part.

**Development** questions are those at even places (0, 2, ...) of the paper's nine sets: whoever chooses a setting looks
at these alone. **Reported** are those at odd places. **Untouched** sets never took part in choosing anything, and
nobody had looked at them before the settings stood: YP-130 (Yang and Powers 2006, ``word word score``) and relations of
SemEval-2012 task 2 as analogies (``a a* b b*``), files of the folder of test sets named as ``UNTOUCHED`` says.

Analogies need more than that: their pairs of words recur. Every pair of Google's and MSR's questions at odd places is
also in one at an even place, and MSR's questions at odd places are those before them, asked the other way round. So the
pairs of a set are dealt to the two sides in turn, in the order in which they first appear, and an analogy counts only
where both its pairs are on the side of its place. That keeps an eighth of the questions on either side: some 2,200 of
Google's and more than 900 of MSR's, where of the other seven sets only MEN has as many. In a mean that counts 32 pairs
of RG-65 as much, more of them would not be felt. What this cannot undo: the default recipe was chosen on all questions
at even places, with pairs of both sides.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from benchmarks.lib.measure import run_script
from benchmarks.studies.nine_sets import nine_tasks

from psdvec.errors import InputError
from psdvec.evaluation.tasks import Analogies, Pairs, Task, read_task

DEVELOPMENT, REPORTED = 0, 1  # the parity of a question's place, and the side of a pair of words
UNTOUCHED = ("yp-130.txt", "semeval-2012.txt")  # files of the folder of test sets


class Choice(NamedTuple):
    """What some numbers of the recipe were chosen on; docs/results/recipe.md has the table."""

    settings: str
    chosen_on: str


_ENWIKI_HALVES = (
    "enwiki-38m, every other question of the nine sets, MTurk-771 and Rare Words (the dev mean until now)"
)
_ENWIKI_ALL = "enwiki-38m, all questions of the nine sets, the reported ones among them"
_ALL_SIZES = (
    "parts of Simple Wikipedia of 0.2, 0.75 and 3 million words, and enwiki, by the mean rank over the sizes, the "
    "development questions"
)

CHOICES = (
    Choice("smoothing κ, background β, majoriser γ, emphasis δ, exponent p, saturation", _ENWIKI_HALVES),
    Choice("rounds, relaxation ω, momentum θ", _ENWIKI_ALL),
    Choice("head, negligible", _ENWIKI_ALL),
    Choice(
        "damping η",
        "enwiki-38m, 500 words left out of the fit (others than bench_extend's) on all questions of the nine sets, and "
        "600 rare ones on Rare Words",
    ),
    Choice("power", "enwiki-38m, the development questions"),
    Choice("unigram α, spelling τ, spelling_ridge λ, spelling_noise c₀", _ALL_SIZES),
    Choice(
        "the mean of a new word's prior",
        "enwiki-38m, 470 words left out of the fit and placed from one line in fifty; no test set",
    ),
    Choice(
        "0.1 and 8 of equation (18)",
        "parts of Simple Wikipedia, shuffled letters and made-up text; no test set",
    ),
    Choice("3.8, the factor of a deviation", "enwiki-38m, 500 words placed twice; no test set"),
)

USED = {
    "mturk-771": "was in the dev mean until now: not reported as untouched",
    "rare-words": "was in the dev mean, and chose η: not reported as untouched",
    "ws353": "its two parts are among the nine",
    **dict.fromkeys(
        ("simverb-3500", "semeval-2017"),
        "no number of ours was chosen on it, but two settings of rivals were rejected after a look at it",
    ),
}


def development_tasks(folder: str | Path) -> list[Task]:
    """Return the questions of the nine sets that settings may be chosen on."""
    return [part_of(task, DEVELOPMENT) for task in nine_tasks(folder)]


def reported_tasks(folder: str | Path) -> list[Task]:
    """Return the questions of the nine sets that settings are never chosen on."""
    return [part_of(task, REPORTED) for task in nine_tasks(folder)]


def untouched_tasks(folder: str | Path) -> list[Task]:
    """Return the sets that had no part in choosing anything."""
    missing = [name for name in UNTOUCHED if not (Path(folder) / name).is_file()]
    if missing:
        raise InputError(f"'{folder}' lacks {', '.join(missing)}; put them there")
    return [read_task(Path(folder) / name) for name in UNTOUCHED]


def all_parts(folder: str | Path) -> dict[str, list[Task]]:
    """Return the tasks of the three parts by name."""
    return {
        "development": development_tasks(folder),
        "reported": reported_tasks(folder),
        "untouched": untouched_tasks(folder),
    }


def part_of(task: Task, side: int) -> Task:
    """Return the questions of one side of a task."""
    places = range(side, len(task.items), 2)
    if isinstance(task, Analogies):
        sides = sides_of_pairs(task)
        places = [
            place for place in places if all(sides[pair] == side for pair in pairs_of(task.items[place]))
        ]
    return take(task, places)


def sides_of_pairs(task: Analogies) -> dict[frozenset[str], int]:
    """Deal the pairs of words of a task to the two sides in turn, in the order in which they first appear."""
    pairs = dict.fromkeys(pair for item in task.items for pair in pairs_of(item))
    return {pair: number % 2 for number, pair in enumerate(pairs)}


def pairs_of(item: Sequence[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the two pairs of an analogy; a pair is the same both ways round, and in either case."""
    a, a_star, b, b_star = (word.lower() for word in item)
    return frozenset((a, a_star)), frozenset((b, b_star))


def take(task: Task, places: Sequence[int]) -> Task:
    """Return a task with the items at these places only."""
    items = tuple(task.items[place] for place in places)
    if isinstance(task, Pairs):
        return replace(task, items=items, gold=task.gold[list(places)])
    if isinstance(task, Analogies):
        return replace(task, items=items, sections=tuple(task.sections[place] for place in places))
    return replace(task, items=items)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("testsets", nargs="?", help="a folder of test sets, to print the size of every part")
    options = parser.parse_args()
    print("| number of the recipe | chosen on |\n|---|---|")
    for choice in CHOICES:
        print(f"| {choice.settings} | {choice.chosen_on} |")
    print("\n| set outside the paper | |\n|---|---|")
    for name, use in USED.items():
        print(f"| {name} | {use} |")
    if options.testsets:
        print("\n| set | questions | development | reported |\n|---|---|---|---|")
        for task in nine_tasks(options.testsets):
            sizes = [len(part_of(task, side).items) for side in (DEVELOPMENT, REPORTED)]
            print(f"| {task.name} | {len(task.items):,} | {sizes[0]:,} | {sizes[1]:,} |")
        for task in untouched_tasks(options.testsets):
            print(f"| {task.name} | {len(task.items):,} | | all, as untouched |")


if __name__ == "__main__":
    run_script(main)
