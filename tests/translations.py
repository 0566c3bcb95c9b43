"""Records of translations that were never trained, with texts whose BLEU depends on a share of wrong words."""

from __future__ import annotations

import hashlib
import random
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from msgspec import structs

from probing.results import (
    CellIdentity,
    DataIdentity,
    ModelIdentity,
    PairCounts,
    Record,
    Store,
    TestScores,
    Timing,
    TranslationScores,
)
from probing.results.store import translation_path, translator_folder
from probing.translation.scoring import score_translations
from probing.translation.settings import TRANSLATION_PRESETS

TEXT = "Der alte Hund sieht heute den kleinen Vogel , der laut im grünen Garten singt , und niemand hört ihn gern ."
EMBEDDINGS, BODY, ROUTED = 85_662, 44_141_056, 2_102_272
"""Rows of embeddings, and parameters of the body and of a routed layer, with which the paper's figures come out."""
LABELS = {"base": "Base", "simple": "Simple", "em": "EM"}
ALL = ("enc-self", "enc-dec", "dec-self")


@dataclass(frozen=True)
class Run:
    """One run of a translation: its settings, and the share of wrong words in its outputs."""

    aggregator: str = "base"
    apply: tuple[str, ...] = ()
    layers: tuple[int, ...] = ()
    wrong: float = 0.2
    seed: int = 0
    preset: str = "base"
    task: str = "en-de"
    data: str = "wmt14"
    speeds: tuple[float, float] | None = (1.92, 1.67)
    tests: tuple[str, ...] = ("newstest2014",)
    sentences: int = 200
    settings: tuple[tuple[str, str, Any], ...] = ()
    """Changes of settings: section, name and value."""
    processor: str = "Xeon"
    threads: int = 2
    phenomena: tuple[tuple[str, str], ...] = ()
    """Verdicts on the phenomena of every test set."""


def make_texts(run: Run, test: str) -> tuple[list[str], list[str], list[str]]:
    """Return sources, references and outputs; which words are wrong depends on the run."""
    chance = random.Random(zlib.crc32(f"{run.data} {test}".encode()))
    words = TEXT.split()
    references = [" ".join(chance.choices(words, k=chance.randint(4, 20))) for _ in range(run.sentences)]
    sources = [line.upper() for line in references]
    mark = f"{run.aggregator} {run.apply} {run.layers} {run.seed} {run.preset}"
    chance = random.Random(zlib.crc32(mark.encode()))
    outputs = [
        " ".join("falsch" if chance.random() < run.wrong else word for word in line.split()) for line in references
    ]
    return sources, references, outputs


def _score(run: Run, test: str) -> TestScores:
    scores = score_translations(*reversed(make_texts(run, test)[1:]))
    return structs.replace(scores, phenomena=dict(run.phenomena)) if run.phenomena else scores


def make_translation(run: Run, **changes: Any) -> Record:
    """Return the finished record of a run; `changes` replace whole fields."""
    config = TRANSLATION_PRESETS[run.preset]
    settings = config.as_dict()
    settings["model"] |= {
        "aggregator": run.aggregator,
        "apply": list(run.apply),
        "layers_with_aggregator": list(run.layers),
    }
    for section, name, value in run.settings:
        settings[section] = settings[section] | {name: value}
    routed = len(run.apply) * len(run.layers or range(config.model.num_layers))
    size = config.model.model_dim / 512
    parameters = round(BODY * size**2 + EMBEDDINGS * 512 * size + routed * ROUTED * size**3)
    parts = [LABELS.get(run.aggregator, run.aggregator.rpartition(":")[2])]
    parts += [" + ".join(run.apply)] if run.apply else []
    parts += [f"layers {','.join(map(str, run.layers))}"] if run.layers else []
    steps = range(1000, 6000, 1000)
    outcome = TranslationScores(
        tests={test: _score(run, test) for test in run.tests},
        dev_score=30.0,
        dev_measure="bleu",
        best_epoch=5,
        averaged=5,
        parameters=parameters,
        vocabulary_sizes=[24_004, 30_829],
        pairs=PairCounts(train=1000, empty=1, long=2, dev=100, tests=dict.fromkeys(run.tests, run.sentences), seen={}),
        curve=[
            {"epoch": n, "steps": step, "loss": 6 / n, "dev_loss": 5 / n, "dev_bleu": 40 * (1 - run.wrong) - 20 / n}
            for n, step in enumerate(steps, 1)
        ],
    )
    speeds = (
        {} if run.speeds is None else dict(zip(("steps_per_second", "sentences_per_second"), run.speeds, strict=True))
    )
    identity = CellIdentity(
        task=run.task,
        family="translation",
        seed=run.seed,
        preset=run.preset,
        data=DataIdentity(
            name=run.data, file=run.data, sha256=hashlib.sha256(f"{run.data} {run.task}".encode()).hexdigest()
        ),
        model=ModelIdentity(name=" ".join(parts).lower(), label=", ".join(parts), version="built-in"),
        settings=settings,
        measure="translation",
    )
    fields: dict[str, Any] = {
        "identity": identity,
        "outcome": outcome,
        "timing": Timing(seconds=100.0, tokens_per_second=3000.0, finished_at="2026-01-02T03:04:05+00:00", **speeds),
        "where": {
            "probing": "0.1.0",
            "torch": "2.13.0",
            "python": "3.11.9",
            "device": "cpu",
            "threads": run.threads,
            "processor": run.processor,
        },
    }
    return Record(**fields | changes)


def fail(run: Run) -> Record:
    """Return the record of a run whose training failed."""
    return make_translation(replace(run, speeds=None), outcome=None, error="the loss became nan in step 300")


def save(folder: Path, runs: Sequence[Run], *, texts: bool = True) -> Path:
    """Write the records of runs, and their texts beside them; return the folder."""
    for run in runs:
        path = Store(folder).save(make_translation(run))
        if texts:
            translator_folder(path).mkdir()
            for test in run.tests:
                for kind, lines in zip(("source", "reference", "output"), make_texts(run, test), strict=True):
                    translation_path(path, test, kind).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


BASE = Run()
COMPONENTS = [
    BASE,
    Run("simple", ("enc-self",), wrong=0.18, speeds=(1.23, 1.66)),
    Run("em", ("enc-self",), wrong=0.14, speeds=(1.20, 1.65)),
    Run("em", ("enc-dec",), wrong=0.17, speeds=(1.20, 1.21)),
    Run("em", ("dec-self",), wrong=0.16, speeds=(1.21, 1.21)),
    Run("em", ("enc-self", "enc-dec"), wrong=0.14, speeds=(0.87, 1.20)),
    Run("em", ALL, wrong=0.14, speeds=(0.66, 0.89)),
]
"""Rows of the paper's Table 2."""
LAYERS = [
    BASE,
    *(
        Run("em", ("enc-self",), layers, wrong=wrong, speeds=(speed, 1.66))
        for layers, wrong, speed in (
            ((), 0.14, 1.20),
            ((4, 5, 6), 0.145, 1.54),
            ((1, 2, 3), 0.143, 1.54),
            ((1, 2), 0.144, 1.67),
            ((6,), 0.18, 1.88),
            ((1,), 0.18, 1.88),
        )
    ),
]
"""Rows of the paper's Table 3."""
SYSTEMS = [
    replace(run, preset=preset, task=task, data=data, tests=(test,), wrong=run.wrong - (preset == "big") * 0.02)
    for task, data, test in (("en-de", "wmt14", "newstest2014"), ("zh-en", "wmt17", "newstest2017"))
    for preset in ("base", "big")
    for run in (BASE, Run("em", ("enc-self",), (1, 2), wrong=0.14))
]
"""Rows of the paper's Table 4."""


def vary(runs: Sequence[Run], seeds: int) -> list[Run]:
    """Return the runs with several seeds."""
    return [replace(run, seed=seed) for run in runs for seed in range(seeds)]
