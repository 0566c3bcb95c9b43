"""Imports of modules beside a plug-in's file or in the current folder, which come after everything that is installed.

A plug-in's version covers all code of its own, because a change there changes the plug-in.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

from probing.plugin_sources import PluginSources

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

    def admit(self, plugin: Path, module: str = "") -> str:
        """Return a plug-in's version: a hash of its text, of all modules of its own, and the versions of its libraries.

        Unless it is a module with a name, the modules beside it become importable. A module that has changed since it
        was imported is imported anew.
        """
        folder = plugin.resolve().parent
        if not module:
            self.add_folder(folder)
        sources = PluginSources.find(plugin, module if plugin.name == "__init__.py" else module.rpartition(".")[0])
        self._refuse_doubles(folder, sources)
        others = {name: file for name, file in sources.modules.items() if file != plugin}
        hashes = {file: hash_code(file) for file in (*others.values(), plugin)}
        if any(self._hashes.get(file, sha256) != sha256 for file, sha256 in hashes.items()):
            _forget({*others, module})
        self._hashes |= hashes
        named = {name: hashes[file] for name, file in others.items()}
        return describe_code(hashes[plugin], named, sources.describe_libraries())

    def is_admitted(self, file: Path) -> bool:
        """Return whether a file is part of the version of a plug-in."""
        return file in self._hashes or file.resolve() in self._hashes

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

    def _refuse_doubles(self, folder: Path, sources: PluginSources) -> None:
        """Raise an error if a module beside the plug-in is hidden by one of the same name beside another plug-in."""
        for name, place in self.found.items():
            beside = (folder / name).is_dir() or (folder / f"{name}.py").is_file()
            if beside and place != folder and any(each.partition(".")[0] == name for each in sources.modules):
                raise ImportError(
                    f"there is a module {name!r} in {folder} and another in {place}, and Python imports "
                    "only one of a name. Rename one of them, or run the two apart"
                )


def _forget(modules: Set[str]) -> None:
    """Remove modules, so that they are imported anew."""
    for name in [name for name in sys.modules if name in modules]:
        del sys.modules[name]


def describe_code(own: str, modules: Mapping[str, str], libraries: Sequence[str]) -> str:
    """Return the version of code: the hash of its file if that is all, or else of everything together."""
    if not modules and not libraries:
        return own
    digest = hashlib.sha256(own.encode())
    for name, sha256 in sorted(modules.items()):
        digest.update(f"{name}\0{sha256}\0".encode())
    for library in libraries:
        digest.update(f"{library}\0".encode())
    return digest.hexdigest()


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
