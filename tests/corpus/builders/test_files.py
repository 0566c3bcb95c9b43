"""`probe data build` from the command line: its output, its files, and one line for each mistake."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import cli
from probing.corpus.grammar import format_tree
from probing.corpus.readers import ParsedSentence, parsed_text, read_sentences
from probing.storage.files import hash_file

SMALL = ["--train", "100", "--dev", "20", "--test", "20"]


@pytest.fixture
def trees(make_corpus: Callable[[int, int], list[ParsedSentence]], tmp_path: Path) -> Path:
    path = tmp_path / "trees.mrg"
    path.write_text("".join(format_tree(s.tree) + "\n" for s in make_corpus(0, 1200) if s.tree), encoding="utf-8")
    return path


def probe(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli.main, ["data", "build", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


def test_files_become_a_folder_of_tasks(trees: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    code, out, err = probe("--trees", trees, "--output", output, *SMALL)
    assert (code, err) == (0, "")
    header = "task classes tr va te majority length target frequency bag of words word order remark"
    assert out.splitlines()[0].split() == header.split()
    assert out.splitlines()[-1].endswith("task files and datasheet.md")
    sheet = json.loads((output / "datasheet.json").read_text(encoding="utf-8"))
    assert sheet["source"]["files"] == [{"name": "trees.mrg", "sha256": hash_file(trees)[0]}]
    assert sheet["source"]["reader"] == "penn"
    assert sheet["options"] == {
        "train": 100,
        "dev": 20,
        "test": 20,
        "imbalance": "chosen",
        "seed": 0,
        "min_train": 50,
        "min_test": 10,
    }
    assert (output / "past_present.txt").is_file()
    assert str(tmp_path) not in (output / "datasheet.json").read_text(encoding="utf-8"), "no path of this machine"


def test_files_are_given_and_extended(trees: Path, tmp_path: Path) -> None:
    assert probe("--trees", trees, "--output", tmp_path / "first", *SMALL)[0] == 0
    given, extended = (tmp_path / "first" / f"{name}.txt" for name in ("past_present", "bigram_shift"))
    options = ["--given", given, "--extend", extended, "--imbalance", "10", "--seed", "1"]
    code, _, err = probe("--trees", trees, "--output", tmp_path / "out", *options, *SMALL)
    assert (code, err) == (0, "")
    assert (tmp_path / "out" / "past_present.txt").read_bytes() == given.read_bytes()
    assert (tmp_path / "out" / "bigram_shift.txt").read_bytes().startswith(extended.read_bytes().partition(b"va")[0])
    sheet = json.loads((tmp_path / "out" / "datasheet.json").read_text(encoding="utf-8"))
    assert sheet["source"]["given"] == [{"name": "past_present.txt", "sha256": hash_file(given)[0]}]
    assert sheet["source"]["extended"] == [{"name": "bigram_shift.txt", "sha256": hash_file(extended)[0]}]
    assert sheet["options"]["imbalance"] == 10
    settings = {task["task"]: task["settings"] for task in sheet["tasks"]}
    assert settings["Tense"] == {"lines_taken_from": "past_present.txt"}
    assert settings["BShif"]["training_instances_added_from_the_trees"] > 0


def test_bad_trees_are_an_error_or_counted(trees: Path, tmp_path: Path) -> None:
    with trees.open("a", encoding="utf-8") as file:
        file.write("(S (NP))\n")
    code, out, err = probe("--trees", trees, "--output", tmp_path / "out", *SMALL)
    assert (code, out) == (2, "")
    assert err == (f"probe: {trees}:1201: an empty bracket. Correct the tree, or leave bad trees out with --skip-bad\n")
    assert not (tmp_path / "out").exists()
    code, out, err = probe("--trees", trees, "--output", tmp_path / "out", "--skip-bad", *SMALL)
    assert code == 0
    sheet = json.loads((tmp_path / "out" / "datasheet.json").read_text(encoding="utf-8"))
    assert sheet["source"]["bad_trees_skipped"] == {"an empty bracket": 1}


def test_a_folder_with_something_in_it_is_left_alone(trees: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    output.mkdir()
    (output / "mine.txt").write_text("mine", encoding="utf-8")
    code, _, err = probe("--trees", trees, "--output", output, *SMALL)
    assert code == 2
    assert err == (f"probe: {output}: the folder is not empty. Name another with --output, or overwrite with --force\n")
    assert probe("--trees", trees, "--output", output, "--force", "--task", "BShif", *SMALL)[0] == 0
    assert (output / "mine.txt").read_text(encoding="utf-8") == "mine"
    assert {path.name for path in output.iterdir()} == {
        "mine.txt",
        "bigram_shift.txt",
        "datasheet.json",
        "datasheet.md",
    }


def test_a_forced_build_leaves_only_what_its_datasheet_describes(trees: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    assert probe("--trees", trees, "--output", output, *SMALL)[0] == 0
    assert (output / "past_present.txt").is_file()
    assert probe("--trees", trees, "--output", output, "--force", "--task", "BShif,DepDepth", *SMALL)[0] == 0
    assert {path.name for path in output.iterdir()} == {"bigram_shift.txt", "datasheet.json", "datasheet.md"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            [],
            "probe: name the corpus with --trees FILE (Penn brackets), --conllu FILE or --text FILE (raw text): one of",
        ),
        (["--conllu", "x", "--parser", "stanza:en"], "probe: --parser is for raw text: it goes with --text\n"),
        (["--text", "nowhere.txt"], "probe: nowhere.txt: cannot be read (No such file or directory)\n"),
        (["--trees", "nowhere.mrg"], "probe: nowhere.mrg: cannot be read (No such file or directory)\n"),
        (["--conllu", "nowhere.conllu", "--task", "Tens"], "probe: unknown task 'Tens'. Did you mean 'Tense'? Known: "),
    ],
)
def test_mistakes_are_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    code, out, err = probe("--output", tmp_path / "out", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(message)
    assert err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_sizes_must_be_positive(trees: Path, tmp_path: Path) -> None:
    code, _, err = probe("--trees", trees, "--output", tmp_path / "out", "--train", "0")
    assert code == 2
    assert err == "probe: invalid value for '--train': 0 is not in the range x>=1. See `probe data build --help`\n"


def test_dependencies_give_counterparts(tmp_path: Path) -> None:
    rows = []
    for number in range(400):
        tense, form = [("Past", "ed"), ("Pres", "s")][number % 2]
        words = [("The", "DET", 2, "det", "_"), (f"noun{number % 40}", "NOUN", 3, "nsubj", "Number=Sing")]
        words += [(f"verb{number % 30}{form}", "VERB", 0, "root", f"Tense={tense}|VerbForm=Fin")]
        words += [("a", "DET", 5, "det", "_"), (f"thing{number}", "NOUN", 3, "obj", "Number=Plur")]
        words += [(".", "PUNCT", 3, "punct", "_")]
        for place, (word, tag, head, relation, features) in enumerate(words, 1):
            rows.append(f"{place}\t{word}\t_\t{tag}\t_\t{features}\t{head}\t{relation}\t_\t_")
        rows.append("")
    path = tmp_path / "a.conllu"
    path.write_text("\n".join(rows), encoding="utf-8")
    code, out, err = probe("--conllu", path, "--output", tmp_path / "out", *SMALL)
    assert (code, err) == (0, "")
    table = {line.split()[0]: line for line in out.splitlines() if line}
    assert {"DepDepth", "RootDep", "Tense", "SubNm", "ObjNm"} <= set(table)
    assert not {"TrDep", "ToCo"} & set(table)
    assert "not built: no sentence with the label NNS" in table["SubNm"]
    assert table["Tense"].split()[1:5] == ["2", "100", "20", "20"]


def test_a_pipe_is_refused_as_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.mrg"
    os.mkfifo(pipe)
    code, out, err = probe("--trees", pipe, "--output", tmp_path / "out", *SMALL)
    assert (code, out, err) == (2, "", f"probe: {pipe}: cannot be read (not a regular file)\n")


def test_raw_text_without_a_parser_gives_three_tasks(trees: Path, tmp_path: Path) -> None:
    sentences = [" ".join(s.tokens) for s in read_sentences(trees, "penn")]
    text = tmp_path / "novel.txt"
    text.write_text("CHAPTER I\n\n" + "\n\n".join(sentences) + "\n", encoding="utf-8")
    code, out, err = probe("--text", text, "--output", tmp_path / "out", *SMALL)
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()[2:5]] == ["SeLen", "WC", "BShif"]
    added = "With --parser, raw text also gives DepDepth, RootDep, Tense, SubNm, ObjNm, SOMO and CoIn"
    assert out.splitlines()[-1] == added
    sheet = json.loads((tmp_path / "out" / "datasheet.json").read_text(encoding="utf-8"))
    assert sheet["source"]["parser"] == "none"
    assert sheet["corpus"]["dropped"]["without final punctuation, as headings and broken lines"] == 1
    known = {" ".join(sentence.split()) for sentence in sentences}
    lines = (tmp_path / "out" / "sentence_length.txt").read_text(encoding="utf-8").splitlines()
    assert all(line.split("\t")[2] in known for line in lines), "the sentences are split as they were joined"


def test_a_task_that_needs_a_parse_says_so(tmp_path: Path) -> None:
    text = tmp_path / "novel.txt"
    text.write_text("The old dog slept in the hall .\n", encoding="utf-8")
    code, out, _ = probe("--text", text, "--output", tmp_path / "out", "--task", "Tense", *SMALL)
    assert code == 1
    assert "not built: it needs a parsed corpus: name a parser with --parser" in out


def test_several_processes_give_the_same_files(trees: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsed_text, "STRETCH", 10_000)
    for jobs in (1, 2):
        assert probe("--trees", trees, "--output", tmp_path / str(jobs), "--jobs", jobs, *SMALL)[0] == 0
    files = {path.name: path.read_bytes() for path in (tmp_path / "1").iterdir()}
    assert len(files) > 5
    assert {path.name: path.read_bytes() for path in (tmp_path / "2").iterdir()} == files


def test_a_bad_tree_is_one_line_in_several_processes(trees: Path, tmp_path: Path) -> None:
    with trees.open("a", encoding="utf-8") as file:
        file.write("(S (NP))\n")
    code, out, err = probe("--trees", trees, "--output", tmp_path / "out", "--jobs", 2, *SMALL)
    assert (code, out) == (2, "")
    assert err == (f"probe: {trees}:1201: an empty bracket. Correct the tree, or leave bad trees out with --skip-bad\n")
