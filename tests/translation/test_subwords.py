"""Subwords: deterministic training, text that comes back exactly, and models that cannot be used are refused."""

from __future__ import annotations

import hashlib
import pickle
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probing.errors import ProbingError
from probing.translation import subwords as module
from probing.translation.subwords import BEGIN, END, Subwords, read_subwords, sample_evenly, train_subwords
from tests.tasks.instances import QUICK
from tests.translation.toy import WORDS, translate

SENTENCES = [f"{one} {two} {three}." for one, two, three in zip(WORDS, WORDS[7:], WORDS[20:], strict=False)]
TEXTS = [*SENTENCES, *map(translate, SENTENCES)]
ODD = [
    "",
    " ",
    "   ",
    " leading and trailing  ",
    "a\ttab,  two spaces, a no-break\u00a0space, \u3000 and \u200b",
    "ﬁ ½ ＡＢＣ e\u0301 \u0301",
    "中文和日本語 العربية \u202eעברית 👩‍👩‍👧 \U0010ffff",
    "<s> </s> <unk> <0x41> <0x0A> ⁇",
    "\ufeff\u2028\u2029\x85\x0b\0\r",
    "▁ ▅ a▁b▁▁c ▁",
    "▁".join(module.STAND_INS[:5]),
]


def train(sentences: list[str], *, size: int = 500, coverage: float = 0.9999) -> bytes:
    return train_subwords(sentences, vocabulary_size=size, character_coverage=coverage)


@pytest.fixture(scope="module")
def model() -> bytes:
    return train(TEXTS)


@pytest.fixture(scope="module")
def subwords(model: bytes) -> Subwords:
    return Subwords(model)


def test_text_becomes_few_ids(subwords):
    ids = subwords.encode(SENTENCES)
    assert subwords.size <= 500
    assert {BEGIN, END, 0}.isdisjoint(token for line in ids for token in line)
    assert max(map(len, ids)) <= 8
    assert max(map(max, ids)) < subwords.size
    assert subwords.decode(ids) == SENTENCES
    assert subwords.encode(tuple(SENTENCES)) == ids
    assert subwords.decode(tuple(map(tuple, ids))) == SENTENCES
    assert subwords.encode([]) == subwords.decode([]) == []


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n")) | st.sampled_from(ODD)))
@QUICK
def test_any_line_comes_back(subwords, lines):
    ids = subwords.encode(lines)
    assert subwords.decode(ids) == lines
    assert all(0 not in line for line in ids), "nothing is unknown"
    assert [subwords.encode([line])[0] for line in lines] == ids, "a line does not depend on its neighbours"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n")), min_size=1))
@QUICK
def test_any_text_can_be_trained_on(lines):
    try:
        trained = Subwords(train(lines, size=5000))
    except ProbingError as error:
        assert str(error) == "no subwords can be made: the training text has no sentence"  # noqa: PT017
        assert not any(line.replace("▁", "").replace("▅", "").strip() for line in lines)
    else:
        assert trained.decode(trained.encode([*lines, *ODD])) == [*lines, *ODD]


def test_a_translation_is_one_line(subwords):
    spelled = subwords._bytes[ord("\n")]
    assert subwords.decode([[*subwords.encode(["a"])[0], spelled, END], [BEGIN, END], []]) == ["a ", "", ""]


def test_training_is_the_same_in_every_process(model, tmp_path):
    (tmp_path / "text").write_text("\n".join(TEXTS))
    code = (
        "import hashlib, sys; from probing.translation.subwords import train_subwords;"
        "lines = open(sys.argv[1]).read().split(chr(10));"
        "model = train_subwords(lines, vocabulary_size=500, character_coverage=0.9999);"
        "print(hashlib.sha256(model).hexdigest())"
    )
    for _ in range(2):
        ran = subprocess.run(
            [sys.executable, "-c", code, tmp_path / "text"], capture_output=True, text=True, check=True
        )
        assert ran.stdout.strip() == hashlib.sha256(model).hexdigest()
        assert ran.stderr == "", "training is quiet"


def test_a_small_text_has_fewer_subwords():
    assert Subwords(train(["a b"], size=32_000)).size == 3 + 256 + len(["_", "a", "b", "_a", "_b"])
    assert Subwords(train(TEXTS, size=300)).size == 300


def test_too_many_characters_are_an_error_with_a_way_out():
    text = ["".join(map(chr, range(0x4E00, 0x4E00 + 100)))]
    with pytest.raises(ProbingError) as error:
        train(text, size=300, coverage=1.0)
    assert str(error.value) == (
        "subwords.vocabulary_size=300 is too small: the characters of the training text need 360. "
        "Choose a larger one, or a smaller subwords.character_coverage"
    )
    assert Subwords(train(text, size=360, coverage=1.0)).size == 360


def test_rare_characters_are_spelled_as_bytes():
    rare = Subwords(train([*TEXTS, "ß"], coverage=0.99))
    assert rare.encode(["ß"])[0][-2:] == [rare._bytes[byte] for byte in "ß".encode()]
    assert len(Subwords(train([*TEXTS, "ß"], coverage=1.0)).encode(["ß"])[0]) <= 2


def test_long_sentences_are_trained_on_by_their_beginning(monkeypatch):
    monkeypatch.setattr(module, "MAX_CHARACTERS", 4)
    assert train(["abcdefgh" * 9]) == train(["abcd"])


def test_errors_of_the_text_are_not_lost():
    def sentences(problem):
        yield "a sentence"
        raise problem

    for problem in (ProbingError("text:2: not UTF-8"), KeyboardInterrupt()):
        with pytest.raises(type(problem)) as error:
            train_subwords(sentences(problem), vocabulary_size=300, character_coverage=1.0)
        assert error.value is problem


@given(st.integers(1, 60), st.integers(1, 70))
@QUICK
def test_samples_are_even(total, limit):
    chosen = [int(text) for text in sample_evenly(map(str, range(total)), total, limit)]
    assert len(chosen) == min(total, limit)
    gaps = {after - before for before, after in pairwise(chosen)}
    assert not gaps or max(gaps) - min(gaps) <= 1
    assert chosen[0] == 0


def test_a_model_can_be_sent_and_read_from_a_file(subwords, tmp_path):
    (tmp_path / "source.model").write_bytes(subwords.model)
    for other in (pickle.loads(pickle.dumps(subwords)), read_subwords(tmp_path / "source.model")):  # noqa: S301
        assert other.model == subwords.model
        assert other.encode(TEXTS) == subwords.encode(TEXTS)


def test_a_damaged_model_is_refused(model, tmp_path):
    path = tmp_path / "source.model"
    expected = f"{path}: not a subword model of this program, or damaged. Train again, or restore the file"
    spelled = model.index(b"<0x41>")
    damages = {
        "empty": b"",
        "text": b"a text\n",
        "cut": model[: len(model) // 2],
        "begin": model.replace(b"<s>", b"<t>"),
        "byte": model[:spelled] + b"<0xZZ>" + model[spelled + 6 :],
        "letters": model.replace(b"\xe2\x96\x81ba", b"\xe2\x96\xffba"),
        "spaces": model.replace(b"identity\x12\x00 \x00", b"identity\x12\x00 \x01"),
        "longer": model + b"\n",
    }
    for damage, content in damages.items():
        path.write_bytes(content)
        with pytest.raises(ProbingError) as error:
            read_subwords(path)
        assert str(error.value) == expected, damage
    with pytest.raises(ProbingError, match="^the subword model: not a subword model of this program, or damaged"):
        Subwords(b"")


def test_a_file_that_is_no_model_is_not_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_MODEL", 1 << 20)
    (tmp_path / "large").write_bytes(bytes((1 << 20) + 1))
    with pytest.raises(ProbingError) as error:
        read_subwords(tmp_path / "large")
    assert str(error.value) == f"{tmp_path / 'large'}: more than 1 MiB. Is it the right file?"
    with pytest.raises(ProbingError, match=r"cannot be read \(Is a directory\)"):
        read_subwords(Path(tmp_path))


def test_a_model_of_another_kind_is_refused():
    import io

    import sentencepiece

    other = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS), model_writer=other, vocab_size=100, minloglevel=3
    )
    with pytest.raises(ProbingError, match="not a subword model of this program"):
        Subwords(other.getvalue())
