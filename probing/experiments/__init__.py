"""What is run: the models of a run, its cells, how they are planned, fitted, run, estimated and explained."""
