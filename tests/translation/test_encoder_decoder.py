"""The encoder-decoder: the paper's equations, the causal mask, gradients, ties and numbers of parameters."""

from __future__ import annotations

import itertools

import pytest
import torch

from probing.translation.subwords import BEGIN, END
from tests.translation import reference
from tests.translation.models import ALL, make_model, run

SOURCES = [[3, 4, 5, 6, 7], [8], [], [9, 10, 3]]
TARGETS = [[4, 4, 5], [6, 7, 8, 9, 10, 11], [3], []]
SUBSETS = [subset for size in range(4) for subset in itertools.combinations(ALL, size)]


@pytest.mark.parametrize("aggregator", ["base", "simple", "em"])
@pytest.mark.parametrize("apply", SUBSETS)
def test_the_papers_equations_sentence_by_sentence(aggregator: str, apply: tuple[str, ...]) -> None:
    model = make_model(aggregator, apply=apply, dtype=torch.float64, seed=len(apply))
    weights = model.state_dict()
    with torch.no_grad():
        expected = [
            reference.score(weights, [*source, END], [BEGIN, *target], num_layers=2, num_heads=2)
            for source, target in zip(SOURCES, TARGETS, strict=True)
        ]
        together = run(model, SOURCES, TARGETS)
        # The encodings of positions are tabulated in float32.
        torch.testing.assert_close(together, torch.cat(expected), atol=2e-6, rtol=2e-6)
        in_float32 = run(model.float(), SOURCES, TARGETS)
    torch.testing.assert_close(in_float32.double(), torch.cat(expected), atol=2e-4, rtol=2e-4)


@pytest.mark.parametrize("layers", [(1,), (2,), (1, 2)])
def test_layers_without_the_aggregator_are_linear(layers: tuple[int, ...]) -> None:
    names = make_model("em", layers_with_aggregator=layers).state_dict()
    routed = {int(name.split(".")[2]) + 1 for name in names if name.endswith("vote_weight")}
    linear = {int(name.split(".")[2]) + 1 for name in names if name.endswith("aggregator.output.weight")}
    assert (routed, linear) == (set(layers), {1, 2} - set(layers))


@pytest.mark.parametrize("aggregator", ["base", "simple", "em"])
def test_no_output_sees_a_later_token(aggregator: str) -> None:
    """Another token changes the outputs at its place and after it, and no bit before."""
    model = make_model(aggregator, seed=3)
    target = [3, 4, 5, 6, 7, 8, 9]
    with torch.no_grad():
        before = run(model, [[3, 4, 5]], [target])
        for place in range(len(target)):
            changed = [*target[:place], 11, *target[place + 1 :]]
            after = run(model, [[3, 4, 5]], [changed])
            assert torch.equal(before[: place + 1], after[: place + 1])
            assert not torch.allclose(before[place + 1], after[place + 1])


@pytest.mark.parametrize("aggregator", ["base", "simple", "em"])
def test_every_output_sees_every_token_of_the_source(aggregator: str) -> None:
    model = make_model(aggregator, seed=1)
    source, target = [3, 4, 5, 6], [7, 8, 9]
    with torch.no_grad():
        before = run(model, [source], [target])
        for place in range(len(source)):
            after = run(model, [[*source[:place], 11, *source[place + 1 :]]], [target])
            assert (before != after).any(1).all()


def test_neighbours_change_nothing() -> None:
    model = make_model("em", dtype=torch.float64)
    with torch.no_grad():
        together = run(model, SOURCES, TARGETS).split([len(target) + 1 for target in TARGETS])
        for source, target, scores in zip(SOURCES, TARGETS, together, strict=True):
            torch.testing.assert_close(run(model, [source], [target]), scores, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("aggregator", ["base", "simple", "em"])
def test_gradients_go_through_all_three_attentions(aggregator: str) -> None:
    """Against finite differences, for some weights of every part."""
    model = make_model(aggregator, dtype=torch.float64, seed=2)

    def loss() -> torch.Tensor:
        return run(model, SOURCES, TARGETS).square().sum()

    model.zero_grad()
    loss().backward()  # type: ignore[no-untyped-call]
    generator = torch.Generator().manual_seed(0)
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        flat, gradient = parameter.data.view(-1), parameter.grad.view(-1)
        used = gradient.nonzero()[:, 0]
        assert len(used), name
        for place in used[torch.randperm(len(used), generator=generator)[:2]].tolist():
            before, values = flat[place].item(), []
            for change in (1e-5, -1e-5):
                flat[place] = before + change
                with torch.no_grad():
                    values.append(loss().item())
            flat[place] = before
            slope = (values[0] - values[1]) / 2e-5
            assert gradient[place].item() == pytest.approx(slope, rel=2e-4, abs=1e-4), name


@pytest.mark.parametrize(("tie", "matrices"), [("none", 3), ("target", 2), ("all", 1)])
def test_tied_embeddings_are_one_matrix(tie: str, matrices: int) -> None:
    model = make_model("base", tie=tie)
    weights = (model.encoder.embedding.weight, model.decoder.embedding.weight, model.output.weight)
    assert len({weight.data_ptr() for weight in weights}) == matrices
    body = sum(value.numel() for value in model.parameters()) - matrices * 12 * 8
    assert body == sum(value.numel() for value in make_model("base").parameters()) - 3 * 12 * 8
