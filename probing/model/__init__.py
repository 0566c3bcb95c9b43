"""The paper's encoder with any aggregator: packing, attention, transformer, classifier; description and inspection."""

from probing.model.attention import Packing
from probing.model.classifier import Classifier, build_classifier
from probing.model.description import describe_model
from probing.model.factories import call_factory, explaining_size
from probing.model.inspection import LayerView, attentions, inspect_sentence, masked_head
from probing.model.transformer import Transformer
