from __future__ import annotations

import torch
from torch import nn

from probing.model.attention import Packing
from probing.model.classifier import Classifier
from probing.model.frozen import Frozen


class Average(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.EmbeddingBag(9, 4, mode="mean")
        self.dropout = nn.Dropout(0.5)

    def forward(self, tokens, packing):
        return self.dropout(self.embedding(tokens, packing.lengths.cumsum(0) - packing.lengths))


def make():
    tokens = torch.tensor([1, 2, 3])
    packing = Packing.build(torch.tensor([0, 0, 1]), torch.tensor([0, 1, 0]), torch.tensor([2, 1]), 2)
    encoder = Average()
    return Classifier(Frozen(encoder), 4, head_dim=8, num_classes=2, dropout=0.0), encoder, tokens, packing


def test_only_the_head_learns():
    model, encoder, tokens, packing = make()
    before = encoder.embedding.weight.clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    head = [parameter.clone() for parameter in model.head.parameters()]
    model(tokens, packing).square().sum().backward()
    optimizer.step()
    assert torch.equal(encoder.embedding.weight, before)
    assert encoder.embedding.weight.grad is None
    assert any(not torch.equal(old, new) for old, new in zip(head, model.head.parameters(), strict=True))


def test_nothing_is_dropped_in_training():
    model, encoder, tokens, packing = make()
    model.train()
    assert model.head.training
    assert not encoder.dropout.training
    assert torch.equal(model.encoder(tokens, packing), encoder.eval()(tokens, packing))
