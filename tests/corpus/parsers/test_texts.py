"""Raw text in the ways that people keep it: wrapped lines, a line a paragraph, books of Project Gutenberg."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import pytest

from probing.corpus.parsers import texts
from probing.corpus.parsers.texts import ends_like_a_sentence, read_pieces
from probing.errors import ProbingError

WRAPPED = "It was late. The\ndog slept\nin the hall.\n\nNobody\ncame.\n"


def read(path: Path, text: str | bytes) -> list[str]:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return [paragraph for piece in read_pieces(path) for paragraph in piece.paragraphs]


def test_a_blank_line_ends_a_paragraph(tmp_path: Path) -> None:
    assert read(tmp_path / "a.txt", WRAPPED) == ["It was late. The dog slept in the hall.", "Nobody came."]


def test_a_line_is_a_paragraph_where_lines_end_like_sentences(tmp_path: Path) -> None:
    lines = ["The dog slept.", "Nobody came!", "« Why ? »", "Who knows…"]
    assert read(tmp_path / "a.txt", "\n".join(lines)) == lines


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_files_read_like_plain_ones(tmp_path: Path, pack: object) -> None:
    assert callable(pack)
    assert read(tmp_path / "b.txt", pack(WRAPPED.encode())) == read(tmp_path / "a.txt", WRAPPED)


def test_header_and_licence_of_gutenberg_are_left_out(tmp_path: Path) -> None:
    start, end = "*** START OF THE PROJECT GUTENBERG EBOOK 1 ***", "*** END OF THE PROJECT GUTENBERG EBOOK 1 ***"
    text = f"The licence\nis long.\n\n{start}\n\n{WRAPPED}\n{end}\n\nMore of the licence.\n"
    assert read(tmp_path / "a.txt", text) == ["It was late. The dog slept in the hall.", "Nobody came."]
    assert read(tmp_path / "b.txt", "A short\ntext.\n") == ["A short text."]
    late = "word\n" * (texts.SAMPLE + 5)
    assert " ".join(read(tmp_path / "c.txt", late)).split() == ["word"] * (texts.SAMPLE + 5)


def test_marks_of_italics_are_removed_and_names_kept(tmp_path: Path) -> None:
    assert read(tmp_path / "a.txt", "_She_ said _not at all_ to a_b and ____ .\n") == [
        "She said not at all to a_b and ____ ."
    ]


def test_pieces_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(
        ("A dog barks at the moon.\n\n" * 5000) + "word " * 20_000 + "\n" + "long\n" * 20_000, encoding="utf-8"
    )
    sizes = [sum(map(len, piece.paragraphs)) for piece in read_pieces(path)]
    assert len(sizes) > 5
    assert max(sizes) < 8 * texts.PIECE


@pytest.mark.parametrize(
    ("tokens", "ends"),
    [
        ("He slept .", True),
        ('" He slept ! "', True),
        ("( He slept . )", True),
        ("« Il dort … »", True),
        ("他睡了 。", True),
        ("CHAPTER XII", False),
        ("He said :", False),
    ],
)
def test_headings_do_not_end_like_sentences(tokens: str, ends: bool) -> None:
    assert ends_like_a_sentence(tokens.split()) == ends


def test_text_that_is_not_unicode_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ProbingError, match=r"a\.txt:2: not UTF-8 \(byte 0xe4 at column 2\). Save the file as UTF-8"):
        read(tmp_path / "a.txt", b"fine\nB\xe4r\n")
