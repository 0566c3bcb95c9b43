"""The readers of what comes from outside, each as something to be tried with any bytes.

An attempt ends in success or in a ProbingError; anything else that it raises is a fault.
"""

from __future__ import annotations

import io
import json
import os
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from safetensors.torch import save

from probing.config import resolve_config
from probing.corpus.checks.task_files import check_file, render
from probing.corpus.language import PHENOMENA, judge
from probing.corpus.parallel import read_checks
from probing.corpus.readers.parsed_text import Format, read_sentences
from probing.corpus.source import read_datasheet_identity
from probing.encoders.encoder import as_matrix
from probing.encoders.precomputed import PrecomputedVectors
from probing.execution.leases import Leases
from probing.experiments.verifying import verify
from probing.report.formats import load_and_render
from probing.report.translation.formats import load_and_render_translations
from probing.results.merging import merge
from probing.results.record import read_record
from probing.results.store import Store
from probing.storage import cache_folder, hash_content
from probing.tasks import index as dataset
from probing.tasks.table import get_task
from probing.training import checkpoints
from probing.translation.parallel_corpus import prepare_corpus
from probing.translation.parallel_files import find_parallel_files
from probing.translation.settings import SubwordConfig
from probing.translation.subwords import read_subwords, train_subwords
from tests.conftest import make_record
from tests.fuzzing.inputs import edited, edited_json
from tests.translation.toy import write_toy_corpus
from tests.translations import Run, make_translation
from tests.translations import save as save_translations

Attempt = Callable[[Path, bytes], None]

TASK = b"tr\tPAST\tthe cat sat .\ntr\tPRES\tdogs bark\nva\tPAST\tthe dog sat .\nte\tPRES\tcats bark loudly\n"
INDEX = np.arange(8).tobytes()
WORDS = b'{"labels": ["PAST", "PRES"], "words": ["a", "b"]}'
TREES = (
    b"( (S (NP-SBJ (DT The) (NN cat)) (VP (VBD sat) (NP (-NONE- *T*-1))) (. .)) )\n\n(ROOT (S (VP (VB Go))))\n",
    b"*x* header\n(TOP (S (NP (PRP I)) (VP (VBD did) (RB n't))))\nb\tI go\t(ROOT (S (NP (PRP I)) (VP (VBP go))))\n",
)
DEPENDENCIES = (
    b"# text = Du chat\n1-2\tDu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tDe\tde\tADP\t_\t_\t3\tcase\t_\t_\n2\tle\tle\tDET\t_\t"
    b"Number=Sing\t3\tdet\t_\t_\n3\tchat\tchat\tNOUN\t_\t_\t0\troot\t_\t_\n3.1\tx\tx\t_\t_\t_\t_\t_\t_\t_\n\n",
    b"1\tGo\tgo\tVERB\tVB\tMood=Imp\t0\troot\t0:root\tSpaceAfter=No\n2\t.\t.\tPUNCT\t.\t_\t1\tpunct\t_\t_\n\n",
)
SETTINGS = (
    b'[model]\nnum_layers = 2\ndropout = 0.1\ninverse_temperature = [1, 2.5, 3]\nvotes = "per_head"\nsquash = false\n'
    b"[training]\nmax_epochs = 3\nlearning_rate = 1e-3\n",
    b'model.layers_with_aggregator = [1]\nrouting = {implementation = "reference"}\n',
)
CHECKS = (
    b'[["inversion","night.n","sleep.v","king.n"],["concord","dog.n","somaf","er","er"],["do-support","sleep.v"]]\n',
    b'[["separable","pick.v","ob","apart"],["attachment","park.n","ADN"],["do-support","king.n",""]]\n',
)
TENSE = get_task("Tense")


@dataclass(frozen=True, slots=True)
class Target:
    """A reader, and what it is fed."""

    attempt: Attempt
    """Called with an empty folder and the bytes to be read."""
    inputs: st.SearchStrategy[bytes]
    share: int = 10
    """How many of a hundred or so inputs it gets."""


def try_task(folder: Path, content: bytes) -> None:
    """Read a task file for training, then once more from the cache; `probe data check` finds the same faults."""
    path = folder / "coordination_inversion.txt"
    path.write_bytes(content)
    report = check_file(path)
    assert render(report)
    try:
        first = dataset.load_task(path)
    finally:
        assert list(folder.iterdir()) == [path]
    assert dataset.load_task(path).words == first.words
    assert not report.count("error")


def try_index(folder: Path, content: bytes) -> None:
    """Read a task whose cached index was damaged in one file: it is made again."""
    path = folder / "task.txt"
    path.write_bytes(TASK)
    before = dataset.index_file(path)
    dataset.load_task(path)
    cached = cache_folder("tasks") / f"{before.sha256}-{dataset.INDEX_VERSION}"
    files = sorted(cached.iterdir())
    damaged = files[zlib.crc32(content) % len(files)]
    sound = damaged.read_bytes()
    damaged.unlink()  # whoever has it mapped keeps what was there
    damaged.write_bytes(content)
    try:
        after = dataset.load_task(path)
        assert len(after.words) == len(before.words)
        for name, split in after.splits.items():
            assert len(list(split.batches(2))) == (len(before.splits[name]) + 1) // 2
    finally:
        damaged.unlink()
        damaged.write_bytes(sound)


def try_settings(folder: Path, content: bytes) -> None:
    path = folder / "settings.toml"
    path.write_bytes(content)
    json.dumps(resolve_config("mini", config_file=path).as_dict(), allow_nan=False)


def try_setting(folder: Path, content: bytes) -> None:
    """Read the text of a --set option."""
    settings = content.decode(errors="surrogateescape").split("\n")
    json.dumps(resolve_config("mini", settings=settings).as_dict(), allow_nan=False)


def vectors_attempt(name: str) -> Attempt:
    def attempt(folder: Path, content: bytes) -> None:
        path = folder / name
        path.write_bytes(content)
        rows = PrecomputedVectors(path).find(TENSE).load()
        as_matrix("vectors", "batch 1", 2, rows[:2], layers=None)

    return attempt


class _State:
    """A training's state as far as a checkpoint knows it."""

    def __init__(self) -> None:
        self.weights = {"weight": torch.zeros(2, 3), "steps": torch.zeros(4, dtype=torch.uint8)}
        self.epoch = 0

    def tensors(self) -> dict[str, torch.Tensor]:
        return self.weights

    def facts(self) -> dict[str, Any]:
        return {"epoch": self.epoch}

    def restore(self, tensors: Mapping[str, torch.Tensor], facts: Mapping[str, Any]) -> None:
        checkpoints.check_fit(tensors, self.weights)
        self.weights, self.epoch = dict(tensors), int(facts["epoch"])


def try_checkpoint(folder: Path, content: bytes) -> None:
    """Go on from a checkpoint: it is taken whole, or set aside and the state left as it was."""
    notes: list[str] = []
    checkpoint = checkpoints.Checkpoint(folder, key="k", device=torch.device("cpu"), on_note=notes.append)
    path = folder / "training.safetensors"
    path.write_bytes(content)
    state = _State()
    threads = torch.get_num_threads()
    resumed = checkpoint.resume(state)
    torch.set_num_threads(threads)
    assert resumed == path.exists() == (not notes)
    assert resumed or state.epoch == 0


def make_checkpoint() -> bytes:
    folder = Path(os.environ["XDG_CACHE_HOME"])
    checkpoint = checkpoints.Checkpoint(folder, key="k", device=torch.device("cpu"))
    checkpoint.save(_State())
    return (folder / "training.safetensors").read_bytes()


FORMATS = ("table", "markdown", "latex", "csv", "json", "html")


def try_record(folder: Path, content: bytes) -> None:
    """Report on and merge a results folder with one sound record and one that may be anything."""
    store = Store(folder / "results")
    sound = store.save(make_record(model="base"))
    kept = sound.read_bytes()
    path = store.folder / "mini--Tense--em--mini--seed0--0.json"
    path.write_bytes(content)
    try:
        read_record(path)
        for format in {"table", FORMATS[zlib.crc32(content) % len(FORMATS)]}:
            text = load_and_render(store.folder, format, on_damaged=lambda line: None)
            text.encode(errors="surrogateescape")
        merge([store.folder], folder / "merged")
        written = [file for file in folder.rglob("*") if file.is_file()]
        assert {file.parent for file in written} <= {store.folder, folder / "merged"}
    finally:
        assert sound.read_bytes() == kept
        assert path.read_bytes() == content


def try_translation(folder: Path, content: bytes) -> None:
    """Report on, verify and merge a folder with a sound translation and a record that may be anything."""
    store = Store(folder / "results")
    save_translations(store.folder, [Run(sentences=3)])
    path = store.folder / "wmt14--en-de--em--base--seed0--translation--0.json"
    path.write_bytes(content)
    read_record(path)
    for format in {"table", FORMATS[zlib.crc32(content) % len(FORMATS)]}:
        text = load_and_render_translations(store.folder, format, against_paper=True, on_damaged=lambda line: None)
        text.encode(errors="surrogateescape")
    verify(store.folder, None, lambda line: None)
    merge([store.folder], folder / "merged")


def try_explanation(folder: Path, content: bytes) -> None:
    """Make the page of a folder in which an explanation may be anything."""
    from probing.report.explanations import load_explanations

    (folder / "a.explanation.json").write_bytes(content)
    json.dumps(load_explanations(folder, lambda line: None).sentences, allow_nan=False)


def try_datasheet(folder: Path, content: bytes) -> None:
    path = folder / "past_present.txt"
    path.write_bytes(TASK)
    (folder / "datasheet.json").write_bytes(content)
    read_datasheet_identity(folder)
    assert render(check_file(path))


def try_lease(folder: Path, content: bytes) -> None:
    (folder / "key.1").write_bytes(content)
    Leases(folder).is_taken("key")


def trees_attempt(format: Format) -> Attempt:
    def attempt(folder: Path, content: bytes) -> None:
        path = folder / "trees"
        path.write_bytes(content)
        sentences = list(read_sentences(path, format, skipped=Counter()))
        for sentence in sentences:
            assert len(sentence.tokens) == len(sentence.tags) > 0
            assert all(token and [token] == token.split() for token in sentence.tokens), sentence.tokens
        assert list(read_sentences(path, format)) == sentences

    return attempt


def _save(save_array: Callable[..., None], *arrays: Any, **named: Any) -> bytes:
    file = io.BytesIO()
    save_array(file, *arrays, **named)
    return file.getvalue()


def try_parallel(folder: Path, content: bytes) -> None:
    """Read a file of parallel text and segment it: whatever is taken comes back from the cache as it was."""
    write_toy_corpus(folder, train=3, dev=2, test=2)
    (folder / "train.en").write_bytes(content)
    (folder / "train.xx").write_bytes(b"ab\n" * (content.count(b"\n") + (not content.endswith(b"\n"))))
    files = find_parallel_files(folder, "en-xx")
    corpus = prepare_corpus(files, SubwordConfig(vocabulary_size=6000, max_length=10_000))
    split, (lines, _) = corpus.train, files.train.read()
    sentences = [part[:-1].tolist() for part in np.split(split.source_tokens, split.source_offsets[1:-1])]
    assert corpus.source_subwords.decode(sentences) == [line for line in lines if line.strip()]


def try_subwords(folder: Path, content: bytes) -> None:
    """Read a model of subwords, then use it."""
    path = folder / "source.model"
    path.write_bytes(content)
    subwords = read_subwords(path)
    lines = ["the cat sat", "", "\u4e2d\U0001f600 \u2581  \t"]
    ids = subwords.encode(lines)
    assert all(0 <= token < subwords.size for line in ids for token in line)
    assert len(subwords.decode([*ids, list(range(subwords.size))])) == 4


def try_checks(folder: Path, content: bytes) -> None:
    """Read the checks of a parallel corpus, then judge outputs by them."""
    path = folder / "test.checks.jsonl"
    path.write_bytes(content)
    for checks in read_checks(path):
        for output in ([], ["ke", "ler", "nek", "zor", "zor"], [word for check in checks for word in check.words]):
            assert len(judge(checks, output)) == len(checks)


def make_subwords() -> bytes:
    lines = ["the cat sat on the mat", "dogs bark at cats"]
    return train_subwords(lines, vocabulary_size=300, character_coverage=1.0)


def make_explanation() -> dict[str, Any]:
    """Return what `probe explain` writes, of two tokens, two heads, one iteration and one group of capsules."""
    weights = [[[[0.25], [0.75]], [[0.5], [0.5]]]]
    attention = [[[0.5, 0.5], [0.1, 0.9]], [[1.0, 0.0], [0.0, 1.0]]]
    sentence = {
        "tokens": ["it", "slept"],
        "gold": "PAST",
        "predicted": "PRES",
        "layers": [{"attention": attention, "agreement": weights, "share": weights}, {"attention": attention}],
    }
    masking = [{"layer": 1, "head": 2, "accuracy": 61.5, "drop": -0.5}]
    origin = {"task": "Tense", "model": "EM", "data": "mini", "preset": "mini", "seed": 0, "key": "0" * 64}
    return origin | {"sentences": [sentence], "masking": masking}


def make_targets() -> dict[str, Target]:
    """Return all targets by name."""
    matrix = np.arange(12, dtype=np.float32).reshape(4, 3)
    record = Store(Path(os.environ["XDG_CACHE_HOME"]) / "samples").save(make_record()).read_bytes()
    translated = make_translation(Run("em", ("enc-self",), (1, 2), sentences=3))
    translation = Store(Path(os.environ["XDG_CACHE_HOME"]) / "samples").save(translated).read_bytes()
    sheet = {"identity": "a" * 12, "tasks": [{"file": "past_present.txt", "targets": {"tr": ["sat"]}, "sha256": "?"}]}
    sheet["tasks"][0]["sha256"] = hash_content(TASK)  # type: ignore[index]
    sheets = [json.dumps(sheet).encode()]
    names = [b"tr", b"va", b"te", b"PAST", b"tr\tPAST\tx\n", b"a b "]
    keys = [b"model.", b"training.", b"num_layers", b"iterations", b"=", b"[model]", b"[[model]]", b"1_000", b"0x10"]
    npz = [_save(np.savez, Tense=matrix, Length=matrix), _save(np.savez_compressed, matrix)]
    npy = [_save(np.save, matrix), _save(np.save, matrix[:0]), _save(np.save, np.array(["a"]))]
    header = [b"'descr': '|O'", b"'shape': (99999999999, 9)", b"'<f8'", b"'fortran_order': True", b"(" * 200]
    tensors = [save({"Tense": torch.zeros(4, 3)}), save({"x": torch.zeros(4, 3, dtype=torch.bfloat16)})]
    explanation = make_explanation()
    names_of_checks = [name.encode() for name in PHENOMENA]
    lease = json.dumps({"host": "h", "machine": "m", "pid": 1, "started": "1"}).encode()
    return {
        "task": Target(try_task, edited([TASK], names), 20),
        "index": Target(try_index, edited([INDEX, WORDS]), 5),
        "settings": Target(try_settings, edited(SETTINGS, keys), 15),
        "setting": Target(try_setting, edited([b"model.dropout=0.5", b"model.inverse_temperature=1,2,3"], keys), 10),
        "npy": Target(vectors_attempt("vectors.npy"), edited(npy, header), 10),
        "npz": Target(vectors_attempt("vectors.npz"), edited(npz, header), 10),
        "safetensors": Target(vectors_attempt("vectors.safetensors"), edited(tensors, [b'"F64"', b'"shape":[9]']), 10),
        "checkpoint": Target(try_checkpoint, edited([make_checkpoint()], [b'"F64"', b'\\"threads\\": 0']), 10),
        "record": Target(try_record, edited([record]) | edited_json([record]) | edited_json([record]), 10),
        "translation": Target(try_translation, edited([translation]) | edited_json([translation]), 10),
        "explanation": Target(try_explanation, edited_json([json.dumps(explanation).encode()]), 5),
        "datasheet": Target(try_datasheet, edited(sheets) | edited_json(sheets), 5),
        "lease": Target(try_lease, edited([lease]) | edited_json([lease]), 5),
        "parallel": Target(try_parallel, edited([b"The cat sat.\r\nDogs bark.\n"], [b"\n\n", b"\xc2\xa0"]), 5),
        "checks": Target(try_checks, edited(CHECKS, names_of_checks) | edited_json(CHECKS), 5),
        "subwords": Target(try_subwords, edited([make_subwords()], [b"<0x41>", b"<s>", b"\xe2\x96\x81"]), 10),
        "brackets": Target(trees_attempt("penn"), edited(TREES, [b"(NP ", b"(ROOT ", b"-NONE-", b"\xc2\xa0"]), 15),
        "conllu": Target(trees_attempt("conllu"), edited(DEPENDENCIES, [b"1-2", b"1.1", b"|", b"=", b"\xc2\xa0"]), 15),
    }
