"""How a cell's model is made: what an untrained one computes before it is resumed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from probing.config import Config, ModelConfig, TrainingConfig
from probing.experiments import fitting as methods
from probing.experiments.fitting import FittedModel, Job, Trained
from probing.tasks.index import load_task
from probing.tasks.subsets import take_splits
from probing.training import loop as training
from probing.training.checkpoints import Checkpoint

CPU = torch.device("cpu")
CONFIG = Config(
    model=ModelConfig(num_layers=1, model_dim=16, num_heads=2, feed_forward_dim=16, head_dim=8, num_capsules=16),
    training=TrainingConfig(max_epochs=3, min_epoch_steps=1, patience=3, batch_size=8),
)


@pytest.fixture
def fit(task_file: Callable[..., Path], tmp_path: Path) -> Callable[..., FittedModel]:
    lines = [
        f"{split}\t{'AB'[n % 2]}\ta{n} b c{n % 5}"
        for split, size in (("tr", 40), ("va", 9), ("te", 9))
        for n in range(size)
    ]
    task = load_task(task_file(lines, "task.txt"))

    def run(on_progress: Callable[[training.Progress], None] = lambda progress: None) -> FittedModel:
        torch.manual_seed(0)
        checkpoint = Checkpoint(tmp_path / "checkpoints", key="key", device=CPU)
        job = Job(
            name="Tense",
            task=task,
            subsets=take_splits(task),
            seed=0,
            device=CPU,
            on_progress=on_progress,
            checkpoint=checkpoint,
        )
        return Trained("base", CONFIG, untrained=True).fit(job)

    return run


def test_an_untrained_model_tells_of_the_encoding_and_counts_tokens(fit: Callable[..., FittedModel]) -> None:
    told: list[training.Progress] = []
    fitted = fit(told.append)
    assert [progress.fraction for progress in told if progress.epoch == 0] == [40 / 49, 1.0]
    assert all(progress.frozen for progress in told)
    assert [progress.done for progress in told] == sorted(progress.done for progress in told)
    assert fitted.outcome.tokens == told[-1].tokens == 3 * 40 * 3


def test_a_stopped_one_encodes_with_the_threads_of_its_beginning(
    fit: Callable[..., FittedModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their number can change the last digits of the vectors, which no checkpoint holds."""
    encode, used = methods.encode_once, []

    def spy(*arguments: Any) -> Any:
        used.append(torch.get_num_threads())
        return encode(*arguments)

    def stop(progress: training.Progress) -> None:
        if progress.epoch == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(methods, "encode_once", spy)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        with pytest.raises(KeyboardInterrupt):
            fit(stop)
        torch.set_num_threads(1)
        fit()
    finally:
        torch.set_num_threads(before)
    assert used == [3, 3]
