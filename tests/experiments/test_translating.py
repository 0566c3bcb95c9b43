"""The cells of a translation run: the paper's rows for stacks of any depth, names, presets, shards, plans."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch

from probing.display import Display
from probing.errors import ProbingError
from probing.experiments.options import Place, SettingOptions
from probing.experiments.translating import (
    TextOptions,
    TranslationExperiment,
    Variant,
    choose_variants,
    list_rows,
    name_layers,
    plan_translation_cells,
    plan_translations,
)
from probing.experiments.translation_cells import TranslatorCell
from probing.report.translation.paper import COMPONENTS, LAYERS
from probing.translation.parallel_files import ParallelFiles, find_parallel_files
from probing.translation.settings import TRANSLATION_PRESETS
from tests.translation.toy import write_toy_corpus

CPU = torch.device("cpu")

SELF = ("enc-self",)
TINY = TRANSLATION_PRESETS["tiny"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> ParallelFiles:
    return find_parallel_files(write_toy_corpus(tmp_path_factory.mktemp("data") / "toy", train=20), "en-xx")


def plan(corpus: ParallelFiles, *, processes: int = 1, **options: Any) -> list[TranslatorCell]:
    settings = SettingOptions(
        **{name: options.pop(name) for name in ("preset", "seeds", "settings") if name in options}
    )
    text = TextOptions(folder=corpus.train.source.parent)
    experiment = TranslationExperiment(settings=settings, text=text, **options)
    return plan_translation_cells(experiment, corpus, CPU, processes=processes)


def label(cells: list[TranslatorCell]) -> list[str]:
    return [cell.identity.model.label for cell in cells]


# Rows of the paper


def test_the_rows_of_table_2_are_the_papers() -> None:
    rows = list_rows("components", 6)
    assert [(row.aggregator, row.apply) for row in rows] == list(COMPONENTS)
    assert all(row.layers == () for row in rows)


def test_the_rows_of_table_3_are_the_papers() -> None:
    base, *routed = list_rows("layers", 6)
    assert base == Variant("base")
    assert [row.layers for row in routed] == list(LAYERS)[1:]
    assert {(row.aggregator, row.apply) for row in routed} == {("em", SELF)}


def test_the_rows_of_table_4_are_base_and_the_two_lowest_layers() -> None:
    assert list_rows("systems", 6) == [Variant("base"), Variant("em", SELF, (1, 2))]


@pytest.mark.parametrize(
    ("depth", "labels"),
    [
        (1, ["Base", "EM, enc-self"]),
        (2, ["Base", "EM, enc-self", "EM, enc-self, layer 2", "EM, enc-self, layer 1"]),
        (
            3,
            [
                "Base",
                "EM, enc-self",
                "EM, enc-self, layers 2,3",
                "EM, enc-self, layers 1,2",
                "EM, enc-self, layer 3",
                "EM, enc-self, layer 1",
            ],
        ),
        (
            4,
            [
                "Base",
                "EM, enc-self",
                "EM, enc-self, layers 3,4",
                "EM, enc-self, layers 1,2",
                "EM, enc-self, layer 4",
                "EM, enc-self, layer 1",
            ],
        ),
        (
            5,
            [
                "Base",
                "EM, enc-self",
                "EM, enc-self, layers 3-5",
                "EM, enc-self, layers 1-3",
                "EM, enc-self, layers 1,2",
                "EM, enc-self, layer 5",
                "EM, enc-self, layer 1",
            ],
        ),
        (
            6,
            [
                "Base",
                "EM, enc-self",
                "EM, enc-self, layers 4-6",
                "EM, enc-self, layers 1-3",
                "EM, enc-self, layers 1,2",
                "EM, enc-self, layer 6",
                "EM, enc-self, layer 1",
            ],
        ),
    ],
)
def test_table_3_for_stacks_of_any_depth(corpus: ParallelFiles, depth: int, labels: list[str]) -> None:
    cells = plan(corpus, tables=["layers"], settings=[f"model.num_layers={depth}"])
    assert label(cells) == labels, "rows that are the same model are one cell"


@pytest.mark.parametrize("depth", range(1, 7))
def test_table_4_for_stacks_of_any_depth(corpus: ParallelFiles, depth: int) -> None:
    cells = plan(corpus, tables=["systems"], preset="tiny", settings=[f"model.num_layers={depth}"])
    assert label(cells) == ["Base", "EM, enc-self" if depth <= 2 else "EM, enc-self, layers 1,2"]


def test_a_row_of_two_tables_is_one_cell(corpus: ParallelFiles) -> None:
    both = label(plan(corpus, tables=["components", "layers"]))
    apart = label(plan(corpus, tables=["components"])) + label(plan(corpus, tables=["layers"]))
    assert both == list(dict.fromkeys(apart))


# Models


def choose(**options: Any) -> list[Variant]:
    return list(choose_variants(TranslationExperiment(**options), TINY))


def test_without_anything_the_three_compared_are_chosen() -> None:
    assert choose() == [Variant(name, SELF) for name in ("base", "simple", "em")]
    assert choose(aggregators=["all"]) == choose(aggregators=["base, simple", "em"]) == choose()


def test_attentions_and_layers_have_one_order() -> None:
    found = choose(aggregators=["em"], apply=["dec-self", "enc-self"], layers=[3, 1, 3])
    assert found == [Variant("em", ("enc-self", "dec-self"), (1, 3))]


def test_a_table_and_an_aggregator_add_up() -> None:
    assert choose(tables=["systems"]) == list_rows("systems", 4)
    assert choose(tables=["systems"], aggregators=["simple"]) == [*list_rows("systems", 4), Variant("simple", SELF)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"apply": ["encself"]}, "unknown attention 'encself'. Did you mean 'enc-self'?"),
        ({"tables": ["layer"]}, "unknown table 'layer'. Did you mean 'layers'?"),
    ],
)
def test_unknown_names(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ProbingError) as caught:
        choose(**options)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("layers", "text"),
    [
        ((1,), "layer 1"),
        ((1, 2), "layers 1,2"),
        ((1, 2, 3), "layers 1-3"),
        ((1, 3), "layers 1,3"),
        ((1, 2, 4), "layers 1,2,4"),
    ],
)
def test_layers_are_named_as_a_reader_writes_them(layers: tuple[int, ...], text: str) -> None:
    assert name_layers(layers) == text


def test_names_and_labels(corpus: ParallelFiles) -> None:
    (cell,) = plan(corpus, aggregators=["em"], apply=["enc-self", "enc-dec"], layers=[1, 2])
    assert cell.identity.model.name == "em enc-self+enc-dec layers 1,2"
    assert cell.identity.model.label == "EM, enc-self + enc-dec, layers 1,2"
    assert cell.identity.settings["model"]["aggregator"] == "em"
    assert (cell.identity.task, cell.identity.preset) == ("en-xx", "tiny")
    assert cell.identity.data.sha256 == corpus.sha256


def test_all_layers_and_no_layers_are_the_same_cell(corpus: ParallelFiles) -> None:
    (named,) = plan(corpus, aggregators=["em"], layers=[1, 2, 3, 4])
    (unnamed,) = plan(corpus, aggregators=["em"])
    assert named.key == unnamed.key
    assert named.identity.model.label == "EM, enc-self"


def test_base_is_the_same_cell_wherever_it_is_applied(corpus: ParallelFiles) -> None:
    keys = set()
    for options in ({}, {"apply": ["enc-dec", "dec-self"]}, {"layers": [2]}, {"settings": ["model.apply=dec-self"]}):
        (cell,) = plan(corpus, aggregators=["base"], **options)
        keys.add(cell.key)
        assert (cell.config.model.apply, cell.config.model.layers_with_aggregator) == ((), ())
        assert (cell.identity.model.name, cell.identity.model.label) == ("base", "Base")
    assert len(keys) == 1


def test_one_matrix_of_embeddings_needs_one_set_of_subwords(corpus: ParallelFiles) -> None:
    with pytest.raises(ProbingError, match=r"model\.tie=all needs subwords\.joint=true"):
        plan(corpus, settings=["subwords.joint=false"])
    assert plan(corpus, settings=["subwords.joint=false", "model.tie=target"])


# Presets, seeds, processes


def test_presets(corpus: ParallelFiles) -> None:
    def list_presets(**options: Any) -> list[str]:
        return list(dict.fromkeys(cell.identity.preset for cell in plan(corpus, **options)))

    assert list_presets() == list_presets(tables=["components"]) == ["tiny"]
    assert list_presets(tables=["systems"]) == ["base", "big"]
    assert list_presets(tables=["systems"], preset="tiny") == ["tiny"]
    assert list_presets(tables=["systems", "layers"]) == ["tiny"]
    assert list_presets(preset="base") == ["base"]


def test_the_cells_of_systems_are_both_sizes(corpus: ParallelFiles) -> None:
    cells = plan(corpus, tables=["systems"])
    assert [(cell.identity.preset, cell.identity.model.label) for cell in cells] == [
        (preset, name) for preset in ("base", "big") for name in ("Base", "EM, enc-self, layers 1,2")
    ]


def test_cells_come_seed_by_seed(corpus: ParallelFiles) -> None:
    cells = plan(corpus, aggregators=["base", "em"], seeds=[1, 0, 1])
    assert [cell.name for cell in cells] == [
        "en-xx Base seed 1",
        "en-xx EM, enc-self seed 1",
        "en-xx Base seed 0",
        "en-xx EM, enc-self seed 0",
    ]


def test_the_number_of_processes_is_part_of_the_key(corpus: ParallelFiles) -> None:
    one, two, three = (plan(corpus, aggregators=["em"], processes=count)[0] for count in (1, 2, 3))
    assert len({one.key, two.key, three.key}) == 3
    assert "processes" not in one.identity.settings["training"]
    assert two.identity.settings["training"]["processes"] == 2


# Text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folder": "F", "pairs": 100}, "--pairs is the size of the embedded text: it goes with --data mini"),
        ({"pair": "en-de"}, "the embedded text is en-qhv or qhv-en. Got --pair en-de. Name your own by --data"),
        ({"folder": "F", "train": ("a", None)}, "--source names files one by one and does not go with --data"),
        ({"folder": "F", "tests": [("a", "b")]}, "--test-source names files one by one and does not go with --data"),
        ({"train": ("a", "b"), "dev": ("c", None)}, "--dev-target is missing"),
        ({"train": ("a", "b"), "dev": ("c", "d"), "pair": "en-de"}, "--pair goes with --data"),
        ({"train": ("a", "b"), "dev": ("c", "d")}, "no test set"),
    ],
)
def test_text_that_is_not_named_well(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    def as_path(value: Any) -> Any:
        return Path(value) if isinstance(value, str) and len(value) == 1 else value

    given = {
        name: [tuple(map(Path, pair)) for pair in value]
        if name == "tests"
        else tuple(map(as_path, value))
        if isinstance(value, tuple)
        else as_path(value)
        for name, value in options.items()
    }
    experiment = TranslationExperiment(text=TextOptions(**given))
    with pytest.raises(ProbingError) as caught:
        plan_translations(experiment, Place(results=tmp_path / "results"), Display(verbosity=-1))
    assert str(caught.value).startswith(message)
    assert not (tmp_path / "results").exists()


def test_without_text_the_embedded_one_is_used(tmp_path: Path) -> None:
    experiment = TranslationExperiment(text=TextOptions(pairs=100), aggregators=["base"])
    planned = plan_translations(experiment, Place(results=tmp_path / "results"), Display(verbosity=-1))
    (cell,) = planned.cells
    assert cell.cell == "en-qhv Base seed 0"
    assert cell.record.startswith("mini--en-qhv--base--mini--seed0--translation--")


# Plans and shards

SMALL = [
    *("model.num_layers=2", "model.model_dim=16", "model.num_heads=2", "model.feed_forward_dim=16"),
    *("model.num_capsules=16", "subwords.vocabulary_size=400", "training.max_epochs=1", "search.extra_length=5"),
]


def list_planned(corpus: ParallelFiles, place: Place, **options: Any) -> list[str]:
    experiment = TranslationExperiment(
        text=TextOptions(folder=corpus.train.source.parent, pair="en-xx"),
        tables=["components"],
        settings=SettingOptions(settings=SMALL, **options),
    )
    return [item.cell for item in plan_translations(experiment, place, Display(verbosity=-1)).cells]


def test_a_plan_lists_the_cells_and_keeps_nothing(corpus: ParallelFiles, tmp_path: Path) -> None:
    place = Place(results=tmp_path / "results", device="cpu", jobs=1)
    names = list_planned(corpus, place)
    assert names[:3] == ["en-xx Base seed 0", "en-xx Simple, enc-self seed 0", "en-xx EM, enc-self seed 0"]
    assert len(names) == len(COMPONENTS) == 7
    assert not list(tmp_path.glob("results/*"))


def test_shards_are_fixed_parts_that_make_the_whole(corpus: ParallelFiles, tmp_path: Path) -> None:
    place = Place(results=tmp_path / "results", device="cpu", jobs=1)
    whole = list_planned(corpus, place)
    parts = [list_planned(corpus, dataclasses.replace(place, shard=(number, 3))) for number in (1, 2, 3)]
    assert sorted(name for part in parts for name in part) == sorted(whole)
    assert [len(part) for part in parts] == [3, 2, 2]
    for part in parts:
        assert part == [name for name in whole if name in part]
