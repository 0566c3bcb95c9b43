"""`probe verify`: records are checked against themselves and against the data."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from probing.commands import options
from probing.errors import as_one_line


@click.command()
@click.argument("folder", type=options.FOLDER, metavar="RESULTS")
@click.option("--data", type=options.FOLDER, help="Folder of the task files that the records were made with.")
def verify(folder: Path, data: Path | None) -> None:
    """Check that the figures of every record add up.

    Scores are computed again from the predictions and labels that a record holds, its key from its settings, and the
    checksum of its data from the task file: that in --data, or for mini and midi the embedded. BLEU is computed again
    from a translation's statistics, and these from its texts. The exit code is 1 if something does not add up.

    \b
    probe verify results
    probe verify results/books --data books/
    """
    from probing.experiments.verifying import verify as verify_records

    count, wrong = verify_records(folder, data, lambda line: options.show_fitted(as_one_line(line)))
    options.show_fitted(f"{as_one_line(str(folder))}: {count - wrong} of {count} records add up")
    sys.exit(1 if wrong else 0)
