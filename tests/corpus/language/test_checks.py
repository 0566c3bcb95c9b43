"""Checks: each sees its own phenomenon, and nothing else."""

from __future__ import annotations

import json

import pytest

from probing.corpus.grammar import generate
from probing.corpus.language import PHENOMENA, Check, Pair, judge, translate
from probing.corpus.language.checks import list_carriers, parse_check
from probing.corpus.readers import ParsedSentence
from probing.corpus.readers.brackets import parse_tree
from tests.corpus.language.test_stems import list_all_forms

TEXTS = {form.gloss: form.text for form in list_all_forms()}
"""Gloss -> the word that it explains."""


@pytest.fixture(scope="module")
def sentences() -> list[ParsedSentence]:
    return list(generate(17, 2500))


@pytest.fixture(scope="module")
def pairs(sentences: list[ParsedSentence]) -> list[Pair]:
    return [translate(sentence) for sentence in sentences]


def count_wrong(checks: tuple[Check, ...], output: tuple[str, ...]) -> set[str]:
    """Return the phenomena in which an output is wrong."""
    verdicts = judge(checks, output)
    return {check.phenomenon for check, right in zip(checks, verdicts, strict=True) if not right}


@pytest.mark.parametrize("name", PHENOMENA)
def test_without_its_rule_a_phenomenon_is_wrong_and_no_other(
    name: str, sentences: list[ParsedSentence], pairs: list[Pair]
) -> None:
    seen = missed = 0
    for sentence, pair in zip(sentences, pairs, strict=True):
        target = translate(sentence, without=name).target
        wrong = count_wrong(pair.checks, target)
        assert wrong <= {name}
        assert target != pair.target or not wrong
        seen += bool(wrong)
        missed += target != pair.target and not wrong
    assert seen > 5
    assert missed <= seen / 50, "only what concerns a repeated word is not checked"


# phenomenon, tree, glosses of a translation with one thing wrong
WRONG = [
    (
        "verb-sense",
        "(S (NP (NNP Anna)) (VP (VBZ paints) (NP (DT a) (NN mural))) (. .))",
        "Anna.SG.NOM paint.PRS.3SG a.F.DAT mural.SG.DAT .",
    ),
    (
        "homograph",
        "(S (NP (NNP Anna)) (VP (MD will) (VP (VB park) (NP (DT a) (NN car)))) (. .))",
        "Anna.SG.NOM will.PRS.3SG a.F.ACC car.SG.ACC park₂.INF .",
    ),
    (
        "attachment",
        "(S (NP (PRP She)) (VP (VBZ sees) (NP (NP (DT a) (NN girl)) (PP (IN in) (NP (DT a) (NN coat))))) (. .))",
        "she.F.NOM see.PRS.3SG a.F.ACC girl.SG.ACC in a.N.DAT coat.SG.DAT .",
    ),
    (
        "agreement",
        "(S (NP (NP (DT The) (NNS kings)) (SBAR (WHNP (WP who)) (S (VP (VBD saw) (NP (DT the) (NN girl)))))) (VP (VBD "
        "smiled)) (. .))",
        "the.PL.NOM king.PL.NOM REL.PL.NOM the.F.ACC girl.SG.ACC see.PST.3PL smile.PST.3SG .",
    ),
    (
        "inversion",
        "(S (NP (JJ Last) (NN night)) (NP (DT the) (NN king)) (VP (VBD slept)) (. .))",
        "last.F.ACC night.SG.ACC the.M.NOM king.SG.NOM sleep.PST.3SG .",
    ),
    (
        "verb-final",
        "(S (NP (PRP She)) (VP (VBZ says) (SBAR (IN that) (S (NP (PRP he)) (VP (VBD saw) (NP (DT the) (NN "
        "girl)))))) (. .))",
        "she.F.NOM say.PRS.3SG that.CONJ he.M.NOM see.PST.3SG the.F.ACC girl.SG.ACC .",
    ),
    (
        "last-verb",
        "(S (NP (PRP She)) (VP (MD will) (VP (VB see) (NP (DT the) (NN girl)))) (. .))",
        "she.F.NOM will.PRS.3SG see.INF the.F.ACC girl.SG.ACC .",
    ),
    (
        "separable",
        "(S (NP (PRP She)) (VP (VBZ picks) (PRT (RP up)) (NP (DT the) (NN axe))) (. .))",
        "she.F.NOM UP+pick.PRS.3SG the.M.ACC axe.SG.ACC .",
    ),
    (
        "separable",
        "(S (NP (PRP She)) (VP (MD will) (VP (VB pick) (PRT (RP up)) (NP (DT the) (NN axe)))) (. .))",
        "she.F.NOM will.PRS.3SG the.M.ACC axe.SG.ACC pick.INF UP .",
    ),
    (
        "do-support",
        "(S (NP (NNP Tom)) (VP (VBD did) (RB not) (VP (VB sing) (NP (DT a) (NN song)))) (. .))",
        "Tom.SG.NOM sing.PST.3SG NEG a.F.ACC song.SG.ACC .",
    ),
    (
        "do-support",
        "(SQ (VBD Did) (NP (NNP Tom)) (VP (VB sing) (NP (DT a) (NN song))) (. ?))",
        "do.PST.3SG sing.PST.3SG Tom.SG.NOM a.F.ACC song.SG.ACC ?",
    ),
    (
        "genitive",
        "(S (NP (NP (NNP Anna) (POS 's)) (NN dog)) (VP (VBZ sleeps)) (. .))",
        "Anna.SG.GEN the.N.NOM dog.SG.NOM sleep.PRS.3SG .",
    ),
    (
        "dative-order",
        "(S (NP (PRP She)) (VP (VBD gave) (NP (DT a) (NN book)) (PP (TO to) (NP (NNP Mary)))) (. .))",
        "she.F.NOM give.PST.3SG a.M.ACC book.SG.ACC Mary.SG.DAT .",
    ),
    (
        "concord",
        "(S (NP (DT The) (JJ old) (NN dog)) (VP (VBZ sleeps)) (. .))",
        "the.M.NOM old.N.NOM dog.SG.NOM sleep.PRS.3SG .",
    ),
    (
        "concord",
        "(S (NP (DT The) (JJ old) (NN dog)) (VP (VBZ sleeps)) (. .))",
        "the.N.NOM old.N.NOM dog.SG.DAT sleep.PRS.3SG .",
    ),
    (
        "relative-pronoun",
        "(S (NP (PRP She)) (VP (VBZ sees) (NP (NP (DT a) (NN girl)) (SBAR (WHNP (WP who)) (S (VP (VBZ "
        "smiles)))))) (. .))",
        "she.F.NOM see.PRS.3SG a.F.ACC girl.SG.ACC REL.F.ACC smile.PRS.3SG .",
    ),
    (
        "perfect-auxiliary",
        "(S (NP (PRP We)) (VP (VBD had) (VP (VBN been) (VP (VBN seen)))) (. .))",
        "we.NOM perfect.PST.1PL see.PTCP passive.PTCP .",
    ),
    (
        "final-agreement",
        "(S (NP (PRP She)) (VP (VBZ says) (SBAR (IN that) (S (NP (PRP they)) (VP (VBD saw) (NP (DT the) (NN "
        "girl)))))) (. .))",
        "she.F.NOM say.PRS.3SG that.CONJ they.PL.NOM the.F.ACC girl.SG.ACC see.PST.3SG .",
    ),
]


@pytest.mark.parametrize(("name", "tree", "glosses"), WRONG, ids=[f"{name}{n}" for n, (name, *_) in enumerate(WRONG)])
def test_one_thing_wrong_loses_one_phenomenon(name: str, tree: str, glosses: str) -> None:
    pair = translate(parse_tree(tree))
    output = tuple(TEXTS.get(gloss, gloss) for gloss in glosses.split())
    assert count_wrong(pair.checks, pair.target) == set()
    assert count_wrong(pair.checks, output) == {name}


def test_an_output_may_be_anything() -> None:
    for sentence in generate(3, 200):
        pair = translate(sentence)
        for output in ((), ("?",), pair.source, pair.target[::-1], pair.target * 2, ("the",) * 50):
            assert len(judge(pair.checks, output)) == len(pair.checks)
        assert not any(judge(pair.checks, ()))


def test_a_check_is_json_and_back(pairs: list[Pair]) -> None:
    for pair in pairs[:300]:
        for check in pair.checks:
            assert parse_check(json.loads(json.dumps([check.phenomenon, *check.words]))) == check


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "a check must be a list of strings"),
        ([], "a check must be a list of strings"),
        (["concord", 1], "a check must be a list of strings"),
        (["nope", "a"], "unknown phenomenon 'nope'"),
        (["inversion", "a"], "a check of inversion cannot have 1 words"),
        (["concord", "a"], "a check of concord cannot have 1 words"),
    ],
)
def test_what_is_no_check(value: object, message: str) -> None:
    with pytest.raises(ValueError) as error:
        parse_check(value)
    assert str(error.value) == message


def test_the_tokens_that_carry_a_phenomenon() -> None:
    pair = translate(parse_tree(WRONG[13][1]))
    carriers = {check.phenomenon: list_carriers(check, pair.target) for check in pair.checks}
    assert carriers == {"concord": list(pair.target[:3])}


def test_every_check_has_its_carriers(pairs: list[Pair]) -> None:
    for pair in pairs:
        for check in pair.checks:
            assert list_carriers(check, pair.target)
