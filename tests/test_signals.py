"""SIGTERM is like Ctrl-C, and a signal waits for the end of a short step."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from probing import signals
from probing.signals import Hold, Terminated, shielded, terminable, unshielded

SIGNALS = [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)]


def test_sigterm_ends_a_block_as_ctrl_c_would() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt) as stopped, terminable():
        signal.raise_signal(signal.SIGTERM)
    assert type(stopped.value) is Terminated
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_import_is_not_broken_off_but_the_process_ended(tmp_path: Path, number: int, code: int) -> None:
    """Else this module would take the signal for a mistake of its own, and go on."""
    (tmp_path / "stubborn.py").write_text(
        f"import signal\ntry:\n    signal.raise_signal({int(number)})\nexcept BaseException:\n    print('going on')\n",
        encoding="utf-8",
    )
    program = "from probing.signals import terminable\nwith terminable():\n    import stubborn"
    child = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, preexec_fn=listen, check=False
    )
    assert (child.returncode, child.stdout, child.stderr) == (code, "", "")


def listen() -> None:
    """Receive Ctrl-C even if these tests run where it is ignored, in the background of a shell."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_what_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with terminable():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_process_can_end_with_its_parent() -> None:
    """The parent is killed; the child, which also holds its output, would sleep on."""
    child = "import sys, time; from probing.signals import end_with; end_with(int(sys.argv[1])); time.sleep(600)"
    program = (
        "import os, subprocess, sys, time\n"
        f"subprocess.Popen([sys.executable, '-c', {child!r}, str(os.getpid())])\n"
        "time.sleep(1)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    parent = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (parent.returncode, parent.stderr) == (-signal.SIGKILL, ""), "and its output was closed"


def do_steps(hold: Hold, *steps: list[int]) -> list[str]:
    """Do steps in which signals come, between two that are quiet; return what was done."""
    done = []
    try:
        for number, received in enumerate([[], *steps, []]):
            with hold.step():
                for each in received:
                    signal.raise_signal(each)
                done.append(f"step {number}")
    except KeyboardInterrupt as stopped:
        done.append(type(stopped).__name__)
    return done


@pytest.mark.parametrize(("number", "error"), SIGNALS)
def test_a_signal_waits_for_the_end_of_a_step(number: int, error: type[KeyboardInterrupt]) -> None:
    with terminable(), Hold() as hold:
        assert do_steps(hold, [], [number]) == ["step 0", "step 1", "step 2", error.__name__]
    assert not hold.torn


@pytest.mark.parametrize(("number", "error"), SIGNALS)
def test_between_steps_a_signal_comes_at_once(number: int, error: type[KeyboardInterrupt]) -> None:
    with terminable(), Hold() as hold:
        assert do_steps(hold) == ["step 0", "step 1"]
        with pytest.raises(error):
            signal.raise_signal(number)
    assert not hold.torn


def test_a_second_signal_does_not_wait() -> None:
    with Hold() as hold:
        assert do_steps(hold, [signal.SIGINT, signal.SIGINT]) == ["step 0", "KeyboardInterrupt"]
    assert hold.torn


def test_nobody_waits_for_slow_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first step may be slow: that is not known yet."""
    with Hold() as first, pytest.raises(KeyboardInterrupt), first.step():
        signal.raise_signal(signal.SIGINT)
    assert first.torn
    times = iter([0.0, 2 * signals.QUICK, 10.0])
    monkeypatch.setattr(signals.time, "monotonic", lambda: next(times))
    with Hold() as slow:
        assert do_steps(slow, [signal.SIGINT]) == ["step 0", "KeyboardInterrupt"]
    assert slow.torn


def test_a_moment_is_held_whatever_the_steps_are_like() -> None:
    done = []

    def do() -> None:
        with Hold() as hold, hold.moment():
            signal.raise_signal(signal.SIGINT)
            done.append(hold.torn)

    with pytest.raises(KeyboardInterrupt):
        do()
    assert done == [False]


def test_handlers_are_put_back_and_what_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        interrupt = signal.getsignal(signal.SIGINT)
        with Hold() as hold, hold.step():
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGINT) is not interrupt
        assert signal.getsignal(signal.SIGINT) is interrupt
    finally:
        signal.signal(signal.SIGTERM, before)


def test_other_threads_leave_signals_alone() -> None:
    seen = []

    def work() -> None:
        with terminable(), Hold() as hold, hold.step():
            seen.append((signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))]


def test_a_shielded_signal_is_not_lost() -> None:
    done = []

    def wait() -> None:
        with terminable(), shielded():
            signal.raise_signal(signal.SIGTERM)
            done.append("it waits")
            with unshielded():
                done.append("it came before this")

    with pytest.raises(Terminated):
        wait()
    assert done == ["it waits"]
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) & set(signals.SIGNALS) == set()


def test_processes_that_start_behind_the_shield_keep_it() -> None:
    program = "import os, signal; os.kill(os.getpid(), signal.SIGTERM); print('alive')"
    with shielded():
        child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (child.returncode, child.stdout) == (0, "alive\n")
