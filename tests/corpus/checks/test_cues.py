"""Baselines that solve a task and single cues that decide its label are found, and nothing in a fair task."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from probing.corpus.checks.content import SentenceSample, read_content
from probing.corpus.checks.cues import check_cues, find_cues
from probing.corpus.instances import Instance
from probing.tasks import get_task
from probing.tasks.table import own_task

WORDS = [f"w{number}" for number in range(60)]


def write(folder: Path, cue: str, purity: float = 1.0, *, name: str = "bigram_shift") -> Path:
    """Write a task whose sentences of label I hold the cue with some probability, and of label O never."""
    random = Random(0)
    lines = []
    for split, number in (("tr", 600), ("va", 20), ("te", 200)):
        for place in range(number):
            label = "IO"[place % 2]
            words = random.sample(WORDS, 8)
            words[3:3] = cue.split() if label == "I" and random.random() < purity else []
            lines.append(f"{split}\t{label}\t{' '.join(words)} {split}{place}\n")
    path = folder / f"{name}.txt"
    path.write_text("".join(lines), encoding="utf-8")
    return path


def find(path: Path, name: str = "BShif") -> list[tuple[str, str]]:
    task = own_task(path) if name == "own" else get_task(name)
    return [(finding.check, finding.message) for finding in check_cues(read_content(path, task), "warning")]


def test_a_fair_task_has_no_findings(tmp_path: Path) -> None:
    assert find(write(tmp_path, "the", 0.0)) == []


def test_a_word_that_decides_is_found_with_the_baselines_that_use_it(tmp_path: Path) -> None:
    found = find(write(tmp_path, "Clearly"))
    named = [message.partition(" alone gets ")[0] for check, message in found if check == "baseline"]
    assert named == ["the sentence's length", "a bag of words", "pairs of words in order"]
    assert found[-1] == ("cue", "'clearly' occurs in 50 % of the sentences, nearly always with the label 'I'")


def test_a_cue_of_part_of_the_sentences_is_found_too(tmp_path: Path) -> None:
    assert [check for check, _ in find(write(tmp_path, "clearly", 0.4))] == ["cue"]
    assert find(write(tmp_path, "clearly", 0.1)) == [], "too few"


def test_length_alone_is_named(tmp_path: Path) -> None:
    messages = [message for _, message in find(write(tmp_path, "w1 w2 w3 w4"))]
    assert "the sentence's length alone gets 100.0 % of te right: too easy to compare models" in messages


@pytest.mark.parametrize("name", ["SeLen", "WC"])
def test_tasks_of_the_surface_are_meant_to_be_so(tmp_path: Path, name: str) -> None:
    assert find(write(tmp_path, "clearly"), name) == []


def test_a_cue_must_hold_in_the_test_split_as_well() -> None:
    train = [Instance("IO"[place % 2], ("so" if place % 2 else "then", f"x{place}")) for place in range(400)]
    assert find_cues(train, train) == [("so", "O", 0.5)]
    turned = [Instance("OI"[instance.label == "O"], instance.tokens) for instance in train]
    assert find_cues(train, turned) == []
    assert find_cues(train, [Instance("I", ("else",))]) == []


def test_a_sample_is_random_and_bounded() -> None:
    sample = SentenceSample(100)
    for number in range(1000):
        sample.offer("a", [str(number)])
    kept = [int(instance.tokens[0]) for instance in sample.instances]
    assert len(set(kept)) == 100
    assert 300 < sum(kept) / 100 < 700
    again = SentenceSample(100)
    for number in range(1000):
        again.offer("a", [str(number)])
    assert again.instances == sample.instances
