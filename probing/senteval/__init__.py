"""A drop-in for SentEval's probing tasks: `from probing import senteval` in the place of `import senteval`.

`senteval.engine.SE(params, batcher, prepare).eval(['Length', 'WordContent'])` works on a CPU or a GPU.
"""

from probing.senteval import engine, utils
from probing.senteval.engine import SE
