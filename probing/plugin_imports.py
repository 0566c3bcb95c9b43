"""Imports of modules beside a plug-in's file or in the current folder, which come after everything that is installed.

A plug-in's version covers the modules that it imports from beside it, because a change there changes the plug-in.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

SAFE_PATH = "PYTHONSAFEPATH"
"""Variable that keeps Python from importing modules of the current folder, which may be of unknown origin."""


class PluginFinder(MetaPathFinder):
    """A finder that Python asks last, for modules that are found nowhere else, so that it never replaces one."""

    def __init__(self) -> None:
        self.folders: list[Path] = []
        self.found: dict[str, Path] = {}
        """Folder in which each module was found."""
        self._hashes: dict[Path, str] = {}

    def add_folder(self, folder: Path) -> None:
        """Make the modules of a folder importable."""
        if self not in sys.meta_path:
            sys.meta_path.append(self)
        if folder not in self.folders:
            self.folders.append(folder)
        importlib.invalidate_caches()

    def admit(self, plugin: Path) -> str:
        """Make the modules beside a plug-in importable; return its version, a hash of its text and of those it imports.

        Imports by name count, at any depth; a module that has changed since it was imported is imported anew.
        """
        self.add_folder(plugin.resolve().parent)
        modules = self._list_modules(plugin)
        hashes = {file: hash_code(file) for files in modules.values() for file in files}
        if any(self._hashes.get(file, sha256) != sha256 for file, sha256 in hashes.items()):
            _forget(modules)
        self._hashes |= hashes
        if not hashes:
            return hash_code(plugin)
        digest = hashlib.sha256(hash_code(plugin).encode())
        for file, sha256 in sorted(hashes.items()):
            digest.update(f"{file.relative_to(plugin.resolve().parent)}\0{sha256}\0".encode())
        return digest.hexdigest()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the place of a top-level module; submodules are found by their packages."""
        for folder in self.folders if path is None else []:
            spec = PathFinder.find_spec(fullname, [str(folder)])
            if spec is not None and (spec.origin or any((folder / fullname).glob("*.py"))):  # no folder of mere data
                self.found[fullname] = folder
                return spec
        return None

    def _list_modules(self, plugin: Path) -> dict[str, list[Path]]:
        """Return the modules beside a plug-in that it imports, directly or through others, and their files."""
        folder = plugin.resolve().parent
        modules: dict[str, list[Path]] = {}
        waiting = [plugin]
        while waiting:
            for name in _list_imports(waiting.pop()) - modules.keys():
                package, module = folder / name, folder / f"{name}.py"
                if (package.is_dir() or module.is_file()) and self._is_found_in(folder, name):
                    modules[name] = [*package.rglob("*.py"), *([module] if module.is_file() else [])]
                    waiting += modules[name]
        return modules

    def _is_found_in(self, folder: Path, name: str) -> bool:
        if name not in sys.modules:
            importlib.util.find_spec(name)  # records the folder if nothing else has the name
        if name in self.found and self.found[name] != folder:
            raise ImportError(
                f"there is a module {name!r} in {folder} and another in {self.found[name]}, and Python imports "
                "only one of a name. Rename one of them, or run the two apart"
            )
        return name in self.found


def _list_imports(file: Path) -> set[str]:
    """Return the top-level modules that a file imports by name."""
    try:
        nodes = list(ast.walk(ast.parse(file.read_bytes())))
    except (SyntaxError, ValueError):  # importing the file reports it
        return set()
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level]
    return {name.partition(".")[0] for name in names}


def _forget(modules: Mapping[str, object]) -> None:
    """Remove modules and their submodules, so that they are imported anew."""
    for name in [name for name in sys.modules if name.partition(".")[0] in modules]:
        del sys.modules[name]


def hash_code(path: Path) -> str:
    """Return the version of a Python file: the hash of its text."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


FINDER = PluginFinder()


@contextmanager
def importing_safely() -> Iterator[None]:
    """Keep Python processes that start in the block from importing modules of the current folder."""
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SAFE_PATH]
        else:
            os.environ[SAFE_PATH] = before
