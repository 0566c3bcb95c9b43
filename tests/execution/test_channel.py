"""Statuses come through the channel; a worker whose run has died ends itself."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from probing.display import Status
from probing.execution.channel import Channel, listening

STATUS = Status(work="Tense EM seed 0", fraction=0.5, text="epoch 1/2", milestone=True)

WORKER = """
import sys, time
from probing.display import Status
from probing.execution.channel import Channel

with Channel(int(sys.argv[1]), sys.argv[2]).calling() as tell:
    tell(Status(work="a cell", fraction=0.5))
    print("told", flush=True)
    time.sleep(60)
"""

RUN = """
import os, subprocess, sys, threading
from probing.execution.channel import listening

arrived = threading.Event()
with listening(lambda status: arrived.set()) as channel:
    command = [sys.executable, sys.argv[1], str(channel.port), channel.password]
    worker = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    arrived.wait(60)
    print(worker.pid, flush=True)
    os.kill(os.getpid(), 9)
"""


def test_what_was_told_has_arrived_at_the_end() -> None:
    received: list[Status] = []
    with listening(received.append) as channel:
        with channel.calling() as tell:
            tell(STATUS)
            tell(STATUS)
        assert received == [STATUS, STATUS]
        with channel.calling() as tell:
            tell(STATUS)
    assert len(received) == 3


def test_who_does_not_know_the_password_is_not_heard() -> None:
    received: list[Status] = []
    with listening(received.append) as channel:
        with socket.create_connection(("127.0.0.1", channel.port)) as stranger:
            stranger.sendall(b'guess\n{"work": "x"}\n')
            assert stranger.recv(1) == b""
        with Channel(channel.port, channel.password).calling() as tell:
            tell(STATUS)
    assert received == [STATUS]


def test_a_status_that_broke_off_is_left_out() -> None:
    received: list[Status] = []
    with listening(received.append) as channel, socket.create_connection(("127.0.0.1", channel.port)) as worker:
        worker.sendall(f'{channel.password}\n{{"work": "x", "tex'.encode())
        worker.shutdown(socket.SHUT_WR)
        assert worker.recv(1) == b""
    assert received == []


def test_a_worker_ends_when_its_run_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "worker.py"
    script.write_text(WORKER, encoding="utf-8")
    run = subprocess.run([sys.executable, "-c", RUN, str(script)], stdout=subprocess.PIPE, text=True, timeout=60)
    assert run.returncode == -signal.SIGKILL
    worker = Path(f"/proc/{int(run.stdout)}/stat")
    if not Path("/proc/self").exists():
        pytest.skip("needs /proc")
    for _ in range(200):
        if not worker.exists() or " Z " in worker.read_text(encoding="utf-8"):
            break
        subprocess.run(["sleep", "0.05"], check=True)
    else:
        raise AssertionError("the worker lives on")
