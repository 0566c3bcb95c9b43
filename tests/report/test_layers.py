from __future__ import annotations

from probing.report.grouping import group_results
from probing.report.layers import find_stacks, remove_layer


def test_the_layers_of_an_encoder_are_found(gallery):
    (group,) = group_results(gallery)
    labels = {name: [model.label for model in layers.values()] for name, layers in find_stacks(group).items()}
    assert labels == {"bert": ["bert layer 0", "bert layer 1", "bert layer 2"]}
    assert list(find_stacks(group)["bert"]) == [0, 1, 2]


def test_one_layer_is_no_stack(gallery):
    (group,) = group_results([record for record in gallery if record.identity.model.name != "bert layer 01"][:20])
    assert len(find_stacks(group)) == 1
    (group,) = group_results(
        [record for record in gallery if not record.identity.model.name.startswith("bert layer 0")]
    )
    assert find_stacks(group) == {}
    (group,) = group_results([record for record in gallery if record.identity.model.name == "bert layer 01"])
    assert find_stacks(group) == {}


def test_a_name_without_its_layer():
    assert remove_layer("huggingface:bert layer 03") == "huggingface:bert"
    assert remove_layer("bert layer 3 (pooling=cls)") == "bert (pooling=cls)"
    assert remove_layer("bert layer 3 (huggingface:me/bert layer 03)") == "bert (huggingface:me/bert)"
    assert remove_layer("my layer cake") == "my layer cake"
