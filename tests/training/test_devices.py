"""Devices are found or refused by name; training is narrow only where that helps."""

from __future__ import annotations

import pytest
import torch

from probing.config import PRESETS, resolve_config
from probing.errors import ProbingError
from probing.training import devices
from probing.training.devices import (
    NARROW_WIDTH,
    describe_processor,
    move,
    pick_device,
    pick_precision,
    settle_precision,
)

CPU = torch.device("cpu")


def test_devices() -> None:
    assert pick_device("cpu") == CPU
    with pytest.raises(ProbingError, match="unknown device 'gpu'. Known: auto, cpu, cuda, mps"):
        pick_device("gpu")


def test_auto_takes_the_best_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for cuda, mps, best in ((True, True, "cuda"), (False, True, "mps"), (False, False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=cuda: there)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda there=mps: there)
        assert pick_device("auto") == torch.device(best)


def test_a_device_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for there, available in ((False, "cpu"), (True, "cpu, mps")):
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda there=there: there)
        with pytest.raises(ProbingError) as caught:
            pick_device("cuda")
        message = f"--device cuda: there is no such device on this machine. Available: {available}"
        assert str(caught.value) == message


def test_precision_is_narrow_only_where_it_is_fast_or_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = torch.device("cuda")
    for has_it in (True, False):
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation, has_it=has_it: has_it)
        assert pick_precision("auto", cuda) == (torch.bfloat16 if has_it else torch.float32)
        assert pick_precision("auto", CPU) == torch.float32
        assert pick_precision("float32", cuda) == torch.float32
        assert pick_precision("bfloat16", CPU) == torch.bfloat16


def test_precision_is_narrow_where_a_processor_has_tiles_and_the_model_is_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    for has_them in (True, False):
        monkeypatch.setattr(devices, "has_narrow_products", lambda has_them=has_them: has_them)
        assert pick_precision("auto", CPU, NARROW_WIDTH) == (torch.bfloat16 if has_them else torch.float32)
        assert pick_precision("auto", CPU, NARROW_WIDTH - 1) == torch.float32
        config = settle_precision(PRESETS["paper"], CPU)
        assert config.training.precision == ("bfloat16" if has_them else "float32")
        assert settle_precision(config, torch.device("meta")) == config
        named = resolve_config("paper", settings=["training.precision=float32"])
        assert settle_precision(named, CPU) == named


def test_what_moves_to_where_it_is_stays() -> None:
    tensor = torch.arange(3)
    assert move(tensor, CPU) is tensor


def test_the_processor_and_its_instruction_set_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    here = describe_processor(CPU)
    assert here["instruction_set"] == torch.backends.cpu.get_cpu_capability()
    assert here["processor"].strip()
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"Fast {device}")
    assert describe_processor(torch.device("cuda", 1))["processor"] == "Fast cuda:1"
