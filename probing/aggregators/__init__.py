"""Aggregators put the outputs of the attention heads together: a linear map, or routing by agreement."""

from probing.aggregators.implementation import Implementation
from probing.aggregators.implementation import describe as describe_routing
from probing.aggregators.linear import LinearAggregator
