"""The grids of the probes, what an epoch is, and when a configuration stops."""

from __future__ import annotations

import dataclasses

import pytest

from probing.errors import ProbingError
from probing.probes.definitions import PROBES, Configuration, get_probe, senteval_probe
from probing.training.loop import Epoch


def test_the_grids() -> None:
    mlp = PROBES["mlp"].configurations
    assert {(item.hidden, item.dropout) for item in mlp} == {(h, d) for h in (50, 100, 200) for d in (0, 0.1, 0.2)}
    senteval = senteval_probe(nhid=50, dropout=0.1)
    assert [item.weight_decay for item in senteval.configurations] == [1e-5, 1e-4, 1e-3, 1e-2]
    assert {(item.hidden, item.dropout) for item in senteval.configurations} == {(50, 0.1)}
    assert (senteval.batch_size, senteval.passes, senteval.max_epochs) == (64, 4, 51)
    assert not senteval.standardise
    named = [{item.hidden for item in get_probe(name).configurations} for name in ("senteval", "senteval-mlp")]
    assert named == [{0}, {50}]
    assert get_probe("senteval-mlp", task="WC").configurations == PROBES["senteval"].configurations
    linear = get_probe("mlp", task="WC").configurations
    assert linear == (Configuration(hidden=0),)
    assert get_probe("mlp", task="Tense") is PROBES["mlp"]


def test_an_unknown_probe() -> None:
    with pytest.raises(
        ProbingError, match="unknown probe 'mpl'. Did you mean 'mlp'\\? Known: mlp, linear, senteval, senteval-mlp"
    ):
        get_probe("mpl")


@pytest.mark.parametrize(
    ("accuracies", "in_a_row", "in_all"),
    [([50], False, False), ([50, 40, 40], True, False), ([50, 40, 60, 50], False, False), ([9, 8, 9, 9], True, True)],
)
def test_when_a_configuration_stops(accuracies: list[float], in_a_row: bool, in_all: bool) -> None:
    curve = [Epoch(number, 1.0, accuracy) for number, accuracy in enumerate(accuracies, 1)]
    probe = dataclasses.replace(PROBES["linear"], patience=2)
    assert probe.stops(curve) is in_a_row
    assert dataclasses.replace(probe, cumulative=True).stops(curve) is in_all


def test_an_epoch_on_few_sentences_has_several_passes() -> None:
    assert [PROBES["mlp"].count_passes(count) for count in (10, 640, 16000, 100_000)] == [250, 25, 1, 1]
    assert PROBES["senteval"].count_passes(10) == 4
