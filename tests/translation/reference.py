"""The encoder-decoder and its aggregators written straight from the paper: one sentence, slow, float64, no packing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

Weights = Mapping[str, Tensor]


def norm(x: Tensor, weights: Weights, name: str) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    deviation = (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    return centred / deviation * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def linear(x: Tensor, weights: Weights, name: str) -> Tensor:
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def positions(length: int, width: int) -> Tensor:
    table = torch.zeros(length, width, dtype=torch.float64)
    half = width // 2
    for place in range(length):
        for number in range(half):
            angle = place / 10_000 ** (number / half)
            table[place, number], table[place, half + number] = math.sin(angle), math.cos(angle)
    return table


def route_em(votes: Tensor, beta_a: Tensor, beta_mu: Tensor) -> Tensor:
    """Algorithm 2 for the votes (H, N) of one token, with capsules of one number."""
    heads, capsules = votes.shape
    agreement = torch.full((heads, capsules), 1 / capsules, dtype=torch.float64)
    for iteration in (1, 2, 3):
        mass = agreement.sum(0)
        mean = (agreement * votes).sum(0) / mass
        variance = ((agreement * (votes - mean) ** 2).sum(0) / mass).clamp(min=1e-9)
        cost = (0.5 * variance.log() + 0.5 * (1 + math.log(2 * math.pi))) * mass
        activation = torch.sigmoid(iteration * (beta_a - beta_mu * mass - cost))
        density = torch.exp(-((votes - mean) ** 2) / (2 * variance)) / (2 * math.pi * variance).sqrt()
        agreement = activation * density
        agreement = agreement / agreement.sum(1, keepdim=True)
    return activation * mean


def route_simple(votes: Tensor) -> Tensor:
    """Algorithm 1 for the votes (H, N) of one token, with capsules of one number that are squashed."""
    logits = torch.zeros_like(votes)
    for _ in range(3):
        agreement = logits.softmax(1)
        capsules = (agreement * votes).sum(0) / agreement.sum(0)
        square = capsules**2
        capsules = square / (1 + square) * capsules / (square + 1e-9).sqrt()
        logits = logits + votes * capsules
    return capsules


def aggregate(heads: Tensor, weights: Weights, name: str) -> Tensor:
    """Put the concatenated heads (L, d) together as the weights at hand do."""
    if f"{name}.output.weight" in weights:
        return linear(heads, weights, f"{name}.output")
    normed = norm(heads, weights, f"{name}.votes.norm")
    capsules = torch.relu(normed @ weights[f"{name}.votes.input_weight"][0] + weights[f"{name}.votes.input_bias"][0])
    rows = []
    for capsule in capsules:
        votes = torch.stack([vote_weight @ capsule for vote_weight in weights[f"{name}.votes.vote_weight"]])
        if f"{name}.beta_a" in weights:
            rows.append(route_em(votes, weights[f"{name}.beta_a"], weights[f"{name}.beta_mu"]))
        else:
            rows.append(route_simple(votes))
    return torch.stack(rows)


def attend(x: Tensor, memory: Tensor, weights: Weights, name: str, num_heads: int, *, causal: bool = False) -> Tensor:
    width = x.shape[1]
    matrix, bias = weights[f"{name}.query_key_value.weight"], weights[f"{name}.query_key_value.bias"]
    query, key, value = (
        inputs @ matrix[part * width : (part + 1) * width].T + bias[part * width : (part + 1) * width]
        for part, inputs in enumerate((x, memory, memory))
    )
    outputs = []
    for head in range(num_heads):
        part = slice(head * width // num_heads, (head + 1) * width // num_heads)
        energies = query[:, part] @ key[:, part].T / math.sqrt(width // num_heads)
        if causal:
            for place in range(len(x)):
                energies[place, place + 1 :] = -math.inf
        outputs.append(energies.softmax(1) @ value[:, part])
    return aggregate(torch.cat(outputs, 1), weights, f"{name}.aggregator")


def feed(x: Tensor, weights: Weights, name: str) -> Tensor:
    inner = torch.relu(linear(norm(x, weights, f"{name}.feed_forward_norm"), weights, f"{name}.feed_forward.0"))
    return x + linear(inner, weights, f"{name}.feed_forward.2")


def score(weights: Weights, source: Sequence[int], target: Sequence[int], *, num_layers: int, num_heads: int) -> Tensor:
    """Return the scores (T, V) after each token of a target, given its source."""

    def embed(tokens: Sequence[int], side: str) -> Tensor:
        table = weights[f"{side}.embedding.weight"]
        return table[list(tokens)] * math.sqrt(table.shape[1]) + positions(len(tokens), table.shape[1])

    x = embed(source, "encoder")
    for number in range(num_layers):
        name = f"encoder.layers.{number}"
        normed = norm(x, weights, f"{name}.attention_norm")
        x = feed(x + attend(normed, normed, weights, f"{name}.attention", num_heads), weights, name)
    memory = norm(x, weights, "encoder.norm")
    y = embed(target, "decoder")
    for number in range(num_layers):
        name = f"decoder.layers.{number}"
        normed = norm(y, weights, f"{name}.self_attention_norm")
        y = y + attend(normed, normed, weights, f"{name}.self_attention", num_heads, causal=True)
        normed = norm(y, weights, f"{name}.memory_attention_norm")
        y = y + attend(normed, memory, weights, f"{name}.memory_attention", num_heads)
        y = feed(y, weights, name)
    return norm(y, weights, "decoder.norm") @ weights["output.weight"].T
