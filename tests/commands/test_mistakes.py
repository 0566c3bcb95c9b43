"""Every mistake on the command line is one line that says what to do, exit code 2, and leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from probing.results.store import Store

Probe = Callable[..., tuple[int, str, str]]
GOOD = "".join(f"{split}\t{label}\t{label} and more\n" for split in ("tr", "va", "te") for label in ("A", "B"))
NO_RESULTS = "no results there. Run `probe run --task all --aggregator all` first"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a good task file, a file of nonsense, an empty file and an empty folder."""
    monkeypatch.chdir(tmp_path)
    for name, content in (("task.tsv", GOOD), ("file", "x"), ("empty.tsv", ""), ("bigram_shift.txt", "tr\tA\n")):
        Path(name).write_text(content, encoding="utf-8")
    Path("trees.mrg").write_text("(S (NP (DT the) (NN dog)) (VP (VBD slept)) (. .))\n", encoding="utf-8")
    Path("past_present.txt").write_text(GOOD, encoding="utf-8")
    Path("empty").mkdir()
    return tmp_path


def check(probe: Probe, arguments: list[str], line: str) -> None:
    before = {path: path.stat().st_mtime_ns for path in Path().rglob("*")}
    code, out, err = probe(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"probe: {line}")
    assert err.count("\n") == 1
    assert {path: path.stat().st_mtime_ns for path in Path().rglob("*")} == before


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("--task tens", "unknown task 'tens'. Did you mean 'Tense'? Known: SeLen, WC, "),
        ("--aggregator emm", "unknown aggregator 'emm'. Did you mean 'em'? Known: base, simple, em"),
        ("--data nowhere", "--data nowhere: there is no such data set or folder. Known: senteval, mini"),
        ("--data file", "--data file: there is no such data set or folder. Known: senteval, mini"),
        ("--data empty", "--data empty: no task file there. Expected some of "),
        ("--data-dir nowhere", "SentEval's files are not all there: missing nowhere/"),
        (
            "--data mini --data-dir empty",
            "--data-dir says where SentEval's files are; it does not go with --data mini\n",
        ),
        ("--task-file none.tsv", "none.tsv: cannot be read (No such file or directory)\n"),
        ("--task-file empty", "invalid value for '--task-file': File 'empty' is a directory. See `probe run --help`\n"),
        ("--task-file empty.tsv", "empty.tsv: the file is empty. Expected lines of split <TAB> label <TAB> tokens\n"),
        ("--seeds 0", "--seeds must be a number of seeds (5 for 0 to 4) or a list (0,1,2). Got '0'\n"),
        ("--seeds a,b", "--seeds must be a number of seeds (5 for 0 to 4) or a list (0,1,2). Got 'a,b'\n"),
        (
            "--seeds 99999999999",
            "--seeds must be a number of seeds (5 for 0 to 4) or a list (0,1,2). Got '99999999999'\n",
        ),
        ("--seeds -1,2", "a seed must be a whole number from 0 to 4294967295. Got -1\n"),
        ("--seed 4294967296", "a seed must be a whole number from 0 to 4294967295. Got 4294967296\n"),
        ("--seed x", "invalid value for '--seed': 'x' is not a valid integer. See `probe run --help`\n"),
        ("--jobs 0", "invalid value for '--jobs': 0 is not in the range x>=1. See `probe run --help`\n"),
        ("--device tpu", "unknown device 'tpu'. Known: auto, cpu, cuda, mps\n"),
        ("--preset papr", "unknown preset 'papr'. Did you mean 'paper'? Known: paper, small, mini\n"),
        ("--config file", "file: not valid TOML ("),
        ("--set model.num_heads=3", "model.num_heads must be a divisor of model.model_dim="),
        ("--layers-with-aggregator 9", "model.layers_with_aggregator must be layers from 1 to model.num_layers=3."),
        ("--control nope", "unknown control 'nope'. Known: random-labels, word-labels, random-encoder\n"),
        ("--control random-encoder --encoder length", "encoder 'length' has no untrained form. "),
        ("--backend nope", "unknown backend 'nope'. Known: loky, ray, dask\n"),
        ("--backend dask", "--backend dask needs --address: what `dask scheduler` prints, as in "),
        ("--address x", "--address is for clusters: it goes with --backend ray or dask\n"),
        ("--gpus-per-cell 1", "--gpus-per-cell is for clusters: it goes with --backend ray or dask\n"),
        ("--gpus-per-cell -1", "invalid value for '--gpus-per-cell': -1.0 is not in the range x>=0. See "),
        ("--gpus-per-cell nan --backend ray", "--gpus-per-cell must be a number from 0. Got nan\n"),
        ("--results file", "invalid value for '--results': Directory 'file' is a file. See `probe run --help`\n"),
        ("--results file/x", "--results file/x: results cannot be written there (Not a directory)\n"),
        ("--encoder lenght", "unknown encoder 'lenght'. Did you mean 'length'? Known: bag-of-words"),
        ("--encoder a/b=length", "unknown encoder 'a/b=length'. Did you mean 'length'? Known: bag-of-words"),
        ("--encoder =length", "encoder '=length': expected SPEC, or NAME=SPEC to call it NAME in tables\n"),
        ("--encoder name=", "encoder 'name=': expected SPEC, or NAME=SPEC to call it NAME in tables\n"),
        ("--encoder senteval:no.py", "encoder 'senteval:no.py': there is no file no.py\n"),
        (
            "--encoder length --layer 99",
            "--layer goes with --encoder huggingface:NAME_OR_PATH, or another encoder that offers it. Got length\n",
        ),
        (
            "--encoder huggingface:no --layer x",
            "--layer must be a number from 0 (the embeddings), from the end (-1), a range",
        ),
        ("--encoder huggingface:no --pooling nope", "unknown pooling 'nope'. Known: mean, cls, max, last\n"),
        ("--encoder length --dtype int8", "unknown dtype 'int8'. Known: float32, float16, bfloat16\n"),
        ("--encoder length --probe svm", "unknown probe 'svm'. Known: mlp, linear, senteval, senteval-mlp\n"),
        ("--probe mlp", "--probe goes with --encoder: see `probe encoders`\n"),
        (
            "--fine-tune --encoder length",
            "--fine-tune needs a torch.nn.Module. Encoder 'length' made Length: probe it frozen, without --fine-tune\n",
        ),
        ("--nope", "no such option '--nope'."),
    ],
    ids=lambda value: value if value.startswith("--") else "",
)
def test_of_a_run(probe: Probe, arguments: str, line: str) -> None:
    options = arguments.split()
    named = [] if "--data" in arguments or "--task" in arguments else ["--task-file", "task.tsv"]
    check(probe, ["run", *named, *options], line)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("nope", "no such command 'nope'. See `probe --help`\n"),
        ("--nope", "no such option '--nope'. See `probe --help`\n"),
        ("report", f"results: {NO_RESULTS}\n"),
        ("report --format html -o nowhere/page.html --results empty", f"empty: {NO_RESULTS}\n"),
        ("report --format nope", "invalid value for '--format': 'nope' is not one of 'table', 'markdown', "),
        ("compare em base", f"results: {NO_RESULTS}\n"),
        ("report --dev", "--dev goes with --by SECTION.KEY: a comparison of models is on test sentences\n"),
        ("compare em", "missing argument 'B'. See `probe compare --help`\n"),
        ("plot dots -o dots.gif", "dots.gif: a figure's name must end in .svg, .png or .pdf. Got '.gif'\n"),
        ("plot dots -o nowhere/dots.svg", f"results: {NO_RESULTS}\n"),
        (
            "plot nope -o dots.svg",
            "invalid value for '{dots|curves|confusion|layers|sweep|bleu}': 'nope' is not one of ",
        ),
        ("merge nowhere -o out", "nowhere: there is no such folder. Name folders that `probe run --results` wrote\n"),
        ("merge empty -o out", "empty: there are no records. Name folders that `probe run --results` wrote\n"),
        ("merge file -o out", "invalid value for 'DIR...': Directory 'file' is a file. See `probe merge --help`\n"),
        ("explain --task nope", "unknown task 'nope'. Known: SeLen, WC, "),
        ("explain --task-file task.tsv --aggregator nope", "unknown aggregator 'nope'. Known: base, simple, em, "),
        ("explain --task-file task.tsv --sentence=", "--sentence is empty. Give tokens separated by spaces, e.g. "),
        ("explain --task-file task.tsv --seed -1", "a seed must be a whole number from 0 to 4294967295. Got -1\n"),
        ("describe nope", "got unexpected extra argument (nope). See `probe describe --help`\n"),
        ("describe --preset papr", "unknown preset 'papr'. Did you mean 'paper'? Known: paper, small, mini\n"),
        ("describe --aggregator nope", "unknown aggregator 'nope'. Known: base, simple, em, "),
        ("describe --set model.layers=2", "unknown setting 'model.layers'. Did you mean 'model."),
        ("describe --set model.num_heads=7", "model.num_heads must be a divisor of model.model_dim=512. Got 7\n"),
        ("describe --set layers", "--set 'layers' is not of the form section.key=value, e.g. model.num_layers=2\n"),
        ("describe --config no.toml", "no.toml: cannot be read (No such file or directory)\n"),
        ("cache clear nope", "got unexpected extra argument (nope). See `probe cache clear --help`\n"),
        ("cache clear --encoder x", "no cached vectors of encoder 'x'. Cached: nothing\n"),
        ("data nope", "no such command 'nope'. See `probe data --help`\n"),
        ("data sample --task nope", "unknown task 'nope'. Known: SeLen, WC, "),
        (
            "data sample --parallel --task SOMO",
            "--parallel and --task exclude each other: pairs come with their trees and have no task\n",
        ),
        (
            "data sample --parallel --trees",
            "--parallel and --trees exclude each other: pairs come with their trees and have no task\n",
        ),
        ("data check nowhere", "nowhere: there is no such file or folder. Name task files, or a folder of them\n"),
    ],
)
def test_of_the_other_commands(probe: Probe, arguments: str, line: str) -> None:
    check(probe, arguments.split(), line)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("--given nowhere.txt", "nowhere.txt: cannot be read (No such file or directory)\n"),
        ("--extend nowhere.txt", "nowhere.txt: cannot be read (No such file or directory)\n"),
        (
            "--given task.tsv",
            "task.tsv: the file's name must be that of its task, as in past_present.txt: unknown task 'task'. Known: ",
        ),
        ("--extend bigram_shift.txt", "bigram_shift.txt:1: expected 3 tab-separated fields, got 2\n"),
        (
            "--given past_present.txt --extend past_present.txt",
            "past_present.txt: there is another file for task Tense, past_present.txt. Name one of them\n",
        ),
        (
            "--given past_present.txt --task WC",
            "past_present.txt: task Tense is not among those to be built. Add --task Tense, or leave it out\n",
        ),
        ("--given empty", "invalid value for '--given': File 'empty' is a directory. See `probe data build --help`\n"),
        ("--imbalance 0", "invalid value for '--imbalance': 0 is not in the range x>=1. See `probe data build --help`"),
        ("--task nope", "unknown task 'nope'. Known: SeLen, WC, "),
    ],
)
def test_of_building_tasks(probe: Probe, arguments: str, line: str) -> None:
    check(probe, ["data", "build", "--trees", "trees.mrg", "-o", "out", *arguments.split()], line)


def test_models_that_there_are_not(probe: Probe, make_record) -> None:  # type: ignore[no-untyped-def]
    Store(Path("results")).save(make_record())
    check(probe, ["compare", "em", "bass"], "unknown model 'bass'. Known: EM\n")
    check(probe, ["report", "--compare", "bass"], "unknown model 'bass'. Known: EM\n")
    check(probe, ["plot", "dots", "-o", "file/dots.svg"], "file/dots.svg: cannot be written (")


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (GOOD.encode() + b"te\tA\n", "7: expected 3 tab-separated fields, got 2"),
        (GOOD.encode() + b"xx\tA\tno\n", "7: unknown split 'xx'. Allowed: tr, va, te"),
        (GOOD.encode() + b"te\tA\t \n", "7: empty sentence"),
        (GOOD.encode() + b"te\tC\tword\n", "7: label 'C' of split te does not occur in tr"),
        (GOOD.partition("te")[0].encode(), " no line of split te. All of tr, va, te are needed"),
        (GOOD.encode() + b"te\tA\t\xff\n", "7: not UTF-8"),
    ],
)
def test_of_a_task_file(probe: Probe, content: bytes, line: str) -> None:
    Path("task.tsv").write_bytes(content)
    check(probe, ["run", "--task-file", "task.tsv"], f"task.tsv:{line}")


def test_a_cluster_that_is_not_there_leaves_no_folder(probe: Probe) -> None:
    code, out, err = probe("run", "--task-file", "task.tsv", "--backend", "dask", "--address", "127.0.0.1:9")
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith("probe: --backend dask: ")
    assert not Path("results").exists()


@pytest.mark.parametrize("group", [(), ("data",), ("cache",)])
def test_a_group_without_a_command_shows_its_help(probe: Probe, group: tuple[str, ...]) -> None:
    _, out, err = probe(*group)
    assert f"Usage: {' '.join(('probe', *group))} [OPTIONS] COMMAND" in out + err


STOPPED = """
import atexit, click
from probing.commands.program import Program
from probing.signals import Terminated

@click.group(cls=Program)
def main():
    pass

@main.command()
@click.argument("name")
def stop(name):
    print("in order", end="")
    raise {"int": KeyboardInterrupt, "term": Terminated, "no": SystemExit(3), "yes": SystemExit}[name]

atexit.register(print, ", and unloaded", end="")
main()
"""


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [("int", 130, "in order"), ("term", 143, "in order"), ("no", 3, "in order, and unloaded")],
)
def test_a_program_that_is_stopped_does_not_wait_for_python(name: str, code: int, said: str) -> None:
    done = subprocess.run([sys.executable, "-c", STOPPED, "stop", name], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (code, said, "")


@pytest.mark.parametrize(("name", "code"), [("int", 130), ("no", 3), ("yes", 0)])
def test_a_process_of_torchrun_does_not_wait_for_python(name: str, code: int) -> None:
    """Python's end would abort now and then, after all work was done: torch's threads are still there."""
    environment = os.environ | {"TORCHELASTIC_RUN_ID": "1"}
    command = [sys.executable, "-c", STOPPED, "stop", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (code, "in order", "")


def test_a_name_cannot_break_a_message(probe: Probe) -> None:
    """Nor can it send escape sequences to the terminal."""
    name = "a\x1b[2Jb\nc.tsv"
    Path(name).write_text("tr\tA\n", encoding="utf-8")
    code, out, err = probe("run", "--task-file", name)
    assert (code, out) == (2, "")
    assert err == "probe: a\\x1b[2Jb\\nc.tsv:1: expected 3 tab-separated fields, got 2\n"


TASK = ["--task-file", "task.tsv"]
BUILD = ["data", "build", "--trees", "trees.mrg", "-o", "out"]
WITH_PATHS = {
    "run --results": ["run", *TASK, "--results", "@"],
    "run --task-file": ["run", "--task-file", "@"],
    "run --data": ["run", "--data", "@"],
    "run --data-dir": ["run", "--data-dir", "@"],
    "run --config": ["run", *TASK, "--config", "@"],
    "run --aggregator": ["run", *TASK, "--aggregator", "@.py:Name"],
    "run --encoder": ["run", *TASK, "--encoder", "@.py:Name"],
    "run --encoder precomputed": ["run", *TASK, "--encoder", "precomputed:@.npz"],
    "run --encoder senteval": ["run", *TASK, "--encoder", "senteval:@.py"],
    "report --results": ["report", "--results", "@"],
    "report -o": ["report", "--results", "records", "-o", "@"],
    "report --format html -o": ["report", "--results", "records", "--format", "html", "-o", "@"],
    "compare": ["compare", "em", "base", "--results", "@"],
    "merge": ["merge", "@", "-o", "out"],
    "merge -o": ["merge", "records", "-o", "@"],
    "verify": ["verify", "@"],
    "verify --data": ["verify", "records", "--data", "@"],
    "plot -o": ["plot", "dots", "--results", "records", "-o", "@.svg"],
    "plot --results": ["plot", "dots", "--results", "@", "-o", "x.svg"],
    "explain --results": ["explain", *TASK, "--results", "@"],
    "describe --config": ["describe", "--config", "@"],
    "cache list": ["cache", "list", "--results", "@"],
    "cache clear": ["cache", "clear", "--results", "@"],
    "data check": ["data", "check", "@"],
    "data build --trees": ["data", "build", "--trees", "@", "-o", "out"],
    "data build --conllu": ["data", "build", "--conllu", "@", "-o", "out"],
    "data build --given": [*BUILD, "--given", "@"],
    "data build --extend": [*BUILD, "--extend", "@"],
    "data build -o": ["data", "build", "--trees", "trees.mrg", "-o", "@"],
    "data fetch": ["data", "fetch", "--offline", "--data-dir", "@"],
}


@pytest.mark.parametrize("name", ["loop", "loop/x", "n" * 300, "n" * 300 + "/x", "x/" * 2500])
@pytest.mark.parametrize("command", WITH_PATHS)
def test_a_path_that_no_file_can_have_is_one_line(probe: Probe, make_record, command: str, name: str) -> None:  # type: ignore[no-untyped-def]
    """Links that lead in a circle, a name of more than 255 bytes, a path that is too long."""
    Store(Path("records")).save(make_record())
    Path("loop").symlink_to("circle")
    Path("circle").symlink_to("loop")
    for ending in (".py", ".npz", ".svg"):
        Path(f"loop{ending}").symlink_to(f"loop{ending}")
    code, out, err = probe(*(part.replace("@", name) for part in WITH_PATHS[command]))
    assert code == 2, (out, err)
    assert err.startswith("probe: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert not Path("results").exists()


ADDRESSES = ["[::1", "[", "tcp://[x", "a..b:80", "é" * 100 + ":80"]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("backend", ["ray", "dask"])
def test_an_address_that_is_none(probe: Probe, backend: str, address: str) -> None:
    code, _, err = probe("run", *TASK, "--aggregator", "base", "--backend", backend, "--address", address)
    assert code == 2
    last = err.splitlines()[-1]
    assert last.startswith(
        ("probe: --address must be HOST:PORT, as in 10.0.0.1:", f"probe: --backend {backend}: nobody ")
    )


@pytest.mark.parametrize("mirror", ["http://[::1", "https://[", "file://[x", "https://:80", "ftp://x", "x"])
def test_a_mirror_that_is_none(probe: Probe, mirror: str) -> None:
    check(
        probe, ["data", "fetch", "--task", "Tense", "--mirror", mirror], f"--mirror {mirror!r} is not a URL that can "
    )


def test_a_current_folder_that_was_deleted(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    script = f"import os; os.chdir({str(gone)!r}); os.rmdir({str(gone)!r}); from probing.commands import main; main()"
    for command in (["tasks"], ["run"], ["merge", "a", "-o", "b"], ["cache", "list"]):
        gone.mkdir()
        done = subprocess.run([sys.executable, "-c", script, *command], capture_output=True, text=True, check=False)
        line = "the current folder cannot be used (No such file or directory). Change to one that exists"
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"probe: {line}\n")


@pytest.mark.parametrize(
    "arguments", [["tasks"], ["data", "sample", "--count", "3000"], ["report", "--results", "records"]]
)
def test_a_reader_that_has_gone_is_no_error(make_record, arguments: list[str]) -> None:  # type: ignore[no-untyped-def]
    Store(Path("records")).save(make_record())
    program = Path(sys.executable).with_name("probe")
    process = subprocess.Popen([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    process.wait()


@pytest.mark.parametrize("arguments", [["tasks"], ["report", "--results", "records"], ["cache", "list"], ["--help"]])
def test_an_output_without_room_is_one_line(make_record, arguments: list[str]) -> None:  # type: ignore[no-untyped-def]
    Store(Path("records")).save(make_record())
    program = Path(sys.executable).with_name("probe")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([program, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "probe: a file cannot be written (No space left on device)\n")
