"""The layout: packages say their purpose and offer some names, and no class name means two things."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "probing"
MODULES = sorted(PACKAGE.rglob("*.py"))
OFFERING = (
    *("aggregators", "encoders", "execution", "model", "native", "probes", "results", "statistics", "storage"),
    *("tasks", "training"),
)
"""Packages of which other packages use only the names that their `__init__` offers."""
FLAT = {
    *("__init__", "__main__", "api", "config", "display", "errors", "plugin_imports", "plugin_sources", "registry"),
    *("signals",),
}
"""Modules that lie directly in probing/."""


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_module_says_its_purpose(path: Path) -> None:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert text
    assert len(text.split()) >= 4
    assert text[0].isupper() or text[0] in "`"
    assert text.split("\n")[0].endswith((".", ":"))


def test_what_lies_flat() -> None:
    assert {path.stem for path in PACKAGE.glob("*.py")} == FLAT


def list_offered(package: str) -> set[str]:
    """Return the names that a package's `__init__` imports from its modules, some for type checkers only."""
    tree = ast.parse((PACKAGE / package / "__init__.py").read_text(encoding="utf-8"))
    branches = [node for node in tree.body if isinstance(node, ast.If)]
    statements = [*tree.body, *(each for node in branches for each in node.body)]
    imports = [node for node in statements if isinstance(node, ast.ImportFrom) and node.module != "typing"]
    return {alias.asname or alias.name for node in imports for alias in node.names}


def list_imports(path: Path) -> Iterator[tuple[str, list[str]]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("probing."):
            yield node.module, [alias.name for alias in node.names]


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_other_packages_are_used_by_the_names_that_they_offer(path: Path) -> None:
    own = path.relative_to(PACKAGE).parts[0]
    for module, names in list_imports(path):
        package = module.split(".")[1]
        if package in OFFERING and package != own:
            assert module == f"probing.{package}", f"{module}: import from the package, which offers names"
            assert set(names) <= list_offered(package)
        assert not [each for each in names if each.startswith("_") and each != "__version__"]


@pytest.mark.parametrize("package", OFFERING)
def test_what_is_offered_is_used(package: str) -> None:
    offered = list_offered(package)
    used = {
        each
        for path in (*MODULES, *(ROOT / "benchmarks").glob("*.py"))
        if path.relative_to(ROOT).parts[:2] != ("probing", package)
        for module, names in list_imports(path)
        if module == f"probing.{package}"
        for each in names
    }
    called = " ".join(path.read_text(encoding="utf-8") for path in MODULES if path.parent.name != package)
    assert {each for each in offered - used if f"{package}.{each}" not in called} == set()


def test_a_class_name_means_one_thing() -> None:
    places = defaultdict(list)
    for path in MODULES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                places[node.name.lstrip("_")].append(name(path))
    assert {each: found for each, found in places.items() if len(found) > 1} == {}
