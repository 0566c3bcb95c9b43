"""A linguistic probing benchmark suite, which asks what a sentence encoder knows about language."""

import sys

if sys.argv[:1] == ["-m"] and not sys.flags.safe_path:  # as long as `python -m probing` imports this package
    del sys.path[0]  # the current folder, whose modules may be of unknown origin

import importlib
from typing import TYPE_CHECKING, Any

from probing.errors import ProbingError

if TYPE_CHECKING:
    from probing.api import Results, evaluate, load_results, train

__version__ = "0.1.0"
__all__ = ["ProbingError", "Results", "__version__", "evaluate", "load_results", "train"]


def __getattr__(name: str) -> Any:
    """Import the front door only when it is used: `import probing` is instant, and `probe --help` needs no pandas."""
    if name not in __all__:
        raise AttributeError(f"module 'probing' has no attribute {name!r}")
    return getattr(importlib.import_module("probing.api"), name)
