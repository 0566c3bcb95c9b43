"""Experiments: the models of a run and its cells, and how they are planned, fitted, run, estimated and explained."""
