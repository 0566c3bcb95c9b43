"""What many tests need: a cache of their own, task files, records, and texts to compare with."""

from __future__ import annotations

import gc
import hashlib
import logging
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from msgspec import structs

from probing.commands import main
from probing.registry import AGGREGATORS
from probing.results import CellIdentity, Counts, DataIdentity, ModelIdentity, Record, Scores, Timing
from probing.tasks import COUNTERPARTS, TASKS, own_task

GOLDEN = Path(__file__).with_name("golden")
KERNELS = re.compile(r"[a-z]+-[0-9a-f]{24}-[0-9a-f]{32}\.so")
LINES = ("tr\tA\tthe cat sat .", "tr\tB\tdogs bark", "va\tA\tthe dog sat .", "te\tB\tcats bark")


def pytest_configure() -> None:
    """Let Ctrl-C work: a shell that starts the tests in the background has it ignored, here and in what they start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite-goldens", action="store_true", help="Rewrite the texts in tests/golden.")
    parser.addoption("--kills", type=int, default=2, help="How often test_survival.py kills each of its runs.")


@pytest.fixture(autouse=True)
def cache_home(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """Keep every test's cache apart from the user's and from other tests'; only compiled kernels are handed on."""
    folder, shared = tmp_path_factory.mktemp("cache"), request.config.cache.mkdir("kernels")
    kernels = folder / "probing" / "kernels"
    kernels.mkdir(parents=True)
    for library in shared.iterdir():
        if KERNELS.fullmatch(library.name):
            shutil.copy(library, kernels)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    yield folder
    for library in kernels.glob("*.so"):
        if KERNELS.fullmatch(library.name) and not (shared / library.name).exists():
            temporary = shared / f".{os.getpid()}-{library.name}"
            shutil.copy(library, temporary)
            temporary.rename(shared / library.name)


@pytest.fixture(autouse=True)
def _unfrozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep objects where hypothesis finds them: a command is a program's only work elsewhere, but not here."""
    monkeypatch.setattr(gc, "freeze", lambda: None)


@pytest.fixture(autouse=True)
def _log_level() -> Iterator[None]:
    """Undo what a test of workers leaves: they are silent in processes of their own."""
    logger = logging.getLogger("probing")
    level = logger.level
    yield
    logger.setLevel(level)


@pytest.fixture(scope="session")
def probe() -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs the command in this process and gives its exit code, stdout and stderr."""

    def run(*arguments: object) -> tuple[int, str, str]:
        result = CliRunner().invoke(main, [str(argument) for argument in arguments])
        return result.exit_code, result.stdout, result.stderr

    return run


@pytest.fixture
def task_file(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a task file: of lines (sound ones by default), or of bytes as they are."""

    def write(content: Iterable[str] | bytes = LINES, name: str = "my_task.txt") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else "".join(f"{line}\n" for line in content).encode())
        return path

    return write


def make_record(
    task: str = "Tense",
    model: str = "em",
    accuracy: float | None = 80.0,
    *,
    seed: int = 0,
    data: str = "mini",
    preset: str = "mini",
    majority: float = 50.0,
    settings: dict[str, dict[str, Any]] | None = None,
    **changes: Any,
) -> Record:
    """Return a finished record, or a failed one when there is no accuracy; `changes` replace whole fields."""
    row = {known.name: known for known in TASKS + COUNTERPARTS}.get(task) or own_task(Path(f"{task}.txt"))
    builtin = AGGREGATORS.builtins.get(model)
    identity = ModelIdentity(
        name=model,
        label=builtin.label if builtin else model.rpartition(":")[2],
        version="built-in" if builtin else hashlib.sha256(model.encode()).hexdigest(),
    )
    sha256 = hashlib.sha256(f"{data} {task}".encode()).hexdigest()
    identity_fields: dict[str, Any] = {
        "task": task,
        "family": row.family,
        "seed": seed,
        "preset": preset,
        "data": DataIdentity(name=data, file=f"{row.file}.txt", sha256=sha256),
        "model": identity,
        "settings": settings or {"model": {"num_layers": 3, "layers_with_aggregator": []}, "training": {"patience": 4}},
        "measure": "accuracy",
        "translator": msgspec.UNSET,  # a name of its own here would be the one that pickle finds first
    }
    fields: dict[str, Any] = {
        "error": "the loss became nan in epoch 2" if accuracy is None else None,
        "outcome": None
        if accuracy is None
        else Scores(
            dev_accuracy=min(100.0, accuracy + 1),
            test_accuracy=accuracy,
            majority_accuracy=majority,
            best_epoch=2,
            parameters=1234,
            vocabulary_size=99,
            curve=[{"epoch": epoch, "loss": 1 / epoch, "dev_accuracy": accuracy + 1} for epoch in (1, 2, 3)],
            classes={
                "PAST": Counts(train=5, dev=1, test=1, right=1),
                "PRES": Counts(train=4, dev=1, test=1, right=0),
            },
            gold=[0, 1],
            predictions=[0, 0],
        ),
        "timing": Timing(seconds=12.5, tokens_per_second=3000.0, finished_at="2026-01-02T03:04:05+00:00"),
        "where": {"probing": "0.1.0", "torch": "2.13.0", "python": "3.11.9", "device": "cpu", "threads": 1},
    }
    changed = {name: changes.pop(name) for name in identity_fields if name in changes}
    return Record(identity=CellIdentity(**identity_fields | changed), **fields | changes)


@pytest.fixture(name="make_record", scope="session")
def _make_record() -> Callable[..., Record]:
    return make_record


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Return a function that compares a text with the one that a person has looked at (`make golden` rewrites it)."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--rewrite-goldens"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text + "\n", encoding="utf-8")
        assert text + "\n" == path.read_text(encoding="utf-8")

    return compare


@pytest.fixture(scope="session")
def change() -> Callable[..., Any]:
    """Return a function that replaces fields of a record or of its identity: change(record, data__name="x")."""

    def apply(item: Any, **values: Any) -> Any:
        for name, value in values.items():
            outer, _, inner = name.partition("__")
            if isinstance(item, Record) and outer in CellIdentity.__struct_fields__:
                outer, inner = "identity", name
            new = apply(getattr(item, outer), **{inner: value}) if inner else value
            item = structs.replace(item, **{outer: new})
        return item

    return apply
