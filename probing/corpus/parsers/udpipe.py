"""UDPipe 1: a model file splits, tokenises, tags and parses raw text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from probing.errors import ProbingError
from probing.storage import hash_file


class UDPipeParser:
    """A model of UDPipe."""

    def __init__(self, model: Any) -> None:
        from ufal.udpipe import Pipeline

        self._model = model  # the pipeline does not keep it alive
        self._pipeline = Pipeline(model, "tokenizer=ranges", Pipeline.DEFAULT, Pipeline.DEFAULT, "conllu")

    def parse(self, paragraphs: Sequence[str]) -> str:
        """Return the sentences of some paragraphs as CoNLL-U."""
        from ufal.udpipe import ProcessingError

        error = ProcessingError()
        text: str = self._pipeline.process("\n\n".join(paragraphs), error)
        if error.occurred():
            raise ProbingError(f"udpipe: {error.message}. Is it a model with a tokeniser, a tagger and a parser?")
        return text


def identify(name: str) -> str:
    """Return the name and the checksum of a model file."""
    return f"{Path(name).name} {hash_file(Path(name))[0][:16]}"


def load(name: str) -> UDPipeParser:
    """Load a model file."""
    from ufal.udpipe import Model

    model = Model.load(name)
    if model is None:
        raise ProbingError(f"--parser udpipe:{name}: not a model of UDPipe 1")
    return UDPipeParser(model)
