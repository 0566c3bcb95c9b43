"""Forms of the target tasks stay in one split; inverted clauses have corrected capitals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from probing.corpus.builders import build
from probing.corpus.builders.constituency import extract
from probing.corpus.builders.semantic import invert, longer_clause
from probing.corpus.builders.survey import Survey
from probing.corpus.readers import ParsedSentence
from probing.corpus.readers.brackets import parse_tree

Take = Callable[..., Survey]


def clause(subject: str, verb: str) -> str:
    return f"(S (NP {subject}) (VP {verb}))"


CASES = [
    (clause("(DT The) (NN dog)", "(VBD ran)"), clause("(PRP I)", "(VBD sat)"), "I sat , and the dog ran .", "first"),
    (clause("(PRP I)", "(VBD sat)"), clause("(DT the) (NN dog)", "(VBD ran)"), "The dog ran , and I sat .", "second"),
    (clause("(NNP Bob)", "(VBD sat)"), clause("(PRP she)", "(VBD ran)"), "She ran , and Bob sat .", "equal"),
    (clause("(PRP She)", "(VBD ran)"), clause("(NNP Bob)", "(VBD sat)"), "Bob sat , and she ran .", "equal"),
]
ELSEWHERE = "(S (NP (NNP Bob)) (VP (VBD met) (NP (PRP I))) (PP (IN near) (NP (DT the) (NN dog)) (PRP she)) (. .))"


@pytest.mark.parametrize(("first", "second", "inverted", "longer"), CASES)
def test_clauses_are_swapped_and_capitals_corrected(
    take: Take, first: str, second: str, inverted: str, longer: str
) -> None:
    sentence = parse_tree(f"(S {first} (, ,) (CC and) {second} (. .))")
    annotations = extract(sentence)
    assert " ".join(invert(annotations, take([parse_tree(ELSEWHERE)] * 3))) == inverted
    assert longer_clause(annotations) == longer


def test_a_word_that_is_always_capitalised_stays_so(take: Take) -> None:
    first = clause("(NN Hund)", "(VBD lief)")
    annotations = extract(parse_tree(f"(S {first} (CC und) {clause('(PRP er)', '(VBD kam)')} (. .))"))
    elsewhere = parse_tree("(S (NP (DT Der) (NN Hund)) (VP (VBD sah) (NP (DT den) (NN Hund))) (. .))")
    assert " ".join(invert(annotations, take([elsewhere]))) == "Er kam und Hund lief ."


def test_the_longer_clause_does_not_give_away_the_label(
    make_corpus: Callable[[int, int], list[ParsedSentence]], tmp_path: Path
) -> None:
    build(make_corpus(4, 3000), tmp_path, train=300, dev=60, test=60, tasks=["CoIn"])
    counts: Counter[tuple[str, str, int]] = Counter()
    for line in (tmp_path / "coordination_inversion.txt").read_text(encoding="utf-8").splitlines():
        split, label, text = line.split("\t")
        tokens = [token for token in text.split() if token not in (",", ".")]
        place = tokens.index("and")
        counts[split, label, (place > len(tokens) - place - 1) - (place < len(tokens) - place - 1)] += 1
    for split in ("tr", "va", "te"):
        assert [counts[split, "I", side] for side in (-1, 0, 1)] == [counts[split, "O", side] for side in (-1, 0, 1)]
        assert counts[split, "I", 1] == pytest.approx(counts[split, "I", -1], abs=1)


def test_a_corpus_without_coordination_is_the_reason(tmp_path: Path) -> None:
    corpus = [parse_tree(f"(S (NP (DT the) (NN n{i})) (VP (VBZ is) (RB there)) (. .))") for i in range(30)]
    sheets = {one.task: one for one in build(corpus, tmp_path, train=10, dev=2, test=2).tasks}
    assert sheets["CoIn"].reason == "no sentences with two coordinate clauses of either order of length"
    assert sheets["Tense"].reason == "no sentence with the label PAST"
    assert sheets["SubNm"].reason == "no sentence with the label NNS"


def test_bounds_of_frequency_are_kept_and_recorded(
    make_corpus: Callable[[int, int], list[ParsedSentence]], tmp_path: Path
) -> None:
    corpus = make_corpus(6, 3000)
    sheet = build(corpus, tmp_path, train=200, dev=20, test=20, tasks=["SubNm"], min_train=1, min_test=1).tasks[0]
    low, high = sheet.settings["form_frequency"]
    counts = Counter(token.lower() for sentence in corpus for token in sentence.tokens)
    assert all(low <= counts[form] <= high for forms in sheet.targets.values() for form in forms)
    assert sheet.settings["original_form_frequency"] == [100, 5000]
