"""Files of trees are read, gzipped or not, and an error names file and line."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest

from probing.corpus.readers import (
    BadTreeError,
    Format,
    ParsedSentence,
    divide,
    parse_lines,
    parsed_text,
    read_lines,
    read_sentences,
)
from probing.corpus.readers.parsed_text import tokenise
from probing.errors import ProbingError

TREE = "(S (NP (DT The) (NN dog)) (VP (VBD barked)) (. .))"
BLOCK = "1\tDogs\tdog\tNOUN\tNNS\tNumber=Plur\t2\tnsubj\t_\t_\n2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_\n"


def read(
    path: Path, text: str | bytes, format: Format = "penn", skipped: Counter[str] | None = None
) -> list[ParsedSentence]:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return list(read_sentences(path, format, skipped=skipped))


def test_a_gzipped_file_reads_like_the_plain_one(tmp_path: Path) -> None:
    plain = read(tmp_path / "a.mrg", f"{TREE}\n{TREE}\n")
    packed = read(tmp_path / "b.mrg", gzip.compress(f"{TREE}\n{TREE}\n".encode()))
    assert plain == packed
    assert [sentence.tokens for sentence in plain] == [("The", "dog", "barked", ".")] * 2


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(tmp_path: Path) -> None:
    expected = read(tmp_path / "a.conllu", f"# text = x\n{BLOCK}\n{BLOCK}", "conllu")
    text = f"\ufeff# text = x\n{BLOCK}\n{BLOCK}".replace("\n", "\r\n")
    assert read(tmp_path / "b.conllu", text, "conllu") == expected
    assert len(expected) == 2


def test_progress_is_reported_in_bytes_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.mrg"
    path.write_text(f"{TREE}\n" * 2500, encoding="utf-8")
    told: list[int] = []
    assert sum(1 for _ in read_lines(path, told.append)) == 2500
    assert told == sorted(told)
    assert len(told) == 3
    assert told[-1] == path.stat().st_size


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (f"{TREE}\n\n(S (NP (DT The))", 3, "brackets are not balanced: one is never closed"),
        (f"{TREE}\n{TREE})\n", 2, "brackets are not balanced: one is closed that was never opened"),
        (f"{TREE}\nhello\n", 2, "text outside of a tree"),
        (f"{TREE}\n(S (NP the (NN dog)))\n", 2, "a word has no tag of its own"),
        (f"{TREE}\n(the dog)\n(NP the dog)", 3, "a word has no tag of its own"),
        ("(S (NP))", 1, "an empty bracket"),
        ("(S (-NONE- *))", 1, "a tree without words"),
        ("(S " * 300 + "(NN x)" + ")" * 300, 1, "brackets are nested deeper than 250"),
    ],
)
def test_a_bad_tree_is_an_error_with_file_and_line(tmp_path: Path, text: str, line: int, reason: str) -> None:
    path = tmp_path / "a.mrg"
    with pytest.raises(ProbingError) as caught:
        read(path, text)
    assert str(caught.value) == f"{path}:{line}: {reason}. Correct the tree, or leave bad trees out with --skip-bad"


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        ("1 Dogs\n", "not CoNLL-U ("),
        (BLOCK.replace("\t2\tnsubj", "\t7\tnsubj"), "a head (7) outside of the sentence"),
        (BLOCK.replace("\t2\tnsubj", "\t1\tnsubj"), "word 1 hangs on itself"),
        (BLOCK.replace("\t0\troot", "\t1\troot"), "word 1 hangs on itself"),
        (BLOCK.replace("\t0\troot", "\t_\troot"), "word 2 has no head or no relation"),
        (BLOCK.replace("\t0\troot", "\t0\t_"), "word 2 has no head or no relation"),
        (BLOCK.replace("2\tbark", "3\tbark"), "the words are not numbered 1, 2, 3, …"),
        ("# only = this\n", "a block without words"),
        (f"1-9\tx\t_\t_\t_\t_\t_\t_\t_\t_\n{BLOCK}", "a multiword token 1-9 outside of the sentence"),
    ],
)
def test_a_bad_block_is_an_error_with_file_and_line(tmp_path: Path, block: str, reason: str) -> None:
    path = tmp_path / "a.conllu"
    with pytest.raises(ProbingError) as caught:
        read(path, f"{BLOCK}\n\n{block}", "conllu")
    assert str(caught.value).startswith(f"{path}:5: {reason}")
    assert str(caught.value).endswith(". Correct the tree, or leave bad trees out with --skip-bad")


def test_bad_trees_are_counted_by_reason_and_skipped(tmp_path: Path) -> None:
    skipped: Counter[str] = Counter()
    found = read(tmp_path / "a.mrg", f"{TREE}\n(S (NP))\nhello\n{TREE} x {TREE}\n(X (Y))\n", skipped=skipped)
    assert len(found) == 3
    assert skipped == {"an empty bracket": 2, "text outside of a tree": 2}


def test_a_hundred_thousand_brackets_are_refused_and_nothing_breaks(tmp_path: Path) -> None:
    skipped: Counter[str] = Counter()
    deep = "(S " * 100_000 + "(NN x)" + ")" * 100_000
    found = read(tmp_path / "a.mrg", f"{TREE}\n{deep}\n{'(S' * 100_000}\n{TREE}\n", skipped=skipped)
    assert [sentence.tokens[1] for sentence in found] == ["dog", "dog"]
    assert sum(skipped.values()) == 2


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProbingError, match=r"nowhere\.mrg: cannot be read \(No such file or directory\)"):
        list(read_sentences(tmp_path / "nowhere.mrg", "penn"))


def test_a_damaged_gzip_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProbingError, match=r"a\.gz: the gzip file is damaged .* Get or make it again"):
        read(tmp_path / "a.gz", gzip.compress(TREE.encode() * 1000)[:-20])


def test_text_that_is_not_utf8_is_an_error_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(ProbingError, match=r"a\.mrg:2: not UTF-8 \(byte 0xe9 at column 8\)\. Save the file as UTF-8"):
        read(tmp_path / "a.mrg", f"{TREE}\n".encode() + b"(NN caf\xe9)\n")


@pytest.mark.parametrize(
    ("words", "tokens"),
    [
        ("I did n't go", "I didn 't go"),
        ("You ca n't wo N'T", "You can 't woN 'T"),
        ("he 'd say Bob 's", "he 'd say Bob 's"),
        ("n't", "n't"),
        # apostrophes of any form
        ("I did n’t go , it ’s Bob ’s", "I didn 't go , it 's Bob 's"),
        ("l’ homme ʼem rock‘n’roll ’ “ a ’", "l' homme 'em rock'n'roll ’ “ a ’"),
    ],
)
def test_tokens_are_those_of_sentevals_files(words: str, tokens: str) -> None:
    assert tokenise(words.split()) == tuple(tokens.split())


def test_a_token_never_holds_a_space() -> None:
    assert tokenise(["10 000", "Việt\u00a0Nam"]) == ("10_000", "Việt_Nam")
    assert tokenise(["a\u3000b", "c\u2028"]) == ("a_b", "c")


@pytest.mark.parametrize("word", ["", " ", "\u00a0", "\x1f"])
def test_a_word_is_never_empty(word: str) -> None:
    with pytest.raises(BadTreeError, match="a word is empty"):
        tokenise(["a", word])


@pytest.mark.parametrize("format", ["penn", "conllu"])
def test_stretches_end_between_trees(monkeypatch: pytest.MonkeyPatch, format: Format) -> None:
    monkeypatch.setattr(parsed_text, "STRETCH", 100)
    tree = TREE.replace(" (", "\n  (") + "\n" if format == "penn" else f"{BLOCK}\n"
    lines = list(enumerate((tree * 20).splitlines(keepends=True), 1))
    stretches = list(divide(lines, format))
    assert len(stretches) > 5
    assert [line for stretch in stretches for line in stretch] == lines
    whole = list(parse_lines(Path("x"), lines, format))
    assert len(whole) == 20
    assert [s for stretch in stretches for s in parse_lines(Path("x"), stretch, format)] == whole


def test_a_lost_bracket_does_not_make_a_stretch_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsed_text, "STRETCH", 100)
    monkeypatch.setattr(parsed_text, "MAX_STRETCH", 1000)
    lines = enumerate([TREE[:-1] + "\n", *[TREE + "\n"] * 200], 1)
    assert max(map(len, divide(lines, "penn"))) < 40
