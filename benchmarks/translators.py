"""The translators that are compared: the project's, and the same sizes in torch.nn, Marian and CTranslate2.

Their weights are random. No translation ends before its limit, so that all candidates search equally long.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import io
import math
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from probing.aggregators.em import EMAggregator
from probing.aggregators.linear import LinearAggregator
from probing.config import RoutingConfig
from probing.model import build_aggregator, make_embedding, sinusoids
from probing.native import products_in
from probing.tasks import Integers
from probing.training.optimizer import Optimizer
from probing.translation.encoder_decoder import EncoderDecoder, build_encoder_decoder
from probing.translation.objective import DevText, TranslationObjective
from probing.translation.pair_batches import ParallelSplit
from probing.translation.search import SENTENCES
from probing.translation.settings import TRANSLATION_PRESETS, SearchConfig, TranslationTrainingConfig, TranslatorConfig
from probing.translation.subwords import BEGIN, END

CPU = torch.device("cpu")
PADDING = 0
SMOOTHING = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """A preset's model with a vocabulary, and the work that it is measured on."""

    preset: str
    vocabulary: int
    batch_tokens: int
    """Number of tokens in a batch, on the longer side of each pair."""
    pairs: int
    """Number of pairs of an epoch."""
    sentences: int
    """Number of sentences that are decoded."""

    @property
    def model(self) -> TranslatorConfig:
        return TRANSLATION_PRESETS[self.preset].model


def draw_lengths(count: int, *, seed: int = 0) -> Integers:
    """Return lengths of sentences like those of image captions: 4 to 40 subwords, 13 on average."""
    drawn = np.random.default_rng(seed).gamma(4.0, 2.25, count)
    return np.clip(np.rint(4 + drawn), 4, 40).astype(np.int64)


def draw_pairs(count: int, vocabulary: int, *, seed: int = 0) -> ParallelSplit:
    """Return random pairs, whose targets are up to a fifth shorter or longer than their sources."""
    random = np.random.default_rng(seed + 1)
    lengths = draw_lengths(count, seed=seed)
    sides = []
    for side in (lengths, np.maximum(2, np.rint(lengths * random.uniform(0.8, 1.2, count)).astype(np.int64))):
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(side)])
        tokens = random.integers(END + 1, vocabulary, offsets[-1])
        tokens[offsets[1:] - 1] = END
        sides += [tokens, offsets]
    return ParallelSplit(*sides)


def draw_sources(count: int, length: int, vocabulary: int) -> list[list[int]]:
    """Return random sources of equal length, without the end."""
    return cast("list[list[int]]", np.random.default_rng(0).integers(END + 1, vocabulary, (count, length)).tolist())


def build_translator(size: Size, apply: Sequence[str] = (), *, implementation: str = "auto") -> EncoderDecoder:
    """Return the project's model with em in the attentions named, always with the same weights."""
    torch.manual_seed(0)
    config = dataclasses.replace(size.model, apply=tuple(apply))  # type: ignore[arg-type]
    routing = RoutingConfig(implementation=implementation)  # type: ignore[arg-type]
    return build_encoder_decoder(EMAggregator, config, routing, vocabulary_sizes=(size.vocabulary, size.vocabulary))


def forbid_end(model: EncoderDecoder) -> EncoderDecoder:
    """Change a model so that it never ends a translation by itself."""
    with torch.no_grad():
        model.decoder.norm.bias.fill_(1.0)
        model.output.weight -= model.output.weight.mean(1, keepdim=True)  # so that the others do not see the bias
        model.output.weight[END] = -1.0
    return model.eval()


def train_packed(model: EncoderDecoder, size: Size, split: ParallelSplit) -> Callable[[], None]:
    """Return a call that trains the project's model for an epoch, as `probe translate run` does."""
    settings = TranslationTrainingConfig(batch_tokens=size.batch_tokens, label_smoothing=SMOOTHING)
    dev = DevText(split, [], cast(Any, None))
    objective = TranslationObjective(model, split, dev, settings, SearchConfig(), device=CPU)
    optimizer = Optimizer(model, learning_rate=1e-4, warmup_steps=100, clip_norm=0.0)

    def train() -> None:
        model.train()
        with products_in(torch.float32, CPU):
            for update in objective.batches(np.arange(len(split))):
                optimizer.step(objective.losses(update))

    return train


class WrittenAttention(nn.Module):
    """Attention written out, with an aggregator; takes the place of nn.MultiheadAttention."""

    batch_first = True

    def __init__(self, sizes: TranslatorConfig) -> None:
        super().__init__()
        width = sizes.model_dim
        self.num_heads = sizes.num_heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        settings = dataclasses.asdict(sizes) | {"implementation": "reference"}
        self.aggregator = build_aggregator(EMAggregator, width, sizes.num_heads, settings)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        key_padding_mask: Tensor | None = None,
        **_: object,
    ) -> tuple[Tensor, None]:
        batch, length, width = query.shape
        queries, keys, values = (
            layer(each).view(batch, each.shape[1], self.num_heads, -1).transpose(1, 2)
            for layer, each in ((self.query, query), (self.key, key), (self.value, value))
        )
        energies = queries @ keys.transpose(2, 3) / math.sqrt(width // self.num_heads)
        for mask in (attn_mask, None if key_padding_mask is None else key_padding_mask[:, None, None, :]):
            energies = energies if mask is None else energies + mask
        heads = (energies.softmax(-1) @ values).transpose(1, 2).reshape(batch * length, self.num_heads, -1)
        return self.aggregator(heads).view(batch, length, width), None


class PaddedTranslator(nn.Module):
    """torch.nn.Transformer on padded batches; `routed` has em in plain torch operations in all three attentions.

    Dropout falls where the project has it: on the embeddings and on what each block adds.
    """

    def __init__(self, size: Size, *, routed: bool = False) -> None:
        super().__init__()
        sizes = size.model
        width, tied = sizes.model_dim, sizes.tie == "all"
        self.embeddings = nn.ModuleList(make_embedding(size.vocabulary, width) for _ in range(1 if tied else 3))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "enable_nested_tensor is True")
            self.transformer = nn.Transformer(
                width,
                sizes.num_heads,
                sizes.num_layers,
                sizes.num_layers,
                sizes.feed_forward_dim,
                sizes.dropout,
                batch_first=True,
                norm_first=True,
            )
        self.dropout = nn.Dropout(sizes.dropout)
        self.register_buffer("positions", sinusoids(torch.arange(256), width))
        for layer in (*self.transformer.encoder.layers, *self.transformer.decoder.layers):
            layer.dropout.p = 0.0
            for name, module in list(layer.named_children()):
                if isinstance(module, nn.MultiheadAttention):
                    module.dropout = 0.0
                    if routed:
                        setattr(layer, name, WrittenAttention(sizes))

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Return the scores of the next subword, (pairs, L, V)."""
        embedded = [
            self.dropout(embedding(tokens) * math.sqrt(embedding.embedding_dim) + self.positions[: tokens.shape[1]])
            for embedding, tokens in ((self.embeddings[0], source), (self.embeddings[-2:][0], target))
        ]
        padding = torch.zeros(source.shape).masked_fill_(source == PADDING, -math.inf)
        hidden = self.transformer(
            *embedded,
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(target.shape[1]),
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        return functional.linear(hidden, self.embeddings[-1].weight)


def pad_pairs(split: ParallelSplit, rows: Integers) -> tuple[Tensor, Tensor, Tensor]:
    """Return sources, targets as the decoder reads them, and as it should continue them, padded."""
    sides = [
        [torch.from_numpy(tokens[offsets[row] : offsets[row + 1]]) for row in rows]
        for tokens, offsets in (
            (split.source_tokens, split.source_offsets),
            (split.target_tokens, split.target_offsets),
        )
    ]
    begin = torch.tensor([BEGIN])
    read = [torch.cat([begin, sentence[:-1]]) for sentence in sides[1]]
    source, before, after = (pad_sequence(each, batch_first=True) for each in (sides[0], read, sides[1]))
    return source, before, after


def train_padded(model: PaddedTranslator, size: Size, split: ParallelSplit) -> Callable[[], None]:
    """Return a call that trains a padded model for an epoch of the same batches, with torch.optim.Adam."""
    adam = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)

    def train() -> None:
        model.train()
        for rows in split.groups(np.arange(len(split)), size.batch_tokens):
            source, before, after = pad_pairs(split, rows)
            scores = model(source, before)
            loss = functional.cross_entropy(
                scores.flatten(0, 1), after.flatten(), ignore_index=PADDING, label_smoothing=SMOOTHING
            )
            adam.zero_grad()
            loss.backward()
            adam.step()

    return train


def decode_with_marian(size: Size, sources: Sequence[Sequence[int]], beam: int) -> Callable[[], object]:
    """Return a call that decodes the sources with Hugging Face's `generate`, some at a time and to their length + 1."""
    from transformers import MarianConfig, MarianMTModel

    sizes = size.model
    each = {"layers": sizes.num_layers, "ffn_dim": sizes.feed_forward_dim, "attention_heads": sizes.num_heads}
    config = MarianConfig(
        vocab_size=size.vocabulary,
        d_model=sizes.model_dim,
        activation_function="relu",
        scale_embedding=True,
        pad_token_id=PADDING,
        eos_token_id=END,
        forced_eos_token_id=END,
        decoder_start_token_id=BEGIN,
        **{f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in each.items()},
    )
    model = MarianMTModel(config).eval()
    tokens = torch.tensor([[*source, END] for source in sources])
    steps = tokens.shape[1]
    options = {"num_beams": beam, "min_new_tokens": steps, "max_new_tokens": steps, "do_sample": False}

    def decode() -> Tensor:
        with torch.inference_mode():  # as many at a time as the project takes
            parts = tokens.split(SENTENCES)
            output = torch.cat(
                [model.generate(part, attention_mask=torch.ones_like(part), **options) for part in parts]
            )
        assert output.shape[1] == steps + 1
        return output

    return decode


def has_ctranslate2() -> bool:
    """Return whether CTranslate2 is installed (`pip install ctranslate2`)."""
    return importlib.util.find_spec("ctranslate2") is not None


def convert_to_ctranslate2(model: EncoderDecoder, *, threads: int) -> Any:
    """Return a CTranslate2 translator in float32 with the weights of a model that has no routing."""
    import ctranslate2

    encoder, decoder = model.encoder, model.decoder
    heads = cast(Any, encoder.layers[0]).attention.num_heads
    spec = ctranslate2.specs.TransformerSpec.from_config((len(encoder.layers), len(decoder.layers)), heads)
    for side, stack in ((spec.encoder, encoder), (spec.decoder, decoder)):
        embedding = side.embeddings[0] if isinstance(side.embeddings, list) else side.embeddings
        embedding.weight = stack.embedding.weight.detach().numpy()
        side.position_encodings.encodings = sinusoids(torch.arange(512), stack.embedding.embedding_dim).numpy()
        _set(side.layer_norm, gamma=stack.norm.weight, beta=stack.norm.bias)
    _set(spec.decoder.projection, weight=model.output.weight)
    for layer, ours in zip(spec.encoder.layer, cast(Any, encoder.layers), strict=True):
        _set_attention(layer.self_attention, ours.attention_norm, ours.attention, (3,))
        _set_feed_forward(layer.ffn, ours)
    for layer, ours in zip(spec.decoder.layer, cast(Any, decoder.layers), strict=True):
        _set_attention(layer.self_attention, ours.self_attention_norm, ours.self_attention, (3,))
        _set_attention(layer.attention, ours.memory_attention_norm, ours.memory_attention, (1, 2))
        _set_feed_forward(layer.ffn, ours)
    names = ["<unk>", "<s>", "</s>", *(str(number) for number in range(END + 1, len(model.output.weight)))]
    spec.register_source_vocabulary(names[: encoder.embedding.num_embeddings])
    spec.register_target_vocabulary(names)
    spec.config.add_source_eos = True
    spec.config.decoder_start_token = "<s>"
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        spec.validate()
        spec.save(folder)
        return ctranslate2.Translator(folder, compute_type="float32", intra_threads=threads)


def _set(part: Any, **tensors: Tensor) -> None:
    for name, tensor in tensors.items():
        setattr(part, name, tensor.detach().contiguous().numpy())


def _set_attention(part: Any, norm: nn.LayerNorm, attention: Any, groups: tuple[int, ...]) -> None:
    """Set an attention's weights; queries, keys and values are projected in groups of so many."""
    assert isinstance(attention.aggregator, LinearAggregator)
    _set(part.layer_norm, gamma=norm.weight, beta=norm.bias)
    width, start = norm.weight.numel(), 0
    for linear, group in zip(part.linear, groups, strict=False):
        rows = slice(start * width, (start + group) * width)
        _set(linear, weight=attention.query_key_value.weight[rows], bias=attention.query_key_value.bias[rows])
        start += group
    output = attention.aggregator.output
    _set(part.linear[-1], weight=output.weight, bias=output.bias)


def _set_feed_forward(part: Any, layer: Any) -> None:
    _set(part.layer_norm, gamma=layer.feed_forward_norm.weight, beta=layer.feed_forward_norm.bias)
    for linear, ours in ((part.linear_0, layer.feed_forward[0]), (part.linear_1, layer.feed_forward[2])):
        _set(linear, weight=ours.weight, bias=ours.bias)
