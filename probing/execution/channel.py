"""The channel between a run and the processes that work for it on this machine.

Workers send statuses as JSON. When the run dies, however suddenly, the channel breaks, and the worker ends itself:
nobody could take its outcome, and another process may run its work from then on.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import secrets
import signal
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from probing.display import Status


@dataclass(frozen=True, slots=True)
class Channel:
    """The port that a worker connects to, and the password that it needs."""

    port: int
    password: str

    @contextmanager
    def calling(self) -> Iterator[Callable[[Status], None]]:
        """Provide a function that sends a status; at the end of the block all statuses have arrived."""
        hung_up = threading.Event()
        with socket.create_connection(("127.0.0.1", self.port)) as call:
            call.sendall(f"{self.password}\n".encode())
            watcher = threading.Thread(target=_end_when_broken, args=(call, hung_up), name="channel", daemon=True)
            watcher.start()
            try:
                yield lambda status: call.sendall(json.dumps(dataclasses.asdict(status)).encode() + b"\n")
            finally:
                hung_up.set()
                with contextlib.suppress(OSError):
                    call.shutdown(socket.SHUT_WR)
                watcher.join(timeout=5)


def _end_when_broken(call: socket.socket, hung_up: threading.Event) -> None:
    with contextlib.suppress(OSError):
        call.recv(1)
    if not hung_up.is_set():
        os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def listening(on_status: Callable[[Status], None]) -> Iterator[Channel]:
    """Pass on the statuses of workers, one at a time, during the block."""
    password, turn = secrets.token_hex(), threading.Lock()

    class Call(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            if not secrets.compare_digest(self.rfile.readline(len(password) + 1).strip(), password.encode()):
                return
            with contextlib.suppress(OSError):  # the worker has died
                for line in self.rfile:
                    if line.endswith(b"\n"):
                        with turn:
                            on_status(Status(**json.loads(line)))

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Call) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="channels", daemon=True)
        thread.start()
        try:
            yield Channel(server.server_address[1], password)
        finally:
            server.shutdown()
            thread.join()
