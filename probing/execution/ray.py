"""Work as tasks of a Ray cluster: one CPU each, and GPUs as asked for."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from probing.display import Status
from probing.errors import ProbingError
from probing.execution.node import QUESTIONS, SECONDS_TO_ANSWER, check_reachable, check_versions, run_on_node
from probing.execution.shipping import Packer
from probing.execution.work import RunWork, Slots

SECONDS_BETWEEN_STATUSES = 0.2
WAIT_FOR_HEAD = ("RAY_gcs_rpc_server_reconnect_timeout_s", "20")
"""Variable of Ray: seconds after which it ends the run if the head of the cluster has died."""
SECONDS_BETWEEN_COUNTS = 5.0
"""Time after which the cluster is counted again: it may grow and shrink."""


@dataclass(frozen=True, slots=True)
class RayCluster:
    """A Ray cluster, at an address or where this machine's environment says."""

    address: str | None
    gpus_per_cell: float
    device: torch.device
    limit: int | None = None
    """Largest number of works at a time."""

    @property
    def description(self) -> str:
        gpus = f" and {self.gpus_per_cell:g} GPUs" if self.gpus_per_cell else ""
        return f"cells run on the Ray cluster{f' at {self.address}' if self.address else ''}, with a CPU{gpus} each"

    @contextmanager
    def open(self, run_work: RunWork[Any], num_works: int, on_status: Callable[[Status], None]) -> Iterator[Slots]:
        """Connect to the cluster; when the context ends, so do all its tasks."""
        with self._connected() as ray, _statuses(ray, on_status) as mailbox:
            task = ray.remote(_run).options(num_cpus=1, num_gpus=self.gpus_per_cell, max_retries=0)
            yield _RayTasks(ray, self, task, mailbox, run_work, Packer(ray.put))

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        try:
            import ray
        except ImportError:
            raise ProbingError("--backend ray needs Ray: pip install 'probing[ray]'") from None
        if ray.is_initialized():  # by the caller, who also ends it
            _check_machines(ray)
            yield ray
            return
        if self.address is not None:
            check_reachable("ray", self.address, port=6379)
        os.environ.setdefault(*WAIT_FOR_HEAD)
        handler = signal.getsignal(signal.SIGTERM)
        try:
            # Ray lets the workers import modules of the current folder, which may be of unknown origin.
            with tempfile.TemporaryDirectory() as empty, contextlib.chdir(empty):
                ray.init(address=self.address or "auto", log_to_driver=False, logging_level=logging.ERROR)
        except (OSError, RuntimeError, ValueError) as error:
            where = self.address or "this machine"
            raise ProbingError(
                f"--backend ray: no Ray cluster could be joined at {where} ({str(error).splitlines()[0]}). "
                "Start one with `ray start --head`, or name it: --address HOST:6379"
            ) from None
        finally:
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, handler)  # Ray's own would end the run at any moment
        try:
            _check_machines(ray)
            yield ray
        finally:
            ray.shutdown()


def _check_machines(ray: Any) -> None:
    """Ask all machines for their versions; a function of Python itself is found everywhere."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    nodes = {node["NodeID"]: f"machine {node['NodeManagerAddress']}" for node in ray.nodes() if node["Alive"]}
    places = {node: NodeAffinitySchedulingStrategy(node, soft=False) for node in nodes}
    options = {"num_cpus": 0, "max_retries": 0}
    asked = {
        name: {
            node: ray.remote(ask).options(scheduling_strategy=place, **options).remote(what)
            for node, place in places.items()
        }
        for name, (ask, what) in QUESTIONS.items()
    }
    deadline = time.monotonic() + SECONDS_TO_ANSWER
    answers: dict[str, dict[str, Any]] = {name: {} for name in QUESTIONS}
    for name, waiting in asked.items():
        for node, answer in waiting.items():
            try:
                answers[name][nodes[node]] = ray.get(answer, timeout=max(0.1, deadline - time.monotonic()))
            except ray.exceptions.GetTimeoutError:
                raise ProbingError(
                    f"--backend ray: {nodes[node]} of the cluster does not say within {SECONDS_TO_ANSWER:g} s what is "
                    "installed there. Is it alive?"
                ) from None
            except ray.exceptions.RayError as error:
                answers[name][nodes[node]] = getattr(error, "cause", None) or error
    check_versions("ray", answers)


@dataclass(slots=True)
class _RayTasks:
    ray: Any
    cluster: RayCluster
    task: Any
    mailbox: Any
    run_work: RunWork[Any]
    packer: Packer
    _counted: tuple[float, int] = field(default=(-1e9, 0))

    @property
    def count(self) -> int:
        if time.monotonic() - self._counted[0] > SECONDS_BETWEEN_COUNTS:
            self._counted = (time.monotonic(), self._count())
        return self._counted[1]

    def _count(self) -> int:
        there, gpus = self.ray.cluster_resources(), self.cluster.gpus_per_cell
        if gpus and there.get("GPU", 0) < gpus:
            raise ProbingError(f"--gpus-per-cell {gpus:g}: the cluster has {there.get('GPU', 0):g} GPUs")
        slots = min(there.get("CPU", 0), there.get("GPU", 0) / gpus if gpus else float("inf"))
        return max(1, min(int(slots), self.cluster.limit or int(slots)))

    def submit(self, work: Any) -> Future[Any]:
        shipment = self.packer.pack(work)
        result = self.task.remote(self.run_work, [shipment], self.cluster.device, self.mailbox)
        future: Future[Any] = Future()
        result.future().add_done_callback(lambda done: self._pass_on(done, future))
        return future

    def _pass_on(self, done: Future[Any], future: Future[Any]) -> None:
        """Pass an outcome on; an error in the task is unwrapped from Ray's own."""
        error = done.exception()
        if error is None:
            future.set_result(done.result())
        else:
            future.set_exception(getattr(error, "cause", None) or error)

    def is_loss(self, error: BaseException) -> bool:
        lost = self.ray.exceptions
        return isinstance(
            error, (lost.WorkerCrashedError, lost.NodeDiedError, lost.ObjectLostError, lost.OutOfMemoryError)
        )


def _run(run_work: RunWork[Any], shipments: list[Any], device: torch.device, mailbox: Any) -> Any:
    """Run a work in a process of the cluster; the list keeps Ray from looking into the shipment."""
    import ray

    def tell(status: Status) -> None:
        mailbox.put.remote(json.dumps(dataclasses.asdict(status)))

    return run_on_node(run_work, shipments[0], device, ray.get, tell)


class _Mailbox:
    """An actor that keeps statuses until the run asks for them."""

    def __init__(self) -> None:
        self.letters: list[str] = []

    def put(self, letter: str) -> None:
        self.letters.append(letter)

    def take(self) -> list[str]:
        letters, self.letters = self.letters, []
        return letters


@contextmanager
def _statuses(ray: Any, on_status: Callable[[Status], None]) -> Iterator[Any]:
    """Provide a mailbox that is emptied regularly during the block."""
    mailbox, ended = ray.remote(_Mailbox).options(num_cpus=0).remote(), threading.Event()

    def empty() -> None:
        last = False
        while not last:
            last = ended.wait(SECONDS_BETWEEN_STATUSES)  # then it is emptied once more
            with contextlib.suppress(ray.exceptions.RayError):  # its machine has died, and there is nothing to show
                for letter in ray.get(mailbox.take.remote()):
                    on_status(Status(**json.loads(letter)))

    thread = threading.Thread(target=empty, name="ray statuses", daemon=True)
    thread.start()
    try:
        yield mailbox
    finally:
        ended.set()
        thread.join()
