"""What readers are fed: sound samples with some edits, odd values in JSON, known words in any order, and raw bytes."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

ODD_BYTES = (
    b"",
    b"\0",
    b"\n",
    b"\r\n",
    b"\t",
    b" ",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\xed\xa0\x80",
    "\u2028\u202e\U0001f600".encode(),
    b"-1",
    b"1e999",
    b"9" * 5000,
    b"NaN",
    b"[" * 3000,
    b'{"":' * 2000,
    b"(" * 3000,
    b")" * 3000,
    b"../../x",
    b"x" * 5000,
)
ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**63,
    10**400,
    0.5,
    -1e308,
    1e308,
    5e-324,
    float("nan"),
    float("inf"),
    "",
    "\0",
    "\ud800",
    "../../x",
    "<script>|\\&$%#_{}",
    "x" * 3000,
    [],
    {},
    [[]],
    [0],
    {"": None},
    {"a": {"b": {"c": 1}}},
)
"""What may stand in JSON where something else is expected."""


def edited(samples: Sequence[bytes], words: Sequence[bytes] = ()) -> st.SearchStrategy[bytes]:
    """Give sound samples in which a few places are replaced, doubled or cut off, and bytes that were never sound."""
    mild = st.sampled_from([b"", b" ", b"\n", *words]) | st.text("ab01.-_ \t\n(", max_size=4).map(str.encode)
    chunk = mild | mild | st.sampled_from(ODD_BYTES) | st.binary(max_size=6)
    edit = st.tuples(st.integers(0, 2**16), st.integers(0, 12), chunk, st.booleans())
    edits = st.builds(_apply, st.sampled_from(list(samples)), st.lists(edit, min_size=1, max_size=3))
    pieces = st.lists(chunk, max_size=12).map(b"".join)
    return edits | edits | edits | pieces | st.binary(max_size=200)


def _apply(content: bytes, edits: Sequence[tuple[int, int, bytes, bool]]) -> bytes:
    for place, length, chunk, doubled in edits:
        start = place % (len(content) + 1)
        rest = start if doubled else start + length
        content = content[:start] + chunk + content[rest:]
    return content


def edited_json(samples: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """Give sound JSON samples in which a few values are odd, missing or under another name."""
    change = st.tuples(st.integers(0, 2**16), st.sampled_from(["set", "remove", "rename", "repeat"]), odd_values)
    changes = st.lists(change, min_size=1, max_size=3)
    return st.builds(_change, st.sampled_from([json.loads(sample) for sample in samples]), changes)


odd_values = st.sampled_from(ODD_VALUES) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def _change(content: Any, changes: Sequence[tuple[int, str, Any]]) -> bytes:
    content = copy.deepcopy(content)
    for place, action, value in changes:
        holders = list(_list_places(content))
        if not holders:
            break
        holder, key = holders[place % len(holders)]
        if action == "set":
            holder[key] = copy.deepcopy(value)
        elif action == "remove":
            del holder[key]
        elif action == "repeat" and isinstance(holder, list):
            holder.insert(key, holder[key])
        else:
            _rename(holder, key, value)
    return json.dumps(content).encode()


def _rename(holder: Any, key: Any, value: Any) -> None:
    held = holder.pop(key)
    if isinstance(holder, dict):
        holder[str(value)] = held


def _list_places(content: Any) -> Any:
    """Yield each holder with the key or place of something in it; long lists count as a few places."""
    keys = list(content) if isinstance(content, dict) else range(min(3, len(content)))
    for key in keys:
        yield content, key
        if isinstance(content[key], dict | list):
            yield from _list_places(content[key])
