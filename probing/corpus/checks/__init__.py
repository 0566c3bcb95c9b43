"""Checks of finished task files: format, balance, repeated sentences, and the rules of each task."""

from probing.corpus.checks.task_files import FileReport, check, check_file, render
