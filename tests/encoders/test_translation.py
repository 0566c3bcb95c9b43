"""Encoders of translation runs: their vectors, their untrained form, their records, and what is no run."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from msgspec import structs

import probing
from probing.display import Display
from probing.encoders.options import EncoderOptions
from probing.encoders.specification import find_encoder, find_recipes
from probing.encoders.translation import TranslationEncoder, measure_spelled_out
from probing.encoders.translation_runs import find_runs
from probing.errors import ProbingError
from probing.experiments.options import Place, SettingOptions
from probing.experiments.translating import TextOptions, TranslationExperiment, run_translations
from probing.model import sinusoids
from probing.registry import AGGREGATORS
from probing.results import Record, Store, read_record, translator_folder
from probing.storage import hash_content
from probing.tasks import load_task
from probing.translation.encoder_decoder import build_encoder_decoder
from probing.translation.subwords import END, Subwords, train_subwords
from probing.translation.text_form import TextForm
from probing.translation.translator import load_translator, read_settings
from tests import studies
from tests.conftest import make_record
from tests.translation.models import pack
from tests.translation.toy import WORDS, write_toy_corpus

CPU = torch.device("cpu")
SIZES = {"num_layers": 2, "model_dim": 16, "num_heads": 2, "feed_forward_dim": 24, "num_capsules": 16}
SETTINGS = (
    *(f"model.{name}={value}" for name, value in SIZES.items()),
    "routing.implementation=reference",
    "training.max_steps=3",
    "training.max_epochs=1",
    "subwords.vocabulary_size=340",
    "search.beam=1",
    "search.extra_length=1",
)
SENTENCES = [list(words) for words in (WORDS[:1], WORDS[3:9], ("Baka", "dene", ",", "fipo", "."), WORDS[20:40])]


def train(results: Path, corpus: Path, aggregator: str, *seeds: int) -> None:
    experiment = TranslationExperiment(
        aggregators=[aggregator],
        text=TextOptions(folder=corpus, pair="en-xx"),
        settings=SettingOptions(settings=SETTINGS, seeds=seeds),
    )
    place = Place(results=results, device="cpu", jobs=1)
    assert run_translations(experiment, place, Display(verbosity=-1)).failed == 0


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder of three runs: base with two seeds, and EM."""
    folder = tmp_path_factory.mktemp("translators")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        corpus = write_toy_corpus(folder / "toy", train=60, dev=4, test=12)
        train(folder / "runs", corpus, "base", 0, 1)
        train(folder / "runs", corpus, "em", 0)
    return folder / "runs"


@pytest.fixture
def copied(runs: Path, tmp_path: Path) -> Path:
    """Return a copy of the runs, which a test may damage."""
    return Path(shutil.copytree(runs, tmp_path / "runs"))


def path_of(runs: Path, aggregator: str = "base", seed: int = 0) -> Path:
    (path,) = runs.glob(f"toy--en-xx--{aggregator}*--seed{seed}--*.json")
    return path


def load(path: Path, layer: str = "all", seed: int | None = None) -> TranslationEncoder:
    recipe = find_encoder(f"translation:{path}", EncoderOptions(layer=layer))
    encoder: TranslationEncoder = (recipe if seed is None else recipe.untrained(seed)).load(CPU)
    return encoder


@torch.no_grad()
def encode_slowly(encoder: TranslationEncoder, text: str) -> np.ndarray[Any, Any]:
    """Return the vectors (layers, d) of one text in double precision, layer by layer."""
    model = encoder.encoder.double()
    tokens, packing = pack([[*encoder.subwords.encode([text])[0], END]])
    width = model.embedding.embedding_dim
    hidden = model.embedding.weight[tokens] * math.sqrt(width)
    hidden = hidden + sinusoids(torch.arange(len(tokens)), width, torch.float64)
    states = [hidden]
    for layer in model.layers:
        hidden = hidden + layer.attention(layer.attention_norm(hidden), packing)
        hidden = hidden + layer.feed_forward(layer.feed_forward_norm(hidden))
        states.append(hidden)
    states[-1] = model.norm(states[-1])
    found = np.stack([np.mean([vector.numpy() for vector in state[:-1]], axis=0) for state in states])
    model.float()
    return found


# Vectors


@pytest.mark.parametrize("aggregator", ["base", "em"])
def test_vectors_are_means_over_the_subwords_without_the_end(runs: Path, aggregator: str) -> None:
    encoder = load(path_of(runs, aggregator))
    found = encoder.encode(SENTENCES)
    slow = np.stack([encode_slowly(encoder, encoder.spell(sentence)) for sentence in SENTENCES])
    assert (found.shape, found.dtype) == ((4, 3, 16), np.float32)
    np.testing.assert_allclose(found, slow, rtol=1e-4, atol=2e-5)


def test_a_sentence_has_the_same_vector_in_any_batch(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = load(path_of(runs, "em"))
    together = encoder.encode(SENTENCES)
    for place, sentence in enumerate(SENTENCES):
        np.testing.assert_allclose(encoder.encode([sentence])[0], together[place], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(encoder.encode(SENTENCES[::-1])[::-1], together, rtol=1e-4, atol=1e-5)
    monkeypatch.setattr("probing.encoders.translation.BATCH_TOKENS", 8)
    np.testing.assert_allclose(encoder.encode(SENTENCES), together, rtol=1e-4, atol=1e-5)


def test_layers_are_chosen_as_of_hugging_face_models(runs: Path) -> None:
    path = path_of(runs)
    everything = load(path).encode(SENTENCES)
    for layer, places in {"0": [0], "-1": [2], "last": [2], "0-1": [0, 1], "0,2": [0, 2]}.items():
        np.testing.assert_array_equal(load(path, layer).encode(SENTENCES), everything[:, places])
    assert find_encoder(f"translation:{path}").layers == (2,)
    mixed = find_encoder(f"translation:{path}", EncoderOptions(layer="mix"))
    assert (mixed.mixes, mixed.layers) == (True, (0, 1, 2))


def test_the_untrained_encoder_has_the_weights_with_which_a_run_begins(runs: Path) -> None:
    path = path_of(runs, "em")
    trained, first, again, other = (load(path, seed=seed).encode(SENTENCES) for seed in (None, 0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)
    assert not np.allclose(first, trained)
    config, _, sizes = read_settings(translator_folder(path))
    torch.manual_seed(1)
    built = build_encoder_decoder(
        AGGREGATORS.find("em").object, config.model, config.routing, vocabulary_sizes=sizes
    ).encoder
    for name, weights in load(path, seed=1).encoder.state_dict().items():
        assert torch.equal(weights, built.state_dict()[name]), name


# Text


@pytest.mark.parametrize(
    ("lines", "form"),
    [
        (["A man rides a horse.", "Look, Tom!"], TextForm(prose=True, lowercase=False)),
        (["A man rides a horse .", "Look , Tom !"], TextForm(prose=False, lowercase=False)),
        (["a man 's horse .", "look , tom !"], TextForm(prose=False, lowercase=True)),
        (["a man rides a horse."], TextForm(prose=True, lowercase=True)),
        (["no marks at all"], TextForm(prose=False, lowercase=True)),
        (["你 好 。"], TextForm(prose=False, lowercase=False)),
        ([], TextForm(prose=False, lowercase=False)),
    ],
)
def test_the_form_of_a_text(lines: list[str], form: TextForm) -> None:
    assert TextForm.find(lines) == form


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (TextForm(prose=False, lowercase=False), "Ann ca n't see , Tom ."),
        (TextForm(prose=False, lowercase=True), "ann ca n't see , tom ."),
        (TextForm(prose=True, lowercase=False), "Ann can't see, Tom."),
    ],
)
def test_sentences_are_written_like_the_source_text(runs: Path, form: TextForm, text: str) -> None:
    encoder = load(path_of(runs))
    assert encoder.form == TextForm(prose=True, lowercase=False), "the toy text is prose with capitals"
    written = TranslationEncoder(encoder.encoder, encoder.subwords, (2,), form, CPU)
    assert written.spell(["Ann", "ca", "n't", "see", ",", "Tom", "."]) == text


def test_the_share_of_spelled_out_words(task_file: Callable[..., Path]) -> None:
    subwords = Subwords(train_subwords(["baka dene"] * 20, vocabulary_size=280, character_coverage=1.0))
    assert subwords.find_spelled_out(["baka", "bakane", "kd", "Baka"]) == [False, False, True, True]
    lines = ["tr\tA\tbaka kd .", "tr\tB\tkd Baka 12", "va\tA\tdene n't", "te\tB\tbaka a"]
    task = load_task(task_file(lines))
    # Of the words baka, kd, kd, Baka, dene, baka: kd twice, and Baka, which has an unknown letter.
    assert measure_spelled_out(task, subwords) == pytest.approx(100 * 3 / 6)
    assert measure_spelled_out(task, subwords, lowercase=True) == pytest.approx(100 * 2 / 6)
    assert measure_spelled_out(load_task(task_file(["tr\tA\t1", "tr\tB\t2", "va\tA\t.", "te\tB\t."])), subwords) == 0


# Runs


def test_a_run_is_named_by_its_record_its_folder_or_a_part_of_its_name(runs: Path) -> None:
    first, second, third = path_of(runs), path_of(runs, seed=1), path_of(runs, "em")
    everything = sorted([first, second, third])
    key = first.stem.rpartition("--")[2]
    for target in (first, translator_folder(first), str(first).removesuffix(".json"), runs / key[:7]):
        assert find_runs(str(target), Path("elsewhere")) == [first]
    assert find_runs(str(runs), Path()) == everything
    assert find_runs(str(runs / "*base*"), Path()) == sorted([first, second])
    assert find_runs(key, runs) == find_runs(first.stem, runs.parent) == [first]
    specs = find_recipes([f"translation:{runs}", f"translation:{first}"])
    assert [recipe.seed for recipe in specs] == [0, 1, 0]


def test_seeds_are_one_row_and_a_name_is_the_rows(runs: Path) -> None:
    recipes = find_recipes([f"NMT=translation:{runs}/*base*", f"translation:{path_of(runs, 'em')}"])
    assert [recipe.label for recipe in recipes] == ["NMT", "NMT", "EM, enc-self"]
    assert [recipe.name for recipe in recipes] == ["translation:base", "translation:base", "translation:em enc-self"]
    assert len({recipe.version for recipe in recipes}) == 3


# Records


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    return studies.write_answers(tmp_path, (30, 10, 10))


def test_a_run_of_the_command(
    runs: Path, answers: Path, tmp_path: Path, probe: Callable[..., tuple[int, str, str]]
) -> None:
    named = [part for path in sorted(runs.glob("*base*.json")) for part in ("--encoder", f"translation:{path}")]
    command = ["run", *named, "--control", "random-encoder", "--task-file", answers, "--results", tmp_path / "out"]
    command += ["--preset", "mini", "--jobs", 1, "--probe", "linear", "--device", "cpu"]
    code, _, error = probe(*command)
    assert code == 0, error
    assert "answers Base layer 2 seed 1: test" in error
    records = {(one.identity.model.label, one.identity.seed): one for one in studies.load(tmp_path / "out")}
    assert list(records) == [(label, seed) for label in ("Base layer 2", "Base layer 2, untrained") for seed in (0, 1)]
    for (label, seed), record in records.items():
        _check_translator(record, read_record(path_of(runs, seed=seed)), trained=not label.endswith("untrained"))
        assert Store(tmp_path).save(record).read_bytes() == record.path(tmp_path / "out").read_bytes()
    code, _, error = probe(*command)
    assert (code, "4 of 4 cells are already in" in error) == (0, True)
    code, table, _ = probe("report", "--results", tmp_path / "out")
    assert code == 0
    assert "BLEU: of the translator, on toy en-xx test, the mean over its seeds" in table
    assert probe("verify", tmp_path / "out")[0] == 0


def _check_translator(record: Record, run: Record, *, trained: bool) -> None:
    translator = record.identity.translator
    assert translator
    assert run.translation is not None
    model = (translator_folder(run.path(Path())).name, run.identity.data, run.identity.settings)
    assert (f"{translator.run}.translator", translator.data, translator.settings) == model
    assert (translator.languages, translator.preset, translator.test) == ("en-xx", "tiny", "test")
    assert translator.bleu == (run.translation.test.bleu if trained else None)
    assert translator.signature == run.translation.test.signature
    assert (translator.subwords, translator.vocabulary_size) == ("BPE (sentencepiece)", 340)
    assert translator.spelled_out == 100, "YES and NO have no subwords; a to h have one letter each"


def test_python_takes_the_same_specification(runs: Path, answers: Path, tmp_path: Path) -> None:
    del answers
    (tmp_path / "data").mkdir()
    lines = [f"{split}\t{label}\t{label} baka" for split in ("tr", "va", "te") for label in ("PAST", "PRES")]
    (tmp_path / "data" / "past_present.txt").write_text("\n".join(lines) + "\n")
    results = probing.evaluate(
        f"translation:{path_of(runs, 'em')}",
        tasks="Tense",
        layers=[0, 1],
        data=tmp_path / "data",
        results=tmp_path / "out",
        probe="linear",
        quiet=True,
        jobs=1,
    )
    assert results.models == ["EM, enc-self layer 0", "EM, enc-self layer 1"]
    frame = results.to_dataframe()
    assert (frame["bleu"] == frame["mean_bleu"]).all()


def test_another_training_of_a_run_is_probed_anew(copied: Path, answers: Path, tmp_path: Path) -> None:
    path, results = path_of(copied), tmp_path / "out"
    options: dict[str, Any] = {"encoders": [f"translation:{path}"], "probe": "linear"}
    assert studies.start(answers, results, **options).finished == 1
    assert studies.start(answers, results, **options).skipped == 1
    weights = translator_folder(path) / "model.safetensors"
    shutil.copy(translator_folder(path_of(copied, seed=1)) / "model.safetensors", weights)
    before = weights.stat()
    os.utime(weights, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert studies.start(answers, results, **options).finished == 1
    found = studies.load(results)
    assert len({hash_content(str(one.identity.model.version)) for one in found}) == 2
    assert len(probing.Results(found).table().split("Base layer 2")) == 2, "one row, of the newer of the two"


# Mistakes


def drop_record(path: Path) -> str:
    path.unlink()
    return str(translator_folder(path))


def drop_model(path: Path) -> str:
    shutil.rmtree(translator_folder(path))
    return str(path)


def drop_weights(path: Path) -> str:
    (translator_folder(path) / "model.safetensors").unlink()
    return str(path)


def cut_weights(path: Path) -> str:
    weights = translator_folder(path) / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    return str(path)


def cut_subwords(path: Path) -> str:
    (translator_folder(path) / "source.model").write_bytes(b"nothing")
    return str(path)


def change_settings(path: Path, **changes: Any) -> str:
    settings = translator_folder(path) / "translator.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), **changes}))
    return str(path)


def fail(path: Path) -> str:
    record = read_record(path)
    Store(path.parent).save(structs.replace(record, outcome=None, error="the loss became nan"))
    return str(path)


def begin(path: Path) -> str:
    (path.parent / "checkpoints").mkdir(exist_ok=True)
    path.rename(path.parent / "checkpoints" / path.stem)
    return str(path)


MISTAKES: list[tuple[Callable[[Path], str], str]] = [
    (lambda path: f"{path.parent}/nothing", "there is no such run in {folder}. Runs there: toy--en-xx--base--"),
    (lambda path: f"{path.parent}/nothing.json", "there is no such run in {folder}. Runs there: toy--en-xx--base--"),
    (lambda path: f"{path.parent}/toy", "toy' could be toy--en-xx--base--tiny--seed0--"),
    (lambda path: f"{path.parent.parent}", "there is no finished run of `probe translate run` in this folder"),
    (lambda path: "nothing", "there is no such run in results. There are none: train one with `probe translate run`"),
    (drop_record, "{name}.json is missing beside it. It tells the run's data, seed and BLEU"),
    (drop_model, "its model is missing: there is no folder {name}.translator beside it"),
    (drop_weights, "{name}.translator: the model cannot be read (No such file or directory: model.safetensors)"),
    (cut_weights, "model.safetensors: not the weights of this translator"),
    (cut_subwords, "source.model: not a subword model of this program, or damaged"),
    (lambda path: change_settings(path, format=2), "not the settings of a translator (its format is 2, not 1)"),
    (lambda path: change_settings(path, aggregator="gate"), "its aggregator 'base' is a plug-in. Name the code to run"),
    (fail, "the training of this run failed (the loss became nan), so it has no encoder"),
    (begin, "{name}: this run is not finished. The same `probe translate run` command goes on with it"),
    (lambda path: str(Store(path.parent).save(make_record())), "a result of probing (Tense EM seed 0), not a run of"),
]


@pytest.mark.parametrize(("damage", "text"), MISTAKES)
def test_what_is_no_run(
    copied: Path,
    answers: Path,
    tmp_path: Path,
    probe: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
    damage: Callable[[Path], str],
    text: str,
) -> None:
    path = path_of(copied)
    expected = text.format(folder=path.parent, name=path.stem)
    target = damage(path)
    monkeypatch.chdir(tmp_path)
    code, _, error = probe(
        "run", "--encoder", f"translation:{target}", "--task-file", answers, "--preset", "mini", "-q"
    )
    assert (code, error.count("\n")) == (2, 1), error
    assert expected in error


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--layer", "3"], "--layer must be 0 to 2, -1 to -3, a range or list of them, all, last or mix. Got '3'"),
        (["--layer", "top"], "--layer must be a number from 0 (the embeddings)"),
        (["--pooling", "cls"], "--pooling goes with --encoder huggingface:NAME_OR_PATH"),
        (["--fine-tune"], "can only be probed frozen"),
    ],
)
def test_options_that_do_not_fit(
    runs: Path, answers: Path, probe: Callable[..., tuple[int, str, str]], options: list[str], text: str
) -> None:
    spec = f"translation:{path_of(runs)}"
    code, _, error = probe("run", "--encoder", spec, *options, "--task-file", answers, "--preset", "mini", "-q")
    assert (code, error.count("\n")) == (2, 1), error
    assert text in error


def test_a_plug_in_is_imported_only_if_it_is_named(copied: Path, tmp_path: Path) -> None:
    path = path_of(copied, "em")
    (tmp_path / "gate.py").write_text("from probing.aggregators.em import EMAggregator as Gate\n")
    change_settings(path, aggregator="Gate")
    with pytest.raises(ProbingError, match="the code of the aggregator '.*gate.py:Gate' is not that of the run"):
        find_encoder(f"translation:{path}?aggregator={tmp_path}/gate.py:Gate")
    record = read_record(path)
    version = AGGREGATORS.find(f"{tmp_path}/gate.py:Gate").version
    model = structs.replace(record.identity.model, version=version)
    record = structs.replace(record, identity=structs.replace(record.identity, model=model), key="")
    other = Store(copied).save(record)
    translator_folder(path).rename(translator_folder(other))
    (encoder,) = find_recipes([f"translation:{other}?aggregator={tmp_path}/gate.py:Gate"])
    assert encoder.load(CPU).encode(SENTENCES).shape == (4, 1, 16)
    assert load_translator(other, CPU, aggregator=f"{tmp_path}/gate.py:Gate")
