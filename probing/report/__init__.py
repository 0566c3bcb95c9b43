"""Results become the comparison table: on a terminal, in Markdown, in LaTeX, or as rows for other programs."""
