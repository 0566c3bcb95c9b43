"""Plug-ins import what lies beside them, and what is installed stays what it is."""

from __future__ import annotations

import importlib
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from probing import registry
from probing.errors import ProbingError
from probing.plugin_imports import PluginFinder, hash_code
from probing.registry import AGGREGATORS

Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def finder(monkeypatch: pytest.MonkeyPatch) -> Iterator[PluginFinder]:
    """Give each test a finder of its own, and take it and what it found away again."""
    own = PluginFinder()
    monkeypatch.setattr(registry, "FINDER", own)
    yield own
    sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not own]
    for name in [name for name in sys.modules if name.partition(".")[0] in own.found]:
        del sys.modules[name]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write_file


def test_a_plug_in_imports_its_neighbours(write: Write, finder: PluginFinder) -> None:
    write("beside.py", "from further import SIZE\n")
    write("further.py", "SIZE = 3\n")
    write("package/__init__.py", "from . import part\n")
    write("package/part.py", "WIDTH = 4\n")
    write("loose/part.py", "HEIGHT = 5\n")
    plugin = write(
        "plugin.py",
        "from beside import SIZE\nimport package.part\nfrom loose.part import HEIGHT\n"
        "class Mine:\n    numbers = SIZE, package.part.WIDTH, HEIGHT\n    def late(self):\n        import late\n"
        "        return late.A\n",
    )
    write("late.py", "A = 6\n")
    path = list(sys.path)
    found = AGGREGATORS.find(f"{plugin}:Mine").object
    assert found.numbers == (3, 4, 5)
    assert found().late() == 6
    assert sys.path == path


def test_the_version_covers_what_is_imported_from_beside(write: Write) -> None:
    plugin = write("plugin.py", "def make():\n    import beside\nclass Mine:\n    pass\n")
    spec = f"{plugin}:Mine"
    alone = AGGREGATORS.find(spec)
    assert alone.version == hash_code(plugin)
    write("unused.py", "A = 1\n")
    assert AGGREGATORS.find(spec).version == alone.version
    versions = [alone.version]
    for name, text in (("beside.py", "import further"), ("further.py", "A = 1"), ("further.py", "A = 2")):
        write(name, text)
        versions.append(AGGREGATORS.find(spec).version)
        assert AGGREGATORS.find(spec).version == versions[-1]
    assert len({*versions}) == 4


def test_a_changed_neighbour_is_imported_anew(write: Write) -> None:
    plugin = write("plugin.py", "from beside import SIZE\nclass Mine:\n    size = SIZE\n")
    write("further.py", "SIZE = 1\n")
    write("beside.py", "from further import SIZE\n")
    first = AGGREGATORS.find(f"{plugin}:Mine").object
    assert AGGREGATORS.find(f"{plugin}:Mine").object is first
    write("further.py", "SIZE = 22\n")
    assert (first.size, AGGREGATORS.find(f"{plugin}:Mine").object.size) == (1, 22)


def test_what_is_installed_comes_first(write: Write) -> None:
    for name in ("random", "torch", "click"):
        write(f"{name}.py", "raise RuntimeError('shadowed')\n")
    plugin = write("plugin.py", "import random, torch, click\nclass Mine:\n    module = random\n")
    found = AGGREGATORS.find(f"{plugin}:Mine")
    assert found.object.module is random
    assert found.version == hash_code(plugin)


def test_a_folder_of_data_is_no_module(write: Write) -> None:
    write("data_only/vectors.txt", "1 2")
    plugin = write("plugin.py", "import data_only\n")
    with pytest.raises(ProbingError, match="could not be imported: ModuleNotFoundError: No module named 'data_only'"):
        AGGREGATORS.find(f"{plugin}:Mine")


def test_neighbours_of_one_name_in_two_folders_are_refused(write: Write, tmp_path: Path) -> None:
    text = "import beside\nclass Mine:\n    size = beside.SIZE\n"
    first, second = (write(f"{folder}/plugin.py", text) for folder in "ab")
    write("a/beside.py", "SIZE = 1\n")
    write("b/beside.py", "SIZE = 2\n")
    assert AGGREGATORS.find(f"{first}:Mine").object.size == 1
    with pytest.raises(ProbingError) as error:
        AGGREGATORS.find(f"{second}:Mine")
    assert str(error.value).endswith(
        f"could not be imported: ImportError: there is a module 'beside' in {tmp_path}/b and another in {tmp_path}/a, "
        "and Python imports only one of a name. Rename one of them, or run the two apart"
    )
    assert AGGREGATORS.find(f"{first}:Mine").object.size == 1


def test_a_mistake_in_a_neighbour_is_told(write: Write) -> None:
    plugin = write("plugin.py", "import beside\n")
    write("beside.py", "def")
    with pytest.raises(ProbingError, match=r"could not be imported: SyntaxError: invalid syntax \(beside.py, line 1\)"):
        AGGREGATORS.find(f"{plugin}:Mine")


def test_a_module_of_the_current_folder(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("my_module.py", "class Mine:\n    pass\n")
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    monkeypatch.chdir(tmp_path)
    found = AGGREGATORS.find("my_module:Mine")
    assert (found.name, found.version) == ("my_module:Mine", hash_code(path))
    assert importlib.import_module("my_module").Mine is found.object


LINES = [f"{split}\t{label}\t{label} a b" for split in ("tr", "va", "te") for label in "XY" for _ in range(4)]
PLUGIN = "from torch import nn\nfrom beside import WIDTH\nclass Mine(nn.Linear):\n"
PLUGIN += "    def __init__(self, model_dim, num_heads): super().__init__(model_dim, WIDTH * model_dim)\n"
PLUGIN += "    def forward(self, heads): return super().forward(heads.flatten(1))\n"


def test_workers_of_the_installed_command_import_them_too(write: Write, tmp_path: Path) -> None:
    write("beside.py", "WIDTH = 1\n")
    write("my_plugin.py", PLUGIN)
    write("task.txt", "\n".join(LINES) + "\n")
    # As the console script does it, which has no current folder there.
    code = "import sys; sys.path.remove(''); from probing.commands import main; main()"
    options = "--task-file task.txt --preset mini --set training.max_epochs=1 --set training.min_frequency=1 --jobs 2"
    models = ["--aggregator", "my_plugin.py:Mine", "--aggregator", "my_plugin:Mine"]
    command = [sys.executable, "-c", code, "run", *models, *options.split()]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "results").glob("own--task--my_plugin*_Mine--*.json"))) == 2
