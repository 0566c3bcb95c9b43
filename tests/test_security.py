"""Nothing gets in: what SECURITY.md promises, as far as source text and behaviour can show it."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from probing.report.formats import load_and_render
from probing.results import CellIdentity, DataIdentity, ModelIdentity, Store

ROOT = Path(__file__).parent.parent
SOURCES = sorted([ROOT / "cli.py", *(ROOT / "probing").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")])

FORBIDDEN_MODULES = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "shelve", "marshal", "yaml", "jsonpickle"}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "os.system", "os.popen", "tempfile.mktemp", "joblib.load"}
FORBIDDEN_METHODS = {"extractall", "unpack_archive", "read_pickle", "to_pickle"}
ALLOWED = {
    (
        "probing/corpus/builders/spool.py",
        "import marshal",
    ): "a temporary file in a folder that nobody else may enter, read by the processes of one build",
}


def find_forbidden(text: str) -> Iterator[str]:
    """Yield what in a Python text could run or write what it should not."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                yield from (f"import {name.name}" for name in names if name.name.split(".")[0] in FORBIDDEN_MODULES)
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] in FORBIDDEN_MODULES:
                yield f"import {module}"
            case ast.Call():
                yield from _find_in_call(node)


def _find_in_call(call: ast.Call) -> Iterator[str]:
    function = ast.unparse(call.func)
    owner, _, name = function.rpartition(".")
    options = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    if function in FORBIDDEN_CALLS or name in FORBIDDEN_METHODS:
        yield f"{function}()"
    if owner in ("np", "numpy") and name == "load" and options.get("allow_pickle") != "False":
        yield f"{function}() without allow_pickle=False"
    if name == "NpzFile" and options.get("allow_pickle") != "False":
        yield f"{function}() without allow_pickle=False"
    if function == "torch.load" and options.get("weights_only") != "True":
        yield f"{function}() without weights_only=True"
    if name == "Environment" and options.get("autoescape") != "True":
        yield f"{function}() without autoescape=True"
    for option, value in options.items():
        if (option, value) in {("shell", "True"), ("trust_remote_code", "True"), ("verify", "False")}:
            yield f"{function}({option}={value})"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_source_holds_no_forbidden_call(path: Path) -> None:
    name = path.relative_to(ROOT).as_posix()
    assert [found for found in find_forbidden(path.read_text()) if (name, found) not in ALLOWED] == []


def test_what_is_allowed_is_there() -> None:
    found = {(name, what) for name, _ in ALLOWED for what in find_forbidden((ROOT / name).read_text())}
    assert found == set(ALLOWED)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import pickle", "import pickle"),
        ("import os, shelve", "import shelve"),
        ("from yaml import load", "import yaml"),
        ("eval(text)", "eval()"),
        ("exec(open(p).read())", "exec()"),
        ("np.load(path)", "np.load() without allow_pickle=False"),
        ("np.load(path, allow_pickle=True)", "np.load() without allow_pickle=False"),
        ("torch.load(path)", "torch.load() without weights_only=True"),
        ("torch.load(path, weights_only=False)", "torch.load() without weights_only=True"),
        ("joblib.load(path)", "joblib.load()"),
        ("subprocess.run(line, shell=True)", "subprocess.run(shell=True)"),
        ("os.system(line)", "os.system()"),
        ("tarfile.open(p).extractall()", "tarfile.open(p).extractall()"),
        ("pd.read_pickle(p)", "pd.read_pickle()"),
        ("AutoModel.from_pretrained(p, trust_remote_code=True)", "AutoModel.from_pretrained(trust_remote_code=True)"),
        ("Environment(loader=x)", "Environment() without autoescape=True"),
    ],
)
def test_a_forbidden_call_is_found(text: str, found: str) -> None:
    assert list(find_forbidden(text)) == [found]


def test_sound_calls_are_not_found() -> None:
    calls = ["model.eval()", "re.compile(x)", "np.load(p, allow_pickle=False)", "torch.load(p, weights_only=True)"]
    assert list(find_forbidden("\n".join([*calls, "subprocess.run([p])"]))) == []


names = st.text(max_size=80) | st.sampled_from(
    ["..", "../../x", "/etc/passwd", "a/../../b", "C:\\x", "\0", "~", ".", ""]
)


@given(data=names, task=names, model=names, preset=names, key=names, seed=st.integers())
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_name_leads_out_of_the_results_folder(
    tmp_path: Path, data: str, task: str, model: str, preset: str, key: str, seed: int
) -> None:
    identity = CellIdentity(
        task=task,
        family="own",
        seed=seed,
        preset=preset,
        data=DataIdentity(name=data, file="", sha256=""),
        model=ModelIdentity(name=model, label="", version=""),
        settings={},
    )
    path = identity.path(tmp_path, key)
    assert path.resolve().parent == tmp_path.resolve()
    assert len(path.name.encode()) <= 255
    assert "\0" not in path.name


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """Install an aggregator and an encoder whose module leaves a mark when it is imported."""
    mark = tmp_path / "imported"
    (tmp_path / "marking_plugin.py").write_text(f"open({str(mark)!r}, 'w').close()\nclass Gate: pass\n")
    about = tmp_path / "marking_plugin-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: marking-plugin\nVersion: 1.0\n")
    points = "".join(f"[probing.{group}]\nmarking = marking_plugin:Gate\n" for group in ("aggregators", "encoders"))
    (about / "entry_points.txt").write_text(points)
    return mark


def run_probe(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    start = f"import sys; sys.path.insert(0, {str(folder)!r}); from probing.commands import main; main()"
    return subprocess.run([sys.executable, "-c", start, *arguments], capture_output=True, text=True, cwd=ROOT)


def test_a_plugin_is_imported_only_when_it_is_named(plugin: Path, tmp_path: Path, make_record) -> None:  # type: ignore[no-untyped-def]
    Store(tmp_path / "results").save(make_record(model="marking_plugin:Gate"))
    for command in (["--help"], ["aggregators"], ["encoders"], ["report", "--results", str(tmp_path / "results")]):
        done = run_probe(tmp_path, *command)
        assert done.returncode == 0, done.stderr
        assert not plugin.exists(), command
    assert "plug-in marking_plugin:Gate" in run_probe(tmp_path, "aggregators").stdout
    run_probe(tmp_path, "describe", "--aggregator", "marking")
    assert plugin.exists()


def test_names_in_records_are_no_markup_in_the_page(tmp_path: Path, make_record, change) -> None:  # type: ignore[no-untyped-def]
    hostile = "</script><img src=x onerror=alert(1)>"
    store = Store(tmp_path)
    for model in ("em", "base"):
        record = make_record(model=model, preset=hostile, error=None)
        store.save(change(record, identity__model__label=f"{model}{hostile}", identity__data__name=hostile))
    page = load_and_render(tmp_path, "html", on_damaged=pytest.fail)
    assert "<img" not in page
    assert "onerror=alert(1)" in page  # it is told, as text


INSTALLED = ("joblib", "torch", "numpy", "click", "msgspec", "pandas", "scipy", "rich", "filelock", "safetensors")
HOSTILE = (*sorted(sys.stdlib_module_names), *INSTALLED)


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder, as downloaded, whose modules leave a mark when they are imported in place of the real ones."""
    for name in HOSTILE:
        (tmp_path / f"{name}.py").write_text(f"open('imported {name}', 'w').close()\nraise SystemExit(99)\n")
    lines = [f"{split}\t{label}\t{label} x" for split in ("tr", "va", "te") for label in ("A", "B")]
    (tmp_path / "task.tsv").write_text("\n".join([*lines, ""]))
    return tmp_path


@pytest.mark.parametrize(
    "program", [["probe"], ["python", "-m", "probing"], ["python", str(ROOT / "cli.py")]], ids=["probe", "-m", "cli.py"]
)
def test_no_code_of_the_current_folder_is_run(hostile: Path, program: list[str]) -> None:
    """Two cells in processes of their own: Python starts these with the current folder on its path."""
    first, *rest = program
    command = [str(Path(sys.executable).with_name(first)), *rest, "run", "--task-file", "task.tsv", "--seeds", "2"]
    command += ["--aggregator", "base", "--preset", "mini", "--set", "training.max_epochs=1", "--jobs", "2"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=hostile, capture_output=True, text=True, env=environment, check=False)
    assert sorted(path.name for path in hostile.glob("imported *")) == []
    assert done.returncode == 0, done.stderr
    assert len(list((hostile / "results").glob("*.json"))) == 2


def test_no_settings_of_the_current_folder_are_read(tmp_path: Path, make_record) -> None:  # type: ignore[no-untyped-def]
    """matplotlib reads a matplotlibrc there, by which it runs LaTeX with any preamble."""
    pytest.importorskip("matplotlib")
    Store(tmp_path / "results").save(make_record())
    (tmp_path / "matplotlibrc").write_text("text.usetex: True\nbackend: module://evil\nno such key: 1\n")
    command = [str(Path(sys.executable).with_name("probe")), "plot", "dots", "-o", "dots.svg"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "dots.svg is written\n")
    assert (tmp_path / "dots.svg").read_bytes().startswith(b"<?xml")


NAMED_TEST = re.compile(r"`([\w/]+\.py)::(\w+)`")


def test_every_test_that_the_promises_name_exists() -> None:
    promises = (ROOT / "SECURITY.md").read_text(encoding="utf-8").partition("## Not promised")[0].split("\n- ")[1:]
    for promise in promises:
        named = NAMED_TEST.findall(promise)
        assert named, f"a promise without a test: {promise[:80]}"
        for file, name in named:
            tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
            assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, f"{file}::{name}"
    assert len(promises) > 10
