"""Folders that others may write to, held by a handle: nothing is written or deleted behind a link in them."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from probing.errors import ProbingError
from probing.storage.temporary import ENDING, name_temporary

FOLDER_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


@dataclass(frozen=True, slots=True)
class Folder:
    """An open folder. Names are of files directly in it; a link among them is never followed."""

    path: Path
    handle: int

    @classmethod
    @contextmanager
    def open(cls, root: Path, *names: str, create: bool = False) -> Iterator[Folder]:
        """Open a folder below a root, which may itself be a link; a link on the way below it is an error."""
        path = root
        if create:
            root.mkdir(parents=True, exist_ok=True)
        handle = os.open(root, FOLDER_FLAGS & ~getattr(os, "O_NOFOLLOW", 0))
        try:
            for name in names:
                path = path / name
                if create:
                    with suppress(FileExistsError):
                        os.mkdir(name, dir_fd=handle)
                inner = _open_inner(path, name, handle)
                os.close(handle)
                handle = inner
            yield cls(path, handle)
        finally:
            os.close(handle)

    def list_names(self) -> list[str]:
        """Return the names of everything in the folder."""
        return os.listdir(self.handle)

    def stat(self, name: str) -> os.stat_result:
        """Return the facts about a name itself, not about the target of a link."""
        return os.stat(name, dir_fd=self.handle, follow_symlinks=False)

    def read(self, name: str, limit: int) -> bytes:
        """Return up to `limit` bytes of a regular file; anything else, such as a pipe or a link, is an OSError."""
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(name, flags, dir_fd=self.handle)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(errno.EINVAL, "not a regular file", name)
            return os.read(descriptor, limit)
        finally:
            os.close(descriptor)

    def create(self, name: str, content: bytes) -> None:
        """Write a new file; one that is there already is a FileExistsError."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(name, flags, 0o666, dir_fd=self.handle)
        try:
            os.write(descriptor, content)
        except OSError:
            self.remove(name)
            raise
        finally:
            os.close(descriptor)

    def touch(self, name: str) -> None:
        """Set the time of a file to now."""
        os.utime(name, dir_fd=self.handle, follow_symlinks=False)

    def remove(self, name: str) -> None:
        """Delete a file or a link, if it is there; a folder stays."""
        with suppress(FileNotFoundError, IsADirectoryError, PermissionError):
            os.unlink(name, dir_fd=self.handle)

    def remove_folder(self, name: str) -> None:
        """Delete a folder with all that is in it; a link in its place is deleted instead of followed."""
        if stat.S_ISDIR(self.stat(name).st_mode):
            shutil.rmtree(name, dir_fd=self.handle)
        else:
            self.remove(name)

    @contextmanager
    def replacing(self, name: str) -> Iterator[Path]:
        """Provide the path of a temporary file, which replaces `name` at the end, whole or not at all.

        Whatever writes it, the file may be read by those who may read any new file.
        """
        temporary = f"{name_temporary(name)}{secrets.token_hex(4)}{ENDING}"
        place = Path(f"/proc/self/fd/{self.handle}")
        try:
            self.create(temporary, b"")
            mode = stat.S_IMODE(self.stat(temporary).st_mode)
            yield (place if place.is_dir() else self.path) / temporary
            descriptor = os.open(temporary, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0), dir_fd=self.handle)
            try:
                if stat.S_IMODE(os.fstat(descriptor).st_mode) != mode:  # some libraries write files for one user only
                    os.fchmod(descriptor, mode)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.replace(temporary, name, src_dir_fd=self.handle, dst_dir_fd=self.handle)
        except BaseException:
            self.remove(temporary)
            raise

    def rename(self, old: str, new: str) -> None:
        """Give a file another name in the same folder."""
        os.replace(old, new, src_dir_fd=self.handle, dst_dir_fd=self.handle)


def remove_folder(path: Path) -> None:
    """Delete a folder, if it is there, with all that is in it; nothing behind a link in it or in its parent."""
    with suppress(OSError, ProbingError), Folder.open(path.parents[1], path.parent.name) as parent:
        parent.remove_folder(path.name)


def refuse_links(*paths: Path) -> None:
    """Raise an error if one of the paths is a link: whatever is written there would lie elsewhere."""
    for path in paths:
        if path.is_symlink():
            raise _describe_link(path)


def _describe_link(path: Path) -> ProbingError:
    return ProbingError(f"{path}: a link or a file in place of a folder. Remove it, then try again")


def _open_inner(path: Path, name: str, handle: int) -> int:
    try:
        return os.open(name, FOLDER_FLAGS, dir_fd=handle)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise _describe_link(path) from None
        raise
