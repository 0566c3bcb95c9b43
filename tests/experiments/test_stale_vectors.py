"""Ways to make cached vectors stale, each through `probe run` as a user starts it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

LINES = [
    f"{split}\t{label}\t{label} {'a ' * number}b"
    for split, size in (("tr", 12), ("va", 4), ("te", 4))
    for label in "XY"
    for number in range(1, size + 1)
]
BODY = """
    def encode(self, sentences):
        return [[self.weight * len(tokens), tokens[0] == "X"] for tokens in sentences]
"""
"""The method of most encoders here: the weight comes from what each of them reads."""

OPTIONS = ("run", "--task-file", "task.txt", "--probe", "senteval", "--device", "cpu", "--jobs", "1")
Run = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    def write_file(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write_file


@pytest.fixture
def run(tmp_path: Path, write: Callable[[str, str], Path]) -> Run:
    """Return a function that runs an encoder in a process of its own and gives what was printed."""
    write("task.txt", "\n".join(LINES) + "\n")

    def start(spec: str, *arguments: str, code: int = 0) -> str:
        command = [sys.executable, "-m", "probing", *OPTIONS, "--encoder", spec, *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        return done.stderr

    return start


@pytest.fixture
def run_here(
    run: Run, probe: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Run:
    """Return a function that runs an encoder in this process, which is faster, and gives what was printed."""
    monkeypatch.chdir(tmp_path)

    def start(spec: str, *arguments: str, code: int = 0) -> str:
        exit_code, _, printed = probe(*OPTIONS, "--encoder", spec, *arguments)
        assert exit_code == code, printed
        return printed

    return start


EMBEDDED, SKIPPED, CHECKED = "40 sentences embedded", "already in results and skipped", "checked on 16 sentences"


def expect_changes(run: Run, spec: str, change: Callable[[], object]) -> None:
    """Run, run again (nothing is done), change what the encoder reads, and run: all is done again."""
    assert EMBEDDED in run(spec)
    again = run(spec)
    assert SKIPPED in again
    assert EMBEDDED not in again
    change()
    after = run(spec)
    assert EMBEDDED in after
    assert SKIPPED not in after


def test_weights_that_are_changed_in_place(run_here: Run, write: Callable[[str, str], Path], tmp_path: Path) -> None:
    weights = tmp_path / "weights.npy"
    np.save(weights, np.ones(300_000))
    write(
        "mine.py", f"import numpy\nclass E:\n    def __init__(self): self.weight = numpy.load('weights.npy')[5]\n{BODY}"
    )

    def change() -> None:
        about = weights.stat()
        with weights.open("r+b") as file:
            file.seek(-8 * (300_000 - 5), os.SEEK_END)
            file.write(np.float64(7).tobytes())
        os.utime(weights, ns=(about.st_atime_ns, about.st_mtime_ns))  # as if nothing had happened

    expect_changes(run_here, "mine.py:E", change)


@pytest.mark.parametrize("where", ["module", "constructor", "prepare", "encode"])
def test_word_vectors(run: Run, run_here: Run, write: Callable[[str, str], Path], where: str) -> None:
    read = "float(__import__('pathlib').Path('vectors.txt').read_text())"
    parts = {
        "module": f"WEIGHT = {read}\nclass E:\n    weight = WEIGHT\n{BODY}",
        "constructor": f"class E:\n    def __init__(self): self.weight = {read}\n{BODY}",
        "prepare": f"class E:\n    def prepare(self, sentences): self.weight = {read}\n{BODY}",
        "encode": f"class E:\n    @property\n    def weight(self): return {read}\n{BODY}",
    }
    write("mine.py", parts[where])
    write("vectors.txt", "1.0")
    # What a module reads when it is imported is read again in another process only.
    expect_changes(run if where == "module" else run_here, "mine.py:E", lambda: write("vectors.txt", "2.0"))


def test_a_helper_module_of_its_package(run: Run, write: Callable[[str, str], Path]) -> None:
    write("mypkg/__init__.py", "")
    write("mypkg/encoder.py", f"from .helper import WEIGHT\nclass E:\n    weight = WEIGHT\n{BODY}")
    write("mypkg/helper.py", "from mypkg.deeper import WEIGHT\n")
    write("mypkg/deeper.py", "WEIGHT = 1\n")
    expect_changes(run, "mypkg.encoder:E", lambda: write("mypkg/deeper.py", "WEIGHT = 2\n"))


@pytest.mark.parametrize(
    "name", ["from mypkg import late", "import importlib; late = importlib.import_module('mypkg.late')"]
)
def test_a_submodule_that_is_imported_late(run: Run, write: Callable[[str, str], Path], name: str) -> None:
    write("mypkg/__init__.py", "")
    write("mypkg/late.py", "WEIGHT = 1\n")
    code = f"class E:\n    @property\n    def weight(self):\n        {name}\n        return late.WEIGHT\n{BODY}"
    write("mypkg/encoder.py", code)
    expect_changes(run, "mypkg.encoder:E", lambda: write("mypkg/late.py", "WEIGHT = 22\n"))


def test_an_editable_install_behind_an_entry_point(
    run: Run, write: Callable[[str, str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As pip does it: the metadata are in site-packages, the code is elsewhere."""
    write("site-packages/theirs-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    write("site-packages/theirs-1.0.dist-info/entry_points.txt", "[probing.encoders]\ntheirs = theirs.encoder:E\n")
    write("source/theirs/__init__.py", "")
    write("source/theirs/encoder.py", f"from theirs.helper import WEIGHT\nclass E:\n    weight = WEIGHT\n{BODY}")
    write("source/theirs/helper.py", "WEIGHT = 1\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((f"{tmp_path}/site-packages", f"{tmp_path}/source")))
    expect_changes(run, "theirs", lambda: write("source/theirs/helper.py", "WEIGHT = 2\n"))
    metadata = "site-packages/theirs-1.0.dist-info/METADATA"
    write(metadata, "Metadata-Version: 2.1\nName: theirs\nVersion: 1.1\n")
    assert EMBEDDED in run("theirs")


def test_a_library_of_another_version(
    run: Run, write: Callable[[str, str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("site-packages/their_lib.py", "WEIGHT = 1\n")
    write("site-packages/their_lib-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: their-lib\nVersion: 1.0\n")
    write("site-packages/their_lib-1.0.dist-info/RECORD", "their_lib.py,,\n")
    write("mine.py", f"import their_lib\nclass E:\n    weight = their_lib.WEIGHT\n{BODY}")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}/site-packages")
    metadata = "site-packages/their_lib-1.0.dist-info/METADATA"
    expect_changes(run, "mine.py:E", lambda: write(metadata, "Metadata-Version: 2.1\nName: their-lib\nVersion: 2.0\n"))


NOW = "float(os.environ.get('MODEL_VERSION', '1'))"


@pytest.mark.parametrize(
    "version",
    [
        f"    version = {NOW}\n",
        f"    def version(self): return {NOW}\n",
        f"    @property\n    def version(self): return {NOW}\n",
        f"    def __init__(self): self.version = {NOW}\n",
        f"    @staticmethod\n    def version(): return {NOW}\n",
    ],
    ids=["attribute", "method", "property", "instance", "static"],
)
def test_a_version_of_its_own(
    run: Run,
    run_here: Run,
    write: Callable[[str, str], Path],
    version: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write("mine.py", f"import os\nclass E:\n    @property\n    def weight(self): return {NOW}\n{version}{BODY}")
    start = run if "version =" in version.split("self")[0] else run_here  # the attribute is as it was imported
    expect_changes(start, "mine.py:E", lambda: monkeypatch.setenv("MODEL_VERSION", "2"))
    assert SKIPPED in start("mine.py:E")
    monkeypatch.setenv("MODEL_VERSION", "1")
    assert SKIPPED in start("mine.py:E")  # both are kept


def test_a_numpy_memory_map(run_here: Run, write: Callable[[str, str], Path], tmp_path: Path) -> None:
    np.full(4, 1.0).tofile(tmp_path / "weights.bin")
    code = "import numpy\nclass E:\n    def __init__(self): self.weight = numpy.memmap('weights.bin', float, 'r')[0]\n"
    write("mine.py", f"{code}{BODY}")
    expect_changes(run_here, "mine.py:E", lambda: np.full(4, 2.0).tofile(tmp_path / "weights.bin"))


def test_a_file_that_an_argument_names(run_here: Run, write: Callable[[str, str], Path], tmp_path: Path) -> None:
    """Compiled code opens it, which nothing sees."""
    from safetensors.numpy import save_file

    save_file({"w": np.ones(1)}, tmp_path / "w.safetensors")
    code = "from safetensors.numpy import load_file\nclass E:\n    def __init__(self, path):\n"
    write("mine.py", f"{code}        self.weight = load_file(path)['w'][0]\n{BODY}")
    spec = "mine.py:E?path=w.safetensors"
    expect_changes(run_here, spec, lambda: save_file({"w": np.full(1, 2.0)}, tmp_path / "w.safetensors"))


def test_what_only_the_check_can_see(run_here: Run, write: Callable[[str, str], Path], tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"w": np.ones(1)}, tmp_path / "w.safetensors")
    code = "from safetensors.numpy import load_file\nclass E:\n    def __init__(self):\n"
    write("mine.py", f"{code}        self.weight = load_file('w.safetensors')['w'][0]\n{BODY}")
    run_here("mine.py:E")
    assert f"vectors of E from the cache, {CHECKED}" in run_here("mine.py:E", "--seed", "1")
    save_file({"w": np.full(1, 2.0)}, tmp_path / "w.safetensors")
    error = run_here("mine.py:E", "--seed", "2", code=2)
    assert (
        "encoder 'mine.py:E' gives other vectors than before: the cached vectors of task are not those of 16 sentences "
        "that were encoded again. Something changed that its version does not tell, such as weights that compiled code "
        "reads. Compute them anew with --force, and give the encoder a version attribute"
    ) in error
    assert EMBEDDED in run_here("mine.py:E", "--seed", "2", "--force")
    assert CHECKED in run_here("mine.py:E", "--seed", "3")


def test_a_model_that_a_plug_in_loads(run: Run, write: Callable[[str, str], Path], tmp_path: Path) -> None:
    """Its weights are opened by compiled code, but its folder is known by the configuration."""
    from transformers import BertConfig, BertModel

    sizes = {"vocab_size": 20, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}

    def save() -> None:
        BertModel(BertConfig(intermediate_size=8, **sizes)).save_pretrained(tmp_path / "bert")

    save()
    code = "from transformers import AutoModel\nclass E:\n    def __init__(self):\n"
    code += "        model = AutoModel.from_pretrained('bert')\n"
    code += "        self.weight = float(model.embeddings.word_embeddings.weight[1, 1])\n"
    write("mine.py", f"{code}{BODY}")
    expect_changes(run, "mine.py:E", save)


def test_a_senteval_script(run_here: Run, write: Callable[[str, str], Path]) -> None:
    code = "import numpy as np\nfrom pathlib import Path\ndef prepare(params, samples):\n"
    code += "    params.weight = float(Path('vectors.txt').read_text())\n"
    code += "def batcher(params, batch):\n    return np.array([[params.weight * len(s), s[0] == 'X'] for s in batch])\n"
    write("script.py", code)
    write("vectors.txt", "1.0")
    expect_changes(run_here, "senteval:script.py", lambda: write("vectors.txt", "2.0"))


def test_an_interrupted_embedding_is_not_continued_with_other_weights(
    run_here: Run, write: Callable[[str, str], Path], tmp_path: Path
) -> None:
    write("vectors.txt", "1.0")
    code = "import os\nfrom pathlib import Path\nclass E:\n    calls = 0\n"
    code += "    def __init__(self): self.weight = float(Path('vectors.txt').read_text())\n"
    code += "    def encode(self, sentences):\n        E.calls += 1\n"
    code += "        if E.calls == 3 and os.path.exists('stop'): raise RuntimeError('stopped')\n"
    code += "        return [[self.weight * len(tokens), tokens[0] == 'X'] for tokens in sentences]\n"
    write("mine.py", code)
    write("stop", "")
    assert "encode failed: RuntimeError: stopped" in run_here("mine.py:E", code=2)
    (tmp_path / "stop").unlink()
    write("vectors.txt", "3.0")
    run_here("mine.py:E")
    from safetensors.numpy import load_file

    (kept,) = (Path(os.environ["XDG_CACHE_HOME"]) / "probing" / "vectors").glob("*/vectors.safetensors")
    lengths = sorted(load_file(kept)["tr"][:, 0].tolist())
    assert lengths == sorted(3.0 * (number + 2) for _ in "XY" for number in range(1, 13))


def test_a_run_with_nothing_to_do_checks_as_well(
    run_here: Run, write: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    weight = "float(os.environ.get('WEIGHT', '1'))"
    write("mine.py", f"import os\nclass E:\n    def __init__(self): self.weight = {weight}\n{BODY}")
    run_here("mine.py:E")
    assert f"vectors of E from the cache, {CHECKED}" in run_here("mine.py:E")
    monkeypatch.setenv("WEIGHT", "2")
    assert "gives other vectors than before" in run_here("mine.py:E", code=2)
    assert EMBEDDED in run_here("mine.py:E", "--force")
    assert CHECKED in run_here("mine.py:E")


def test_an_encoder_that_tells_its_version_is_not_loaded_for_nothing(
    run_here: Run, write: Callable[[str, str], Path]
) -> None:
    write("mine.py", f"class E:\n    weight, version = 1, '1'\n{BODY}")
    run_here("mine.py:E")
    again = run_here("mine.py:E")
    assert SKIPPED in again
    assert CHECKED not in again


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("sum(float(p.read_text()) for p in sorted(Path('vectors').glob('*.txt')))", "vectors/b.txt"),
        ("float(Path('b.txt').read_text()) if 'b.txt' in os.listdir() else 1", "b.txt"),
    ],
    ids=["folder", "listing"],
)
def test_a_new_file(run_here: Run, write: Callable[[str, str], Path], code: str, name: str) -> None:
    write("vectors/a.txt", "1.0")
    write("a.txt", "1.0")
    start = "        Path('a.txt').read_text()\n"
    body = (
        f"import os\nfrom pathlib import Path\nclass E:\n    def __init__(self):\n{start}        self.weight = {code}\n"
    )
    write("mine.py", f"{body}{BODY}")
    expect_changes(run_here, "mine.py:E", lambda: write(name, "2.0"))


def test_a_file_that_was_not_there_before(run_here: Run, write: Callable[[str, str], Path]) -> None:
    code = "from pathlib import Path\nclass E:\n    weight = 1\n    def __init__(self):\n"
    code += "        try: self.weight = float(Path('more.txt').read_text())\n        except FileNotFoundError: pass\n"
    write("mine.py", f"{code}{BODY}")
    expect_changes(run_here, "mine.py:E", lambda: write("more.txt", "2.0"))


def test_a_file_that_another_program_reads(run_here: Run, write: Callable[[str, str], Path]) -> None:
    write("vectors.txt", "1.0")
    code = "import subprocess\nclass E:\n    def __init__(self):\n"
    code += "        self.weight = float(subprocess.run(['cat', 'vectors.txt'], capture_output=True).stdout)\n"
    write("mine.py", f"{code}{BODY}")
    expect_changes(run_here, "mine.py:E", lambda: write("vectors.txt", "2.0"))


def test_force_computes_anew(run_here: Run, write: Callable[[str, str], Path]) -> None:
    write("mine.py", f"class E:\n    weight = 1\n{BODY}")
    assert EMBEDDED in run_here("mine.py:E")
    assert EMBEDDED in run_here("mine.py:E", "--force")


def test_an_encoder_that_never_gives_the_same_is_named(run_here: Run, write: Callable[[str, str], Path]) -> None:
    write("mine.py", "import random\nclass E:\n    def encode(self, s): return [[random.random(), 1] for _ in s]\n")
    named = (
        "warning: encoder 'mine.py:E' gives other vectors each time for the same sentences of task. Results hold for "
    )
    assert named in run_here("mine.py:E")
    assert named in run_here("mine.py:E", "--seed", "1")


def test_an_encoder_that_looks_at_the_whole_batch_is_named(run_here: Run, write: Callable[[str, str], Path]) -> None:
    code = "class E:\n    def encode(self, sentences):\n        longest = max(map(len, sentences))\n"
    write("mine.py", f"{code}        return [[len(tokens) / longest, 1] for tokens in sentences]\n")
    run_here("mine.py:E")
    named = "warning: encoder 'mine.py:E' gives vectors that depend on the other sentences of the batch, in task. Is"
    assert named in run_here("mine.py:E", "--seed", "1")
