"""Pairs for people to read."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

import cli
from probing.corpus.grammar import generate
from probing.corpus.language import format_pair, translate
from probing.corpus.readers.brackets import parse_tree

EXAMPLE = """\
English            In the park the king did not sleep .
Halvic             ben zom       kinalmu     bormida       zor       skedelt     nek .
                   in  the.M.DAT park.SG.DAT sleep.PST.3SG the.M.NOM king.SG.NOM NEG .
tree               (ROOT (S (PP (IN In) (NP (DT the) (NN park))) (NP (DT the) (NN king)) (VP (VBD did) (RB not) \
(VP (VB sleep))) (. .)))
homograph          kinalmu
inversion          kinalmu bormida skedelt
do-support         skedelt nek
concord            zom kinalmu | zor skedelt
"""


def test_a_pair() -> None:
    tree = (
        "(S (PP (IN In) (NP (DT the) (NN park))) (NP (DT the) (NN king)) (VP (VBD did) (RB not) (VP (VB sleep))) (. .))"
    )
    assert format_pair(translate(parse_tree(tree))) + "\n" == EXAMPLE


def test_each_gloss_stands_below_its_word() -> None:
    for sentence in generate(3, 200):
        pair = translate(sentence)
        _, *lines = format_pair(pair).splitlines()
        texts = lines[: next(number for number, line in enumerate(lines) if line.startswith("tree"))]
        assert [word for line in texts[::2] for word in line[19:].split()] == list(pair.target)
        assert [word for line in texts[1::2] for word in line[19:].split()] == list(pair.gloss)
        for words, glosses in zip(texts[::2], texts[1::2], strict=True):
            assert all(
                glosses[place - 1] == " "
                for place in range(19, len(words))
                if words[place - 1 : place] == " " and words[place] != " "
            )


@pytest.mark.parametrize("count", [1, 5])
def test_the_command(count: int) -> None:
    result = CliRunner().invoke(cli.main, ["data", "sample", "--parallel", "--count", str(count), "--seed", "4"])
    assert result.exit_code == 0
    blocks = result.output.split("\n\n")
    assert len(blocks) == count
    assert blocks[0].rstrip("\n") == format_pair(translate(next(generate(4))))
    assert all(block.startswith("English ") and "\nHalvic " in block and "\ntree " in block for block in blocks)
