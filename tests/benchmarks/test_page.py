"""The page about performance holds the figures, says which goals are missed, and goes between its markers."""

from __future__ import annotations

import pytest

from benchmarks.page import END, START, insert, write_section

MACHINE = {"processor": "A Processor", "cores": 2, "python": "3.11.2", "torch": "2.13.0"}
CONDITIONS = {"threads": 2, "clock": "wall", "rounds": 3, "implementation": "fused kernels", "machine": MACHINE}


def step(time_ratio, memory_ratio):
    return {"milliseconds": 12.3, "time_ratio": time_ratio, "megabytes": 45.6, "memory_ratio": memory_ratio}


def make_results(em_memory):
    epoch = {"tokens_per_second": 12_345.0, "seconds": 1.5, "plain_seconds": 6.0, "speedup": 4.0, "padding": 0.021}
    figures = {
        "routing": {size: {"simple": step(1.1, 1.2), "em": step(1.12, em_memory)} for size in ("paper", "small")},
        "epochs": {"small": {"em": epoch}},
        "products": {"paper": {"em": {"milliseconds": 100.0, "products_milliseconds": 80.0, "share": 0.8}}},
        "running": {
            "read_seconds": 1.24,
            "cached_seconds": 0.05,
            "start_seconds": 2.5,
            "jobs": {"one_process_seconds": 10.0, "two_processes_seconds": 7.0, "ratio": 0.7},
        },
        "growth": {"T": {"1": {"milliseconds": 10.0, "megabytes": 5.0}, "3": {"milliseconds": 14.0, "megabytes": 6.0}}},
        "reporting": {"100": {"seconds": 0.5}, "10000": {"seconds": 2.44}},
        "corpus": {
            "penn_speedup": 5.04,
            "conllu_speedup": 4.0,
            "large": {
                "1": {"seconds": 180.4, "trees_per_second": 5543.2},
                "2": {"seconds": 100.0, "trees_per_second": 10_000.0},
            },
        },
    }
    return {name: {"conditions": CONDITIONS, "figures": each} for name, each in figures.items()}


def test_the_section_names_the_machine_and_the_figures():
    section = write_section(make_results(em_memory=1.25))
    assert "on A Processor, 2 cores, 2 threads; Python 3.11.2, torch 2.13.0; routing by fused kernels." in section
    assert "| em | 12 | 1.12x | 46 | 1.25x | 12 | 1.12x | 46 | 1.25x |" in section
    assert "1.3x memory; met." in section
    assert "| small | em | 12,345 | 1.50 | 6.00 | 4.0 |" in section
    assert "Padding takes 2.1 % at small size of a step of em" in section
    assert "| paper | em | 100 | 80 | 80 % |" in section
    assert "side by side with `--jobs 2` (0.70x)" in section
    assert "| T = 1, 3 | 10, 14 | 5, 6 |" in section
    assert "takes 0.5 s for 100, 2.4 s for 10,000 of them (goal: 3 s for 10,000)." in section
    assert "1,000,000 trees in 180 s by one process (5,543 trees a second; goal: 5,000) and in 100 s by two" in section


def test_a_goal_that_is_missed_is_said():
    section = write_section(make_results(em_memory=1.35))
    assert "missed by em's memory at paper size, em's memory at small size." in section


def test_parts_that_were_not_measured_are_left_out():
    section = write_section({"routing": make_results(1.2)["routing"]})
    assert "**Routing.**" in section
    assert "**Epochs.**" not in section


def test_the_section_replaces_what_stands_between_the_markers():
    text = f"# Title\n\n{START}\nold\n{END}\n\n## Next\n"
    assert insert(text, "new") == f"# Title\n\n{START}\nnew\n{END}\n\n## Next\n"
    assert insert(insert(text, "new"), "new") == insert(text, "new")


@pytest.mark.parametrize("text", ["no markers", START, f"{END} {START}"])
def test_a_page_without_markers(text):
    with pytest.raises(SystemExit, match="docs/performance.md has no <!-- performance --> … <!-- /performance -->"):
        insert(text, "new")
