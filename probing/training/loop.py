"""The optimisation loop of torch modules: Adam with warm-up, clipping, random batches, early stopping on a dev score.

An objective defines the loss of a batch, the score on dev, and which score is better. Dev is looked at once an epoch,
or every so many steps. A training can be stopped at any time, and goes on from its checkpoint as if it had never been
stopped.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

from probing.errors import ProbingError
from probing.signals import Hold
from probing.storage import collecting_garbage_rarely
from probing.training.checkpoints import Checkpoint
from probing.training.devices import pick_precision
from probing.training.objectives import Objective
from probing.training.ranks import ALONE, Ranks
from probing.training.state import EVERY_EPOCH, Epoch, LoopSettings, Progress, Schedule, State

STEPS_BETWEEN_REPORTS = 20
"""Number of steps between two readings of the loss: on a GPU each reading waits for the device."""
SECONDS_BETWEEN_REPORTS = 2.0
"""Longest time between two readings of the loss, for slow steps."""

AnyBatch = TypeVar("AnyBatch")


@dataclass(frozen=True, slots=True)
class TrainingOutcome:
    """Record of a training; the model holds the weights of the best look at dev, or an average."""

    best_epoch: int
    score: float
    """Score of the weights on dev."""
    curve: tuple[Epoch, ...]
    tokens: int
    averaged: int = 1
    """Number of looks whose weights were averaged."""
    seconds: float = field(default=0.0, compare=False)
    """Time of the steps alone, without the looks at dev."""


def train(
    model: nn.Module,
    objective: Objective[AnyBatch],
    settings: LoopSettings,
    *,
    seed: int,
    device: torch.device,
    schedule: Schedule = EVERY_EPOCH,
    ranks: Ranks = ALONE,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    checkpoint: Checkpoint | None = None,
) -> TrainingOutcome:
    """Train the model until its score stops improving, and leave it with its best weights."""
    state = State.begin(model, settings, device, seed=seed, schedule=schedule)
    checkpoint = checkpoint or Checkpoint(None, key="", device=device)
    training = _Training(state, objective, settings, schedule, ranks, on_progress, checkpoint, seed)
    with collecting_garbage_rarely(), Hold() as hold:
        try:
            with hold.moment():  # otherwise a signal could be mistaken for a damaged file
                resumed = checkpoint.resume(state)
            if resumed and not checkpoint.read_only and not state.is_over(objective, settings, schedule):
                checkpoint.on_news(f"goes on from epoch {state.count_epochs(schedule)}")
            ranks.wait()  # until all have read the checkpoint
            while not state.is_over(objective, settings, schedule):
                if state.is_look_due(settings, schedule):
                    training.look(hold)
                else:
                    training.pass_on(hold)
        except KeyboardInterrupt:
            if not hold.torn:
                checkpoint.save_if_quick(state)
            raise
        except RuntimeError as error:
            if ranks.is_loss(error):  # no weight has changed in a step that others did not end
                checkpoint.save_if_quick(state)
                raise ProbingError(
                    f"another process of this run has died ({ranks.describe(error)}). The same command goes on from "
                    "the last checkpoint"
                ) from None
            raise
    return training.end()


@dataclass(slots=True)
class _Training(Generic[AnyBatch]):
    state: State
    objective: Objective[AnyBatch]
    settings: LoopSettings
    schedule: Schedule
    ranks: Ranks
    on_progress: Callable[[Progress], None]
    checkpoint: Checkpoint
    seed: int
    reported: float = 0.0

    def pass_on(self, hold: Hold) -> None:
        """Train until dev is to be looked at, or until the end of this pass."""
        state, objective = self.state, self.objective
        state.model.train()
        precision = pick_precision(self.settings.precision, state.device)
        order, shuffling = state.draw_order(len(objective))
        began = time.monotonic()
        left = order[state.seen :]
        for step, batch in enumerate(objective.batches(left) if len(left) else ()):
            with hold.step():
                self.ranks.seed_step(self.seed, state.optimizer.steps)
                state.step(objective, batch, precision, self.ranks)
            now = time.monotonic()
            state.seconds, began = state.seconds + now - began, now
            if step % STEPS_BETWEEN_REPORTS == 0 or now - self.reported > SECONDS_BETWEEN_REPORTS:
                self.on_progress(state.progress(self.settings.max_epochs, len(objective), self.schedule))
                self.reported = time.monotonic()
            if self.checkpoint.is_due:
                self.checkpoint.save(state)
                began = time.monotonic()
            if state.is_look_due(self.settings, self.schedule) and state.seen < len(objective):
                return
        with hold.moment():
            state.end_pass(shuffling)

    def look(self, hold: Hold) -> None:
        """Measure the model on dev, and keep its weights if they are the best so far."""
        state, settings = self.state, self.settings
        evaluation = self.objective.evaluate()
        score = self.ranks.agree(evaluation.score)
        looked = Epoch(
            epoch=len(state.curve) + 1,
            loss=state.mean_loss,
            score=score,
            steps=state.optimizer.steps,
            passes=state.passes,
            details=dict(evaluation.details),
        )
        with hold.moment():
            state.end_look(looked, self.objective, average=self.schedule.average)
        self.checkpoint.save(state)
        reached = state.progress(settings.max_epochs, len(self.objective), self.schedule)
        if state.seen == 0 and state.passes % self.schedule.passes == 0:  # the epoch has just ended
            reached = dataclasses.replace(reached, epoch=state.passes // self.schedule.passes, fraction=1.0)
        self.on_progress(dataclasses.replace(reached, loss=looked.loss, score=looked.score, epoch_ended=True))

    def end(self) -> TrainingOutcome:
        """Leave the model with its best weights, or with the average of the last ones if that is no worse on dev."""
        state, best = self.state, self.state.best
        assert best is not None
        outcome = TrainingOutcome(best.epoch, best.score, tuple(state.curve), state.tokens, seconds=state.seconds)
        if len(state.recent) > 1:
            state.model.load_state_dict(_average(state.recent))
            score = self.ranks.agree(self.objective.evaluate().score)
            if not self.objective.is_better(best.score, score):
                return dataclasses.replace(outcome, score=score, averaged=len(state.recent))
        state.model.load_state_dict(state.best_weights)
        return outcome


def _average(weights: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Return the mean of weights, taken in float64 in a fixed order; whole numbers are the last ones'."""
    return {
        name: torch.stack([each[name].double() for each in weights]).mean(0).to(last.dtype)
        if last.is_floating_point()
        else last
        for name, last in weights[-1].items()
    }
