"""Records whose predictions match their accuracy, for figures that are computed sentence by sentence; a browser."""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from probing.results import Counts, DescriptionLength, Record
from probing.tasks import TASKS


def draw(record: Record) -> np.random.Generator:
    """Return a random generator that depends on nothing but the record's task, model and seed."""
    identity = record.identity
    return np.random.default_rng([zlib.crc32(f"{identity.task} {identity.model.name}".encode()), identity.seed])


def answer(record: Record, size: int) -> Record:
    """Return a record with `size` test sentences; which are right depends on their difficulty and on the seed."""
    assert record.scores is not None
    hard = np.random.default_rng(zlib.crc32(record.identity.task.encode())).random(size)
    luck = draw(record).random(size)
    number = round(record.scores.test_accuracy / 100 * size)
    gold = np.arange(size) % 2
    right = np.zeros(size, dtype=bool)
    right[np.argsort(hard + luck)[:number]] = True
    counts = {"train": size, "dev": size // 2, "test": size // 2}
    return structs.replace(
        record,
        outcome=structs.replace(
            record.scores,
            dev_accuracy=record.scores.test_accuracy,
            classes={
                "PAST": Counts(**counts, right=int(right[::2].sum())),
                "PRES": Counts(**counts, right=int(right[1::2].sum())),
            },
            gold=gold.tolist(),
            predictions=np.where(right, gold, 1 - gold).tolist(),
        ),
    )


@pytest.fixture(name="make_record", scope="session")
def _make_record(make_record: Callable[..., Record]) -> Callable[..., Record]:
    def make(*arguments: Any, size: int = 10_000, **options: Any) -> Record:
        record = make_record(*arguments, **options)
        return answer(record, size) if record.scores is not None else record

    return make


@pytest.fixture(scope="session")
def paper_records(make_record: Callable[..., Record]) -> list[Record]:
    """Return records that are the paper's own Table 1, as if measured with seed 0."""
    return [make_record(task.name, model, task.paper[model]) for task in TASKS for model in ("base", "simple", "em")]


HOSTILE = "<script>document.title='owned'</script>\"><img src=x onerror=\"document.title='owned'\">'{{7*7}}\u2028</td>"
"""A name that is also markup, an attribute, a template and the end of a line."""


def vary(record: Record, *, labels: Sequence[str], size: int, epochs: int = 6) -> Record:
    """Return a record with these labels, answers that match its accuracy, and a training curve that rises to it."""
    assert record.scores is not None
    rng = draw(record)
    gold = np.arange(size) % len(labels)
    right = rng.permutation(size) < round(record.scores.test_accuracy / 100 * size)
    wrong = (gold + rng.integers(1, max(2, len(labels)), size)) % len(labels)
    predictions = np.where(right, gold, wrong)
    counts = [(int((gold == n).sum()), int((right & (gold == n)).sum())) for n in range(len(labels))]
    accuracy = 100 * float((predictions == gold).mean())
    heights = accuracy - (accuracy - 100 / len(labels)) * np.exp(-np.arange(1, epochs + 1)) + rng.normal(0, 0.5, epochs)
    return structs.replace(
        record,
        outcome=structs.replace(
            record.scores,
            test_accuracy=accuracy,
            dev_accuracy=float(heights.max()),
            best_epoch=int(heights.argmax()) + 1,
            majority_accuracy=100 / len(labels),
            parameters=200_000 + 1000 * len(record.identity.model.name) ** 2,
            curve=[
                {"epoch": n, "loss": 2 / n, "dev_accuracy": float(height)}
                for n, height in enumerate(heights.tolist(), 1)
            ],
            classes={
                label: Counts(train=size, dev=size // 10, test=test, right=hits)
                for label, (test, hits) in zip(labels, counts, strict=True)
            },
            gold=gold.tolist(),
            predictions=predictions.tolist(),
        ),
        timing=structs.replace(record.timing, seconds=10.0 + len(record.identity.model.name) + record.identity.seed),
    )


def name_labels(number: int) -> list[str]:
    return ["NP_VP_.", "PAST", *(f"label {place}" for place in range(2, number))][:number]


@pytest.fixture(scope="session")
def thirty_cells(make_record: Callable[..., Record]) -> Callable[..., list[Record]]:
    """Return a function that makes records of 3 models on 10 tasks, with as many labels as SentEval's tasks have."""

    def build(seeds: int, size: int = 2_000) -> list[Record]:
        return [
            vary(make_record(t.name, model, t.paper[model], seed=seed), labels=name_labels(t.classes), size=size)
            for t in TASKS
            for model in ("base", "simple", "em")
            for seed in range(seeds)
        ]

    return build


@pytest.fixture(scope="session")
def gallery(make_record: Callable[..., Record], change: Callable[..., Record]) -> list[Record]:
    """Return two seeds of the paper's models, of an encoder's layers and of a model with a hostile name."""
    records = []
    for task in (task for task in TASKS if task.name in ("SeLen", "WC", "ToCo", "Tense")):
        accuracies = task.paper | {
            "bert layer 00": 60.0,
            "bert layer 01": 71.5,
            "bert layer 02": 68.25,
            "evil.py:X": 55.0,
        }
        for model, accuracy in accuracies.items():
            for seed in (0, 1):
                made = make_record(task.name, model, accuracy + seed, seed=seed)
                if model.startswith("bert"):
                    layer = int(model[-2:])
                    settings = {"encoder": {"pooling": "mean", "dtype": "float32", "layer": layer}}
                    settings |= {"probe": {"probe": "mlp", "standardise": True}}
                    made = change(made, model__label=f"bert layer {layer}", settings=settings)
                if model == "evil.py:X":
                    settings = {
                        "model": {"num_layers": HOSTILE, "layers_with_aggregator": []},
                        "training": {"patience": 9},
                    }
                    made = change(made, model__label=HOSTILE, settings=settings)
                records.append(vary(made, labels=[HOSTILE, *name_labels(task.classes)[1:]], size=1_000))
    own = change(make_record("own task", "em", 70.0), task=HOSTILE, data__file=f"{HOSTILE}.txt")
    failed = make_record("Tense", "simple-code", None, error=HOSTILE)
    return [*records, vary(own, labels=["no", HOSTILE], size=1_000), failed]


@pytest.fixture(scope="session")
def hostile() -> str:
    return HOSTILE


def explain(task: str, model: str, tokens: Sequence[str], *, routed: bool) -> dict[str, Any]:
    """Return an explanation as `probe explain` writes it: one sentence, two layers, two heads, three iterations."""
    length, heads, groups = len(tokens), 2, 4
    layer: dict[str, Any] = {"attention": np.full((heads, length, length), 1 / length).tolist()}
    if routed:
        layer["agreement"] = np.full((3, length, heads, groups), 1 / groups).tolist()
        layer["share"] = np.full((3, length, heads, groups), 1 / heads).tolist()
    sentence = {"tokens": list(tokens), "gold": "PAST", "predicted": "PRES", "probability": 0.5, "layers": [layer] * 2}
    masking = [
        {"layer": number, "head": head, "accuracy": 70.0 + head, "drop": 5.5 - 3 * head}
        for number in (1, 2)
        for head in (1, 2)
    ]
    origin = {"task": task, "model": model, "data": "mini", "preset": "mini", "seed": 0, "key": "0" * 64}
    layer = {"layer": 1, "heads": 4, "effective_heads": [4.0, 2.5], "activation": 0.75, "spread": 0.02}
    summary = {"routing": [layer]} if routed else {}
    return origin | {"sentences": [sentence], "masking": masking} | summary


@pytest.fixture(scope="session")
def explanations() -> dict[str, dict[str, Any]]:
    """Return explanations by file name."""
    tokens = ["the", HOSTILE, "slept"]
    return {
        "a.explanation.json": explain("Tense", "Base", tokens, routed=False),
        "b.explanation.json": explain("Tense", HOSTILE, tokens, routed=True),
    }


@pytest.fixture(scope="session")
def measures(gallery: list[Record], change: Callable[..., Record]) -> list[Record]:
    """Return records of the other measures for two of the gallery's models."""
    made = []
    for one in gallery:
        if one.scores is not None and one.identity.model.name in ("base", "em") and one.identity.family != "own":
            control = structs.replace(one.scores, test_accuracy=35.0, predictions=one.scores.gold[::-1])
            description = DescriptionLength(bits=2_000.0, uniform_bits=5_000.0, compression=2.5, pieces=[])
            coded = structs.replace(one.scores, description=description)
            made += [
                change(one, measure="random-labels", outcome=control, key=f"{one.key[:32]}c"),
                change(one, measure="description-length", outcome=coded, key=f"{one.key[:32]}d"),
            ]
    return made


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
ARGUMENTS = (
    "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-size=1400,1000"
)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return a browser that logs what it reports and requests."""
    if not (CHROMIUM and DRIVER):
        pytest.skip("chromium and chromedriver are not installed")
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in [*ARGUMENTS.split(), f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()
