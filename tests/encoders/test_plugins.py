"""Users' encoders: with arguments, with options of encoders, and as plain functions."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from probing.encoders.options import EncoderOptions
from probing.encoders.specification import find_encoder, find_recipes
from probing.errors import ProbingError

CPU = torch.device("cpu")
SENTENCES = [["the", "cat"], ["dogs"]]
PLUGIN = """
class Enc:
    def __init__(self, path, dim: int = 2, scale=1.0, loud: bool = False):
        self.row = [float(open(path).read()) * scale] * dim + [loud]
    def encode(self, sentences):
        return [self.row for _ in sentences]
class Layered:
    def __init__(self, layer: int = 0, pooling="mean", batch_size=8):
        self.row = [layer, len(pooling), batch_size]
    def encode(self, sentences):
        return [self.row for _ in sentences]
def embed(sentences):
    return [[len(tokens)] for tokens in sentences]
def embed_texts(texts: list[str], factor: int = 1):
    return [[factor * len(text)] for text in texts]
def make(path):
    return Enc(path)
class Loose:
    def __init__(self, **options): self.options = options
    def encode(self, sentences): return [[len(self.options)] for _ in sentences]
ready = Layered()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my.py").write_text(PLUGIN.replace("open(path).read()", "__import__('pathlib').Path(path).read_text()"))
    Path("vectors.txt").write_text("3")


def encode(spec: str, **options: Any) -> Any:
    return find_encoder(spec, EncoderOptions(**options)).load(CPU).encode(SENTENCES)


@pytest.mark.parametrize(
    ("spec", "row"),
    [
        ("my.py:Enc?path=vectors.txt", [3, 3, False]),
        ("my.py:Enc?path=vectors.txt&dim=1&scale=2", [6, False]),
        ("my.py:Enc?path=vectors.txt&dim=1&loud=true", [3, True]),
        ("my.py:make?path=vectors.txt", [3, 3, False]),
        ("my.py:Loose?a=1&b=x", [2]),
    ],
)
def test_arguments_are_given_in_their_types(spec: str, row: list[Any]) -> None:
    assert encode(spec)[0] == row


def test_arguments_are_part_of_the_settings_and_files_of_the_version() -> None:
    recipe = find_encoder("my.py:Enc?path=./vectors.txt&dim=1")
    assert recipe.settings == {"path": "vectors.txt", "dim": 1}
    before = recipe.full_version
    Path("vectors.txt").write_text("4")
    assert find_encoder("my.py:Enc?path=./vectors.txt&dim=1").full_version != before
    specs = ["my.py:Enc?path=vectors.txt", "my.py:Enc?path=vectors.txt&dim=3"]
    assert [recipe.label for recipe in find_recipes(specs)] == specs
    assert find_encoder(f"Mine={specs[0]}").label == "Mine"


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (
            "my.py:Enc",
            "encoder 'my.py:Enc' needs arguments that have no default: path. Give my.py:Enc?path=…",
        ),
        ("my.py:make", "encoder 'my.py:make' needs arguments that have no default: path. Give my.py:make?path=…"),
        ("my.py:Enc?dim=3", "needs arguments that have no default: path. Give my.py:Enc?dim=3&path=…"),
        ("my.py:Enc?path=x&size=3", "unknown argument 'size'. Known: path, dim, scale, loud"),
        ("my.py:Enc?path=vectors.txt&dim=x", "encoder 'my.py:Enc?path=vectors.txt&dim=x': dim must be int. Got 'x'"),
        ("my.py:Enc?vectors.txt", "unknown argument 'vectors.txt'"),
        ("my.py:ready?layer=3", "unknown argument 'layer'"),
        ("bag-of-words?x=1", "unknown argument 'x'. Known: none"),
        ("my.py:Enc?path=none.txt", "could not be made with path: FileNotFoundError"),
    ],
)
def test_wrong_arguments(spec: str, text: str) -> None:
    with pytest.raises(ProbingError) as error:
        find_encoder(spec)
    assert text in str(error.value)


def test_options_go_to_an_encoder_that_offers_them() -> None:
    assert encode("my.py:Layered", layer="3", pooling="max", batch_size=5)[0] == [3, 3, 5]
    recipe = find_encoder("my.py:Layered", EncoderOptions(layer="3", batch_size=5))
    assert recipe.settings == {"layer": 3}  # the batch size changes no vector
    found = find_recipes(["my.py:Layered", "length"], EncoderOptions(layer="2"))
    assert [recipe.settings for recipe in found] == [{"layer": 2}, {}]
    with pytest.raises(ProbingError, match=r"--prompt goes with --encoder hugg.* another encoder that offers it"):
        find_recipes(["my.py:Layered"], EncoderOptions(prompt="{text}"))


def test_a_plain_function_is_an_encoder() -> None:
    assert encode("my.py:embed") == [[2], [1]]
    assert encode("my.py:embed_texts") == [[7], [4]]
    assert encode("my.py:embed_texts?factor=2") == [[14], [8]]
    Path("short.py").write_text("def f(s):\n    return [[len(tokens)] for tokens in s]\n")
    assert encode("short.py:f") == [[2], [1]]


def test_a_function_that_asks_for_a_single_value_makes_an_encoder() -> None:
    Path("made.py").write_text("def make(table: str): ...\n")
    with pytest.raises(ProbingError, match=r"needs arguments that have no default: table. Give made.py:make\?table=…"):
        find_encoder("made.py:make")


def test_a_version_that_fails_is_named() -> None:
    Path("bad.py").write_text("class E:\n    def version(self): return 1 / 0\n    def encode(self, s): return [[1]]\n")
    with pytest.raises(ProbingError, match="encoder 'bad.py:E': its version failed: ZeroDivisionError: division by z"):
        find_encoder("bad.py:E")


class Api(http.server.BaseHTTPRequestHandler):
    """Embeds texts by their lengths, after a first request that fails."""

    requests: ClassVar[list[list[str]]] = []

    def do_POST(self) -> None:
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        self.requests.append(texts)
        failed = len(self.requests) == 1
        self.send_response(503 if failed else 200)
        self.end_headers()
        if not failed:
            data = [{"embedding": [len(text), 1.0]} for text in texts]
            self.wfile.write(json.dumps({"data": data}).encode())

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    Api.requests = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1/embeddings"
        server.shutdown()


def test_the_example_of_an_api_in_the_documents(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example posts batches, waits and tries again."""
    text = (Path(__file__).parents[2] / "docs" / "encoders.md").read_text(encoding="utf-8")
    example = text.partition("# my_api.py\n")[2].partition("```")[0]
    Path("my_api.py").write_text(example, encoding="utf-8")
    monkeypatch.setenv("EMBEDDINGS_URL", address)
    monkeypatch.setenv("EMBEDDINGS_KEY", "none")
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    vectors = np.array(encode("my_api.py:embed?model=small"))
    assert vectors.tolist() == [[7, 1], [4, 1]]
    assert Api.requests == [["the cat", "dogs"]] * 2
