"""The processor's name, and the products that suit it."""

from __future__ import annotations

import pytest

from probing.native import processor
from probing.native.processor import has_narrow_products, has_onednn, has_slow_mkl, name_processor


@pytest.fixture(autouse=True)
def _forget():
    for function in (name_processor, has_slow_mkl, has_narrow_products):
        function.cache_clear()
    yield
    for function in (name_processor, has_slow_mkl, has_narrow_products):
        function.cache_clear()


def test_a_system_without_a_list_of_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "Path", lambda name: processor.platform)
    monkeypatch.setattr(processor.platform, "read_text", _refuse, raising=False)
    monkeypatch.setattr(processor.platform, "processor", lambda: "")
    monkeypatch.setattr(processor.platform, "machine", lambda: "riscv64")
    assert name_processor() == "riscv64"


@pytest.mark.parametrize(("name", "expected"), [("AMD EPYC 9B14", True), ("Intel(R) Xeon(R) Processor", False)])
def test_onednn_multiplies_on_processors_of_amd(name: str, expected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "name_processor", lambda: name)
    assert has_slow_mkl() is (expected and has_onednn())


def test_a_torch_without_onednn_has_none_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "has_onednn", lambda: False)
    monkeypatch.setattr(processor, "name_processor", lambda: "AMD EPYC")
    assert not has_slow_mkl()
    assert not has_narrow_products()


def _refuse(**options: str) -> str:
    raise FileNotFoundError
