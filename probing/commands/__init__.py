"""The `probe` command: one module a command, each of which turns options into one call and prints the outcome."""

from probing.commands.aggregators import aggregators
from probing.commands.cache import cache
from probing.commands.compare import compare
from probing.commands.data import data
from probing.commands.describe import describe
from probing.commands.encoders import encoders
from probing.commands.explain import explain
from probing.commands.merge import merge
from probing.commands.plot import plot
from probing.commands.program import main
from probing.commands.report import report
from probing.commands.run import run
from probing.commands.sweep import sweep
from probing.commands.tasks import tasks
from probing.commands.translate import translate
from probing.commands.verify import verify

__all__ = ["main"]

for command in (
    run,
    sweep,
    report,
    compare,
    translate,
    merge,
    verify,
    plot,
    explain,
    describe,
    tasks,
    aggregators,
    encoders,
    cache,
    data,
):
    main.add_command(command)
