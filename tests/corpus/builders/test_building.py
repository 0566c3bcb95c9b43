"""A built corpus has balanced, disjoint, reproducible files, as independent code finds."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from probing.corpus.builders import build, choose_tasks
from probing.corpus.builders.building import choose_floor
from probing.corpus.datasheet import Datasheet
from probing.corpus.readers import ParsedSentence
from probing.corpus.readers.brackets import parse_tree
from probing.errors import ProbingError
from probing.storage import hash_file
from probing.tasks.task_file import read_task_file

Corpus = Callable[[int, int], list[ParsedSentence]]
VERB = re.compile(r".*(amp|ick|ozz|ulk|eft|ing)(ed|s|)")
FORM_TASKS = {"Tense": "past_present", "SubNm": "subj_number", "ObjNm": "obj_number", "SOMO": "odd_man_out"}


@pytest.fixture(scope="module")
def built(
    make_corpus: Corpus, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Datasheet, list[ParsedSentence]]:
    folder = tmp_path_factory.mktemp("built")
    corpus = make_corpus(1, 4000)
    return folder, build(corpus, folder, train=600, dev=60, test=60, seed=3, min_train=1, min_test=1), corpus


def rows(folder: Path, file: str) -> list[tuple[str, str, str]]:
    lines = (folder / f"{file}.txt").read_text(encoding="utf-8").splitlines()
    return [(split, label, text) for split, label, text in (line.split("\t") for line in lines)]


def test_all_but_the_missing_lengths_and_words_come_out(built: tuple[Path, Datasheet, list[ParsedSentence]]) -> None:
    folder, sheet, _ = built
    reasons = {one.task: one.reason for one in sheet.tasks if one.reason is not None}
    assert set(reasons) <= {"SeLen", "WC", "ToCo"}
    for one in sheet.tasks:
        assert (folder / one.file).exists() == (one.reason is None)


@pytest.mark.parametrize(
    "file", ["bigram_shift", "past_present", "subj_number", "obj_number", "odd_man_out", "coordination_inversion"]
)
def test_classes_are_balanced_and_sentences_in_one_place(
    built: tuple[Path, Datasheet, list[ParsedSentence]], file: str
) -> None:
    found = rows(built[0], file)
    counts = Counter((split, label) for split, label, _ in found)
    for split in ("tr", "va", "te"):
        sizes = [count for (other, _), count in counts.items() if other == split]
        assert len(sizes) == 2
        assert max(sizes) - min(sizes) <= 1
    assert max(Counter(text for _, _, text in found).values()) == 1


def test_no_sentence_is_there_in_two_versions(built: tuple[Path, Datasheet, list[ParsedSentence]]) -> None:
    for file in ("bigram_shift", "coordination_inversion"):
        found = rows(built[0], file)
        originals, changed = (
            {tuple(sorted(text.lower().split())) for _, other, text in found if other == label} for label in "OI"
        )
        assert originals.isdisjoint(changed)


@pytest.mark.parametrize("task", list(FORM_TASKS))
def test_a_target_form_is_in_one_split_only(built: tuple[Path, Datasheet, list[ParsedSentence]], task: str) -> None:
    folder, sheet, _ = built
    targets = next(one.targets for one in sheet.tasks if one.task == task)
    homes = defaultdict(set)
    for split, forms in targets.items():
        for form in forms:
            homes[form].add(split)
    assert homes
    assert all(len(splits) == 1 for splits in homes.values())
    for split, _, text in rows(folder, FORM_TASKS[task]):
        assert not set(targets[split]).isdisjoint(text.lower().split())


def test_labels_are_right(built: tuple[Path, Datasheet, list[ParsedSentence]]) -> None:
    folder = built[0]
    for _, label, text in rows(folder, "past_present"):
        verb = next(word for word in text.split() if VERB.fullmatch(word))
        assert (label == "PAST") == verb.endswith("ed")
    for _, label, text in rows(folder, "subj_number"):
        assert (label == "NNS") == text.split()[1].endswith("s")
    for _, label, text in rows(folder, "sentence_length") if (folder / "sentence_length.txt").exists() else ():
        low, high = ((5, 8), (9, 12), (13, 16), (17, 20), (21, 25), (26, 28))[int(label)]
        assert low <= len(text.split()) <= high


def test_depth_hardly_correlates_with_length(built: tuple[Path, Datasheet, list[ParsedSentence]]) -> None:
    sheet = next(one for one in built[1].tasks if one.task == "TrDep")
    assert sheet.reason is None
    found = rows(built[0], "tree_depth")
    depths, lengths = [int(label) for _, label, _ in found], [len(text.split()) for _, _, text in found]
    mean_depth, mean_length = sum(depths) / len(depths), sum(lengths) / len(lengths)
    pairs = [(depth - mean_depth, length - mean_length) for depth, length in zip(depths, lengths, strict=True)]
    r = sum(x * y for x, y in pairs) / (sum(x * x for x, _ in pairs) * sum(y * y for _, y in pairs)) ** 0.5
    assert r <= 0.15


def test_what_is_written_can_be_run_on(built: tuple[Path, Datasheet, list[ParsedSentence]]) -> None:
    folder, sheet, _ = built
    for one in sheet.tasks:
        if one.reason is None:
            data = read_task_file(folder / one.file)
            assert hash_file(folder / one.file)[0] == one.sha256
            assert {split: Counter(part.labels) for split, part in data.splits.items()} == one.counts
    stated = json.loads((folder / "datasheet.json").read_text(encoding="utf-8"))
    assert stated["identity"] == sheet.identity
    assert sheet.identity in (folder / "datasheet.md").read_text(encoding="utf-8")


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 1000), st.integers(1, 300))
def test_any_corpus_gives_the_same_files_again(make_corpus: Corpus, tmp_path: Path, seed: int, size: int) -> None:
    corpus = make_corpus(seed, size)
    folders = [tmp_path / f"{seed}-{size}-{number}" for number in range(2)]
    sheets = [build(corpus, folder, train=100, dev=10, test=10, seed=seed) for folder in folders]
    assert sheets[0] == sheets[1]
    for one in sheets[0].tasks:
        if one.reason is None:
            assert (folders[0] / one.file).read_bytes() == (folders[1] / one.file).read_bytes()
            texts = [text for _, _, text in rows(folders[0], one.file.removesuffix(".txt"))]
            assert len(texts) == len(set(texts))
            assert all(1 <= one.size(split) <= limit for split, limit in (("tr", 100), ("va", 10), ("te", 10)))


def test_the_seed_draws_other_sentences(make_corpus: Corpus, tmp_path: Path) -> None:
    corpus = make_corpus(0, 500)
    one = build(corpus, tmp_path / "1", train=50, dev=5, test=5, seed=1, tasks=["BShif"])
    two = build(corpus, tmp_path / "2", train=50, dev=5, test=5, seed=2, tasks=["BShif"])
    assert one.identity != two.identity


def test_a_task_that_cannot_be_built_is_reported_and_its_old_file_removed(make_corpus: Corpus, tmp_path: Path) -> None:
    (tmp_path / "dependency_depth.txt").write_text("old", encoding="utf-8")
    sheet = build(make_corpus(0, 50), tmp_path, train=20, dev=4, test=4, tasks=["DepDepth", "BShif"])
    by_task = {one.task: one for one in sheet.tasks}
    assert by_task["DepDepth"].reason == "it needs dependency trees"
    assert not (tmp_path / "dependency_depth.txt").exists()
    assert by_task["BShif"].reason is None


def test_dependencies_give_the_counterparts() -> None:
    assert [task.name for task in choose_tasks(None, "dependencies")][2:4] == ["DepDepth", "RootDep"]
    assert [task.name for task in choose_tasks(["all"], "constituents")][2:4] == ["TrDep", "ToCo"]
    assert [task.name for task in choose_tasks(["Depth"], "dependencies")] == ["TrDep"]
    assert [task.name for task in choose_tasks(None, "words")] == ["SeLen", "WC", "BShif"]


def test_a_constituency_task_asked_of_dependencies_names_its_counterpart(tmp_path: Path) -> None:
    words = ParsedSentence(
        ("Go", "home", "now", ",", "Bob"), ("X",) * 5, None, (0, 1, 1, 1, 1), ("root",) + ("dep",) * 4
    )
    sheet = build([words], tmp_path, tasks=["TrDep", "Tense"])
    assert [one.reason for one in sheet.tasks] == [
        "it needs constituency trees; its counterpart here is DepDepth",
        "this treebank has no Tense feature",
    ]


def test_a_task_too_small_to_be_scored_is_not_built_and_the_reason_names_the_cause(
    make_corpus: Corpus, tmp_path: Path
) -> None:
    corpus = make_corpus(1, 2500)
    sheets = {one.task: one for one in build(corpus, tmp_path / "floor", tasks=["CoIn", "BShif"]).tasks}
    assert sheets["BShif"].reason is None
    assert (sheets["BShif"].size("te"), sheets["BShif"].size("tr") >= 1000) == (422, True)
    reason = sheets["CoIn"].reason
    assert reason is not None
    assert re.fullmatch(
        r"only \d+ training and \d+ test lines; a score needs 1000 and 385 \(--min-train, --min-test\); "
        r"left out: \d+ \(not two coordinate clauses\)",
        reason,
    )
    assert not (tmp_path / "floor" / "coordination_inversion.txt").exists()
    (small,) = build(corpus, tmp_path / "small", tasks=["CoIn"], min_train=10, min_test=10).tasks
    assert small.reason is None
    (asked,) = build(corpus, tmp_path / "asked", tasks=["CoIn"], train=200, dev=20, test=20).tasks
    assert asked.reason is None


@pytest.mark.parametrize(
    ("wanted", "asked", "floor"), [(None, 10_000, 385), (None, 385, 385), (None, 100, 50), (None, 1, 1), (7, 10_000, 7)]
)
def test_the_smallest_size_is_what_a_score_needs_or_half_of_what_is_asked_for(
    wanted: int | None, asked: int, floor: int
) -> None:
    assert choose_floor(wanted, 385, asked) == floor


def test_a_treebank_without_a_feature_is_the_reason(tmp_path: Path) -> None:
    words = ParsedSentence(
        *(("Dogs", "bark", "here", "now", "."), ("NOUN", "VERB", "ADV", "ADV", "PUNCT"), None, (2, 0, 2, 2, 2)),
        relations=("nsubj", "root", "advmod", "advmod", "punct"),
        features=({"Case": "Nom"}, {"Tense": "Pres", "VerbForm": "Fin"}, {}, {}, {}),
    )
    reasons = {one.task: one.reason for one in build([words] * 9, tmp_path, tasks=["Tense", "SubNm", "ObjNm"]).tasks}
    assert reasons == {
        "Tense": "no sentence with the label PAST",
        "SubNm": "this treebank has no Number feature",
        "ObjNm": "this treebank has no Number feature",
    }


@pytest.mark.parametrize(
    ("features", "reason"),
    [
        ({"Person": "3"}, "this treebank has no Mood feature, so that other moods look like the indicative"),
        ({}, "no sentence with the label PRES"),
        ({"Person": "3", "Mood": "Ind"}, "no sentence with the label PRES"),
    ],
)
def test_verbs_with_persons_and_no_mood_have_no_certain_tense(
    features: dict[str, str], reason: str, tmp_path: Path
) -> None:
    words = ParsedSentence(
        *(("Köpek", "burada", "dün", "havladı", "."), ("NOUN", "ADV", "ADV", "VERB", "PUNCT"), None, (4, 4, 4, 0, 4)),
        relations=("nsubj", "advmod", "advmod", "root", "punct"),
        features=({}, {}, {}, {"Tense": "Past", "VerbForm": "Fin", **features}, {}),
    )
    assert [one.reason for one in build([words] * 9, tmp_path, tasks=["Tense"]).tasks] == [reason]


def test_why_no_sentence_has_a_label(tmp_path: Path) -> None:
    corpus = [parse_tree(f"(S (NP (NNP B{n})) (VP (VBD saw) (NP (PRP it)) (ADVP (RB now))) (. .))") for n in range(9)]
    (sheet,) = build(corpus, tmp_path, tasks=["ObjNm"]).tasks
    assert sheet.reason == "no sentence with the label NN; left out: 9 (the object is no noun)"


def test_no_sentences_and_wrong_sizes_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ProbingError, match="there is no sentence to build from"):
        build([], tmp_path)
    with pytest.raises(ProbingError, match="--dev must be 1 or more. Got 0"):
        build([parse_tree("(NN x)")], tmp_path, dev=0)


def test_an_interruption_leaves_the_folder_as_it_was(make_corpus: Corpus, tmp_path: Path) -> None:
    output = tmp_path / "out"
    build(make_corpus(0, 100), output, train=20, dev=4, test=4, tasks=["BShif"])
    before = {path: path.read_bytes() for path in output.iterdir()}

    def interrupt(stage: str, done: int, total: int | None) -> None:
        if stage == "building (tasks)" and done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(make_corpus(1, 100), output, train=20, dev=4, test=4, tasks=["BShif,CoIn"], progress=interrupt)
    assert {path: path.read_bytes() for path in output.iterdir()} == before
    assert list(tmp_path.iterdir()) == [output]
