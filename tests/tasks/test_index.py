from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from probing.errors import ProbingError
from probing.storage.cache import cache_folder
from probing.storage.files import hash_file
from probing.tasks import index as dataset
from probing.tasks.batches import UNKNOWN, PackedSplit
from probing.tasks.index import index_file, load_task
from probing.tasks.task_file import MAX_TOKENS, SPLITS, iterate_lines, read_task_file

GOOD = ["tr\tA\ta b", "va\tA\ta", "te\tA\tb"]
QUICK = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda word: [word] == word.split())
labels = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\r\n"), min_size=1).filter(str.strip)


@st.composite
def instances(draw):
    """Return (split, label, tokens) triples of a sound task file, in any order."""
    known = draw(st.lists(labels, min_size=1, max_size=3, unique=True))
    rows = [("tr", label) for label in known]
    rows += [(split, draw(st.sampled_from(known))) for split in ("va", "te")]
    rows += draw(st.lists(st.tuples(st.sampled_from(list(SPLITS)), st.sampled_from(known)), max_size=5))
    rows = draw(st.permutations(rows))
    return [(split, label, draw(st.lists(words, min_size=1, max_size=4))) for split, label in rows]


def error_of(path):
    """Return the text after the path: reading and loading agree on it."""
    texts = set()
    for read in (read_task_file, load_task):
        with pytest.raises(ProbingError) as caught:
            read(path)
        texts.add(str(caught.value))
    (text,) = texts
    assert text.startswith(f"{path}:")
    return text.removeprefix(f"{path}:")


def same(left, right):
    """Compare two indexed tasks, whose arrays have no truth value."""
    assert (left.sha256, left.blob, left.labels, left.words) == (right.sha256, right.blob, right.labels, right.words)
    assert np.array_equal(left.frequencies, right.frequencies)
    for name in SPLITS:
        for part in ("tokens", "offsets", "labels"):
            one, other = getattr(left.splits[name], part), getattr(right.splits[name], part)
            assert one.dtype == other.dtype == (np.int32 if part == "tokens" else np.int64)
            assert np.array_equal(one, other)
    return True


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("tr\tA", "expected 3 tab-separated fields, got 2"),
        ("tr A a b", "expected 3 tab-separated fields, got 1"),
        ("tr\tA\ta\tb", "expected 3 tab-separated fields, got 4"),
        ("", "expected 3 tab-separated fields, got 1"),
        ("   ", "expected 3 tab-separated fields, got 1"),
        ("tr\tA\ta\rva\tA\tb", "expected 3 tab-separated fields, got 5"),
        ("dev\tA\ta", "unknown split 'dev'. Allowed: tr, va, te"),
        ("TR\tA\ta", "unknown split 'TR'. Allowed: tr, va, te"),
        ("tr \tA\ta", "unknown split 'tr '. Allowed: tr, va, te"),
        ("\tA\ta", "unknown split ''. Allowed: tr, va, te"),
        ("\ufefftr\tA\ta", "unknown split '\\ufefftr'. Allowed: tr, va, te"),
        ("t\0r\tA\ta", "unknown split 't\\x00r'. Allowed: tr, va, te"),
        ("tr\t\ta", "empty label"),
        ("tr\t  \ta", "empty label"),
        ("tr\tA\t", "empty sentence"),
        ("tr\tA\t   ", "empty sentence"),
        ("tr\tA\t\r", "empty sentence"),
        ("tr\tA\t\u2028\x85\xa0", "empty sentence"),
        ("va\tB\ta", "label 'B' of split va does not occur in tr"),
        ("te\tA \ta", "label 'A ' of split te does not occur in tr"),
    ],
)
def test_a_bad_line_is_named_with_its_number(task_file, line, text):
    for number in (2, 3, 4):  # line 1 is the one that a byte order mark would be allowed in
        path = task_file([*GOOD[: number - 1], line, *GOOD[number - 1 :]])
        assert error_of(path) == f"{number}: {text}"


def test_the_first_bad_line_is_named(task_file):
    assert error_of(task_file([*GOOD, "tr\tA", "xx\tA\ta"])) == "4: expected 3 tab-separated fields, got 2"
    assert error_of(task_file(["te\tC\ta", "va\tB\ta", *GOOD])) == "1: label 'C' of split te does not occur in tr"


@pytest.mark.parametrize(
    ("left", "text"),
    [
        (["tr", "va"], "te"),
        (["tr", "te"], "va"),
        (["va", "te"], "tr"),
        (["va"], "tr, te"),
    ],
)
def test_a_missing_split(task_file, left, text):
    path = task_file([line for line in GOOD if line[:2] in left])
    assert error_of(path) == f" no line of split {text}. All of tr, va, te are needed"


def test_an_empty_file(task_file):
    expected = " the file is empty. Expected lines of split <TAB> label <TAB> tokens"
    assert error_of(task_file(b"")) == expected


@pytest.mark.parametrize("content", [b"\n\n", b"\r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_a_file_of_blank_lines(task_file, content):
    assert error_of(task_file(content)) == "1: expected 3 tab-separated fields, got 1"


@pytest.mark.parametrize(
    ("line", "where"),
    [
        (b"tr\tA\tcaf\xe9 au lait", "byte 0xe9 at column 9"),
        (b"\xff\xfet\x00r\x00", "byte 0xff at column 1"),
        (b"tr\tA\t\xed\xa0\x80", "byte 0xed at column 6"),
        (b"tr\tA\t\xc0\xaf", "byte 0xc0 at column 6"),
        (b"tr\tA\tend \xe2\x82", "byte 0xe2 at column 10"),
    ],
)
def test_a_file_that_is_not_utf8(task_file, line, where):
    content = "\n".join(GOOD).encode() + b"\n" + line + b"\n"
    assert error_of(task_file(content)) == f"4: not UTF-8 ({where}). Save the file as UTF-8"
    for start in (b"", b"\xef\xbb\xbf"):
        assert error_of(task_file(start + line)).startswith(f"1: not UTF-8 ({where})")


def test_a_file_that_cannot_be_read(tmp_path, task_file, monkeypatch):
    assert error_of(tmp_path / "no.txt") == " cannot be read (No such file or directory)"
    assert error_of(tmp_path) == " cannot be read (Is a directory)"
    os.mkfifo(tmp_path / "pipe")
    assert error_of(tmp_path / "pipe") == " cannot be read (not a regular file)"
    path = task_file()
    path.chmod(0)
    if os.access(path, os.R_OK):  # root reads everything

        def refuse(*args):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(os, "open", refuse)
    assert error_of(path) == " cannot be read (Permission denied)"


def test_a_sound_file(task_file):
    path = task_file(["te\tB\tb  c ", "tr\tB\tx", "tr\tA\ta b", "va\tA\ta", "tr\tB\ty"])
    data = read_task_file(path)
    assert data.path == path
    assert data.labels == ["A", "B"]
    assert data.splits["tr"].sentences == [["x"], ["a", "b"], ["y"]]
    assert data.splits["tr"].labels == ["B", "A", "B"]
    assert data.splits["va"].sentences == [["a"]]
    assert data.splits["te"].sentences == [["b", "c"]]


@pytest.mark.parametrize(
    "content",
    [
        "\r\n".join(GOOD) + "\r\n",
        "\n".join(GOOD),
        "\r\n".join(GOOD),
        "\ufeff" + "\n".join(GOOD) + "\n",
        "\ufeff" + "\r\n".join(GOOD),
    ],
    ids=["CRLF", "no final newline", "CRLF and no final newline", "BOM", "BOM and CRLF"],
)
def test_line_ends_and_byte_order_marks_make_no_difference(task_file, content):
    path = task_file(content.encode())
    assert list(iterate_lines(path)) == list(enumerate(GOOD, 1))
    assert read_task_file(path).splits == read_task_file(task_file(GOOD, "other.txt")).splits


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e"])
def test_only_newlines_end_lines(task_file, separator):
    path = task_file([f"tr\tA\ta{separator}b", *GOOD])
    assert [number for number, _ in iterate_lines(path)] == [1, 2, 3, 4]
    assert read_task_file(path).splits["tr"].sentences[0] == ["a", "b"]


def test_nul_bytes_are_characters_like_others(task_file):
    path = task_file(["tr\tA\0\ta\0b c", "va\tA\0\tc", "te\tA\0\t\0"])
    assert read_task_file(path).splits["tr"].sentences == [["a\0b", "c"]]
    same(load_task(path), load_task(path))


def test_while_a_file_is_read_its_share_is_told(task_file, monkeypatch):
    monkeypatch.setattr(dataset, "LINES_BETWEEN_SHARES", 2)
    path, shares = task_file(), list[float]()
    load_task(path, shares.append)
    assert len(shares) == len(path.read_text(encoding="utf-8").splitlines()) // 2
    assert shares == sorted(shares)
    assert 0 < shares[0] <= shares[-1] <= 1
    load_task(path, shares.append)
    assert len(shares) == len(path.read_text(encoding="utf-8").splitlines()) // 2, "the index is in the cache"


def test_very_long_words_and_sentences(task_file):
    long = "w" * 1_000_000
    path = task_file([f"tr\tA\t{long} " + "x " * (MAX_TOKENS - 1), *GOOD])
    tokens = read_task_file(path).splits["tr"].sentences[0]
    assert tokens[0] == long
    assert len(tokens) == MAX_TOKENS
    for count in (MAX_TOKENS + 1, 1_000_000):
        path = task_file([*GOOD, "tr\tA\t" + "x " * count])
        assert error_of(path) == "4: a sentence of more than 10,000 tokens. Split it or leave it out"


@given(instances(), st.sampled_from(["\n", "\r\n"]), st.booleans())
@QUICK
def test_what_is_written_is_read(tmp_path, rows, newline, final):
    path = tmp_path / "task.txt"
    lines = ["\t".join([split, label, " ".join(tokens)]) for split, label, tokens in rows]
    path.write_bytes((newline.join(lines) + newline * final).encode())
    data = read_task_file(path)
    for name in SPLITS:
        assert data.splits[name].sentences == [tokens for split, _, tokens in rows if split == name]
        assert data.splits[name].labels == [label for split, label, _ in rows if split == name]
    task = index_file(path)
    for name in SPLITS:
        packed = task.splits[name]
        numbers = np.split(packed.tokens, packed.offsets[1:-1])
        assert [[task.words[i - 1] for i in sentence] for sentence in numbers] == data.splits[name].sentences
        assert [task.labels[i] for i in packed.labels] == data.splits[name].labels
    same(load_task(path), task)
    same(load_task(path), task)


@given(st.binary(max_size=80) | st.lists(st.sampled_from([b"tr", b"va", b"te", b"\t", b"\n", b"A", b" ", b"\xff"])))
@QUICK
def test_any_bytes_are_read_or_refused(tmp_path, content):
    path = tmp_path / "task.txt"
    path.write_bytes(content if isinstance(content, bytes) else b"".join(content))
    data, problem = None, ""
    try:
        data = read_task_file(path)
    except ProbingError as error:
        problem = str(error)
    assert (data is None) == problem.startswith(f"{path}:")
    assert "\n" not in problem
    assert data is None or all(split.labels for split in data.splits.values())


@pytest.mark.parametrize("content", [b"", b"a\n", b"\r\n\0" * 700_000])
def test_the_hashes_are_sha256_and_gits(task_file, content):
    path = task_file(content)
    sha256, blob = hash_file(path)
    assert sha256 == hashlib.sha256(content).hexdigest()
    assert blob == hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    if shutil.which("git"):
        command = ["git", "hash-object", "--no-filters", path]
        assert blob == subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def indexed(task_file):
    lines = ["tr\tB\td a b a", "tr\tB\ta b", "tr\tA\tc", "va\tA\tz a", "te\tB\ty z d", "te\tA\ta"]
    return index_file(task_file(lines))


def test_words_are_numbered_by_falling_frequency_then_by_alphabet(indexed):
    assert indexed.words == ("a", "b", "c", "d", "y", "z")
    assert indexed.frequencies.tolist() == [3, 2, 1, 1]
    assert indexed.splits["tr"].tokens.tolist() == [4, 1, 2, 1, 1, 2, 3]
    assert indexed.splits["tr"].offsets.tolist() == [0, 4, 6, 7]
    assert indexed.splits["te"].tokens.tolist() == [5, 6, 4, 1]


def test_labels_are_numbered_by_alphabet(indexed):
    assert indexed.labels == ("A", "B")
    assert indexed.splits["tr"].labels.tolist() == [1, 1, 0]
    assert indexed.class_counts("tr").tolist() == [1, 2]
    assert indexed.class_counts("va").tolist() == [1, 0]


def test_the_majority_is_that_of_the_training_split(indexed):
    assert indexed.majority_class == 1
    assert indexed.majority_accuracy("tr") == pytest.approx(200 / 3)
    assert indexed.majority_accuracy("va") == 0.0
    assert indexed.majority_accuracy("te") == 50.0


@pytest.mark.parametrize(
    ("min_frequency", "max_vocabulary", "size"),
    [(1, 50_000, 5), (2, 50_000, 3), (3, 50_000, 2), (4, 50_000, 1), (1, 3, 4), (1, 1, 2), (2, 1, 2)],
)
def test_the_vocabulary_has_limits(indexed, min_frequency, max_vocabulary, size):
    assert indexed.vocabulary_size(min_frequency=min_frequency, max_vocabulary=max_vocabulary) == size
    for name in SPLITS:
        everything = np.arange(len(indexed.splits[name]))
        limited, whole = indexed.limit(name, size).batch(everything), indexed.splits[name].batch(everything)
        assert limited.tokens.max() < size
        kept = limited.tokens != UNKNOWN
        assert (limited.tokens[kept] == whole.tokens[kept]).all()
        assert (whole.tokens[~kept] >= size).all()
        assert limited.lengths.tolist() == whole.lengths.tolist()
        assert limited.labels.tolist() == whole.labels.tolist()


def test_words_outside_the_training_split_are_always_unknown(indexed):
    size = indexed.vocabulary_size(min_frequency=1, max_vocabulary=50_000)
    (test,), (dev,) = (list(indexed.limit(name, size).batches(2)) for name in ("te", "va"))
    assert test.tokens.tolist() == [0, 0, 4, 1]
    assert dev.tokens.tolist() == [0, 1]


def pack(sentences):
    lengths = [len(sentence) for sentence in sentences]
    return PackedSplit(
        tokens=np.array([token for sentence in sentences for token in sentence], np.int64),
        offsets=np.cumsum([0, *lengths]),
        labels=np.arange(len(sentences)) % 3,
    )


sentence_lists = st.lists(st.lists(st.integers(1, 99), min_size=1, max_size=6), min_size=1, max_size=12)


@given(sentence_lists, st.data())
@QUICK
def test_a_packed_batch_is_the_sentences_end_to_end(sentences, data):
    split = pack(sentences)
    chosen = data.draw(st.lists(st.integers(0, len(sentences) - 1), min_size=1))
    batch = split.batch(np.array(chosen))
    assert batch.tokens.tolist() == [token for i in chosen for token in sentences[i]]
    assert batch.rows.tolist() == [row for row, i in enumerate(chosen) for _ in sentences[i]]
    assert batch.positions.tolist() == [place for i in chosen for place in range(len(sentences[i]))]
    assert batch.lengths.tolist() == [len(sentences[i]) for i in chosen]
    assert batch.labels.tolist() == [i % 3 for i in chosen]


@given(sentence_lists, st.integers(1, 15), st.booleans(), st.randoms(use_true_random=False))
@QUICK
def test_batches_have_every_sentence_once(sentences, batch_size, shuffled, random):
    split = pack(sentences)
    order = list(range(len(sentences)))
    if shuffled:
        random.shuffle(order)
    batches = list(split.batches(batch_size, np.array(order) if shuffled else None))
    assert [len(batch.labels) for batch in batches[:-1]] == [batch_size] * (len(batches) - 1)
    assert 1 <= len(batches[-1].labels) <= batch_size
    found = [part.tolist() for batch in batches for part in np.split(batch.tokens, np.cumsum(batch.lengths)[:-1])]
    assert found == [sentences[i] for i in order]
    assert np.concatenate([batch.labels for batch in batches]).tolist() == [i % 3 for i in order]


def test_a_batch_can_be_written_to(task_file):
    """Arrays from the cache are read-only views of its files; torch wants memory of its own."""
    path = task_file()
    load_task(path)
    task = load_task(path)
    batch = next(task.limit("tr", 3).batches(2))
    assert all(getattr(batch, name).flags.writeable for name in batch.__slots__)


def test_a_second_load_takes_the_index_from_the_cache(task_file, monkeypatch):
    path = task_file()
    first = load_task(path)
    monkeypatch.setattr(dataset, "index_file", lambda path: pytest.fail("the file was read again"))
    assert same(load_task(path), first)


def test_the_same_content_elsewhere_is_the_same_index_with_its_own_path(task_file):
    load_task(task_file())
    other = task_file(name="elsewhere/other.txt")
    assert load_task(other).path == other
    assert len(list(cache_folder("tasks").iterdir())) == 1


def test_a_changed_file_has_another_index(task_file):
    first = load_task(task_file())
    second = load_task(task_file([*GOOD, "tr\tC\tnew"]))
    assert first.sha256 != second.sha256
    assert "new" in second.words


def test_a_file_that_changes_while_it_is_read_is_not_cached(task_file, monkeypatch):
    path = task_file()
    index = index_file

    def change_and_index(path, on_share):
        task_file(GOOD)
        return index(path)

    monkeypatch.setattr(dataset, "index_file", change_and_index)
    with pytest.raises(ProbingError) as caught:
        load_task(path)
    assert str(caught.value) == f"{path}: the file changed while it was read. Try again when it is complete"
    assert not cache_folder("tasks").exists()


def empty(path):
    path.write_bytes(b"")


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def shorten(path):
    """Leave a sound file with too little in it."""
    if path.suffix != ".json":
        path.write_bytes(path.read_bytes()[:-8])
    else:
        content = json.loads(path.read_text())
        path.write_text(json.dumps(dict(list(content.items())[:1])))


def replace(path):
    if path.suffix != ".json":
        np.ones((2, 2)).tofile(path)
    else:
        path.write_text("[]")


def make_negative(path):
    if path.suffix != ".json":
        (-np.fromfile(path, np.int32 if "tokens" in path.name else np.int64) - 1).tofile(path)
    else:
        path.write_text("{}")


def remove(path):
    path.unlink()


def zero(path):
    path.write_bytes(bytes(path.stat().st_size))


@pytest.mark.parametrize("damage", [empty, cut, shorten, replace, make_negative, remove, zero])
def test_a_damaged_cache_is_made_again(task_file, damage):
    path = task_file()
    first = index_file(path)  # in memory of its own, unlike what comes from the cache that is damaged
    load_task(path)
    (folder,) = cache_folder("tasks").iterdir()
    files = sorted(folder.iterdir())
    assert len(files) == 12
    for file in files:
        damage(file)
        assert same(load_task(path), first), file.name
        assert same(load_task(path), first), file.name
        assert sorted(folder.iterdir()) == files


def test_a_cache_that_cannot_be_written_costs_nothing_else(task_file, cache_home, monkeypatch):
    path = task_file()
    first = load_task(path)
    blocked = cache_home / "a file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert same(load_task(path), first)
    assert blocked.read_text() == "not a folder"


def test_a_bad_file_is_not_cached(task_file):
    with pytest.raises(ProbingError):
        load_task(task_file(["tr\tA"]))
    assert not cache_folder("tasks").exists()
