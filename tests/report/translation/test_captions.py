"""Captions and notes say what a reader should know."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

from msgspec import structs

from probing.report.translation.tables import make_translation_tables
from tests.translations import BASE, COMPONENTS, SYSTEMS, Run, make_translation, vary

EM = Run("em", ("enc-self",), wrong=0.14)


def caption(runs: list[Run], **options: object) -> str:
    return make_translation_tables([make_translation(run) for run in runs], **options)[0].caption.full  # type: ignore[arg-type]


def notes(runs: list[Run], **options: object) -> list[str]:
    tables = make_translation_tables([make_translation(run) for run in runs], **options)  # type: ignore[arg-type]
    return list(tables[0].notes)


def test_a_caption_says_how_the_figures_were_made() -> None:
    text = caption(COMPONENTS)
    assert "Data: wmt14 En⇒De, newstest2014, 200 sentences. Preset: base." in text
    assert "sacrebleu: nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:" in text
    assert "Seed 0, ± half the 95 % interval over 1000 samples of the test sentences" in text
    assert "Decoding keeps the keys and values of both attentions; the paper's projects the encoder's output" in text


def test_seeds() -> None:
    assert "Mean of 3 seeds (0, 1, 2), ± half the 95 % interval over seeds (Student's)." in caption(vary([BASE, EM], 3))
    mixed = caption([*vary([BASE], 2), EM])
    assert "over seeds (Student's), or over samples of the test sentences where there is one seed." in mixed
    (table,) = make_translation_tables([make_translation(run) for run in vary([BASE, EM], 2)])
    assert "1000 samples, mean BLEU over seeds on each" in table.marks.full


def test_other_scores_are_means_over_seeds() -> None:
    records = [make_translation(run) for run in vary([BASE], 2)]
    (table,) = make_translation_tables(records)
    scores = [record.translation.test for record in records if record.translation]
    lowercase, chrf = fmean(one.bleu_lowercase for one in scores), fmean(one.chrf for one in scores)
    assert table.others == f"BLEU without regard to case, and chrF: Base {lowercase:.2f}, {chrf:.2f}."
    (table,) = make_translation_tables([make_translation(run) for run in SYSTEMS])
    assert "; EM, enc-self, layers 1,2 (Zh⇒En, big) " in table.others


def test_both_data_sets_of_a_table_are_named() -> None:
    text = caption(SYSTEMS)
    assert "Data: wmt14 En⇒De, newstest2014, 200 sentences; wmt17 Zh⇒En, newstest2017, 200 sentences." in text
    assert "Effective Aggregation: routing of encoder self-attention in the two lowest layers." in text


def test_missing_seeds_and_test_sets() -> None:
    assert notes([*vary([BASE], 3), EM]) == ["not run with seeds 1, 2: EM, enc-self"]
    assert notes([replace(BASE, tests=("a", "b")), replace(EM, tests=("a",))], test="b") == [
        "not tested on b: EM, enc-self"
    ]


def test_speeds_of_different_places() -> None:
    assert notes([BASE, replace(EM, processor="Epyc", threads=4)]) == [
        "the speeds cannot be compared, because they were measured in different places: processor Epyc, Xeon; "
        "threads 2, 4"
    ]


def test_sentences_that_occur_in_training() -> None:
    record = make_translation(BASE)
    assert record.translation is not None
    pairs = structs.replace(record.translation.pairs, seen={"newstest2014": 12})
    seen = structs.replace(record, outcome=structs.replace(record.translation, pairs=pairs))
    (table,) = make_translation_tables([seen])
    assert table.notes == ["12 of the 200 sentences of newstest2014 occur in training"]


def test_other_data_than_the_papers_are_named() -> None:
    assert notes(COMPONENTS, against_paper=True) == []
    other = [replace(run, data="multi30k", preset="tiny") for run in (BASE, EM)]
    assert notes(other, against_paper=True) == [
        "the paper's figures are of WMT14 En⇒De and Transformer-Base, these of multi30k En⇒De, preset tiny"
    ]


def test_without_em_there_is_nothing_to_claim() -> None:
    assert notes([BASE], against_paper=True) == [
        "the paper's claims are about EM routing in all layers, which has no results here"
    ]
