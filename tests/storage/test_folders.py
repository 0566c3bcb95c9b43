"""A folder that is held by its handle: no link leads out of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from probing.errors import ProbingError
from probing.storage.folders import Folder


def test_folders_are_made_on_the_way(tmp_path: Path) -> None:
    with Folder.open(tmp_path / "new", "a", "b", create=True) as folder:
        folder.create("x", b"content")
        assert folder.list_names() == ["x"]
        assert folder.read("x", 4) == b"cont"
    assert (tmp_path / "new" / "a" / "b" / "x").read_bytes() == b"content"
    with pytest.raises(FileNotFoundError), Folder.open(tmp_path, "nowhere"):
        pass


def test_the_root_may_be_a_link_and_nothing_below_it(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "root").symlink_to(tmp_path / "real")
    with Folder.open(tmp_path / "root", "a", create=True):
        pass
    (tmp_path / "real" / "link").symlink_to(tmp_path)
    (tmp_path / "real" / "file").touch()
    for name in ("link", "file"):
        refused = pytest.raises(ProbingError, match=f"{name}: a link or a file in place of a folder")
        with refused, Folder.open(tmp_path / "root", name, create=True):
            pass


def test_no_handle_is_left_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        with Folder.open(tmp_path, "a", "b", create=True):
            pass
        with pytest.raises(FileNotFoundError), Folder.open(tmp_path, "a", "c"):
            pass
    assert len(os.listdir("/proc/self/fd")) == before


def make_link(path: Path) -> None:
    path.symlink_to(path.parent / "target")


@pytest.mark.parametrize("make", [os.mkfifo, make_link, Path.mkdir], ids=["pipe", "link", "folder"])
def test_only_regular_files_are_read(tmp_path: Path, make: Callable[[Path], None]) -> None:
    (tmp_path / "target").write_text("secret", encoding="utf-8")
    make(tmp_path / "x")
    with Folder.open(tmp_path) as folder, pytest.raises(OSError):
        folder.read("x", 10)


def test_a_new_file_replaces_nothing(tmp_path: Path) -> None:
    (tmp_path / "x").symlink_to(tmp_path / "target")
    with Folder.open(tmp_path) as folder, pytest.raises(FileExistsError):
        folder.create("x", b"content")
    assert not (tmp_path / "target").exists()


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (target / "precious").touch()
    root = tmp_path / "root"
    root.mkdir()
    for name in ("a", "b"):
        (root / name).symlink_to(target)
    (root / "tree" / "inner").mkdir(parents=True)
    (root / "tree" / "link").symlink_to(target)
    with Folder.open(root) as folder:
        folder.remove("a")
        folder.remove_folder("b")
        folder.remove_folder("tree")
        folder.remove("nothing")
        assert folder.list_names() == []
    assert (target / "precious").exists()


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("old", encoding="utf-8")

    def fail(folder: Folder) -> None:
        with folder.replacing("x") as temporary:
            temporary.write_text("half", encoding="utf-8")
            raise KeyboardInterrupt

    with Folder.open(tmp_path) as folder:
        with pytest.raises(KeyboardInterrupt):
            fail(folder)
        assert [path.name for path in tmp_path.iterdir()] == ["x"]
        assert (tmp_path / "x").read_text(encoding="utf-8") == "old"
        with folder.replacing("x") as temporary:
            temporary.write_text("new", encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert (tmp_path / "x").read_text(encoding="utf-8") == "new"


def test_a_replaced_file_can_be_read_by_those_who_can_read_a_new_file(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    with Folder.open(tmp_path) as folder:
        with folder.replacing("x") as temporary:
            temporary.unlink()  # as a library does that writes a file of its own and renames it
            temporary.touch(0o600)
        assert folder.stat("x").st_mode == folder.stat("usual").st_mode
