"""The options of encoders: layer, pooling, batch size and others, each for the encoders that offer it."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from probing.config import MODEL_DTYPES
from probing.errors import ProbingError, unknown

TEXT = "{text}"
"""Place of the sentence in a prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderOptions:
    """Options of encoders as the command line has them; None and False stand for an encoder's default."""

    layer: str | None = None
    pooling: str | None = None
    batch_size: int | None = None
    """Number of sentences that go through the model at a time; 0 stands for auto."""
    model_dtype: str | None = None
    device_map: str | None = None
    prompt: str | None = None
    no_special_tokens: bool = False
    detokenise: bool = False
    trust_remote_code: bool = False

    def __post_init__(self) -> None:
        if self.model_dtype is not None and self.model_dtype not in MODEL_DTYPES:
            raise unknown("model dtype", self.model_dtype, MODEL_DTYPES)
        if self.device_map not in (None, "auto"):
            raise ProbingError(f"--device-map must be auto. Got {self.device_map!r}")
        if self.batch_size is not None and self.batch_size < 0:
            raise ProbingError(f"--batch-size must be a number from 1, or auto. Got {self.batch_size}")

    @property
    def given(self) -> dict[str, Any]:
        """The options that were given, by name."""
        values = {item.name: getattr(self, item.name) for item in dataclasses.fields(self)}
        return {name: value for name, value in values.items() if value not in (None, False)}

    def only(self, names: Collection[str]) -> EncoderOptions:
        """Return only some of the options."""
        return EncoderOptions(**{name: value for name, value in self.given.items() if name in names})


DEFAULTS = EncoderOptions()


def spell(name: str) -> str:
    """Return an option as the command line spells it."""
    return f"--{name.replace('_', '-')}"


def check_prompt(prompt: str | None) -> None:
    """Refuse a prompt without a place for the sentence."""
    if prompt is not None and TEXT not in prompt:
        raise ProbingError(f"--prompt must have {TEXT} where the sentence stands. Got {prompt!r}")


def spell_text(tokens: list[str], *, detokenise: bool = False, prompt: str | None = None) -> str:
    """Return a sentence as a text: its tokens joined by spaces, or as prose, with the prompt around it."""
    text = detokenise_sentence(tokens) if detokenise else " ".join(tokens)
    return text if prompt is None else prompt.replace(TEXT, text)


def detokenise_sentence(tokens: list[str]) -> str:
    """Return a sentence of treebank tokens as prose: `ca n't` becomes `can't`, and commas stand where they belong."""
    from nltk.tokenize.treebank import TreebankWordDetokenizer

    brackets = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
    return str(TreebankWordDetokenizer().detokenize([brackets.get(token, token) for token in tokens]))
