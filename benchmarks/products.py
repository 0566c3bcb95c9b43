"""How much of a training step is matrix products: the step against its own products alone, replayed back to back.

The products are recorded from a step with their shapes and strides. Those inside the attention kernel are not seen, and
so count as time lost.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import torch
from rich.table import Table
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.measuring import draw_sentences, median_ratio, take_turns
from benchmarks.steps import SENTENCES, Trainer
from probing.aggregators.em import EMAggregator
from probing.aggregators.linear import LinearAggregator
from probing.aggregators.simple import SimpleAggregator
from probing.config import PRESETS

AGGREGATORS = {"base": LinearAggregator, "simple": SimpleAggregator, "em": EMAggregator}
PRODUCTS = {
    torch.ops.aten.mm.default,
    torch.ops.aten.bmm.default,
    torch.ops.aten.addmm.default,
    torch.ops.aten.baddbmm.default,
}
GOAL = 0.7


class Recorder(TorchDispatchMode):
    """Notes every matrix product, with operands of the same shapes and strides."""

    def __init__(self) -> None:
        super().__init__()
        self.products: list[tuple[Any, list[Tensor]]] = []
        self.flops = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in PRODUCTS:
            operands = [torch.empty_strided(x.shape, x.stride()).normal_() for x in args]
            self.products.append((func, operands))
            self.flops += 2 * operands[-2].numel() * operands[-1].shape[-1]
        return func(*args, **(kwargs or {}))


def measure(*, rounds: int, clock: Callable[[], float]) -> dict[str, Any]:
    """Return, by preset and aggregator, the share of the bare products' throughput that a step reaches."""
    figures: dict[str, Any] = {}
    for preset in ("paper", "small"):
        turns = max(1, rounds // 3) if preset == "paper" else rounds
        figures[preset] = {
            name: _measure_model(factory, preset, turns, clock, f"products, {preset} {name}")
            for name, factory in AGGREGATORS.items()
        }
    return figures


def _measure_model(factory: Any, preset: str, rounds: int, clock: Callable[[], float], title: str) -> dict[str, float]:
    trainer = Trainer.build(factory, PRESETS[preset].model, split=draw_sentences(SENTENCES))
    with Recorder() as recorder:
        trainer.step()

    def replay() -> None:
        for product, operands in recorder.products:
            product(*operands)

    seconds = take_turns({"step": trainer.step, "products": replay}, rounds=rounds, clock=clock, title=title)
    return {
        "milliseconds": 1000 * statistics.median(seconds["step"]),
        "products_milliseconds": 1000 * statistics.median(seconds["products"]),
        "gigaflops_per_second": recorder.flops / statistics.median(seconds["step"]) / 1e9,
        "share": median_ratio(seconds["products"], seconds["step"]),
    }


def render(figures: dict[str, Any]) -> Table:
    """Return the figures as a table."""
    table = Table("size", "aggregator", "ms a step", "ms its products", "GFLOP/s", "share", title="Matrix products")
    for preset, rows in figures.items():
        for name, row in rows.items():
            table.add_row(
                preset,
                name,
                f"{row['milliseconds']:.1f}",
                f"{row['products_milliseconds']:.1f}",
                f"{row['gigaflops_per_second']:.0f}",
                f"{100 * row['share']:.0f} %",
            )
        table.add_section()
    table.caption = f"Goal: {100 * GOAL:.0f} % of the throughput of bare products"
    return table
