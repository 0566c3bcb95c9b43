"""`probe translate` as a user has it: training on a toy language, text in and out, resuming, processes, mistakes."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from filelock import FileLock

import cli
from probing.corpus.parallel import prepare_parallel
from probing.results import Record, read_record, translator_folder
from probing.translation.phenomena import judge_translations
from tests.translation.toy import translate, write_toy_corpus

Probe = Callable[..., tuple[int, str, str]]

SMALL = {
    "model.num_layers": 1,
    "model.model_dim": 64,
    "model.feed_forward_dim": 128,
    "model.num_capsules": 64,
    "model.dropout": 0.1,
    "training.batch_tokens": 600,
    "training.warmup_steps": 200,
    "training.learning_rate": 0.004,
    "training.max_epochs": 2,
    "training.average": 2,
    "subwords.vocabulary_size": 600,
    "search.extra_length": 10,
}


def small(**changes: object) -> list[str]:
    """Return the options of a small model; two underscores stand for a dot."""
    settings = SMALL | {name.replace("__", "."): value for name, value in changes.items()}
    return [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]


def run_processes(*command: object) -> None:
    """Run a command that must succeed, with one thread in each of its processes."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    ended = subprocess.run(list(map(str, command)), capture_output=True, env=environment, text=True)
    assert ended.returncode == 0, ended.stderr


def read_records(folder: Path) -> list[Record]:
    return [read_record(path) for path in sorted(folder.glob("*.json"))]


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy_corpus(tmp_path_factory.mktemp("data") / "toy", train=3000, dev=50, test=50)


@pytest.fixture(scope="module")
def trained(toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with Base and EM in all attentions, trained until they know the toy language."""
    results = tmp_path_factory.mktemp("trained")
    options = ["--data", toy, "--pair", "en-xx", "--results", results, "--aggregator", "base,em", "--apply", "all"]
    options += small(model__dropout=0, training__max_epochs=12)
    outcome = CliRunner().invoke(cli.main, ["translate", "run", *map(str, options)])
    assert outcome.exit_code == 0, outcome.output
    return results


def test_a_toy_language_is_learned(trained: Path) -> None:
    base, em = read_records(trained)
    assert (base.identity.model.name, em.identity.model.name) == ("base", "em enc-self+enc-dec+dec-self")
    assert em.identity.model.label == "EM, enc-self + enc-dec + dec-self"
    assert (base.identity.task, base.identity.family, base.identity.measure) == ("en-xx", "translation", "translation")
    for record in (base, em):
        assert record.translation is not None
        assert record.translation.test.bleu > 50
        assert record.translation.pairs.train == 3000
        assert record.timing.steps_per_second > 0  # type: ignore[operator]
        assert record.timing.sentences_per_second > 0  # type: ignore[operator]
        curve = record.translation.curve
        assert [point["epoch"] for point in curve] == list(range(1, 13))
        assert curve[-1]["dev_bleu"] > curve[0]["dev_bleu"]
    assert em.translation is not None
    assert base.translation is not None
    assert em.translation.parameters > base.translation.parameters


def test_the_record_says_what_the_texts_beside_it_say(trained: Path) -> None:
    from probing.translation.scoring import score_translations

    for path in trained.glob("*.json"):
        scores = read_record(path).translation
        assert scores is not None
        texts = {
            kind: (translator_folder(path) / f"test.{kind}.txt").read_text(encoding="utf-8").splitlines()
            for kind in ("source", "reference", "output")
        }
        assert [translate(line.lower()) for line in texts["source"]] == texts["reference"]
        assert score_translations(texts["output"], texts["reference"]) == scores.test


def test_text_is_translated_as_in_the_run(trained: Path, probe: Probe, tmp_path: Path) -> None:
    record = next(trained.glob("*--em_*.json"))
    folder = translator_folder(record)
    source, output = folder / "test.source.txt", (folder / "test.output.txt").read_text(encoding="utf-8")
    assert probe("translate", "text", "--model", record, source) == (0, output, "")
    assert probe("translate", "text", "--model", folder, "--batch", 3, source) == (0, output, "")
    packed = tmp_path / "source.gz"
    packed.write_bytes(gzip.compress(source.read_bytes()))
    assert probe("translate", "text", "--model", record, packed) == (0, output, "")
    marked = tmp_path / "marked"
    marked.write_bytes(b"\xef\xbb\xbf" + source.read_bytes())
    assert probe("translate", "text", "--model", record, marked) == (0, output, ""), "a byte order mark is no text"
    piped = CliRunner().invoke(cli.main, ["translate", "text", "--model", str(record)], input=source.read_bytes())
    assert piped.stdout == output
    without_end = CliRunner().invoke(cli.main, ["translate", "text", "--model", str(record)], input=b"Baka dene.")
    assert without_end.stdout.count("\n") == 1


@pytest.mark.parametrize("packed", [False, True])
def test_a_terminal_shows_how_much_of_a_file_is_translated(
    packed: bool, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bar is on stderr and takes nothing from stdout; a file that is no terminal gets no bar."""
    record = next(trained.glob("*--base--*.json"))
    source = translator_folder(record) / "test.source.txt"
    output = (translator_folder(record) / "test.output.txt").read_text(encoding="utf-8")
    file = tmp_path / "news.en"
    file.write_bytes(gzip.compress(source.read_bytes()) if packed else source.read_bytes())
    monkeypatch.setattr("probing.display.SECONDS_UNTIL_A_BAR", 0.0)
    command = ["translate", "text", "--model", str(record), "--batch", "10"]
    seen = CliRunner().invoke(cli.main, [*command, str(file)], env={"FORCE_COLOR": "1"})
    assert (seen.exit_code, seen.stdout) == (0, output)
    assert "translating news.en, percent" in seen.stderr
    shown = [int(percent) for percent in re.findall(r"(\d+)/100", seen.stderr)]
    assert shown == sorted(shown)
    assert (10 <= shown[0] <= 30, shown[-1]) == (True, 100), "the first of five batches is about a fifth"
    unseen = CliRunner().invoke(cli.main, [*command, str(file)])
    assert (unseen.stdout, unseen.stderr) == (output, "")
    piped = CliRunner().invoke(cli.main, command, input=source.read_bytes(), env={"FORCE_COLOR": "1"})
    assert (piped.stdout, piped.stderr) == (output, "")


def test_several_translations_with_scores(trained: Path, probe: Probe, tmp_path: Path) -> None:
    record = next(trained.glob("*--base--*.json"))
    text = tmp_path / "text"
    text.write_text("Baka dene fipo.\nGoru lusi.\n", encoding="utf-8")
    code, stdout, _ = probe("translate", "text", "--model", record, "--n-best", 3, "--scores", "--beam", 4, text)
    assert code == 0
    groups = [group.split("\n") for group in stdout.removesuffix("\n\n").split("\n\n")]
    assert [len(group) for group in groups] == [3, 3]
    for group in groups:
        scores = [float(line.split("\t")[0]) for line in group]
        assert scores == sorted(scores, reverse=True)
        assert all(score < 0 for score in scores)
        assert len({line.split("\t")[1] for line in group}) > 1, "one text may be segmented in two ways"


def test_lines_are_translated_as_they_come(trained: Path) -> None:
    """A program that talks to it line by line gets each answer before it asks the next question."""
    record = next(trained.glob("*--base--*.json"))
    command = [sys.executable, "-m", "probing", "translate", "text", "--model", str(record)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in ("Baka dene.", "Fipo goru lusi.", ""):
            process.stdin.write(f"{line}\n")
            process.stdin.flush()
            assert process.stdout.readline().endswith("\n")
        process.stdin.close()
        assert process.wait(timeout=60) == 0


def test_the_embedded_text_is_judged_by_phenomenon(probe: Probe, tmp_path: Path) -> None:
    options = ["--data", "mini", "--pairs", 400, "--results", tmp_path, "--aggregator", "base"]
    code, _, stderr = probe("translate", "run", *options, *small(subwords__vocabulary_size=400))
    assert code == 0, stderr
    assert "data: mini (en-qhv); preset: mini; device: cpu" in stderr
    (record,) = read_records(tmp_path)
    assert record.translation is not None
    assert list(record.translation.tests) == ["test", "test-long", "test-new"]
    for name, scores in record.translation.tests.items():
        outputs = translator_folder(next(tmp_path.glob("*.json"))) / f"{name}.output.txt"
        assert scores.phenomena
        checks = prepare_parallel(400) / f"{name}.checks.jsonl"
        assert scores.phenomena == judge_translations(checks, outputs.read_text(encoding="utf-8").splitlines())
    code, stdout, _ = probe("translate", "report", "--results", tmp_path, "--table", "phenomena", "--test", "test-new")
    assert code == 0
    assert re.search(r"^enc-self +average +\d+ +\d+\.\d", stdout, re.MULTILINE)
    code, stdout, _ = probe("translate", "report", "--results", tmp_path, "--format", "csv")
    assert {"inversion", "concord", "test"} <= set(stdout.splitlines()[0].split(","))


def test_what_is_recorded_is_skipped(trained: Path, toy: Path, probe: Probe) -> None:
    options = ["--data", toy, "--pair", "en-xx", "--results", trained, "--aggregator", "base,em", "--apply", "all"]
    code, _, stderr = probe("translate", "run", *options, *small(model__dropout=0, training__max_epochs=12))
    assert code == 0
    assert "2 of 2 cells are already in" in stderr


def test_base_is_one_cell_wherever_it_is_applied(toy: Path, probe: Probe, tmp_path: Path) -> None:
    options = ["--data", toy, "--pair", "en-xx", "--results", tmp_path, "--plan", "--json", *small(model__num_layers=4)]
    code, stdout, _ = probe("translate", "run", *options, "--table", "components", "--table", "layers")
    assert code == 0
    names = [cell["cell"].removeprefix("en-xx ").removesuffix(" seed 0") for cell in json.loads(stdout)["cells"]]
    assert names == [
        "Base",
        "Simple, enc-self",
        "EM, enc-self",
        "EM, enc-dec",
        "EM, dec-self",
        "EM, enc-self + enc-dec",
        "EM, enc-self + enc-dec + dec-self",
        "EM, enc-self, layers 3,4",
        "EM, enc-self, layers 1,2",
        "EM, enc-self, layer 4",
        "EM, enc-self, layer 1",
    ]


def strip(record: Record) -> dict[str, Any]:
    """Return a record without what may differ between two runs."""
    return {name: value for name, value in record.as_dict().items() if name != "timing"}


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_training_ends_as_if_it_had_not_been_stopped(toy: Path, tmp_path: Path, how: signal.Signals) -> None:
    options = ["--data", str(toy), "--pair", "en-xx", "--aggregator", "em", "--apply", "enc-self", "--jobs", "1"]
    options += small(training__max_epochs=6, training__validate_every=40)
    command = [sys.executable, "-m", "probing", "translate", "run", *options, "--results"]
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    subprocess.run([*command, str(whole)], check=True, capture_output=True)
    process = subprocess.Popen([*command, str(stopped)], stderr=subprocess.PIPE, start_new_session=True)
    deadline = time.monotonic() + 100
    while not list(stopped.glob("checkpoints/*/training.safetensors")) and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.3)
    process.send_signal(how)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode in {signal.SIGINT: (130,), signal.SIGTERM: (143,), signal.SIGKILL: (-9,)}[how]
    if how != signal.SIGKILL:
        assert b"The same command goes on with the rest" in stderr
    assert not list(stopped.glob("*.json"))
    subprocess.run([*command, str(stopped)], check=True, capture_output=True)
    (one,), (other,) = read_records(whole), read_records(stopped)
    assert strip(one) == strip(other)
    for kind in ("output.txt", "source.txt"):
        texts = [next(folder.glob(f"*.translator/test.{kind}")).read_bytes() for folder in (whole, stopped)]
        assert texts[0] == texts[1]
    weights = [next(folder.glob("*.translator/model.safetensors")).read_bytes() for folder in (whole, stopped)]
    assert weights[0] == weights[1]
    assert not list(stopped.glob("checkpoints/*"))


@pytest.fixture
def torchrun(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """The command that starts two processes; one test at a time, since two might choose the same free port."""
    own = tmp_path_factory.getbasetemp()
    with FileLock((own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "torchrun.lock"):
        yield TORCHRUN


TORCHRUN = [
    *(sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone"),
    *("-m", "probing", "translate", "run"),
]


@pytest.mark.slow
def test_two_processes_train_as_one_with_twice_the_batch(toy: Path, tmp_path: Path, torchrun: list[str]) -> None:
    options = ["--data", str(toy), "--pair", "en-xx", "--aggregator", "em", "--apply", "all", "--jobs", "1"]
    slow = {"model__dropout": 0, "training__learning_rate": 5e-4}  # so that differences in the last digits do not grow
    two = small(**slow, training__batch_tokens=300)
    run_processes(*torchrun, *options, *two, "--results", tmp_path / "two")
    one = small(**slow, training__batch_tokens=600)
    command = [sys.executable, "-m", "probing", "translate", "run", *options, *one]
    run_processes(*command, "--results", tmp_path / "one")
    (first,), (second,) = read_records(tmp_path / "two"), read_records(tmp_path / "one")
    assert (first.where["processes"], first.identity.settings["training"]["processes"]) == (2, 2)
    assert first.translation is not None
    assert second.translation is not None
    assert len(first.translation.curve) == 2
    for mine, other in zip(first.translation.curve, second.translation.curve, strict=True):
        assert mine["steps"] == other["steps"]
        assert mine["loss"] == pytest.approx(other["loss"], rel=1e-4)
        assert mine["dev_loss"] == pytest.approx(other["dev_loss"], rel=1e-4)


@pytest.mark.slow
def test_a_killed_process_ends_the_run_and_it_goes_on(toy: Path, tmp_path: Path, torchrun: list[str]) -> None:
    options = ["--data", str(toy), "--pair", "en-xx", "--aggregator", "base", *small(training__max_epochs=8)]
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [*torchrun, *options, "--results"]
    run_processes(*command, whole)
    process = subprocess.Popen([*command, str(stopped)], stderr=subprocess.PIPE, env=environment)
    deadline = time.monotonic() + 100
    while not list(stopped.glob("checkpoints/*/training.safetensors")) and time.monotonic() < deadline:
        time.sleep(0.02)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split()
    os.kill(int(children[-1]), signal.SIGKILL)
    _, stderr = process.communicate(timeout=100)
    assert process.returncode != 0
    assert b"The same command goes on" in stderr
    assert not list(stopped.glob("*.json"))
    run_processes(*command, stopped)
    (one,), (other,) = read_records(whole), read_records(stopped)
    assert strip(one) == strip(other)


MISTAKES: list[tuple[list[object], str]] = [
    (["--data", "TOY", "--pair", "en-xx", "--pairs", "9"], "--pairs is the size of the embedded text: it goes with"),
    (["--pairs", "0"], "invalid value for '--pairs': 0 is not in the range x>=1"),
    (["--data", "nowhere"], "nowhere: cannot be read as a folder (No such file or directory)"),
    (["--data", "TOY"], "TOY: which way? Give --pair en-xx or --pair xx-en"),
    (["--data", "TOY", "--pair", "en-de"], "TOY: no file train.de"),
    (["--data", "TOY", "--source", "a"], "--source names files one by one and does not go with --data"),
    (["--source", "TOY/train.en"], "--target is missing: files are named for training, dev and test"),
    (["--test-source", "a"], "--test-source and --test-target go together"),
    (["--data", "TOY", "--pair", "en-xx", "--apply", "enc"], "unknown attention 'enc'. "),
    (
        ["--data", "TOY", "--pair", "en-xx", "--table", "rows"],
        "unknown table 'rows'. Known: components, layers, systems",
    ),
    (["--data", "TOY", "--pair", "en-xx", "--layers", "0"], "--layers must be numbers of layers, counted from 1"),
    (["--data", "TOY", "--pair", "en-xx", "--layers", "9"], "model.layers_with_aggregator must be layers from 1 to"),
    (["--data", "TOY", "--pair", "en-xx", "--aggregator", "emm"], "unknown aggregator 'emm'. Did you mean 'em'?"),
    (["--data", "TOY", "--pair", "en-xx", "--preset", "huge"], "unknown preset 'huge'. Known: base, big, tiny, mini"),
    (["--data", "TOY", "--pair", "en-xx", "--set", "subwords.joint=false"], "model.tie=all needs subwords.joint=true"),
    (["--json"], "--json goes with --plan"),
]


@pytest.mark.parametrize(("options", "message"), MISTAKES)
def test_a_mistake_is_one_line(options: list[object], message: str, toy: Path, probe: Probe, tmp_path: Path) -> None:
    given = [str(option).replace("TOY", str(toy)) for option in options]
    code, stdout, stderr = probe("translate", "run", *given, "--results", tmp_path / "results")
    assert code == 2
    assert message.replace("TOY", str(toy)) in stderr
    assert stderr.count("\n") == 1
    assert not stdout
    assert not (tmp_path / "results").exists()


def damage_settings(folder: Path) -> None:
    path = folder / "translator.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"num_heads": 4', '"num_heads": 2.5'), encoding="utf-8")


def shrink_weights(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def widen(folder: Path) -> None:
    path = folder / "translator.json"
    about = json.loads(path.read_text(encoding="utf-8"))
    about["settings"]["model"]["feed_forward_dim"] = 1 << 40
    path.write_text(json.dumps(about), encoding="utf-8")


def take_plugin(folder: Path) -> None:
    path = folder / "translator.json"
    about = json.loads(path.read_text(encoding="utf-8"))
    about["aggregator"] = "evil.py:Evil"
    path.write_text(json.dumps(about), encoding="utf-8")


DAMAGES: list[tuple[Callable[[Path], Any], str]] = [
    (damage_settings, "translator.json: not the settings of a translator (model.num_heads must be a whole number"),
    (lambda folder: (folder / "translator.json").write_text("[]"), "not the settings of a translator"),
    (lambda folder: (folder / "translator.json").unlink(), "translator.json"),
    (shrink_weights, "model.safetensors: not the weights of this translator"),
    (widen, "model.safetensors: not the weights of this translator"),
    (take_plugin, "its aggregator 'evil.py:Evil' is a plug-in. Name the code to run by --aggregator"),
    (lambda folder: (folder / "source.model").write_bytes(b"\x00" * 50), "source.model: not a subword model"),
    (lambda folder: (folder / "model.safetensors").unlink(), "model.safetensors"),
]


@pytest.mark.parametrize(("damage", "message"), DAMAGES)
def test_a_damaged_translator_is_refused_in_one_line(
    damage: Callable[[Path], Any], message: str, trained: Path, probe: Probe, tmp_path: Path
) -> None:
    folder = tmp_path / "copy.translator"
    shutil.copytree(translator_folder(next(trained.glob("*--em_*.json"))), folder)
    damage(folder)
    code, stdout, stderr = probe("translate", "text", "--model", folder, folder / "test.source.txt")
    assert (code, stdout) == (2, "")
    assert message in stderr
    assert stderr.count("\n") == 1


def test_no_translator(probe: Probe, tmp_path: Path) -> None:
    code, _, stderr = probe("translate", "text", "--model", tmp_path / "none.json")
    assert code == 2
    assert "no translator is there. Name a record of `probe translate run`, or the folder beside it" in stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"good\n\xff\n", "text:2: not UTF-8"), (b"x" * 30_000, "text:1: a line of more than 20,000 bytes")],
)
def test_text_that_is_none(trained: Path, probe: Probe, tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "text"
    path.write_bytes(content)
    code, _, stderr = probe("translate", "text", "--model", next(trained.glob("*--base--*.json")), path)
    assert code == 2
    assert message in stderr


DESCRIBED = [
    ("base --aggregator base", 88.0),
    ("base --aggregator em --apply enc-self", 100.6),
    ("base --aggregator em --apply enc-self --layers 1", 90.1),
    ("base --aggregator em --apply enc-self --layers 1,2", 92.2),
    ("base --aggregator em --apply enc-self --layers 4,5,6", 94.3),
    ("base --aggregator simple --apply enc-self", 100.6),
    ("base --aggregator em --apply enc-dec", 100.6),
    ("base --aggregator em --apply dec-self", 100.6),
    ("base --aggregator em --apply enc-self,enc-dec", 113.2),
    ("base --aggregator em --apply all", 125.8),
    ("big --aggregator base", 264.1),
    ("big --aggregator em --apply enc-self --layers 1,2", 297.6),
]


@pytest.mark.parametrize(("options", "millions"), DESCRIBED)
def test_the_papers_numbers_of_parameters(options: str, millions: float, probe: Probe) -> None:
    command = ["translate", "describe", "--vocabulary", "24004,30829", "--json", "--preset", *options.split()]
    code, stdout, _ = probe(*command)
    assert code == 0
    described = json.loads(stdout)
    assert round(described["total"] / 1e6, 1) == millions
    assert sum(sum(counts.values()) for counts in described["parameters"].values()) == described["total"]


def test_a_description_is_a_table(probe: Probe) -> None:
    code, stdout, _ = probe("translate", "describe", "--vocabulary", "24004,30829", "--aggregator", "base")
    assert code == 0
    assert stdout.splitlines()[-3].split()[-1] == "87,999,488"
    assert stdout.splitlines()[-1] == "88.0M parameters, +0.0M beside base"


@pytest.mark.parametrize(
    ("apply", "more"), [("enc-self", 12.6), ("enc-self,enc-dec", 25.2), ("enc-self,enc-dec,dec-self", 37.8)]
)
def test_the_papers_added_parameters(apply: str, more: float, probe: Probe) -> None:
    code, stdout, _ = probe("translate", "describe", "--vocabulary", "24004,30829", "--apply", apply)
    assert code == 0
    assert stdout.splitlines()[-1].endswith(f"{more:+.1f}M beside base")
