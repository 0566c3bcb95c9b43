"""A name becomes an object: a built-in, an entry point, `module:Name` or `file.py:Name`.

Nothing is imported before it is named.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from probing.errors import ProbingError, unknown
from probing.plugin_imports import FINDER, hash_code
from probing.plugin_sources import OWN_FOLDER, is_installed
from probing.storage import check_path

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint


@dataclass(frozen=True, slots=True)
class Builtin:
    """A built-in object: its place in the code, its name in tables, and a description in one line."""

    target: str
    label: str
    summary: str


@dataclass(frozen=True, slots=True)
class Found:
    """An object that a specification named."""

    name: str
    """Name in records."""
    label: str
    """Name in tables."""
    object: Any
    version: str
    """A version number, or a hash of the object's file and of the modules beside it."""


@dataclass(frozen=True, slots=True)
class Registry:
    """The objects of one kind."""

    kind: str
    group: str
    """The entry-point group of plug-ins."""
    builtins: Mapping[str, Builtin]

    def names(self) -> list[str]:
        """Return the names of the built-ins, then those of installed plug-ins."""
        return [*self.builtins, *sorted(point.name for point in self._entry_points())]

    def summaries(self) -> list[tuple[str, str, str]]:
        """Return name, label and description of the built-ins and the installed plug-ins."""
        plugins = [(point.name, point.name, f"plug-in {point.value}") for point in self._entry_points()]
        return [(name, item.label, item.summary) for name, item in self.builtins.items()] + sorted(plugins)

    def find(self, spec: str) -> Found:
        """Import and return the object that a specification names."""
        if builtin := self.builtins.get(spec.lower()):
            return Found(spec.lower(), builtin.label, _import_target(builtin.target), "built-in")
        for point in self._entry_points():
            if point.name == spec:
                return Found(spec, spec, *self._load(spec, functools.partial(_load_point, point)))
        source, colon, attribute = spec.rpartition(":")
        if not colon:
            raise unknown(self.kind, spec, [*self.names(), "module:Name", "file.py:Name"])
        if source.endswith(".py"):
            path = check_path(source)
            if not path.is_file():
                raise ProbingError(f"{self.kind} {spec!r}: there is no file {source}")
            module, version = self._load(spec, lambda: import_file(path))
        else:
            FINDER.add_folder(Path.cwd())
            module, version = self._load(spec, lambda: _import_module(source))
        if not hasattr(module, attribute):
            public = [name for name in vars(module) if not name.startswith("_")]
            raise ProbingError(f"{self.kind} {spec!r}: {unknown('name', attribute, public)}")
        return Found(f"{Path(source).name}:{attribute}", attribute, getattr(module, attribute), version)

    def _entry_points(self) -> list[EntryPoint]:
        from importlib import metadata  # takes longer than everything else that `probe --help` imports

        return list(metadata.entry_points(group=self.group))

    def _load(self, spec: str, load: Any) -> Any:
        try:
            return load()
        except (Exception, SystemExit) as error:
            raise ProbingError(
                f"{self.kind} {spec!r} could not be imported: {type(error).__name__}: {error}"
            ) from error


def _import_target(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _import_module(name: str) -> tuple[ModuleType, str]:
    """Import a module that is installed or in the current folder; return it and its version."""
    module = importlib.import_module(name)
    file = getattr(module, "__file__", None)
    if not file:
        return module, "unknown"
    if is_installed(Path(file)):
        return module, hash_code(Path(file))
    version = FINDER.admit(Path(file), name)
    return importlib.import_module(name), version  # anew, if it has changed


def _load_point(point: EntryPoint) -> tuple[Any, str]:
    """Return what an entry point names, and the version of its distribution, with its code if that is editable."""
    made = point.load()
    version = point.dist.version if point.dist else "unknown"
    file = getattr(sys.modules.get(point.module), "__file__", None)
    if not file or is_installed(Path(file)) or _is_beside(point.dist, Path(file)):
        return made, version
    module, code = _import_module(point.module)
    made = functools.reduce(getattr, point.attr.split("."), module) if point.attr else module
    return made, f"{version}; {code}"


def _is_beside(distribution: Distribution | None, file: Path) -> bool:
    """Return whether a file lies where its distribution was installed to, which need not be site-packages."""
    if distribution is None:
        return False
    # Not of a class of this module's if a library has brought the back-port of importlib.metadata.
    info = Path(str(distribution.locate_file("")))
    has_info = any(info.glob("*.dist-info"))
    return has_info and file.resolve().is_relative_to(info.resolve())


def import_file(path: Path) -> tuple[ModuleType, str]:
    """Import a Python file by its path, once for each version of it; return the module and its version."""
    version = FINDER.admit(path)
    name = f"probing_plugin_{path.stem}_{version[:8]}"
    if name in sys.modules:
        return sys.modules[name], version
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module, version


def is_plugin_file(path: Path) -> bool:
    """Return whether a file's content is part of a version already: it is installed, or a plug-in's own code."""
    return is_installed(path) or FINDER.is_admitted(path) or path.resolve().is_relative_to(OWN_FOLDER)


AGGREGATORS = Registry(
    "aggregator",
    "probing.aggregators",
    {
        "base": Builtin(
            "probing.aggregators.linear:LinearAggregator", "Base", "concatenate the heads, then a linear map"
        ),
        "simple": Builtin(
            "probing.aggregators.simple:SimpleAggregator", "Simple", "simple routing, as the paper prints it"
        ),
        "em": Builtin("probing.aggregators.em:EMAggregator", "EM", "EM routing, as the paper prints it"),
        "simple-code": Builtin(
            "probing.aggregators.simple:SimpleCodeAggregator",
            "Simple (code)",
            "simple routing as the authors' released code has it: softmax over heads, linear input capsules",
        ),
        "em-code": Builtin(
            "probing.aggregators.em:EMCodeAggregator",
            "EM (code)",
            "EM routing as the authors' released code has it: the means alone are the output",
        ),
    },
)

COMPARED = ("base", "simple", "em")
"""Aggregators that `--aggregator all` stands for: those of the paper's Table 1."""

ENCODERS = Registry(
    "encoder",
    "probing.encoders",
    {
        "bag-of-words": Builtin(
            "probing.encoders.bag_of_words:BagOfWords", "Bag of words", "counts of the task's most frequent words"
        ),
        "random-bag-of-words": Builtin(
            "probing.encoders.bag_of_words:RandomBagOfWords",
            "Random bag of words",
            "the mean of fixed random word vectors: the usual floor",
        ),
        "length": Builtin("probing.encoders.bag_of_words:Length", "Length", "the number of tokens, and nothing else"),
        "transformer": Builtin(
            "probing.encoders.trainable:make_transformer",
            "Transformer",
            "the encoder that `--aggregator base` trains; with --fine-tune only",
        ),
    },
)
