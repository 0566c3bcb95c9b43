"""Explanations of a trained model: attention and agreement in some sentences, and its accuracy without each head.

An explanation is one JSON file beside the records, which the HTML report shows.
Shapes: L tokens of a sentence, H heads, N capsules in G groups, R iterations of the routing.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from probing.display import Display
from probing.errors import ProbingError
from probing.experiments.cells import Cell, limit_threads, load_training
from probing.experiments.fitting import FittedModel, Job
from probing.experiments.options import Experiment, Place
from probing.experiments.planning import plan_cells
from probing.experiments.routing_summary import RoutedLayer, summarise_routing
from probing.experiments.running import writable
from probing.model import LayerView, attentions, inspect_sentence, masked_head
from probing.results import EXPLANATION_ENDING, read_record
from probing.storage import cache_folder, make_name, to_json, write_atomically
from probing.tasks import MAX_TOKENS, UNKNOWN, IndexedTask, Integers, PackedSplit, take_splits
from probing.training import Checkpoint, compute_accuracy, predict

DIGITS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedSentence:
    """Inner workings of a model on one sentence."""

    tokens: list[str]
    unknown: list[bool]
    """For each token, whether it is outside the model's vocabulary."""
    gold: str | None
    predicted: str
    probability: float
    layers: list[dict[str, Any]]
    """For each layer `attention` (H, L, L) and, if heads are routed, `agreement` and `share` (R, L, H, G): the weight
    that a head gives to a group of capsules, and the head's share in the group's capsules."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedHead:
    """Test accuracy without one head, in percent."""

    layer: int
    head: int
    accuracy: float
    drop: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Explanation of one cell's model."""

    task: str
    family: str
    model: str
    data: str
    preset: str
    seed: int
    key: str
    test_accuracy: float
    sentences: list[ExplainedSentence]
    masking: list[MaskedHead]
    routing: list[RoutedLayer] = dataclasses.field(default_factory=list)
    """What the routing of each routed layer does on the whole."""

    def save(self, folder: Path) -> Path:
        """Write the explanation beside the records."""
        parts = (self.data, self.task, self.model, f"seed{self.seed}", self.key[:12])
        name = re.sub("-+", "-", ".".join(map(make_name, parts)))  # only the names of records have --
        path = folder / f"{name}{EXPLANATION_ENDING}"
        write_atomically(path, to_json(dataclasses.asdict(self), separators=(",", ":")) + "\n")
        return path


def explain_sentence(
    model: nn.Module, task: IndexedTask, tokens: Sequence[str], vocabulary_size: int, *, gold: str | None, groups: int
) -> ExplainedSentence:
    """Return the inner workings of the model on one sentence."""
    numbers = {word: number for number, word in enumerate(task.words[: vocabulary_size - 1], 1)}
    ids = [numbers.get(token, UNKNOWN) for token in tokens]
    device = next(model.parameters()).device
    probabilities, layers = inspect_sentence(model, torch.tensor(ids, device=device))
    best = int(probabilities.argmax())
    return ExplainedSentence(
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
) -> tuple[float, list[MaskedHead]]:
    """Return the accuracy on a split with all heads, and without each one."""
    whole = compute_accuracy(predict(model, split, device), split.labels)
    maskings: list[MaskedHead] = []
    for layer, attention in enumerate(attentions(model), 1):
        for head in range(attention.num_heads):
            with masked_head(attention, head):
                accuracy = compute_accuracy(predict(model, split, device), split.labels)
            maskings.append(
                MaskedHead(
                    layer=layer, head=head + 1, accuracy=round(accuracy, DIGITS), drop=round(whole - accuracy, DIGITS)
                )
            )
            on_progress(len(maskings))
    return whole, maskings


def explain(
    experiment: Experiment,
    place: Place,
    display: Display,
    *,
    sentences: Sequence[str] = (),
    count: int = 3,
    groups: int = 8,
) -> list[Explanation]:
    """Explain the models of an experiment's cells, each in a file of its own.

    If no sentences are given, the first `count` of the test split are explained. A run keeps no models: they are
    trained again, to the same weights, unless they were explained before.
    """
    texts = [_split_sentence(text) for text in sentences]
    explanations = []
    with display.listening(), writable(place.results):
        planned = plan_cells(experiment, place.device, display)
        for cell in planned.cells:
            explained = _explain_cell(cell, texts, count=count, groups=groups, device=planned.device, display=display)
            display.say(f"{cell.name}: {explained.save(place.results)}")
            _compare(explained, cell.record_path(place.results), display)
            explanations.append(explained)
    return explanations


def _split_sentence(text: str) -> list[str]:
    """Return the tokens of a sentence that is tokenised already, as in task files."""
    tokens = text.split()
    if not tokens:
        raise ProbingError('--sentence is empty. Give tokens separated by spaces, e.g. "the dogs slept ."')
    if len(tokens) > MAX_TOKENS:
        raise ProbingError(f"--sentence has {len(tokens):,} tokens. At most {MAX_TOKENS:,} can be explained")
    return tokens


def _explain_cell(
    cell: Cell, texts: Sequence[list[str]], *, count: int, groups: int, device: torch.device, display: Display
) -> Explanation:
    task, rows = load_training(cell)
    fitted = _fit(cell, task, rows, device, display)
    model, test = fitted.model, task.limit("te", fitted.vocabulary_size)
    if model is None or not attentions(model):
        raise ProbingError(
            f"{cell.identity.model.label} has no attention heads to explain. Name an aggregator: --aggregator em"
        )
    wanted: list[tuple[list[str], str | None]] = [(text, None) for text in texts]
    if not texts:
        wanted = [_take_sentence(task, number) for number in range(min(count, len(test)))]
    total = sum(attention.num_heads for attention in attentions(model))
    with display.counting(f"{cell.name}: without each head", total) as on_progress:
        accuracy, masking = mask_heads(model, test, device, on_progress)
    return Explanation(
        task=cell.task.name,
        family=cell.task.family,
        model=cell.identity.model.label,
        data=cell.identity.data.name,
        preset=cell.identity.preset,
        seed=cell.identity.seed,
        key=cell.key,
        test_accuracy=accuracy,
        sentences=[
            explain_sentence(model, task, tokens, fitted.vocabulary_size, gold=gold, groups=groups)
            for tokens, gold in wanted
        ],
        masking=masking,
        routing=summarise_routing(model, test, device),
    )


def _fit(cell: Cell, task: IndexedTask, rows: Integers | None, device: torch.device, display: Display) -> FittedModel:
    """Train the cell's model as a run does; the checkpoint of its last epoch is kept, and found the next time."""
    limit_threads(cell.identity)
    if cell.method.retries:
        display.say(f"{cell.name}: the training with seed {cell.identity.seed} is explained, without retries")
    torch.manual_seed(cell.identity.seed)
    checkpoint = Checkpoint(
        cache_folder("explained") / cell.key, key=cell.key, device=device, on_note=display.warn, on_news=display.say
    )
    with display.counting(f"{cell.name}: epochs", cell.method.settings["training"]["max_epochs"]) as on_epoch:
        job = Job(
            name=cell.task.name,
            task=task,
            subsets=take_splits(task, rows),
            seed=cell.identity.seed,
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
    """Warn if the record has another accuracy: that model was trained elsewhere, or with other threads."""
    if not record.is_file():
        return
    try:
        scores = read_record(record).scores
    except ProbingError as error:
        display.warn(str(error))
        return
    if scores is not None and abs(scores.test_accuracy - explained.test_accuracy) > 1e-6:
        display.warn(
            f"warning: {explained.task} {explained.model} has test accuracy {explained.test_accuracy:.2f} here, "
            f"{scores.test_accuracy:.2f} in {record}: not the same weights"
        )
