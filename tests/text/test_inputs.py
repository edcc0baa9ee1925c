"""What can be counted and trained on: files, texts, lists of words, columns and tables, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from psdvec.counts.count import count_pairs, count_words
from psdvec.errors import InputError
from psdvec.loading import load
from psdvec.text import corpus as corpus_module
from psdvec.text.corpus import Corpus, Texts, read_corpus, read_input
from psdvec.text.tokenizers import TOKENIZERS
from tests.helpers import cells

LINES = ["To be, or not to be:", "that is the question."]
SENTENCES = [["to", "be", "or", "not", "to", "be"], ["that", "is", "the", "question"]]


def everything(counts):
    return counts.vocabulary.words, counts.vocabulary.counts.tolist(), cells(counts), counts.tally


@pytest.mark.slow
@given(
    st.lists(st.text(alphabet="ab cÄßé漢'.\n\r\t\0\ufeff", max_size=12), max_size=9),
    st.sampled_from(list(TOKENIZERS)),
    st.integers(8, 30),
)
def test_texts_are_counted_as_the_lines_of_a_file_that_holds_them(tmp_path_factory, texts, tokenizer, block):
    file = tmp_path_factory.mktemp("corpus") / "text"
    file.write_bytes("".join(f"{text}\n" for text in texts).encode())
    corpus = read_corpus(file, tokenizer=tokenizer)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus_module, "BLOCK_BYTES", block)
        assume(any(corpus))
        expected = count_pairs(corpus, window=3, min_count=1)
        found = count_pairs(texts, tokenizer=tokenizer, window=3, min_count=1)
    assert everything(found) == everything(expected)
    assert found.parameters == expected.parameters


class Again:
    """An iterable that can be started again, as a class that reads a database would be."""

    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        return iter(self.rows)


class Column(Again):
    """A column of pandas, as far as it matters here: it has a length and labels of its own."""

    def __getitem__(self, label):
        raise KeyError(label)

    def __len__(self):
        return len(self.rows)


class Frame:
    """A DataFrame, as far as it matters here; iterating over it gives the names of its columns."""

    def __init__(self, **columns):
        self.data, self.columns = columns, list(columns)

    def __iter__(self):
        return iter(self.columns)

    def __getitem__(self, name):
        return Column(self.data[name])


class Dataset:
    """A dataset of Hugging Face, as far as it matters here; iterating over it gives rows."""

    def __init__(self, **columns):
        self.data, self.column_names = columns, list(columns)

    def __iter__(self):
        for row in zip(*self.data.values(), strict=True):
            yield dict(zip(self.data, row, strict=True))

    def __getitem__(self, name):
        return self.data[name]


class Streamed(Again):
    """A dataset that is read row by row and does not know its columns."""

    column_names = None


ROWS = [{"text": line, "year": 1} for line in LINES]
KINDS = {
    "a name": lambda folder: str(folder / "both.txt"),
    "a path": lambda folder: folder / "both.txt",
    "a folder": lambda folder: folder / "parts",
    "a glob": lambda folder: f"{folder}/parts/*.txt",
    "a list of one path": lambda folder: [folder / "both.txt"],
    "a tuple of paths": lambda folder: (folder / "parts" / "1.txt", folder / "parts" / "2.txt"),
    "a generator of paths": lambda folder: (folder / "parts" / name for name in ("1.txt", "2.txt")),
    "a corpus": lambda folder: read_corpus(folder / "both.txt"),
    "an open file": lambda folder: iter((folder / "both.txt").read_text().splitlines(keepends=True)),
    "texts": lambda _: LINES,
    "a tuple of texts": lambda _: tuple(LINES),
    "one text with a newline": lambda _: ["\n".join(LINES)],
    "a generator of texts": lambda _: (line for line in LINES),
    "texts that can be started again": lambda _: Again(LINES),
    "lists of words": lambda _: SENTENCES,
    "tuples of words": lambda _: tuple(map(tuple, SENTENCES)),
    "lists of words, the first empty": lambda _: [[], *SENTENCES],
    "a generator of lists of words": lambda _: (sentence for sentence in SENTENCES),
    "lists of words that can be started again": lambda _: Again(SENTENCES),
    "a column": lambda _: Column(LINES),
    "a column of lists of words": lambda _: Column(SENTENCES),
    "a DataFrame": lambda _: Frame(year=[1, 2], text=LINES),
    "a dataset": lambda _: Dataset(year=[1, 2], text=LINES),
    "a streamed dataset": lambda _: Streamed(ROWS),
    "rows": lambda _: ROWS,
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "both.txt").write_text("\n".join(LINES))
    (tmp_path / "parts").mkdir()
    for number, line in enumerate(LINES, 1):
        (tmp_path / "parts" / f"{number}.txt").write_text(line)
    return tmp_path


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_holds_the_text_the_counts_are_the_same(folder, kind):
    expected = count_pairs(SENTENCES, min_count=1, window=3)
    assert everything(count_pairs(KINDS[kind](folder), min_count=1, window=3)) == everything(expected)
    assert count_words(KINDS[kind](folder), min_count=1).words == expected.vocabulary.words


@pytest.mark.parametrize("table", [Frame(a=["x"], body=LINES), Dataset(a=["x"], body=LINES)])
def test_the_column_of_a_table_can_be_named(table):
    assert count_words(table, column="body", min_count=1).words == count_words(LINES, min_count=1).words


def test_columns_of_real_libraries_are_read():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"text": LINES}, index=[7, 3])
    for source in (frame, frame["text"], frame["text"].str.split()):
        assert count_pairs(source, min_count=1).tally.sentences == 2
    with pytest.raises(InputError, match=r"row 1 is (nan|None|<NA>), not a text"):
        count_pairs(pandas.Series(["one", None]), min_count=1)


def test_a_lazy_table_is_refused_in_a_sentence():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    with pytest.raises(
        InputError, match=r"this table is lazy and holds no rows yet; give table\.collect\(\)"
    ):
        count_pairs(polars.DataFrame({"text": LINES}).lazy())


def test_datasets_of_hugging_face_are_read():
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    data = datasets.Dataset.from_dict({"text": LINES})
    for source in (data, data["text"], data.to_iterable_dataset()):
        assert count_pairs(source, min_count=1).tally.sentences == 2
    with pytest.raises(
        InputError, match=r"several tables here \(train\); give one of them, such as data\['train'\]"
    ):
        count_pairs(datasets.DatasetDict({"train": data}))


SPEECHES = [
    {"party": "A", "year": 1999, "body": "to be, or not to be"},
    {"party": "B", "year": 2000, "body": "that is the question"},
    {"party": "A", "year": 2000, "body": "to be is to do"},
    {"party": "C", "body": "to do is to be"},
]
CHOICES = [{"party": "A"}, {"party": ["A", "C"]}, {"year": 2000}, {"year": "2000", "party": {"A", "B"}}]


def write_speeches(folder: Path, form: str) -> Path:
    """Write the speeches as a file whose name or content says how it is to be read."""
    names = ("party", "year", "body")
    path = folder / {
        "json": "a.jsonl",
        "json by content": "a.data",
        "csv": "a.csv",
        "csv by content": "a",
    }.get(form, form)
    if form.startswith("json"):
        path.write_text("".join(f"{json.dumps(row)}\n" for row in SPEECHES))
    elif form.startswith("csv"):
        path.write_text(
            "".join(
                ",".join(f'"{row.get(n, "")}"' for n in names) + "\n"
                for row in [{name: name for name in names}, *SPEECHES]
            )
        )
    else:
        pyarrow = pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
        from pyarrow import parquet

        parquet.write_table(pyarrow.table({n: [row.get(n) for row in SPEECHES] for n in names}), path)
    return path


def speeches_as(folder: Path, form: str):
    if form == "rows":
        return SPEECHES
    if form == "table":
        return Frame(**{name: [row.get(name) for row in SPEECHES] for name in ("party", "year", "body")})
    if form == "arrow":
        pyarrow = pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
        return pyarrow.Table.from_pylist(SPEECHES)
    if form == "pandas":
        pandas = pytest.importorskip("pandas", reason="pandas is not installed")
        return pandas.DataFrame(SPEECHES)  # the years become 1999.0 and 2000.0
    if form == "polars":
        return pytest.importorskip("polars", reason="polars is not installed").DataFrame(SPEECHES)
    return write_speeches(folder, form)


FORMS = (
    "json",
    "json by content",
    "csv",
    "csv by content",
    "a.parquet",
    "rows",
    "table",
    "arrow",
    "pandas",
    "polars",
)


@pytest.mark.parametrize("form", FORMS)
def test_a_part_is_counted_as_if_there_were_nothing_else(tmp_path, form):
    source = speeches_as(tmp_path, form)
    for where in CHOICES:
        values = {
            name: {str(v) for v in ([one] if isinstance(one, str | int) else one)}
            for name, one in where.items()
        }
        wanted = [row["body"] for row in SPEECHES if all(str(row.get(n)) in v for n, v in values.items())]
        found = count_pairs(source, column="body", where=where, min_count=1)
        assert everything(found) == everything(count_pairs(wanted, min_count=1))
        (told,) = found.sources
        assert told["column"] == "body"
        assert told["where"] == {name: sorted(v) for name, v in values.items()}


@pytest.mark.parametrize("form", FORMS)
def test_nothing_chosen_is_a_sentence_with_what_there_is(tmp_path, form):
    source = speeches_as(tmp_path, form)
    with pytest.raises(InputError, match=r"nothing has party=D \('party' is A, B, C\); check where"):
        count_pairs(source, column="body", where={"party": "D"}, min_count=1)
    said = r"nothing has a field 'month'|no column 'month' to choose rows by \(it has: party, year, body\); check where"
    with pytest.raises(InputError, match=said):
        count_pairs(source, column="body", where={"month": 5}, min_count=1)
    with pytest.raises(InputError, match="where has no value for 'party'; give one, or a list of them"):
        count_pairs(source, column="body", where={"party": []}, min_count=1)


def test_the_old_names_of_the_column_still_work(tmp_path, run):
    file = write_speeches(tmp_path, "json by content")
    expected = everything(count_pairs(file, column="body", min_count=1))
    assert everything(count_pairs(read_corpus(file, field="body"), min_count=1)) == expected
    for option in (["--field", "body"], ["--field=body"], ["--column", "body"]):
        assert run("count", file, "-o", tmp_path / "counts", "--min-count", 1, "--overwrite", *option)[0] == 0
        assert everything(load(tmp_path / "counts")) == expected
    with pytest.raises(
        InputError, match="field is the old name of column, and both were given; give column only"
    ):
        read_corpus(file, field="body", column="text")


def test_a_part_is_chosen_on_the_command_line(tmp_path, run):
    file = write_speeches(tmp_path, "csv")
    options = ("--column", "body", "--min-count", 1, "-o", tmp_path / "counts", "--overwrite")
    assert (
        run("count", file, *options, "--where", "party=A,C", "--where", "party=B", "--where", "year=2000")[0]
        == 0
    )
    found = load(tmp_path / "counts")
    assert found.sources[0]["where"] == {"party": ["A", "B", "C"], "year": ["2000"]}
    assert found.tally.sentences == 2
    piped = run("count", "-", *options, "--where", "party=A", stdin=file.read_text())
    assert piped[0] == 0
    assert load(tmp_path / "counts").tally.sentences == 2
    code, _, errors = run("count", file, *options, "--where", "party")
    assert code == 1
    assert errors.startswith(
        "psdvec: --where party is no condition; write one as --where party=A, or party=A,B\n"
    )


def test_texts_are_cut_by_the_tokenizer_that_is_named():
    assert count_words(["U.S. Größe"], tokenizer="whitespace", min_count=1).words == ("Größe", "U.S.")
    assert count_words(["U.S. Größe"], tokenizer="unicode", min_count=1).words == ("grösse", "u.s")
    assert count_words(["U.S. Größe"], case="keep", min_count=1).words == ("Größe", "U.S")


def test_strings_in_a_list_are_texts_and_paths_are_files(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "word").write_text("a file")
    assert isinstance(read_input([Path("both.txt")]), Corpus)
    for texts in (["parts"], ["word"], ["nothing.txt"], ["both.txt", "bth.txt"], ["not there", "both.txt"]):
        assert isinstance(read_input(texts), Texts)
    assert isinstance(read_input(Column(["both.txt"])), Texts)  # a column holds texts, whatever they say
    assert isinstance(read_input(text for text in ["both.txt"]), Texts)
    for names in (["both.txt"], ("both.txt", "parts/1.txt")):
        with pytest.raises(
            InputError, match=r"strings in a list are texts, but 'both.txt' .* give Path objects"
        ):
            read_input(names)
    with pytest.raises(InputError, match=r"begins with a Path, but goes on with 'bth.txt'; give Paths only"):
        read_input([Path("both.txt"), "bth.txt"])


@pytest.mark.parametrize(
    "text", ["word " * 1000, "w" * 5000, "/" * 5000, "\0", "*" * 300, "[", "see http://a.b/ now"]
)
def test_any_string_in_a_list_is_a_text(text):
    assert isinstance(read_input([text]), Texts)


NO_FILE = "there is no file"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("small.txt", f"{NO_FILE} 'small.txt'; check the name"),
        ("small", NO_FILE),
        (Path("small"), NO_FILE),
        ("to be or not to be", f"{NO_FILE} 'to be or not to be'; .* give a text itself in a list: "),
        ("to be\nor not", r"give a text itself in a list"),
        ("is it [this] or *that*?", "give a text itself in a list"),
        ("see http://a.b/ now", "give a text itself in a list"),
        ("w" * 5000, NO_FILE),
        ("", NO_FILE),
        (7, "7 is nothing that can be counted; give the name of a file, a list of texts, or lists of words"),
        (b"to be", "nothing that can be counted"),
        (None, "None is nothing that can be counted"),
        ({"train": LINES}, "nothing that can be counted"),
        ([None], "row 0 is None, not a text; leave such rows out"),
        ([float("nan"), "to be"], "row 0 is nan, not a text"),
        (["to be", None], "row 1 is None, not a text as the rows before it; leave such rows out"),
        (Column(["to be", "or", float("nan")]), "row 2 is nan, not a text"),
        (["to be", ["or"]], r"row 1 is \['or'\], not a text"),
        (["", " "], "no words"),
        (Column([]), "gave no words"),
        (Frame(body=LINES), r"the table has no column 'text' \(it has: body\); name the column .*column=\"NAME\""),
        (Dataset(body=LINES), "the table has no column 'text'"),
        ([{"text": "to be"}, {}], "row 1 has no column 'text'"),
    ],
)  # fmt: skip
def test_what_holds_no_text_is_refused_in_a_sentence(source, message):
    with pytest.raises(InputError, match=message):
        count_pairs(source, min_count=1)


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (
            SENTENCES,
            {"tokenizer": "paper"},
            "tokenizer='paper' was given, but the sentences are cut into words",
        ),
        (SENTENCES, {"case": "keep"}, "case='keep' was given, but the sentences are cut into words"),
        (LINES, {"column": "body"}, "column='body' was given, but no file is read and no table"),
        (LINES, {"tokenizer": "none"}, "there is no tokenizer 'none'; choose one of"),
    ],
)
def test_options_without_effect_are_refused(source, options, message):
    with pytest.raises(InputError, match=message):
        count_pairs(source, min_count=1, **options)


def test_a_corpus_keeps_its_own_options(folder):
    with pytest.raises(InputError, match="the corpus was made with options of its own"):
        count_pairs(read_corpus(folder), tokenizer="paper")
