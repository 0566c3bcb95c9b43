"""The code that a plug-in consists of: its own files, and the libraries that they import, by name and version.

Imports count wherever they stand in a file, also inside functions, and through any number of modules. What lies in
site-packages is a library; everything else is the plug-in's own, also an editable install.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import re
import site
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

SITE_FOLDERS = ("site-packages", "dist-packages")
OWN_FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class PluginSources:
    """The modules of a plug-in by name, and the top-level names of the libraries that they import."""

    modules: dict[str, Path] = field(default_factory=dict)
    libraries: set[str] = field(default_factory=set)

    @classmethod
    def find(cls, file: Path, package: str = "") -> PluginSources:
        """Return what a file imports; the name of its package is needed for relative imports."""
        sources = cls()
        waiting = [(file, package)]
        while waiting:
            for name in _list_imports(*waiting.pop()):
                for module, path, parent in sources._resolve(name):
                    if module not in sources.modules:
                        sources.modules[module] = path
                        waiting.append((path, parent))
        return sources

    def _resolve(self, name: str) -> Iterator[tuple[str, Path, str]]:
        """Yield a module and the packages that it lies in: the name, file and package of each."""
        parts = name.split(".")
        folders = self._find_top(parts[0])
        for depth, part in enumerate(parts, 1):
            module = ".".join(parts[:depth])
            for path in _look_into(folders, part):
                yield module, path, module if path.name == "__init__.py" else module.rpartition(".")[0]
            folders = [folder / part for folder in folders]

    def _find_top(self, name: str) -> list[Path]:
        """Return the folders in which a top-level module of the plug-in's own lies; note it if it is a library."""
        if name in sys.stdlib_module_names:
            return []
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError, AttributeError):  # importing it reports it
            return []
        if spec is None:
            return []
        places = list(spec.submodule_search_locations or [])
        folders = [Path(place).parent for place in places] or [Path(spec.origin or "").parent]
        if any(is_installed(folder) for folder in folders):
            self.libraries.add(name)
            return []
        if not places and not (spec.origin or "").endswith(".py"):
            return []
        return [folder for folder in folders if folder / name != OWN_FOLDER]

    def describe_libraries(self) -> list[str]:
        """Return the names and versions of the libraries, except those that probing itself is made of."""
        others = {name for name in self.libraries if name not in _list_own_libraries()}
        if not others:
            return []
        from importlib import metadata  # takes longer than everything else that `probe --help` imports

        distributions = metadata.packages_distributions()
        names = {name for library in others for name in distributions.get(library, [])}
        return sorted(f"{name} {metadata.version(name)}" for name in names)


def _look_into(folders: list[Path], name: str) -> list[Path]:
    """Return the file of a module in the first folder that has it; a folder without `__init__.py` has none."""
    places = [place for folder in folders for place in (folder / name / "__init__.py", folder / f"{name}.py")]
    return [place for place in places if place.is_file()][:1]


def _list_imports(file: Path, package: str) -> set[str]:
    """Return the full names of the modules that a file imports; `from a import b` may mean the module a.b."""
    try:
        nodes = list(ast.walk(ast.parse(file.read_bytes())))
    except (OSError, SyntaxError, ValueError):  # importing the file reports it
        return set()
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            start = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                start = ".".join(filter(None, [*parents, start]))
            names |= {start, *(f"{start}.{alias.name}" for alias in node.names)}
    return {name for name in names if name and not name.startswith(".")}


def is_installed(path: Path) -> bool:
    """Return whether a path belongs to Python or to an installed distribution, which is known by its version."""
    resolved = path.resolve()
    if any(part in SITE_FOLDERS for part in resolved.parts):
        return True
    return any(resolved.is_relative_to(folder) for folder in _list_python_folders())


@functools.cache
def _list_python_folders() -> list[Path]:
    paths = sysconfig.get_paths()
    places = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    return [Path(place).resolve() for place in (*places, site.getusersitepackages())]


@functools.cache
def _list_own_libraries() -> set[str]:
    """Return the top-level names of the libraries that probing requires: they are part of every model alike."""
    from importlib import metadata

    try:
        required = metadata.requires("probing") or []
    except metadata.PackageNotFoundError:
        required = []
    names = {re.split(r"[\s<>=!~;\[(]", line, maxsplit=1)[0] for line in required if "extra ==" not in line}
    provided = metadata.packages_distributions()
    wanted = {name.lower().replace("_", "-") for name in names}
    return {
        top for top, found in provided.items() if any(each.lower().replace("_", "-") in wanted for each in found)
    } | {"probing", "torch", "numpy"}
