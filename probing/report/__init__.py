"""Records become tables (terminal, Markdown, LaTeX, CSV, JSON), a page and figures."""

FORMATS = ("table", "markdown", "latex", "csv", "json", "html")
FIGURES = ("dots", "curves", "confusion", "layers")
