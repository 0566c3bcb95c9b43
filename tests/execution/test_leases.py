"""One process at a time has the lease of a cell; a dead owner's lease is taken over, by one only."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from probing.errors import ProbingError
from probing.execution import leases as module
from probing.execution.leases import Lease, Leases, Owner

KEY = "0123abcd"
ELSEWHERE = Owner(host="another", machine="boots differently", pid=1, started="5")


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """Close all leases that a test opens."""
    opened: list[Leases] = []
    of = Leases.of

    def remember(results: Path) -> Leases:
        opened.append(of(results))
        return opened[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Leases, "of", remember)
        yield
    for leases in opened:
        leases.close()


@pytest.fixture
def dead() -> Owner:
    """A process of this machine that has ended."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    owner = dataclasses.replace(Owner.current(), pid=process.pid, started=str(module.find_start(process.pid)))
    assert owner.is_alive() is True
    process.communicate(b"\n")
    return owner


def take(leases: Leases, key: str = KEY) -> Lease:
    lease = leases.take(key)
    assert isinstance(lease, Lease)
    return lease


def leave(folder: Path, owner: Owner, *, age: float = 0.0) -> Path:
    """Leave a lease behind, as if its owner had been killed."""
    lease = take(Leases.of(folder))
    lease.path.write_text(json.dumps(dataclasses.asdict(owner)), encoding="utf-8")
    then = time.time() - age
    os.utime(lease.path, (then, then))
    return lease.path


def test_a_lease_is_had_by_one_until_it_is_released(tmp_path: Path) -> None:
    first, second = Leases.of(tmp_path), Leases.of(tmp_path)
    lease = take(first)
    assert lease.taken_from is None
    assert second.take(KEY) == Owner.current()
    assert isinstance(second.take("another cell"), Lease)
    first.release(lease)
    assert second.is_held(take(second))


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    leases = Leases.of(tmp_path)
    take(leases)
    take(leases, "other")
    leases.close()
    assert list(tmp_path.iterdir()) == []
    assert not [thread for thread in threading.enumerate() if thread.name == "leases"]


def test_a_dead_owners_lease_is_taken_over(tmp_path: Path, dead: Owner) -> None:
    assert dead.is_alive() is False
    leave(tmp_path, dead)
    leases = Leases.of(tmp_path)
    lease = take(leases)
    assert (lease.number, lease.taken_from) == (2, dead)
    leases.release(lease)
    assert list(tmp_path.iterdir()) == []


def test_expired_leases_are_swept_and_others_are_kept(tmp_path: Path, dead: Owner) -> None:
    left = leave(tmp_path, dead)
    holder, leases = Leases.of(tmp_path), Leases.of(tmp_path)
    held = take(holder, "other")
    odd = tmp_path / ".leases" / "odd.1"
    odd.mkdir()
    leases.sweep(keep={KEY})
    assert left.exists()
    leases.sweep()
    assert sorted((tmp_path / ".leases").iterdir()) == sorted([held.path, odd])
    assert holder.is_held(held)
    odd.rmdir()
    holder.release(held)
    leases.sweep()
    assert list(tmp_path.iterdir()) == []


def test_a_later_process_with_the_same_number_is_another(tmp_path: Path) -> None:
    namesake = dataclasses.replace(Owner.current(), started="1")
    leave(tmp_path, namesake)
    assert take(Leases.of(tmp_path)).taken_from == namesake


def test_a_killed_process_that_nobody_waited_for_is_dead() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    owner = dataclasses.replace(Owner.current(), pid=process.pid, started=str(module.find_start(process.pid)))
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert owner.is_alive() is False
    process.communicate()


def test_another_machines_lease_expires_when_it_is_not_touched(tmp_path: Path) -> None:
    assert ELSEWHERE.is_alive() is None
    path = leave(tmp_path, ELSEWHERE, age=module.SECONDS_TO_EXPIRE - 60)
    assert Leases.of(tmp_path).take(KEY) == ELSEWHERE
    then = time.time() - module.SECONDS_TO_EXPIRE - 60
    os.utime(path, (then, then))
    assert take(Leases.of(tmp_path)).taken_from == ELSEWHERE


def test_a_lease_that_is_just_being_written_is_respected(tmp_path: Path) -> None:
    path = leave(tmp_path, ELSEWHERE)
    path.write_text("", encoding="utf-8")
    assert Leases.of(tmp_path).take(KEY) is None
    then = time.time() - module.SECONDS_TO_EXPIRE - 60
    os.utime(path, (then, then))
    assert take(Leases.of(tmp_path)).taken_from is None


def test_a_lease_is_touched_while_it_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS_BETWEEN_HEARTBEATS", 0.01)
    leases = Leases.of(tmp_path)
    lease = take(leases)
    os.utime(lease.path, (0, 0))
    for _ in range(500):
        if lease.path.stat().st_mtime > 0:
            break
        time.sleep(0.01)
    assert lease.path.stat().st_mtime > 0
    leases.close()


def test_an_owner_that_was_thought_dead_notices(tmp_path: Path) -> None:
    """As after a machine slept: another took the lease over, and may even have finished."""
    sleeper, other = Leases.of(tmp_path), Leases.of(tmp_path)
    slept = take(sleeper)
    mine = slept.path.read_text(encoding="utf-8")
    slept.path.write_text(json.dumps(dataclasses.asdict(ELSEWHERE)), encoding="utf-8")
    os.utime(slept.path, (0, 0))
    taken = take(other)
    slept.path.write_text(mine, encoding="utf-8")
    assert not sleeper.is_held(slept)
    assert other.is_held(taken)
    sleeper.release(slept)
    assert other.is_held(taken)
    other.release(taken)
    assert not sleeper.is_held(slept)


def test_who_decided_on_an_old_view_withdraws(tmp_path: Path, dead: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    """It saw the dead one's lease; meanwhile that one was taken over, given back, and taken anew with number 1."""
    leave(tmp_path, dead)
    slow, quick, third = Leases.of(tmp_path), Leases.of(tmp_path), Leases.of(tmp_path)
    create = Leases._create

    def create_late(self: Leases, path: Path) -> bool:
        if self is slow:
            monkeypatch.undo()
            quick.release(take(quick))
            assert take(third).number == 1
        return create(self, path)

    monkeypatch.setattr(Leases, "_create", create_late)
    assert slow.take(KEY) == Owner.current()
    assert [path.name for path in (tmp_path / ".leases").iterdir()] == [f"{KEY}.1"]


@pytest.mark.parametrize("attempt", range(20))
def test_of_many_that_take_over_at_once_one_wins(tmp_path: Path, dead: Owner, attempt: int) -> None:
    leave(tmp_path, dead)
    barrier = threading.Barrier(8)

    def try_it(leases: Leases) -> Lease | Owner | None:
        barrier.wait()
        return leases.take(KEY)

    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(try_it, [Leases.of(tmp_path) for _ in range(8)]))
    assert sum(isinstance(lease, Lease) for lease in taken) <= 1
    if not any(isinstance(lease, Lease) for lease in taken):  # all withdrew: then the next one gets it
        assert isinstance(Leases.of(tmp_path).take(KEY), Lease)


def test_a_process_that_the_system_hides_is_not_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with /proc mounted hidepid=2: another user's process has no entry, and may not be sent a signal."""
    hidden = dataclasses.replace(Owner.current(), pid=1, started="7")

    def read_text(path: Path, **_: object) -> str:
        raise FileNotFoundError(path)

    def kill(pid: int, number: int) -> None:
        raise PermissionError

    monkeypatch.setattr(module, "identify_machine", lambda: hidden.machine)
    monkeypatch.setattr(Path, "read_text", read_text)
    monkeypatch.setattr(os, "kill", kill)
    assert hidden.is_alive() is None


def test_leases_that_may_not_be_seen_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def listdir(folder: Path) -> list[str]:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr(os, "listdir", listdir)
    assert not Leases.of(tmp_path).is_taken(KEY)


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_link(path: Path) -> None:
    path.symlink_to(path.with_name("target"))


@pytest.mark.parametrize("make", [make_fifo, make_link, Path.mkdir], ids=["pipe", "link", "folder"])
def test_what_is_no_lease_is_named_and_passed_over(
    tmp_path: Path, make: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / ".leases"
    folder.mkdir()
    make(folder / f"{KEY}.1")
    leases = Leases.of(tmp_path)
    lease = take(leases)
    assert lease.number == 2
    assert leases.is_held(lease)
    assert caplog.messages == [f"{folder / KEY}.1: a link, a pipe or a folder in place of a lease. It is passed over"]
    leases.release(lease)


@pytest.mark.parametrize("name", ["²", "x", "-1", "1e3", "0", "01", "9" * 40, ""])
def test_odd_names_are_no_leases(tmp_path: Path, name: str) -> None:
    (tmp_path / ".leases").mkdir()
    (tmp_path / ".leases" / f"{KEY}.{name}").touch()
    leases = Leases.of(tmp_path)
    assert take(leases).number == 1
    assert leases.list_taken() == {KEY}


def test_the_largest_number_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".leases").mkdir()
    odd = tmp_path / ".leases" / f"{KEY}.{'9' * 15}"
    odd.touch()
    os.utime(odd, (0, 0))
    with pytest.raises(ProbingError, match="is no lease of a run. Remove it"):
        Leases.of(tmp_path).take(KEY)


@pytest.mark.parametrize("pid", [0, -1, 2**80, "1", None, 1.5, True])
def test_an_odd_process_number_names_no_owner(tmp_path: Path, pid: object) -> None:
    path = leave(tmp_path, ELSEWHERE)
    path.write_text(json.dumps(dataclasses.asdict(ELSEWHERE) | {"pid": pid}), encoding="utf-8")
    assert Leases.of(tmp_path).take(KEY) is None


@pytest.mark.parametrize("content", [b"", b"[" * 4000, b"{" * 100_000, b"\xff", b"null", b'{"host": 1}'])
def test_a_time_in_the_future_is_waited_for_by_this_machines_clock(
    tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = leave(tmp_path, ELSEWHERE, age=-1e9)
    path.write_bytes(content)
    os.utime(path, (4e9, 4e9))
    clock = [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    leases = Leases.of(tmp_path)
    assert leases.take(KEY) is None
    clock[0] += module.SECONDS_TO_EXPIRE - 1
    assert leases.take(KEY) is None
    clock[0] += 2
    assert take(leases).number == 2


def test_a_link_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    """Nothing is written, touched or deleted behind it."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / f"{KEY}.1").write_text("precious", encoding="utf-8")
    (tmp_path / ".leases").symlink_to(elsewhere)
    with pytest.raises(ProbingError, match=r"\.leases: a link or a file in place of a folder. Remove it"):
        Leases.of(tmp_path).take(KEY)
    assert [path.name for path in elsewhere.iterdir()] == [f"{KEY}.1"]
