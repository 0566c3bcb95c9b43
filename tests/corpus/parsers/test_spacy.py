"""spaCy, with a pipeline that is trained on sentences of the embedded grammar: raw text becomes tasks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import cli
from probing.corpus.parsers import spacy
from probing.corpus.readers import parse_lines
from probing.errors import ProbingError
from tests.corpus.parsers.treebank import make_conllu, make_text


def train(folder: Path) -> None:
    """Train a morphologiser and a parser on documents of three sentences, and write the pipeline to a folder."""
    from spacy import blank
    from spacy.tokens import Doc
    from spacy.training import Example

    pipeline = blank("en")
    for part in ("morphologizer", "parser"):
        pipeline.add_pipe(part)
    documents = []
    for sentence in parse_lines(Path("x"), enumerate(make_conllu(0, 300).splitlines(keepends=True), 1), "conllu"):
        assert sentence.heads is not None
        assert sentence.relations is not None
        documents.append(
            Doc(
                pipeline.vocab,
                words=list(sentence.tokens),
                heads=[head - 1 if head else place for place, head in enumerate(sentence.heads)],
                deps=["ROOT" if relation == "root" else relation for relation in sentence.relations],
                pos=list(sentence.tags),
                morphs=["|".join(f"{k}={v}" for k, v in found.items()) for found in sentence.features or ()],
            )
        )
    gold = [Doc.from_docs(documents[i : i + 3]) for i in range(0, len(documents), 3)]
    examples = [Example(Doc(pipeline.vocab, words=[token.text for token in each]), each) for each in gold if each]
    optimizer = pipeline.initialize(lambda: examples)
    for _ in range(6):
        for start in range(0, len(examples), 10):
            pipeline.update(examples[start : start + 10], sgd=optimizer)
    pipeline.to_disk(folder)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_raw_text_becomes_tasks_in_several_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    model, text = tmp_path / "model", tmp_path / "novel.txt"
    train(model)
    text.write_text(make_text(7, 1200), encoding="utf-8")
    sizes = ["--train", "40", "--dev", "8", "--test", "8"]
    for jobs in (2, 1):
        output = tmp_path / str(jobs)
        options = ["--text", text, "--parser", f"spacy:{model}", "--output", output, "--jobs", jobs, *sizes]
        result = CliRunner().invoke(cli.main, ["data", "build", *map(str, options)])
        assert (result.exit_code, result.stderr) == (0, "")
    sheet = json.loads((tmp_path / "1" / "datasheet.json").read_text(encoding="utf-8"))
    assert sheet["source"]["parser"].startswith("spacy ")
    assert {"SeLen", "BShif", "Tense"} <= {task["task"] for task in sheet["tasks"] if task["reason"] is None}
    files = {path.name: path.read_bytes() for path in (tmp_path / "1").iterdir()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "2").iterdir()} == files
    assert len(list((tmp_path / "cache").rglob("*.conllu.gz"))) > 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_spaces_are_left_out_of_a_sentence() -> None:
    from spacy.tokens import Doc
    from spacy.vocab import Vocab

    words, heads = ["\n", "Dogs", " ", "bark", "!"], [1, 3, 1, 3, 3]
    deps = ["", "nsubj", "", "ROOT", "punct"]
    document = Doc(Vocab(), words=words, heads=heads, deps=deps, pos=["SPACE", "NOUN", "SPACE", "VERB", "PUNCT"])
    found = [(word.form, word.head, word.relation) for word in spacy.read_words(document[:])]
    assert found == [("Dogs", 2, "nsubj"), ("bark", 0, "root"), ("!", 2, "punct")]


def test_a_folder_that_is_no_model_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with pytest.raises(ProbingError, match=r"--parser spacy:.*x: cannot be loaded \(.*\). Is it a model of spaCy 3\?"):
        spacy.load(str(tmp_path / "x"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_a_model_without_a_parser_is_one_line(tmp_path: Path) -> None:
    from spacy import blank

    blank("en").to_disk(tmp_path / "x")
    with pytest.raises(ProbingError, match="the model has no parser. Name one that has"):
        spacy.load(str(tmp_path / "x"))
