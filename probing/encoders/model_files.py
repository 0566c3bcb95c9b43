"""Models of the Hugging Face libraries: their names, their versions, and errors when they are loaded."""

from __future__ import annotations

import hashlib
import importlib.metadata
import itertools
import logging as python_logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import nn

from probing.errors import ProbingError
from probing.storage import hash_large_file


def short_name(target: str) -> str:
    """Return a model's name in tables: without its owner or folder."""
    path = Path(target)
    return (path.absolute() if path.is_dir() else path).name


def full_name(target: str) -> str:
    """Return a model's name in records: OWNER/NAME on the hub, or the name of a folder, which has a hash besides."""
    return short_name(target) if Path(target).is_dir() else target


def describe_version(spec: str, target: str) -> str:
    """Return a model's version: a hash of its files, or its commit on the hub."""
    folder = Path(target)
    if not folder.is_dir():
        return find_on_hub(spec, [target], ["config.json"])[1]
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(folder)}\0{hash_large_file(path)}\0".encode())
    return digest.hexdigest()


def find_on_hub(spec: str, names: Sequence[str], files: Sequence[str]) -> tuple[str, str]:
    """Return the first of some names that is a model on the hub with one of some files, and the model's commit."""
    with loading(spec, extra="huggingface"):
        name, file = _find_file(names, files)
    snapshot = file.parent
    if snapshot.parent.name != "snapshots":
        raise ProbingError(
            f"encoder {spec!r}: {snapshot} does not tell the model's commit on the hub. "
            "Download the model into a folder and name that instead"
        )
    return name, snapshot.name


def _find_file(names: Sequence[str], files: Sequence[str]) -> tuple[str, Path]:
    """Return the model and its file in the hub's cache; without a connection only the cache is searched."""
    from huggingface_hub.errors import LocalEntryNotFoundError
    from transformers.utils import cached_file

    problem: OSError = FileNotFoundError(f"there is no {' or '.join(files)}")
    connected = True
    for name, file in itertools.product(names, files):
        try:
            found = cached_file(name, file, local_files_only=not connected)
        except OSError as error:
            problem = error
            connected = connected and not isinstance(error.__cause__, LocalEntryNotFoundError)
        else:
            if found is not None:
                return name, Path(found)
    raise problem


@contextmanager
def loading(spec: str, *, extra: str) -> Iterator[None]:
    """Turn a library's error when it cannot load a model into one line."""
    try:
        from transformers.utils import logging

        logging.disable_progress_bar()  # the run shows its own
        with _silencing("huggingface_hub", "urllib3", "httpx"):  # each retry would be a line
            yield
    except (ImportError, importlib.metadata.PackageNotFoundError) as error:
        if "accelerate" in str(error):
            raise _no_accelerate(spec) from None
        raise ProbingError(
            f"encoder {spec!r} needs a library that is not installed ({error}). Run: pip install 'probing[{extra}]'"
        ) from None
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        if "custom code" in str(error) or "trust_remote_code" in str(error):
            raise ProbingError(
                f"encoder {spec!r} needs code of its own to be run. Give --trust-remote-code if you trust it"
            ) from error
        if "accelerate" in str(error):
            raise _no_accelerate(spec) from error
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ProbingError(f"encoder {spec!r} could not be loaded: {first}") from error


@contextmanager
def _silencing(*names: str) -> Iterator[None]:
    """Let libraries log errors only."""
    levels = {name: python_logging.getLogger(name).level for name in names}
    for name in names:
        python_logging.getLogger(name).setLevel(python_logging.ERROR)
    try:
        yield
    finally:
        for name, level in levels.items():
            python_logging.getLogger(name).setLevel(level)


def _no_accelerate(spec: str) -> ProbingError:
    return ProbingError(f"encoder {spec!r}: --device-map needs a library that is not installed: pip install accelerate")


def draw_weights(spec: str, model: nn.Module, seed: int) -> None:
    """Draw the weights of a model on the CPU anew, by its own library's initialisation."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        _draw_weights(spec, model)


def _draw_weights(spec: str, module: nn.Module) -> None:
    from transformers import PreTrainedModel

    if isinstance(module, PreTrainedModel):
        module.load_state_dict(type(module)(module.config).state_dict())
        return
    for child in module.children():
        _draw_weights(spec, child)
    if list(module.parameters(recurse=False)):
        reset = getattr(module, "reset_parameters", None)
        if not callable(reset):
            raise ProbingError(f"encoder {spec!r} has no untrained form: {type(module).__name__} cannot draw weights")
        reset()
