"""The commands that use vectors: ``similar``, ``analogy``, ``odd``, ``convert`` and ``vectorize``.

Words are arguments, or lines of standard input where they are given as ``-``. Tables are for people; ``--json`` prints
one JSON value for programs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from psdvec.cli.options import Column, Encoding, Json, Overwrite, Quiet, Vectors
from psdvec.cli.progress_bar import make_progress
from psdvec.cli.tables import print_json, print_table
from psdvec.errors import InputError, MissingWordError
from psdvec.formats import BadRows, Format, choose_format, load, save
from psdvec.formats.model2vec import unreachable_words
from psdvec.options import ENCODING
from psdvec.storage.files import check_file_output, nearest_folder
from psdvec.vectors import answers
from psdvec.vectors.embeddings import ANALOGY, AnalogyMethod, Embeddings
from psdvec.vectors.sentences import Weighting, vectorize_file
from psdvec.vectors.subwords import Unseen, UnseenInText

Topn = Annotated[int, typer.Option("--topn", "-n", min=1, help="Number of words to show.")]
Restrict = Annotated[
    int | None,
    typer.Option("--restrict-vocab", min=1, help="Search only the first N words.", metavar="N"),
]
Oov = Annotated[
    Unseen, typer.Option("--oov", help="Refuse a word without a vector, or give it one by its spelling.")
]

THIN = "~"


def similar(
    model: Vectors,
    words: Annotated[list[str], typer.Argument(help="Words, or - to read one per line from standard input.")],
    topn: Topn = 10,
    restrict_vocab: Restrict = None,
    oov: Oov = "error",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show the words nearest to each WORD; one that is not there as written is looked up as the model writes it.

    Example: `psdvec similar model/ king queen`
    """
    e = load(model, progress=make_progress(quiet=quiet))
    asked = _words_or_lines(words)
    forms = _look_up(e, asked, oov)
    known = list(dict.fromkeys(forms.values()))
    found = {
        answer["word"]: answer
        for answer in answers.similar_many(e, known, topn=topn, restrict_vocab=restrict_vocab, unseen=oov)
    }
    if as_json:
        records = [
            {
                "word": word,
                **_looked_up(word, forms),
                **({} if forms[word] in e else {"spelled": True}),
                **_as_thin(found[forms[word]]),
                "neighbours": _brief(found[forms[word]]["neighbours"]),
            }
            if word in forms
            else _missing(e, word)
            for word in asked
        ]
        print_json(records)
    else:
        for word, form in forms.items():
            title = _marked(found[form]) + _say_found(e, {word: form})
            _print_ranking(title, found[form]["neighbours"], asked=[found[form]])
    _exit_if_missing(e, [word for word in asked if word not in forms])


def analogy(
    model: Vectors,
    words: Annotated[
        list[str], typer.Argument(help="Three words a b c, or - to read three per line from standard input.")
    ],
    topn: Topn = 10,
    restrict_vocab: Restrict = None,
    method: Annotated[
        AnalogyMethod, typer.Option(help="Add cosines (3cosadd) or multiply them (3cosmul).")
    ] = ANALOGY,
    oov: Oov = "error",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show the words that are to C as B is to A.

    Example: `psdvec analogy model/ man king woman`
    """
    e = load(model, progress=make_progress(quiet=quiet))

    def answer(group: list[str]) -> _Answer:
        a, b, c = group
        found = answers.analogy(
            e, a, b, c, method=method, topn=topn, restrict_vocab=restrict_vocab, unseen=oov
        )
        asked = answers.describe(e, group, unseen=oov)
        record = {**found, "answers": _brief(found["answers"])}
        first, second, third = map(_marked, asked)
        return _Answer(record, f"{first} : {second} = {third} : ?", found["answers"], asked, best=True)

    _answer_all(e, _groups(words, exactly=3), answer, oov=oov, as_json=as_json)


def odd(
    model: Vectors,
    words: Annotated[
        list[str],
        typer.Argument(help="Three words or more, or - to read one group per line from standard input."),
    ],
    oov: Oov = "error",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show which word does not belong with the others.

    Example: `psdvec odd model/ breakfast cereal dinner lunch`
    """
    e = load(model, progress=make_progress(quiet=quiet))

    def answer(group: list[str]) -> _Answer:
        found = answers.odd(e, group, unseen=oov)
        record = {"odd": found["odd"], "words": _brief(found["words"])}
        return _Answer(record, f"odd: {found['odd']}", found["words"], [], best=True)

    _answer_all(e, _groups(words, at_least=3), answer, oov=oov, as_json=as_json)


def convert(
    source: Annotated[Path, typer.Argument(help="Vectors in any format psdvec reads.", metavar="IN")],
    target: Annotated[
        Path, typer.Argument(help="Where to write: .txt, .vec, .bin, .npz, or a folder.", metavar="OUT")
    ],
    to: Annotated[Format | None, typer.Option(help="Format to write; default: by the ending of OUT.")] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Keep only the first N words.", metavar="N")
    ] = None,
    bad_rows: Annotated[BadRows, typer.Option(help="What to do with malformed or repeated rows.")] = "refuse",
    spaces: Annotated[str | None, typer.Option(help="Write this instead of spaces in words.")] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Convert vectors from one format to another; the format of IN is recognised by its content.

    Example: `psdvec convert glove.6B.300d.txt glove-model/`
    """
    progress = make_progress(quiet=quiet)
    choose_format(target, to, overwrite=overwrite)
    scratch = nearest_folder(target)
    e = load(source, limit=limit, bad_rows=bad_rows, scratch=scratch, progress=progress)
    save(e, target, format=to, spaces=spaces, overwrite=overwrite)
    progress.say(f"{len(e):,} vectors of {e.dim} dimensions written to {target}")
    lost = len(unreachable_words(e.words, e.tokenizer)) if to == "model2vec" else 0
    if lost:
        progress.say(
            f"{lost:,} of the words cannot be found in a text there; README.md in {target} names some"
        )


def vectorize(
    model: Vectors,
    text: Annotated[
        Path,
        typer.Argument(
            help="Text, a sentence or document per line, JSON lines or a table; - is standard input."
        ),
    ],
    target: Annotated[
        Path, typer.Argument(help="Where to write the matrix (.npy), one row per line.", metavar="OUT")
    ],
    weighting: Annotated[Weighting, typer.Option(help="Plain mean, or sif: rare words weigh more.")] = "mean",
    tokenizer: Annotated[
        str | None,
        typer.Option(
            help="How to cut lines into words: unicode, paper or whitespace; default: as the model's text was cut."
        ),
    ] = None,
    oov: Annotated[
        UnseenInText,
        typer.Option("--oov", help="Leave words without a vector out, or give them one by their spelling."),
    ] = "ignore",
    column: Column = None,
    encoding: Encoding = ENCODING,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Turn each line of a text file into a vector.

    Example: `psdvec vectorize model/ reviews.txt reviews.npy --weighting sif`
    """
    progress = make_progress(quiet=quiet)
    check_file_output(target, overwrite=overwrite)
    e = load(model, progress=progress)
    summary = vectorize_file(
        e,
        text,
        target,
        weighting=weighting,
        tokenizer=tokenizer,
        unseen=oov,
        column=column,
        encoding=encoding,
        overwrite=overwrite,
        progress=progress,
    )
    spelled = f", {summary.spelled:,} more by their spelling" if oov == "spelling" else ""
    progress.say(
        f"{summary.lines:,} vectors of {e.dim} dimensions written to {target}; {summary.known:,} of "
        f"{summary.words:,} words known{spelled}, {summary.empty:,} lines without a known word"
    )


def _typed_lines() -> Iterator[str]:
    """Yield the lines of standard input; bytes that are not UTF-8 are replaced."""
    from psdvec.text.readers import stream_lines
    from psdvec.text.streams import STANDARD_INPUT, open_stream

    with open_stream(STANDARD_INPUT) as stream:
        yield from stream_lines(stream)


def _words_or_lines(words: list[str]) -> list[str]:
    """Return the words given, with the lines of standard input in place of ``-``."""
    read: list[str] = []
    for word in words:
        read += [line.strip() for line in _typed_lines() if line.strip()] if word == "-" else [word]
    return list(dict.fromkeys(read))


def _look_up(e: Embeddings, words: list[str], oov: Unseen) -> dict[str, str]:
    """Return, of the words that have a vector, how the vocabulary writes each, or would."""
    forms: dict[str, str] = {}
    for word in words:
        with suppress(MissingWordError):
            form = e.look_up(word, unseen=oov)
            e.vector(form, unseen=oov)  # there may be none even by spelling
            forms[word] = form
    return forms


def _looked_up(word: str, forms: dict[str, str]) -> dict[str, str]:
    return {"looked_up": forms[word]} if forms[word] != word else {}


def _say_found(e: Embeddings, forms: dict[str, str]) -> str:
    """Say what was looked up for words that are not in the vocabulary as they were written, and what is not there."""
    said = [f"{word} looked up as {form}" for word, form in forms.items() if word != form]
    said += [f"{form} by its spelling" for form in dict.fromkeys(forms.values()) if form not in e]
    return f" ({', '.join(said)})" if said else ""


def _groups(words: list[str], *, exactly: int | None = None, at_least: int = 0) -> list[list[str]]:
    """Return groups of words: all arguments are one group, or each line of standard input is one."""
    lines = [line.split() for line in _typed_lines()] if words == ["-"] else [words]
    for number, group in enumerate(lines, start=1):
        if group and (len(group) < at_least or (exactly is not None and len(group) != exactly)):
            wanted = f"{exactly}" if exactly is not None else f"at least {at_least}"
            where = f" in line {number} of standard input" if words == ["-"] else ""
            only = "only " if len(group) < (exactly or at_least) else ""
            were = "was" if len(group) == 1 else "were"
            raise InputError(
                f"give {wanted} words{where}; {only}{len(group)} {were} given: {' '.join(group)}"
            )
    return [group for group in lines if group]


class _Answer(NamedTuple):
    """The answer to one question: as JSON, and as a table, in which ``best`` says that the first word answers it.

    ``asked`` are the words of the question, where the title marks them.
    """

    record: dict[str, Any]
    title: str
    words: list[dict[str, Any]]
    asked: list[dict[str, Any]]
    best: bool


def _answer_all(
    e: Embeddings,
    groups: list[list[str]],
    answer: Callable[[list[str]], _Answer],
    *,
    oov: Unseen,
    as_json: bool,
) -> None:
    """Print the answer for each group of words; a missing word in one does not stop the others."""
    records: list[dict[str, Any]] = []
    missing: list[str] = []
    for group in groups:
        try:
            forms = {word: e.look_up(word, unseen=oov) for word in group}
            found = answer([forms[word] for word in group])
        except MissingWordError as error:
            missing.append(error.word)
            records.append({"words": group, "error": str(error)})
            continue
        changed = {word: form for word, form in forms.items() if word != form}
        spelled = [form for form in dict.fromkeys(forms.values()) if form not in e]
        records.append(
            {
                **found.record,
                **({"looked_up": changed} if changed else {}),
                **({"spelled": spelled} if spelled else {}),
            }
        )
        if not as_json:
            title = found.title + _say_found(e, forms)
            _print_ranking(title, found.words, asked=found.asked, best=found.best)
    if as_json:
        print_json(records)
    _exit_if_missing(e, list(dict.fromkeys(missing)))


def _brief(words: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return of each answer the word, its score, and whether it is thin if it is."""
    return [{"word": one["word"], "score": one["score"], **_as_thin(one)} for one in words]


def _as_thin(word: dict[str, Any]) -> dict[str, bool]:
    return {"thin": True} if word["thin"] else {}


def _marked(word: dict[str, Any]) -> str:
    """Return the word, with a mark where its evidence is thin."""
    return f"{word['word']} {THIN}" if word["thin"] else str(word["word"])


def _missing(e: Embeddings, word: str) -> dict[str, Any]:
    return {"word": word, "error": str(MissingWordError(word, e.closest_spellings))}


def _print_ranking(
    title: str, words: list[dict[str, Any]], *, asked: list[dict[str, Any]], best: bool = False
) -> None:
    """Print a table of words and scores; on a terminal the title, the best word and thin words stand out."""
    rows = [[_marked(one), f"{one['score']:.4f}"] for one in words]
    styles = ["dim" if one["thin"] else "" for one in words]
    if best:
        styles[:1] = ["bold green"]
    print_table([title, ""], rows, styles=styles)
    if any(one["thin"] for one in (*asked, *words)):
        print(f"{THIN} thin evidence: seen so little that its vector may point elsewhere")
    print()


def _exit_if_missing(e: Embeddings, words: list[str]) -> None:
    for word in words:
        print(f"psdvec: {_missing(e, word)['error']}", file=sys.stderr)
    if words:
        raise typer.Exit(1)
