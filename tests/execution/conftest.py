"""What tests of both clusters need: a task, a plug-in that kills its worker once, and the records of a local run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from probing.display import Display
from probing.execution import shipping
from probing.experiments.running import Summary
from tests.studies import load, make_settings, start, write_answers

PLUGIN = """
import os
from pathlib import Path
from torch import nn

class Deadly(nn.Module):
    def __init__(self, model_dim, num_heads):
        super().__init__()
        self.output = nn.Linear(model_dim, model_dim)
        try:
            Path({marker!r}).touch(exist_ok=False)
        except FileExistsError:
            return
        os.kill(os.getpid(), 9)

    def forward(self, heads):
        return self.output(heads.flatten(1))
"""


@dataclass(frozen=True)
class Study:
    """Four cells, of which the first to begin kills its process."""

    folder: Path

    @property
    def marker(self) -> Path:
        return self.folder / "has-killed"

    def run(self, results: str, **options: Any) -> Summary:
        return start(
            self.folder / "answers.tsv",
            self.folder / results,
            aggregators=[f"{self.folder / 'deadly.py'}:Deadly", "base"],
            seeds=[0, 1],
            **{"settings": make_settings(max_epochs=3), "display": Display(verbosity=1), "jobs": None, **options},
        )

    def scores(self, results: str) -> list[Any]:
        return [(result.key, result.scores) for result in load(self.folder / results)]


@pytest.fixture
def study(tmp_path: Path) -> Study:
    write_answers(tmp_path)
    made = Study(tmp_path)
    (tmp_path / "deadly.py").write_text(PLUGIN.format(marker=str(made.marker)), encoding="utf-8")
    return made


@pytest.fixture
def _far_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the machines of the cluster not see the run's files, so that all must be shipped."""
    wrap = shipping.Packer._wrap

    def hide(packer: shipping.Packer, path: Path) -> shipping.Parcel:
        parcel = wrap(packer, path)
        return shipping.Parcel(Path("/nowhere") / path.name, parcel.sha256, parcel.handle)

    monkeypatch.setattr(shipping.Packer, "_wrap", hide)


@pytest.fixture
def check_study(study: Study, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return a function that runs the study on a cluster and compares it with a local run; gives what was said."""

    def check(**options: Any) -> str:
        assert study.run("far", **options) == Summary(finished=4, skipped=0, failed=0)
        assert study.marker.exists(), "no worker was killed"
        said = " ".join(capsys.readouterr().err.split())
        assert study.run("near", jobs=1) == Summary(finished=4, skipped=0, failed=0)
        assert study.scores("far") == study.scores("near")
        assert sorted(path.suffix for path in (study.folder / "far").iterdir()) == [".json"] * 4
        return said

    return check
