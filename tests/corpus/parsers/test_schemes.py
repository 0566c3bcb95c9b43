"""Trees of ClearNLP (spaCy's English models) and TIGER (its German ones) become Universal Dependencies."""

from __future__ import annotations

import pytest

from probing.corpus.parsers.schemes import ParsedWord, Scheme, find_scheme, to_universal


def convert(rows: str, scheme: Scheme) -> str:
    """Return `form head relation` of each word, for rows of `form tag head relation [features]`."""
    words = []
    for row in rows.split(", "):
        form, tag, head, relation, *features = row.split()
        words.append(ParsedWord(form, tag, int(head), relation, "|".join(features)))
    return ", ".join(f"{word.form} {word.head} {word.relation}" for word in to_universal(words, scheme))


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            "She PRON 2 nsubj, saw VERB 0 ROOT, dogs NOUN 2 dobj, in ADP 3 prep, the DET 6 det, park NOUN 4 pobj",
            "She 2 nsubj, saw 0 root, dogs 2 obj, in 6 case, the 6 det, park 3 nmod",
        ),
        (
            "It PRON 2 nsubj, is AUX 0 ROOT, a DET 4 det, dog NOUN 2 attr, . PUNCT 2 punct",
            "It 4 nsubj, is 4 cop, a 4 det, dog 0 root, . 4 punct",
        ),
        (
            "Dogs NOUN 2 nsubj, bark VERB 0 ROOT, and CCONJ 2 cc, cats NOUN 5 nsubj, sleep VERB 2 conj",
            "Dogs 2 nsubj, bark 0 root, and 5 cc, cats 5 nsubj, sleep 2 conj",
        ),
        (
            "Bones NOUN 3 nsubjpass, were AUX 3 auxpass, eaten VERB 0 ROOT, by ADP 3 agent, dogs NOUN 4 pobj",
            "Bones 3 nsubj:pass, were 3 aux:pass, eaten 0 root, by 5 case, dogs 3 obl",
        ),
    ],
)
def test_clear(rows: str, expected: str) -> None:
    assert convert(rows, "clear") == expected


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            "Sie PRON 2 sb, sah VERB 0 ROOT, den DET 4 nk, Hund NOUN 2 oa, im ADP 2 mo, Park NOUN 5 nk",
            "Sie 2 nsubj, sah 0 root, den 4 det, Hund 2 obj, im 6 case, Park 2 obl",
        ),
        (
            "Er PRON 2 sb, hat AUX 0 ROOT, ihn PRON 4 oa, gesehen VERB 2 oc VerbForm=Part, . PUNCT 2 punct",
            "Er 4 nsubj, hat 4 aux, ihn 4 obj, gesehen 0 root, . 4 punct",
        ),
        (
            "Er PRON 2 sb, wird AUX 0 ROOT, gesehen VERB 2 oc VerbForm=Part",
            "Er 3 nsubj, wird 3 aux:pass, gesehen 0 root",
        ),
        (
            "Er PRON 2 sb, ist AUX 0 ROOT, müde ADJ 2 pd",
            "Er 3 nsubj, ist 3 cop, müde 0 root",
        ),
        (
            "Er PRON 2 sb, lief VERB 0 ROOT, und CCONJ 2 cd, sie PRON 5 sb, kam VERB 3 cj",
            "Er 2 nsubj, lief 0 root, und 5 cc, sie 5 nsubj, kam 2 conj",
        ),
        (
            "Er PRON 2 sb, wird AUX 0 ROOT, es PRON 4 oa, gesehen VERB 5 oc VerbForm=Part, haben AUX 2 oc",
            "Er 4 nsubj, wird 4 aux, es 4 obj, gesehen 0 root, haben 4 aux",
        ),
    ],
)
def test_tiger(rows: str, expected: str) -> None:
    assert convert(rows, "tiger") == expected


def test_universal_relations_stay() -> None:
    assert convert("Dogs NOUN 2 nsubj, bark VERB 0 root", "universal") == "Dogs 2 nsubj, bark 0 root"


def test_the_scheme_is_found_by_the_labels() -> None:
    assert find_scheme(["nsubj", "dobj", "ROOT"]) == "clear"
    assert find_scheme(["sb", "oa", "ROOT"]) == "tiger"
    assert find_scheme(["nsubj", "obj", "root"]) == "universal"
