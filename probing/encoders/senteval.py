"""`senteval:my_script.py`: a file written for SentEval, with `prepare(params, samples)` and `batcher(params, batch)`.

Such files import SentEval, which is on no registry. If it is not installed, a stand-in takes its place during the
import; only code under `if __name__ == "__main__"` would need more.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from probing.encoders.encoder import Recipe
from probing.encoders.known_reads import KnownReads
from probing.encoders.options import DEFAULTS, EncoderOptions
from probing.encoders.plugins import tell_version
from probing.errors import ProbingError
from probing.registry import import_file
from probing.storage import watching
from probing.tasks import Task


class DotDict(dict[str, Any]):
    """A dictionary whose keys are also attributes; a missing one is None, as in SentEval."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.get(name)

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        del self[name]


def make_params(params: dict[str, Any]) -> DotDict:
    """Return SentEval's `params` with its defaults filled in."""
    filled = DotDict({"usepytorch": True, "seed": 1111, "batch_size": 128, "nhid": 0, "kfold": 5} | params)
    own = params.get("classifier")
    filled.classifier = {"nhid": 0} if own is None else own  # the user's own, which may change before it is used
    check_params(filled)
    return filled


def check_params(params: Mapping[str, Any]) -> None:
    """Refuse sizes and seeds that are no numbers, and settings of a classifier that do not say its size."""
    for name, least in (("batch_size", 1), ("seed", 0)):
        value = params[name]
        if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
            raise ProbingError(f"params[{name!r}] must be a whole number from {least}. Got {value!r}")
    classifier = params["classifier"]
    if not isinstance(classifier, Mapping) or "nhid" not in classifier:
        raise ProbingError(
            f"params['classifier'] must say how many hidden units there are, e.g. {{'nhid': 0}}. Got {classifier!r}"
        )


def make_recipe(target: str, options: EncoderOptions = DEFAULTS) -> Recipe:
    """Return the recipe of a script; it is imported here, so that its errors are known before a run."""
    path = Path(target)
    spec = f"senteval:{target}"
    if not path.is_file():
        raise ProbingError(f"encoder {spec!r}: there is no file {target}")
    with _stand_in(), watching() as opened:
        try:
            script, version = import_file(path)
        except (Exception, SystemExit) as error:
            raise ProbingError(f"encoder {spec!r} could not be imported: {type(error).__name__}: {error}") from error
    batcher = getattr(script, "batcher", None)
    if not callable(batcher):
        raise ProbingError(f"encoder {spec!r}: the file has no function batcher(params, batch)")
    globals_of_params = (vars(script).get(name) for name in ("params_senteval", "params"))
    settings: Mapping[str, Any] = next((found for found in globals_of_params if isinstance(found, Mapping)), {})
    if (own := tell_version(spec, script)) is not None:
        version = f"{version}; version {own}"
    reads = KnownReads(encoder=spec, version=version)
    reads.note(opened)
    return Recipe(
        name=f"senteval:{path.name}",
        label=path.stem,
        version=version,
        reads=reads,
        tells_version=own is not None,
        load=lambda device: BatcherEncoder(batcher, getattr(script, "prepare", None), dict(settings)),
    )


class BatcherEncoder:
    """Calls a SentEval batcher on batches of the size that its params state, from short to long sentences."""

    def __init__(self, batcher: Callable[..., Any], prepare: Callable[..., Any] | None, params: dict[str, Any]) -> None:
        self.batcher, self.prepare_params, self.params = batcher, prepare, make_params(params)

    @property
    def batch_size(self) -> int:
        return int(self.params.batch_size)

    def begin(self, task: Task) -> None:
        """Set the current task, as SentEval does before it calls `prepare`."""
        self.params.current_task = task.senteval

    def prepare(self, sentences: list[list[str]]) -> None:
        if self.prepare_params is not None:
            self.prepare_params(self.params, sentences)

    def encode(self, sentences: list[list[str]]) -> Any:
        size = self.params.batch_size
        blocks = []
        for start in range(0, len(sentences), size):
            batch = sentences[start : start + size]
            block = np.asarray(self.batcher(self.params, batch))
            if block.ndim and len(block) != len(batch):
                raise ValueError(f"batcher was given {len(batch)} sentences and returned {len(block)} rows")
            blocks.append(block)
        return np.concatenate(blocks)


@contextmanager
def _stand_in() -> Iterator[None]:
    """Make `import senteval` work if SentEval is not installed."""
    if "senteval" in sys.modules or importlib.util.find_spec("senteval") is not None:
        yield
        return
    package, engine, utils = (ModuleType(name) for name in ("senteval", "senteval.engine", "senteval.utils"))

    def refuse(*arguments: Any, **options: Any) -> None:
        raise ProbingError(
            "the script starts SentEval when it is imported: put that under `if __name__ == '__main__':`"
        )

    vars(engine)["SE"] = refuse
    vars(utils)["dotdict"] = DotDict
    vars(package).update(engine=engine, utils=utils, __path__=[])
    modules = {module.__name__: module for module in (package, engine, utils)}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            sys.modules.pop(name, None)
