"""Records become tables (terminal, Markdown, LaTeX, CSV, JSON), a page and figures."""

FORMATS = ("table", "markdown", "latex", "csv", "json", "html")
"""Formats of a report."""
FIGURES = ("dots", "curves", "confusion", "layers", "sweep", "bleu")
"""Kinds of figures for papers."""
