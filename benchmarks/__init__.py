"""What the README's performance figures are made with: `python -m benchmarks` measures, `benchmarks.readme` writes."""
