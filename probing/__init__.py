"""A linguistic probing benchmark suite: what does this sentence encoder know about language?"""

__version__ = "0.1.0"
