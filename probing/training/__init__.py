"""Training: the loop, its objectives, the optimiser, checkpoints and devices."""

from probing.training.checkpoints import (
    Checkpoint,
    Stopwatch,
    checkpoint_folder,
    discard_checkpoints,
    list_checkpointed_records,
)
from probing.training.devices import describe_processor, move, pick_device, settle_precision
from probing.training.frozen_encoder import encode_once
from probing.training.loop import TrainingOutcome, train
from probing.training.objectives import (
    BatchSize,
    Classification,
    Evaluation,
    NonFiniteLossError,
    compute_accuracy,
    compute_scores,
    predict,
    score_batches,
)
from probing.training.ranks import ALONE, Ranks, joining
from probing.training.state import Epoch, Progress, Schedule
