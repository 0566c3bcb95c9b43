"""What the figures of docs/performance.md are made with: `python -m benchmarks` measures, `benchmarks.page` writes."""
