"""The datasheet describes the files, for readers and for machines."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from probing.corpus.datasheet import Datasheet, TaskSheet, describe_task
from probing.corpus.instances import Instance
from probing.tasks.table import get_task


def splits(labels: str) -> dict[str, list[Instance]]:
    return {
        split: [Instance(label, (label, split, str(n), "."), f"{label}{split}") for n in range(3) for label in labels]
        for split in ("tr", "va", "te")
    }


def sheet(*tasks: TaskSheet) -> Datasheet:
    return Datasheet(
        source={"files": [{"name": "a.mrg", "sha256": "abc"}], "reader": "penn"},
        options={"train": 6, "dev": 6, "test": 6, "seed": 0},
        corpus={"sentences": 100, "dropped": {"longer than 28 tokens": 7}},
        tasks=list(tasks),
    )


def describe(tmp_path: Path, name: str = "Tense", labels: str = "ab") -> TaskSheet:
    task = get_task(name)
    path = tmp_path / f"{task.file}.txt"
    path.write_text("content", encoding="utf-8")
    return describe_task(
        task, path, splits(labels), settings={"form_frequency": [2, 20]}, dropped=Counter({"x": 3}), frequencies={}
    )


def test_a_task_is_described_from_what_was_written(tmp_path: Path) -> None:
    found = describe(tmp_path)
    assert found.sha256 == "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73"
    assert found.counts["tr"] == {"a": 3, "b": 3}
    assert found.targets == {"tr": ["atr", "btr"], "va": ["ava", "bva"], "te": ["ate", "bte"]}
    assert found.dropped == {"x": 3}
    assert set(found.baselines) == {"majority", "length", "target_frequency", "bag_of_words", "word_order"}
    assert found.size("tr") == 6


def test_the_identity_hangs_on_the_files_alone(tmp_path: Path) -> None:
    one, two = describe(tmp_path), describe(tmp_path, "SubNm")
    missing = TaskSheet(task="WC", file="word_content.txt", reason="too small")
    assert sheet(one, two).identity == sheet(two, one, missing).identity
    assert sheet(one).identity != sheet(one, two).identity
    assert len(sheet(one).identity) == 64


def test_json_holds_everything(tmp_path: Path) -> None:
    whole = sheet(describe(tmp_path))
    content = json.loads(whole.to_json())
    assert content["identity"] == whole.identity
    assert content["tasks"][0]["counts"]["te"] == {"a": 3, "b": 3}
    assert content["source"]["files"][0]["name"] == "a.mrg"


def test_markdown_is_for_people(tmp_path: Path) -> None:
    missing = TaskSheet(task="WC", file="word_content.txt", reason="the corpus has too few words")
    text = sheet(describe(tmp_path), missing).to_markdown()
    assert "- files: name a.mrg, sha256 abc\n" in text
    assert "- dropped: longer than 28 tokens 7\n" in text
    assert "- form frequency: 2 to 20\n" in text
    assert "Not built: the corpus has too few words.\n" in text
    assert "| `a`     |    3 |    3 |    3 |" in text
    assert "- x: 3\n" in text


def test_many_labels_are_summed_up_in_markdown(tmp_path: Path) -> None:
    labels = "".join(chr(0x4E00 + number) for number in range(40))
    text = sheet(describe(tmp_path, "WC", labels)).to_markdown()
    assert "fewest of 40 labels" in text
    assert labels[0] not in text


def test_the_table_says_plainly_what_is_missing(tmp_path: Path) -> None:
    missing = TaskSheet(task="WC", file="word_content.txt", reason="too small")
    whole = Datasheet(
        source={}, options={"train": 60, "dev": 60, "test": 60}, corpus={}, tasks=[describe(tmp_path), missing]
    )
    lines = whole.to_table().splitlines()
    assert lines[2].endswith("10 % of the size asked for: the corpus gives no more")
    assert lines[3].endswith("not built: too small")
    assert sheet(describe(tmp_path)).to_table().splitlines()[2].split()[-1] == "100.0"
