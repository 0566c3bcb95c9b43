"""Results: the identity of a cell, its record, the folder that keeps records, and how folders become one."""

from probing.results.identity import (
    FINE_TUNED,
    LABEL_CONTROLS,
    UNTRAINED,
    CellIdentity,
    Control,
    DataIdentity,
    Measure,
    ModelIdentity,
    TranslatorIdentity,
)
from probing.results.merging import merge
from probing.results.record import Record, Timing, read_record
from probing.results.scores import Counts, DescriptionLength, Scores
from probing.results.store import (
    EXPLANATION_ENDING,
    TRANSLATOR_ENDING,
    Store,
    find_record,
    read_sentences,
    translation_path,
    translator_folder,
)
from probing.results.translation_scores import ABSENT, RIGHT, WRONG, PairCounts, TestScores, TranslationScores
