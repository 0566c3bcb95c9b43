"""SentEval's ten probing files, downloaded and verified.

A file grows under `<file>.txt.part`, where a later call goes on with it, and gets its final name only after its git
blob id was found right.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from probing.dataset import hash_file
from probing.errors import ProbingError
from probing.tasks import Task

COMMIT = "5d6dc117d1ac30357ddaeb7347fb5684e9b87015"
"""The commit of facebookresearch/SentEval whose blobs the task table lists."""
MIRROR = f"https://raw.githubusercontent.com/facebookresearch/SentEval/{COMMIT}/data/probing"
"""Where the files come from unless another mirror is named."""
PAUSES = (0.5, 1.0, 2.0)
"""Seconds before each further try after a try that brought nothing new."""
CHUNK = 1 << 14
"""Bytes written at a time; an incomplete chunk is lost when the connection breaks."""
PASSING_TROUBLE = frozenset({429, 500, 502, 503, 504})
"""HTTP answers after which another try is worth it."""

Report = Callable[[str], None]
Advance = Callable[[int, int | None], None]
"""Takes the bytes there are and the bytes there will be, if known."""


class InterruptionError(Exception):
    """A try that ended early and may go on: why, in a few words."""


def fetch(
    tasks: Sequence[Task],
    data_dir: Path,
    *,
    mirror: str = MIRROR,
    offline: bool = False,
    force: bool = False,
    report: Report = lambda line: None,
) -> None:
    """Bring the files of the tasks into the folder, each verified by its blob id; what is there stays."""
    for task in tasks:
        if task.blob is None:
            raise ProbingError(f"{task.name} is not among SentEval's files. Build it: see `probe data build --help`")
    found = {task.name: _find_blob(_place(task, data_dir)) for task in tasks}
    if offline:
        _verify(tasks, data_dir, found, report)
        return
    foreign = [_place(task, data_dir) for task in tasks if found[task.name] not in (None, task.blob)]
    if foreign and not force:
        raise ProbingError(
            f"{', '.join(map(str, foreign))}: not SentEval's file (another git blob id) and not overwritten. "
            "Give --force to overwrite, or another --data-dir"
        )
    _check_mirror(mirror)
    for number, task in enumerate(tasks, 1):
        path = _place(task, data_dir)
        if found[task.name] == task.blob:
            report(f"{task.name}: {path} is there and verified")
            continue
        with _show_progress(f"{task.name} ({number}/{len(tasks)})") as advance:
            size = _fetch_file(f"{mirror.rstrip('/')}/{task.file}.txt", path, str(task.blob), advance)
        report(f"{task.name}: {path} downloaded and verified ({size / 1e6:.1f} MB)")


def _place(task: Task, data_dir: Path) -> Path:
    return data_dir / f"{task.file}.txt"


def _find_blob(path: Path) -> str | None:
    if not path.exists():
        return None
    if not path.is_file():
        raise ProbingError(f"{path}: expected a file, found something else. Move it away")
    return hash_file(path)[1]


def _verify(tasks: Sequence[Task], data_dir: Path, found: dict[str, str | None], report: Report) -> None:
    bad = []
    for task in tasks:
        path, blob = _place(task, data_dir), found[task.name]
        if blob == task.blob:
            report(f"{task.name}: {path} is there and verified")
            continue
        wrong = "missing" if blob is None else f"not SentEval's file (git blob id {blob}, expected {task.blob})"
        report(f"{task.name}: {path} is {wrong}")
        bad.append(path.name)
    if bad:
        raise ProbingError(
            f"{len(bad)} of {len(tasks)} files are missing or not SentEval's in {data_dir}: {', '.join(bad)}. "
            "Run `probe data fetch` without --offline, or put them there by hand"
        )


def _check_mirror(mirror: str) -> None:
    parts = urlsplit(mirror)
    if parts.scheme not in ("http", "https", "file") or not (parts.netloc or parts.scheme == "file"):
        raise ProbingError(
            f"--mirror {mirror!r} is not a URL that can be fetched. "
            "Allowed: http://HOST/…, https://HOST/… and file:///FOLDER, under which the .txt files are found"
        )


def _fetch_file(url: str, path: Path, blob: str, advance: Advance) -> int:
    """Download one file and return its size; under its final name stands the right file or what was there before."""
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        resumed = part.exists()
        if not (resumed and hash_file(part)[1] == blob):
            _download(url, part, advance)
        got = hash_file(part)[1]
        if got != blob and resumed:
            # What an earlier call left may stem from another mirror: its bytes do not fit, so begin anew, once.
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
    """Bring the whole of a URL into the part file, going on after interruptions."""
    best = part.stat().st_size if part.exists() else 0
    pauses = iter(PAUSES)
    while True:
        try:
            _copy(url, part, advance) if url.startswith("file:") else _request(url, part, advance)
        except InterruptionError as trouble:
            size = part.stat().st_size
            if size > best:
                best, pauses = size, iter(PAUSES)
            pause = next(pauses, None)
            if pause is None:
                kept = f"{size} bytes are kept in {part}: run the command again to go on" if size else "Run it again"
                raise ProbingError(
                    f"{url}: {trouble}. {kept}, try another --mirror, or put the file into {part.parent} by hand"
                ) from None
            time.sleep(pause)
        else:
            return


@dataclass(slots=True)
class _Part:
    """The part file as pooch's downloader writes to it; what it holds already is asked of the server no more."""

    file: IO[bytes]
    advance: Advance
    answered: bool = False
    total: int | None = None

    def prepare(self, response: Any, **_: Any) -> None:
        """Look at the server's answer before its body is written."""
        if response.status_code == 200:
            # The whole file comes: none was asked for in part, or the server knows no Range.
            self.file.seek(0)
            self.file.truncate()
        self.answered = True
        length = response.headers.get("Content-Length", "")
        if response.status_code in (200, 206) and length.isdigit():
            self.total = self.file.tell() + int(length)

    def write(self, chunk: bytes) -> None:
        self.file.write(chunk)
        self.advance(self.file.tell(), self.total)

    def describe_break(self) -> str:
        return f"the connection broke after {self.file.tell()} of {self.total or 'an unknown number of'} bytes"

    def flush(self) -> None:
        self.file.flush()


def _request(url: str, part: Path, advance: Advance) -> None:
    """Ask a web server for what the part file lacks."""
    import pooch
    import requests

    with part.open("ab") as file:
        target = _Part(file, advance)
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
            trouble = target.describe_break() if target.answered else "cannot be reached"
            raise InterruptionError(f"{trouble} ({_find_reason(error)})") from None
        except requests.RequestException as error:
            raise ProbingError(f"{url}: cannot be fetched ({_find_reason(error)}). Check --mirror") from None
        if target.total is not None and file.tell() < target.total:
            raise InterruptionError(target.describe_break())


def _explain_answer(url: str, part: Path, response: Any, file: IO[bytes]) -> None:
    answer = f"the server answered {response.status_code} {response.reason}".rstrip()
    if response.status_code == 416:
        # The part is longer than the file: it belongs to something else.
        file.truncate(0)
        raise InterruptionError(answer)
    if response.status_code in PASSING_TROUBLE:
        raise InterruptionError(answer)
    raise ProbingError(
        f"{url}: {answer}. Check --mirror (the .txt files must stand right under it), "
        f"or put the file into {part.parent} by hand"
    )


def _find_reason(error: BaseException) -> str:
    """Return the text of the innermost error: the outer ones repeat the address."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return " ".join(str(error).split()) or type(error).__name__


def _copy(url: str, part: Path, advance: Advance) -> None:
    """Copy the file of a file: URL; it is at hand, so nothing is resumed."""
    source = Path(url2pathname(urlsplit(url).path))
    try:
        origin = source.open("rb")
    except OSError as error:
        raise ProbingError(
            f"{source}: cannot be read ({error.strerror or error}). "
            f"Check --mirror, or put the file into {part.parent} by hand"
        ) from None
    with origin, part.open("wb") as file:
        shutil.copyfileobj(origin, file)
        advance(file.tell(), file.tell())


@contextlib.contextmanager
def _show_progress(title: str) -> Iterator[Advance]:
    """Show a bar with the time left on stderr when that is a terminal, and nothing otherwise."""
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.DownloadColumn(),
        progress.TransferSpeedColumn(),
        progress.TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with progress.Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal, redirect_stdout=False
    ) as bar:
        row = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(row, completed=done, total=total)
