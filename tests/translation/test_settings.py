"""Settings of translation: the presets, their checks, and how they are changed."""

from __future__ import annotations

import pytest

from probing.errors import ProbingError
from probing.translation.settings import TRANSLATION_PRESETS, resolve_translation_config


def test_the_papers_learning_rates() -> None:
    for name in ("base", "big"):
        config = TRANSLATION_PRESETS[name]
        noam = (config.model.model_dim * config.training.warmup_steps) ** -0.5
        assert config.training.learning_rate == pytest.approx(noam, rel=0.01)
        assert config.training.batch_tokens * config.training.accumulate == 8 * 4096


def test_settings_are_changed_by_name() -> None:
    settings = ["model.apply=enc-self,dec-self", "training.average=1", "search.alpha=1", "subwords.joint=true"]
    config = resolve_translation_config("base", settings=settings)
    assert config.model.apply == ("enc-self", "dec-self")
    assert (config.training.average, config.search.alpha, config.subwords.joint) == (1, 1.0, True)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("model.apply=encoder", "model.apply must be enc-self or enc-dec or dec-self. Got 'encoder'"),
        ("model.num_heads=3", "model.num_heads must be a divisor of model.model_dim=512. Got 3"),
        ("model.layers_with_aggregator=7", "model.layers_with_aggregator must be layers from 1 to model.num_layers=6"),
        ("training.label_smoothing=1", "training.label_smoothing must be at least 0 and below 1. Got 1.0"),
        ("training.learning_rate=0", "training.learning_rate must be above 0. Got 0.0"),
        ("search.beam=0", "search.beam must be at least 1. Got 0"),
        ("subwords.vocabulary_size=20", "subwords.vocabulary_size must be from 300 to 1000000. Got 20"),
        ("training.batch_size=3", "unknown setting 'training.batch_size'. Did you mean 'training.batch_tokens'?"),
    ],
)
def test_wrong_settings_are_named(setting: str, message: str) -> None:
    with pytest.raises(ProbingError) as error:
        resolve_translation_config("base", settings=[setting])
    assert message in str(error.value)


def test_unknown_presets() -> None:
    with pytest.raises(ProbingError, match="unknown preset 'paper'. Known: base, big, tiny"):
        resolve_translation_config("paper")
