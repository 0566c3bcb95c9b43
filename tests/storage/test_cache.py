from __future__ import annotations

import pytest

from probing.errors import ProbingError
from probing.storage.cache import CacheError, cache_folder, new_folder, writing


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_cache_is_below_the_users_cache_folder(cache_home):
    assert cache_folder("tasks") == cache_home / "probing" / "tasks"
    assert not cache_folder("tasks").exists()


def test_the_cache_folder_is_the_users(monkeypatch, tmp_path):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder("kernels") == tmp_path / ".cache" / "probing" / "kernels"


def test_a_new_folder_appears_whole(tmp_path):
    target = tmp_path / "deep" / "target"
    with new_folder(target) as temporary:
        (temporary / "a").write_text("1")
        assert not target.exists()
        assert temporary.parent == target.parent  # the same file system, or it could not be renamed
    assert (target / "a").read_text() == "1"
    assert target.stat().st_mode & 0o777 == 0o755
    assert names(target.parent) == ["target"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failure_leaves_nothing(tmp_path, error):
    def fill():
        with new_folder(tmp_path / "target") as temporary:
            (temporary / "a").write_text("1")
            raise error

    with pytest.raises(error):
        fill()
    assert names(tmp_path) == []


def test_the_folder_of_a_quicker_process_stays(tmp_path):
    target = tmp_path / "target"
    with new_folder(target) as mine:
        (mine / "a").write_text("mine")
        with new_folder(target) as quicker:
            (quicker / "a").write_text("quicker")
    assert (target / "a").read_text() == "quicker"
    assert names(tmp_path) == ["target"]


def test_an_empty_folder_in_the_way_is_filled(tmp_path):
    (tmp_path / "target").mkdir()
    with new_folder(tmp_path / "target") as temporary:
        (temporary / "a").write_text("1")
    assert names(tmp_path / "target") == ["a"]


def test_a_file_in_the_way_is_an_error(tmp_path):
    def fill():
        with new_folder(tmp_path / "target") as temporary:
            (temporary / "a").write_text("1")

    (tmp_path / "target").write_text("a file")
    with pytest.raises(
        ProbingError, match=r"target: files cannot be written \(Not a directory\). Make room or set XDG"
    ):
        fill()
    assert names(tmp_path) == ["target"]
    assert (tmp_path / "target").read_text() == "a file"


def test_a_cache_that_is_a_file_is_one_line(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(ProbingError) as caught, new_folder(tmp_path / "file" / "probing" / "x"):
        pytest.fail("there is no folder to fill")
    assert str(caught.value) == (
        f"{tmp_path}/file/probing/x: files cannot be written (Not a directory). "
        "Make room or set XDG_CACHE_HOME to another folder, then start the same command again"
    )


def test_who_can_do_without_the_cache_sees_a_failed_write(tmp_path):
    with pytest.raises(OSError) as caught, writing(tmp_path, "a"), writing(tmp_path / "inner", "b"):
        raise PermissionError(13, "Permission denied")
    assert isinstance(caught.value, CacheError)
    assert str(caught.value).startswith(f"{tmp_path}/inner: b cannot be written (Permission denied). ")


def test_other_mistakes_stay_what_they_are(tmp_path):
    with pytest.raises(ProbingError, match="^mine$"), new_folder(tmp_path / "x"):
        raise ProbingError("mine")


@pytest.mark.parametrize("level", ["kind", "entry"])
def test_nothing_is_made_behind_a_link(tmp_path, level):
    elsewhere, target = tmp_path / "elsewhere", tmp_path / "cache" / "tasks" / "entry"
    elsewhere.mkdir()
    link = target if level == "entry" else target.parent
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    with pytest.raises(CacheError, match=f"{link}: a link or a file in place of a folder"), new_folder(target):
        pass
    assert list(elsewhere.iterdir()) == []
