"""A parser of raw text: spaCy, by an installed model or the folder of one, with relations of Universal Dependencies."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from probing.corpus.parsers.schemes import ParsedWord, find_scheme, to_universal
from probing.errors import ProbingError
from probing.storage import hash_file, hash_json

UNUSED = ("ner", "lemmatizer", "textcat", "entity_linker", "entity_ruler", "textcat_multilabel", "spancat")
"""Parts of a pipeline that are not needed, and take time."""


class SpacyParser:
    """A pipeline of spaCy."""

    def __init__(self, pipeline: Any) -> None:
        self._pipeline = pipeline
        self._scheme = find_scheme(pipeline.get_pipe("parser").labels)

    def parse(self, paragraphs: Sequence[str]) -> str:
        """Return the sentences of some paragraphs as CoNLL-U."""
        lines: list[str] = []
        for document in self._pipeline.pipe(paragraphs):
            for sentence in document.sents:
                lines += format_words(to_universal(list(read_words(sentence)), self._scheme))
        return "".join(lines)


def read_words(sentence: Any) -> Iterator[ParsedWord]:
    """Yield the words of a spaCy sentence, without those that are only spaces."""
    places = {token.i: number for number, token in enumerate((t for t in sentence if not t.text.isspace()), 1)}
    for token in sentence:
        if not token.text.isspace():
            head = token.head
            while head.text.isspace() and head.head is not head:
                head = head.head
            is_root = head is token or head.i not in places or head.i == token.i
            yield ParsedWord(
                form=token.text,
                tag=token.pos_ or "X",
                head=0 if is_root else places[head.i],
                relation="root" if is_root else token.dep_ or "dep",
                features=str(token.morph),
            )


def format_words(words: Sequence[ParsedWord]) -> Iterator[str]:
    """Yield the lines of a CoNLL-U sentence."""
    for number, word in enumerate(words, 1):
        fields = (number, word.form, "_", word.tag, "_", word.features or "_", word.head, word.relation, "_", "_")
        yield "\t".join(map(str, fields)) + "\n"
    if words:
        yield "\n"


def identify(name: str) -> str:
    """Return the name and the version of an installed model, or the checksum of a folder."""
    folder = Path(name)
    if folder.is_dir():
        return f"{folder.resolve().name} {_hash_folder(folder)}"
    try:
        return f"{name} {importlib.metadata.version(name)}"
    except (importlib.metadata.PackageNotFoundError, ValueError):
        raise ProbingError(
            f"--parser spacy:{name}: there is no such model or folder. Get it: python -m spacy download {name}"
        ) from None


def load(name: str) -> SpacyParser:
    """Load a model by its name, or by the path of its folder."""
    import spacy

    try:
        pipeline = spacy.load(name, exclude=list(UNUSED))
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise ProbingError(f"--parser spacy:{name}: cannot be loaded ({reason}). Is it a model of spaCy 3?") from None
    if "parser" not in pipeline.pipe_names:
        raise ProbingError(f"--parser spacy:{name}: the model has no parser. Name one that has")
    return SpacyParser(pipeline)


def _hash_folder(folder: Path) -> str:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return hash_json([(str(path.relative_to(folder)), hash_file(path)[0]) for path in files])[:16]
