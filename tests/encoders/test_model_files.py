"""Versions of models on disk, and what a user reads when a library is missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from huggingface_hub.errors import LocalEntryNotFoundError
from torch import nn

from probing.encoders.model_files import describe_version, draw_weights, find_on_hub, full_name, loading, short_name
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


def test_full_names_tell_owners_apart_but_not_folders(tmp_path: Path) -> None:
    assert full_name("owner/model-name") == "owner/model-name"
    assert full_name("bert-base-uncased") == "bert-base-uncased"
    assert full_name(f"{tmp_path}/") == tmp_path.name


def test_the_version_of_a_model_on_the_hub_is_its_commit(download: Callable[..., None]) -> None:
    download("me/m", "a" * 40, "config.json")
    assert describe_version("x", "me/m") == "a" * 40
    assert find_on_hub("x", ["my/m", "me/m"], ["modules.json", "config.json"]) == ("me/m", "a" * 40)
    download("me/m", "b" * 40, "modules.json")
    assert find_on_hub("x", ["me/m"], ["modules.json", "config.json"]) == ("me/m", "b" * 40)


def test_without_a_connection_the_hub_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def fail(name: str, file: str, *, local_files_only: bool) -> None:
        asked.append((name, file, local_files_only))
        raise OSError("We couldn't connect") from LocalEntryNotFoundError("no")

    monkeypatch.setattr("transformers.utils.cached_file", fail)
    with pytest.raises(ProbingError, match="encoder 'x' could not be loaded: We couldn't connect"):
        find_on_hub("x", ["a/b", "b"], ["modules.json", "config.json"])
    assert [local for _, _, local in asked] == [False, True, True, True]


def test_a_model_without_its_files_has_no_version(download: Callable[..., None]) -> None:
    download("me/m", "a" * 40, "vocab.txt")
    with pytest.raises(ProbingError, match="^encoder 'huggingface:me/m' could not be loaded: "):
        describe_version("huggingface:me/m", "me/m")


def test_a_cache_that_does_not_tell_the_commit_is_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformers.utils.cached_file", lambda target, name, **options: f"/mirror/m/{name}")
    with pytest.raises(ProbingError) as error:
        describe_version("huggingface:me/m", "me/m")
    assert str(error.value) == (
        "encoder 'huggingface:me/m': /mirror/m does not tell the model's commit on the hub. "
        "Download the model into a folder and name that instead"
    )


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
