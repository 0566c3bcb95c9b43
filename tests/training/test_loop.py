"""The optimisation loop: it learns, stops early, restores the best weights, repeats itself exactly, and goes on so."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from probing.model.attention import Packing
from probing.model.classifier import Classifier
from probing.tasks.batches import Integers, PackedSplit
from probing.training import loop
from probing.training.checkpoints import Checkpoint
from probing.training.objectives import (
    BatchSize,
    Classification,
    Evaluation,
    NonFiniteLossError,
    compute_accuracy,
    predict,
)
from tests.training.examples import CPU, SETTINGS, Scripted, classify, make_model, make_split, zeros


@pytest.mark.parametrize("aggregator", ["base", "simple", "em"])
def test_learns_what_can_be_learned(aggregator: str) -> None:
    model = make_model(aggregator)
    outcome = classify(model, (make_split(400, 1), make_split(100, 2)))
    test = make_split(200, 3)
    assert outcome.score > 90
    assert compute_accuracy(predict(model, test, CPU), test.labels) > 90
    assert outcome.curve[-1].loss < outcome.curve[0].loss


def test_same_seed_same_numbers_and_another_seed_others() -> None:
    def losses(seed: int) -> list[float]:
        outcome = classify(make_model(), (make_split(100, 1), make_split(50, 2)), seed=seed)
        return [epoch.loss for epoch in outcome.curve]

    assert losses(0) == losses(0)
    assert losses(0) != losses(1)


def test_stops_after_patience_and_names_the_first_best_epoch() -> None:
    model = Scripted(right=[5, 8, 8, 7, 9])
    outcome = classify(model, (zeros(20), zeros(10)), replace(SETTINGS, max_epochs=5, patience=2))
    assert [epoch.score for epoch in outcome.curve] == [50.0, 80.0, 80.0, 70.0]
    assert (outcome.best_epoch, outcome.score) == (2, 80.0)


def test_restores_the_weights_of_the_best_epoch() -> None:
    weights_by_epoch: list[Tensor] = []
    model = Scripted(right=[5, 8, 3, 2])

    def remember(progress: loop.Progress) -> None:
        if progress.epoch_ended:
            weights_by_epoch.append(model.bias.detach().clone())

    classify(model, (zeros(20), zeros(10)), on_progress=remember)
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
    classify(Watching([1, 2]), (split, zeros(10)), replace(SETTINGS, max_epochs=2), seed=3)
    assert [sorted(epoch) for epoch in seen] == [list(range(50))] * 2
    assert seen[0] != seen[1] != list(range(50))


def test_a_loss_that_is_not_finite_stops_the_training() -> None:
    class Broken(Scripted):
        def forward(self, tokens_T: Tensor, packing: Packing) -> Tensor:
            return super().forward(tokens_T, packing) * float("nan")

    with pytest.raises(NonFiniteLossError, match="the loss became nan in epoch 1. Try a lower"):
        classify(Broken([1]), (zeros(20), zeros(10)))


def test_frozen_parameters_stay() -> None:
    model = make_model()
    model.encoder.embedding.weight.requires_grad_(False)
    before = model.encoder.embedding.weight.clone()
    classify(model, (make_split(40, 1), make_split(20, 2)), replace(SETTINGS, max_epochs=1))
    assert torch.equal(model.encoder.embedding.weight, before)


@pytest.mark.parametrize("aggregator", ["base", "simple", "em"])
def test_bfloat16_learns_too_and_keeps_the_weights_in_float32(aggregator: str) -> None:
    def learn(precision: str) -> tuple[Classifier, loop.TrainingOutcome]:
        model = make_model(aggregator)
        splits = make_split(400, 1), make_split(100, 2)
        return model, classify(model, splits, replace(SETTINGS, precision=precision))

    model, narrow = learn("bfloat16")
    assert narrow.score > 90
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
) -> tuple[nn.Module, loop.TrainingOutcome, list[loop.Progress]]:
    """Train, stop after so many reports, go on with a new model, and so on to the end."""
    reports: list[loop.Progress] = []
    splits = make_split(100, 1), make_split(50, 2)
    for stop in [*stops, None]:
        left = stop

        def count(progress: loop.Progress) -> None:
            nonlocal left
            reports.append(progress)
            if left is not None:
                left -= 1
                if left == 0:
                    raise error

        checkpoint = Checkpoint(folder, key="key", device=CPU, **options)
        model = make()
        try:
            outcome = classify(model, splits, on_progress=count, checkpoint=checkpoint)
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
    monkeypatch.setattr(loop, "STEPS_BETWEEN_REPORTS", 1)
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


def test_a_training_that_was_stopped_says_where_it_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(loop, "STEPS_BETWEEN_REPORTS", 1)
    news: list[str] = []
    train_with_stops(make_model, tmp_path, [8, 1], KeyboardInterrupt, on_news=news.append)
    assert news == ["goes on from epoch 2", "goes on from epoch 2"]


def test_a_training_that_is_over_is_not_trained_again(tmp_path: Path) -> None:
    news: list[str] = []
    _, expected, _ = train_with_stops(make_model, tmp_path, [], PowerError)
    model, outcome, reports = train_with_stops(make_model, tmp_path, [], PowerError, on_news=news.append)
    assert (outcome, reports, news) == (expected, [], [])
    assert outcome.score == compute_accuracy(predict(model, make_split(50, 2), CPU), make_split(50, 2).labels)


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
    with pytest.raises(KeyboardInterrupt):
        classify(make(), splits, checkpoint=Checkpoint(tmp_path, key="key", device=CPU))
    assert signal.getsignal(signal.SIGINT) is before
    resumed = make()
    outcome = classify(resumed, splits, checkpoint=Checkpoint(tmp_path, key="key", device=CPU))
    whole = make_tied()
    assert outcome == classify(whole, splits)
    assert all(torch.equal(value, resumed.state_dict()[name]) for name, value in whole.state_dict().items())


def test_a_signal_while_a_checkpoint_is_read_does_not_pass_for_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_with_stops(make_tied, tmp_path, [], PowerError)
    restore = loop.State.restore

    def interrupt(state: loop.State, *arguments: Any) -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise ValueError("as compiled code may do it") from None
        restore(state, *arguments)

    monkeypatch.setattr(loop.State, "restore", interrupt)
    with pytest.raises(KeyboardInterrupt):
        train_with_stops(make_tied, tmp_path, [], PowerError)
    assert [path.name for path in tmp_path.iterdir()] == ["training.safetensors"]


EPOCH = {"epoch": 1, "loss": 1.0, "score": 50.0}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"facts": {"seen": -1}}, "seen is not a number of seen"),
        ({"facts": {"seen": True}}, "seen is not a number of seen"),
        ({"facts": {"tokens": "many"}}, "tokens is not a number of tokens"),
        ({"facts": {"curve": [{"epoch": 1, "loss": "low", "score": 1.0}]}}, "its curve has no such numbers"),
        ({"facts": {"curve": [{"epoch": 1}]}}, "missing 2 required positional arguments"),
        ({"facts": {"best": -1}}, "best is not a number of best"),
        ({"facts": {"passes": -1}}, "passes is not a number of passes"),
        ({"facts": {"weight": 0.5}}, "weight is not a number of weight"),
        ({"facts": {"seconds": "1"}}, "seconds is not a duration"),
        ({"facts": {"recent": 1}}, "its best epoch is not in its curve"),
        ({"facts": {"best": False}}, "best is not a number of best"),
        ({"facts": {"best": 1}}, "its best epoch is not in its curve"),
        ({"facts": {"curve": [EPOCH]}}, "its best epoch is not in its curve"),
        ({"facts": {"curve": [EPOCH], "best": 2}}, "its best epoch is not in its curve"),
        ({"facts": {"curve": [EPOCH], "best": 1}}, "best.encoder.embedding.weight is only in the model"),
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
    def make() -> loop.State:
        return loop.State.begin(make_model(), replace(SETTINGS, learning_rate=0.1), CPU, seed=0)

    other = make()
    split = make_split(8, 1)
    other.step(Classification(other.model, split, split, CPU, 8), split.batch(np.arange(8)), torch.float32)
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


def test_slow_steps_are_reported_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    def count_reports(seconds: float) -> int:
        reports: list[loop.Progress] = []
        clock = itertools.count(step=seconds)
        monkeypatch.setattr(loop.time, "monotonic", lambda: next(clock))
        settings = replace(SETTINGS, max_epochs=1, batch_size=1)
        classify(Scripted([1]), (zeros(30), zeros(10)), settings, on_progress=reports.append)
        return sum(not progress.epoch_ended for progress in reports)

    assert count_reports(0.0) == 2
    assert count_reports(60.0) == 30


def test_encoding_comes_before_the_epochs_of_a_frozen_encoder() -> None:
    def done(epoch: int, fraction: float, **options: bool) -> float:
        return loop.Progress(epoch, 4, fraction, 0.5, None, 0, **options).done

    assert [done(1, 0.0), done(2, 0.5), done(4, 1.0)] == [0.0, 0.375, 1.0]
    frozen = [
        done(epoch, fraction, frozen=True) for epoch, fraction in ((0, 0.5), (0, 1.0), (1, 0.0), (2, 0.5), (4, 1.0))
    ]
    assert frozen == pytest.approx([0.45, 0.9, 0.9, 0.9375, 1.0])


@dataclass
class Regression:
    """Numbers predicted from numbers: squared errors, judged by their mean on dev unless the scores are given."""

    model: nn.Linear
    scores: Iterator[float] | None = None
    inputs: Tensor = field(default_factory=lambda: torch.linspace(-1, 1, 60).reshape(20, 3))

    def __len__(self) -> int:
        return len(self.inputs)

    def error(self, inputs: Tensor) -> Tensor:
        error: Tensor = self.model(inputs).squeeze(1) - (inputs.sum(1) + 0.5)
        return error.square().mean()

    def batches(self, order: Integers) -> Iterator[Tensor]:
        yield from self.inputs[torch.from_numpy(order)].split(8)

    def size(self, batch: Tensor) -> BatchSize:
        return BatchSize(len(batch), 3 * len(batch), len(batch))

    def losses(self, batch: Tensor) -> Iterator[Tensor]:
        yield self.error(batch)

    def evaluate(self) -> Evaluation:
        if self.scores is not None:
            return Evaluation(next(self.scores))
        return Evaluation(self.error(self.inputs / 2).item())

    def is_better(self, score: float, best: float) -> bool:
        return score < best

    def is_perfect(self, score: float) -> bool:
        return score == 0.0


class NegativeRegression(Regression):
    """The same with its scores turned round: higher is better, and none is above zero."""

    def is_better(self, score: float, best: float) -> bool:
        return score > best


def make_linear() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(3, 1)


def regress(objective: Regression, **options: Any) -> loop.TrainingOutcome:
    settings = replace(SETTINGS, learning_rate=0.05, max_epochs=options.pop("max_epochs", 5))
    return loop.train(objective.model, objective, settings, seed=0, device=CPU, **options)


def test_what_is_no_classification_learns_too() -> None:
    objective = Regression(make_linear())
    before = objective.evaluate().score
    outcome = regress(objective, max_epochs=40)
    scores = [epoch.score for epoch in outcome.curve]
    assert outcome.score == min(scores) == scores[outcome.best_epoch - 1] < before / 2
    assert outcome.curve[-1].loss < outcome.curve[0].loss
    assert outcome.tokens == len(scores) * 60
    assert objective.evaluate().score == outcome.score, "the model has the weights of the best epoch"


@pytest.mark.parametrize(("kind", "sign"), [(Regression, 1.0), (NegativeRegression, -1.0)])
def test_the_objective_says_which_epoch_is_best(kind: type[Regression], sign: float) -> None:
    outcome = regress(kind(make_linear(), iter([sign * score for score in (5.0, 2.0, 2.0, 3.0, 1.0)])))
    assert [epoch.score for epoch in outcome.curve] == [sign * score for score in (5.0, 2.0, 2.0, 3.0)]
    assert (outcome.best_epoch, outcome.score) == (2, sign * 2.0)


@pytest.mark.parametrize(("kind", "sign"), [(Regression, 1.0), (NegativeRegression, -1.0)])
@pytest.mark.parametrize("epoch", [2, 3, 4])
def test_a_resumed_training_keeps_the_best_epoch_of_its_objective(
    tmp_path: Path, kind: type[Regression], sign: float, epoch: int
) -> None:
    """Stopped after an epoch that is better, one that is worse and one that is better again."""
    script = [sign * score for score in (4.0, 2.0, 3.0, 1.0, 5.0)]

    def stop(progress: loop.Progress) -> None:
        if progress.epoch_ended and progress.epoch == epoch:
            raise PowerError

    whole, scores = make_linear(), iter(script)
    expected = regress(kind(whole, iter(script)))
    with pytest.raises(PowerError):
        regress(kind(make_linear(), scores), checkpoint=Checkpoint(tmp_path, key="a", device=CPU), on_progress=stop)
    resumed = make_linear()
    outcome = regress(kind(resumed, scores), checkpoint=Checkpoint(tmp_path, key="a", device=CPU))
    assert outcome == expected
    assert (outcome.best_epoch, outcome.score) == (4, sign * 1.0)
    assert all(torch.equal(value, resumed.state_dict()[name]) for name, value in whole.state_dict().items())


def test_nothing_is_better_than_what_the_objective_calls_perfect() -> None:
    outcome = regress(Regression(make_linear(), iter([100.0, 3.0, 0.0, 1.0])))
    assert [epoch.score for epoch in outcome.curve] == [100.0, 3.0, 0.0]


SCHEDULES = [
    loop.Schedule(validate_every=4),
    loop.Schedule(validate_every=3, max_steps=10, average=3),
    loop.Schedule(max_steps=7),
    loop.Schedule(average=2),
    loop.Schedule(passes=2, warmup_steps=3),
    loop.Schedule(weight_decay=0.1, average=2),
]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("stop_at", range(1, 16, 2))
def test_a_training_with_any_schedule_goes_on_exactly(tmp_path: Path, schedule: loop.Schedule, stop_at: int) -> None:
    """Stopped after any step, or while dev is looked at: the same curve and the same weights."""
    whole = make_linear()
    expected = regress(Regression(whole), schedule=schedule)
    calls = itertools.count(1)

    class Stopping(Regression):
        def losses(self, batch: Tensor) -> Iterator[Tensor]:
            if next(calls) == stop_at:
                raise KeyboardInterrupt
            return super().losses(batch)

        def evaluate(self) -> Evaluation:
            if next(calls) == stop_at:
                raise KeyboardInterrupt
            return super().evaluate()

    def attempt() -> loop.TrainingOutcome:
        checkpoint = Checkpoint(tmp_path, key="a", device=CPU)
        return regress(Stopping(resumed), schedule=schedule, checkpoint=checkpoint)

    resumed = make_linear()
    try:
        outcome = attempt()
    except KeyboardInterrupt:
        resumed = make_linear()
        outcome = attempt()
    assert outcome == expected
    assert all(torch.equal(value, resumed.state_dict()[name]) for name, value in whole.state_dict().items())


def test_dev_is_looked_at_every_so_many_steps_and_at_the_end() -> None:
    """Twenty examples make three steps a pass."""
    steps = {
        loop.Schedule(): [3, 6, 9, 12, 15],
        loop.Schedule(validate_every=4): [4, 8, 12, 15],
        loop.Schedule(validate_every=5): [5, 10, 15],
        loop.Schedule(max_steps=7): [3, 6, 7],
        loop.Schedule(validate_every=5, max_steps=7): [5, 7],
    }
    for schedule, expected in steps.items():
        outcome = regress(Regression(make_linear()), schedule=schedule)
        assert [look.steps for look in outcome.curve] == expected
        assert [look.epoch for look in outcome.curve] == list(range(1, len(expected) + 1))
        assert [look.passes for look in outcome.curve] == [step // 3 for step in expected]


def test_the_last_weights_are_averaged_if_that_is_no_worse() -> None:
    """Scripted scores: one for each look, and one for the average."""
    weights: list[Tensor] = []

    class Watching(Regression):
        def evaluate(self) -> Evaluation:
            weights.append(self.model.weight.detach().clone())
            return super().evaluate()

    schedule = loop.Schedule(average=3)
    scores = [5.0, 4.0, 2.0, 3.0, 2.5]
    model = make_linear()
    outcome = regress(Watching(model, iter([*scores, 2.0])), schedule=schedule)
    assert (outcome.averaged, outcome.score, outcome.best_epoch) == (3, 2.0, 3)
    mean = torch.stack([each.double() for each in weights[2:5]]).mean(0).float()
    assert torch.equal(model.weight, mean)
    assert torch.equal(weights[5], mean)
    weights.clear()
    model = make_linear()
    outcome = regress(Watching(model, iter([*scores, 2.1])), schedule=schedule)
    assert (outcome.averaged, outcome.score) == (1, 2.0)
    assert torch.equal(model.weight, weights[2])


def test_losses_that_come_in_parts_give_the_gradient_of_their_sum() -> None:
    class Halved(Regression):
        def losses(self, batch: Tensor) -> Iterator[Tensor]:
            for half in batch.chunk(2):
                yield self.error(half) * len(half) / len(batch)

    outcome, expected = (regress(kind(make_linear())) for kind in (Halved, Regression))
    for one, other in zip(outcome.curve, expected.curve, strict=True):
        assert one.loss == pytest.approx(other.loss, rel=1e-5)
        assert one.score == pytest.approx(other.score, rel=1e-5)


def test_an_epoch_can_be_several_passes() -> None:
    outcome = regress(Regression(make_linear()), schedule=loop.Schedule(passes=2))
    single = regress(Regression(make_linear()))
    assert outcome.curve[0].steps == 2 * single.curve[0].steps
    assert [look.passes for look in outcome.curve] == [2 * number for number, _ in enumerate(outcome.curve, 1)]


@pytest.mark.parametrize("regulariser", [{"word_dropout": 0.3}, {"label_smoothing": 0.1}])
def test_a_regularised_training_goes_on_exactly(tmp_path: Path, regulariser: dict[str, float]) -> None:
    settings = replace(SETTINGS, **regulariser)
    splits = (make_split(64, 0), make_split(32, 1))
    whole, plain = make_model(), make_model()
    expected = classify(whole, splits, settings)
    assert expected.curve != classify(plain, splits).curve

    def stop(progress: loop.Progress) -> None:
        if progress.epoch == 2:
            raise KeyboardInterrupt

    resumed = make_model()
    with pytest.raises(KeyboardInterrupt):
        classify(resumed, splits, settings, on_progress=stop, checkpoint=Checkpoint(tmp_path, key="a", device=CPU))
    resumed = make_model()
    assert classify(resumed, splits, settings, checkpoint=Checkpoint(tmp_path, key="a", device=CPU)) == expected
    assert all(torch.equal(value, resumed.state_dict()[name]) for name, value in whole.state_dict().items())
