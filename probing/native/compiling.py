"""Kernels are compiled with the machine's C++ compiler on first use, then kept in the user's cache.

A build is named by a hash of everything that it depends on, and moved to its place as a whole: several processes may
build at the same time.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import logging
import os
import platform
import shlex
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch

from probing.native.processor import has_slow_mkl, has_wide_vectors
from probing.storage import KERNELS, cache_folder, hash_content, make_temporary_folder, publish, resolve_path

logger = logging.getLogger(__name__)

SOURCES = Path(__file__).parent
FLAGS = ("-std=c++17", "-O2", "-fPIC", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", "-Wno-psabi")


BUILDS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    # Linked to no OpenMP library: the symbols are found in the one that torch has loaded, and its threads are used.
    (("-march=native", "-fopenmp"), ()),
    (("-march=native", "-fopenmp"), ("-fopenmp",)),
    (("-march=native",), ("-pthread",)),
    ((), ("-pthread",)),
)
"""Options to compile and to link with, tried in order: compilers differ in the options that they know."""


@dataclass(frozen=True, slots=True)
class Kernels:
    """The loaded library, or None and the reason."""

    library: ctypes.CDLL | None
    note: str


@functools.cache
def load(name: str) -> Kernels:
    """Return the kernels of `name`.cpp, compiled if this machine has not done so before; a failure is logged once."""
    try:
        compiler = _find_compiler()
        if compiler is None:
            return _explain(name, "no C++ compiler was found (CXX, c++, g++, clang++)")
        if cache_folder(KERNELS).is_symlink():
            raise OSError(f"{cache_folder(KERNELS)} is a link. Remove it")
        build = f"{name}-{_identify(compiler)}"
        library = _open(build)
        if library is None:
            logger.info("compiling the %s kernels, once for this machine", name)
            _compile(compiler, SOURCES / f"{name}.cpp", build)
            library = _open(build)
    except (OSError, subprocess.SubprocessError) as error:
        return _explain(name, f"the kernels could not be compiled: {error}")
    if library is None:
        return _explain(name, f"the kernels were removed from {cache_folder(KERNELS)} while they were loaded")
    return Kernels(library, f"fused kernels compiled by {compiler[0]} ({library._name})")


def load_for_training(*, routing: bool) -> None:
    """Load the kernels of a training here, before processes start that need them; compile them side by side."""
    names = [
        *(["routing"] if routing else []),
        "attention",
        "step",
        *(["products"] if has_slow_mkl() and has_wide_vectors() else []),
    ]
    with ThreadPoolExecutor(len(names)) as threads:
        list(threads.map(load, names))


def _open(build: str) -> ctypes.CDLL | None:
    """Return the library of a build; one that is damaged, or does not load here, is removed and counts as missing."""
    for path in cache_folder(KERNELS).glob(f"{build}-*.so"):
        with contextlib.suppress(OSError):
            if path.name == f"{build}-{_hash(path)}.so":
                return ctypes.CDLL(str(path))
        logger.warning("%s: not the library that was compiled. It is compiled anew", path)
        path.unlink(missing_ok=True)
    return None


def _hash(path: Path) -> str:
    return hash_content(path.read_bytes())[:32]


def _explain(name: str, reason: str) -> Kernels:
    logger.warning("%s runs without fused kernels, several times slower: %s", name, reason)
    return Kernels(None, f"plain torch operations: {reason}")


def _find_compiler() -> list[str] | None:
    try:
        wanted = shlex.split(os.environ.get("CXX", ""))
    except ValueError as error:
        raise OSError(f"CXX cannot be read ({error})") from None
    for command in (wanted, ["c++"], ["g++"], ["clang++"]):
        if command and (path := shutil.which(command[0])):
            return [path, *command[1:]]
    return None


def _identify(compiler: list[str]) -> str:
    """Return the hash of sources, flags, compiler, processor and torch."""
    program = resolve_path(Path(compiler[0]))
    status = program.stat()
    facts = [FLAGS, BUILDS, compiler, str(program), status.st_size, status.st_mtime_ns, _processor(), torch.__version__]
    digest = hashlib.sha256(repr(facts).encode())
    for file in sorted(file for file in SOURCES.iterdir() if file.suffix in (".h", ".cpp")):
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()[:24]


def _processor() -> str:
    """Return the features of the processor that -march=native depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    return "\n".join(
        sorted({line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part"))})
    )


def _compile(compiler: list[str], source: Path, build: str) -> None:
    """Compile with the first flags whose library loads here, and keep it under a name with its hash."""
    kernels = cache_folder(KERNELS)
    kernels.mkdir(parents=True, exist_ok=True)
    folder = make_temporary_folder(kernels / build)
    try:
        compiled, linked = f"{folder}/kernels.o", f"{folder}/kernels.so"
        errors = []
        for to_compile, to_link in BUILDS:
            commands = (
                [*compiler, *FLAGS, *to_compile, f"-I{SOURCES}", "-c", str(source), "-o", compiled],
                [*compiler, "-shared", compiled, *to_link, "-o", linked],
            )
            try:
                for command in commands:
                    subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
                ctypes.CDLL(linked)
            except subprocess.CalledProcessError as error:
                errors.append(error.stderr.strip().splitlines()[0] if error.stderr else str(error))
            except OSError as error:
                errors.append(str(error))
            else:
                publish(Path(linked), kernels / f"{build}-{_hash(Path(linked))}.so")
                return
        raise OSError("; ".join(dict.fromkeys(errors)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
