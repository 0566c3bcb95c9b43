"""Classifiers on frozen vectors: a whole grid of them is trained at a time, and the best on dev is chosen."""

from probing.probes.definitions import LINEAR_TASKS, get_probe, senteval_probe
from probing.probes.optimizers import OPTIMIZERS, parse_optimizer
from probing.probes.scalar_mix import learn_mix, mix
from probing.probes.search import Vectors, describe_candidates, fit
from probing.probes.standardise import LARGEST
