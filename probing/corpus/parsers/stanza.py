"""Stanza: a language's own models, or those of a package (`stanza:en`, `stanza:de:gsd`)."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from probing.errors import ProbingError
from probing.storage import hash_json

PROCESSORS = "tokenize,mwt,pos,lemma,depparse"
PARAGRAPH_END = "\n\n"
"""Text at which Stanza always ends a sentence."""


class StanzaParser:
    """A pipeline of Stanza."""

    def __init__(self, pipeline: Any) -> None:
        self._pipeline = pipeline

    def parse(self, paragraphs: Sequence[str]) -> str:
        """Return the sentences of some paragraphs as CoNLL-U."""
        return f"{self._pipeline(PARAGRAPH_END.join(paragraphs)):C}\n\n"


def identify(name: str) -> str:
    """Return the name of the models, and a checksum of their files' names, sizes and times."""
    files = sorted(path for path in (_find_models() / name.partition(":")[0]).rglob("*") if path.is_file())
    facts = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    return f"{name} {hash_json(facts)[:16]}"


def _find_models() -> Path:
    """Return the folder where Stanza keeps its models: it differs by version."""
    given = os.environ.get("STANZA_RESOURCES_DIR")
    before = Path.home() / "stanza_resources"
    version = importlib.metadata.version("stanza")
    return Path(given) if given else before if before.is_dir() else user_cache_path("stanza") / version / "resources"


def load(name: str) -> StanzaParser:
    """Load the models of a language, which must be on this machine already."""
    import stanza

    language, _, package = name.partition(":")
    options = {"lang": language, "download_method": None, "verbose": False, "logging_level": "ERROR"}
    try:
        pipeline = stanza.Pipeline(**options, package=package or "default", processors=PROCESSORS)
    except (OSError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise ProbingError(
            f"--parser stanza:{name}: its models cannot be loaded ({reason}). "
            f"Get them: python -c \"import stanza; stanza.download('{language}')\""
        ) from None
    return StanzaParser(pipeline)
