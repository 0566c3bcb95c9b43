"""A translator comes back from its folder as it was, and nothing is written behind a link."""

from __future__ import annotations

import dataclasses
import json
import stat
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from probing.errors import ProbingError
from probing.registry import AGGREGATORS
from probing.results import translator_folder
from probing.translation.encoder_decoder import build_encoder_decoder
from probing.translation.settings import SearchConfig, TranslationConfig, TranslatorConfig
from probing.translation.subwords import Subwords, train_subwords
from probing.translation.translator import Translator, load_translator, save_translator
from tests.translation.toy import WORDS, translate

CPU = torch.device("cpu")
ENGLISH = [f"{first} {second}." for first in WORDS for second in WORDS[:8]]
OTHER = [translate(line) for line in ENGLISH]
LINES = ["baka dene fipo.", "", "goru lusi", "\u4e2d \u00e4  tab\tand \U0001f600"]
FILES = {"model.safetensors", "translator.json", "source.model", "test.output.txt"}


def learn(sentences: list[str]) -> Subwords:
    return Subwords(train_subwords(sentences, vocabulary_size=400, character_coverage=1.0))


@pytest.fixture(scope="module")
def separate() -> tuple[Subwords, Subwords]:
    return learn(ENGLISH), learn(OTHER)


@pytest.fixture(scope="module")
def joint() -> tuple[Subwords, Subwords]:
    subwords = learn(ENGLISH + OTHER)
    return subwords, subwords


def make(subwords: tuple[Subwords, Subwords], *, tie: str) -> tuple[Translator, TranslationConfig]:
    sizes = {"num_layers": 2, "model_dim": 16, "num_heads": 2, "feed_forward_dim": 24, "num_capsules": 16}
    model = TranslatorConfig(**sizes, apply=("enc-self", "dec-self"), layers_with_aggregator=(2,), tie=tie)  # type: ignore[arg-type]
    config = TranslationConfig(model=model, search=SearchConfig(beam=3, extra_length=4))
    torch.manual_seed(0)
    built = build_encoder_decoder(
        AGGREGATORS.find("em").object, model, config.routing, vocabulary_sizes=[side.size for side in subwords]
    )
    return Translator(
        model=built.eval(), source_subwords=subwords[0], target_subwords=subwords[1], search=config.search, device=CPU
    ), config


def save(record: Path, subwords: tuple[Subwords, Subwords], *, tie: str = "none") -> Translator:
    translator, config = make(subwords, tie=tie)
    save_translator(record, translator, config, aggregator="em", texts={"test.output.txt": "Eins.\n"})
    return translator


@pytest.mark.parametrize("tie", ["none", "target", "all"])
def test_a_translator_with_joint_subwords_comes_back(
    joint: tuple[Subwords, Subwords], tmp_path: Path, tie: str
) -> None:
    record = tmp_path / "run.json"
    saved = save(record, joint, tie=tie)
    assert {path.name for path in translator_folder(record).iterdir()} == FILES
    loaded = load_translator(record, CPU)
    assert loaded.source_subwords is loaded.target_subwords
    assert loaded.translate(LINES, n_best=2) == saved.translate(LINES, n_best=2)


@pytest.mark.parametrize("tie", ["none", "target"])
def test_a_translator_with_separate_subwords_comes_back(
    separate: tuple[Subwords, Subwords], tmp_path: Path, tie: str
) -> None:
    record = tmp_path / "run.json"
    saved = save(record, separate, tie=tie)
    folder = translator_folder(record)
    assert {path.name for path in folder.iterdir()} == FILES | {"target.model"}
    loaded = load_translator(folder, CPU)
    assert (loaded.source_subwords.model, loaded.target_subwords.model) == tuple(side.model for side in separate)
    assert loaded.search == saved.search
    assert loaded.translate(LINES, n_best=2) == saved.translate(LINES, n_best=2)


@pytest.mark.parametrize(("tie", "matrices"), [("none", 3), ("target", 2), ("all", 1)])
def test_tied_embeddings_are_written_once_and_stay_tied(
    joint: tuple[Subwords, Subwords], tmp_path: Path, tie: str, matrices: int
) -> None:
    save(tmp_path / "run.json", joint, tie=tie)
    with safe_open(tmp_path / "run.translator" / "model.safetensors", "pt") as file:
        names = list(file.keys())
    assert sum("embedding" in name or name.startswith("output") for name in names) == matrices
    model = load_translator(tmp_path / "run.json", CPU).model
    weights = {each.weight.data_ptr() for each in (model.encoder.embedding, model.decoder.embedding, model.output)}
    assert len(weights) == matrices


def test_a_second_run_leaves_no_subwords_of_the_first(
    joint: tuple[Subwords, Subwords], separate: tuple[Subwords, Subwords], tmp_path: Path
) -> None:
    record = tmp_path / "run.json"
    save(record, separate)
    saved = save(record, joint)
    assert not (translator_folder(record) / "target.model").exists()
    assert load_translator(record, CPU).translate(LINES) == saved.translate(LINES)


def test_files_can_be_read_by_others_as_other_results_can(joint: tuple[Subwords, Subwords], tmp_path: Path) -> None:
    (tmp_path / "other").write_text("", encoding="utf-8")
    usual = stat.S_IMODE((tmp_path / "other").stat().st_mode)
    save(tmp_path / "run.json", joint)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "run.translator").iterdir()}
    assert modes == dict.fromkeys(FILES, usual)


def test_search_can_be_changed(joint: tuple[Subwords, Subwords], tmp_path: Path) -> None:
    save(tmp_path / "run.json", joint)
    loaded = load_translator(tmp_path / "run.json", CPU, search={"beam": 1, "alpha": 0.0})
    assert loaded.search == SearchConfig(beam=1, alpha=0.0, extra_length=4)


def test_progress_is_told(joint: tuple[Subwords, Subwords]) -> None:
    told: list[int] = []
    make(joint, tie="all")[0].translate(LINES, on_done=told.append)
    assert told[-1] == len(LINES)


def test_nothing_is_written_behind_a_link(joint: tuple[Subwords, Subwords], tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "run.translator").symlink_to(elsewhere)
    with pytest.raises(ProbingError, match=r"run\.translator"):
        save(tmp_path / "run.json", joint)
    assert not list(elsewhere.iterdir())


def test_a_link_in_the_folder_is_replaced_and_not_followed(joint: tuple[Subwords, Subwords], tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine", encoding="utf-8")
    (tmp_path / "run.translator").mkdir()
    for name in FILES:
        (tmp_path / "run.translator" / name).symlink_to(victim)
    save(tmp_path / "run.json", joint)
    assert victim.read_text(encoding="utf-8") == "mine"
    assert not any(path.is_symlink() for path in (tmp_path / "run.translator").iterdir())


def test_subwords_of_another_model_are_refused(
    joint: tuple[Subwords, Subwords], separate: tuple[Subwords, Subwords], tmp_path: Path
) -> None:
    save(tmp_path / "run.json", joint)
    other = Subwords(train_subwords(ENGLISH, vocabulary_size=350, character_coverage=1.0))
    (tmp_path / "run.translator" / "source.model").write_bytes(other.model)
    with pytest.raises(ProbingError, match="the subwords are not those of the model"):
        load_translator(tmp_path / "run.json", CPU)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("format", 2, "its format is 2, not 1"),
        ("vocabulary_sizes", [400], "vocabulary_sizes are not two numbers of subwords"),
        ("vocabulary_sizes", [400, 1 << 40], "vocabulary_sizes are not two numbers of subwords"),
        ("settings", None, ""),
    ],
)
def test_settings_that_are_none_are_refused(
    joint: tuple[Subwords, Subwords], tmp_path: Path, name: str, value: object, reason: str
) -> None:
    save(tmp_path / "run.json", joint)
    path = tmp_path / "run.translator" / "translator.json"
    about = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**about, name: value}), encoding="utf-8")
    with pytest.raises(ProbingError) as caught:
        load_translator(tmp_path / "run.json", CPU)
    assert f"translator.json: not the settings of a translator ({reason}" in str(caught.value)


def test_a_missing_tensor_is_named(joint: tuple[Subwords, Subwords], tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    save(tmp_path / "run.json", joint)
    path = tmp_path / "run.translator" / "model.safetensors"
    weights = load_file(path)
    del weights["decoder.norm.bias"]
    save_file(weights, path)
    with pytest.raises(ProbingError, match=r"not the weights of this translator \(decoder\.norm\.bias is missing\)"):
        load_translator(tmp_path / "run.json", CPU)


def test_a_plugin_is_loaded_only_by_its_name(joint: tuple[Subwords, Subwords], tmp_path: Path) -> None:
    translator, config = make(joint, tie="all")
    (tmp_path / "mine.py").write_text(
        "from pathlib import Path\n"
        "from probing.aggregators.em import EMAggregator as Mine\n"
        "Path(__file__).with_name('imported').touch()\n",
        encoding="utf-8",
    )
    plugin = f"{tmp_path / 'mine.py'}:Mine"
    save_translator(tmp_path / "run.json", translator, config, aggregator=plugin, texts={})
    with pytest.raises(ProbingError, match="is a plug-in. Name the code to run by --aggregator"):
        load_translator(tmp_path / "run.json", CPU)
    assert not (tmp_path / "imported").exists()
    loaded = load_translator(tmp_path / "run.json", CPU, aggregator=plugin)
    assert (tmp_path / "imported").exists()
    assert loaded.translate(LINES) == translator.translate(LINES)
    assert dataclasses.replace(loaded.search) == config.search
