"""Annotations come back from the temporary file as they were, in order and at any place."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

from probing.corpus.builders.constituency import extract
from probing.corpus.builders.spool import Spool, pack
from probing.corpus.readers import ParsedSentence


def test_records_come_back(make_corpus: Callable[[int, int], list[ParsedSentence]], tmp_path: Path) -> None:
    found = [extract(sentence) for sentence in make_corpus(0, 40)]
    spool = Spool(tmp_path / "records")
    for priority, record in enumerate(found):
        spool.write(pack(priority, record))
    spool.finish()
    for reader in (spool, deepcopy(spool)):
        records = list(reader.records())
        assert [record for _, _, record in records] == found
        assert [priority for _, priority, _ in records] == list(range(40))
        assert [reader.fetch(place) for place, _, _ in reversed(records)] == found[::-1]
    spool.close()
    assert not spool.path.exists()


def test_an_empty_file_has_no_records(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "records")
    spool.finish()
    assert list(spool.records()) == []
    spool.close()
