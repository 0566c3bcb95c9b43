"""What a trained model relies on: attention and agreement in some sentences, and its accuracy without each head.

An explanation is one JSON file beside the records, which the HTML report shows.
Shapes: L tokens of a sentence, H heads, N capsules in G groups, R iterations of the routing.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tabulate import tabulate
from torch import Tensor, nn

from probing import training
from probing.cache import cache_folder
from probing.cells import Cell, limit_threads
from probing.checkpoints import Checkpoint
from probing.dataset import MAX_TOKENS, UNKNOWN, IndexedTask, PackedSplit, load_task
from probing.display import Display
from probing.errors import ProbingError
from probing.methods import Fitted, Job
from probing.model.inspection import LayerView, attentions, inspect_sentence, masked_head
from probing.parts import take_splits
from probing.results import Store, as_unicode, make_name, read_result, write_atomically
from probing.runner import choose_cells, writable

SUFFIX = ".explanation.json"
DIGITS = 4
BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """What a model did with one sentence."""

    tokens: list[str]
    unknown: list[bool]
    """Whether a token is beyond the model's vocabulary."""
    gold: str | None
    predicted: str
    probability: float
    layers: list[dict[str, Any]]
    """Of each layer `attention` (H, L, L) and, where heads are routed, `agreement` and `share` (R, L, H, G): what a
    head gives to a group of capsules, and the head's part in what the group's capsules are made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Masking:
    """The test accuracy without one head, in percent."""

    layer: int
    head: int
    accuracy: float
    drop: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What one cell's model relies on."""

    task: str
    family: str
    model: str
    data: str
    preset: str
    seed: int
    key: str
    test_accuracy: float
    sentences: list[Sentence]
    masking: list[Masking]

    def save(self, folder: Path) -> Path:
        """Write it beside the records."""
        parts = (self.data, self.task, self.model, f"seed{self.seed}", self.key[:12])
        path = folder / (re.sub("-+", "-", ".".join(map(make_name, parts))) + SUFFIX)  # records have two in their names
        text = json.dumps(dataclasses.asdict(self), ensure_ascii=False, separators=(",", ":"))
        write_atomically(path, as_unicode(text) + "\n")
        return path


def explain_sentence(
    model: nn.Module, task: IndexedTask, tokens: Sequence[str], vocabulary_size: int, *, gold: str | None, groups: int
) -> Sentence:
    """Return what the model did with one sentence."""
    numbers = {word: number for number, word in enumerate(task.words[: vocabulary_size - 1], 1)}
    ids = [numbers.get(token, UNKNOWN) for token in tokens]
    device = next(model.parameters()).device
    probabilities, layers = inspect_sentence(model, torch.tensor(ids, device=device))
    best = int(probabilities.argmax())
    return Sentence(
        tokens=list(tokens),
        unknown=[number == UNKNOWN for number in ids],
        gold=gold,
        predicted=task.labels[best],
        probability=round(float(probabilities[best]), DIGITS),
        layers=[_describe_layer(layer, groups) for layer in layers],
    )


def _describe_layer(layer: LayerView, groups: int) -> dict[str, Any]:
    described = {"attention": _as_lists(layer.attention)}
    if layer.agreement is not None and layer.shares is not None:
        agreement = [part.sum(-1) for part in layer.agreement.tensor_split(_count_groups(layer, groups), -1)]
        shares = [part.mean(-1) for part in layer.shares.tensor_split(_count_groups(layer, groups), -1)]
        described |= {"agreement": _as_lists(torch.stack(agreement, -1)), "share": _as_lists(torch.stack(shares, -1))}
    return described


def _count_groups(layer: LayerView, groups: int) -> int:
    assert layer.agreement is not None
    return min(groups, layer.agreement.shape[-1])


def _as_lists(values: Tensor) -> list[Any]:
    lists: list[Any] = values.double().mul(10**DIGITS).round().div(10**DIGITS).tolist()
    return lists


def mask_heads(
    model: nn.Module, split: PackedSplit, device: torch.device, on_progress: Callable[[int], None]
) -> tuple[float, list[Masking]]:
    """Return a split's accuracy with all heads, and without each."""
    whole = training.accuracy(training.predict(model, split, device), split)
    maskings: list[Masking] = []
    for layer, attention in enumerate(attentions(model), 1):
        for head in range(attention.num_heads):
            with masked_head(attention, head):
                accuracy = training.accuracy(training.predict(model, split, device), split)
            maskings.append(
                Masking(
                    layer=layer, head=head + 1, accuracy=round(accuracy, DIGITS), drop=round(whole - accuracy, DIGITS)
                )
            )
            on_progress(len(maskings))
    return whole, maskings


def explain(
    *,
    sentences: Sequence[str] = (),
    count: int = 3,
    groups: int = 8,
    results: Path = Path("results"),
    display: Display,
    **what: Any,
) -> list[Explanation]:
    """Explain the models of the cells that `runner.choose_cells` makes of the other options, each in a file.

    With no sentences given, the first `count` of the test split are explained. A run keeps no models: they are trained
    again, to the same weights, unless they were explained before.
    """
    texts = [_split_sentence(text) for text in sentences]
    explanations = []
    with display.listening(), writable(results):
        chosen = choose_cells(display=display, **what)
        for cell in chosen.cells:
            explained = _explain_cell(cell, texts, count=count, groups=groups, device=chosen.device, display=display)
            display.say(f"{cell.name}: {explained.save(results)}")
            _compare(explained, cell.record_path(Store(results)), display)
            explanations.append(explained)
    return explanations


def _split_sentence(text: str) -> list[str]:
    """Return a sentence's tokens; it is tokenised already, as task files are."""
    tokens = text.split()
    if not tokens:
        raise ProbingError('--sentence is empty. Give tokens separated by spaces, e.g. "the dogs slept ."')
    if len(tokens) > MAX_TOKENS:
        raise ProbingError(f"--sentence has {len(tokens):,} tokens. At most {MAX_TOKENS:,} can be explained")
    return tokens


def _explain_cell(
    cell: Cell, texts: Sequence[list[str]], *, count: int, groups: int, device: torch.device, display: Display
) -> Explanation:
    task = load_task(cell.path)
    fitted = _fit(cell, task, device, display)
    model, test = fitted.model, task.limit("te", fitted.vocabulary_size)
    if model is None or not attentions(model):
        raise ProbingError(f"{cell.model.label} has no attention heads to explain. Name an aggregator: --aggregator em")
    wanted: list[tuple[list[str], str | None]] = [(text, None) for text in texts]
    if not texts:
        wanted = [_take_sentence(task, number) for number in range(min(count, len(test)))]
    total = sum(attention.num_heads for attention in attentions(model))
    with display.counting(f"{cell.name}: without each head", total) as on_progress:
        accuracy, masking = mask_heads(model, test, device, on_progress)
    return Explanation(
        task=cell.task.name,
        family=cell.task.family,
        model=cell.model.label,
        data=cell.data.name,
        preset=cell.preset,
        seed=cell.seed,
        key=cell.key,
        test_accuracy=accuracy,
        sentences=[
            explain_sentence(model, task, tokens, fitted.vocabulary_size, gold=gold, groups=groups)
            for tokens, gold in wanted
        ],
        masking=masking,
    )


def _fit(cell: Cell, task: IndexedTask, device: torch.device, display: Display) -> Fitted:
    """Train the cell's model as a run does; the checkpoint of its last epoch is kept, and found the next time."""
    limit_threads(cell)
    torch.manual_seed(cell.seed)
    checkpoint = Checkpoint(cache_folder("explained") / cell.key, key=cell.key, device=device, on_note=display.warn)
    with display.counting(f"{cell.name}: epochs", cell.method.settings["training"]["max_epochs"]) as on_epoch:
        job = Job(
            name=cell.task.name,
            task=task,
            parts=take_splits(task),
            seed=cell.seed,
            device=device,
            on_progress=lambda progress: on_epoch(progress.epoch - 1),
            checkpoint=checkpoint,
        )
        return cell.method.fit(job)


def _take_sentence(task: IndexedTask, number: int) -> tuple[list[str], str]:
    split = task.splits["te"]
    ids = split.tokens[split.offsets[number] : split.offsets[number + 1]]
    return [task.words[word - 1] for word in ids], task.labels[split.labels[number]]


def _compare(explained: Explanation, record: Path, display: Display) -> None:
    """Say so if a record has another accuracy: that model was trained elsewhere, or with other threads."""
    if not record.is_file():
        return
    try:
        scores = read_result(record).scores
    except ProbingError as error:
        display.warn(str(error))
        return
    if scores is not None and abs(scores.test_accuracy - explained.test_accuracy) > 1e-6:
        display.warn(
            f"warning: {explained.task} {explained.model} has test accuracy {explained.test_accuracy:.2f} here, "
            f"{scores.test_accuracy:.2f} in {record}: not the same weights"
        )


def render(explanations: Sequence[Explanation]) -> str:
    """Return explanations as text: each sentence, then which heads each task relies on."""
    parts = []
    for each in explanations:
        parts.append(
            f"{each.task}, {each.model}, seed {each.seed}; data: {each.data}; preset: {each.preset}; "
            f"test accuracy {each.test_accuracy:.2f}"
        )
        parts += [_render_sentence(sentence) for sentence in each.sentences]
    return "\n\n".join([*parts, *_render_masking(explanations)])


def _render_sentence(sentence: Sentence) -> str:
    shown = [
        f"{token}?" if unknown else token for token, unknown in zip(sentence.tokens, sentence.unknown, strict=True)
    ]
    verdict = "" if sentence.gold is None else f" (gold: {sentence.gold})"
    blocks = [f"{' '.join(shown)}\n→ {sentence.predicted}, {sentence.probability:.1%}{verdict}"]
    for number, layer in enumerate(sentence.layers, 1):
        heads = [f"head {head}" for head in range(1, len(layer["attention"]) + 1)]
        attended = [
            [token, *(_strongest(row[place], shown) for row in layer["attention"])] for place, token in enumerate(shown)
        ]
        blocks.append(_table(f"Layer {number}, attention: what each head takes most of, in %", heads, attended))
        if "share" in layer:
            title = (
                f"Layer {number}, routing: each head's share in the capsules in %, by iteration; bars: capsule groups"
            )
            rows = [
                [token, *(_moves(layer["share"], place, head) for head in range(len(heads)))]
                for place, token in enumerate(shown)
            ]
            blocks.append(_table(title, heads, rows))
    return "\n\n".join(blocks)


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return f"{title}\n{tabulate(rows, ['', *heads], disable_numparse=True)}"


def _strongest(weights: Sequence[float], tokens: Sequence[str]) -> str:
    best = max(range(len(weights)), key=weights.__getitem__)
    return f"{tokens[best]} {weights[best]:.0%}".removesuffix("%")


def _moves(shares: Sequence[Any], place: int, head: int) -> str:
    """Return a head's share over the iterations, and how it ends up in each group of capsules."""
    groups = shares[-1][place][head]
    means = [sum(iteration[place][head]) / len(groups) for iteration in shares]
    bars = "".join(BARS[min(len(BARS) - 1, int(share * len(BARS)))] for share in groups)
    return f"{'→'.join(f'{100 * mean:.0f}' for mean in means)} {bars}"


def _render_masking(explanations: Sequence[Explanation]) -> list[str]:
    """Return one table a task: heads by models."""
    tables = []
    for task in dict.fromkeys(each.task for each in explanations):
        members = [each for each in explanations if each.task == task]
        places = sorted({(m.layer, m.head) for each in members for m in each.masking})
        found = [{(m.layer, m.head): m.drop for m in each.masking} for each in members]
        rows = [
            [
                f"layer {layer} head {head}",
                *(f"{drops[layer, head]:+.2f}" if (layer, head) in drops else "" for drops in found),
            ]
            for layer, head in places
        ]
        if rows:
            title = f"{task}: points of test accuracy lost without a head"
            tables.append(_table(title, [each.model for each in members], rows))
    return tables
