"""The code of a plug-in: its own modules, wherever they are imported, and the libraries by version."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from probing.plugin_sources import PluginSources, is_installed

FILES = {
    "plug.py": "import near\nimport their_library\nimport json\n\ndef encode(s):\n    from pack.deep import late\n",
    "near.py": "import nearer\n",
    "nearer.py": "import near\n",
    "pack/__init__.py": "from . import sibling\n",
    "pack/sibling.py": "from .deep.late import x\nfrom ..outside import y\n",
    "pack/deep/__init__.py": "",
    "pack/deep/late.py": "import numpy\nfrom . import cousin\n",
    "pack/deep/cousin.py": "def broken(:\n",
    "unused.py": "",
    "site-packages/their_library.py": "",
    "site-packages/Their_Library-1.5.dist-info/METADATA": "Metadata-Version: 2.1\nName: Their-Library\nVersion: 1.5\n",
    "site-packages/Their_Library-1.5.dist-info/top_level.txt": "their_library\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for path in (tmp_path / "site-packages", tmp_path):
        monkeypatch.syspath_prepend(str(path))
    yield tmp_path
    for name in ("near", "nearer", "pack"):
        sys.modules.pop(name, None)


def test_imports_are_followed_through_any_number_of_modules(folder: Path) -> None:
    sources = PluginSources.find(folder / "plug.py")
    own = {"near", "nearer", "pack", "pack.sibling", "pack.deep", "pack.deep.late", "pack.deep.cousin"}
    assert set(sources.modules) == own
    assert sources.modules["pack.deep"] == folder / "pack/deep/__init__.py"


def test_nothing_is_imported_for_it(folder: Path) -> None:
    PluginSources.find(folder / "plug.py")
    assert "near" not in sys.modules
    assert "pack" not in sys.modules


def test_libraries_have_their_versions_except_those_of_probing(folder: Path) -> None:
    sources = PluginSources.find(folder / "plug.py")
    assert sources.libraries == {"their_library", "numpy"}
    assert sources.describe_libraries() == ["Their-Library 1.5"]


def test_a_missing_file_or_one_that_is_no_python_imports_nothing(folder: Path) -> None:
    assert PluginSources.find(folder / "nowhere.py").modules == {}
    assert PluginSources.find(folder / "pack/deep/cousin.py").modules == {}


def test_what_is_installed(folder: Path) -> None:
    assert is_installed(Path(pytest.__file__))
    assert is_installed(Path(sys.modules["json"].__file__ or ""))
    assert not is_installed(folder / "plug.py")
