"""Halvic, a constructed language with German-like syntax into which the embedded grammar's sentences are translated."""

from probing.corpus.language.checks import Check, judge
from probing.corpus.language.interlinear import format_pair
from probing.corpus.language.phenomena import PHENOMENA, Phenomenon
from probing.corpus.language.transfer import LANGUAGE_CODE, LANGUAGE_NAME, LANGUAGE_VERSION, Pair, translate
