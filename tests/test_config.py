from __future__ import annotations

import dataclasses

import pytest
import torch

from probing import config
from probing.config import DEFAULT_PRESETS, PRESETS, Config, ModelConfig, TrainingConfig, resolve_config
from probing.encoders.huggingface import POOL
from probing.encoders.vector_files import SAFETENSORS_DTYPES
from probing.errors import ProbingError
from probing.probes.definitions import PROBES
from probing.training import pick_device

SETTINGS = [f"{s.name}.{f.name}" for s in dataclasses.fields(Config) for f in dataclasses.fields(s.default_factory)]
KNOWN = ", ".join(SETTINGS)
LAYERS = "model.layers_with_aggregator must be layers from 1 to model.num_layers=3. Got"
TEMPERATURES = "model.inverse_temperature must be one number for each of model.iterations=3. Got"


def error_of(*settings, toml=None, preset="paper"):
    with pytest.raises(ProbingError) as caught:
        resolve_config(preset, config_file=toml, settings=settings)
    return str(caught.value)


@pytest.fixture
def toml(tmp_path):
    def write(text):
        path = tmp_path / "my.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_the_paper_preset_has_the_papers_sizes():
    model = PRESETS["paper"].model
    sizes = (model.num_layers, model.model_dim, model.num_heads, model.feed_forward_dim, model.num_capsules)
    assert sizes == (3, 512, 8, 2048, 512)
    assert (model.iterations, model.dropout, model.votes, model.squash) == (3, 0.1, "shared", True)


def test_every_data_set_has_a_preset():
    assert list(PRESETS) == ["paper", "small", "mini"]
    assert set(DEFAULT_PRESETS.values()) <= PRESETS.keys()
    assert DEFAULT_PRESETS == {"senteval": "paper", "mini": "mini", "midi": "mini"}


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_alone_is_itself(preset):
    assert resolve_config(preset) == PRESETS[preset]
    assert set(PRESETS[preset].as_dict()) == {"model", "routing", "training"}


def test_an_unknown_preset():
    assert error_of(preset="papper") == "unknown preset 'papper'. Did you mean 'paper'? Known: paper, small, mini"


def test_configs_cannot_be_changed():
    for section in (Config(), ModelConfig(), TrainingConfig()):
        name = dataclasses.fields(section)[0].name
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(section, name, 1)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("model.num_layers=2", 2),
        (" model.num_layers = 2 ", 2),
        ("training.max_vocabulary=1_000", 1000),
        ("model.dropout=0", 0.0),
        ("model.dropout=2.5e-1", 0.25),
        ("model.votes=per_head", "per_head"),
        ("model.squash=false", False),
        ("model.squash=TRUE", True),
        ("model.layers_with_aggregator=1,3", (1, 3)),
        ("model.layers_with_aggregator= 1 , 3 ,", (1, 3)),
        ("model.layers_with_aggregator=", ()),
        ("model.layers_with_aggregator=2", (2,)),
        ("model.inverse_temperature=1,1.5,2", (1.0, 1.5, 2.0)),
        ("training.learning_rate=1", 1.0),
        ("training.clip_norm=0", 0.0),
    ],
)
def test_a_setting_has_its_fields_type(setting, value):
    section, _, key = setting.partition("=")[0].strip().partition(".")
    received = getattr(getattr(resolve_config("paper", settings=[setting]), section), key)
    assert received == value
    assert type(received) is type(value)


def test_other_settings_stay_and_the_last_one_counts():
    config = resolve_config("mini", settings=["model.num_layers=2", "training.patience=9", "model.num_layers=1"])
    assert config.model == dataclasses.replace(PRESETS["mini"].model, num_layers=1)
    assert config.training == dataclasses.replace(PRESETS["mini"].training, patience=9)
    assert PRESETS["mini"].model.num_layers == 3


@pytest.mark.parametrize("setting", ["", "=", "model", "model.num_layers", "num_layers=2", "model num_layers=2"])
def test_a_setting_of_another_form(setting):
    form = "is not of the form section.key=value, e.g. model.num_layers=2"
    assert error_of(setting) == f"--set {setting!r} {form}"


@pytest.mark.parametrize(
    ("setting", "hint"),
    [
        ("model.num_layer=2", " Did you mean 'model.num_layers'?"),
        ("modle.num_layers=2", " Did you mean 'model.num_layers'?"),
        ("model.a.b=2", " Did you mean 'model.squash'?"),
        ("model.=2", " Did you mean 'model.votes'?"),
        ("model.__class__=2", " Did you mean 'model.num_capsules'?"),
        (".=", ""),
    ],
)
def test_an_unknown_setting(setting, hint):
    assert error_of(setting) == f"unknown setting {setting.partition('=')[0]!r}.{hint} Known: {KNOWN}"


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (["model.num_layers=two"], "model.num_layers must be a whole number. Got 'two'"),
        (["model.num_layers=2.0"], "model.num_layers must be a whole number. Got '2.0'"),
        (["model.num_layers="], "model.num_layers must be a whole number. Got ''"),
        (["model.num_layers=true"], "model.num_layers must be a whole number. Got 'true'"),
        (["model.num_layers=0"], "model.num_layers must be at least 1. Got 0"),
        (["model.model_dim=-8"], "model.model_dim must be at least 1. Got -8"),
        (["model.feed_forward_dim=0"], "model.feed_forward_dim must be at least 1. Got 0"),
        (["model.head_dim=0"], "model.head_dim must be at least 1. Got 0"),
        (["model.iterations=0"], "model.iterations must be at least 1. Got 0"),
        (["model.num_heads=0"], "model.num_heads must be at least 1. Got 0"),
        (["model.num_capsules=0"], "model.num_capsules must be at least 1. Got 0"),
        (["model.num_heads=7"], "model.num_heads must be a divisor of model.model_dim=512. Got 7"),
        (["model.num_capsules=1024"], "model.num_capsules must be a divisor of model.model_dim=512. Got 1024"),
        (["model.model_dim=96"], "model.num_capsules must be a divisor of model.model_dim=96. Got 512"),
        (["model.dropout=1"], "model.dropout must be at least 0 and below 1. Got 1.0"),
        (["model.dropout=-0.1"], "model.dropout must be at least 0 and below 1. Got -0.1"),
        (["model.dropout=nan"], "model.dropout must be a number. Got nan"),
        (["model.dropout=much"], "model.dropout must be a number. Got 'much'"),
        (["model.votes=both"], "model.votes must be shared or per_head. Got 'both'"),
        (["model.squash=yes"], "model.squash must be true or false. Got 'yes'"),
        (["model.squash=1"], "model.squash must be true or false. Got '1'"),
        (["model.layers_with_aggregator=0"], f"{LAYERS} '0'"),
        (["model.layers_with_aggregator=1,4"], f"{LAYERS} '1,4'"),
        (["model.layers_with_aggregator=1;2"], "model.layers_with_aggregator must be a whole number. Got '1;2'"),
        (["model.inverse_temperature=1,2"], f"{TEMPERATURES} '1.0,2.0'"),
        (["model.inverse_temperature=1,2,inf"], "model.inverse_temperature must be a number. Got inf"),
        (["training.max_epochs=0"], "training.max_epochs must be at least 1. Got 0"),
        (["training.patience=0"], "training.patience must be at least 1. Got 0"),
        (["training.batch_size=0"], "training.batch_size must be at least 1. Got 0"),
        (["training.warmup=1"], "training.warmup must be at least 0 and below 1. Got 1.0"),
        (["training.min_epoch_steps=0"], "training.min_epoch_steps must be at least 1. Got 0"),
        (["training.sentences=-1"], "training.sentences must be 0 or above. Got -1"),
        (["training.word_dropout=1.5"], "training.word_dropout must be at least 0 and below 1. Got 1.5"),
        (["training.min_frequency=0"], "training.min_frequency must be at least 1. Got 0"),
        (["training.max_vocabulary=0"], "training.max_vocabulary must be at least 1. Got 0"),
        (["training.learning_rate=0"], "training.learning_rate must be above 0. Got 0.0"),
        (["training.learning_rate=inf"], "training.learning_rate must be a number. Got inf"),
        (["training.clip_norm=-1"], "training.clip_norm must be 0 or above. Got -1.0"),
    ],
)
def test_a_value_that_makes_no_sense(settings, text):
    assert error_of(*settings) == text


def test_settings_that_only_together_make_sense():
    config = resolve_config("paper", settings=["model.model_dim=96", "model.num_capsules=96"])
    assert (config.model.model_dim, config.model.num_capsules) == (96, 96)


def test_a_file_changes_the_preset_and_settings_change_the_file(toml):
    path = toml("""
        [model]
        num_layers = 2
        dropout = 0
        votes = "per_head"
        squash = false
        layers_with_aggregator = [1, 2]
        inverse_temperature = [1, 1, 1]
        [training]
        learning_rate = 1e-4
    """)
    config = resolve_config("paper", config_file=path, settings=["model.dropout=0.3"])
    assert config.model == ModelConfig(
        num_layers=2,
        dropout=0.3,
        votes="per_head",
        squash=False,
        layers_with_aggregator=(1, 2),
        inverse_temperature=(1.0, 1.0, 1.0),
    )
    assert config.training == TrainingConfig(learning_rate=1e-4)


def test_only_the_outcome_of_file_and_settings_has_to_make_sense(toml):
    path = toml("[model]\nmodel_dim = 96")
    assert resolve_config("paper", config_file=path, settings=["model.num_capsules=96"]).model.model_dim == 96
    assert "divisor of model.model_dim=96" in error_of(toml=path)


@pytest.mark.parametrize("text", ["", "# nothing\n", "[model]\n", "[model]\n[training]\n"])
def test_a_file_that_says_nothing_changes_nothing(toml, text):
    assert resolve_config("small", config_file=toml(text)) == PRESETS["small"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("num_layers = 2", "'num_layers' stands outside a section. Sections: model, routing, training"),
        ("[model]\nnum_layer=2", f"unknown setting 'model.num_layer'. Did you mean 'model.num_layers'? Known: {KNOWN}"),
        ("[modell]\n", "unknown section 'modell'. Did you mean 'model'? Known: model, routing, training"),
        ("[model.num_layers]\nx = 1", "model.num_layers must be a whole number. Got {'x': 1}"),
        ("[model]\nnum_layers = 2.5", "model.num_layers must be a whole number. Got 2.5"),
        ("[model]\nnum_layers = true", "model.num_layers must be a whole number. Got True"),
        ("[model]\nsquash = 1", "model.squash must be true or false. Got 1"),
        ("[model]\ndropout = nan", "model.dropout must be a number. Got nan"),
        ("[model]\ndropout = [0.1]", "model.dropout must be a number. Got [0.1]"),
        ("[model]\nvotes = 3", "model.votes must be shared or per_head. Got 3"),
        ("[model]\nvotes = []", "model.votes must be shared or per_head. Got []"),
        ("[model]\nlayers_with_aggregator = [1.5]", "model.layers_with_aggregator must be a whole number. Got 1.5"),
        ("[model]\nlayers_with_aggregator = [[1]]", "model.layers_with_aggregator must be a whole number. Got [1]"),
        ("[model]\nlayers_with_aggregator = true", "model.layers_with_aggregator must be a whole number. Got 'True'"),
        ("[[model]]\nnum_layers = 2", "'model' stands outside a section. Sections: model, routing, training"),
    ],
)
def test_a_file_with_a_mistake_is_named(toml, text, message):
    path = toml(text)
    assert error_of(toml=path) == f"{path}: {message}"


@pytest.mark.parametrize("text", ["[model", "a = ", "[model]\nx = 1\nx = 2", b"\xff\xfe", "\0", "x = " + "[" * 5000])
def test_a_file_that_is_no_toml(toml, text):
    path = toml(text)
    message = error_of(toml=path)
    assert message.startswith(f"{path}: not valid TOML (")
    assert "\n" not in message


def test_a_file_that_cannot_be_read(tmp_path):
    missing = tmp_path / "no.toml"
    assert error_of(toml=missing) == f"{missing}: cannot be read (No such file or directory)"
    assert error_of(toml=tmp_path) == f"{tmp_path}: cannot be read (Is a directory)"


def test_a_setting_of_another_section_is_found():
    assert "Did you mean 'model.num_layers'?" in error_of("training.num_layers=2")


@pytest.mark.parametrize("value", ["auto", "fused", "reference"])
def test_the_routing_implementation(value):
    assert resolve_config("paper", settings=[f"routing.implementation={value}"]).routing.implementation == value
    assert "routing.implementation must be auto or fused or reference. Got 'x'" in error_of("routing.implementation=x")


@pytest.mark.parametrize("value", ["auto", "float32", "bfloat16"])
def test_the_precision(value):
    assert resolve_config("paper", settings=[f"training.precision={value}"]).training.precision == value
    assert "training.precision must be auto or float32 or bfloat16. Got 'half'" in error_of("training.precision=half")


def test_a_precision_that_there_is_not():
    with pytest.raises(ProbingError, match="training.precision must be auto, float32 or bfloat16. Got 'half'"):
        TrainingConfig(precision="half")


def test_what_can_be_chosen_is_what_there_is(monkeypatch):
    """The names stand in the settings, so that the command can offer them without importing torch."""
    assert tuple(PROBES) == config.PROBES
    assert tuple(POOL) == config.POOLINGS
    assert tuple(SAFETENSORS_DTYPES) == config.DTYPES
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert [pick_device(name).type for name in config.DEVICES] == ["cuda", "cpu", "cuda", "mps"]
    for other in ("gpu", "xpu", "meta", "cuda:0", "CPU", ""):
        with pytest.raises(ProbingError) as caught:
            pick_device(other)
        assert str(caught.value) == f"unknown device {other!r}. Known: {', '.join(config.DEVICES)}"
