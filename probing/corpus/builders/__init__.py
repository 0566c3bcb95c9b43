"""Builders of task files in SentEval's format from any parsed corpus."""

from probing.corpus.builders.building import build, choose_tasks
from probing.corpus.builders.files import build_files
