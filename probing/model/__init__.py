"""The paper's encoder with any aggregator: packing, attention, transformer, classifier; describing and inspecting it."""

from probing.model.attention import Packing, SelfAttention
from probing.model.classifier import AggregatorFactory, Classifier, build_classifier
from probing.model.description import ModelDescription, describe_model
from probing.model.factories import call_factory, explaining_size
from probing.model.inspection import LayerView, attentions, inspect_sentence, masked_head
from probing.model.transformer import Transformer

__all__ = [
    "AggregatorFactory",
    "Classifier",
    "LayerView",
    "ModelDescription",
    "Packing",
    "SelfAttention",
    "Transformer",
    "attentions",
    "build_classifier",
    "call_factory",
    "describe_model",
    "explaining_size",
    "inspect_sentence",
    "masked_head",
]
