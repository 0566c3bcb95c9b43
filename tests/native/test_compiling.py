from __future__ import annotations

import logging
import multiprocessing
import sys

import pytest
import torch

from probing.aggregators.em import EMAggregator, em_routing
from probing.native import compiling as kernels

compiled = pytest.mark.skipif(kernels.load("routing").library is None, reason="there is no C++ compiler")

QUICK_FLAGS = ("-std=c++17", "-O0", "-DALWAYS_INLINE=inline", "-fPIC", "-Wno-psabi")
"""Compiled in less time than FLAGS, to slower kernels."""

SOURCE = 'extern "C" int answer() { return 42; }'
"""Stands for the kernels where it matters how they are built, not what they do."""

SLOWER = "routing runs without fused kernels, several times slower: "


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """An empty cache, and nothing loaded yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    kernels.load.cache_clear()
    yield tmp_path / "cache" / "probing" / "kernels"
    kernels.load.cache_clear()


@pytest.fixture
def sources(tmp_path):
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "routing.cpp").write_text(SOURCE)
    return folder


def write_compiler(path, script):
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_without_a_compiler_routing_works_and_says_so_once(fresh, monkeypatch, caplog):
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("CXX", raising=False)
    torch.manual_seed(0)
    aggregator, heads = EMAggregator(16, 4, num_capsules=16), torch.randn(3, 4, 4)
    with caplog.at_level(logging.WARNING):
        outputs = [aggregator(heads) for _ in range(3)]
    assert caplog.messages == [SLOWER + "no C++ compiler was found (CXX, c++, g++, clang++)"]
    assert kernels.load("routing").library is None
    aggregator.implementation = "reference"
    assert torch.equal(outputs[0], aggregator(heads))


def test_a_compiler_that_fails_is_quoted(fresh, monkeypatch, tmp_path, caplog):
    monkeypatch.setenv("CXX", write_compiler(tmp_path / "cxx", 'echo "cxx: out of ideas" >&2; exit 1'))
    assert kernels.load("routing").library is None
    assert caplog.messages == [SLOWER + "the kernels could not be compiled: cxx: out of ideas"]
    assert list(fresh.iterdir()) == []


def test_a_build_that_does_not_load_is_not_kept(fresh, monkeypatch, tmp_path, caplog):
    script = 'while [ $# -gt 1 ]; do shift; done; echo "not a library" > "$1"'
    monkeypatch.setenv("CXX", write_compiler(tmp_path / "cxx", script))
    assert kernels.load("routing").library is None
    assert "could not be compiled" in caplog.text
    assert list(fresh.iterdir()) == []


def test_a_cache_that_cannot_be_written_is_named(fresh, monkeypatch, tmp_path, caplog):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setenv("CXX", write_compiler(tmp_path / "cxx", "exit 1"))
    assert kernels.load("routing").library is None
    assert "Not a directory" in caplog.text


def test_an_unbalanced_quote_is_named(fresh, monkeypatch, caplog):
    monkeypatch.setenv("CXX", "g++ '-O2")
    assert kernels.load("routing").library is None
    assert caplog.messages == [SLOWER + "the kernels could not be compiled: CXX cannot be read (No closing quotation)"]


def test_no_library_is_written_behind_a_link(fresh, monkeypatch, tmp_path, caplog):
    (tmp_path / "elsewhere").mkdir()
    fresh.parent.mkdir(parents=True)
    fresh.symlink_to(tmp_path / "elsewhere")
    monkeypatch.setenv("CXX", write_compiler(tmp_path / "cxx", "exit 1"))
    assert kernels.load("routing").library is None
    assert caplog.messages == [SLOWER + f"the kernels could not be compiled: {fresh} is a link. Remove it"]
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_missing_sources_are_named(fresh, monkeypatch, tmp_path, caplog):
    monkeypatch.setattr(kernels, "SOURCES", tmp_path / "nowhere")
    monkeypatch.setenv("CXX", write_compiler(tmp_path / "cxx", "exit 1"))
    assert kernels.load("routing").library is None
    assert "could not be compiled" in caplog.text
    assert "nowhere" in caplog.text


@compiled
def test_a_damaged_build_is_made_again(fresh, sources, monkeypatch, caplog):
    monkeypatch.setattr(kernels, "SOURCES", sources)
    build = f"routing-{kernels._identify(kernels._find_compiler())}"
    assert kernels.load("routing").library.answer() == 42
    (path,) = fresh.iterdir()
    assert path.name.startswith(f"{build}-")
    whole = path.read_bytes()
    for damage in (b"", b"damaged", whole[: len(whole) // 2], whole[:-1] + b"?"):
        path.unlink()  # the process has mapped it
        path.write_bytes(damage)
        kernels.load.cache_clear()
        assert kernels.load("routing").library.answer() == 42
        assert [each.read_bytes() == whole for each in fresh.iterdir()] == [True]
        assert f"{path}: not the library that was compiled. It is compiled anew" in caplog.messages
        caplog.clear()


@compiled
def test_the_name_of_a_build_follows_what_it_depends_on(monkeypatch, tmp_path):
    compiler = [write_compiler(tmp_path / "cxx", "exit 0")]
    first = kernels._identify(compiler)
    assert first == kernels._identify(compiler)
    sources = tmp_path / "native"
    sources.mkdir()
    for source in kernels.SOURCES.iterdir():
        if source.is_file():
            (sources / source.name).write_bytes(source.read_bytes())
    monkeypatch.setattr(kernels, "SOURCES", sources)
    (sources / "compiling.py").write_text("")
    assert first == kernels._identify(compiler)
    with (sources / "em.h").open("a") as file:
        file.write("\n")
    changed = kernels._identify(compiler)
    monkeypatch.setattr(kernels, "_processor", lambda: "another")
    names = {first, changed, kernels._identify(compiler), kernels._identify([*compiler, "-g"])}
    assert len(names) == 4


@compiled
def test_each_name_has_a_library_of_its_own(fresh, sources, monkeypatch):
    monkeypatch.setattr(kernels, "SOURCES", sources)
    (sources / "descent.cpp").write_text(SOURCE.replace("42", "43"))
    assert [kernels.load(name).library.answer() for name in ("routing", "descent")] == [42, 43]
    assert kernels.load("routing") is kernels.load("routing")
    assert sorted(path.name.partition("-")[0] for path in fresh.iterdir()) == ["descent", "routing"]


@compiled
def test_two_processes_may_compile_at_once(fresh, sources, monkeypatch):
    monkeypatch.setattr(kernels, "SOURCES", sources)
    context = multiprocessing.get_context("fork")  # no time goes into importing torch again
    barrier = context.Barrier(2)

    def build():
        barrier.wait()
        sys.exit(kernels.load("routing").library.answer())

    processes = [context.Process(target=build) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(240)
    assert [process.exitcode for process in processes] == [42, 42]
    built = list(fresh.iterdir())
    assert [path.suffix for path in built] == [".so"]
    modified = built[0].stat().st_mtime_ns
    assert kernels.load("routing").library.answer() == 42
    assert built[0].stat().st_mtime_ns == modified


@compiled
@pytest.mark.parametrize("build", kernels.BUILDS[1:], ids=lambda build: " ".join([*build[0], "/", *build[1]]))
def test_every_build_gives_the_same_routing(fresh, build, monkeypatch):
    votes, beta = torch.randn(40, 4, 32, 1, generator=torch.Generator().manual_seed(0)), torch.zeros(32)
    expected, _ = em_routing(votes.double(), beta.double(), beta.double(), implementation="reference")
    monkeypatch.setattr(kernels, "BUILDS", (build,))
    monkeypatch.setattr(kernels, "FLAGS", QUICK_FLAGS)
    assert kernels.load("routing").library is not None
    torch.set_num_threads(2)
    actual, _ = em_routing(votes, beta, beta, implementation="fused")
    torch.set_num_threads(1)
    torch.testing.assert_close(actual, expected.float(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("routing", [True, False])
def test_the_kernels_of_a_training_are_compiled_side_by_side(fresh, monkeypatch, tmp_path, routing):
    """A compiler that begins waits until as many have begun as there are kernels."""
    needed = {"attention", "step"} | ({"routing"} if routing else set())
    if kernels.has_slow_mkl() and kernels.has_wide_vectors():
        needed.add("products")
    (tmp_path / "begun").mkdir()
    script = (
        'while [ "$1" != -c ]; do shift; done\n'
        f'touch "{tmp_path}/begun/$(basename "$2" .cpp)"\n'
        f'for _ in $(seq 300); do [ $(ls "{tmp_path}/begun" | wc -l) -ge {len(needed)} ] && exit 1; sleep 0.1; done\n'
        f'touch "{tmp_path}/alone"; exit 1'
    )
    monkeypatch.setenv("CXX", write_compiler(tmp_path / "cxx", script))
    monkeypatch.setattr(kernels, "BUILDS", kernels.BUILDS[-1:])
    kernels.load_for_training(routing=routing)
    assert {path.name for path in (tmp_path / "begun").iterdir()} == needed
    assert not (tmp_path / "alone").exists()
