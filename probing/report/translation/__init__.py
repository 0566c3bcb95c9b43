"""Records of translations become the paper's Tables 2, 3 and 4, its claims, and a page."""

TABLES = ("components", "layers", "systems")
"""The paper's tables of translation: which attentions (Table 2), which layers (3), which architectures (4)."""
