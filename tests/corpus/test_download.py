"""SentEval's files are downloaded, verified and resumed, from a local server that can misbehave."""

from __future__ import annotations

import functools
import hashlib
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner

import cli
from probing.corpus import download
from probing.errors import ProbingError
from probing.storage.files import hash_file
from probing.tasks.table import COUNTERPARTS, TASKS, Task

BODIES = {name: f"tr\t0\tone of {name} .\n".encode() * 9000 for name in ("first", "second")}


KEPT = len(BODIES["first"]) // 2 // download.CHUNK * download.CHUNK
"""Number of bytes that are kept of the first file when the server stops in its middle."""


def make_task(name: str, body: bytes) -> Task:
    blob = hashlib.sha1(b"blob %d\0" % len(body) + body, usedforsecurity=False).hexdigest()
    return Task(
        name=name.title(), senteval=name, conneau=name, file=name, family="own", classes=1, asks="nothing", blob=blob
    )


FIRST, SECOND = (make_task(name, body) for name, body in BODIES.items())


@dataclass
class Web:
    """The server's behaviour on each request in turn (the last one for all that follow), and the requests it got."""

    url: str = ""
    behaviour: list[str] = field(default_factory=lambda: ["good"])
    requests: list[tuple[str, str | None]] = field(default_factory=list)


class Handler(BaseHTTPRequestHandler):
    def __init__(self, *arguments: object, web: Web) -> None:
        self.web = web
        super().__init__(*arguments)  # type: ignore[arg-type]

    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing, to keep the tests' output clean."""

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.web.requests.append((self.path, wanted))
        act = self.web.behaviour.pop(0) if len(self.web.behaviour) > 1 else self.web.behaviour[0]
        body = BODIES.get(self.path.removeprefix("/").removesuffix(".txt"), b"")
        if act.isdigit():
            self.send_error(int(act))
            return
        if act == "moved":
            self.send_response(302)
            self.send_header("Location", self.path)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if act == "wrong":
            body = b"<html>please log in</html>"
        offset = int(re.findall(r"\d+", wanted)[0]) if wanted and "no-range" not in act else 0
        if offset >= len(body):
            self.send_error(416)
            return
        self.send_response(206 if offset else 200)
        self.send_header("Content-Length", str(len(body) - offset))
        if offset:
            self.send_header("Content-Range", f"bytes {offset}-{len(body) - 1}/{len(body)}")
        self.end_headers()
        rest = body[offset:]
        self.wfile.write(rest[: len(rest) // 2] if "half" in act else rest[:0] if "nothing" in act else rest)
        self.close_connection = True


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(download, "PAUSES", (0.0, 0.0))
    web = Web()
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, web=web))
    web.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield web
    server.shutdown()
    server.server_close()
    thread.join()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_good_bodies_arrive_under_their_names(web: Web, tmp_path: Path) -> None:
    lines: list[str] = []
    download.fetch([FIRST, SECOND], tmp_path / "new" / "folder", mirror=web.url + "/", report=lines.append)
    folder = tmp_path / "new" / "folder"
    assert {name: (folder / f"{name}.txt").read_bytes() for name in BODIES} == BODIES
    assert names(folder) == ["first.txt", "second.txt"]
    assert lines[0] == f"First: {folder / 'first.txt'} downloaded and verified (0.2 MB)"
    assert web.requests == [("/first.txt", None), ("/second.txt", None)]


def test_a_verified_file_is_not_fetched_again(web: Web, tmp_path: Path) -> None:
    (tmp_path / "first.txt").write_bytes(BODIES["first"])
    lines: list[str] = []
    download.fetch([FIRST], tmp_path, mirror=web.url, report=lines.append)
    assert web.requests == []
    assert lines == [f"First: {tmp_path / 'first.txt'} is there and verified"]


def test_a_foreign_file_is_overwritten_only_by_force(web: Web, tmp_path: Path) -> None:
    (tmp_path / "second.txt").write_text("tr\tX\tmy own sentence\n")
    with pytest.raises(
        ProbingError, match=r"second\.txt: not SentEval's file .* not overwritten\. Overwrite it with --force"
    ):
        download.fetch([FIRST, SECOND], tmp_path, mirror=web.url)
    assert web.requests == []
    assert (tmp_path / "second.txt").read_text() == "tr\tX\tmy own sentence\n"
    download.fetch([FIRST, SECOND], tmp_path, mirror=web.url, force=True)
    assert (tmp_path / "second.txt").read_bytes() == BODIES["second"]


def test_a_failed_forced_fetch_leaves_the_foreign_file(web: Web, tmp_path: Path) -> None:
    (tmp_path / "first.txt").write_text("tr\tX\tmy own sentence\n")
    web.behaviour = ["wrong"]
    with pytest.raises(ProbingError, match="wrong content"):
        download.fetch([FIRST], tmp_path, mirror=web.url, force=True)
    assert (tmp_path / "first.txt").read_text() == "tr\tX\tmy own sentence\n"


def test_a_wrong_body_is_refused_with_both_checksums(web: Web, tmp_path: Path) -> None:
    web.behaviour = ["good", "wrong"]
    with pytest.raises(ProbingError) as caught:
        download.fetch([FIRST, SECOND], tmp_path, mirror=web.url)
    got = make_task("wrong", b"<html>please log in</html>").blob
    assert str(caught.value) == (
        f"{web.url}/second.txt: wrong content, not kept: expected git blob id {SECOND.blob}, got {got} (26 bytes). "
        f"Try another --mirror, or put the right file at {tmp_path / 'second.txt'} by hand"
    )
    assert names(tmp_path) == ["first.txt"]


def test_a_missing_page_says_what_to_check(web: Web, tmp_path: Path) -> None:
    web.behaviour = ["404"]
    with pytest.raises(
        ProbingError, match=r"/first\.txt: the server answered 404 Not Found\. Check --mirror .* by hand"
    ):
        download.fetch([FIRST], tmp_path, mirror=web.url)
    assert len(web.requests) == 1
    assert names(tmp_path) == []


def test_a_busy_server_is_asked_again(web: Web, tmp_path: Path) -> None:
    web.behaviour = ["503", "good"]
    download.fetch([FIRST], tmp_path, mirror=web.url)
    assert (tmp_path / "first.txt").read_bytes() == BODIES["first"]


def test_a_redirect_is_followed(web: Web, tmp_path: Path) -> None:
    web.behaviour = ["half", "moved", "good"]
    download.fetch([FIRST], tmp_path, mirror=web.url)
    assert [wanted for _, wanted in web.requests] == [None, f"bytes={KEPT}-", f"bytes={KEPT}-"]
    assert (tmp_path / "first.txt").read_bytes() == BODIES["first"]


def test_a_dropped_connection_goes_on_with_a_range(web: Web, tmp_path: Path) -> None:
    web.behaviour = ["half", "good"]
    download.fetch([FIRST], tmp_path, mirror=web.url)
    assert web.requests == [("/first.txt", None), ("/first.txt", f"bytes={KEPT}-")]
    assert (tmp_path / "first.txt").read_bytes() == BODIES["first"]
    assert names(tmp_path) == ["first.txt"]


def test_tries_are_counted_anew_when_something_arrived(web: Web, tmp_path: Path) -> None:
    web.behaviour = ["half", "half", "half", "good"]
    download.fetch([FIRST], tmp_path, mirror=web.url)
    assert len(web.requests) == 4 > 1 + len(download.PAUSES)
    assert (tmp_path / "first.txt").read_bytes() == BODIES["first"]


def test_a_server_without_ranges_sends_all_again(web: Web, tmp_path: Path) -> None:
    web.behaviour = ["half", "good no-range"]
    download.fetch([FIRST], tmp_path, mirror=web.url)
    assert web.requests[1][1] is not None
    assert (tmp_path / "first.txt").read_bytes() == BODIES["first"]


def test_a_body_that_stays_truncated_is_an_error_and_its_part_serves_the_next_call(web: Web, tmp_path: Path) -> None:
    web.behaviour = ["half", "nothing"]
    whole = len(BODIES["first"])
    with pytest.raises(ProbingError, match=rf"broke after {KEPT} of {whole} bytes.* {KEPT} bytes are kept .* again"):
        download.fetch([FIRST], tmp_path, mirror=web.url)
    assert names(tmp_path) == ["first.txt.part"]
    assert len(web.requests) == 1 + len(download.PAUSES)
    web.behaviour = ["good"]
    download.fetch([FIRST], tmp_path, mirror=web.url)
    assert web.requests[-1] == ("/first.txt", f"bytes={KEPT}-")
    assert (tmp_path / "first.txt").read_bytes() == BODIES["first"]


def test_a_server_that_cuts_and_knows_no_range_ends_in_an_error(web: Web, tmp_path: Path) -> None:
    web.behaviour = ["half no-range"]
    with pytest.raises(ProbingError, match="the connection broke after"):
        download.fetch([FIRST], tmp_path, mirror=web.url)
    assert not (tmp_path / "first.txt").exists()


@pytest.mark.parametrize("part", [b"bytes of another file", b"x" * (len(BODIES["first"]) + 5)])
def test_a_part_of_something_else_is_thrown_away(web: Web, tmp_path: Path, part: bytes) -> None:
    (tmp_path / "first.txt.part").write_bytes(part)
    download.fetch([FIRST], tmp_path, mirror=web.url)
    assert (tmp_path / "first.txt").read_bytes() == BODIES["first"]
    assert names(tmp_path) == ["first.txt"]


def test_a_complete_part_needs_no_request(web: Web, tmp_path: Path) -> None:
    (tmp_path / "first.txt.part").write_bytes(BODIES["first"])
    download.fetch([FIRST], tmp_path, mirror=web.url)
    assert web.requests == []
    assert names(tmp_path) == ["first.txt"]


def test_an_unreachable_host_names_the_ways_out(web: Web, tmp_path: Path) -> None:
    with pytest.raises(ProbingError, match=r"cannot be reached \(.*refused\).*--mirror.*by hand"):
        download.fetch([FIRST], tmp_path, mirror="http://127.0.0.1:1")
    assert names(tmp_path) == []


def test_ctrl_c_keeps_the_part(web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = download._PartialFile.write

    def interrupt(part: download._PartialFile, chunk: bytes) -> None:
        write(part, chunk)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(download._PartialFile, "write", interrupt)
        with pytest.raises(KeyboardInterrupt):
            download.fetch([FIRST], tmp_path, mirror=web.url)
    kept = (tmp_path / "first.txt.part").read_bytes()
    assert kept == BODIES["first"][: len(kept)]
    assert kept
    download.fetch([FIRST], tmp_path, mirror=web.url)
    assert web.requests[-1] == ("/first.txt", f"bytes={len(kept)}-")
    assert (tmp_path / "first.txt").read_bytes() == BODIES["first"]


def test_a_folder_can_be_the_mirror(tmp_path: Path) -> None:
    (tmp_path / "a mirror").mkdir()
    (tmp_path / "a mirror" / "first.txt").write_bytes(BODIES["first"])
    url = (tmp_path / "a mirror").as_uri()
    download.fetch([FIRST], tmp_path / "data", mirror=url)
    assert (tmp_path / "data" / "first.txt").read_bytes() == BODIES["first"]
    with pytest.raises(
        ProbingError, match=r"second\.txt: cannot be read \(No such file or directory\)\. Check --mirror"
    ):
        download.fetch([SECOND], tmp_path / "data", mirror=url)
    assert names(tmp_path / "data") == ["first.txt"]


@pytest.mark.parametrize("mirror", ["mirror/folder", "ftp://host/x", "http:///x", ""])
def test_other_mirrors_are_refused(tmp_path: Path, mirror: str) -> None:
    with pytest.raises(ProbingError, match=r"is not a URL that can be fetched\. Allowed: http://"):
        download.fetch([FIRST], tmp_path, mirror=mirror)


def test_offline_only_verifies(web: Web, tmp_path: Path) -> None:
    (tmp_path / "first.txt").write_bytes(BODIES["first"])
    download.fetch([FIRST], tmp_path, mirror=web.url, offline=True)
    lines: list[str] = []
    with pytest.raises(
        ProbingError, match=r"^1 of 2 files are missing .*: second\.txt\. Run `probe data fetch` without"
    ):
        download.fetch([FIRST, SECOND], tmp_path, mirror=web.url, offline=True, report=lines.append)
    assert lines[1] == f"Second: {tmp_path / 'second.txt'} is missing"
    (tmp_path / "second.txt").write_bytes(b"mine")
    with pytest.raises(ProbingError, match="1 of 2 files"):
        download.fetch([FIRST, SECOND], tmp_path, mirror=web.url, offline=True, report=lines.append)
    assert f"(git blob id {hash_file(tmp_path / 'second.txt')[1]}, expected {SECOND.blob})" in lines[-1]
    assert web.requests == []


def test_a_task_without_a_senteval_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProbingError, match=r"DepDepth is not among SentEval's files\. Build it"):
        download.fetch([COUNTERPARTS[0]], tmp_path)


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ProbingError, match=r"first\.txt: cannot be written \(.+\)"):
        download.fetch([FIRST], tmp_path / "file", mirror=tmp_path.as_uri())


def test_the_commit_is_the_one_of_the_task_table() -> None:
    assert download.COMMIT.startswith("5d6dc11")
    assert len(download.COMMIT) == 40
    assert all(task.blob for task in TASKS)


def test_the_command_fetches_the_ten_files(web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("probing.tasks.get_tasks", lambda names: [FIRST] if names == ("all",) else [])
    result = CliRunner().invoke(cli.main, ["data", "fetch", "--data-dir", str(tmp_path), "--mirror", web.url])
    assert result.exit_code == 0
    assert result.stdout == f"First: {tmp_path / 'first.txt'} downloaded and verified (0.2 MB)\n"


def test_the_command_fails_with_one_line_and_exit_code_2(tmp_path: Path) -> None:
    options = ["--task", "tense", "--offline", "--data-dir", str(tmp_path)]
    result = CliRunner().invoke(cli.main, ["data", "fetch", *options])
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("probe: 1 of 1 files are missing")


def test_the_command_ends_with_130_on_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(download, "fetch", interrupt)
    result = CliRunner().invoke(cli.main, ["data", "fetch", "--data-dir", str(tmp_path)])
    assert result.exit_code == 130
    assert "run the command again to go on" in result.stderr


def test_a_download_has_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that sends without end does not fill the disk."""
    monkeypatch.setattr(download, "MAX_SIZE", 100)
    with (tmp_path / "part").open("ab") as file:
        part = download._PartialFile(file, lambda done, total: None)
        part.write(b"x" * 100)
        with pytest.raises(ProbingError, match=r"more than 0 MiB arrived, and no task file is as large"):
            part.write(b"x")
    assert (tmp_path / "part").stat().st_size == 0
