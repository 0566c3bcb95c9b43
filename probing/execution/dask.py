"""Work as tasks of a Dask cluster: one at a time in each worker process."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import pydoc
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from probing.display import Status
from probing.errors import ProbingError
from probing.execution.node import (
    QUESTIONS,
    SECONDS_TO_ANSWER,
    SECONDS_TO_CONNECT,
    check_reachable,
    check_versions,
    run_on_node,
)
from probing.execution.shipping import Packer
from probing.execution.work import RunWork, Slots

SECONDS_TO_FETCH = 300


@dataclass(frozen=True, slots=True)
class DaskCluster:
    """A Dask cluster, by its scheduler's address."""

    address: str
    gpus_per_cell: float
    device: torch.device
    limit: int | None = None
    """Largest number of works at a time."""

    @property
    def description(self) -> str:
        gpus = f", with {self.gpus_per_cell:g} GPUs each" if self.gpus_per_cell else ""
        return f"cells run on the Dask cluster at {self.address}, one per worker process{gpus}"

    @contextmanager
    def open(self, run_work: RunWork[Any], num_works: int, on_status: Callable[[Status], None]) -> Iterator[Slots]:
        """Connect to the scheduler; when the context ends, cells that still run are cancelled."""
        topic = f"probing-{uuid.uuid4().hex}"
        with self._connected() as client:
            client.subscribe_topic(topic, lambda event: on_status(Status(**event[1]["status"])))
            files = _Files(client, topic)
            packer = Packer(files.put, files.is_there)
            slots = _DaskTasks(client, self, topic, run_work, packer)
            try:
                yield slots
            except (OSError, RuntimeError, CancelledError):
                slots.check_scheduler()
                raise
            finally:
                if client.status == "running":
                    with contextlib.suppress(OSError):  # the scheduler dies at this moment
                        client.cancel(list(slots.begun.values()), force=True)
                        files.close()

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        try:
            import distributed
        except ImportError:
            raise ProbingError("--backend dask needs Dask: pip install 'probing[dask]'") from None
        check_reachable("dask", self.address, port=8786)
        try:
            client = distributed.Client(self.address, set_as_default=False, timeout=10)
        except (OSError, ValueError) as error:
            raise ProbingError(f"--backend dask: no Dask scheduler at {self.address} ({error})") from None
        with _silenced(), _closing(client):
            try:
                client.wait_for_workers(1, timeout=SECONDS_TO_CONNECT)
            except TimeoutError:
                raise ProbingError(
                    f"--backend dask: the scheduler at {self.address} has no workers. "
                    f"Start some: `dask worker {self.address}`"
                ) from None
            _check_machines(client)
            yield client


@dataclass(slots=True)
class _DaskTasks:
    client: Any
    cluster: DaskCluster
    topic: str
    run_work: RunWork[Any]
    packer: Packer
    begun: dict[Future[Any], Any] = field(default_factory=dict)
    """Dask's own futures of the works that run."""
    busy: dict[Future[Any], str] = field(default_factory=dict)
    """Name of the worker that each work was given to."""

    @property
    def count(self) -> int:
        there = len(self._find_workers())
        return min(there, self.cluster.limit or there)

    def check_scheduler(self) -> None:
        """Raise an error if the scheduler has died; its client would wait for it without end."""
        if self.client.status != "running":
            raise self._describe_loss()

    def _describe_loss(self) -> ProbingError:
        return ProbingError(
            f"--backend dask: the scheduler at {self.cluster.address} has gone. Finished cells and checkpoints are "
            "kept: start it, then the same command again"
        )

    def _find_workers(self) -> list[str]:
        self.check_scheduler()
        gpus, workers = self.cluster.gpus_per_cell, self.client.scheduler_info(n_workers=-1)["workers"]
        chosen = [name for name, about in workers.items() if about["resources"].get("GPU", 0) >= gpus]
        if workers and not chosen:
            raise ProbingError(
                f"--gpus-per-cell {gpus:g}: no worker of the cluster offers that. "
                "Start them as `dask worker --resources GPU=1`"
            )
        return chosen

    def submit(self, work: Any) -> Future[Any]:
        free = [name for name in self._find_workers() if name not in self.busy.values()]
        task = self.client.submit(
            _run,
            self.run_work,
            self.packer.pack(work),
            self.cluster.device,
            self.topic,
            workers=free[:1] or None,
            allow_other_workers=bool(free),
            resources={"GPU": self.cluster.gpus_per_cell} if self.cluster.gpus_per_cell else None,
            pure=False,
        )
        future: Future[Any] = Future()
        self.begun[future] = task
        self.busy[future] = free[0] if free else ""
        task.add_done_callback(lambda done: self._pass_on(done, future))
        return future

    def _pass_on(self, done: Any, future: Future[Any]) -> None:
        self.begun.pop(future, None)
        self.busy.pop(future, None)
        if done.status in ("finished", "error"):
            error = done.exception()
        else:
            error = LostFileError(done.key) if self.client.status == "running" else self._describe_loss()
        if error is None:
            future.set_result(done.result())
        else:
            future.set_exception(error)

    def is_loss(self, error: BaseException) -> bool:
        from distributed.scheduler import KilledWorker

        return isinstance(error, (KilledWorker, LostFileError))


def _check_machines(client: Any) -> None:
    """Ask the scheduler and all workers for their versions; a function of Python itself is found everywhere."""

    def ask() -> dict[str, dict[str, Any]]:
        answers: dict[str, dict[str, Any]] = {}
        for name, question in QUESTIONS.items():
            found = client.run(*question, on_error="return")
            answers[name] = {f"worker {worker}": answer for worker, answer in found.items()}
        answers["probing"]["the scheduler"] = client.run_on_scheduler(*QUESTIONS["probing"])
        return answers

    waiting: Future[dict[str, dict[str, Any]]] = Future()
    threading.Thread(target=_fulfil, args=(waiting, ask), name="dask versions", daemon=True).start()
    try:
        answers = waiting.result(timeout=SECONDS_TO_ANSWER)
    except TimeoutError:
        raise ProbingError(
            f"--backend dask: the workers do not say within {SECONDS_TO_ANSWER:g} s what is installed there. "
            "Are they alive?"
        ) from None
    except (OSError, RuntimeError, ValueError, ImportError, pydoc.ErrorDuringImport) as error:
        raise ProbingError(f"--backend dask: the cluster does not answer ({_describe(error)})") from None
    check_versions("dask", answers)


def _fulfil(future: Future[Any], compute: Callable[[], Any]) -> None:
    try:
        future.set_result(compute())
    except BaseException as error:  # noqa: BLE001 - whoever waits for the future gets it
        future.set_exception(error)


def _describe(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


@contextmanager
def _silenced() -> Iterator[None]:
    """Keep Dask's loggers silent: what goes wrong is told in one line, not in tracebacks."""
    loggers = [logging.getLogger(name) for name in list(logging.root.manager.loggerDict) if name.startswith("distrib")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def _closing(client: Any) -> Iterator[None]:
    """Close the client at the end, without waiting for a scheduler that has died."""
    try:
        yield
    finally:
        with contextlib.suppress(OSError, TimeoutError):
            client.close(timeout=SECONDS_TO_CONNECT)


@dataclass(slots=True)
class _Files:
    """Files' contents, kept in the memory of some worker and published by name."""

    client: Any
    topic: str
    published: dict[str, Any] = field(default_factory=dict)

    def put(self, content: bytes) -> str:
        name = f"{self.topic}-{len(self.published)}"
        self.published[name] = self.client.scatter(content, hash=False)
        self.client.publish_dataset(self.published[name], name=name)
        return name

    def is_there(self, name: str) -> bool:
        return bool(self.published[name].status == "finished")

    def close(self) -> None:
        for name in self.published:
            self.client.unpublish_dataset(name)


class LostFileError(Exception):
    """The worker that kept a file for the others has died; the file must be sent again."""


class CancelledCellError(Exception):
    """The run has ended without this work."""


def _run(run_work: RunWork[Any], shipment: Any, device: torch.device, topic: str) -> Any:
    """Run a work in a worker of the cluster."""
    import distributed

    worker, client = distributed.get_worker(), distributed.get_client()
    key = worker.get_current_task()

    def fetch(handle: Any) -> bytes:
        try:
            content: bytes = client.get_dataset(handle).result(timeout=SECONDS_TO_FETCH)
        except Exception as error:
            raise LostFileError(handle) from error
        return content

    def tell(status: Status) -> None:
        task = worker.state.tasks.get(key)
        if task is None or task.state == "cancelled":  # a thread cannot be ended from outside
            raise CancelledCellError(key)
        worker.log_event(topic, {"status": dataclasses.asdict(status)})

    return run_on_node(run_work, shipment, device, fetch, tell)
