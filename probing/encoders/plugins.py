"""Encoders of users: a class, an object or a function of a module, a file or an installed package.

`file.py:Name?path=vectors.txt&dim=300` gives arguments to the class or function.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
import types
import urllib.parse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from probing.encoders.encoder import Encoder, Recipe, no_untrained_form
from probing.encoders.known_reads import KnownReads
from probing.encoders.objects import FunctionEncoder, takes_strings
from probing.encoders.options import EncoderOptions
from probing.errors import ProbingError, unknown
from probing.model import call_factory, explaining_size
from probing.registry import ENCODERS, Found
from probing.storage import watching

SINGLE = (str, int, float, bool, Path)
SINGLE_NAMES = frozenset(
    [
        "path",
        "file",
        "folder",
        "directory",
        "name",
        "model",
        "model_name",
        "weights",
        "checkpoint",
        "url",
        "dim",
        "dimension",
        "size",
        "vocabulary_size",
        "seed",
        "device",
        "layer",
        "config",
    ]
)
"""Types and usual names of a single value: a function that asks for one makes an encoder, and is none itself."""


def make_recipe(spec: str, options: EncoderOptions) -> Recipe:
    """Return the recipe of a user's or a built-in encoder; it is made here if its version cannot be known otherwise."""
    target, question, query = spec.partition("?")
    with watching() as opened:  # of an import that was done before, nothing is seen here, but known from then
        found = ENCODERS.find(target)
    plugin = _Plugin(spec, found, _read_arguments(spec, found.object, query if question else "", options))
    if found.version == "built-in":
        return plugin.describe(None)
    reads = KnownReads(encoder=found.name, version=found.version, arguments=plugin.arguments)
    reads.note(opened)
    reads.add(path for value in plugin.arguments.values() for path in _list_files(value))
    if not reads.is_known or reads.has_own_version or _has_method_version(found.object):
        with reads.watching():
            plugin.make()
    return plugin.describe(reads)


def list_options(spec: str) -> list[str]:
    """Return the names of the parameters of a user's encoder, which may be options of encoders."""
    return list(_list_parameters(ENCODERS.find(spec.partition("?")[0]).object))


@dataclasses.dataclass(slots=True)
class _Plugin:
    """A plug-in that was found, and the arguments that it is called with."""

    spec: str
    found: Found
    arguments: dict[str, Any]
    made: Any = None
    """Encoder that was made to know its version, until it is used."""

    def describe(self, reads: KnownReads | None) -> Recipe:
        target = self.found.object
        decided = isinstance(target, type) or hasattr(target, "encode")  # a function's product is known later
        settings = {name: Path(value).name if _is_path(value) else value for name, value in self.arguments.items()}
        version = self.found.version
        if own := self._find_version(reads):
            version = f"{version}; version {own}"
        return Recipe(
            name=self.found.name,
            label=self.found.label,
            version=version,
            settings={name: value for name, value in settings.items() if name != "batch_size"},
            load=self._load,
            load_untrained=self._load_untrained if hasattr(target, "untrained") or not decided else None,
            reads=reads,
            tells_version=own is not None,
        )

    def _find_version(self, reads: KnownReads | None) -> str | None:
        """Return the version that a plug-in tells: an attribute of it, or of the encoder that it makes."""
        if reads is None:
            return None
        teller = self.found.object
        if self.made is not None:
            teller = self.made.function if isinstance(self.made, FunctionEncoder) else self.made
            reads.has_own_version = "version" in getattr(teller, "__dict__", {}) or _has_method_version(type(teller))
        return tell_version(self.spec, teller)

    def make(self) -> Encoder:
        """Return the encoder that a plug-in is, or that it makes when it is called."""
        made = self.made = _make(self.spec, self.found.object, self.arguments)
        return made

    def _load(self, device: torch.device) -> Encoder:
        made, self.made = self.made, None
        return made if made is not None else _make(self.spec, self.found.object, self.arguments)

    def _load_untrained(self, device: torch.device, seed: int) -> Encoder:
        encoder: Any = self._load(device)
        if not hasattr(encoder, "untrained"):
            raise no_untrained_form(self.spec)
        try:
            made = encoder.untrained(seed)
        except Exception as error:
            raise ProbingError(
                f"encoder {self.spec!r}: untrained({seed}) failed: {type(error).__name__}: {error}"
            ) from error
        return _check(self.spec, made)


def tell_version(spec: str, teller: Any) -> str | None:
    """Return the version that an object tells by an attribute or a method, if it has one."""
    try:
        version = getattr(teller, "version", None)
        if isinstance(teller, type) and _has_method_version(teller):
            return None
        version = version() if callable(version) else version
    except Exception as error:
        raise ProbingError(f"encoder {spec!r}: its version failed: {type(error).__name__}: {error}") from error
    return None if version is None else str(version)


def _has_method_version(kind: Any) -> bool:
    """Return whether a class has a version that only its objects tell."""
    found = inspect.getattr_static(kind, "version", None) if inspect.isclass(kind) else None
    return isinstance(found, property | functools.cached_property | types.FunctionType)


def _make(spec: str, target: Any, arguments: Mapping[str, Any]) -> Encoder:
    if not isinstance(target, type) and hasattr(target, "encode"):
        return _check(spec, target)
    if not callable(target):
        raise ProbingError(f"encoder {spec!r} has no method encode(sentences) and is not a class or function")
    missing = _list_missing(target, arguments)
    if not isinstance(target, type) and len(missing) == 1 and _takes_sentences(target, missing[0]):
        return FunctionEncoder(functools.partial(target, **arguments), takes_strings(target))
    if missing and "vocabulary_size" not in missing:
        given = "&".join(f"{name}=…" for name in missing)
        raise ProbingError(
            f"encoder {spec!r} needs arguments that have no default: {', '.join(missing)}. "
            f"Give {spec}{'&' if '?' in spec else '?'}{given}"
        )
    try:
        with explaining_size():
            made = call_factory("encoder", spec, target, arguments, always=tuple(arguments))
    except ProbingError as error:
        raise ProbingError(f"{error}{_hint('vocabulary_size' in missing)}") from error
    return _check(spec, made)


def _list_parameters(target: Any) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(target, eval_str=True).parameters)
    except (TypeError, ValueError, NameError, AttributeError):
        return {}


def _list_missing(target: Any, arguments: Mapping[str, Any]) -> list[str]:
    """Return the parameters without a default for which there is no argument."""
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        name
        for name, parameter in _list_parameters(target).items()
        if parameter.default is parameter.empty and parameter.kind not in variadic and name not in arguments
    ]


def _takes_sentences(function: Callable[..., Any], parameter: str) -> bool:
    """Return whether a function of one parameter is an encoder, not a function that makes one from a single value."""
    annotation = _list_parameters(function)[parameter].annotation
    kinds = annotation.__args__ if isinstance(annotation, types.UnionType) else (annotation,)
    return parameter not in SINGLE_NAMES and not any(kind in SINGLE for kind in kinds)


def _read_arguments(spec: str, target: Any, query: str, options: EncoderOptions) -> dict[str, Any]:
    """Return the arguments in a specification and the options that a plug-in's signature names, in its own types."""
    parameters = _list_parameters(target)
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    arguments = {
        name: _convert(spec, name, str(value), parameters[name])
        for name, value in options.given.items()
        if name in parameters
    }
    for name, value in urllib.parse.parse_qsl(query, keep_blank_values=True):
        if name not in parameters and not takes_any:
            raise ProbingError(f"encoder {spec!r}: {unknown('argument', name, parameters)}")
        arguments[name] = _convert(spec, name, value, parameters.get(name))
    if query and not arguments:
        raise ProbingError(f"encoder {spec!r}: expected arguments as in ?path=vectors.txt&dim=300")
    if arguments and not callable(target):
        raise ProbingError(f"encoder {spec!r} is an object already and takes no arguments")
    return arguments


def _convert(spec: str, name: str, value: str, parameter: inspect.Parameter | None) -> Any:
    """Return an argument in the type of its annotation or default, or as the number that it is."""
    kinds: list[Any] = []
    if parameter is not None:
        annotated = parameter.annotation
        kinds = [annotated, *getattr(annotated, "__args__", ()), type(parameter.default)]
    kind: Any = next((kind for kind in kinds if kind in (bool, int, float, str)), None)
    try:
        if kind is bool:
            return {"true": True, "1": True, "false": False, "0": False}[value.lower()]
        if kind is not None:
            return kind(value)
    except (ValueError, KeyError):
        raise ProbingError(f"encoder {spec!r}: {name} must be {kind.__name__}. Got {value!r}") from None
    try:
        number = json.loads(value)
    except ValueError:
        return value
    return number if isinstance(number, bool | int | float) else value


def _is_path(value: Any) -> bool:
    return isinstance(value, str) and "/" in value and Path(value).exists()


def _list_files(value: Any) -> list[str]:
    """Return the files that an argument names: itself, or all in its folder."""
    path = Path(value) if isinstance(value, str) and value else None
    if path is None or len(str(value)) > 4096 or not path.exists():
        return []
    found = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    return [str(each.absolute()) for each in found]


def _check(spec: str, made: Any) -> Encoder:
    if not isinstance(made, Encoder):
        hint = _hint(isinstance(made, torch.nn.Module))
        raise ProbingError(f"encoder {spec!r}: {type(made).__name__} has no method encode(sentences){hint}")
    return made


def _hint(trainable: bool) -> str:
    return ". A torch.nn.Module to be trained needs --fine-tune" if trainable else ""
