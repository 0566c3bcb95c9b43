"""What `cli.py` is made of: kinds of options, how mistakes are told, and the groups `probe data` and `probe cache`."""
