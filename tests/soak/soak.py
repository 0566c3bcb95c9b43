"""Runs on one shared folder that are killed, stopped, starved and damaged at random, and must end as if undisturbed."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from probing.storage import is_temporary
from tests.commands.test_survival import find_session, make_settings, read_records

BIN = Path(sys.executable).parent
EPOCHS = 40
LONGEST = 300
"""Seconds after which a run that nobody disturbs any more counts as hanging."""
ENDS = {0, 2, 130, 143, -signal.SIGKILL}
"""Exit codes that a disturbed run may have: finished, a mistake in one line, stopped, killed."""
SMALL_DISK = 1500
"""Largest file in bytes on a disk that is full: a lease fits, a record or a checkpoint does not."""
ALLOWED_ENDINGS = (".damaged",)
"""Endings of files that a run sets aside and tells the user about."""


@dataclass
class Soak:
    """A results folder and a cache that runs share; every disturbance is drawn from the seed."""

    folder: Path
    seed: int
    say: Callable[[str], None]
    cache: Path | None = None
    """Cache folder; without one, a new one in the folder."""
    processes: list[subprocess.Popen[str]] = field(default_factory=list)
    """All processes that were started, each the leader of a session."""

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)
        self.results, self.cache_home = self.folder / "results", self.cache or self.folder / "cache"
        self.results.mkdir(parents=True)
        lines = [
            f"{split}\t{label}\t{' '.join(self.draw.choices('abcdefgh', k=5))} {self.draw.choice([label, 'MAYBE'])}\n"
            for split, size in (("tr", 150), ("va", 25), ("te", 25))
            for label in ("YES", "NO")
            for _ in range(size)
        ]
        (self.folder / "answers.tsv").write_text("".join(lines), encoding="utf-8")

    def check(self, rounds: Callable[[int], bool]) -> None:
        """Disturb runs as long as `rounds` says, then compare their records with those of an undisturbed run."""
        try:
            self._check(rounds)
        except BaseException:
            for process in self.processes:
                for pid in find_session(process.pid):
                    os.kill(pid, signal.SIGKILL)
                process.communicate()
            raise

    def _check(self, rounds: Callable[[int], bool]) -> None:
        self._finish(self._start(self.folder / "undisturbed"))
        expected = read_records(self.folder / "undisturbed")
        assert len(expected) == 6
        kinds = self._list_kinds()
        number = 0
        while rounds(number):
            if number % len(kinds) == 0:  # each of them comes as often as the others
                self.draw.shuffle(kinds)
            disturb = kinds[number % len(kinds)]
            self.say(f"round {number + 1}: {disturb.__name__.strip('_').replace('_', ' ')}")
            disturb()
            number += 1
        self._finish(self._start(self.results))
        for found, wanted in zip(read_records(self.results), expected, strict=True):
            differing = [name for name in wanted if found.get(name) != wanted[name]]
            assert not differing, f"{wanted['model']['name']} differs in {differing} (seed {self.seed})"
        self._check_nothing_is_left()

    def _list_kinds(self) -> list[Callable[[], None]]:
        return [
            self._kill,
            self._stop,
            self._pause,
            self._kill_a_worker,
            self._fill_the_disk,
            self._let_the_clock_jump,
            self._damage_the_cache,
            self._damage_a_record,
            self._damage_a_checkpoint,
            self._kill_a_worker_of_a_cluster,
        ]

    def _start(self, results: Path, *options: str, largest_file: int | None = None) -> subprocess.Popen[str]:
        """Start a run of six cells, as the leader of a session of its own."""
        command = [BIN / "probe", "run", "--task-file", self.folder / "answers.tsv", "--preset", "mini"]
        command += ["--aggregator", "base,em", "--encoder", "length", "--seeds", "2", "--device", "cpu"]
        # Another number of processes or cores would mean another number of threads, which changes the last digits.
        command += ["--results", results, "--jobs", "2", *options, "-v"]
        command += [part for setting in make_settings(EPOCHS) for part in ("--set", setting)]

        def prepare() -> None:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])  # two cells, one thread each
            if largest_file is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

        return self._popen([str(part) for part in command], prepare, stderr=subprocess.PIPE)

    def _popen(self, command: Sequence[str], prepare: Callable[[], None] | None = None, **options: Any) -> Any:
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.cache_home)}
        process = subprocess.Popen(
            command,
            env=environment,
            cwd=self.folder,
            text=True,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=prepare,
            **options,
        )
        self.processes.append(process)
        return process

    def _end(self, process: subprocess.Popen[str]) -> str:
        """Wait for a run that was disturbed, and return what it said."""
        said = process.communicate(timeout=LONGEST)[1]
        assert process.returncode in ENDS, f"exit code {process.returncode} (seed {self.seed}):\n{said}"
        assert "Traceback" not in said, f"seed {self.seed}:\n{said}"
        return said

    def _finish(self, process: subprocess.Popen[str]) -> None:
        said = self._end(process)
        assert process.returncode == 0, f"seed {self.seed}:\n{said}"

    def _start_some(self) -> list[subprocess.Popen[str]]:
        """Start one or two runs on the shared folder, and let them work for a moment that is drawn."""
        self._forget_a_record()
        processes = [self._start(self.results) for _ in range(self.draw.randint(1, 2))]
        time.sleep(self.draw.uniform(0.5, 5))
        return processes

    def _forget_a_record(self) -> None:
        """Delete a record, so that there is something to run, unless enough are missing."""
        records = sorted(self.results.glob("own--*.json"))
        if len(records) > 3:
            self.draw.choice(records).unlink()

    def _signal(self, number: signal.Signals) -> None:
        processes = self._start_some()
        target = self.draw.choice(processes)
        (os.killpg if number == signal.SIGINT else os.kill)(target.pid, number)
        for process in processes:
            self._end(process)

    def _kill(self) -> None:
        self._signal(signal.SIGKILL)

    def _stop(self) -> None:
        self._signal(self.draw.choice([signal.SIGTERM, signal.SIGINT]))

    def _pause(self) -> None:
        processes = self._start_some()
        os.killpg(processes[0].pid, signal.SIGSTOP)
        time.sleep(self.draw.uniform(0.2, 2))
        os.killpg(processes[0].pid, signal.SIGCONT)
        for process in processes:
            self._end(process)

    def _kill_a_worker(self) -> None:
        self._forget_a_record()
        process = self._start(self.results)
        time.sleep(self.draw.uniform(2, 5))
        children = [pid for pid in find_session(process.pid) if pid != process.pid]
        if children and process.poll() is None:
            os.kill(self.draw.choice(sorted(children)), signal.SIGKILL)
        self._end(process)

    def _fill_the_disk(self) -> None:
        self._forget_a_record()
        said = self._end(self._start(self.results, largest_file=SMALL_DISK))
        assert "File too large" in said, said

    def _let_the_clock_jump(self) -> None:
        """Set the times of all files of the folder back or forward, as a file server whose clock jumps does."""
        processes = self._start_some()
        hours = self.draw.choice([-48, -1, 1, 48])
        for path in self.results.rglob("*"):
            try:
                moment = path.stat().st_mtime + hours * 3600
                os.utime(path, (moment, moment))
            except FileNotFoundError:  # a run has just replaced it
                continue
        for process in processes:
            self._end(process)

    def _damage(self, paths: Sequence[Path]) -> None:
        """Cut a file, or fill a part of it with zeros or noise, while nobody uses it."""
        if not paths:
            return
        path = self.draw.choice(sorted(paths))
        content = bytearray(path.read_bytes())
        place = self.draw.randrange(len(content) + 1)
        end = min(len(content), place + 64)
        how = self.draw.choice(["cut", "zeros", "noise"])
        content[place : len(content) if how == "cut" else end] = {
            "cut": b"",
            "zeros": bytes(end - place),
            "noise": self.draw.randbytes(end - place),
        }[how]
        path.write_bytes(content)

    def _damage_the_cache(self) -> None:
        self._damage([path for path in self.cache_home.rglob("*") if path.is_file() and path.stat().st_size])
        for process in self._start_some():
            self._end(process)

    def _damage_a_record(self) -> None:
        records = sorted(self.results.glob("own--*.json"))
        if records:
            path = self.draw.choice(records)
            path.write_bytes(path.read_bytes()[: self.draw.randrange(path.stat().st_size - 1)])
        self._kill()

    def _damage_a_checkpoint(self) -> None:
        self._kill()
        self._damage(list(self.results.glob("checkpoints/*/*.safetensors")))

    def _kill_a_worker_of_a_cluster(self) -> None:
        self._forget_a_record()
        place = self.folder / f"scheduler{len(self.processes)}.json"
        where = ["--scheduler-file", str(place), "--no-dashboard"]
        module = [sys.executable, "-m", "distributed.cli.dask_"]
        options: dict[str, Any] = {"stderr": subprocess.DEVNULL}
        cluster = [self._popen([*module[:2], f"{module[2]}scheduler", "--port", "0", *where], **options)]
        try:
            while not place.exists():
                assert cluster[0].poll() is None, "no Dask scheduler could be started"
                time.sleep(0.05)
            worker = [*module[:2], f"{module[2]}worker", "--nthreads", "1", "--no-nanny", *where]
            cluster += [self._popen(worker, **options) for _ in range(2)]
            address = json.loads(place.read_text(encoding="utf-8"))["address"]
            process = self._start(self.results, "--backend", "dask", "--address", address)
            time.sleep(self.draw.uniform(3, 6))
            cluster[1].kill()
            self._end(process)
        finally:
            for member in cluster:
                member.kill()
                member.wait()

    def _wait(self) -> None:
        """Wait until no process of an earlier round lives."""
        deadline = time.monotonic() + LONGEST
        while left := [pid for process in self.processes for pid in find_session(process.pid)]:
            assert time.monotonic() < deadline, f"processes {left} outlive their runs (seed {self.seed})"
            time.sleep(0.05)

    def _check_nothing_is_left(self) -> None:
        self._wait()
        left = [path for path in self.results.rglob("*") if path.is_file() and path.parent != self.results]
        assert all(path.name.endswith(ALLOWED_ENDINGS) for path in left), f"{left} (seed {self.seed})"
        names = [path.name for path in self.results.iterdir() if path.is_file()]
        assert all(name.startswith("own--") and name.endswith(".json") for name in names), f"{names} (seed {self.seed})"
        temporary = [path for path in self.cache_home.rglob("*") if is_temporary(path.name)]
        assert not temporary, f"{temporary} (seed {self.seed})"
