"""The paper's encoder with a free choice of aggregator: packing, attention, transformer, classifier; what is inside."""

from probing.model.attention import Packing, SelfAttention
from probing.model.classifier import AggregatorFactory, Classifier, build_classifier
from probing.model.description import ModelDescription, describe_model
from probing.model.factories import call_factory
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
    "inspect_sentence",
    "masked_head",
]
