"""The mix of layers gives weight to the layer that knows the labels."""

from __future__ import annotations

import torch

from probing.probes import Vectors, learn_mix, mix


def make(seed: int, scale: float = 1.0) -> list[Vectors]:
    """Return three layers of vectors; only the second one, whose scale is given, knows the label."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(2, (400,), generator=generator)
    layers = [torch.randn(400, 6, generator=generator) for _ in range(3)]
    layers[1][:, 0] += 3.0 * labels
    layers[1] *= scale
    return [Vectors(layer, labels) for layer in layers]


def test_the_layer_that_knows_the_labels_has_the_most_weight() -> None:
    weights = learn_mix(make(0), make(1), num_classes=2, seed=0)
    assert abs(sum(weights) - 1) < 1e-6
    assert weights[1] > 0.5
    assert learn_mix(make(0), make(1), num_classes=2, seed=0) == weights


def test_the_scale_of_a_layer_does_not_decide() -> None:
    plain, large = (learn_mix(make(0, scale), make(1, scale), num_classes=2, seed=0) for scale in (1.0, 100.0))
    shares = [large[0], large[1] * 100, large[2]]
    for first, second in zip(plain, [share / sum(shares) for share in shares], strict=True):
        assert abs(first - second) < 0.02


def test_a_mix_is_a_weighted_sum() -> None:
    layers = [torch.ones(2, 3), torch.full((2, 3), 10.0, dtype=torch.float16)]
    assert mix(layers, [0.5, 0.25]).tolist() == [[3.0] * 3] * 2


def test_rows_of_a_subset() -> None:
    rows = torch.arange(0, 400, 2)
    some = [Vectors(each.vectors, each.labels[rows], rows) for each in make(0)]
    assert learn_mix(some, make(1), num_classes=2, seed=0)[1] > 0.4
