"""Download of SentEval's ten probing files, each verified by its git blob id.

A download is written to `<file>.txt.part`, which a later call resumes, and gets its final name only after it was
verified.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn
from urllib.parse import urlsplit
from urllib.request import url2pathname

from probing.errors import ProbingError
from probing.storage import hash_file, open_file
from probing.tasks import Task

COMMIT = "5d6dc117d1ac30357ddaeb7347fb5684e9b87015"
"""The commit of facebookresearch/SentEval whose blobs the task table lists."""
MIRROR = f"https://raw.githubusercontent.com/facebookresearch/SentEval/{COMMIT}/data/probing"
"""Default address of the files."""
PAUSES = (0.5, 1.0, 2.0)
"""Seconds to wait before each retry, as long as no new bytes arrive."""
CHUNK = 1 << 14
"""Number of bytes written at a time; an incomplete chunk is lost when the connection breaks."""
MAX_SIZE = 1 << 27
"""Largest download in bytes; the largest of the files has a tenth of that."""
RETRYABLE = frozenset({416, 429, 500, 502, 503, 504})
"""HTTP status codes after which the request is tried again."""

Report = Callable[[str], None]
"""Function that prints a line."""
Advance = Callable[[int, int | None], None]
"""Function that shows the number of bytes so far and in total, if known."""


class InterruptionError(Exception):
    """A download was interrupted and can be resumed; the text is the reason."""


def fetch(
    tasks: Sequence[Task],
    data_dir: Path,
    *,
    mirror: str = MIRROR,
    offline: bool = False,
    force: bool = False,
    report: Report = lambda line: None,
) -> None:
    """Download the files of the tasks into the folder, each verified by its blob id; verified files are kept."""
    for task in tasks:
        if task.blob is None:
            raise ProbingError(f"{task.name} is not among SentEval's files. Build it: see `probe data build --help`")
    found = {task: _find_blob(data_dir / task.file_name) for task in tasks}
    if offline:
        _verify(found, data_dir, report)
        return
    foreign = [str(data_dir / task.file_name) for task, blob in found.items() if blob not in (None, task.blob)]
    if foreign and not force:
        raise ProbingError(
            f"{', '.join(foreign)}: not SentEval's file (another git blob id) and not overwritten. "
            "Overwrite it with --force, or name another --data-dir"
        )
    _check_mirror(mirror)
    for number, task in enumerate(tasks, 1):
        path = data_dir / task.file_name
        if found[task] == task.blob:
            report(f"{task.name}: {path} is there and verified")
            continue
        with _show_progress(f"{task.name} ({number}/{len(tasks)})") as advance:
            size = _fetch_file(f"{mirror.rstrip('/')}/{path.name}", path, str(task.blob), advance)
        report(f"{task.name}: {path} downloaded and verified ({size / 1e6:.1f} MB)")


def _find_blob(path: Path) -> str | None:
    if not path.exists():
        return None
    if not path.is_file():
        raise ProbingError(f"{path}: expected a file, found something else. Move it away")
    return hash_file(path)[1]


def _verify(found: Mapping[Task, str | None], data_dir: Path, report: Report) -> None:
    bad = []
    for task, blob in found.items():
        path = data_dir / task.file_name
        if blob == task.blob:
            report(f"{task.name}: {path} is there and verified")
            continue
        wrong = "missing" if blob is None else f"not SentEval's file (git blob id {blob}, expected {task.blob})"
        report(f"{task.name}: {path} is {wrong}")
        bad.append(path.name)
    if bad:
        raise ProbingError(
            f"{len(bad)} of {len(found)} files are missing or not SentEval's in {data_dir}: {', '.join(bad)}. "
            "Run `probe data fetch` without --offline, or put them there by hand"
        )


def _check_mirror(mirror: str) -> None:
    try:
        parts = urlsplit(mirror)
        allowed = parts.scheme == "file" or (parts.scheme in ("http", "https") and bool(parts.hostname))
    except ValueError:  # as of a broken IPv6 address
        allowed = False
    if not allowed:
        raise ProbingError(
            f"--mirror {mirror!r} is not a URL that can be fetched. "
            "Allowed: http://HOST/…, https://HOST/… and file:///FOLDER, under which the .txt files are found"
        )


def _fetch_file(url: str, path: Path, blob: str, advance: Advance) -> int:
    """Download one file and return its size; its final name is replaced only by a verified file."""
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        resumed = part.exists()
        if not (resumed and hash_file(part)[1] == blob):
            _download(url, part, advance)
        got = hash_file(part)[1]
        if got != blob and resumed:
            # The partial file may come from another mirror, so that its bytes do not fit: start again, once.
            part.unlink()
            _download(url, part, advance)
            got = hash_file(part)[1]
        if got != blob:
            size = part.stat().st_size
            part.unlink()
            raise ProbingError(
                f"{url}: wrong content, not kept: expected git blob id {blob}, got {got} ({size} bytes). "
                f"Try another --mirror, or put the right file at {path} by hand"
            )
        size = part.stat().st_size
        os.replace(part, path)
    except OSError as error:
        raise ProbingError(f"{path}: cannot be written ({error.strerror or error})") from None
    finally:
        if part.is_file() and not part.stat().st_size:
            part.unlink()
    return size


def _download(url: str, part: Path, advance: Advance) -> None:
    """Download a URL into the partial file, and resume after interruptions."""
    best = part.stat().st_size if part.exists() else 0
    pauses = iter(PAUSES)
    while True:
        try:
            _copy(url, part, advance) if url.startswith("file:") else _request(url, part, advance)
        except InterruptionError as interruption:
            size = part.stat().st_size
            if size > best:
                best, pauses = size, iter(PAUSES)
            pause = next(pauses, None)
            if pause is None:
                kept = f"{size} bytes are kept in {part}: run the command again to resume" if size else "Run it again"
                raise ProbingError(
                    f"{url}: {interruption}. {kept}, try another --mirror, or put the file into {part.parent} by hand"
                ) from None
            time.sleep(pause)
        else:
            return


@dataclass(slots=True)
class _PartialFile:
    """The partial file that pooch's downloader writes to, after the bytes that it already holds."""

    file: IO[bytes]
    advance: Advance
    answered: bool = False
    """Whether the server has answered."""
    total: int | None = None
    """Size of the whole file in bytes, if the server states it."""

    def prepare(self, response: Any, **_: Any) -> None:
        """Read the headers of the server's answer before its body is written."""
        if response.status_code == 200:
            # The server sends the whole file: no range was requested, or it does not support ranges.
            self.file.seek(0)
            self.file.truncate()
        self.answered = True
        length = response.headers.get("Content-Length", "")
        if response.status_code in (200, 206) and length.isdigit():
            self.total = self.file.tell() + int(length)

    def write(self, chunk: bytes) -> None:
        """Write bytes and show the progress."""
        if self.file.tell() + len(chunk) > MAX_SIZE:
            self.file.truncate(0)
            raise ProbingError(f"more than {MAX_SIZE >> 20} MiB arrived, and no task file is as large. Check --mirror")
        self.file.write(chunk)
        self.advance(self.file.tell(), self.total)

    def describe_break(self) -> str:
        """Return the message about a broken connection."""
        return f"the connection broke after {self.file.tell()} of {self.total or 'an unknown number of'} bytes"

    def flush(self) -> None:
        self.file.flush()


def _request(url: str, part: Path, advance: Advance) -> None:
    """Request the missing bytes of the partial file from a web server."""
    import pooch
    import requests

    with part.open("ab") as file:
        target = _PartialFile(file, advance)
        # A compressed body would make ranges and lengths those of the compressed bytes.
        headers = {"Accept-Encoding": "identity"}
        if offset := file.tell():
            headers["Range"] = f"bytes={offset}-"
        download = pooch.HTTPDownloader(headers=headers, hooks={"response": target.prepare}, chunk_size=CHUNK)
        try:
            download(url, target, None)
        except requests.HTTPError as error:
            _explain_answer(url, part, error.response, file)
        except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as error:
            reason = target.describe_break() if target.answered else "cannot be reached"
            raise InterruptionError(f"{reason} ({_find_reason(error)})") from None
        except requests.RequestException as error:
            raise ProbingError(f"{url}: cannot be fetched ({_find_reason(error)}). Check --mirror") from None
        if target.total is not None and file.tell() < target.total:
            raise InterruptionError(target.describe_break())


def _explain_answer(url: str, part: Path, response: Any, file: IO[bytes]) -> NoReturn:
    """Raise the error for an answer with a failing status code."""
    answer = f"the server answered {response.status_code} {response.reason}".rstrip()
    if response.status_code == 416:
        # The partial file is longer than the whole one, so it is part of another file.
        file.truncate(0)
    if response.status_code in RETRYABLE:
        raise InterruptionError(answer)
    raise ProbingError(
        f"{url}: {answer}. Check --mirror (the .txt files must be directly under it), "
        f"or put the file into {part.parent} by hand"
    )


def _find_reason(error: BaseException) -> str:
    """Return the text of the innermost error: the outer ones repeat the address."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return " ".join(str(error).split()) or type(error).__name__


def _copy(url: str, part: Path, advance: Advance) -> None:
    """Copy the file of a file: URL; a copy is always made from the start."""
    source = Path(url2pathname(urlsplit(url).path))
    try:
        origin = open_file(source)
    except ProbingError as error:
        raise ProbingError(f"{error}. Check --mirror, or put the file into {part.parent} by hand") from None
    with origin, part.open("wb") as file:
        shutil.copyfileobj(origin, file)
        advance(file.tell(), file.tell())


@contextlib.contextmanager
def _show_progress(title: str) -> Iterator[Advance]:
    """Show a progress bar on stderr if it is a terminal, and nothing otherwise."""
    from rich import progress
    from rich.console import Console

    console = Console(stderr=True)
    columns = (progress.TextColumn("{task.description}"), progress.BarColumn(), progress.DownloadColumn())
    rates = (progress.TransferSpeedColumn(), progress.TimeRemainingColumn())
    with progress.Progress(
        *columns, *rates, console=console, transient=True, disable=not console.is_terminal, redirect_stdout=False
    ) as bar:
        row = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(row, completed=done, total=total)
