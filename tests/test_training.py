"""The optimisation loop: it learns, stops early, restores the best weights, and repeats itself exactly."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from probing import training
from probing.dataset import PackedSplit
from probing.errors import ProbingError
from probing.model.attention import Packing
from probing.model.classifier import Classifier, build_classifier
from probing.registry import AGGREGATORS

CPU = torch.device("cpu")
SETTINGS = {
    "max_epochs": 4,
    "patience": 2,
    "batch_size": 16,
    "learning_rate": 3e-3,
    "warmup_steps": 10,
    "clip_norm": 1.0,
}


def make_split(size: int, seed: int) -> PackedSplit:
    """Sentences of 3 to 7 words out of 20; the class says whether word 1 occurs."""
    random = np.random.default_rng(seed)
    lengths = random.integers(3, 8, size)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    tokens = random.integers(2, 20, offsets[-1])
    labels = random.integers(0, 2, size)
    tokens[offsets[:-1][labels == 1]] = 1
    return PackedSplit(tokens, offsets, labels)


def make_model(aggregator: str = "em", dropout: float = 0.1) -> Classifier:
    torch.manual_seed(0)
    return build_classifier(
        AGGREGATORS.find(aggregator).object,
        vocabulary_size=20,
        num_classes=2,
        num_layers=2,
        model_dim=16,
        num_heads=4,
        feed_forward_dim=32,
        head_dim=16,
        dropout=dropout,
        num_capsules=8,
        iterations=2,
    )


class Scripted(nn.Module):
    """Scores from a bias alone, whose dev accuracy follows a script: a pass over dev reads the next entry."""

    def __init__(self, right: list[int]) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(2))
        self.right = right
        self.passes = 0

    def forward(self, tokens_T: Tensor, packing: Packing) -> Tensor:
        batch = len(packing.lengths)
        scores = self.bias.expand(batch, 2)
        if self.training:
            return scores
        wanted = torch.zeros(batch, 2)
        wanted[torch.arange(batch) >= self.right[self.passes], 1] = 1.0
        self.passes += 1
        return wanted


def zeros(size: int) -> PackedSplit:
    return PackedSplit(np.ones(size, np.int64), np.arange(size + 1), np.zeros(size, np.int64))


@pytest.mark.parametrize("aggregator", ["base", "simple", "em"])
def test_learns_what_can_be_learned(aggregator: str) -> None:
    model = make_model(aggregator)
    outcome = training.train(model, make_split(400, 1), make_split(100, 2), seed=0, device=CPU, **SETTINGS)
    test = make_split(200, 3)
    assert outcome.dev_accuracy > 90
    assert training.accuracy(training.predict(model, test, CPU), test) > 90
    assert outcome.curve[-1].loss < outcome.curve[0].loss


def test_same_seed_same_numbers_and_another_seed_others() -> None:
    def losses(seed: int) -> list[float]:
        outcome = training.train(make_model(), make_split(100, 1), make_split(50, 2), seed=seed, device=CPU, **SETTINGS)
        return [epoch.loss for epoch in outcome.curve]

    assert losses(0) == losses(0)
    assert losses(0) != losses(1)


def test_stops_after_patience_and_names_the_first_best_epoch() -> None:
    model = Scripted(right=[5, 8, 8, 7, 9])
    settings = SETTINGS | {"max_epochs": 5, "patience": 2}
    outcome = training.train(model, zeros(20), zeros(10), seed=0, device=CPU, **settings)
    assert [epoch.dev_accuracy for epoch in outcome.curve] == [50.0, 80.0, 80.0, 70.0]
    assert (outcome.best_epoch, outcome.dev_accuracy) == (2, 80.0)


def test_restores_the_weights_of_the_best_epoch() -> None:
    weights_by_epoch: list[Tensor] = []
    model = Scripted(right=[5, 8, 3, 2])

    def remember(progress: training.Progress) -> None:
        if progress.epoch_ended:
            weights_by_epoch.append(model.bias.detach().clone())

    training.train(model, zeros(20), zeros(10), seed=0, device=CPU, on_progress=remember, **SETTINGS)
    assert len(weights_by_epoch) == 4
    assert torch.equal(model.bias, weights_by_epoch[1])
    assert not torch.equal(model.bias, weights_by_epoch[3])


def test_every_epoch_sees_every_sentence_once_in_another_order() -> None:
    seen: list[list[int]] = []

    class Watching(Scripted):
        def forward(self, tokens_T: Tensor, packing: Packing) -> Tensor:
            if self.training:
                seen[-1].extend(tokens_T.tolist())
            return super().forward(tokens_T, packing)

        def train(self, mode: bool = True) -> Watching:
            if mode:
                seen.append([])
            return super().train(mode)

    split = PackedSplit(np.arange(50), np.arange(51), np.zeros(50, np.int64))
    training.train(Watching([1, 2]), split, zeros(10), seed=3, device=CPU, **SETTINGS | {"max_epochs": 2})
    assert [sorted(epoch) for epoch in seen] == [list(range(50))] * 2
    assert seen[0] != seen[1] != list(range(50))


def test_a_loss_that_is_not_finite_stops_the_training() -> None:
    class Broken(Scripted):
        def forward(self, tokens_T: Tensor, packing: Packing) -> Tensor:
            return super().forward(tokens_T, packing) * float("nan")

    with pytest.raises(training.NonFiniteLossError, match="the loss became nan in epoch 1. Try a lower"):
        training.train(Broken([1]), zeros(20), zeros(10), seed=0, device=CPU, **SETTINGS)


def test_learning_rate_rises_then_falls_with_the_inverse_square_root() -> None:
    model = Scripted([])
    optimizer = training.Optimizer(model, learning_rate=0.5, warmup_steps=4, clip_norm=0.0)
    rates = []
    for _ in range(16):
        rates.append(optimizer.learning_rate)
        optimizer.step(model.bias.sum())
    assert rates[:4] == pytest.approx([0.125, 0.25, 0.375, 0.5])
    assert rates[15] == pytest.approx(0.5 * (4 / 16) ** 0.5)


def test_the_steps_are_those_of_torchs_adam() -> None:
    """Also for a parameter that has a gradient in some steps alone, and one that has none ever."""

    def make() -> nn.ParameterDict:
        torch.manual_seed(0)
        return nn.ParameterDict({name: torch.randn(5, 3) for name in ("always", "sometimes", "never")})

    def loss(weights: nn.ParameterDict, step: int) -> Tensor:
        chosen = ["always", "sometimes"] if step % 2 else ["always"]
        return torch.stack([(weights[name] * (step + 1)).sin().square().sum() for name in chosen]).sum()

    ours, theirs = make(), make()
    optimizer = training.Optimizer(ours, learning_rate=0.01, warmup_steps=3, clip_norm=0.0)
    adam = torch.optim.Adam(theirs.parameters(), betas=(0.9, 0.98))
    for step in range(8):
        adam.param_groups[0]["lr"] = optimizer.learning_rate
        adam.zero_grad()
        loss(theirs, step).backward()
        adam.step()
        optimizer.step(loss(ours, step))
    for name, weight in ours.items():
        torch.testing.assert_close(weight, theirs[name])
    assert not torch.equal(ours["always"], make()["always"])
    assert torch.equal(ours["never"], make()["never"])


def test_frozen_parameters_stay() -> None:
    model = make_model()
    model.encoder.embedding.weight.requires_grad_(False)
    before = model.encoder.embedding.weight.clone()
    training.train(model, make_split(40, 1), make_split(20, 2), seed=0, device=CPU, **SETTINGS | {"max_epochs": 1})
    assert torch.equal(model.encoder.embedding.weight, before)


def test_starting_a_training_does_not_load_torchs_compiler() -> None:
    code = (
        "import sys, torch; from probing import training; from torch import nn; model = nn.Linear(2, 2); "
        "optimizer = training.Optimizer(model, learning_rate=0.1, warmup_steps=1, clip_norm=1.0); "
        "optimizer.step(model(torch.ones(1, 2)).sum()); sys.exit('torch._dynamo' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_gradients_are_clipped() -> None:
    model = Scripted([])
    optimizer = training.Optimizer(model, learning_rate=0.1, warmup_steps=1, clip_norm=0.25)
    optimizer.step((model.bias * 100).sum())
    assert model.bias.grad is not None
    assert model.bias.grad.norm().item() == pytest.approx(0.25, rel=1e-4)


def test_predictions_do_not_depend_on_the_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    model, split = make_model(), make_split(60, 4)
    whole = training.predict(model, split, CPU)
    monkeypatch.setattr(training, "EVALUATION_BATCH", 7)
    assert np.array_equal(whole, training.predict(model, split, CPU))


def test_devices() -> None:
    assert training.pick_device("cpu") == CPU
    with pytest.raises(ProbingError, match="unknown device 'gpu'. Known: auto, cpu, cuda, mps"):
        training.pick_device("gpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_device_that_is_not_there() -> None:
    assert training.pick_device("auto").type in ("cpu", "mps")
    with pytest.raises(ProbingError, match="--device cuda: there is no such device on this machine. Available: cpu"):
        training.pick_device("cuda")


def test_precision_is_narrow_only_where_it_is_fast_or_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = torch.device("cuda")
    for has_it in (True, False):
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation, has_it=has_it: has_it)
        assert training.pick_precision("auto", cuda) == (torch.bfloat16 if has_it else torch.float32)
        assert training.pick_precision("auto", CPU) == torch.float32
        assert training.pick_precision("float32", cuda) == torch.float32
        assert training.pick_precision("bfloat16", CPU) == torch.bfloat16


@pytest.mark.parametrize("aggregator", ["base", "simple", "em"])
def test_bfloat16_learns_too_and_keeps_the_weights_in_float32(aggregator: str) -> None:
    def learn(precision: str) -> tuple[Classifier, training.Outcome]:
        model = make_model(aggregator)
        splits = make_split(400, 1), make_split(100, 2)
        return model, training.train(model, *splits, seed=0, device=CPU, precision=precision, **SETTINGS)

    model, narrow = learn("bfloat16")
    assert narrow.dev_accuracy > 90
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert learn("auto")[1].curve == learn("float32")[1].curve != narrow.curve
