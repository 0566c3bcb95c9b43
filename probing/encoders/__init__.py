"""Sentence encoders of any kind become vectors: baselines, adapters for other libraries, users' own, and the cache."""

from probing.encoders.encoder import Recipe, as_matrix
from probing.encoders.objects import is_unversioned
from probing.encoders.objects import make_recipe as make_object_recipe
from probing.encoders.senteval import DotDict, make_params
from probing.encoders.specification import find_recipes, find_trainable, summaries
from probing.encoders.trainable import build_fine_tuned
from probing.encoders.vector_cache import VectorEntry, clear_cached, describe_cached, embed, forget_vectors
