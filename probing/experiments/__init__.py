"""Experiments: the models of a run and its cells, and how they are planned, fitted, run, estimated and explained."""

EXPLANATION_ENDING = ".explanation.json"
"""Ending of the files of explanations, which lie beside the records."""
