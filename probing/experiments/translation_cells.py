"""One translation (data x model x seed): it is trained, its test sets are translated and scored; a record comes out."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from msgspec import structs

from probing.display import Status
from probing.errors import ProbingError
from probing.experiments.cells import describe_place, limit_threads, tell_time
from probing.experiments.fitting import find_plugin, move_plugin
from probing.registry import AGGREGATORS
from probing.results import (
    CellIdentity,
    Record,
    TestScores,
    Timing,
    TranslationScores,
    translation_path,
)
from probing.training import (
    ALONE,
    Checkpoint,
    NonFiniteLossError,
    Progress,
    Ranks,
    Schedule,
    Stopwatch,
    TrainingOutcome,
    checkpoint_folder,
    train,
)
from probing.translation.encoder_decoder import build_encoder_decoder
from probing.translation.objective import DevText, TranslationObjective
from probing.translation.parallel_corpus import ParallelCorpus, prepare_corpus
from probing.translation.parallel_files import ParallelFiles
from probing.translation.phenomena import judge_translations
from probing.translation.scoring import score_translations
from probing.translation.settings import TranslationConfig
from probing.translation.translator import Translator, save_translator

EPSILON = 1e-9
"""Adam's epsilon, as in the authors' code."""
TRAINING = 0.97
"""Approximate share of a cell's time that training takes, before the test sets are translated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslatorCell:
    """One model to be trained on one parallel corpus with one seed; small enough to be sent to another process."""

    identity: CellIdentity
    corpus: ParallelFiles
    aggregator: str
    """Specification: a built-in, an entry point, `module:Name` or `file.py:Name`."""
    config: TranslationConfig

    @property
    def name(self) -> str:
        """Name of the cell in messages."""
        return self.identity.title

    @property
    def key(self) -> str:
        """Key of the cell's identity."""
        return self.identity.key

    @property
    def size(self) -> float:
        """Size of the cell's work, by which the time left is estimated."""
        return self.corpus.train.source.stat().st_size

    def record_path(self, results: Path) -> Path:
        """Return the file of the cell's record in a results folder."""
        return self.identity.path(results)

    def count_training(self) -> int:
        """Return the number of training pairs."""
        return prepare_corpus(self.corpus, self.config.subwords).counts.train

    def count_work(self, sentences: int) -> float:
        """Return a number that is proportional to the time of this cell, if it had so many training pairs."""
        return sentences

    def files(self) -> dict[str, Path]:
        """Return the files that the cell reads, by their roles."""
        return {**self.corpus.files(), **find_plugin(self.aggregator)}

    def moved(self, files: Mapping[str, Path]) -> TranslatorCell:
        """Return the same cell with its files at other places."""
        aggregator = move_plugin(self.aggregator, files)
        return dataclasses.replace(self, corpus=self.corpus.moved(files), aggregator=aggregator)


def run_translation_cell(
    cell: TranslatorCell,
    device: torch.device,
    on_status: Callable[[Status], None],
    *,
    results: Path | None = None,
    ranks: Ranks = ALONE,
) -> Record:
    """Train, translate and score; a training that breaks down makes a failed record.

    With a results folder, a cell that was stopped goes on from its checkpoints there, and the translator is kept.
    """
    stopwatch = Stopwatch()
    limit_threads(cell.identity)
    outcome, error, tokens = None, None, 0
    speeds: dict[str, float] = {}
    try:
        trained = _train(cell, device, on_status, stopwatch, results, ranks)
        tokens = trained.outcome.tokens
        outcome, speeds = _translate_and_score(cell, trained, on_status, results, ranks)
    except NonFiniteLossError as problem:
        error = str(problem)
    seconds = stopwatch.seconds
    return Record(
        identity=cell.identity,
        outcome=outcome,
        error=error,
        timing=Timing(
            seconds=round(seconds, 3),
            tokens_per_second=round(tokens / seconds, 1),
            finished_at=tell_time(),
            **speeds,
        ),
        where={**describe_place(device), **({"processes": ranks.count} if ranks.count > 1 else {})},
    )


@dataclass(frozen=True, slots=True)
class _TrainedTranslator:
    translator: Translator
    corpus: ParallelCorpus
    outcome: TrainingOutcome


def _train(
    cell: TranslatorCell,
    device: torch.device,
    on_status: Callable[[Status], None],
    stopwatch: Stopwatch,
    results: Path | None,
    ranks: Ranks,
) -> _TrainedTranslator:
    config, settings, seed = cell.config, cell.config.training, cell.identity.seed
    found = AGGREGATORS.find(cell.aggregator)
    if found.version != cell.identity.model.version:
        raise ProbingError(f"{found.name}: its code changed while the run went on. Start the run again")

    def tell_share(share: float) -> None:
        on_status(Status(work=cell.name, text=f"segmenting the text, {100 * share:.0f} %"))

    corpus = prepare_corpus(cell.corpus, config.subwords, tell_share)
    torch.manual_seed(seed)
    sizes = corpus.source_subwords.size, corpus.target_subwords.size
    model = build_encoder_decoder(found.object, config.model, config.routing, vocabulary_sizes=sizes).to(device)
    dev = DevText(corpus.dev, corpus.text("dev")[1], corpus.target_subwords, cell.corpus.target_language)

    def report(progress: Progress) -> None:
        on_status(
            Status(
                work=cell.name,
                fraction=TRAINING * progress.done,
                text=_describe_progress(progress, settings.select, progress.tokens / max(stopwatch.seconds, 1e-9)),
                milestone=progress.epoch_ended,
            )
        )

    folder = None if results is None else checkpoint_folder(cell.record_path(results))
    checkpoint = Checkpoint(
        folder,
        key=cell.key,
        device=device,
        name="training",
        stopwatch=stopwatch,
        on_note=lambda text: on_status(Status(work=cell.name, note=text)),
        on_news=lambda text: on_status(Status(work=cell.name, news=text)),
        read_only=not ranks.is_first,
    )
    outcome = train(
        model,
        TranslationObjective(model, corpus.train, dev, settings, config.search, device=device, ranks=ranks),
        settings,
        seed=seed,
        device=device,
        schedule=Schedule(
            warmup_steps=settings.warmup_steps,
            max_steps=settings.max_steps,
            validate_every=settings.validate_every,
            average=settings.average,
            epsilon=EPSILON,
        ),
        ranks=ranks,
        on_progress=report,
        checkpoint=checkpoint,
    )
    translator = Translator(
        model=model.eval(),
        source_subwords=corpus.source_subwords,
        target_subwords=corpus.target_subwords,
        search=config.search,
        device=device,
    )
    return _TrainedTranslator(translator, corpus, outcome)


def _describe_progress(progress: Progress, select: str, tokens_per_second: float) -> str:
    """Return in words how far a training has come."""
    dev = (
        "" if progress.score is None else f"  dev {select.upper() if select == 'bleu' else select} {progress.score:.2f}"
    )
    epoch = f"epoch {progress.epoch}/{progress.max_epochs}  loss {progress.loss:.3f}{dev}"
    return f"{epoch}  {tokens_per_second:,.0f} tokens/s"


def _translate_and_score(
    cell: TranslatorCell,
    trained: _TrainedTranslator,
    on_status: Callable[[Status], None],
    results: Path | None,
    ranks: Ranks,
) -> tuple[TranslationScores, dict[str, float]]:
    """Return the scores of the test sets, and the speeds of training and of translating the first of them."""
    translator, corpus, training = trained.translator, trained.corpus, trained.outcome
    record = None if results is None else cell.record_path(results)
    tests: dict[str, TestScores] = {}
    texts: dict[str, str] = {}
    speeds: dict[str, float] = {}
    total = sum(map(len, corpus.tests.values()))
    for name in corpus.tests:
        sources, references = corpus.text(name)
        before = sum(corpus.counts.tests[other] for other in tests)

        def report(count: int, before: int = before) -> None:
            share = TRAINING + (1 - TRAINING) * (before + count) / total
            on_status(Status(work=cell.name, fraction=share, text=f"translating, {before + count} of {total}"))

        started = time.monotonic()
        outputs = [found[0].text for found in translator.translate(sources, on_done=report)]
        speeds.setdefault("sentences_per_second", round(len(sources) / (time.monotonic() - started), 2))
        tests[name] = score_translations(outputs, references, language=cell.corpus.target_language)
        if name in cell.corpus.checks:
            phenomena = judge_translations(cell.corpus.checks[name], outputs)
            tests[name] = structs.replace(tests[name], phenomena=phenomena)
        if record is not None:
            kinds = {"source": sources, "reference": references, "output": outputs}
            for kind, lines in kinds.items():
                texts[translation_path(record, name, kind).name] = "".join(f"{line}\n" for line in lines)  # type: ignore[arg-type]
    if record is not None and ranks.is_first:
        save_translator(record, translator, cell.config, aggregator=AGGREGATORS.find(cell.aggregator).name, texts=texts)
    steps = training.curve[-1].steps
    speeds["steps_per_second"] = round(steps / max(training.seconds, 1e-9), 3)
    return _make_scores(cell, trained, tests), speeds


def _make_scores(cell: TranslatorCell, trained: _TrainedTranslator, tests: dict[str, TestScores]) -> TranslationScores:
    corpus, training = trained.corpus, trained.outcome
    return TranslationScores(
        tests=tests,
        dev_score=training.score,
        dev_measure=cell.config.training.select,
        best_epoch=training.best_epoch,
        averaged=training.averaged,
        parameters=sum(parameter.numel() for parameter in trained.translator.model.parameters()),
        vocabulary_sizes=[corpus.source_subwords.size, corpus.target_subwords.size],
        pairs=corpus.counts,
        curve=[
            {"epoch": look.passes, "steps": look.steps, "loss": look.loss, **look.details} for look in training.curve
        ],
    )
