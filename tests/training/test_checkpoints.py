"""Checkpoints come back as they were, whole or not at all; what is not sound is set aside and never trusted."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from probing.errors import ProbingError
from probing.training import checkpoints
from probing.training.checkpoints import (
    Checkpoint,
    Stopwatch,
    checkpoint_folder,
    discard_checkpoints,
    list_checkpointed_records,
)

CPU = torch.device("cpu")


class Numbers:
    """A state of some tensors and facts."""

    def __init__(self, **facts: Any) -> None:
        self.kept: dict[str, Tensor] = {
            "matrix": torch.arange(6.0).reshape(2, 3),
            "scalar": torch.tensor(7, dtype=torch.int64),
            "none": torch.zeros(0),
            "narrow": torch.tensor([1.5, -2.5], dtype=torch.bfloat16),
            "flags": torch.tensor([True, False]),
        }
        self.noted: dict[str, Any] = facts

    def tensors(self) -> dict[str, Tensor]:
        return self.kept

    def facts(self) -> dict[str, Any]:
        return self.noted

    def restore(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        if facts.get("misfit"):
            raise ValueError("it does not fit")
        self.kept, self.noted = dict(tensors), dict(facts)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def make(folder: Path | None, notes: list[str] | None = None, **options: Any) -> Checkpoint:
    options = {"key": "abc", "device": CPU} | options
    return Checkpoint(folder, on_note=[].append if notes is None else notes.append, **options)


def resume(folder: Path, **options: Any) -> tuple[Numbers | None, list[str]]:
    notes: list[str] = []
    state = Numbers()
    return (state if make(folder, notes, **options).resume(state) else None), notes


def test_a_state_comes_back_as_it_was(tmp_path: Path) -> None:
    state = Numbers(epoch=3, curve=[0.1, 2 / 3], shuffling={"state": 1 << 127})
    make(tmp_path / "cell").save(state)
    back, notes = resume(tmp_path / "cell")
    assert back is not None
    assert notes == []
    assert back.noted == state.noted
    assert back.kept.keys() == state.kept.keys()
    for name, tensor in state.kept.items():
        assert torch.equal(tensor, back.kept[name]), name
        assert tensor.dtype == back.kept[name].dtype
    assert [path.name for path in (tmp_path / "cell").iterdir()] == ["training.safetensors"]


def test_tensors_that_share_memory_are_kept_each(tmp_path: Path) -> None:
    state = Numbers()
    whole = torch.arange(8.0)
    state.kept = {"one": whole, "same": whole, "half": whole[4:], "across": whole.reshape(2, 4).T}
    make(tmp_path).save(state)
    back, _ = resume(tmp_path)
    assert back is not None
    assert all(torch.equal(tensor, back.kept[name]) for name, tensor in state.kept.items())


def test_nothing_is_kept_without_a_folder() -> None:
    checkpoint = make(None)
    checkpoint.save(Numbers())
    checkpoint.save_if_quick(Numbers())
    assert not checkpoint.resume(Numbers())


def test_the_one_before_stays_until_the_new_one_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path).save(Numbers(epoch=1))

    def stop(*arguments: Any, **handles: int) -> None:
        raise KeyboardInterrupt

    checkpoint = make(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", stop)
        with pytest.raises(KeyboardInterrupt):
            checkpoint.save(Numbers(epoch=2))
    assert [path.name for path in tmp_path.iterdir()] == ["training.safetensors"]
    back, _ = resume(tmp_path)
    assert back is not None
    assert back.noted == {"epoch": 1}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"key": "xyz"}, "its key is abc, not xyz"),
        ({"device": torch.device("cuda")}, "its device is cpu, not cuda"),
        ({"name": "training"}, None),
    ],
)
def test_a_foreign_checkpoint_is_set_aside(tmp_path: Path, options: dict[str, Any], reason: str | None) -> None:
    make(tmp_path).save(Numbers())
    back, notes = resume(tmp_path, **options)
    assert (back is None) == (reason is not None)
    if reason:
        assert len(notes) == 1
        assert f"training.safetensors: not a checkpoint to go on from ({reason}). It is set aside as" in notes[0]
        assert [path.name for path in tmp_path.iterdir()] == ["training.safetensors.damaged"]


def test_another_format_or_torch_is_foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path).save(Numbers())
    monkeypatch.setattr(torch, "__version__", "9.9.9")
    assert "its torch is" in resume(tmp_path)[1][0]
    make(tmp_path).save(Numbers())
    monkeypatch.setattr(checkpoints, "FORMAT", checkpoints.FORMAT + 1)
    assert "its format is 3, not 4" in resume(tmp_path)[1][0]


def test_a_state_that_does_not_fit_is_set_aside(tmp_path: Path) -> None:
    make(tmp_path).save(Numbers(misfit=True))
    back, notes = resume(tmp_path)
    assert back is None
    assert "(it does not fit)" in notes[0]
    assert resume(tmp_path) == (None, []), "it is not looked at again"


def test_a_changed_or_cut_file_is_never_trusted(tmp_path: Path) -> None:
    """Every byte, one of its bits; every length."""
    make(tmp_path).save(Numbers(epoch=3))
    path = tmp_path / "training.safetensors"
    content = path.read_bytes()
    for place, byte in enumerate(content):
        for damaged in (content[:place], content[:place] + bytes([byte ^ 1 << place % 8]) + content[place + 1 :]):
            path.write_bytes(damaged)
            back, notes = resume(tmp_path)
            assert back is None, (place, byte)
            assert len(notes) == 1
            assert "\n" not in notes[0]
            assert path.with_suffix(".safetensors.damaged").read_bytes() == damaged
            assert not path.exists()


def forge(path: Path, about: Any, **changes: str) -> None:
    """Write a file whose checksum is right."""
    text = about if isinstance(about, str) else json.dumps(about)
    tensors = Numbers().tensors()
    save_file(tensors, path, {"about": text, "sha256": checkpoints._hash(text, tensors)} | changes)


ABOUT = make(None).about | {"threads": 1, "seconds": 1.5, "facts": {}}


@pytest.mark.parametrize(
    ("about", "reason"),
    [
        ("[" * 100_000, "nested too deeply"),
        ("[]", "it does not say what it is of"),
        ("{", "Expecting property name"),
        (ABOUT | {"threads": 0}, "threads is not a number of threads"),
        (ABOUT | {"threads": True}, "threads is not a number of threads"),
        (ABOUT | {"threads": 10**9}, "threads is not a number of threads"),
        (ABOUT | {"seconds": -1.0}, "seconds is not a duration"),
        (ABOUT | {"seconds": "1"}, "seconds is not a duration"),
        (ABOUT | {"facts": []}, "it does not say what it is of"),
        ({"key": "abc", "facts": {}}, "its format is None, not 3"),
        (ABOUT | {"facts": {"x": "x" * (17 << 20)}}, "a header of more than 16 MiB"),
        (ABOUT | {"facts": {"x": [[]] * 200_000}}, "more than 200,000 lists and objects"),
    ],
)
def test_a_forged_checkpoint_is_no_crash(tmp_path: Path, about: Any, reason: str) -> None:
    forge(tmp_path / "training.safetensors", about)
    back, notes = resume(tmp_path)
    assert back is None
    assert reason in notes[0]


def test_the_forger_of_these_tests_can_make_a_sound_one(tmp_path: Path) -> None:
    forge(tmp_path / "training.safetensors", ABOUT)
    assert resume(tmp_path)[0] is not None
    forge(tmp_path / "training.safetensors", ABOUT, sha256="0" * 64)
    assert "its checksum is wrong" in resume(tmp_path)[1][0]


def test_what_is_not_a_file_is_left_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "training.safetensors")
    assert resume(tmp_path) == (None, [])
    (tmp_path / "folder" / "training.safetensors").mkdir(parents=True)
    assert resume(tmp_path / "folder") == (None, [])


def test_what_cannot_be_written_is_said_once_and_the_training_goes_on(tmp_path: Path) -> None:
    (tmp_path / "cell").write_text("a file", encoding="utf-8")
    notes: list[str] = []
    checkpoint = make(tmp_path / "cell", notes)
    checkpoint.save(Numbers())
    checkpoint.save(Numbers())
    assert len(notes) == 1
    assert notes[0].startswith(f"{tmp_path}/cell/training.safetensors: no checkpoint can be written (")
    assert notes[0].endswith("). The training goes on without")


def test_tensors_that_safetensors_does_not_know_are_no_crash(tmp_path: Path) -> None:
    notes: list[str] = []
    state = Numbers()
    state.kept["sparse"] = torch.eye(3).to_sparse()
    make(tmp_path, notes).save(state)
    assert len(notes) == 1
    assert list(tmp_path.iterdir()) == []


def test_it_is_due_after_half_a_minute_and_then_every_three(tmp_path: Path) -> None:
    clock = Clock()
    checkpoint = make(tmp_path, stopwatch=Stopwatch(clock), minutes=3)
    due = []
    for _ in range(14):
        clock.now += 30
        due.append(checkpoint.is_due)
        if checkpoint.is_due:
            checkpoint.save(Numbers())
    assert due == [True, *[False] * 5] * 2 + [True, False]
    assert not make(None, minutes=0).is_due


def test_the_seconds_of_all_processes_add_up(tmp_path: Path) -> None:
    clock = Clock()
    first = make(tmp_path, stopwatch=Stopwatch(clock))
    clock.now += 10
    first.save(Numbers())
    clock.now += 1000
    stopwatch = Stopwatch(clock)
    clock.now += 5
    second = make(tmp_path, stopwatch=stopwatch)
    clock.now += 1
    assert second.resume(Numbers())
    assert stopwatch.seconds == 16
    assert not second.is_due
    clock.now += 4
    second.save(Numbers())
    third = Stopwatch(clock)
    assert make(tmp_path, stopwatch=third).resume(Numbers())
    assert third.seconds == 15, "of the training; what came before it in the process is not its"


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("threads")
def test_threads_are_those_of_the_beginning(tmp_path: Path) -> None:
    torch.set_num_threads(3)
    make(tmp_path).save(Numbers())
    for restore in (lambda: resume(tmp_path), lambda: make(tmp_path).restore_threads()):
        torch.set_num_threads(1)
        restore()
        assert torch.get_num_threads() == 3


@pytest.mark.usefixtures("threads")
def test_threads_of_what_is_no_checkpoint_of_this_cell_are_left_alone(tmp_path: Path) -> None:
    torch.set_num_threads(3)
    make(tmp_path, key="another").save(Numbers())
    torch.set_num_threads(2)
    make(tmp_path).restore_threads()
    make(tmp_path / "nothing").restore_threads()
    make(None).restore_threads()
    (tmp_path / "training.safetensors").write_bytes(b"damaged")
    make(tmp_path).restore_threads()
    assert torch.get_num_threads() == 2
    assert [path.name for path in tmp_path.iterdir()] == ["training.safetensors"], "it is left to resume"


def test_on_the_way_out_only_what_is_quick_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    checkpoint = make(tmp_path, stopwatch=Stopwatch(clock))
    monkeypatch.setattr(checkpoints, "QUICK_BYTES", 10)
    checkpoint.save_if_quick(Numbers())
    assert list(tmp_path.iterdir()) == [], "too large to begin with"
    real = checkpoints.save_file

    def dawdle(*arguments: Any) -> None:
        clock.now += 2 * checkpoints.QUICK_SECONDS
        real(*arguments)

    checkpoint.save(Numbers(epoch=1))
    checkpoint.save_if_quick(Numbers(epoch=2))
    monkeypatch.setattr(checkpoints, "save_file", dawdle)
    checkpoint.save(Numbers(epoch=3))
    checkpoint.save_if_quick(Numbers(epoch=4))
    back, _ = resume(tmp_path)
    assert back is not None
    assert back.noted == {"epoch": 3}, "2 was quick, 4 would not have been"


def test_checkpoints_are_dropped_with_their_leftovers_but_what_was_set_aside_stays(tmp_path: Path) -> None:
    record = tmp_path / "mini--Tense--em--mini--seed0--abc.json"
    folder = checkpoint_folder(record)
    make(folder).save(Numbers())
    (folder / "training.partial").write_bytes(b"half")
    discard_checkpoints(record)
    assert list(tmp_path.iterdir()) == []
    make(folder).save(Numbers())
    resume(folder, key="other")
    make(folder).save(Numbers())
    discard_checkpoints(record)
    assert [path.name for path in folder.iterdir()] == ["training.safetensors.damaged"]
    discard_checkpoints(tmp_path / "never--there.json")


def test_what_a_killed_process_was_writing_is_removed_by_the_next(tmp_path: Path) -> None:
    make(tmp_path).save(Numbers())
    for name in (".tmpx9Zq3A", "training.partial", "training-2.safetensors", "training.safetensors.damaged"):
        (tmp_path / name).write_bytes(b"half")
    assert resume(tmp_path)[0] is not None
    left = ["training-2.safetensors", "training.safetensors", "training.safetensors.damaged"]
    assert sorted(path.name for path in tmp_path.iterdir()) == left


def test_cells_with_checkpoints_are_listed_by_their_records(tmp_path: Path) -> None:
    records = {tmp_path / f"own--{name}.json" for name in ("one", "other")}
    for record in records:
        make(checkpoint_folder(record)).save(Numbers())
    assert set(list_checkpointed_records(tmp_path)) == records
    assert list_checkpointed_records(tmp_path / "nowhere") == []


@pytest.mark.parametrize("level", ["checkpoints", "cell"])
def test_nothing_is_written_or_deleted_behind_a_link(
    tmp_path: Path, level: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever may write to a shared results folder could else have files elsewhere deleted or overwritten."""
    record = tmp_path / "results" / "mini--Tense--em--mini--seed0--abc.json"
    folder, elsewhere = checkpoint_folder(record), tmp_path / "elsewhere"
    precious = elsewhere / ("" if level == "cell" else folder.name) / "training.safetensors"
    precious.parent.mkdir(parents=True)
    precious.write_bytes(b"precious")
    link = folder if level == "cell" else folder.parent
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(elsewhere)
    notes: list[str] = []
    checkpoint = Checkpoint(folder, key="abc", device=CPU, on_note=notes.append)
    checkpoint.save(Numbers())
    assert "a link or a file in place of a folder" in notes[0]
    discard_checkpoints(record)
    assert f"{link}: a link or a file in place of a folder. Remove it, then try again" in caplog.messages
    with pytest.raises(ProbingError, match="a link or a file in place of a folder"):
        checkpoint.resume(Numbers())
    assert precious.read_bytes() == b"precious"
    assert [path for path in elsewhere.rglob("*") if path.is_file()] == [precious]


def test_a_link_in_place_of_a_file_is_replaced(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious")
    folder = tmp_path / "checkpoints" / "cell"
    folder.mkdir(parents=True)
    (folder / "training.safetensors").symlink_to(precious)
    make(folder).save(Numbers(epoch=1))
    assert precious.read_bytes() == b"precious"
    assert not (folder / "training.safetensors").is_symlink()
