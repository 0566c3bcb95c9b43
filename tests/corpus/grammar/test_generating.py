"""The embedded grammar: its sentences are English, and its trees are those that the builders need."""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import cli
from probing.corpus.grammar import GRAMMAR_VERSION, format_tree, generate
from probing.corpus.lengths import LENGTH_BINS
from probing.corpus.readers import ParsedSentence, Tree, read_sentences

COUNT = 12_000
CHECKSUM = "030b68627d958cfea0d97fd049c878a5a5144e24bc088c482e45bba87a0cad34"
"""SHA-256 of the first thousand trees of seed 0."""
CLASSES = """
ADVP_NP_VP_. CC_ADVP_NP_VP_. CC_NP_VP_. IN_NP_VP_. NP_ADVP_VP_. NP_NP_VP_. NP_PP_. NP_VP_. PP_NP_VP_. RB_NP_VP_.
SBAR_NP_VP_. SBAR_VP_. S_CC_S_. S_NP_VP_. S_VP_. VBD_NP_VP_. VP_. WHADVP_SQ_. WHNP_SQ_.
"""
TAGS = ". , CC CD DT EX IN JJ JJR MD NN NNP NNS POS PRP PRP$ RB RP TO UH VB VBD VBG VBN VBP VBZ WDT WP WRB"
LABELS = "ROOT S SQ SBARQ SINV SBAR NP VP PP ADVP ADJP PRT INTJ WHNP WHADVP"
SUBJECT_FORMS = ("he", "she", "it", "they", "i", "we", "you")
OBJECT_FORMS = ("him", "her", "it", "them", "me", "us", "you")
COORDINATE = (["S", "CC", "S", "."], ["S", ",", "CC", "S", "."])


@pytest.fixture(scope="module")
def sentences() -> list[ParsedSentence]:
    return list(generate(3, COUNT))


def children(tree: Tree) -> tuple[Tree, ...]:
    return () if isinstance(tree[1], str) else tree[1]


def leaves(tree: Tree) -> list[tuple[str, str]]:
    if isinstance(tree[1], str):
        return [(tree[0], tree[1])]
    return [leaf for child in tree[1] for leaf in leaves(child)]


def depth(tree: Tree) -> int:
    return 1 + max(map(depth, children(tree)), default=0)


def nodes(tree: Tree) -> Iterator[Tree]:
    yield tree
    for child in children(tree):
        yield from nodes(child)


def top(sentence: ParsedSentence) -> list[str]:
    assert sentence.tree is not None
    return [label for label, _ in children(children(sentence.tree)[0])]


def trees(sentences: list[ParsedSentence]) -> Iterator[Tree]:
    for sentence in sentences:
        assert sentence.tree is not None
        yield sentence.tree


def test_tokens_and_tags_are_the_leaves_of_the_tree(sentences: list[ParsedSentence]) -> None:
    for sentence in sentences:
        assert sentence.tree is not None
        assert list(zip(sentence.tags, sentence.tokens, strict=True)) == leaves(sentence.tree)
        assert sentence.heads is None


def test_trees_are_well_formed(sentences: list[ParsedSentence]) -> None:
    for tree in trees(sentences):
        assert tree[0] == "ROOT"
        assert len(children(tree)) == 1
        assert children(children(tree)[0])[-1][0] == "."
        for node in nodes(tree):
            if isinstance(node[1], str):
                assert node[0] in TAGS.split(), node
                assert node[1].strip() == node[1] != ""
                assert " " not in node[1]
            else:
                assert node[0] in LABELS.split(), node[0]
                assert node[1], "no phrase is empty"


def test_sentences_start_with_a_capital_and_end_once(sentences: list[ParsedSentence]) -> None:
    for sentence in sentences:
        assert sentence.tokens[0][0].isupper()
        assert sentence.tags.count(".") == 1
        question = sentence.tree is not None and children(sentence.tree)[0][0] in ("SQ", "SBARQ")
        assert (sentence.tokens[-1] == "?") == question


def test_all_lengths_and_depths_occur(sentences: list[ParsedSentence]) -> None:
    lengths = Counter(len(sentence.tokens) for sentence in sentences)
    assert set(lengths) == set(range(5, 29))
    for low, high in LENGTH_BINS.values():
        assert sum(lengths[length] for length in range(low, high + 1)) > 0.03 * COUNT
    depths = Counter(map(depth, trees(sentences)))
    for value in range(5, 13):
        assert depths[value] > 0.02 * COUNT, value


def test_long_sentences_may_be_flat_and_short_ones_deep(sentences: list[ParsedSentence]) -> None:
    shapes = Counter((depth(tree), len(leaves(tree))) for tree in trees(sentences))
    assert sum(n for (deep, length), n in shapes.items() if deep <= 6 and length >= 18) > 0.02 * COUNT
    assert sum(n for (deep, length), n in shapes.items() if deep >= 9 and length <= 10) > 0.01 * COUNT


def test_the_nineteen_classes_are_the_most_frequent(sentences: list[ParsedSentence]) -> None:
    sequences = Counter(
        "_".join(labels) for labels in map(top, sentences) if "," not in labels and labels.count(".") == 1
    )
    frequent = [sequence for sequence, _ in sequences.most_common(19)]
    assert sorted(frequent) == sorted(CLASSES.split())
    others = sum(sequences.values()) - sum(sequences[name] for name in CLASSES.split())
    assert others > sequences[frequent[-1]], "OTHER can be as large as any class"
    assert sequences.most_common(20)[-1][1] < 0.6 * sequences[frequent[-1]], "the nineteenth place is not in doubt"


def test_sentences_hardly_repeat(sentences: list[ParsedSentence]) -> None:
    assert len({sentence.tokens for sentence in sentences}) > 0.99 * COUNT
    assert len({token.lower() for sentence in sentences for token in sentence.tokens}) > 2000


# What a noun phrase is, found without the grammar's own features.


def number(phrase: Tree) -> str:
    """Return `singular`, `plural`, `I` or `there` for a noun phrase."""
    parts = children(phrase)
    if any(part[0] == "CC" for part in parts):
        return "plural"
    if parts[0][0] == "NP" and children(parts[0])[-1][0] != "POS":
        return number(parts[0])
    tag, word = leaves(parts[-1])[-1]
    if tag == "EX":
        return "there"
    if tag == "PRP":
        return "I" if word == "I" else "singular" if word.lower() in ("he", "she", "it") else "plural"
    assert tag in ("NN", "NNS", "NNP"), phrase
    return "plural" if tag == "NNS" else "singular"


def check_agreement(subject: str, verb: tuple[str, str]) -> None:
    tag, word = verb
    if tag == "VBZ":
        assert subject == "singular"
    elif tag == "VBP":
        assert subject != "singular"
        if word in ("am", "'m", "are", "'re"):
            assert (subject == "I") == (word in ("am", "'m"))
    elif word in ("was", "wasn"):
        assert subject in ("singular", "I")
    elif word in ("were", "weren"):
        assert subject == "plural"


def finite(phrase: Tree) -> tuple[str, str]:
    return leaves(phrase)[0]


def test_verbs_agree_with_their_subjects(sentences: list[ParsedSentence]) -> None:
    checked = Counter[str]()
    for tree in trees(sentences):
        for node in nodes(tree):
            parts = children(node)
            labels = [part[0] for part in parts]
            if node[0] == "S" and "NP" in labels and "VP" in labels:
                subject = number(parts[len(labels) - 1 - labels[::-1].index("NP")])
                predicate = parts[labels.index("VP")]
                if subject == "there":
                    subject = number(next(part for part in children(predicate) if part[0] == "NP"))
                check_agreement(subject, finite(predicate))
                checked["clause"] += 1
            elif node[0] == "SQ" and isinstance(parts[0][1], str):
                check_agreement(number(parts[1]), (parts[0][0], parts[0][1].lower()))
                checked["question"] += 1
            elif node[0] == "NP" and labels == ["NP", "SBAR"]:
                clause = children(parts[1])[-1]
                if [part[0] for part in children(clause)] == ["VP"]:
                    check_agreement(number(parts[0]), finite(clause))
                    checked["relative"] += 1
    assert min(checked[kind] for kind in ("clause", "question", "relative")) > 300


def test_pronouns_have_their_case(sentences: list[ParsedSentence]) -> None:
    for tree in trees(sentences):
        for node in nodes(tree):
            for place, part in enumerate(children(node)):
                words = leaves(part)
                if part[0] != "NP" or len(words) != 1 or words[0][0] != "PRP":
                    continue
                verb = next((finite(after) for after in children(node)[place + 1 :] if after[0] == "VP"), ("", ""))
                nonfinite = verb[0] in ("VBG", "TO") and node[0] == "S"
                form = words[0][1].lower()
                subject = node[0] in ("S", "SQ", "SINV") and not nonfinite
                assert form in (SUBJECT_FORMS if subject else OBJECT_FORMS), format_tree(node)


def test_articles_and_determiners_fit(sentences: list[ParsedSentence]) -> None:
    for sentence in sentences:
        for (tag, word), (next_tag, next_word) in itertools.pairwise(zip(sentence.tags, sentence.tokens, strict=True)):
            if word.lower() in ("a", "an"):
                vowel = next_word[0] in "aeiou" and not next_word.startswith(("uni", "use"))
                assert (word.lower() == "an") == (vowel or next_word.startswith("honest")), f"{word} {next_word}"
                assert next_tag in ("NN", "JJ", "RB")
            if tag in ("DT", "PRP$") and word.lower() != "that":
                assert next_tag in ("NN", "NNS", "JJ", "CD", "RB"), f"{word} {next_word}"
            if word.lower() in ("this", "every", "each", "another", "a", "an") and next_tag in ("NN", "NNS"):
                assert next_tag == "NN", f"{word} {next_word}"
            if (word.lower() in ("these", "those", "many", "several", "both") or tag == "CD") and next_tag in (
                "NN",
                "NNS",
            ):
                assert next_tag == "NNS", f"{word} {next_word}"


def test_coordinate_clauses_have_one_conjunction_and_all_proportions(sentences: list[ParsedSentence]) -> None:
    proportions = Counter[str]()
    for sentence in sentences:
        if top(sentence) not in COORDINATE:
            continue
        assert sentence.tree is not None
        assert sentence.tags.count("CC") == 1
        first, second = (len(leaves(part)) for part in children(children(sentence.tree)[0]) if part[0] == "S")
        proportions["first" if first > second else "second" if second > first else "equal"] += 1
    assert min(proportions.values()) > 0.1 * sum(proportions.values())


def test_both_clauses_begin_alike(sentences: list[ParsedSentence]) -> None:
    starts: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for sentence in sentences:
        if top(sentence) in COORDINATE:
            assert sentence.tree is not None
            clauses = [part for part in children(children(sentence.tree)[0]) if part[0] == "S"]
            for counts, clause in zip(starts, clauses, strict=True):
                tag, word = leaves(clause)[0]
                counts[tag if tag == "NNP" else word.lower()] += 1
    total = sum(starts[0].values())
    for word in set(starts[0]) | set(starts[1]):
        assert abs(starts[0][word] - starts[1][word]) < 0.03 * total, word


def test_main_clauses_of_coordination_share_the_number_of_common_subjects(sentences: list[ParsedSentence]) -> None:
    seen = 0
    for sentence in sentences:
        if top(sentence) not in COORDINATE:
            continue
        assert sentence.tree is not None
        clauses = [part for part in children(children(sentence.tree)[0]) if part[0] == "S"]
        subjects = [next(part for part in children(clause) if part[0] == "NP") for clause in clauses]
        if all(leaves(subject)[-1][0] in ("NN", "NNS") for subject in subjects):
            assert number(subjects[0]) == number(subjects[1])
            seen += 1
    assert seen > 50


def test_coordinated_subjects_and_objects_have_only_plural_common_nouns(sentences: list[ParsedSentence]) -> None:
    for tree in trees(sentences):
        for node in nodes(tree):
            parts = children(node)
            if node[0] == "NP" and any(part[0] == "CC" for part in parts) and parts[-1][0] != ".":
                assert "NN" not in [part[0] for part in parts]
                for part in parts:
                    if part[0] == "NP" and leaves(part)[-1][0] != "NNP":
                        assert number(part) == "plural"


def test_the_same_seed_gives_the_same_sentences() -> None:
    first, again, other = (list(generate(seed, 50)) for seed in (5, 5, 6))
    assert first == again
    assert first != other
    assert list(itertools.islice(generate(5), 50)) == first, "without a count there is no end"


def test_sentences_are_the_same_everywhere() -> None:
    text = "\n".join(map(format_tree, trees(list(generate(0, 1000)))))
    checksum = hashlib.sha256(text.encode()).hexdigest()
    assert (GRAMMAR_VERSION, checksum) == (3, CHECKSUM), "other sentences need another GRAMMAR_VERSION"


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(min_value=0, max_value=2**64))
def test_any_seed_gives_sentences(seed: int) -> None:
    for sentence in generate(seed, 20):
        assert 5 <= len(sentence.tokens) <= 28


def test_printed_trees_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "trees.txt"
    written = list(generate(1, 500))
    path.write_text("".join(f"{format_tree(tree)}\n" for tree in trees(written)))
    assert list(read_sentences(path, "penn")) == written


def test_sample_prints_sentences() -> None:
    result = CliRunner().invoke(cli.main, ["data", "sample", "--count", "3", "--seed", "4"])
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [" ".join(sentence.tokens) for sentence in generate(4, 3)]


def test_sample_prints_trees() -> None:
    result = CliRunner().invoke(cli.main, ["data", "sample", "--count", "2", "--trees"])
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [format_tree(tree) for tree in trees(list(generate(0, 2)))]
