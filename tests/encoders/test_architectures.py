"""Models of several architectures, made from small random configurations, against a loop over single sentences."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    AutoModel,
    BertConfig,
    BertModel,
    GPT2Config,
    PreTrainedTokenizerFast,
    RobertaConfig,
    T5Config,
    T5EncoderModel,
)

from probing.encoders.huggingface import HuggingFaceEncoder, ModelSettings
from probing.encoders.options import EncoderOptions
from probing.encoders.specification import find_encoder
from probing.errors import ProbingError

CPU = torch.device("cpu")
WORDS = ["<pad>", "<s>", "</s>", "<unk>", *"abcdefghij", "can't", "ca", "n't", "query"]
SENTENCES = [list(text) for text in ("a", "abcdefg", "jih", "abc", "aabbccdde", "de")] + [["ca", "n't", "a"]]
SIZES: dict[str, Any] = {"vocab_size": len(WORDS), "hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2}
CONFIGS: dict[str, Callable[[], Any]] = {
    "bert": lambda: BertConfig(intermediate_size=16, max_position_embeddings=12, **SIZES),
    "roberta": lambda: RobertaConfig(intermediate_size=16, max_position_embeddings=12, pad_token_id=0, **SIZES),
    "gpt2": lambda: GPT2Config(n_embd=16, n_layer=3, n_head=2, n_positions=12, vocab_size=len(WORDS)),
    "t5": lambda: T5Config(d_model=16, num_layers=3, num_decoder_layers=1, d_kv=8, d_ff=16, num_heads=2, vocab_size=30),
}


@pytest.fixture(params=CONFIGS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def folder(kind: str, tmp_path: Path) -> Path:
    """Save a model and its tokenizer, which pads on the left if it is a decoder's."""
    torch.manual_seed(0)
    AutoModel.from_config(CONFIGS[kind]()).save_pretrained(tmp_path / kind)
    words = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    if kind == "gpt2":
        del special["pad_token"]
    else:
        pattern = "<s> $A </s>" if kind != "t5" else "$A </s>"
        words.post_processor = processors.TemplateProcessing(single=pattern, special_tokens=[("<s>", 1), ("</s>", 2)])
    side = "left" if kind == "gpt2" else "right"
    PreTrainedTokenizerFast(tokenizer_object=words, padding_side=side, **special).save_pretrained(tmp_path / kind)
    return tmp_path / kind


def compute(folder: Path, ids: list[int], pooling: str = "mean") -> NDArray[Any]:
    """Return the pooled states (layers, d) of one sentence."""
    kind = T5EncoderModel if folder.name == "t5" else AutoModel
    with torch.no_grad():
        states = kind.from_pretrained(folder).eval()(torch.tensor([ids]), output_hidden_states=True).hidden_states
    pool = {"mean": lambda s: s.mean(0), "cls": lambda s: s[0], "max": lambda s: s.amax(0), "last": lambda s: s[-1]}
    return np.stack([pool[pooling](layer[0]).numpy() for layer in states])


def number(folder: Path, tokens: list[str], special: bool = True) -> list[int]:
    ids = [WORDS.index(token) for token in tokens]
    before, after = {"gpt2": ([], []), "t5": ([], [2])}.get(folder.name, ([1], [2]))
    return [*before, *ids, *after] if special else ids


@pytest.mark.parametrize("pooling", ["mean", "cls", "max", "last"])
def test_every_layer_is_what_the_model_gives_for_the_sentence_alone(folder: Path, pooling: str) -> None:
    options = EncoderOptions(layer="all", pooling=pooling)
    encoder = find_encoder(f"huggingface:{folder}", options).load(CPU)
    expected = np.stack([compute(folder, number(folder, tokens), pooling) for tokens in SENTENCES])
    np.testing.assert_allclose(encoder.encode(SENTENCES), expected, atol=1e-5)
    streamed = np.concatenate(list(encoder.encode_stream([SENTENCES[:3], SENTENCES[3:]])))
    np.testing.assert_allclose(streamed, expected, atol=1e-5)


@pytest.mark.parametrize(("layer", "expected"), [("-1", (3,)), ("-4", (0,)), ("1-2", (1, 2)), ("0,2-3", (0, 2, 3))])
def test_layers(folder: Path, layer: str, expected: tuple[int, ...]) -> None:
    recipe = find_encoder(f"huggingface:{folder}", EncoderOptions(layer=layer))
    assert recipe.layers == expected
    vectors = recipe.load(CPU).encode(SENTENCES)
    everything = find_encoder(f"huggingface:{folder}", EncoderOptions(layer="all")).load(CPU).encode(SENTENCES)
    np.testing.assert_allclose(vectors, everything[:, list(expected)], atol=1e-6)


def test_sentences_longer_than_the_model_takes_are_cut(folder: Path) -> None:
    long = [["a", "b"] * 20]
    encoder: HuggingFaceEncoder = find_encoder(f"huggingface:{folder}").load(CPU)
    limit = {"bert": 12, "roberta": 11, "gpt2": 12, "t5": None}[folder.name]  # RoBERTa counts from after the padding
    assert encoder.max_length == limit
    ids = number(folder, long[0])
    if limit is not None:
        ids = [*ids[: limit - 1], ids[-1]] if folder.name != "gpt2" else ids[:limit]
    np.testing.assert_allclose(encoder.encode(long)[0, 0], compute(folder, ids)[-1], atol=1e-5)


def test_no_special_tokens_a_prompt_and_prose(folder: Path) -> None:
    def encode(**options: Any) -> NDArray[Any]:
        vectors: NDArray[Any] = (
            find_encoder(f"huggingface:{folder}", EncoderOptions(**options))
            .load(CPU)
            .encode([["ca", "n't", "a"]])[0, 0]
        )
        return vectors

    expected = compute(folder, number(folder, ["ca", "n't", "a"], special=False))[-1]
    np.testing.assert_allclose(encode(no_special_tokens=True), expected, atol=1e-5)
    expected = compute(folder, number(folder, ["query", "ca", "n't", "a", "b"]))[-1]
    np.testing.assert_allclose(encode(prompt="query {text} b"), expected, atol=1e-5)
    np.testing.assert_allclose(encode(detokenise=True), compute(folder, number(folder, ["can't", "a"]))[-1], atol=1e-5)


def test_a_model_keeps_its_own_type(folder: Path) -> None:
    AutoModel.from_pretrained(folder).to(torch.bfloat16).save_pretrained(folder)
    recipe = find_encoder(f"huggingface:{folder}")
    assert recipe.settings == {"pooling": "mean", "model_dtype": "bfloat16"}
    encoder = recipe.load(CPU)
    assert encoder.model.dtype == torch.bfloat16
    assert encoder.encode(SENTENCES).dtype == np.float32
    whole = find_encoder(f"huggingface:{folder}", EncoderOptions(model_dtype="float32"))
    assert whole.settings == {"pooling": "mean"}
    np.testing.assert_allclose(whole.load(CPU).encode(SENTENCES), encoder.encode(SENTENCES), atol=0.1)


def test_fewer_sentences_at_a_time_when_memory_lacks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = find_encoder(f"huggingface:{folder}", EncoderOptions(batch_size=7)).load(CPU)
    expected, sizes, run = encoder.encode(SENTENCES), [], encoder._run

    def lack(batch: Any) -> Any:
        sizes.append(len(batch["input_ids"]))
        if sizes[-1] > 2:
            raise RuntimeError("CUDA out of memory. Tried to allocate 1 GiB")
        return run(batch)

    monkeypatch.setattr(encoder, "_run", lack)
    np.testing.assert_allclose(encoder.encode(SENTENCES), expected, atol=1e-5)
    assert sizes == [7, 3, 1, 1, 1, 1, 1, 1, 1]
    monkeypatch.setattr(encoder, "_run", lambda batch: lack({"input_ids": range(9)}))
    with pytest.raises(ProbingError, match="a single sentence is more than the memory can hold"):
        encoder.encode(SENTENCES)


def test_the_untrained_form(folder: Path) -> None:
    recipe = find_encoder(f"huggingface:{folder}")
    first, again = (recipe.untrained(1).load(CPU).encode(SENTENCES) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - recipe.load(CPU).encode(SENTENCES)).max() > 1e-3


OWN_CODE = """
from pathlib import Path
from transformers import BertConfig, BertModel

Path(__RAN__).touch()


class OwnConfig(BertConfig):
    model_type = "own"


class OwnModel(BertModel):
    config_class = OwnConfig

    def forward(self, *inputs, **options):
        output = super().forward(*inputs, **options)
        output["hidden_states"] = tuple(2 * states for states in output.hidden_states)
        return output
"""


@pytest.fixture
def own_code(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the model's folder code of its own, which doubles the states and leaves a file `ran` behind."""
    from transformers import dynamic_module_utils

    config = json.loads((folder / "config.json").read_text("utf-8"))
    config |= {"model_type": "own", "architectures": ["OwnModel"]}
    config["auto_map"] = {"AutoConfig": "own.OwnConfig", "AutoModel": "own.OwnModel"}
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    (folder / "own.py").write_text(OWN_CODE.replace("__RAN__", repr(str(tmp_path / "ran"))), "utf-8")
    monkeypatch.setattr(dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr("sys.path", [*sys.path])
    return folder


@pytest.mark.parametrize("kind", ["bert"])
@pytest.mark.parametrize("adapter", ["huggingface", "sentence-transformers"])
def test_code_of_a_model_is_refused_unless_it_is_trusted(own_code: Path, tmp_path: Path, adapter: str) -> None:
    with pytest.raises(ProbingError) as error:
        find_encoder(f"{adapter}:{own_code}").load(CPU)
    assert str(error.value) == (
        f"encoder '{adapter}:{own_code}' needs code of its own to be run. Give --trust-remote-code if you trust it"
    )
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("kind", ["bert"])
def test_code_of_a_model_runs_if_it_is_trusted(own_code: Path, tmp_path: Path) -> None:
    encoder = find_encoder(f"huggingface:{own_code}", EncoderOptions(trust_remote_code=True)).load(CPU)
    assert (tmp_path / "ran").exists()
    plain = BertModel.from_pretrained(own_code, config=BertConfig.from_pretrained(own_code))
    with torch.no_grad():
        ids = torch.tensor([number(own_code, list("abc"))])
        expected = 2 * plain.eval()(ids).last_hidden_state[0].mean(0).numpy()
    np.testing.assert_allclose(encoder.encode([list("abc")])[0, 0], expected, atol=1e-5)


@pytest.mark.parametrize("kind", ["bert"])
def test_other_code_of_a_model_is_another_version(own_code: Path) -> None:
    options = EncoderOptions(trust_remote_code=True)
    before = find_encoder(f"huggingface:{own_code}", options).version
    code = own_code / "own.py"
    code.write_text(code.read_text("utf-8").replace("2 * states", "3 * states"), "utf-8")
    assert find_encoder(f"huggingface:{own_code}", options).version != before


def test_a_model_spread_over_devices_gives_the_same_vectors(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("accelerate", reason="--device-map needs it")
    recipe = find_encoder(f"huggingface:{folder}", EncoderOptions(device_map="auto", layer="all"))
    plain = find_encoder(f"huggingface:{folder}", EncoderOptions(layer="all"))
    assert recipe.settings == plain.settings  # where a model lies changes no vector
    asked: list[Any] = []
    load = AutoModel.from_pretrained
    monkeypatch.setattr(
        AutoModel, "from_pretrained", lambda *a, **k: asked.append(k.get("device_map")) or load(*a, **k)
    )
    spread = recipe.load(CPU)
    assert asked == ["auto"]
    np.testing.assert_allclose(spread.encode(SENTENCES), plain.load(CPU).encode(SENTENCES), atol=1e-5)


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_weights_that_lie_elsewhere_are_fetched_when_they_are_needed(folder: Path) -> None:
    accelerate = pytest.importorskip("accelerate", reason="--device-map needs it")
    plain = find_encoder(f"huggingface:{folder}").load(CPU)
    expected = plain.encode(SENTENCES)
    model = accelerate.cpu_offload(plain.model, execution_device=CPU)
    assert {parameter.device.type for parameter in model.parameters()} == {"meta"}
    settings = ModelSettings(device_map="auto")
    spread = HuggingFaceEncoder(model, plain.tokenizer, plain.layers, settings, CPU)
    np.testing.assert_allclose(spread.encode(SENTENCES), expected, atol=1e-5)


def test_devices_need_another_library(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformers.integrations.accelerate.is_accelerate_available", lambda *version: False)
    with pytest.raises(ProbingError, match="--device-map needs a library that is not installed: pip install accel"):
        find_encoder(f"huggingface:{folder}", EncoderOptions(device_map="auto")).load(CPU)
