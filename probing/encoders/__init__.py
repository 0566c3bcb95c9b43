"""Sentence encoders of any kind become vectors: baselines, adapters for other libraries, users' own, and the cache."""

from probing.encoders.blocks import Blocks
from probing.encoders.cached_vectors import clear_cached, describe_cached, forget_vectors
from probing.encoders.embedding import check, embed
from probing.encoders.encoder import Recipe, as_matrix
from probing.encoders.layers import MIX
from probing.encoders.objects import is_unversioned
from probing.encoders.objects import make_recipe as make_object_recipe
from probing.encoders.options import EncoderOptions, spell
from probing.encoders.senteval import DotDict, check_params, make_params
from probing.encoders.specification import find_recipes, find_trainable, summaries
from probing.encoders.trainable import build_fine_tuned
from probing.encoders.vector_cache import VectorEntry
