"""Subwords: pairs of characters merged by frequency (BPE, by sentencepiece), with bytes for rare characters.

Text is taken as it is: what was encoded is decoded to the same characters, spaces included, and nothing is unknown.
Training is deterministic: the same sentences give the same model, byte for byte.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from probing.corpus.processes import count_cores
from probing.errors import ProbingError
from probing.storage import open_file

UNKNOWN_SUBWORD, BEGIN, END = 0, 1, 2
"""Ids of the subword that stands for nothing, of the begin of a sentence and of its end; there is no padding."""
MAX_SENTENCES = 1_000_000
"""Largest number of sentences that subwords are trained on."""
MAX_CHARACTERS = 4096
"""Number of characters of a sentence that subwords are trained on; what follows them is left out."""
MAX_MODEL = 1 << 26
"""Largest model file in bytes; one of a million subwords has a third of it."""
SPACE = "\u2581"
"""The sign that sentencepiece writes for a space."""
STAND_INS = tuple(map(chr, range(0xFDD0, 0xFDF0)))
"""Code points that no text should have: one of them takes the place of a space sign that is in the text itself."""
SAMPLE = " A  sample,\tof 1,234 characters: \u00e4\u00a0\u4e2d\U0001f600 "
"""Text that a sound model gives back."""
RESERVED = re.compile("[\u2581\u2585]")
"""Signs that sentencepiece uses itself, so that it cannot learn subwords with them; they are spelled as bytes."""


def sample_evenly(sentences: Iterable[str], total: int, limit: int = MAX_SENTENCES) -> Iterator[str]:
    """Yield at most `limit` of `total` sentences, at even distances."""
    for number, sentence in enumerate(sentences):
        if number * limit // total != (number - 1) * limit // total or limit >= total:
            yield sentence


def train_subwords(sentences: Iterable[str], *, vocabulary_size: int, character_coverage: float) -> bytes:
    """Return a model of at most `vocabulary_size` subwords; a small text has fewer."""
    import sentencepiece

    model, problems = io.BytesIO(), list[BaseException]()
    given = (RESERVED.sub("", sentence[:MAX_CHARACTERS]) for sentence in sentences)
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=_keep_problem((sentence for sentence in given if sentence.strip()), problems),
            model_writer=model,
            model_type="bpe",
            vocab_size=vocabulary_size,
            hard_vocab_limit=False,
            character_coverage=character_coverage,
            byte_fallback=True,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            max_sentence_length=4 * MAX_CHARACTERS,
            unk_id=UNKNOWN_SUBWORD,
            bos_id=BEGIN,
            eos_id=END,
            pad_id=-1,
            num_threads=1,
            minloglevel=3,
        )
    except RuntimeError as error:
        if problems:
            raise problems[0] from None
        raise _explain(error, vocabulary_size) from None
    return model.getvalue()


def _keep_problem(sentences: Iterator[str], problems: list[BaseException]) -> Iterator[str]:
    """Yield sentences; an error or Ctrl-C is kept, because compiled code makes another error of it."""
    try:
        yield from sentences
    except BaseException as problem:
        problems.append(problem)
        raise


def _explain(error: RuntimeError, vocabulary_size: int) -> Exception:
    text = str(error)
    if "sentences_.empty()" in text:
        return ProbingError("no subwords can be made: the training text has no sentence")
    if found := re.search(r"smaller than required_chars\D*\d+\D+(\d+)", text):
        return ProbingError(
            f"subwords.vocabulary_size={vocabulary_size} is too small: the characters of the training text need "
            f"{int(found[1]):,}. Choose a larger one, or a smaller subwords.character_coverage"
        )
    return error


class Subwords:
    """A trained model: text to the ids of subwords and back."""

    def __init__(self, model: bytes, *, origin: str = "the subword model") -> None:
        self.model = model
        """Content of the model's file."""
        try:
            self._processor, self._bytes = _load_processor(model)
        except (RuntimeError, LookupError, ValueError) as error:
            raise ProbingError(
                f"{origin}: not a subword model of this program, or damaged. Train again, or restore the file"
            ) from error
        self._threads = count_cores()
        self.size: int = self._processor.get_piece_size()
        """Number of subwords."""

    def __reduce__(self) -> tuple[type[Subwords], tuple[bytes]]:
        return Subwords, (self.model,)

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the ids of each line's subwords, without begin and end."""
        ids: list[list[int]] = self._processor.encode(list(lines), num_threads=self._threads)
        for number, line in enumerate(lines):
            if SPACE in line:
                ids[number] = self._encode_space_sign(line)
        return ids

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each line; a line feed that a translation may spell becomes a space."""
        lines: list[str] = self._processor.decode(list(ids)) if len(ids) else []
        return [line.replace("\n", " ") for line in lines]

    def find_spelled_out(self, words: Sequence[str]) -> list[bool]:
        """Return whether each word falls apart into single characters, or has one that is spelled as bytes."""
        pieces: list[list[str]] = self._processor.encode(list(words), out_type=str, num_threads=self._threads)
        byte = re.compile("<0x[0-9A-F]{2}>")
        return [
            any(map(byte.fullmatch, parts)) or all(len(part.removeprefix(SPACE)) <= 1 for part in parts)
            for parts in pieces
        ]

    def _encode_space_sign(self, line: str) -> list[int]:
        """Encode a line in which the sign for a space stands for itself: it is spelled as bytes."""
        processor = self._processor
        unused = (each for each in STAND_INS if each not in line and processor.piece_to_id(each) == UNKNOWN_SUBWORD)
        stand_in = next(unused, SPACE)
        old, new = ([self._bytes[byte] for byte in sign.encode()] for sign in (stand_in, SPACE))
        ids: list[int] = processor.encode(line.replace(SPACE, stand_in))
        for place in range(len(ids) - len(old) + 1):
            if ids[place : place + len(old)] == old:
                ids[place : place + len(old)] = new
        return ids


def _load_processor(model: bytes) -> tuple[Any, list[int]]:
    """Return a model that is ready for use, and the ids of its 256 bytes; any other model is a ValueError."""
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor()
    processor.load_from_serialized_proto(model)
    spelled = [processor.piece_to_id(f"<0x{byte:02X}>") for byte in range(256)]
    special = (processor.unk_id(), processor.bos_id(), processor.eos_id(), processor.pad_id())
    if special != (UNKNOWN_SUBWORD, BEGIN, END, -1) or not all(map(processor.is_byte, spelled)):
        raise ValueError("other special subwords")
    processor.decode([list(range(processor.get_piece_size()))])  # a damaged subword is not UTF-8
    if processor.decode(processor.encode(SAMPLE)) != SAMPLE:
        raise ValueError("another segmentation")
    return processor, spelled


def read_subwords(path: Path) -> Subwords:
    """Read the file of a model."""
    with open_file(path) as file:
        model = file.read(MAX_MODEL + 1)
    if len(model) > MAX_MODEL:
        raise ProbingError(f"{path}: more than {MAX_MODEL >> 20} MiB. Is it the right file?")
    return Subwords(model, origin=str(path))
