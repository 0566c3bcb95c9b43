"""Options and outcome that `probe run` and `probe sweep` share: which models are measured, on what and where."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from probing.commands import options
from probing.config import CONTROLS, DTYPES, PROBES
from probing.errors import ProbingError
from probing.storage import importing_for_good

MODEL_FIELDS = ("aggregators", "encoders", "dtype", "probe", "fine_tune", "controls", "baselines", "mdl")
DATA_FIELDS = ("tasks", "data", "data_dir", "task_files")
PLACE_FIELDS = ("results", "device", "jobs", "backend", "address", "gpus_per_cell", "shard", "force")
OTHER_FIELDS = ("preset", "config_file", "single_seeds", "seeds", "retry_failed", "plan", "as_json", "quiet", "verbose")

MODELS = options.together(
    options.TASKS,
    options.AGGREGATORS,
    click.option(
        "--encoder", "encoders", multiple=True, metavar="SPEC", help="Encoder to probe: see `probe encoders`."
    ),
    options.ENCODER_OPTIONS,
    click.option("--dtype", metavar="|".join(DTYPES), help="Type in which frozen vectors are kept. [default: float32]"),
    click.option(
        "--probe",
        metavar="|".join(PROBES),
        help="Classifier on frozen vectors; the last two are SentEval's, with nhid 0 and 50. [default: mlp]",
    ),
    click.option("--fine-tune", is_flag=True, help="Train the encoder, a torch module, together with the head."),
    click.option(
        "--control",
        "controls",
        multiple=True,
        metavar="|".join(CONTROLS),
        help="Control to measure as well: labels of sentences or of words that can only be memorised, or the untrained "
        "encoder. Can be repeated.",
    ),
    click.option("--baselines", is_flag=True, help="Probe sentence length and a bag of words as well."),
    click.option("--mdl", is_flag=True, help="Measure the description length by online coding as well."),
    options.DATA,
    options.PRESET,
)
"""Options that say what is measured."""
RETRY = click.option(
    "--retry-failed",
    type=click.IntRange(0),
    metavar="N",
    help="Start a training that never leaves chance, or breaks down, up to N times again with another seed.",
)


def measure(
    given: dict[str, Any],
    *,
    settings: Sequence[str],
    variants: Sequence[Sequence[str]] = ((),),
    show_outcome: Callable[[Sequence[Any], Path], None],
) -> None:
    """Run the cells that the options describe, or print the plan of them; then end the program."""
    with importing_for_good("torch"):
        from probing.display import Display
        from probing.experiments import running
        from probing.experiments.options import DataOptions, Experiment, ModelOptions, Place, SettingOptions

    if given["as_json"] and not given["plan"]:
        raise ProbingError("--json goes with --plan. For results as JSON, see `probe report --format json`")
    named = {*MODEL_FIELDS, *DATA_FIELDS, *PLACE_FIELDS, *OTHER_FIELDS}
    encoder_options = {name: value for name, value in given.items() if name not in named}
    retries = [] if given["retry_failed"] is None else [f"training.retries={given['retry_failed']}"]
    experiment = Experiment(
        models=ModelOptions(**{name: given[name] for name in MODEL_FIELDS}, encoder_options=encoder_options),
        data=DataOptions(**{name: given[name] for name in DATA_FIELDS}),
        settings=SettingOptions(
            preset=given["preset"],
            config_file=given["config_file"],
            settings=(*settings, *retries),
            variants=variants,
            seeds=(*given["single_seeds"], *given["seeds"]) or (0,),
        ),
    )
    place = Place(**{name: given[name] for name in PLACE_FIELDS})
    display = Display(verbosity=given["verbose"] - given["quiet"])
    if given["plan"]:
        planned = running.plan(experiment, place, display)
        if given["as_json"]:
            options.show(json.dumps(planned.as_dict(), indent=2))
        else:
            options.show_fitted(planned.text())
        return
    summary = running.run(experiment, place, display)
    if summary.cells and not given["quiet"]:
        show_outcome(summary.cells, place.results)
    sys.exit(1 if summary.failed else 0)
