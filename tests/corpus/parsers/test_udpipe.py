"""UDPipe, with a model that is trained on sentences of the embedded grammar: raw text becomes tasks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import cli
from probing.corpus.parsers import parses, udpipe
from probing.errors import ProbingError
from tests.corpus.parsers.treebank import make_conllu, make_text

SMALL = ["--train", "40", "--dev", "8", "--test", "8"]
TOKENIZER = "dimension=16;epochs=4;batch_size=50;segment_size=30;learning_rate=0.01"
TAGGER = "models=1;iterations=2;templates_1=tagger;guesser_enrich_dictionary_1=3"
PARSER = (
    "iterations=2;embedding_upostag=10;embedding_feats=0;embedding_form=20;embedding_deprel=10;learning_rate=0.02;"
    "learning_rate_final=0.001;use_gold_tags=1;hidden_layer=40;batch_size=10;transition_system=projective;"
    "transition_oracle=static;structured_interval=0"
)


def train(path: Path) -> None:
    from ufal.udpipe import InputFormat, ProcessingError, Sentence, Sentences, Trainer

    reader, sentences, error = InputFormat.newConlluInputFormat(), Sentences(), ProcessingError()
    reader.setText(make_conllu(0, 200))
    while reader.nextSentence(sentence := Sentence(), error):
        sentences.append(sentence)
    model = Trainer.train("morphodita_parsito", sentences, Sentences(), TOKENIZER, TAGGER, PARSER, error)
    assert not error.occurred(), error.message
    path.write_bytes(model)


def build(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli.main, ["data", "build", *map(str, arguments), *SMALL])
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.slow
def test_raw_text_becomes_tasks_and_is_parsed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(parses, "cache_folder", lambda kind: tmp_path / "cache" / kind)
    model, text = tmp_path / "grammar.udpipe", tmp_path / "novel.txt"
    train(model)
    text.write_text(make_text(7, 900), encoding="utf-8")
    code, out, err = build("--text", text, "--parser", f"udpipe:{model}", "--output", tmp_path / "one")
    assert (code, err) == (0, "")
    sheet = json.loads((tmp_path / "one" / "datasheet.json").read_text(encoding="utf-8"))
    assert sheet["source"]["parser"].startswith("udpipe ")
    assert sheet["corpus"]["trees"] == "dependencies"
    assert abs(sheet["corpus"]["sentences"] - 900) < 60, "nearly all sentences are split as the grammar wrote them"
    built = [task["task"] for task in sheet["tasks"] if task["reason"] is None]
    assert {"SeLen", "BShif", "DepDepth", "Tense", "SubNm", "ObjNm", "SOMO"} <= set(built)
    kept = sorted((tmp_path / "cache").rglob("*.conllu.gz"))
    assert len(kept) > 1

    monkeypatch.setattr(udpipe, "load", lambda name: pytest.fail("the text is parsed again"))
    parses.load_parser.cache_clear()
    again = build("--text", text, "--parser", f"udpipe:{model}", "--output", tmp_path / "two")
    assert again == (0, out.replace(str(tmp_path / "one"), str(tmp_path / "two")), "")
    capfd.readouterr()  # UDPipe prints its training


def test_a_file_that_is_no_model_is_one_line(tmp_path: Path) -> None:
    model = tmp_path / "x.udpipe"
    model.write_bytes(b"not a model")
    with pytest.raises(ProbingError, match="x.udpipe: not a model of UDPipe 1"):
        udpipe.load(str(model))
