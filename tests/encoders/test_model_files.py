"""Versions of models on disk, and what a user reads when a library is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from probing.encoders.model_files import describe_version, draw_weights, loading, short_name
from probing.errors import ProbingError


def test_the_version_changes_with_any_file(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "weights").write_bytes(b"1")
    before = describe_version("x", str(tmp_path))
    (tmp_path / "sub" / "weights").write_bytes(b"2")
    changed = describe_version("x", str(tmp_path))
    (tmp_path / "sub" / "weights").rename(tmp_path / "sub" / "other")
    assert len({before, changed, describe_version("x", str(tmp_path))}) == 3


def test_short_names(tmp_path: Path) -> None:
    assert short_name("owner/model-name") == "model-name"
    assert short_name(f"{tmp_path}/") == tmp_path.name


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (ImportError("No module"), r"a library that is not installed .* pip install 'probing\[huggingface\]'"),
        (OSError("first line\nsecond line"), "encoder 'huggingface:x' could not be loaded: first line$"),
    ],
)
def test_what_a_library_says_becomes_one_line(problem: Exception, text: str) -> None:
    with pytest.raises(ProbingError, match=text), loading("huggingface:x", extra="huggingface"):
        raise problem


def test_weights_are_drawn_part_by_part() -> None:
    model = nn.Sequential(nn.Embedding(5, 4), nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3)))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(9)
    draw_weights("x", model, 0)
    assert not any((parameter == 9).any() for parameter in model.parameters())


def test_a_part_that_cannot_draw_its_weights_is_named() -> None:
    class Scale(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.factor = nn.Parameter(torch.ones(()))

    with pytest.raises(ProbingError, match="encoder 'x' has no untrained form: Scale cannot draw weights"):
        draw_weights("x", nn.Sequential(Scale()), 0)
