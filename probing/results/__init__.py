"""Results: the identity of a cell, its record, the folder that keeps records, and how folders become one."""

from probing.results.identity import FINE_TUNED, UNTRAINED, CellIdentity, DataIdentity, Measure, ModelIdentity
from probing.results.merging import merge
from probing.results.record import Counts, DescriptionLength, Record, Scores, Timing, read_record
from probing.results.store import EXPLANATION_ENDING, Store, find_record, pausing_garbage_collection
