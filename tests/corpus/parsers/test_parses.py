"""Parses are kept, and made again when they are damaged or of another parser."""

from __future__ import annotations

from pathlib import Path

import pytest

from probing.corpus.parsers import parses
from probing.errors import ProbingError


class Counting:
    """A parser that counts its calls."""

    calls = 0

    def parse(self, paragraphs: tuple[str, ...]) -> str:
        self.calls += 1
        return "1\tGo\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"


@pytest.fixture
def parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Counting:
    parser = Counting()
    monkeypatch.setattr(parses, "cache_folder", lambda kind: tmp_path / kind)
    monkeypatch.setattr(parses, "load_parser", lambda specification: parser)
    return parser


def test_a_damaged_parse_is_made_again(tmp_path: Path, parser: Counting) -> None:
    piece = parses.TextPiece(Path("x"), ("Go",))
    assert parses.read_parse(piece, "x", "1") == parses.read_parse(piece, "x", "1")
    assert parser.calls == 1
    (kept,) = tmp_path.rglob("*.gz")
    kept.write_bytes(kept.read_bytes()[:-5])
    assert parses.read_parse(piece, "x", "1").startswith("1\tGo")
    assert parser.calls == 2
    parses.read_parse(piece, "x", "2")
    assert parser.calls == 3, "another version of the parser parses again"


def test_no_parse_is_written_behind_a_link(tmp_path: Path, parser: Counting) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "parses").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ProbingError, match="parses: a link or a file in place of a folder. Remove it, then try again"):
        parses.read_parse(parses.TextPiece(Path("x"), ("Go",)), "x", "1")
    assert list((tmp_path / "elsewhere").iterdir()) == []
