"""Statistics on plain arrays: intervals, paired tests, corrections for their number, resampling, correlation."""

from probing.statistics.comparisons import Comparison, Test, average_comparisons, compare, holm
from probing.statistics.correlation import pearson
from probing.statistics.intervals import (
    Interval,
    accuracy_interval,
    add_parts,
    average_interval,
    compute_half,
    difference_interval,
    student_quantile,
    wilson_interval,
)
from probing.statistics.resampling import Part, Sample, learn_seeds
from probing.statistics.shrinkage import SeedPrior
