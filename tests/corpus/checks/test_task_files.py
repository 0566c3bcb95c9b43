"""`probe data check` finds the faults of task files and reports their severity."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import cli
from probing.corpus.checks import task_files
from probing.corpus.checks.findings import Finding
from probing.errors import ProbingError
from probing.storage.files import hash_file
from probing.tasks.table import TASKS, get_task
from probing.tasks.task_file import SPLITS

GOOD = [
    (split, label, f"{split} {label} {word} .")
    for split in ("tr", "va", "te")
    for label in ("I", "O")
    for word in ("one", "two", "three")
]


def write(folder: Path, lines: list[tuple[str, str, str]], name: str = "bigram_shift") -> Path:
    path = folder / f"{name}.txt"
    path.write_text("".join("\t".join(line) + "\n" for line in lines))
    return path


def find(path: Path) -> list[tuple[str, str, str]]:
    return [(finding.severity, finding.check, finding.message) for finding in task_files.check_file(path).findings]


def run(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli.main, ["data", "check", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


def test_a_good_file_has_no_findings(tmp_path: Path) -> None:
    report = task_files.check_file(write(tmp_path, GOOD))
    assert report.findings == ()
    assert (report.task, report.senteval) == ("BShif", False)
    assert report.counts == {split: {"I": 3, "O": 3} for split in ("tr", "va", "te")}
    assert (report.shortest, report.longest) == (4, 4)
    assert report.majority_label == "I"
    assert report.majority_accuracy == {"tr": 50.0, "va": 50.0, "te": 50.0}


def test_a_task_of_one_label_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path, [line for line in GOOD if line[1] == "I"])
    assert ("error", "labels", "all lines of tr have the label 'I'") in find(path)
    assert run(path)[0] == 2


def test_a_cue_is_a_warning_for_an_own_task_too(tmp_path: Path) -> None:
    lines = [(split, "IO"[n % 2], f"{'so' if n % 2 else 'x'} {n} {split}") for split in SPLITS for n in range(300)]
    for name in ("bigram_shift", "mine"):
        cues = [(found, check) for found, check, _ in find(write(tmp_path, lines, name)) if check == "cue"]
        assert cues == [("warning", "cue")]


def test_an_imbalance_that_the_datasheet_states_is_a_note(tmp_path: Path) -> None:
    lines = [(split, "AAAB"[n % 4], f"{split} {n}") for split in SPLITS for n in range(80)]
    path = write(tmp_path, lines, "top_constituents")
    assert [severity for severity, check, _ in find(path) if check == "balance"] == ["warning"] * 3
    entry = {"file": path.name, "sha256": hash_file(path)[0], "settings": {"imbalance": 3}}
    (tmp_path / "datasheet.json").write_text(json.dumps({"identity": "x", "tasks": [entry]}), encoding="utf-8")
    assert [severity for severity, check, _ in find(path) if check == "balance"] == ["note"] * 3


def test_format_problems_are_listed_with_their_lines(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    path.write_text(path.read_text() + "te\tI\ndev\tI\tx\n" + "te\tI\t\n" * 30)
    findings = find(path)
    assert findings[0] == ("error", "format", f"{path}:19: expected 3 tab-separated fields, got 2")
    assert findings[1] == ("error", "format", f"{path}:20: unknown split 'dev'. Allowed: tr, va, te")
    assert findings[20] == ("error", "format", "further lines that break the format: 12")
    assert len(findings) == 21


def test_a_missing_split_and_an_unseen_label_are_errors(tmp_path: Path) -> None:
    path = write(tmp_path, [line for line in GOOD if line[0] != "va"] + [("te", "X", "odd one .")])
    errors = [finding for finding in find(path) if finding[0] == "error"]
    assert errors == [
        ("error", "splits", "no line of split va. All of tr, va, te are needed"),
        ("error", "labels", "labels of te that do not occur in tr: 1, e.g. 'X' (line 13)"),
    ]


def test_an_empty_file_misses_all_splits(tmp_path: Path) -> None:
    path = write(tmp_path, [])
    assert ("error", "splits", "no line of split tr, va, te. All of tr, va, te are needed") in find(path)
    assert "none" in task_files.render(task_files.check_file(path))


def test_undecodable_bytes_do_not_look_like_missing_splits(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    path.write_bytes(b"tr\tI\t\xe9t\xe9\n" + path.read_bytes())
    assert [finding[1] for finding in find(path) if finding[0] == "error"] == ["format"]


def test_duplicates_leakage_and_contradictions_are_warnings_with_examples(tmp_path: Path) -> None:
    extra = [("tr", "I", GOOD[0][2]), ("te", "I", GOOD[0][2]), ("va", "O", GOOD[1][2]), ("te", "O", GOOD[3][2])]
    assert find(write(tmp_path, GOOD + extra)) == [
        ("warning", "contradiction", "sentences with more than one label: 1, e.g. lines 2 and 21"),
        ("warning", "duplicates", "lines of tr that repeat a sentence of tr: 1, e.g. lines 1 and 19"),
        ("warning", "leakage", "sentences of te that also occur in tr: 2, e.g. lines 1 and 20"),
        ("warning", "leakage", "sentences of va that also occur in tr: 1, e.g. lines 2 and 21"),
    ]


INSTANCES = st.lists(
    st.tuples(st.sampled_from(["tr", "va", "te"]), st.sampled_from("AB"), st.sampled_from("uvwxyz")), max_size=25
)


@settings(max_examples=100)
@given(lines=INSTANCES)
def test_repeats_are_those_that_comparing_all_lines_finds(tmp_path_factory, lines) -> None:  # type: ignore[no-untyped-def]
    path = write(tmp_path_factory.mktemp("repeats"), lines, "own")
    sentences = {split: [line[2] for line in lines if line[0] == split] for split in ("tr", "va", "te")}
    expected = {}
    for split, own in sentences.items():
        expected[f"lines of {split} that repeat a sentence of {split}"] = len(own) - len(set(own))
    for one, other in (("tr", "va"), ("tr", "te"), ("va", "te")):
        shared = set(sentences[one]) & set(sentences[other])
        expected[f"sentences of {other} that also occur in {one}"] = len(shared)
    labels = {sentence: {line[1] for line in lines if line[2] == sentence} for _, _, sentence in lines}
    expected["sentences with more than one label"] = sum(len(found) > 1 for found in labels.values())
    found = dict(finding[2].split(", e.g.")[0].split(": ") for finding in find(path) if finding[0] == "warning")
    assert found == {what: str(count) for what, count in expected.items() if count}


def test_a_rule_that_sentevals_own_file_breaks_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, GOOD + [("tr", "O", f"more of it {number} .") for number in range(9)])
    assert [finding[:2] for finding in find(path)] == [("warning", "balance")]
    verified = replace(get_task("BShif"), blob=hash_file(path)[1])
    monkeypatch.setattr(task_files, "TASKS", (verified,))
    report = task_files.check_file(path)
    assert report.senteval is True
    assert [(finding.severity, finding.check) for finding in report.findings] == [("note", "balance")]
    assert f"SentEval's file, verified (git blob {verified.blob})" in task_files.render(report)


def test_the_datasheet_lists_the_target_forms(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD, "past_present")
    sheet = {
        "file": path.name,
        "sha256": hash_file(path)[0],
        "targets": {"tr": ["tr"], "va": ["va"], "te": ["te", "tr"]},
    }
    (tmp_path / "datasheet.json").write_text(json.dumps({"tasks": [{"file": "other.txt"}, sheet]}))
    assert find(path) == [
        ("warning", "word forms", "target forms of te that are also target forms of tr: 1, e.g. 'tr'"),
    ]
    assert "; described by datasheet.json" in task_files.render(task_files.check_file(path))
    path.write_text(path.read_text() + "tr\tI\tone more\n")
    assert [finding[:2] for finding in find(path)] == [("warning", "datasheet"), ("note", "word forms")]
    path.rename(tmp_path / "subj_number.txt")
    assert task_files.check_file(tmp_path / "subj_number.txt").datasheet is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"tasks": [{}]}', '{"tasks": 3}', '{"tasks": ["x"]}'])
def test_another_datasheet_is_one_line(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, GOOD)
    (tmp_path / "datasheet.json").write_text(text)
    with pytest.raises(ProbingError, match=r"datasheet\.json: not a datasheet of `probe data build`\. Remove it"):
        task_files.check_file(path)


def test_the_report_on_a_file_as_text(tmp_path: Path) -> None:
    report = task_files.check_file(write(tmp_path, GOOD))
    assert task_files.render(replace(report, path="x.txt", findings=(Finding("warning", "leakage", "much"),))) == (
        "x.txt  BShif: whether two adjacent tokens were swapped\n"
        f"  origin    not SentEval's file (git blob {report.blob})\n"
        "  size      tr 6, va 6, te 6\n"
        "  classes   2, each tr 50.00 to 50.00 %; va 50.00 to 50.00 %; te 50.00 to 50.00 %\n"
        "  majority  'I' gets tr 50.00 %, va 50.00 %, te 50.00 % right\n"
        "  length    4 to 4 tokens\n"
        "  warning   leakage: much"
    )


def test_a_folder_gets_a_report_for_each_task_file_and_the_totals(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    write(tmp_path, [*GOOD, GOOD[0]], "dependency_depth")
    (tmp_path / "LICENSE.txt").write_text("no task file")
    code, output, _ = run(tmp_path)
    assert code == 0
    assert [line.split("  ")[1].split(":")[0] for line in output.splitlines() if line.startswith("/")] == [
        "BShif",
        "DepDepth",
    ]
    assert output.splitlines()[-1] == "2 files: 0 errors, 1 warning, 1 note"


def test_exit_codes(tmp_path: Path) -> None:
    fine = write(tmp_path, GOOD, "mine")
    doubtful = write(tmp_path, [*GOOD, GOOD[0]], "doubtful")
    broken = write(tmp_path, GOOD[:-6], "broken")
    assert [run(path)[0] for path in (fine, doubtful, broken)] == [0, 0, 2]
    assert [run("--strict", path)[0] for path in (fine, doubtful, broken)] == [0, 1, 2]


def test_json_for_machines(tmp_path: Path) -> None:
    path = write(tmp_path, [*GOOD, GOOD[0]], "mine")
    code, output, _ = run("--json", path)
    answer = json.loads(output)
    assert code == 0
    assert answer["totals"] == {"error": 0, "warning": 1, "note": 0}
    (report,) = answer["files"]
    assert (report["path"], report["task"], report["senteval"]) == (str(path), "mine", None)
    assert report["counts"]["tr"] == {"I": 4, "O": 3}
    assert report["findings"][0]["check"] == "duplicates"


def test_what_is_not_there_is_one_line(tmp_path: Path) -> None:
    code, output, error = run(tmp_path / "nowhere")
    assert (code, output) == (2, "")
    expected = f"probe: {tmp_path / 'nowhere'}: there is no such file or folder. Name task files, or a folder of them\n"
    assert error == expected
    with pytest.raises(
        ProbingError, match=r"no task file there\. Expected some of sentence_length\.txt, .*name the files"
    ):
        task_files.check([tmp_path], report=print)


def test_a_pipe_is_not_reported_as_missing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path(os.devnull)):
        expected = f"{path}: a pipe or a device, not a file. Save its output as a file, and name that"
        assert run(path) == (2, "", f"probe: {expected}\n")


def test_the_data_readme_lists_the_task_table() -> None:
    text = (Path(__file__).parents[3] / "data" / "README.md").read_text(encoding="utf-8")
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:2] == "| "]
    listed = [(row[0], row[1], row[2], row[3]) for row in rows if row[1].endswith(".txt")]
    assert listed == [(task.name, f"{task.file}.txt", str(task.classes), str(task.blob)) for task in TASKS]
