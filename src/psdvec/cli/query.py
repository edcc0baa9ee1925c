"""The commands that use vectors: ``similar``, ``analogy``, ``odd``, ``why``, ``convert``, ``explore``, ``info``.

Words are arguments, or lines of standard input where they are given as ``-``. Tables are for people; ``--json`` prints
one JSON value for programs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import typer

from psdvec.cli.options import Column, Encoding, Json, Overwrite, Quiet, Vectors, Where, read_where
from psdvec.cli.tables import make_progress, print_json, print_table, spell_options
from psdvec.errors import InputError, MissingWordError, import_extra, printable
from psdvec.formats import BadRows, Format, choose_format, load, save
from psdvec.formats.model2vec import unreachable_words
from psdvec.options import ENCODING
from psdvec.storage.files import nearest_folder
from psdvec.vectors import answers
from psdvec.vectors.embeddings import ANALOGY, AnalogyMethod, Embeddings
from psdvec.vectors.subwords import Unseen

if TYPE_CHECKING:
    from psdvec.slices.stability import Stability

Topn = Annotated[int, typer.Option("--topn", "-n", min=1, help="Number of words to show.")]
Restrict = Annotated[
    int | None, typer.Option("--restrict-vocab", min=1, help="Search only the first N words.", metavar="N")
]
Oov = Annotated[
    Unseen, typer.Option("--oov", help="Refuse a word without a vector, or give it one by its spelling.")
]

THIN = "~"
STABLE = ("stays", "low", "high")  # what is shown of a neighbour whose stability is known


def similar(
    model: Vectors,
    words: Annotated[list[str], typer.Argument(help="Words, or - to read one per line from standard input.")],
    topn: Topn = 10,
    restrict_vocab: Restrict = None,
    oov: Oov = "error",
    stability: Annotated[
        Path | None,
        typer.Option(
            help="What psdvec stability wrote: show in which share of resampled documents each neighbour stays, and "
            "bounds."
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show the words nearest to each WORD.

    One that is not there as written is looked up as the model writes it.

    Example: `psdvec similar model/ king queen`
    """
    e = load(model, progress=make_progress(quiet=quiet))
    stable = None if stability is None else _open_stability(stability, e, restrict_vocab)
    asked = _words_or_lines(words)
    forms: dict[str, str] = {}  # of the words that have a vector: how the vocabulary writes each, or would
    for word in asked:
        with suppress(MissingWordError):
            form = e.look_up(word, unseen=oov)
            e.vector(form, unseen=oov)  # there may be none even by spelling
            forms[word] = form
    known = list(dict.fromkeys(forms.values()))
    found = answers.similar_many(e, known, topn=topn, restrict_vocab=restrict_vocab, unseen=oov)
    answer_for = dict(zip(known, found, strict=True))
    errors = {word: str(MissingWordError(word, e.closest_spellings)) for word in asked if word not in forms}
    records: list[dict[str, Any]] = []
    for word in asked:
        if word in errors:
            records.append({"word": word, "error": errors[word]})
            continue
        form, answer = forms[word], answer_for[forms[word]]
        if stable is not None and form in e:
            for record, one in zip(answer["neighbours"], stable.most_similar(form, topn=topn), strict=True):
                record.update(stays=one.stays, low=one.low, high=one.high)
        records.append({"word": word})
        if form != word:
            records[-1]["looked_up"] = form
        if form not in e:
            records[-1]["spelled"] = True
        records[-1].update(_as_thin(answer), neighbours=_brief(answer["neighbours"]))
        if not as_json:
            title = _marked(answer) + _say_found(e, {word: form})
            _print_ranking(title, answer["neighbours"], asked=[answer])
    if as_json:
        print_json(records)
    _exit_if_missing(errors)


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
        asked = answers.describe_words(e, group, unseen=oov)
        record = {**found, "answers": _brief(found["answers"])}
        first, second, third = map(_marked, asked)
        return _Answer(record, f"{first} : {second} = {third} : ?", found["answers"], asked)

    _answer_all(e, _groups(words, exactly=3), answer, oov, as_json)


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
        return _Answer(record, f"odd: {found['odd']}", found["words"], [])

    _answer_all(e, _groups(words, at_least=3), answer, oov, as_json)


def why(
    model: Vectors,
    word: Annotated[str, typer.Argument(help="A word.")],
    other: Annotated[str, typer.Argument(help="Another word.")],
    counts: Annotated[
        Path | None,
        typer.Option(help="Counts that the model was made from; looked for beside the model by default."),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(help="Text to show sentences from: files, folders, tables; repeat it for more."),
    ] = None,
    topn: Annotated[int, typer.Option("--topn", "-n", min=1, help="Number of contexts to name.")] = 10,
    passages: Annotated[
        int,
        typer.Option(min=1, help="Sentences to show for each word and context, each of another document."),
    ] = 1,
    column: Column = None,
    where: Where = None,
    encoding: Encoding = ENCODING,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show which contexts make two words near: shares that add up.

    Their sum is the similarity of the two words. Below, what that would be without the contexts named, and sentences.

    Example: `psdvec why model/ aspirin ibuprofen --counts counts/ --text corpus.txt`
    """
    from psdvec.explore.contexts import why as find_why
    from psdvec.topic_model.documents import Files

    found = find_why(
        model, word, other, counts=counts, topn=topn, texts=Files(tuple(text)) if text else None,
        passages=passages, column=column, where=read_where(where), encoding=encoding,
        progress=make_progress(quiet=quiet),
    )  # fmt: skip
    if as_json:
        return print_json(found.to_dict())
    head = [f"{found.word} and {found.other}", f"near {found.word}", f"near {found.other}", "fall", "share"]
    cells = [
        [f"{one.seen:,.1f}", f"{one.seen_other:,.1f}", f"{one.fall:.4f}"]
        for one in found.contexts[: found.named]
    ]
    lines = [*found.rows(), ("similarity", found.similarity)]
    cells += [["", "", ""]] * (len(lines) - len(cells))
    print_table(
        head, [[line, *cell, f"{share:.4f}"] for (line, share), cell in zip(lines, cells, strict=True)]
    )
    if found.solved is not None:
        left = "none, as one has no others" if found.without is None else f"{found.without:.4f}"
        print(
            f"\nIf both words are solved again, the similarity is {found.solved:.4f}, and without the contexts named "
            f"{left}."
        )
    for context in [one.word for one in found.contexts[: found.named]] if text else []:
        print(f"\n{context}")
        for one in (one for name in (found.word, found.other) for one in found.passages[name, context]):
            print(printable(f"  {one.left}[{one.word}]{one.right}  ({one.document})"))
    return None


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
    """Convert vectors from one format to another.

    The format of IN is recognised by its content.

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


def explore(
    context: typer.Context,
    model: Vectors,
    other: Annotated[
        Path | None, typer.Argument(help="Other vectors, to compare with the first.", metavar="MODEL2")
    ] = None,
    counts: Annotated[
        list[Path] | None,
        typer.Option(help="Counts that the model was made from, to show contexts; once per model, in order."),
    ] = None,
    topics: Annotated[
        list[Path] | None,
        typer.Option(help="Topics found with the model, to show them too; once per model, in order."),
    ] = None,
    change: Annotated[
        list[Path] | None,
        typer.Option(help="What psdvec change wrote, to show it too; once per model, in order."),
    ] = None,
    index: Annotated[
        list[Path] | None,
        typer.Option(help="Index of documents, to search them too; once per model, in order."),
    ] = None,
    points: Annotated[int, typer.Option(min=2, max=200_000, help="Number of words on the map.")] = 20_000,
    host: Annotated[
        str, typer.Option(help="Address to listen at; any but 127.0.0.1 lets others on the network in.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen at; 0 is any free one.")] = 8765,
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in the browser.")
    ] = True,
    quiet: Quiet = False,
) -> None:
    """Explore vectors in the browser: a map, neighbours, contexts.

    Example: `psdvec explore model/ --counts counts/`

    Analogies, new words and a comparison of two models are there too. The page is served on this machine only and
    needs no network; Control-C stops it.
    """
    for module in ("starlette", "uvicorn"):
        import_extra(module, extra="explore", purpose="the explorer")
    from psdvec.explore.api import Api
    from psdvec.explore.app import address_of, make_app, open_socket, serve
    from psdvec.explore.models import open_model

    progress = make_progress(quiet=quiet)
    paths = [model] if other is None else [model, other]
    beside = {
        name: _for_each(paths, given, name)
        for name, given in (("counts", counts), ("topics", topics), ("change", change), ("index", index))
    }
    models = []
    for number, path in enumerate(paths):
        own = {name: given[number] for name, given in beside.items()}
        opened = open_model(path, **own, map_words=points, progress=progress)
        advice = spell_options(opened.no_contexts, context.command.params)
        models.append(replace(opened, no_contexts=advice))
    listener = open_socket(host, port)
    address = address_of(listener)

    if host not in ("127.0.0.1", "::1", "localhost"):
        progress.say(f"listening at {host}: everybody who can reach this machine can use the page")

    def announce() -> None:
        print(f"exploring {' and '.join(map(str, paths))} at {address} (Control-C stops it)", flush=True)
        if open_browser:
            import webbrowser

            webbrowser.open(address)

    serve(make_app(Api(models), host=host), listener, ready=announce)


def info(
    path: Annotated[Path, typer.Argument(help="A folder that psdvec has written.")],
    verify: Annotated[
        bool, typer.Option("--verify", help="Read every file and compare it with its checksum.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print everything that is known, as JSON for programs.")
    ] = False,
) -> None:
    """Show what a folder holds, how it was made and from what.

    Example: `psdvec info counts/ --verify`
    """
    from psdvec import loading

    artefact = loading.open_made(path)
    if verify:
        loading.verify(artefact)
    if as_json:
        print_json(loading.describe_artefact(artefact) | {"verified": True if verify else None})
        return
    state = "intact: every file is as it was written" if verify else "not verified; add --verify"
    lines = {**loading.summarise(artefact), "state": state}
    width = max(map(len, lines))
    for name, text in lines.items():
        print(f"{name:<{width}}  {printable(text)}")


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
    """The answer to one question: as JSON, and as a table of words, of which the first answers it.

    ``asked`` are the words of the question, where the title marks them.
    """

    record: dict[str, Any]
    title: str
    words: list[dict[str, Any]]
    asked: list[dict[str, Any]]


def _answer_all(
    e: Embeddings, groups: list[list[str]], answer: Callable[[list[str]], _Answer], oov: Unseen, as_json: bool
) -> None:
    """Print the answer for each group of words; a missing word in one does not stop the others."""
    records: list[dict[str, Any]] = []
    errors: dict[str, str] = {}
    for group in groups:
        try:
            forms = {word: e.look_up(word, unseen=oov) for word in group}
            found = answer([forms[word] for word in group])
        except MissingWordError as error:
            errors[error.word] = str(error)
            records.append({"words": group, "error": errors[error.word]})
            continue
        changed = {word: form for word, form in forms.items() if word != form}
        spelled = [form for form in dict.fromkeys(forms.values()) if form not in e]
        more = {"looked_up": changed, "spelled": spelled}
        records.append({**found.record, **{name: value for name, value in more.items() if value}})
        if not as_json:
            title = found.title + _say_found(e, forms)
            _print_ranking(title, found.words, asked=found.asked, best=True)
    if as_json:
        print_json(records)
    _exit_if_missing(errors)


def _brief(words: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return of each answer the word, its score, how stable it is where that is known, and if it is thin, that."""
    return [
        {name: one[name] for name in ("word", "score", *STABLE) if name in one} | _as_thin(one)
        for one in words
    ]


def _open_stability(path: Path, e: Embeddings, restrict_vocab: int | None) -> Stability:
    """Return the stability of the neighbours of ``e``; that of another model is refused."""
    from psdvec.slices.stability import read_stability

    if restrict_vocab is not None:
        raise InputError("stability is among all words; leave out --restrict-vocab or --stability")
    found = read_stability(path)
    own = found.embeddings
    if list(own.words) != list(e.words) or not np.array_equal(own.vectors, e.vectors):
        raise InputError(f"'{path}' is of another model; run psdvec stability with this one")
    return found


def _as_thin(word: dict[str, Any]) -> dict[str, bool]:
    return {"thin": True} if word["thin"] else {}


def _marked(word: dict[str, Any]) -> str:
    """Return the word, with a mark where its evidence is thin."""
    return f"{word['word']} {THIN}" if word["thin"] else str(word["word"])


def _print_ranking(
    title: str, words: list[dict[str, Any]], *, asked: list[dict[str, Any]], best: bool = False
) -> None:
    """Print a table of words and scores; on a terminal the title, the best word and thin words stand out."""
    stable = [name for name in STABLE if words and name in words[0]]
    rows = [[_marked(one), f"{one['score']:.4f}", *(f"{one[name]:.2f}" for name in stable)] for one in words]
    styles = ["dim" if one["thin"] else "" for one in words]
    if best:
        styles[:1] = ["bold green"]
    print_table([title, "", *stable], rows, styles=styles)
    if any(one["thin"] for one in (*asked, *words)):
        print(f"{THIN} thin evidence: seen so little that its vector may point elsewhere")
    print()


def _exit_if_missing(errors: dict[str, str]) -> None:
    """Say which words are missing, by their errors, and exit if any is."""
    for error in errors.values():
        print(f"psdvec: {error}", file=sys.stderr)
    if errors:
        raise typer.Exit(1)


def _for_each(paths: list[Path], given: list[Path] | None, name: str) -> list[Path | None]:
    """Return what was given for each model, None for the models after the last for which something was."""
    found: list[Path | None] = [*(given or [])]
    if len(found) > len(paths):
        raise InputError(
            f"{name} were given {len(found)} times for {len(paths)} models; give them once per model"
        )
    return found + [None] * (len(paths) - len(found))
