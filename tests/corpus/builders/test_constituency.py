"""Each annotation of a constituency tree, on trees small enough to check by eye."""

from __future__ import annotations

import pytest

from probing.corpus.builders.constituency import extract
from probing.corpus.readers import ParsedSentence
from probing.corpus.readers.brackets import parse_tree

NOT_FINITE = "the main verb is not finite by itself"
UNCERTAIN = "the subject is a coordination of no certain number"
AMOUNT = "a noun phrase of time, distance or amount"


@pytest.mark.parametrize(
    ("tree", "tense"),
    [
        ("(S (NP (PRP She)) (VP (VBD Smiled)))", ("PAST", "smiled")),
        ("(S (NP (PRP She)) (VP (VBZ smiles)))", ("PRES", "smiles")),
        ("(S (NP (PRP They)) (VP (VBP smile)))", ("PRES", "smile")),
        ("(S (NP (PRP She)) (VP (VBZ is) (ADJP (JJ happy))))", ("PRES", "is")),
        ("(S (NP (PRP She)) (VP (VBZ has) (VP (VBN gone))))", NOT_FINITE),
        ("(S (NP (PRP She)) (VP (VBZ has) (VP (VBD said) (NP (PRP it)))))", NOT_FINITE),  # a wrong tag
        ("(S (NP (PRP She)) (VP (MD will) (VP (VB go))))", NOT_FINITE),
        ("(S (NP (PRP She)) (VP (VBD didn) (RB 't) (VP (VB go))))", NOT_FINITE),
        ("(S (VP (VB Go) (ADVP (RB away))))", NOT_FINITE),
        # the main clause, not the subordinate one before it
        (
            "(S (SBAR (IN When) (S (NP (PRP he)) (VP (VBD left)))) (, ,) (NP (PRP she)) (VP (VBZ smiles)))",
            ("PRES", "smiles"),
        ),
        # the one who speaks, not what is said
        ("(S (S (NP (PRP I)) (VP (VBP know))) (, ,) (NP (PRP he)) (VP (VBD said)))", ("PAST", "said")),
        # the first of two coordinate clauses, and of two verb phrases
        ("(S (S (NP (PRP I)) (VP (VBP know))) (CC and) (S (NP (PRP he)) (VP (VBD left))))", ("PRES", "know")),
        ("(S (NP (PRP I)) (VP (VP (VBD sat)) (CC and) (VP (VBP wait))))", ("PAST", "sat")),
        # a verb that takes a verb phrase without being an auxiliary
        ("(S (NP (PRP She)) (VP (VBD went) (VP (VBG looking))))", ("PAST", "went")),
        ("(SBARQ (WHNP (WP Who)) (SQ (VP (VBD left))) (. ?))", ("PAST", "left")),
        ("(SINV (VP (VBD came)) (NP (NNP Bob)))", ("PAST", "came")),
        # with curly apostrophes
        ("(S (NP (PRP I)) (VP (VBP ’m) (VP (VBG kidding))))", NOT_FINITE),
        ("(S (NP (PRP It)) (VP (VBZ ’s) (NP (DT a) (NN choice))))", ("PRES", "'s")),
        ("(S (NP (PRP She)) (VP (VBD did) (RB n’t) (VP (VB go))))", NOT_FINITE),
        # a parser's mistakes
        ("(S (NP (PRP She)) (VP (VBZ mumbled)))", "the main verb's tag does not fit its form"),
        ("(S (NP (PRP She)) (VP (VBD stares)))", "the main verb's tag does not fit its form"),
        ("(S (NP (PRP She)) (VP (VBD ...)))", "the main verb's tag does not fit its form"),
        ("(S (NP (PRP She)) (VP (VBZ is) (RB n't) (ADJP (JJ wet))))", ("PRES", "isn")),
        ("(S (NP (PRP She)) (VP (VBD was) (ADJP (JJ wet))))", ("PAST", "was")),
        ("(FRAG (NP (DT A) (NN day)))", "no main verb"),
        ("(NP (DT A) (NN day))", "no main verb"),
        ("(S (NP (PRP It)) (VP (NP (NN x))))", "no main verb"),
    ],
)
def test_tense(tree: str, tense: object) -> None:
    assert extract(parse_tree(tree)).tense == tense


@pytest.mark.parametrize(
    ("tree", "subject"),
    [
        ("(S (NP (DT The) (NNS Dogs)) (VP (VBP bark)))", ("NNS", "dogs")),
        ("(S (NP (DT The) (NN dog) (NN house)) (VP (VBZ stands)))", ("NN", "house")),
        ("(S (NP (NP (DT A) (NN heap)) (PP (IN of) (NP (NNS books)))) (VP (VBD fell)))", ("NN", "heap")),
        ("(S (NP (NP (NNS Cats)) (CC and) (NP (DT a) (NN dog))) (VP (VBD fought)))", ("NNS", "cats")),
        ("(S (NP (NNS Sensations) (CC and) (NN information)) (VP (VBP are)))", ("NNS", "sensations")),
        ("(S (NP (NP (NNS Sensations)) (CC and) (NP (NN information))) (VP (VBP are)))", ("NNS", "sensations")),
        ("(S (NP (PRP$ My) (NN mate) (CC and) (NNS children)) (VP (VBP are)))", UNCERTAIN),
        ("(S (NP (NP (PRP$ My) (NN mate)) (CC and) (NP (PRP$ his) (NNS children))) (VP (VBP are)))", UNCERTAIN),
        ("(S (NP (NNS Cats) (CC or) (NNS dogs)) (VP (VBP bark)))", ("NNS", "cats")),
        ("(S (NP (NNS Cats) (CC or) (NN rain)) (VP (VBP fall)))", UNCERTAIN),
        ("(S (NP (NNS Cats) (, ,) (NN rain) (, ,) (CC and) (NNS dogs)) (VP (VBP fall)))", ("NNS", "cats")),
        ("(S (NP (DT The) (JJ black) (CC and) (JJ white) (NN cat)) (VP (VBD slept)))", ("NN", "cat")),
        ("(S (NP (PRP$ Her) (NX (NX (NN cat)) (CC and) (NX (NNS dogs)))) (VP (VBD slept)))", UNCERTAIN),
        ("(S (NP (NP (DT A) (NN cat)) (, ,) (NP (CD two) (NNS dogs)) (, ,)) (VP (VBD slept)))", ("NN", "cat")),
        ("(S (NP (NP (NNP Bob) (POS 's)) (NNS cats)) (VP (VBD slept)))", ("NNS", "cats")),
        ("(S (NP (EX There)) (VP (VBD was) (NP (DT a) (NN dock))))", ("NN", "dock")),
        ("(S (NP-SBJ (EX There)) (VP (VBD was) (NP-PRD (DT a) (NN dock))))", ("NN", "dock")),
        ("(S (NP (EX There)) (VP (MD must) (VP (VB be) (NP (NNS ways)))))", ("NNS", "ways")),
        ("(S (NP (DT This) (NN time)) (NP (DT the) (NNS cats)) (VP (VBD slept)))", ("NNS", "cats")),
        ("(S (NP (DT The) (NNS cats)) (NP (JJ last) (NN night)) (VP (VBD slept)))", ("NNS", "cats")),
        ("(S (NP-SBJ (DT The) (NNS cats)) (NP-TMP (JJ last) (NN spring)) (VP (VBD slept)))", ("NNS", "cats")),
        ("(S (NP-VOC (NNS Friends)) (NP-SBJ (-NONE- *)) (VP (VB sleep)))", "no subject"),
        ("(S (NP-SBJ-1 (NP-ADV (NNS cats)) (ADVP (RB here))) (VP (VBD slept)))", ("NNS", "cats")),
        ("(SQ (VBD Did) (NP (DT the) (NN dog)) (VP (VB bark)))", ("NN", "dog")),
        ("(SBARQ (WHADVP (WRB Why)) (SQ (VBZ is) (NP (DT the) (NN dog)) (ADJP (JJ wet))))", ("NN", "dog")),
        ("(S (NP (PRP She)) (VP (VBD slept)))", "the subject is no noun"),
        ("(S (NP (NNP Bob)) (VP (VBD slept)))", "the subject is a proper noun"),
        ("(S (VP (VB Go)))", "no subject"),
        ("(S (NP (EX There)) (VP (VBD was)))", "no subject"),
        ("(NP (NN Silence))", "no main verb"),
    ],
)
def test_subject(tree: str, subject: object) -> None:
    assert extract(parse_tree(tree)).subject == subject


@pytest.mark.parametrize(
    ("tree", "found"),
    [
        ("(S (NP (PRP I)) (VP (VBD saw) (NP (DT a) (NN Dog))))", ("NN", "dog")),
        ("(S (NP (PRP I)) (VP (VBD gave) (NP (PRP her)) (NP (NNS towels))))", ("NNS", "towels")),
        ("(S (NP (PRP I)) (VP (VBD saw) (NP (NNS dogs)) (NP (JJ last) (NN night))))", ("NNS", "dogs")),
        ("(S (NP (PRP I)) (VP (MD will) (VP (VB have) (VP (VBN seen) (NP (NNS dogs))))))", ("NNS", "dogs")),
        ("(S (NP (PRP I)) (VP (VP (VBD saw) (NP (NNS dogs))) (CC and) (VP (VBD ate) (NP (NN ham)))))", ("NNS", "dogs")),
        ("(S (NP (PRP I)) (VP (VBD picked) (PRT (RP up)) (NP (DT a) (NN dog))))", ("NN", "dog")),
        # by their functions, when and how much are no objects
        ("(S (NP-SBJ (NNS Sales)) (VP (VBD rose) (NP-EXT (CD 11) (NN %))))", "no object"),
        ("(S (NP-SBJ (PRP It)) (VP (VBD fell) (NP-TMP-2 (JJ last) (NN spring))))", "no object"),
        ("(S (NP-SBJ (PRP I)) (VP (VBD saw) (NP-TMP=1 (DT that) (NN spring)) (NP (NNS dogs))))", ("NNS", "dogs")),
        ("(S (NP-SBJ (PRP I)) (VP (VBD saw) (NP (NNS dogs)) (NP-LOC (NN home))))", ("NNS", "dogs")),
        ("(S (NP-SBJ (PRP He)) (VP (VBD proved) (NP-PRD (DT a) (NN liar))))", "no object"),
        # and without functions, by their nouns
        ("(S (NP (PRP We)) (VP (VBD tried) (NP (QP (CD two) (TO to) (CD three)) (NNS times))))", AMOUNT),
        ("(S (NP (PRP They)) (VP (VBD lost) (NP (CD three) (NNS goals)) (PP (TO to) (NP (CD two)))))", AMOUNT),
        ("(S (NP (NNS Sales)) (VP (VBD rose) (NP (CD 11) (NN %))))", "the object is no noun"),
        ("(S (NP (PRP We)) (VP (VBD went) (NP (NN home))))", AMOUNT),
        ("(S (NP (PRP I)) (VP (VBD made) (NP (PRP$ my) (NN debut)) (NP (DT this) (NN fall))))", ("NN", "debut")),
        ("(S (NP (PRP It)) (VP (VBZ ’s) (NP (DT a) (JJ big) (NN choice))))", "the main verb takes no object"),
        # a comma begins something else
        ("(S (NP (PRP I)) (VP (VBD saw) (NP (NNS dogs)) (, ,) (NP (PRP$ my) (NN mouth))))", ("NNS", "dogs")),
        ("(S (NP (PRP It)) (VP (VBZ is) (NP (DT a) (NN dog))))", "the main verb takes no object"),
        ("(S (NP (PRP It)) (VP (VBD became) (NP (DT a) (NN dog))))", "the main verb takes no object"),
        ("(S (NP (PRP I)) (VP (VBD saw) (NP (PRP him))))", "the object is no noun"),
        ("(S (NP (PRP I)) (VP (VBD saw) (NP (NNP Bob))))", "the object is a proper noun"),
        ("(S (NP (PRP I)) (VP (VBD slept) (PP (IN in) (NP (NN bed)))))", "no object"),
    ],
)
def test_object(tree: str, found: object) -> None:
    assert extract(parse_tree(tree)).object == found


@pytest.mark.parametrize(
    ("tree", "depth"),
    [
        ("(ROOT (S (NP (PRP I)) (VP (VBP go))))", 4),
        ("(S (NP (PRP I)) (VP (VBP go)))", 4),
        ("(ROOT (S (NP (NP (NN x)) (PP (IN of) (NP (DT the) (NN y)))) (VP (VBP go))))", 6),
        ("(NN x)", 2),
    ],
)
def test_depth_counts_from_root_to_tag(tree: str, depth: int) -> None:
    assert extract(parse_tree(tree)).depth == depth


def test_a_tree_without_root_is_as_deep_as_with_it() -> None:
    tree = ("S", (("NP", (("PRP", "I"),)), ("VP", (("VBP", "go"),))))
    assert extract(ParsedSentence(("I", "go"), ("PRP", "VBP"), tree)).depth == 4


@pytest.mark.parametrize(
    ("tree", "top"),
    [
        ("(ROOT (S (NP (PRP I)) (VP (VBP go)) (. .)))", "NP_VP_."),
        ("(ROOT (S (NP-TMP (NN today)) (NP-SBJ (PRP I)) (VP (VBP go)) (. .)))", "NP_NP_VP_."),
        ("(ROOT (S (CC But) (NP (PRP I)) (VP (VBP go)) (. !)))", "CC_NP_VP_."),
        ("(ROOT (SBARQ (WHNP (WP Who)) (SQ (VP (VBZ goes))) (. ?)))", "WHNP_SQ_."),
        ("(ROOT (SQ (VBD Did) (NP (PRP he)) (VP (VB go)) (. ?)))", "VBD_NP_VP_."),
        ("(ROOT (NP (NP (NN x)) (PP (IN of) (NP (NN y))) (. .)))", "NP_PP_."),
        ("(ROOT (S (PP (IN In) (NP (NN x))) (, ,) (NP (PRP I)) (VP (VBP go)) (. .)))", ""),
        ("(ROOT (S (`` ``) (NP (PRP I)) (VP (VBP go)) (. .)))", ""),
        ("(ROOT (S (NP (PRP I)) (VP (VBP go)) (. .) ('' '')))", ""),
        ("(ROOT (S (NP (PRP I)) (VP (VBP go))))", ""),
        ("(ROOT (S (NP (PRP I)) (VP (VBP go)) (. .)) (S (VP (VB Go)) (. .)))", ""),
        ("(ROOT (. .))", ""),
    ],
)
def test_top_constituents(tree: str, top: str) -> None:
    assert extract(parse_tree(tree)).top == top


CLAUSE = "(S (NP (PRP I)) (VP (VBP go)))"


@pytest.mark.parametrize(
    ("tree", "clauses"),
    [
        (f"(S {CLAUSE} (CC and) {CLAUSE} (. .))", (2, 3, 5)),
        (f"(S {CLAUSE} (, ,) (CC but) {CLAUSE} (. .))", (2, 4, 6)),
        (f"(S {CLAUSE} (: ;) (CC or) {CLAUSE} (. .))", (2, 4, 6)),
        (f"(S {CLAUSE} (, ,) {CLAUSE} (. .))", "not two coordinate clauses"),
        (f"(S {CLAUSE} (CC and) {CLAUSE})", "not two coordinate clauses"),
        (f"(S (`` ``) {CLAUSE} (CC and) {CLAUSE} (. .))", "not two coordinate clauses"),
        (
            f"(S (S (NP (NP (PRP I)) (CC or) (NP (PRP he))) (VP (VBP go))) (CC and) {CLAUSE} (. .))",
            "more than one conjunction",
        ),
    ],
)
def test_clauses(tree: str, clauses: object) -> None:
    assert extract(parse_tree(tree)).clauses == clauses


def test_nouns_and_verbs_have_a_class_and_other_words_none() -> None:
    annotations = extract(parse_tree("(S (NP (NNP Bob)) (ADVP (RB now)) (VP (VBD saw) (NP (JJ big) (NNS dogs))))"))
    assert annotations.kinds == "- - VBD - NNS"
    assert annotations.proper
