import json
import re
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from psdvec.cli import app
from psdvec.counts import matrix
from psdvec.errors import InputError, ResourceError, StoreError
from psdvec.methods.run import fit_method
from psdvec.resources import arithmetic
from psdvec.solver import fit as fit_module
from psdvec.solver import train as train_module
from psdvec.solver.devices import cpu
from psdvec.solver.extend import extend
from psdvec.solver.fit import fit, plan_fit
from psdvec.solver.train import train
from psdvec.storage.artefact import open_artefact, seal
from psdvec.text.corpus import read_corpus
from psdvec.vectors.model import read_model, write_model
from tests.helpers import Watched
from tests.toy import drawn_counts


@pytest.fixture
def store(tmp_path):
    drawn_counts(words=60, sentences=800).save(tmp_path / "counts")
    return tmp_path / "counts"


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_a_model_folder_names_its_parent_and_its_recipe(store, tmp_path):
    fit(store, dim=5, output=tmp_path / "model", changes={"rounds": 2})
    artefact = open_artefact(tmp_path / "model", kind="embeddings")
    assert artefact.sources[0]["digest"] == open_artefact(store).digest
    assert artefact.parameters["recipe"]["rounds"] == 2
    assert not (tmp_path / "model.work").exists()


def test_words_beyond_the_core_are_placed_by_ridge(store):
    model = fit(store, dim=5, core=30, max_words=50)
    assert (model.core, len(model)) == (30, 50)
    assert model.vectors[:30].tobytes() == fit(store, dim=5, max_words=30).vectors.tobytes()
    assert model.vectors[30:].any(axis=1).all()


def test_an_interrupted_fit_goes_on_and_gives_the_same_model(store, tmp_path, all_rounds_kept):
    whole = fit(store, dim=5)
    with pytest.raises(KeyboardInterrupt):
        fit(store, dim=5, output=tmp_path / "model", progress=Watched(stop_at="round 3"))
    assert not (tmp_path / "model").exists()
    again = fit(store, dim=5, output=tmp_path / "model", progress=(watched := Watched()))
    assert watched.rounds[0] == 3
    assert again.vectors.tobytes() == whole.vectors.tobytes()


def test_rounds_for_other_counts_in_memory_are_not_used(tmp_path, all_rounds_kept):
    """No folder tells such counts apart; what they hold does."""
    with pytest.raises(KeyboardInterrupt):
        fit(
            drawn_counts(words=60, sentences=800, seed=1), dim=5, output=tmp_path / "model",
            progress=Watched(stop_at="round 2"),
        )  # fmt: skip
    other = drawn_counts(words=60, sentences=800, seed=2)
    resumed = fit(other, dim=5, output=tmp_path / "model")
    assert resumed.vectors.tobytes() == fit(other, dim=5).vectors.tobytes()


def test_rounds_of_another_arithmetic_are_not_used(store, tmp_path, monkeypatch, all_rounds_kept):
    """They would end in bytes that neither gives."""
    with monkeypatch.context() as patch:
        patch.setattr(fit_module, "arithmetic", lambda: {**arithmetic(), "numpy": "1.0"})
        with pytest.raises(KeyboardInterrupt):
            fit(store, dim=5, output=tmp_path / "model", progress=Watched(stop_at="round 2"))
    fit(store, dim=5, output=tmp_path / "model", progress=(watched := Watched()))
    assert watched.rounds[0] == 1


def test_a_model_says_what_its_last_bits_rest_on(store, tmp_path):
    made = fit(store, dim=5, core=30, workers=1, output=tmp_path / "model")
    assert made.arithmetic == arithmetic() == read_model(tmp_path / "model").arithmetic
    assert f"numpy {np.__version__}" in run("info", tmp_path / "model").output
    before = replace(made, arithmetic={"numpy": "1.0"})
    assert extend(before, store, refresh=made.words[:2], min_contexts=1).arithmetic == arithmetic()
    write_model(replace(made, arithmetic={}), tmp_path / "older")
    assert read_model(tmp_path / "older").arithmetic == {}
    assert "computed" not in run("info", tmp_path / "older").output


def test_a_plan_says_what_would_be_needed_and_refuses_too_little(store):
    lines = plan_fit(store, dim=5, core=30)
    assert "fit 30 words together" in lines[0]
    assert "peak memory about" in lines[-1]
    with pytest.raises(ResourceError, match=r"1.0 kB is allowed; give memory=\d+M"):
        plan_fit(store, dim=5, memory="1K")


@pytest.mark.parametrize("changes", [{}, {"spelling": "off"}, {"spelling": "off", "power": 0.5}])
def test_a_plan_says_how_large_the_vectors_and_rows_on_disk_will_be(store, tmp_path, changes):
    model = fit(store, dim=5, changes=changes, output=tmp_path / "model")
    [line] = [line for line in plan_fit(store, dim=5, changes=changes) if line.startswith("write")]
    said = float(re.search(r"about ([\d.]+) kB", line)[1])
    written = (tmp_path / "model" / "vectors.safetensors").stat().st_size / 1000
    ngrams = 0.0 if "spelling" in changes else 2.5 * (5 + 12) * len(model) / 1000
    assert said - ngrams == pytest.approx(written, abs=0.3)  # its header


def test_a_fit_and_its_dry_run_say_how_much_goes_to_disk(store, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(cpu, "PAIR", 10**9)  # as if there were many
    said = r"up to [\d.]+ TB of the pairs go to disk and are read in every round"
    output = tmp_path / "not yet" / "model"
    assert re.search(said, plan_fit(store, dim=5, memory="2G", output=output)[-1])
    assert not output.parent.exists()
    with caplog.at_level("INFO", logger="psdvec"):
        fit(store, dim=5, memory="2G", output=tmp_path / "model")
    assert re.search(said, caplog.text)


def test_extending_writes_a_model_with_both_parents(store, tmp_path):
    fit(store, dim=5, max_words=40, output=tmp_path / "model")
    extension = extend(tmp_path / "model", store, output=tmp_path / "larger")
    assert len(extension.learned) == 20
    larger = read_model(tmp_path / "larger")
    assert len(larger) == 60
    assert [set(source) for source in larger.sources] == [
        {"model", "digest", "read"},
        {"counts", "digest", "words", "sentences", "read"},
    ]


def write_corpus(path, seed):
    rng = np.random.default_rng(seed)
    path.write_text("\n".join(" ".join(f"w{i}" for i in rng.zipf(1.5, 20) if i < 40) for _ in range(300)))
    return read_corpus(path)


def test_train_is_count_fit_and_place(tmp_path):
    corpus = write_corpus(tmp_path / "text.txt", 0)
    options = {"window": 3, "dim": 4, "core": 10}
    model = train(corpus, output=tmp_path / "model", keep=tmp_path / "counts", **options)
    by_hand = fit(tmp_path / "counts", dim=4, core=10)
    assert model.vectors.tobytes() == by_hand.vectors.tobytes()
    train(corpus, output=tmp_path / "other", **options)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["counts", "model", "other", "text.txt"]


def test_interrupted_training_does_not_count_again(tmp_path, monkeypatch):
    corpus = write_corpus(tmp_path / "text.txt", 0)
    with monkeypatch.context() as patch:
        patch.setattr(fit_module, "solve", lambda *a, **k: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            train(corpus, output=tmp_path / "model", dim=4)
    with monkeypatch.context() as patch:
        patch.setattr(train_module, "count_pairs", lambda *a, **k: 1 / 0)
        resumed = train(corpus, output=tmp_path / "model", dim=4)
    undisturbed = train(corpus, output=tmp_path / "again", dim=4)
    assert resumed.vectors.tobytes() == undisturbed.vectors.tobytes()


def test_counts_of_other_text_are_never_trained_on(tmp_path, monkeypatch):
    first, second = write_corpus(tmp_path / "first.txt", 0), write_corpus(tmp_path / "second.txt", 1)
    with monkeypatch.context() as patch:
        patch.setattr(fit_module, "solve", lambda *a, **k: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            train(first, output=tmp_path / "model", dim=4)
    model = train(second, output=tmp_path / "model", dim=4)
    fresh = train(second, output=tmp_path / "fresh", dim=4)
    assert model.vectors.tobytes() == fresh.vectors.tobytes()
    train(first, output=tmp_path / "kept", keep=tmp_path / "counts", dim=4)
    for corpus, counting in ((second, {}), (first, {"window": 3}), (first, {"min_count": 1})):
        with pytest.raises(InputError, match="holds counts of other text, or made with other options"):
            train(corpus, output=tmp_path / "new", keep=tmp_path / "counts", **counting, dim=4)


@pytest.mark.parametrize("option", [{"core": 0}, {"max_words": -1}])
def test_no_words_are_refused(store, option):
    with pytest.raises(InputError, match="give 1 or more"):
        fit(store, dim=5, **option)


def damage(store, name, place, value):
    array = np.load(store / f"{name}.npy", mmap_mode="r+")
    array[place] = value
    array.flush()


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [("indices", 7, 60), ("indices", 7, -1), ("indptr", 5, 10**12), ("indptr", 60, 3), ("values", 9, -1)],
)
def test_counts_whose_arrays_are_damaged_are_refused(store, tmp_path, name, place, value):
    model = fit(store, dim=5, max_words=40)
    damage(store, name, place, value)
    with pytest.raises(StoreError, match="counts' is damaged: its pairs do not fit its words; count again"):
        fit(store, dim=5, output=tmp_path / "x")
    with pytest.raises(StoreError, match="is damaged"):
        extend(model, store, output=tmp_path / "x")
    with pytest.raises(StoreError, match="is damaged"):
        fit_method("svd", store, output=tmp_path / "x", dim=5)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["counts"]


def test_a_damaged_description_or_list_of_words_is_named(store):
    meta = (store / "meta.json").read_text()
    (store / "meta.json").write_text(json.dumps(seal(json.loads(meta.replace('"tally"', '"tale"')))))
    with pytest.raises(StoreError, match="counts' does not say what was counted"):
        fit(store)
    (store / "meta.json").write_text(meta)
    damage(store, "word_offsets", 3, 10**6)
    with pytest.raises(StoreError, match="counts' the offsets of the words do not fit"):
        fit(store)
    (store / "word_offsets.npy").write_bytes(b"x" * (store / "word_offsets.npy").stat().st_size)
    with pytest.raises(
        StoreError, match=r"word_offsets.npy' is damaged: it does not begin as an array does; make"
    ):
        fit(store)


def test_folders_of_a_later_version_are_refused(store, tmp_path):
    fit(store, dim=5, output=tmp_path / "model", changes={"rounds": 1})
    model = tmp_path / "model"
    for folder, command in ((store, lambda: fit(store)), (model, lambda: extend(model, store))):
        meta = (folder / "meta.json").read_text()
        (folder / "meta.json").write_text(json.dumps(seal(json.loads(meta) | {"version": 9})))
        with pytest.raises(StoreError, match=r"is of version 9.*update psdvec"):
            command()
        (folder / "meta.json").write_text(meta)


def test_a_fit_that_is_refused_leaves_nothing_behind(store, tmp_path):
    for memory in (0, "1K"):
        with pytest.raises(ResourceError, match=r"is allowed; give memory=\d+M"):
            fit(store, dim=5, memory=memory, output=tmp_path / "model")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["counts"]


def test_words_after_the_core_may_be_seen_too_little(store):
    placed = fit(store, dim=5, core=30, changes={"rounds": 1})
    assert len(placed) == 60
    assert len(fit(store, dim=5, core=30, min_contexts=999, changes={"rounds": 1})) == 30
    with pytest.raises(InputError, match="min_contexts is 0; give 1 or more"):
        fit(store, dim=5, core=30, min_contexts=0)


def test_the_commands_write_models(store, tmp_path):
    fitted = run("fit", store, "-o", tmp_path / "model", "--dim", 5, "--max-words", 40, "--rounds", 2, "-q")
    assert fitted.exit_code == 0, fitted.output
    assert "40 vectors of 5 dimensions" in fitted.stdout
    extended = run("extend", tmp_path / "model", store, "-o", tmp_path / "larger", "-q")
    assert "20 words learned, 0 refreshed" in extended.stdout
    again = run("extend", tmp_path / "larger", store, "-o", tmp_path / "none", "-q")
    assert again.exit_code == 0
    assert "nothing to learn" in again.stdout
    assert not (tmp_path / "none").exists()


def test_the_command_learns_the_words_of_a_file(store, tmp_path):
    run("fit", store, "-o", tmp_path / "model", "--dim", 5, "--max-words", 40, "-q")
    words = read_words(store)[40:43]
    (tmp_path / "words.txt").write_text("\n".join(words))
    options = ("--words", tmp_path / "words.txt", "-q")
    learned = run("extend", tmp_path / "model", store, "-o", tmp_path / "b", *options)
    assert learned.exit_code == 0
    assert read_model(tmp_path / "b").words[40:] == tuple(words)


def read_words(store):
    from psdvec.counts.matrix import load_counts

    return load_counts(store).vocabulary.words


def test_a_dry_run_writes_nothing(store, tmp_path):
    result = run("fit", store, "-o", tmp_path / "model", "--dry-run")
    assert "peak memory about" in result.stdout
    assert not (tmp_path / "model").exists()


def test_bad_input_is_refused_and_nothing_is_written(store, tmp_path):
    fit(store, dim=5, output=tmp_path / "model")
    with pytest.raises(StoreError, match="holds counts, not word vectors"):
        extend(store, store, output=tmp_path / "x")
    with pytest.raises(StoreError, match="holds word vectors, not counts"):
        fit(tmp_path / "model", output=tmp_path / "x")
    with pytest.raises(InputError, match="exists already"):
        fit(store, output=tmp_path / "model")
    assert not (tmp_path / "x").exists()


def test_quiet_silences_fitting_and_extending(store, caplog, capsys):
    with caplog.at_level("INFO", logger="psdvec"):
        extend(fit(store, dim=5, max_words=30), store)
        assert {"rounds", "new words"} <= {record.message.partition(":")[0] for record in caplog.records}
        caplog.clear()
        extend(fit(store, dim=5, max_words=30, quiet=True), store, quiet=True)
    assert not caplog.records
    assert capsys.readouterr() == ("", "")


def test_an_output_that_is_there_is_refused_before_the_counts_are_read(store, tmp_path, monkeypatch):
    fit(store, dim=5, output=tmp_path / "model")
    monkeypatch.setattr(matrix, "verify_artefact", lambda artefact: pytest.fail("the counts are read"))
    for work in (fit, plan_fit):
        with pytest.raises(InputError, match="model' exists already"):
            work(store, dim=5, output=tmp_path / "model")
        with pytest.raises(InputError, match=r"torch cannot use the device|needs torch"):
            work(store, dim=5, device="nonsense")


def test_a_dry_run_refuses_the_output_that_the_fit_would_refuse(store, tmp_path):
    fit(store, dim=5, output=tmp_path / "model")
    command = ("fit", store, "-o", tmp_path / "model", "--dim", "5", "--dry-run")
    refused = run(*command)
    assert refused.exit_code != 0
    assert "fit 60 words together" in run(*command, "--overwrite").output
