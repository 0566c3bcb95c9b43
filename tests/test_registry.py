from __future__ import annotations

import hashlib
import importlib.metadata
import subprocess
import sys
from types import SimpleNamespace

import pytest

from probing.errors import ProbingError
from probing.registry import AGGREGATORS, COMPARED

KNOWN = "base, simple, em, simple-code, em-code"


def error_of(spec):
    with pytest.raises(ProbingError) as caught:
        AGGREGATORS.find(spec)
    return str(caught.value)


@pytest.fixture
def plugin(tmp_path):
    def write(text="class Mine:\n    pass\n", name="my_file.py"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.fixture
def installed(monkeypatch):
    """Pretend that packages with these entry points are installed."""
    points = []

    def entry_points(*, group):
        return [point for point in points if point.group == group]

    def install(name, value, *, version="1.2", group="probing.aggregators"):
        point = importlib.metadata.EntryPoint(name, value, group)
        vars(point)["dist"] = SimpleNamespace(version=version) if version else None
        points.append(point)

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    return install


def test_the_compared_models_are_built_in():
    assert COMPARED == ("base", "simple", "em")
    assert set(COMPARED) <= AGGREGATORS.builtins.keys()


@pytest.mark.parametrize("name", AGGREGATORS.builtins)
def test_a_built_in_is_found_in_any_case(name):
    found = AGGREGATORS.find(name)
    assert (found.name, found.version) == (name, "built-in")
    assert found.label == AGGREGATORS.builtins[name].label
    assert callable(found.object)
    assert AGGREGATORS.find(name.upper()) == found


def test_built_ins_have_labels_and_summaries_of_their_own(installed):
    assert AGGREGATORS.names() == list(AGGREGATORS.builtins)
    for column in zip(*AGGREGATORS.summaries(), strict=True):
        assert len(set(column)) == len(AGGREGATORS.builtins)
        assert all(column)


def test_nothing_is_imported_before_it_is_named():
    code = "import sys; from probing.registry import AGGREGATORS as a; a.summaries(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("spec", "hint"),
    [("emm", " Did you mean 'em'?"), ("Simpel", " Did you mean 'simple'?"), ("zzzz", ""), ("", "")],
)
def test_an_unknown_name(installed, spec, hint):
    assert error_of(spec) == f"unknown aggregator {spec!r}.{hint} Known: {KNOWN}, module:Name, file.py:Name"


def test_a_module_outside_the_table():
    found = AGGREGATORS.find("collections:Counter")
    assert (found.name, found.label) == ("collections:Counter", "Counter")
    assert found.object is __import__("collections").Counter
    source = __import__("collections").__file__
    with open(source, "rb") as file:
        assert found.version == hashlib.sha256(file.read()).hexdigest()


def test_a_module_without_a_file():
    assert AGGREGATORS.find("sys:exit").version == "unknown"


def test_a_file(plugin):
    path = plugin()
    found = AGGREGATORS.find(f"{path}:Mine")
    assert (found.name, found.label) == ("my_file.py:Mine", "Mine")
    assert found.object.__name__ == "Mine"
    assert found.version == hashlib.sha256(path.read_bytes()).hexdigest()
    assert AGGREGATORS.find(f"{path}:Mine").object is found.object


def test_a_changed_file_is_read_again_and_has_another_version(plugin):
    first = AGGREGATORS.find(f"{plugin('class Mine: a = 1')}:Mine")
    second = AGGREGATORS.find(f"{plugin('class Mine: a = 2')}:Mine")
    assert (first.object.a, second.object.a) == (1, 2)
    assert first.version != second.version


def test_a_colon_in_a_folders_name(plugin, tmp_path):
    (tmp_path / "a:b").mkdir()
    assert AGGREGATORS.find(f"{plugin(name='a:b/my_file.py')}:Mine").label == "Mine"


def test_dataclasses_work_in_a_file(plugin):
    """They look their module up in sys.modules."""
    text = (
        "from __future__ import annotations\nimport dataclasses\n@dataclasses.dataclass\nclass Mine:\n    a: int = 1\n"
    )
    assert AGGREGATORS.find(f"{plugin(text)}:Mine").object().a == 1


def test_a_file_that_is_not_there(tmp_path):
    spec = f"{tmp_path}/no.py:Mine"
    assert error_of(spec) == f"aggregator {spec!r}: there is no file {tmp_path}/no.py"
    (tmp_path / "folder.py").mkdir()
    assert error_of(f"{tmp_path}/folder.py:Mine").endswith(f"there is no file {tmp_path}/folder.py")


def test_a_name_that_is_not_in_the_file(plugin):
    spec = f"{plugin()}:Mien"
    assert error_of(spec) == f"aggregator {spec!r}: unknown name 'Mien'. Did you mean 'Mine'? Known: Mine"


def test_no_name_after_the_colon(plugin):
    spec = f"{plugin()}:"
    assert error_of(spec) == f"aggregator {spec!r}: unknown name ''. Known: Mine"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("def", "SyntaxError: invalid syntax"),
        ("import sys\nsys.exit('bye')", "SystemExit: bye"),
    ],
)
def test_a_file_that_cannot_be_imported(plugin, text, why):
    spec = f"{plugin(text)}:Mine"
    assert error_of(spec).startswith(f"aggregator {spec!r} could not be imported: {why}")
    assert error_of(spec).startswith(f"aggregator {spec!r} could not be imported: {why}")  # not half in sys.modules


@pytest.mark.parametrize("spec", ["no_such_module:Mine", ":Mine", "..up:Mine"])
def test_a_module_that_cannot_be_imported(spec):
    assert error_of(spec).startswith(f"aggregator {spec!r} could not be imported: ")


def test_an_installed_plugin(installed):
    installed("mine", "collections:Counter", version="3.1")
    installed("apart", "collections:OrderedDict", version=None)
    installed("elsewhere", "collections:deque", group="other")
    found = AGGREGATORS.find("mine")
    assert (found.name, found.label, found.version) == ("mine", "mine", "3.1")
    assert found.object is __import__("collections").Counter
    assert AGGREGATORS.find("apart").version == "unknown"
    assert AGGREGATORS.names() == [*AGGREGATORS.builtins, "apart", "mine"]
    assert AGGREGATORS.summaries()[-1] == ("mine", "mine", "plug-in collections:Counter")
    assert "Known: base, simple, em, simple-code, em-code, apart, mine, module:Name" in error_of("elsewhere")
    assert "Did you mean 'mine'?" in error_of("mien")


def test_a_plugin_does_not_replace_a_built_in(installed):
    installed("em", "collections:Counter")
    assert AGGREGATORS.find("em").version == "built-in"


def test_a_plugin_that_cannot_be_imported(installed):
    installed("mine", "no_such_module:Mine")
    installed("other", "collections:NoSuchName")
    assert error_of("mine") == (
        "aggregator 'mine' could not be imported: ModuleNotFoundError: No module named 'no_such_module'"
    )
    assert error_of("other").startswith("aggregator 'other' could not be imported: AttributeError: ")
