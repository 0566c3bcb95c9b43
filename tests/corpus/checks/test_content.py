"""One pass collects counts, an index of the sentences and the problems of a task file."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from probing.corpus.checks.content import MAX_PROBLEMS, TargetWords, read_content
from probing.tasks.table import get_task, own_task


def read(tmp_path: Path, text: str | bytes, task: str = "Tense"):  # type: ignore[no-untyped-def]
    path = tmp_path / "file.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_content(path, get_task(task))


def test_counts_and_first_lines(tmp_path: Path) -> None:
    content = read(tmp_path, "tr\tPAST\ta b\nva\tPRES\tc\ntr\tPAST\td e\n")
    assert content.counts == {"tr": {"PAST": 2}, "va": {"PRES": 1}, "te": {}}
    assert content.sizes == {("PAST", 2): 2, ("PRES", 1): 1}
    assert content.first_lines == {("tr", "PAST"): 1, ("va", "PRES"): 2}
    assert content.first_lines_by_size == {("PAST", 2): 1, ("PRES", 1): 2}
    assert (content.problems, content.read_to_end) == ([], True)
    assert content.index.numbers.tolist() == [1, 2, 3]


def test_problems_are_kept_up_to_a_limit_and_the_good_lines_counted(tmp_path: Path) -> None:
    content = read(tmp_path, "tr\tA\tx\n" + "broken\n" * (MAX_PROBLEMS + 7) + "tr\tA\ty\n")
    assert len(content.problems) == MAX_PROBLEMS
    assert content.problem_count == MAX_PROBLEMS + 7
    assert content.problems[0].endswith("file.txt:2: expected 3 tab-separated fields, got 1")
    assert content.counts["tr"] == {"A": 2}


def test_bytes_that_are_no_text_end_the_reading(tmp_path: Path) -> None:
    content = read(tmp_path, b"tr\tA\tx\ntr\tA\t\xff\ntr\tA\ty\n")
    assert not content.read_to_end
    assert "file.txt:2: not UTF-8" in content.problems[0]
    assert content.problems[0].endswith("The rest was not read")


def test_target_words_occur_once_in_every_sentence_of_their_label_only() -> None:
    words = TargetWords()
    for label, sentence in [
        ("1", "The Cat sleeps ."),
        ("1", "a cat runs ."),
        ("2", "the dog runs ."),
        ("2", "my dog ."),
    ]:
        words.observe(label, sentence.split())
    assert words.candidates == {"1": {"cat", "."}, "2": {"dog", "."}}
    assert words.can_be_target("cat", 2)
    assert not words.can_be_target(".", 2)


LINES = st.lists(
    st.tuples(st.sampled_from(["tr", "va", "te"]), st.sampled_from("AB"), st.lists(st.sampled_from("xyz"), min_size=1)),
    max_size=30,
)


@settings(max_examples=50)
@given(lines=LINES)
def test_every_line_is_counted_once(tmp_path_factory, lines) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path_factory.mktemp("content") / "own.txt"
    path.write_text("".join(f"{split}\t{label}\t{' '.join(words)}\n" for split, label, words in lines))
    content = read_content(path, own_task(path))
    assert sum(counts.total() for counts in content.counts.values()) == content.sizes.total() == len(lines)
