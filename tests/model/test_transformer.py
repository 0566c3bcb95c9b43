from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from probing.model.classifier import build_aggregator
from probing.model.transformer import Transformer, encode_positions, mean_of_tokens, sinusoids
from probing.registry import AGGREGATORS

LENGTHS = [3, 1, 6, 2]
VOCABULARY, WIDTH, HEADS, HIDDEN = 20, 12, 3, 24


def build(name="base", num_layers=3, **options):
    factory = AGGREGATORS.find(name).object
    routing = {"num_capsules": 6, "iterations": 3, "votes": "shared"}
    aggregators = [build_aggregator(factory, WIDTH, HEADS, routing) for _ in range(num_layers)]
    return Transformer(VOCABULARY, WIDTH, HEADS, aggregators=aggregators, feed_forward_dim=HIDDEN, **options)


def textbook(position, model_dim):
    """Vaswani et al. (2017), Section 3.5: sines at even places, cosines at odd ones."""
    angle = [position / 10_000 ** (2 * (i // 2) / model_dim) for i in range(model_dim)]
    return [math.sin(a) if i % 2 == 0 else math.cos(a) for i, a in enumerate(angle)]


@pytest.mark.parametrize("model_dim", [2, 8, 64, 512])
def test_sinusoids_are_the_textbooks_with_sines_first(model_dim):
    positions = torch.tensor([0, 1, 2, 7, 99, 500])
    expected = torch.tensor([textbook(position, model_dim) for position in positions.tolist()], dtype=torch.float64)
    order = [*range(0, model_dim, 2), *range(1, model_dim, 2)]
    actual = sinusoids(positions, model_dim)
    assert actual.dtype == torch.float32
    torch.testing.assert_close(actual.double(), expected[:, order], atol=1e-4, rtol=0)


def test_an_odd_width_has_one_cosine_less():
    assert sinusoids(torch.arange(4), 5).shape == (4, 5)
    torch.testing.assert_close(sinusoids(torch.arange(4), 5), sinusoids(torch.arange(4), 6)[:, :5])


def test_positions_are_told_apart():
    encodings = sinusoids(torch.arange(500), 32)
    assert torch.pdist(encodings).min() > 0.1


def test_the_mean_is_over_each_sentences_own_tokens(pack, split):
    hidden = torch.randn(sum(LENGTHS), WIDTH)
    packing = pack(LENGTHS)
    expected = torch.stack([sentence.mean(0) for sentence in split(hidden, packing)])
    torch.testing.assert_close(mean_of_tokens(hidden, packing), expected)


def normalise(x, norm):
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + norm.eps).sqrt() * norm.weight + norm.bias


def encode_slowly(model, tokens):
    """Return the vector of one sentence, with no packing, no padding and no mask."""
    hidden = torch.stack(
        [
            model.embedding.weight[token] * math.sqrt(WIDTH) + sinusoids(torch.tensor([place]), WIDTH)[0].double()
            for place, token in enumerate(tokens)
        ]
    )
    for layer in model.layers:
        normed = normalise(hidden, layer.attention_norm)
        projection = layer.attention.query_key_value
        query, key, value = (normed @ projection.weight.T + projection.bias).chunk(3, -1)
        heads = []
        for q, k, v in zip(query.chunk(HEADS, -1), key.chunk(HEADS, -1), value.chunk(HEADS, -1), strict=True):
            energies = (q @ k.T / math.sqrt(WIDTH // HEADS)).exp()
            heads.append(energies / energies.sum(-1, keepdim=True) @ v)
        each = torch.stack(heads, 1)
        hidden = hidden + torch.cat([layer.attention.aggregator(token[None]) for token in each])
        first, last = layer.feed_forward[0], layer.feed_forward[-1]
        inner = (normalise(hidden, layer.feed_forward_norm) @ first.weight.T + first.bias).clamp(min=0)
        hidden = hidden + inner @ last.weight.T + last.bias
    return normalise(hidden, model.norm).mean(0)


@pytest.mark.parametrize("name", AGGREGATORS.builtins)
def test_the_whole_encoder_is_the_slow_obvious_one(name, pack):
    model = build(name, dropout=0.3).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():  # no zeros and ones that would hide a mistake
            parameter.add_(torch.randn_like(parameter) * 0.1)
        tokens = torch.randint(VOCABULARY, (sum(LENGTHS),))
        packing = pack(LENGTHS)
        expected = torch.stack([encode_slowly(model, sentence) for sentence in tokens.split(LENGTHS)])
        torch.testing.assert_close(model(tokens, packing), expected, atol=1e-10, rtol=1e-8)


def test_an_encoder_without_layers_is_a_bag_of_words_and_places(pack):
    model = build(num_layers=0)
    vectors = model(torch.tensor([1, 2, 2, 1]), pack([2, 2]))
    assert vectors.shape == (2, WIDTH)
    assert not torch.allclose(vectors[0], vectors[1])


def test_the_order_of_the_words_matters(pack):
    model = build().eval()
    assert not torch.allclose(model(torch.tensor([1, 2]), pack([2])), model(torch.tensor([2, 1]), pack([2])))


def test_dropout_acts_in_training_alone(pack):
    model = build(dropout=0.5)
    tokens, packing = torch.randint(VOCABULARY, (7,)), pack([7])
    assert not torch.equal(model(tokens, packing), model(tokens, packing))
    model.eval()
    assert torch.equal(model(tokens, packing), model(tokens, packing))
    assert {module.p for module in model.modules() if isinstance(module, nn.Dropout)} == {0.5}


def test_embeddings_start_at_the_scale_of_the_positions():
    scale = float(build().embedding.weight.detach().std()) * math.sqrt(WIDTH)
    assert scale == pytest.approx(1.0, rel=0.2)


def test_positions_are_read_from_a_table_in_every_mode_and_type(pack):
    packing = pack([70, 3])
    for dtype in (torch.float32, torch.float64):
        hidden = torch.zeros(73, 10, dtype=dtype)
        with torch.inference_mode():
            evaluated = encode_positions(packing, hidden)
        trained = encode_positions(packing, hidden)
        assert trained.dtype == dtype
        assert torch.equal(trained, evaluated)
        assert torch.equal(trained, sinusoids(packing.positions, 10, dtype))


def test_a_model_that_was_evaluated_first_can_be_trained(pack):
    model, packing = build(), pack([4, 2])
    tokens = torch.randint(VOCABULARY, (6,))
    with torch.inference_mode():
        model.eval()(tokens, packing)
    model.train()(tokens, packing).sum().backward()
    assert model.embedding.weight.grad is not None
