"""How the attention heads' outputs are put together: linear, or routing by agreement."""
