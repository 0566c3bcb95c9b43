"""Records of translations become the paper's Tables 2, 3 and 4, its claims, a table of phenomena, and a page."""

TABLES = ("components", "layers", "systems", "phenomena")
"""The paper's tables of translation: which attentions (Table 2), which layers (3), which architectures (4).

`phenomena` is about text in the constructed language: how well each system translates what.
"""
