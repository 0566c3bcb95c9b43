"""The paper's encoder with any aggregator: packing, attention, transformer, classifier; description and inspection."""

from probing.model.attention import Attention, Packing
from probing.model.classifier import AggregatorFactory, Classifier, build_aggregator, build_classifier
from probing.model.description import ModelDescription, describe_model
from probing.model.dropout import Dropout
from probing.model.factories import call_factory, explaining_size, is_too_large
from probing.model.inspection import Activating, LayerView, Routing, attentions, inspect_sentence, masked_head
from probing.model.transformer import (
    Transformer,
    embed,
    make_embedding,
    make_feed_forward,
    mean_of_tokens,
    sinusoids,
)
