"""Records whose predictions are as right as their accuracy says, for what is computed sentence by sentence."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from probing.results import Result
from probing.tasks import TASKS


def answer(result: Result, size: int) -> Result:
    """Return a record with so many test sentences, some hard for every model, the others by the luck of the seed."""
    assert result.scores is not None
    hard = np.random.default_rng(zlib.crc32(result.task.encode())).random(size)
    luck = np.random.default_rng([zlib.crc32(f"{result.task} {result.model.name}".encode()), result.seed]).random(size)
    number = round(result.scores.test_accuracy / 100 * size)
    gold = np.arange(size) % 2
    right = np.zeros(size, dtype=bool)
    right[np.argsort(hard + luck)[:number]] = True
    counts = {"train": size, "dev": size // 2, "test": size // 2}
    return dataclasses.replace(
        result,
        scores=dataclasses.replace(
            result.scores,
            dev_accuracy=result.scores.test_accuracy,
            classes={
                "PAST": counts | {"right": int(right[::2].sum())},
                "PRES": counts | {"right": int(right[1::2].sum())},
            },
            gold=gold.tolist(),
            predictions=np.where(right, gold, 1 - gold).tolist(),
        ),
    )


@pytest.fixture(name="make_result", scope="session")
def _make_result(make_result: Callable[..., Result]) -> Callable[..., Result]:
    def make(*arguments: Any, size: int = 10_000, **options: Any) -> Result:
        result = make_result(*arguments, **options)
        return answer(result, size) if result.scores is not None else result

    return make


@pytest.fixture(scope="session")
def paper_results(make_result: Callable[..., Result]) -> list[Result]:
    """Return records that are the paper's own Table 1, as if measured with seed 0."""
    return [make_result(task.name, model, task.paper[model]) for task in TASKS for model in ("base", "simple", "em")]
