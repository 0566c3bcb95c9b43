"""Checkpoints: files from which a stopped training goes on, exact to the last digit.

A checkpoint is one safetensors file; everything that is not a tensor stands in its header as JSON. It is replaced as a
whole, so that the old one is there until the new one is. It is used only if its checksum, its cell and its environment
are right, and set aside otherwise.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from probing.errors import ProbingError
from probing.storage import CHECKPOINTS, Folder, check_tensor_header, parse_json

logger = logging.getLogger(__name__)

FORMAT = 3
MINUTES, FIRST_MINUTES = 3.0, 0.5
"""Time between two checkpoints within an epoch, and before the first one, which shows how long they take."""
QUICK_SECONDS, QUICK_BYTES = 1.0, 64 << 20
"""Longest time of the last checkpoint, and largest size of a first one, for writing another when a run is stopped."""
UNSOUND = (OSError, SafetensorError, ArithmeticError, LookupError, RuntimeError, TypeError, ValueError)
"""Errors that reading a damaged or foreign file can raise."""


class Resumable(Protocol):
    """A state that can be saved in a checkpoint and restored."""

    def tensors(self) -> dict[str, Tensor]:
        """Return all tensors of the state, those of the random generators included."""

    def facts(self) -> dict[str, Any]:
        """Return the rest of the state, as JSON can hold it."""

    def restore(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """Restore a state; one that does not fit raises ValueError, KeyError or TypeError and changes nothing."""


class Stopwatch:
    """Counts the seconds that a cell takes, including those of earlier processes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._started = clock, clock()

    @property
    def seconds(self) -> float:
        return self._clock() - self._started

    def add(self, seconds: float) -> None:
        """Add the seconds that an earlier process took."""
        self._started -= seconds


class Checkpoint:
    """The checkpoint of one training; without a folder nothing is saved."""

    def __init__(
        self,
        folder: Path | None,
        *,
        key: str,
        device: torch.device,
        name: str = "training",
        stopwatch: Stopwatch | None = None,
        on_note: Callable[[str], None] = lambda text: None,
        on_news: Callable[[str], None] = lambda text: None,
        minutes: float = MINUTES,
        read_only: bool = False,
    ) -> None:
        self.path = folder / f"{name}.safetensors" if folder is not None else None
        self.about = {"format": FORMAT, "key": key, "name": name, "torch": torch.__version__, "device": str(device)}
        self.stopwatch, self.on_note, self.minutes = stopwatch or Stopwatch(), on_note, minutes
        self.on_news = on_news
        self.read_only = read_only
        """Whether another process of the same training writes the checkpoint."""
        self._began = self._saved_at = self.stopwatch.seconds
        self._seconds_to_save: float | None = None
        self._warned = False

    @property
    def is_due(self) -> bool:
        """Whether the last checkpoint is some minutes old, or it is time for the first."""
        minutes = min(self.minutes, FIRST_MINUTES) if self._seconds_to_save is None else self.minutes
        return self.path is not None and not self.read_only and self.stopwatch.seconds - self._saved_at >= 60 * minutes

    def save(self, state: Resumable) -> None:
        """Write the state; if that is impossible, note it once and go on."""
        if self.path is None or self.read_only:
            return
        began = self.stopwatch.seconds
        try:
            self._write(self.path, state)
        except (OSError, ProbingError, SafetensorError, RuntimeError, ValueError, KeyError) as error:
            # Beyond the disk's errors: a user's module can hold tensors that safetensors does not know.
            if not self._warned:
                reason = _describe(error)
                self.on_note(f"{self.path}: no checkpoint can be written ({reason}). The training goes on without")
            self._warned = True
        self._saved_at = self.stopwatch.seconds
        self._seconds_to_save = self._saved_at - began

    def save_if_quick(self, state: Resumable) -> None:
        """Write the state, unless the user who stops the run would have to wait for it."""
        if self._seconds_to_save is None:
            quick = sum(tensor.nbytes for tensor in state.tensors().values()) <= QUICK_BYTES
        else:
            quick = self._seconds_to_save <= QUICK_SECONDS
        if quick:
            self.save(state)

    def _write(self, path: Path, state: Resumable) -> None:
        tensors, facts = _separate(state.tensors()), state.facts()
        seconds = self.stopwatch.seconds - self._began
        about = {**self.about, "threads": torch.get_num_threads(), "seconds": seconds, "facts": facts}
        text = json.dumps(about, allow_nan=False)
        with _open_folder(path.parent, create=True) as folder, folder.replacing(path.name) as temporary:
            save_file(tensors, temporary, {"about": text, "sha256": _hash(text, tensors)})

    def resume(self, state: Resumable) -> bool:
        """Restore the state from the checkpoint; without a sound one, leave it unchanged and return False."""
        if self.path is None or not self.path.is_file():
            return False
        if not self.read_only:
            _remove(self.path.parent, keep=(".safetensors", ".damaged"))
        try:
            check_tensor_header(self.path)
            with safe_open(self.path, "pt") as file:
                header, about = file.metadata(), self._check(file)
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is not a dict
            if _hash(header["about"], tensors) != header.get("sha256"):
                raise ValueError("its checksum is wrong")
            state.restore(tensors, about["facts"])
        except UNSOUND as error:
            self._set_aside(self.path, _describe(error))
            return False
        torch.set_num_threads(about["threads"])  # another number of threads could change the last digits
        self.stopwatch.add(about["seconds"])
        self._saved_at = self.stopwatch.seconds
        return True

    def restore_threads(self) -> None:
        """Set the number of threads that the training began with; unsound checkpoints are left to `resume`."""
        if self.path is not None and self.path.is_file():
            with contextlib.suppress(*UNSOUND):
                check_tensor_header(self.path)
                with safe_open(self.path, "pt") as file:
                    torch.set_num_threads(self._check(file)["threads"])

    def _check(self, file: Any) -> dict[str, Any]:
        """Return the header of a checkpoint, if it is of this cell and this environment."""
        about = parse_json((file.metadata() or {}).get("about", "null"))
        if not isinstance(about, dict) or not isinstance(about.get("facts"), dict):
            raise ValueError("it does not say what it is of")
        for name, value in self.about.items():
            if about.get(name) != value:
                raise ValueError(f"its {name} is {str(about.get(name))[:80]}, not {value}")
        if type(about["threads"]) is not int or not 0 < about["threads"] < 1 << 16:
            raise ValueError("threads is not a number of threads")
        if type(about["seconds"]) is not float or not 0 <= about["seconds"] < 1e12:
            raise ValueError("seconds is not a duration")
        return about

    def _set_aside(self, path: Path, reason: str) -> None:
        if self.read_only:
            return
        aside = path.with_suffix(".safetensors.damaged")
        with contextlib.suppress(OSError), _open_folder(path.parent) as folder:
            folder.rename(path.name, aside.name)
        self.on_note(
            f"{path}: not a checkpoint to go on from ({reason}). It is set aside as {aside.name}; beginning again"
        )


def checkpoint_folder(record: Path) -> Path:
    """Return the folder of the checkpoints of the cell with this record."""
    return record.parent / CHECKPOINTS / record.stem


def discard_checkpoints(record: Path) -> None:
    """Remove the checkpoints of a cell, and leftovers of a killed process; files that were set aside stay."""
    place = checkpoint_folder(record)
    try:
        _remove(place, keep=(".damaged",))
        for path in (place, place.parent):
            with contextlib.suppress(OSError), Folder.open(path.parent) as folder:  # not empty, or not there
                os.rmdir(path.name, dir_fd=folder.handle)
    except ProbingError as error:  # a link that somebody has put there is left alone
        logger.warning("%s", error)


def list_checkpointed_records(results: Path) -> list[Path]:
    """Return the record files, existing or not, of the cells that have checkpoints."""
    with contextlib.suppress(OSError), Folder.open(results, CHECKPOINTS) as folder:
        return [results / f"{name}.json" for name in folder.list_names()]
    return []


def _remove(place: Path, *, keep: tuple[str, ...]) -> None:
    """Remove a cell's files except those with certain endings."""
    with contextlib.suppress(OSError), _open_folder(place) as folder:
        for name in folder.list_names():
            if not name.endswith(keep):
                folder.remove(name)


def _open_folder(place: Path, *, create: bool = False) -> contextlib.AbstractContextManager[Folder]:
    """Open a cell's folder, two levels below a folder that others may write to; links on the way are an error."""
    return Folder.open(place.parents[1], place.parent.name, place.name, create=create)


def _describe(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def check_fit(tensors: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    """Raise a ValueError unless both hold tensors of the same names, shapes and types."""
    if differing := tensors.keys() ^ expected.keys():
        raise ValueError(f"{min(differing)} is only in the {'file' if min(differing) in tensors else 'model'}")
    for name, tensor in expected.items():
        if tensors[name].shape != tensor.shape:
            raise ValueError(f"{name} is {list(tensors[name].shape)}, not {list(tensor.shape)}")
        if tensors[name].dtype != tensor.dtype:
            raise ValueError(f"{name} is {tensors[name].dtype}, not {tensor.dtype}")


def _separate(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors on the CPU, each with memory of its own: safetensors stores no memory twice."""
    separate, seen = {}, set()
    for name, tensor in tensors.items():
        here = tensor.detach().cpu().contiguous()
        place = here.untyped_storage().data_ptr()
        separate[name] = here.clone() if place in seen else here
        seen.add(place)
    return separate


def _hash(text: str, tensors: Mapping[str, Tensor]) -> str:
    content = hashlib.sha256(text.encode())
    for name, tensor in sorted(tensors.items()):
        content.update(f"\0{name} {tensor.dtype} {list(tensor.shape)}\0".encode())
        content.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return content.hexdigest()
