"""Sentence encoders that can be probed: baselines, adapters for other libraries, and users' own."""
