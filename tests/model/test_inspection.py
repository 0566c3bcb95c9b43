"""What the inspection shows is what the model computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor, nn

from probing.aggregators.em import EMAggregator, EMCodeAggregator
from probing.aggregators.linear import LinearAggregator
from probing.aggregators.simple import SimpleAggregator, SimpleCodeAggregator
from probing.model.attention import Packing
from probing.model.classifier import Classifier, build_classifier
from probing.model.inspection import attentions, inspect_sentence, masked_head

TOKENS = torch.tensor([3, 1, 4, 1, 5])
Pack = Callable[[Sequence[int]], Packing]


def build(aggregator: Callable[..., nn.Module]) -> Classifier:
    return build_classifier(
        aggregator,
        vocabulary_size=9,
        num_classes=3,
        num_layers=2,
        model_dim=16,
        num_heads=4,
        feed_forward_dim=8,
        head_dim=8,
        dropout=0.5,
        num_capsules=8,
        iterations=3,
    )


@pytest.mark.parametrize(
    "aggregator", [LinearAggregator, SimpleAggregator, EMAggregator, SimpleCodeAggregator, EMCodeAggregator]
)
def test_probabilities_are_the_models_own(aggregator: Callable[..., nn.Module], pack: Pack) -> None:
    model = build(aggregator)
    probabilities, layers = inspect_sentence(model, TOKENS)
    with torch.inference_mode():
        expected = model(TOKENS, pack([5])).softmax(1)[0]
    torch.testing.assert_close(probabilities, expected)
    assert len(layers) == 2


def test_attention_makes_the_heads_outputs(pack: Pack) -> None:
    model = build(LinearAggregator)
    _, layers = inspect_sentence(model, TOKENS)
    attention, packing = attentions(model)[0], pack([5])
    seen: list[Tensor] = []
    attention.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    with torch.inference_mode():
        model(TOKENS, packing)
        value_LHd = attention.query_key_value(seen[0]).view(5, 3, 4, 4)[:, 2]
        expected = torch.einsum("hij,jhd->ihd", layers[0].attention, value_LHd)
        torch.testing.assert_close(attention.heads(seen[0], packing), expected)


@pytest.mark.parametrize("aggregator", [SimpleAggregator, EMAggregator])
def test_agreement_begins_uniform_and_sums_to_one_over_capsules(aggregator: Callable[..., nn.Module]) -> None:
    _, layers = inspect_sentence(build(aggregator), TOKENS)
    for layer in layers:
        agreement, shares = layer.agreement, layer.shares
        assert agreement is not None
        assert shares is not None
        assert agreement.shape == (3, 5, 4, 8)
        torch.testing.assert_close(agreement[0], torch.full_like(agreement[0], 1 / 8))
        torch.testing.assert_close(agreement.sum(-1), torch.ones(3, 5, 4))
        torch.testing.assert_close(shares.sum(2), torch.ones(3, 5, 8))
        assert not torch.allclose(agreement[1], agreement[2])


def test_agreement_over_heads_is_its_own_share() -> None:
    _, layers = inspect_sentence(build(SimpleCodeAggregator), TOKENS)
    assert layers[0].agreement is not None
    assert layers[0].shares is not None
    torch.testing.assert_close(layers[0].agreement, layers[0].shares)


def test_a_linear_layer_has_no_agreement() -> None:
    _, layers = inspect_sentence(build(LinearAggregator), TOKENS)
    assert [layer.agreement for layer in layers] == [None, None]


def test_a_masked_head_is_a_head_whose_output_weights_are_zero(pack: Pack) -> None:
    model, packing = build(LinearAggregator).eval(), pack([2, 3])
    with torch.inference_mode():
        before = model(TOKENS, packing)
        with masked_head(attentions(model)[1], 2):
            masked = model(TOKENS, packing)
        torch.testing.assert_close(model(TOKENS, packing), before)
        attentions(model)[1].aggregator.output.weight[:, 8:12] = 0.0  # type: ignore[union-attr, operator]
        torch.testing.assert_close(model(TOKENS, packing), masked)
    assert not torch.allclose(before, masked)
