"""The optimisation loop: it learns, stops early, restores the best weights, repeats itself exactly, and goes on so."""

from __future__ import annotations

import itertools
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from probing import training
from probing.checkpoints import Checkpoint
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


def test_frozen_parameters_stay() -> None:
    model = make_model()
    model.encoder.embedding.weight.requires_grad_(False)
    before = model.encoder.embedding.weight.clone()
    training.train(model, make_split(40, 1), make_split(20, 2), seed=0, device=CPU, **SETTINGS | {"max_epochs": 1})
    assert torch.equal(model.encoder.embedding.weight, before)


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


class Tied(nn.Module):
    """What a user's encoder may have: two names for one weight, running statistics, dropout, a weight never used."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 8)
        self.again = self.embedding
        self.norm, self.dropout, self.head = nn.BatchNorm1d(8), nn.Dropout(0.2), nn.Linear(8, 2)
        self.unused = nn.Parameter(torch.ones(3))

    def forward(self, tokens_T: Tensor, packing: Packing) -> Tensor:
        first = self.again(tokens_T)[packing.lengths.cumsum(0) - packing.lengths]
        scores: Tensor = self.head(self.dropout(self.norm(first)))
        return scores


def make_tied() -> nn.Module:
    torch.manual_seed(0)
    return Tied()


class PowerError(Exception):
    """As if the power failed."""


def train_with_stops(
    make: Any, folder: Path, stops: list[int], error: type[BaseException], **options: Any
) -> tuple[nn.Module, training.Outcome, list[training.Progress]]:
    """Train, stop after so many reports, go on with a new model, and so on to the end."""
    reports: list[training.Progress] = []
    splits = make_split(100, 1), make_split(50, 2)
    for stop in [*stops, None]:
        left = stop

        def count(progress: training.Progress) -> None:
            nonlocal left
            reports.append(progress)
            if left is not None:
                left -= 1
                if left == 0:
                    raise error

        checkpoint = Checkpoint(folder, key="key", device=CPU, **options)
        model = make()
        try:
            outcome = training.train(
                model, *splits, seed=0, device=CPU, on_progress=count, checkpoint=checkpoint, **SETTINGS
            )
        except error:
            assert stop is not None
    return model, outcome, reports


@pytest.mark.parametrize("make", [make_model, make_tied])
@pytest.mark.parametrize(
    ("stops", "error", "minutes"),
    [
        ([3], KeyboardInterrupt, 3),  # the first epoch: nothing but the checkpoint on the way out
        ([8, 1, 20, 2], KeyboardInterrupt, 3),  # the eighth report is an epoch's end
        ([11], PowerError, 3),  # back to the epoch's end
        ([3, 9, 1, 12], PowerError, 0),  # one after every step
        ([2, 2], PowerError, 3),  # nothing was kept yet
    ],
)
def test_a_training_that_was_stopped_ends_as_if_it_never_had_been(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, make: Any, stops: list[int], error: Any, minutes: float
) -> None:
    monkeypatch.setattr(training, "STEPS_BETWEEN_REPORTS", 1)
    whole, expected, reports = train_with_stops(make, tmp_path / "whole", [], error)
    model, outcome, more = train_with_stops(make, tmp_path / "stopped", stops, error, minutes=minutes)
    assert outcome == expected
    for name, value in whole.state_dict().items():
        assert torch.equal(value, model.state_dict()[name]), name
    assert more[-1] == reports[-1]
    if error is KeyboardInterrupt:
        assert more == reports, "nothing was done twice"
    elif minutes == 0:
        assert len(reports) < len(more) <= len(reports) + len(stops), "only the last step was done twice"


def test_a_training_that_is_over_is_not_trained_again(tmp_path: Path) -> None:
    _, expected, _ = train_with_stops(make_model, tmp_path, [], PowerError)
    model, outcome, reports = train_with_stops(make_model, tmp_path, [], PowerError)
    assert (outcome, reports) == (expected, [])
    assert outcome.dev_accuracy == training.accuracy(training.predict(model, make_split(50, 2), CPU), make_split(50, 2))


def test_a_signal_waits_for_the_step_and_leaves_a_checkpoint(tmp_path: Path) -> None:
    """The model sends the signal in the middle of its third step."""
    signals = [signal.SIGINT]

    class Interrupted(Tied):
        steps = 0

        def forward(self, tokens_T: Tensor, packing: Packing) -> Tensor:
            scores = super().forward(tokens_T, packing)
            self.steps += 1
            if self.steps == 3 and signals:
                signal.raise_signal(signals.pop())
            return scores

    def make() -> nn.Module:
        torch.manual_seed(0)
        return Interrupted()

    before = signal.getsignal(signal.SIGINT)
    splits = make_split(100, 1), make_split(50, 2)
    options: dict[str, Any] = {"seed": 0, "device": CPU, **SETTINGS}
    with pytest.raises(KeyboardInterrupt):
        training.train(make(), *splits, checkpoint=Checkpoint(tmp_path, key="key", device=CPU), **options)
    assert signal.getsignal(signal.SIGINT) is before
    resumed = make()
    outcome = training.train(resumed, *splits, checkpoint=Checkpoint(tmp_path, key="key", device=CPU), **options)
    whole = make_tied()
    assert outcome == training.train(whole, *splits, **options)
    assert all(torch.equal(value, resumed.state_dict()[name]) for name, value in whole.state_dict().items())


def test_a_signal_while_a_checkpoint_is_read_does_not_pass_for_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_with_stops(make_tied, tmp_path, [], PowerError)
    restore = training.State.restore

    def interrupt(state: training.State, *arguments: Any) -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise ValueError("as compiled code may do it") from None
        restore(state, *arguments)

    monkeypatch.setattr(training.State, "restore", interrupt)
    with pytest.raises(KeyboardInterrupt):
        train_with_stops(make_tied, tmp_path, [], PowerError)
    assert [path.name for path in tmp_path.iterdir()] == ["training.safetensors"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"facts": {"seen": -1}}, "seen is not a number of seen"),
        ({"facts": {"seen": True}}, "seen is not a number of seen"),
        ({"facts": {"tokens": "many"}}, "tokens is not a number of tokens"),
        ({"facts": {"curve": [{"epoch": 1, "loss": "low", "dev_accuracy": 1.0}]}}, "its curve has no such numbers"),
        ({"facts": {"curve": [{"epoch": 1}]}}, "missing 2 required positional arguments"),
        ({"facts": {"shuffling": {"bit_generator": "MT19937"}}}, "state must be for a PCG64"),
        ({"facts": {"shuffling": None}}, "state must be a dict"),
        ({"tensors": {"total": torch.zeros(2)}}, "total is [2], not []"),
        ({"tensors": {"total": torch.zeros((), dtype=torch.float64)}}, "total is torch.float64, not torch.float32"),
        ({"tensors": {"more": torch.zeros(2)}}, "more is only in the file"),
        ({"tensors": {"total": None}}, "total is only in the model"),
        ({"tensors": {"random.cpu": torch.zeros(5056, dtype=torch.uint8)}}, "Invalid mt19937 state"),
    ],
)
def test_a_state_that_does_not_fit_changes_nothing(change: dict[str, Any], reason: str) -> None:
    def make() -> training.State:
        model = make_model()
        optimizer = training.Optimizer(model, learning_rate=0.1, warmup_steps=1, clip_norm=1.0)
        return training.State.begin(model, optimizer, CPU, seed=0)

    other = make()
    other.step(make_split(8, 1).batch(np.arange(8)), narrow=False)
    tensors = {
        name: tensor for name, tensor in (other.tensors() | change.get("tensors", {})).items() if tensor is not None
    }
    state, untouched = make(), make()
    with pytest.raises((ValueError, TypeError, RuntimeError)) as error:
        state.restore(tensors, other.facts() | change.get("facts", {}))
    assert reason in str(error.value)
    assert state.facts() == untouched.facts()
    for name, tensor in untouched.tensors().items():
        assert torch.equal(tensor, state.tensors()[name]), name


def test_answers_that_are_no_numbers_are_an_error() -> None:
    class Broken(Scripted):
        def forward(self, tokens_T: Tensor, packing: Packing) -> Tensor:
            return super().forward(tokens_T, packing) * float("inf")

    with pytest.raises(training.NonFiniteLossError, match="the model's scores became infinite or not a number. Try"):
        training.predict(Broken([1]), zeros(20), CPU)


def test_slow_steps_are_reported_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    def count_reports(seconds: float) -> int:
        reports: list[training.Progress] = []
        clock = itertools.count(step=seconds)
        monkeypatch.setattr(training.time, "monotonic", lambda: next(clock))
        settings = SETTINGS | {"max_epochs": 1, "batch_size": 1}
        training.train(Scripted([1]), zeros(30), zeros(10), seed=0, device=CPU, on_progress=reports.append, **settings)
        return sum(not progress.epoch_ended for progress in reports)

    assert count_reports(0.0) == 2
    assert count_reports(60.0) == 30


def test_encoding_comes_before_the_epochs_of_a_frozen_encoder() -> None:
    def done(epoch: int, fraction: float, **options: bool) -> float:
        return training.Progress(epoch, 4, fraction, 0.5, None, 0, **options).done

    assert [done(1, 0.0), done(2, 0.5), done(4, 1.0)] == [0.0, 0.375, 1.0]
    frozen = [
        done(epoch, fraction, frozen=True) for epoch, fraction in ((0, 0.5), (0, 1.0), (1, 0.0), (2, 0.5), (4, 1.0))
    ]
    assert frozen == pytest.approx([0.45, 0.9, 0.9, 0.9375, 1.0])
