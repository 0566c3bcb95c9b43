"""A linguistic probing benchmark suite: what does this sentence encoder know about language?"""

import importlib
from typing import Any

__version__ = "0.1.0"
__all__ = ["__version__", "load_results"]

_LAZY = {"load_results": "probing.report.frame"}


def __getattr__(name: str) -> Any:
    """Import what needs pandas only when it is asked for: `import probing` is instant, and imports still point down."""
    if name not in _LAZY:
        raise AttributeError(f"module 'probing' has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)
