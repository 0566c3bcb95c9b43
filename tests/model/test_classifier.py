from __future__ import annotations

import dataclasses

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from probing.aggregators.linear import LinearAggregator
from probing.config import PRESETS
from probing.errors import ProbingError
from probing.model.classifier import build_aggregator, build_classifier
from probing.registry import AGGREGATORS

SIZES = {
    "vocabulary_size": 30,
    "num_classes": 5,
    "num_layers": 3,
    "model_dim": 32,
    "num_heads": 4,
    "feed_forward_dim": 64,
    "head_dim": 16,
    "dropout": 0.2,
    "num_capsules": 32,
    "iterations": 3,
    "votes": "shared",
    "squash": True,
    "inverse_temperature": (),
}
CUSTOM = {"num_capsules": 8, "iterations": 2, "votes": "per_head", "squash": False, "inverse_temperature": (0.5, 1.0)}


def build(name="base", **changes):
    torch.manual_seed(0)
    factory = AGGREGATORS.find(name).object if isinstance(name, str) else name
    return build_classifier(factory, **(SIZES | changes))


def score(model, pack, sentences):
    with torch.no_grad():
        return model(torch.tensor([token for s in sentences for token in s]), pack([len(s) for s in sentences]))


@pytest.fixture(scope="module", params=AGGREGATORS.builtins)
def name(request):
    return request.param


@pytest.fixture(scope="module", params=[{}, CUSTOM], ids=["default", "custom"])
def model(request, name):
    return build(name, **request.param).eval()


sentence = st.lists(st.integers(0, 29), min_size=1, max_size=40)


@given(st.lists(sentence, min_size=1, max_size=6))
@settings(max_examples=15, deadline=None)
def test_a_sentence_has_the_same_scores_alone_and_in_any_batch(model, pack, sentences):
    alone = torch.cat([score(model, pack, [sentence]) for sentence in sentences])
    together = score(model, pack, sentences)
    assert (together - alone).abs().max() <= 1e-5
    assert (score(model, pack, sentences[::-1]).flip(0) - alone).abs().max() <= 1e-5
    padded = score(model, pack, [*sentences, [7] * 90])[:-1]
    assert (padded - alone).abs().max() <= 1e-5


def test_also_with_the_presets_sizes(name, pack):
    sizes = dataclasses.asdict(PRESETS["mini"].model)
    model = build(name, **sizes).eval()
    sentences = [torch.randint(30, (length,)).tolist() for length in (1, 28, 5, 14, 9)]
    alone = torch.cat([score(model, pack, [sentence]) for sentence in sentences])
    assert (score(model, pack, sentences) - alone).abs().max() <= 1e-5


def test_gradients_reach_every_parameter_and_stay_finite(name, pack):
    for changes in ({}, CUSTOM, {"layers_with_aggregator": (2,)}):
        model = build(name, **changes)
        scores = model(torch.arange(30), pack([12, 1, 17]))
        assert scores.shape == (3, 5)
        nn.functional.cross_entropy(scores, torch.tensor([0, 1, 4])).backward()
        for parameter_name, parameter in model.named_parameters():
            assert parameter.grad is not None, parameter_name
            gradient = parameter.grad.to_dense()
            assert gradient.isfinite().all(), parameter_name
            assert gradient.abs().sum() > 0, parameter_name


def test_the_words_of_a_batch_alone_have_gradients(name, pack):
    model = build(name)
    nn.functional.cross_entropy(model(torch.tensor([3, 7, 3, 1]), pack([2, 2])), torch.tensor([0, 1])).backward()
    (gradient,) = (each.grad.coalesce() for each in model.parameters() if each.grad.is_sparse)
    assert gradient.indices().tolist() == [[1, 3, 7]]


def test_the_same_seed_makes_the_same_model(name, pack):
    first, second = build(name).eval(), build(name).eval()
    assert torch.equal(score(first, pack, [[1, 2, 3]]), score(second, pack, [[1, 2, 3]]))


@pytest.mark.parametrize(
    ("chosen", "routed"),
    [((), [1, 2, 3]), ((1,), [1]), ((1, 3), [1, 3]), ((3, 1), [1, 3]), ([2], [2]), ((1, 2, 3), [1, 2, 3])],
)
def test_the_aggregator_can_be_limited_to_some_layers(chosen, routed):
    model = build("em", layers_with_aggregator=chosen)
    kinds = [type(layer.attention.aggregator) for layer in model.encoder.layers]
    assert [number for number, kind in enumerate(kinds, 1) if kind is not LinearAggregator] == routed
    assert len(kinds) == 3


def test_the_head_is_an_mlp():
    linear, relu, dropout, last = build().head
    assert (linear.in_features, linear.out_features, last.in_features, last.out_features) == (32, 16, 16, 5)
    assert isinstance(relu, nn.ReLU)
    assert dropout.p == 0.2


class Mine(nn.Module):
    """The smallest aggregator: it names no setting of the routings."""

    def __init__(self, model_dim, num_heads):
        super().__init__()
        self.received = {"model_dim": model_dim, "num_heads": num_heads}

    def forward(self, heads):
        return heads.flatten(1)


class Curious(Mine):
    def __init__(self, model_dim, num_heads, *, iterations=99, votes="none", unheard_of=7, **others):
        super().__init__(model_dim, num_heads)
        self.received |= {"iterations": iterations, "votes": votes, "unheard_of": unheard_of, "others": others}


def test_a_custom_aggregator_is_called_with_the_settings_that_it_names(pack):
    model = build(Mine).eval()
    aggregators = [layer.attention.aggregator for layer in model.encoder.layers]
    assert [aggregator.received for aggregator in aggregators] == [{"model_dim": 32, "num_heads": 4}] * 3
    assert len(set(map(id, aggregators))) == 3
    assert score(model, pack, [[1, 2], [3]]).shape == (2, 5)
    received = build(Curious).encoder.layers[0].attention.aggregator.received
    assert received == {
        "model_dim": 32,
        "num_heads": 4,
        "iterations": 3,
        "votes": "shared",
        "unheard_of": 7,
        "others": {},
    }


def test_a_custom_aggregator_can_be_a_function_or_a_partial():
    import functools

    def make(model_dim, num_heads, num_capsules):
        return nn.Linear(model_dim, num_capsules)

    assert build_aggregator(make, 8, 2, {"num_capsules": 4}).out_features == 4
    assert isinstance(build_aggregator(functools.partial(Mine), 8, 2, {"num_capsules": 4}), Mine)


def make_demanding(model_dim, num_heads, colour):
    return Mine(model_dim, num_heads)


def make_poor(model_dim):
    return nn.Identity()


def make_nothing(model_dim, num_heads):
    return None


def make_tensor(**sizes):
    return torch.zeros(1)


def make_class(model_dim, num_heads):
    return Mine


@pytest.mark.parametrize(
    ("factory", "text"),
    [
        (3, "aggregator '3' is not a class or function"),
        ([], "aggregator '[]' is not a class or function"),
        (make_nothing, "aggregator 'make_nothing' must make a torch.nn.Module. It made NoneType"),
        (make_tensor, "aggregator 'make_tensor' must make a torch.nn.Module. It made Tensor"),
        (make_class, "aggregator 'make_class' must make a torch.nn.Module. It made type"),
        (
            make_demanding,
            "aggregator 'make_demanding' could not be made with model_dim, num_heads: "
            "make_demanding() missing 1 required positional argument: 'colour'",
        ),
        (
            make_poor,
            "aggregator 'make_poor' could not be made with model_dim, num_heads: "
            "make_poor() got an unexpected keyword argument 'num_heads'",
        ),
    ],
)
def test_a_custom_aggregator_that_is_none(factory, text):
    with pytest.raises(ProbingError) as caught:
        build(factory)
    assert str(caught.value) == text


def test_a_custom_aggregator_of_the_wrong_shape(pack):
    class Wrong(Mine):
        def forward(self, heads):
            return heads.mean(1)

    with pytest.raises(ProbingError) as caught:
        score(build(Wrong), pack, [[1, 2], [3]])
    assert str(caught.value) == (
        "aggregator Wrong must return a tensor of shape (3, 32) (tokens, d). It returned shape (3, 8)"
    )
