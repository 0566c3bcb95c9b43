"""The paper's figures fit one another: a mistake in copying one of them would show."""

from __future__ import annotations

import pytest

from probing.report.translation.cells import format_parameters
from probing.report.translation.paper import COMPONENTS, LAYERS, SYSTEMS, find_layers
from tests.translations import BODY, EMBEDDINGS, ROUTED

BASE = BODY + EMBEDDINGS * 512


def test_every_table_has_all_its_rows() -> None:
    assert (len(COMPONENTS), len(LAYERS), len(SYSTEMS)) == (7, 7, 8)


def test_differences_are_those_of_the_figures() -> None:
    base = COMPONENTS["base", ()].bleu
    for (aggregator, _), row in COMPONENTS.items():
        assert row.difference == (None if aggregator == "base" else pytest.approx(row.bleu - base))


def test_parameters_are_those_of_the_architecture() -> None:
    for (_, apply), row in COMPONENTS.items():
        added = 6 * len(apply) * ROUTED
        assert row.parameters == (format_parameters(added, signed=True) if added else format_parameters(BASE))
    for layers, row in LAYERS.items():
        assert row.parameters == format_parameters(BASE + len(layers) * ROUTED)
    assert SYSTEMS["base", True, "en-de"].parameters == format_parameters(BASE + 2 * ROUTED, whole=True)
    big = 176_362_496 + EMBEDDINGS * 1024
    for routed, pair, added in ((False, "en-de", 0), (True, "en-de", 2 * 16_795_648)):
        assert SYSTEMS["big", routed, pair].parameters == format_parameters(big + added, whole=True)


def test_tables_agree_on_what_they_share() -> None:
    base, em = COMPONENTS["base", ()], COMPONENTS["em", ("enc-self",)]
    assert (LAYERS[()].bleu, LAYERS[()].train) == (base.bleu, base.train)
    assert (LAYERS[1, 2, 3, 4, 5, 6].bleu, LAYERS[1, 2, 3, 4, 5, 6].train) == (em.bleu, em.train)
    assert SYSTEMS["base", False, "en-de"].bleu == base.bleu
    assert SYSTEMS["base", True, "en-de"].bleu == LAYERS[1, 2].bleu


def test_figures_that_the_text_mentions() -> None:
    """Section 5.2: training is slower by 37.5 %, and rows 7 and 8 are better than any attention alone."""
    em = COMPONENTS["em", ("enc-self",)]
    assert em.train == pytest.approx((1 - 0.375) * (COMPONENTS["base", ()].train or 0))
    alone = max(row.bleu for (name, apply), row in COMPONENTS.items() if name == "em" and len(apply) == 1)
    assert alone == em.bleu < COMPONENTS["em", ("enc-self", "enc-dec")].bleu
    assert sum(bool(row.mark) for row in SYSTEMS.values()) == 4


@pytest.mark.parametrize(
    ("layers", "depth", "papers"),
    [
        ((1, 2, 3, 4), 4, (1, 2, 3, 4, 5, 6)),
        ((1, 2), 4, (1, 2)),  # the lower half as well
        ((3, 4), 4, (4, 5, 6)),
        ((4,), 4, (6,)),
        ((1,), 4, (1,)),
        ((1, 2, 3, 4), 8, (1, 2, 3)),
        ((), 4, ()),
        ((2, 3), 4, None),
        ((2,), 6, None),
        *((layers, 6, layers) for layers in LAYERS),
    ],
)
def test_layers_of_other_stacks(layers: tuple[int, ...], depth: int, papers: tuple[int, ...] | None) -> None:
    assert find_layers(layers, depth) == papers
