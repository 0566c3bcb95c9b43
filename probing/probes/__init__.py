"""Classifiers on frozen vectors: a whole grid of them is trained at a time, and the best on dev is chosen."""

from probing.probes.definitions import LINEAR_TASKS, PROBES, Probe, get_probe, senteval_probe
from probing.probes.search import FittedProbe, Vectors, describe_candidates, fit
from probing.probes.standardise import LARGEST
