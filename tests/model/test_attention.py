from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from probing.aggregators.linear import LinearAggregator
from probing.errors import ProbingError
from probing.model import attention as attention_module
from probing.model.attention import Attention

LENGTHS = [3, 1, 7, 2]
WIDTH, HEADS = 12, 3


class Concatenation(nn.Module):
    def forward(self, heads):
        return heads.flatten(1)


def make_attention(*, causal=False):
    module = Attention(WIDTH, HEADS, LinearAggregator(WIDTH, HEADS), causal=causal).double()
    for parameter in module.parameters():  # biases too: they start as zeros
        nn.init.normal_(parameter, std=0.5)
    return module


@pytest.fixture
def attention():
    return make_attention()


def attend(attention, hidden, memory=None):
    """Equations 1 to 4 for one sentence, number by number: rows of O from rows of hidden states.

    With a memory, keys and values are those of its rows; a causal attention sees only the rows up to its own.
    """
    weight, bias = attention.query_key_value.weight.tolist(), attention.query_key_value.bias.tolist()
    size = WIDTH // HEADS

    def project(token, part, head):
        """Row part * d + head * d/H + i of the weights makes number i of the head's query, key or value."""
        first = part * WIDTH + head * size
        return [
            sum(w * x for w, x in zip(weight[row], token, strict=True)) + bias[row]
            for row in range(first, first + size)
        ]

    rows = []
    for number, token in enumerate(hidden):
        seen = hidden if memory is None else memory
        seen = seen[: number + 1] if attention.causal else seen
        concatenated = []
        for head in range(HEADS):
            query = project(token, 0, head)
            keys = [project(other, 1, head) for other in seen]
            values = [project(other, 2, head) for other in seen]
            energies = [sum(q * k for q, k in zip(query, key, strict=True)) / math.sqrt(size) for key in keys]
            total = sum(map(math.exp, energies))
            shares = [math.exp(energy) / total for energy in energies]
            concatenated += [sum(s * v[i] for s, v in zip(shares, values, strict=True)) for i in range(size)]
        rows.append(concatenated)
    output, output_bias = attention.aggregator.output.weight.tolist(), attention.aggregator.output.bias.tolist()
    return [
        [sum(w * x for w, x in zip(line, row, strict=True)) + b for line, b in zip(output, output_bias, strict=True)]
        for row in rows
    ]


def test_the_papers_equations_sentence_by_sentence(attention, pack, split):
    packing = pack(LENGTHS)
    hidden = torch.randn(sum(LENGTHS), WIDTH, dtype=torch.float64)
    expected = [row for sentence in split(hidden, packing) for row in attend(attention, sentence.tolist())]
    with torch.no_grad():
        torch.testing.assert_close(attention(hidden, packing), torch.tensor(expected, dtype=torch.float64))
        in_float32 = attention.float()(hidden.float(), packing)
    torch.testing.assert_close(in_float32.double(), torch.tensor(expected, dtype=torch.float64), atol=1e-5, rtol=1e-5)


MEMORY_LENGTHS = [2, 5, 1, 4]


def test_a_causal_attention_sees_its_own_part_of_the_sentence(pack, split):
    attention, packing = make_attention(causal=True), pack(LENGTHS)
    hidden = torch.randn(sum(LENGTHS), WIDTH, dtype=torch.float64)
    expected = [row for sentence in split(hidden, packing) for row in attend(attention, sentence.tolist())]
    with torch.no_grad():
        torch.testing.assert_close(attention(hidden, packing), torch.tensor(expected, dtype=torch.float64))
    attention.causal = False
    with torch.no_grad():
        differs = (attention(hidden, packing) - torch.tensor(expected, dtype=torch.float64)).abs().amax(1) > 1e-6
    ends = torch.tensor(LENGTHS).cumsum(0) - 1
    assert (~differs).nonzero().flatten().tolist() == ends.tolist(), "only a sentence's last token sees all of it"


@pytest.mark.parametrize("sentences", [1, 2, 16])
def test_an_attention_to_another_text(attention, pack, split, monkeypatch, sentences):
    """Views of both texts must have the same sentences: both are in one order, by whatever lengths."""
    monkeypatch.setattr(attention_module, "SENTENCES_OF_A_VIEW", sentences)
    order = (torch.tensor(LENGTHS) + torch.tensor(MEMORY_LENGTHS)).argsort(stable=True)
    packing, memory_packing = pack(LENGTHS, order), pack(MEMORY_LENGTHS, order)
    hidden = torch.randn(sum(LENGTHS), WIDTH, dtype=torch.float64)
    memory = torch.randn(sum(MEMORY_LENGTHS), WIDTH, dtype=torch.float64)
    pairs = zip(split(hidden, packing), split(memory, memory_packing), strict=True)
    expected = [row for mine, other in pairs for row in attend(attention, mine.tolist(), other.tolist())]
    with torch.no_grad():
        found = attention(hidden, packing, memory, memory_packing)
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


def test_projections_apart_are_those_of_all_together(attention):
    hidden = torch.randn(5, WIDTH, dtype=torch.float64)
    apart = torch.cat([attention.project_queries(hidden), attention.project_memory(hidden)], 1)
    torch.testing.assert_close(apart, attention.query_key_value(hidden))


def test_one_token_attends_to_itself_alone(attention, pack):
    hidden = torch.randn(1, WIDTH, dtype=torch.float64)
    value = attention.query_key_value(hidden)[:, 2 * WIDTH :].view(1, HEADS, -1)
    torch.testing.assert_close(attention.heads(hidden, pack([1])), value)


def test_a_packing_says_where_each_token_stands(pack):
    packing = pack([2, 1, 3])
    assert packing.rows.tolist() == [0, 0, 1, 2, 2, 2]
    assert packing.positions.tolist() == [0, 1, 0, 0, 1, 2]
    assert packing.mask.shape == (3, 1, 1, 3)
    assert packing.mask.flatten().tolist() == [True, True, False, True, False, False, True, True, True]


def test_sentences_of_similar_length_are_padded_together(pack):
    lengths = [5, 28, 6, 7, 12, 9, 30, 8] * 10
    packing = pack(lengths)
    assert len(packing.views) == 80 // attention_module.SENTENCES_OF_A_VIEW == 5
    assert [view.shape[3] for view in packing.views] == sorted(view.shape[3] for view in packing.views)
    assert len(set(packing.places.tolist())) == sum(lengths)
    assert sum(view.numel() for view in packing.views) < 0.7 * 80 * 30
    held = torch.cat([view.flatten() for view in packing.views])
    assert held[packing.places].all()
    assert int(held.sum()) == sum(lengths)


def test_views_change_nothing_but_the_padding(attention, pack, monkeypatch):
    lengths = [1 + (7 * i) % 11 for i in range(50)]
    hidden = torch.randn(sum(lengths), WIDTH, dtype=torch.float64, requires_grad=True)
    found = []
    for sentences in (1, 7, 16, 1000):
        monkeypatch.setattr(attention_module, "SENTENCES_OF_A_VIEW", sentences)
        output = attention(hidden, pack(lengths))
        found.append((output, torch.autograd.grad(output.square().sum(), hidden)[0]))
    for output, gradient in found[1:]:
        torch.testing.assert_close(output, found[0][0])
        torch.testing.assert_close(gradient, found[0][1])


def test_every_tensor_of_a_packing_is_moved(pack):
    moved = pack([2, 1, 3]).map(lambda tensor: tensor.to("meta"))
    tensors = [getattr(moved, name) for name in ("positions", "rows", "mask", "lengths", "places")]
    assert {tensor.device.type for tensor in (*tensors, *moved.views)} == {"meta"}


def test_heads_come_apart(attention, pack):
    hidden = torch.randn(sum(LENGTHS), WIDTH, dtype=torch.float64)
    assert attention.heads(hidden, pack(LENGTHS)).shape == (sum(LENGTHS), HEADS, WIDTH // HEADS)


def test_sentences_do_not_see_each_other(pack, split):
    attention = Attention(WIDTH, HEADS, Concatenation())
    hidden = torch.randn(sum(LENGTHS), WIDTH, requires_grad=True)
    packing = pack(LENGTHS)
    split(attention(hidden, packing), packing)[2].sum().backward()
    touched = [bool(part.abs().sum() > 0) for part in split(hidden.grad, packing)]
    assert touched == [False, False, True, False]


def test_attention_has_no_order_of_its_own(attention, pack):
    hidden = torch.randn(5, WIDTH, dtype=torch.float64)
    order = torch.randperm(5)
    packing = pack([5])
    torch.testing.assert_close(attention(hidden[order], packing), attention(hidden, packing)[order])


def test_attention_is_the_same_in_training_and_after(pack):
    attention = Attention(WIDTH, HEADS, Concatenation())
    hidden, packing = torch.randn(7, WIDTH), pack([7])
    trained = attention.train()(hidden, packing)
    assert torch.equal(trained, attention.eval()(hidden, packing))


def test_the_start_is_that_of_three_separate_maps():
    """Xavier's bound of d -> d, which is wider than that of the one stacked map d -> 3d."""
    weight = Attention(64, 4, Concatenation()).query_key_value.weight
    bound = math.sqrt(6 / (64 + 64))
    assert 0.98 * bound < weight.abs().max() <= bound


def test_heads_that_do_not_divide_the_width():
    with pytest.raises(ValueError, match=r"num_heads must divide model_dim=12. Got 5 instead\."):
        Attention(12, 5, Concatenation())


class Wrong(nn.Module):
    def __init__(self, make):
        super().__init__()
        self.make = make

    def forward(self, heads):
        return self.make(heads)


@pytest.mark.parametrize(
    ("make", "returned"),
    [
        (lambda heads: heads, "shape (13, 3, 4)"),
        (lambda heads: heads.sum(1), "shape (13, 4)"),
        (lambda heads: heads.flatten(1)[:-1], "shape (12, 12)"),
        (lambda heads: (heads.flatten(1), heads), "a tuple"),
        (lambda heads: None, "a NoneType"),
    ],
)
def test_an_aggregator_that_returns_something_else(pack, make, returned):
    attention = Attention(WIDTH, HEADS, Wrong(make))
    with pytest.raises(ProbingError) as caught:
        attention(torch.randn(13, WIDTH), pack(LENGTHS))
    text = f"aggregator Wrong must return a tensor of shape (13, 12) (tokens, d). It returned {returned}"
    assert str(caught.value) == text
