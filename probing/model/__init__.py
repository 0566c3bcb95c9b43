"""The encoder of the paper's probing experiment, with a free choice of aggregator."""
