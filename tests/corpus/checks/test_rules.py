"""Each rule of a task is found kept, broken, or impossible to check."""

from __future__ import annotations

from pathlib import Path

import pytest

from probing.corpus.checks.content import read_content
from probing.corpus.checks.rules import Finding, check_rules, correlate_with_length
from probing.corpus.lengths import LENGTH_BINS
from probing.tasks.table import Task, get_task, own_task


def judge(
    tmp_path: Path, task: Task | str, lines: list[tuple[str, str, str]], forms: dict[str, list[str]] | None = None
) -> list[Finding]:
    task = get_task(task) if isinstance(task, str) else task
    path = tmp_path / f"{task.file}.txt"
    path.write_text("".join("\t".join(line) + "\n" for line in lines))
    return list(check_rules(read_content(path, task, forms), "warning"))


def two_classes(sizes: dict[str, tuple[int, int]], labels: str = "IO") -> list[tuple[str, str, str]]:
    return [
        (split, label, f"{split} {label} {number} .")
        for split, counts in sizes.items()
        for label, count in zip(labels, counts, strict=True)
        for number in range(count)
    ]


def test_equal_classes_are_no_finding(tmp_path: Path) -> None:
    assert judge(tmp_path, "BShif", two_classes({"tr": (50, 50), "va": (10, 11), "te": (10, 10)})) == []


def test_a_few_spare_instances_are_allowed_and_more_are_not(tmp_path: Path) -> None:
    assert judge(tmp_path, "BShif", two_classes({"tr": (100, 104), "va": (3, 5), "te": (10, 10)})) == []
    findings = judge(tmp_path, "BShif", two_classes({"tr": (100, 120), "va": (3, 6), "te": (10, 10)}))
    assert [(finding.severity, finding.check) for finding in findings] == [("warning", "balance")] * 2
    assert findings[0].message == (
        "the classes of tr have 100 ('I') to 120 ('O') instances, an equal share is 110 (allowed: 5 % more or less)"
    )
    assert findings[1].message.startswith("the classes of va have 3 ('I') to 6 ('O') instances")


def test_a_class_that_a_split_lacks_is_an_imbalance(tmp_path: Path) -> None:
    findings = judge(tmp_path, "BShif", two_classes({"tr": (50, 50), "va": (10, 10), "te": (0, 10)}))
    assert findings[0].message.startswith("the classes of te have 0 ('I') to 10 ('O')")


def test_one_small_class_among_many_is_an_imbalance(tmp_path: Path) -> None:
    labels = "abcdefghijklmnopqrst"
    lines = [
        (split, label, f"{split} {label} {n} .") for split in ("tr", "va", "te") for label in labels for n in range(30)
    ]
    assert judge(tmp_path, "ToCo", lines) == []
    (finding,) = judge(tmp_path, "ToCo", lines[4:])
    assert finding.message.startswith("the classes of tr have 26 ('a') to 30 ('b') instances")


def test_an_own_task_need_not_be_balanced(tmp_path: Path) -> None:
    lines = two_classes({"tr": (100, 200), "va": (10, 10), "te": (10, 10)})
    assert [finding.severity for finding in judge(tmp_path, own_task(Path("mine.txt")), lines)] == ["note"]


def test_another_number_of_classes_is_noted(tmp_path: Path) -> None:
    lines = two_classes({"tr": (10, 10), "va": (10, 10), "te": (10, 10)}, labels="ab")
    assert judge(tmp_path, "ToCo", lines) == [Finding("note", "classes", "2 classes; SentEval's file has 20")]


def sentence_lengths(wrong: bool) -> list[tuple[str, str, str]]:
    lines = [
        (split, label, " ".join(["x"] * length))
        for split in ("tr", "va", "te")
        for label, bounds in LENGTH_BINS.items()
        for length in bounds
    ]
    return [*lines[:-1], ("te", "5", "too short a sentence .")] if wrong else lines


def test_length_bins(tmp_path: Path) -> None:
    assert judge(tmp_path, "SeLen", sentence_lengths(wrong=False)) == []
    (finding,) = judge(tmp_path, "SeLen", sentence_lengths(wrong=True))
    assert finding == Finding(
        "warning",
        "length bins",
        "1 of 36 sentences are not as long as their label says, e.g. line 36: 5 tokens, '5' means 26 to 28",
    )


def test_length_bins_under_other_labels_cannot_be_checked(tmp_path: Path) -> None:
    findings = judge(tmp_path, "SeLen", [(split, "short", "x y") for split in ("tr", "va", "te")])
    assert findings[-1] == Finding(
        "note", "length bins", "cannot be checked: label 'short' is none of 0, 1, 2, 3, 4, 5"
    )


def word_contents(extra: str) -> list[tuple[str, str, str]]:
    targets = ("Apple", "pear")
    lines = [
        (split, str(place), f"{split} the {target} {number} .")
        for split in ("tr", "va", "te")
        for place, target in enumerate(targets)
        for number in range(3)
    ]
    return [*lines[:-1], (*lines[-1][:2], f"{lines[-1][2]} {extra}")]


def test_word_content_has_one_target_a_sentence(tmp_path: Path) -> None:
    classes = Finding("note", "classes", "2 classes; SentEval's file has 1000")
    assert judge(tmp_path, "WC", word_contents("")) == [classes]
    for extra, label in (("apple", "0"), ("pear", "1")):
        assert judge(tmp_path, "WC", word_contents(extra))[1] == Finding(
            "warning",
            "target words",
            "1 of 2 labels have no word that occurs once in each of their sentences and in no other sentence, "
            f"e.g. label '{label}'",
        )


def depths(lengths: dict[int, int]) -> list[tuple[str, str, str]]:
    return [
        (split, str(depth), " ".join(["x"] * length))
        for split in ("tr", "va", "te")
        for depth, length in lengths.items()
    ]


@pytest.mark.parametrize("task", ["TrDep", "DepDepth"])
def test_depth_must_not_follow_length(tmp_path: Path, task: str) -> None:
    assert judge(tmp_path, task, depths({5: 6, 6: 9, 7: 12}))[-1] == Finding(
        "warning", "correlation", "depth and length correlate with r = 1.00 (allowed: 0.15)"
    )
    assert "correlation" not in [finding.check for finding in judge(tmp_path, task, depths({5: 9, 6: 6, 7: 9}))]


@pytest.mark.parametrize("label", ["deep", "5", "nan", "1e308"])
def test_a_correlation_that_is_not_defined_is_noted(tmp_path: Path, label: str) -> None:
    findings = judge(tmp_path, "TrDep", [("tr", label, "x"), ("va", label, "x y"), ("te", label, "x y z")])
    assert findings[-1] == Finding(
        "note", "correlation", "depth and length: cannot be checked, the labels are not different numbers"
    )


def test_correlation_counts_each_instance(tmp_path: Path) -> None:
    path = tmp_path / "tree_depth.txt"
    path.write_text("tr\t1\ta\ntr\t1\ta b\ntr\t2\ta b\ntr\t2\tc d\n")
    # By hand: depths 1 1 2 2, lengths 1 2 2 2; covariance 1/8, variances 1/4 and 3/16.
    assert correlate_with_length(read_content(path, get_task("TrDep"))) == pytest.approx(0.125 / (0.25 * 0.1875) ** 0.5)


@pytest.mark.parametrize(("task", "severity"), [("CoIn", "warning"), ("BShif", "note")])
def test_both_orders_of_a_sentence(tmp_path: Path, task: str, severity: str) -> None:
    lines = two_classes({"tr": (2, 2), "va": (2, 2), "te": (2, 2)})
    lines += [("tr", "O", "I came and she left ."), ("te", "I", "She left and I came .")]
    (finding,) = judge(tmp_path, task, lines)
    assert finding == Finding(
        severity,  # type: ignore[arg-type]
        "versions",
        "sentences with the same words as another, in a different order and under the other label: 1, "
        "e.g. lines 13 and 14",
    )


@pytest.mark.parametrize("task", ["Tense", "SubNm", "ObjNm", "SOMO"])
def test_rules_that_the_file_alone_cannot_show_are_noted(tmp_path: Path, task: str) -> None:
    findings = judge(tmp_path, task, two_classes({"tr": (2, 2), "va": (2, 2), "te": (2, 2)}))
    assert findings[-1].severity == "note"
    assert findings[-1].message.startswith("cannot be checked from the file alone: that the ")


TENSES = [
    ("tr", "PAST", "She sang ."),
    ("tr", "PRES", "He runs ."),
    ("va", "PAST", "They came ."),
    ("va", "PRES", "It works ."),
    ("te", "PAST", "We knew ."),
    ("te", "PRES", "Comes he ?"),
]


def test_target_forms_of_the_datasheet_are_kept_apart(tmp_path: Path) -> None:
    forms = {"tr": ["runs", "sang"], "va": ["came", "works"], "te": ["comes", "knew"]}
    assert judge(tmp_path, "Tense", TENSES, forms) == []
    assert judge(tmp_path, "Tense", TENSES, {**forms, "va": ["came", "knew", "works"]}) == [
        Finding("warning", "word forms", "target forms of te that are also target forms of va: 1, e.g. 'knew'")
    ]
    assert judge(tmp_path, "Tense", TENSES, {**forms, "te": ["knew"]}) == [
        Finding("warning", "word forms", "sentences without a target form of their partition: 1, e.g. line 6")
    ]


def test_only_replaced_sentences_need_a_target_form(tmp_path: Path) -> None:
    lines = [(split, label, f"{split} {label} word") for split in ("tr", "va", "te") for label in "CO"]
    findings = judge(tmp_path, "SOMO", lines, {"tr": ["tr"], "va": ["va"], "te": ["elsewhere"]})
    assert findings[-1].message == "sentences without a target form of their partition: 1, e.g. line 5"
