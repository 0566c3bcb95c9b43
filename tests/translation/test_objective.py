"""The objective of a translation: updates divided in any way have one gradient, and dev is judged as asked."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from probing.training import Ranks
from probing.translation.cross_entropy import reference_smoothed_cross_entropy
from probing.translation.objective import DevText, TranslationObjective, divide, list_sources
from probing.translation.parallel_corpus import ParallelCorpus, prepare_corpus
from probing.translation.parallel_files import find_parallel_files
from probing.translation.settings import SearchConfig, SubwordConfig, TranslationTrainingConfig
from tests.translation.models import make_model, run
from tests.translation.toy import write_toy_corpus

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> ParallelCorpus:
    folder = write_toy_corpus(tmp_path_factory.mktemp("toy"), train=60, dev=12, test=8)
    return prepare_corpus(find_parallel_files(folder, "en-xx"), SubwordConfig(vocabulary_size=350, joint=True))


def make_objective(corpus: ParallelCorpus, *, ranks: Ranks | None = None, **settings: object) -> TranslationObjective:
    model = make_model("em", vocabulary=corpus.source_subwords.size, dtype=torch.float64)
    dev = DevText(corpus.dev, corpus.text("dev")[1], corpus.target_subwords)
    config = TranslationTrainingConfig(**{"batch_tokens": 100, **settings})  # type: ignore[arg-type]
    objective = TranslationObjective(model, corpus.train, dev, config, SearchConfig(extra_length=5), device=CPU)
    if ranks is not None:
        objective.ranks = ranks
    return objective


def test_the_loss_is_the_mean_over_target_tokens(corpus: ParallelCorpus) -> None:
    objective = make_objective(corpus, label_smoothing=0.2)
    order = np.random.default_rng(0).permutation(len(objective))
    for update in objective.batches(order):
        (loss,) = objective.losses(update)
        (rows,) = update.parts
        texts = [corpus.train.batch(rows[place : place + 1]) for place in range(len(rows))]
        sources = [pair.source.tokens[:-1].tolist() for pair in texts]
        targets = [pair.target.tokens_out[:-1].tolist() for pair in texts]
        outputs = torch.from_numpy(np.concatenate([pair.target.tokens_out for pair in texts]))
        scores = run(objective.model, sources, targets)
        eye = torch.eye(scores.shape[1], dtype=torch.float64)
        expected = reference_smoothed_cross_entropy(scores, eye, outputs, 0.2) / len(outputs)
        assert loss.item() == pytest.approx(expected.item(), rel=1e-9)
        assert update.size.weight == len(outputs)
        assert update.size.tokens == len(outputs) + sum(len(source) + 1 for source in sources)


def collect(objective: TranslationObjective) -> tuple[float, list[torch.Tensor]]:
    """Return the loss and the gradients of the first update."""
    update = next(objective.batches(np.arange(len(objective))))
    objective.model.zero_grad()
    total = 0.0
    for loss in objective.losses(update):
        loss.backward()  # type: ignore[no-untyped-call]
        total += loss.item()
    return total, [value.grad.clone() for value in objective.model.parameters() if value.grad is not None]


def measure_rounding(corpus: ParallelCorpus) -> list[float]:
    """Return how much each tensor's gradients change if the last digit of every weight does.

    Routing divides by small variances, so that a last digit counts ten thousand times; sums in another order differ so.
    """
    _, gradients = collect(make_objective(corpus, batch_tokens=300))
    changes = [0.0] * len(gradients)
    for direction in (-torch.inf, torch.inf):
        objective = make_objective(corpus, batch_tokens=300)
        with torch.no_grad():
            for weights in objective.model.parameters():
                weights.copy_(torch.nextafter(weights, torch.full_like(weights, direction)))
        pairs = zip(gradients, collect(objective)[1], strict=True)
        changes = [max(before, float((a - b).abs().max())) for before, (a, b) in zip(changes, pairs, strict=True)]
    return changes


@pytest.mark.parametrize("accumulate", [2, 5])
def test_gradients_of_parts_add_up_to_those_of_the_whole(corpus: ParallelCorpus, accumulate: int) -> None:
    loss, gradients = collect(make_objective(corpus, batch_tokens=400))
    other_loss, others = collect(make_objective(corpus, batch_tokens=400 // accumulate, accumulate=accumulate))
    assert other_loss == pytest.approx(loss, rel=1e-12)
    for one, other in zip(gradients, others, strict=True):
        torch.testing.assert_close(one, other, atol=1e-12, rtol=1e-9)


def test_processes_divide_an_update_among_them(corpus: ParallelCorpus) -> None:
    """Losses and gradients, averaged over three processes, are those of one with three times the batch."""
    loss, gradients = collect(make_objective(corpus, batch_tokens=300))
    parts = [collect(make_objective(corpus, ranks=Ranks(rank, 3))) for rank in range(3)]
    assert sum(each for each, _ in parts) / 3 == pytest.approx(loss, rel=1e-12)
    roundings = measure_rounding(corpus)  # of four results: one of the whole, three of its parts
    assert max(roundings) < 1e-9
    for place, gradient in enumerate(gradients):
        mean = sum(others[place] for _, others in parts) / 3
        torch.testing.assert_close(mean, gradient, atol=max(1e-12, 4 * roundings[place]), rtol=1e-9)


def test_a_process_without_pairs_takes_part_with_nothing(corpus: ParallelCorpus) -> None:
    objective = make_objective(corpus, ranks=Ranks(0, 3))
    (update,) = objective.batches(np.array([4]))
    assert update.is_empty
    assert [loss.item() for loss in objective.losses(update)] == [0.0]


def test_every_pair_is_in_one_part(corpus: ParallelCorpus) -> None:
    rows = np.random.default_rng(1).permutation(50)
    tokens = corpus.train.count_tokens(rows)
    for count in (1, 2, 3, 7, 60):
        parts = divide(rows, tokens, count)
        assert len(parts) == count
        assert np.concatenate(parts).tolist() == rows.tolist()
        if count <= 3:
            sizes = [corpus.train.count_tokens(part).sum() for part in parts]
            assert max(sizes) - min(sizes) <= 2 * tokens.max()


def test_updates_after_some_pairs_are_those_of_the_uninterrupted_order(corpus: ParallelCorpus) -> None:
    objective = make_objective(corpus, accumulate=2)
    order = np.random.default_rng(2).permutation(len(objective))
    updates = [[part.tolist() for part in update.parts] for update in objective.batches(order)]
    seen = sum(len(part) for part in updates[0])
    assert [[part.tolist() for part in update.parts] for update in objective.batches(order[seen:])] == updates[1:]


def test_dev_is_judged_by_loss_or_bleu(corpus: ParallelCorpus) -> None:
    by_loss, by_bleu = (make_objective(corpus, select=select) for select in ("loss", "bleu"))
    loss = by_loss.evaluate()
    assert loss.score == loss.details["dev_loss"] == pytest.approx(by_bleu.evaluate().details["dev_loss"])
    assert 3 < loss.score < 9, "an untrained model knows nothing"
    bleu = by_bleu.evaluate()
    assert bleu.score == bleu.details["dev_bleu"]
    assert 0 <= bleu.score < 5
    assert by_loss.is_better(1.0, 2.0)
    assert not by_loss.is_better(2.0, 2.0)
    assert by_bleu.is_better(2.0, 1.0)
    assert by_bleu.is_perfect(100.0)
    assert not by_loss.is_perfect(100.0)


def test_sources_have_no_end(corpus: ParallelCorpus) -> None:
    lines = corpus.text("dev")[0]
    assert corpus.source_subwords.decode(list_sources(corpus.dev)) == lines
