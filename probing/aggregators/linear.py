"""Base: concatenate the heads and map them linearly (Equations 3 and 4 of Li et al. 2019).

Shapes: T tokens, H heads, d model width.
"""

from __future__ import annotations

from torch import Tensor, nn


class LinearAggregator(nn.Module):
    """O = [O_1, …, O_H] W^O."""

    def __init__(self, model_dim: int, num_heads: int) -> None:
        super().__init__()
        self.output = nn.Linear(model_dim, model_dim)
        nn.init.xavier_uniform_(self.output.weight)
        nn.init.zeros_(self.output.bias)

    def forward(self, heads_THd: Tensor) -> Tensor:
        """Return (T, d) from the heads' outputs (T, H, d/H)."""
        output: Tensor = self.output(heads_THd.flatten(1))
        return output
