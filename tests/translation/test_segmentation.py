"""Segmented text takes two bytes a token, or four if the subwords are many."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from probing.translation.parallel_corpus import prepare_corpus
from probing.translation.parallel_files import find_parallel_files
from probing.translation.segmentation import choose_dtype
from probing.translation.settings import SubwordConfig
from tests.translation.toy import write_toy_corpus


@pytest.mark.parametrize(("sizes", "dtype"), [([300, 1 << 16], np.uint16), ([300, (1 << 16) + 1], np.int32)])
def test_the_largest_vocabulary_decides(sizes, dtype):
    assert choose_dtype([SimpleNamespace(size=size) for size in sizes]) == dtype


def test_many_subwords_take_four_bytes(tmp_path: Path) -> None:
    folder = write_toy_corpus(tmp_path / "toy")
    letters = [
        chr(code)
        for start, end in ((0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0x20000, 0x2A6D0))
        for code in range(start, end)
    ]
    lines = ["".join(letters[start : start + 100]) for start in range(0, len(letters), 100)]
    for language, text in (("en", lines), ("xx", ["a"] * len(lines))):
        with (folder / f"train.{language}").open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in text)
    config = SubwordConfig(vocabulary_size=100_000, character_coverage=1.0)
    corpus = prepare_corpus(find_parallel_files(folder, "en-xx"), config)
    assert corpus.source_subwords.size > 1 << 16
    assert corpus.train.source_tokens.dtype == corpus.train.target_tokens.dtype == np.int32
    batch = corpus.train.batch(np.array([200, len(corpus.train) - 1]))
    assert batch.source.tokens.max() > 1 << 16
    sentences = np.split(batch.source.tokens, np.cumsum(batch.source.lengths)[:-1])
    texts = corpus.source_subwords.decode([sentence[:-1].tolist() for sentence in sentences])
    assert texts == [lines[0], lines[-1]]
