"""Tables of translations: the paper's 2, 3 and 4 (which attentions, layers and architectures), and phenomena."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from probing.errors import ProbingError
from probing.report.blocks import Statement
from probing.report.claims import Claim
from probing.report.note import join_some
from probing.report.translation.captions import explain_arrows, list_notes, list_other_scores, write_caption
from probing.report.translation.cells import (
    TranslationCell,
    choose_mark,
    format_speed,
    make_bleu_cell,
    make_difference_cell,
    make_paper_cells,
    make_parameter_cell,
    spell_layers,
)
from probing.report.translation.claims import check_translation_claims
from probing.report.translation.grouping import TranslationGroup, TranslationSystem, group_translations, spell_pair
from probing.report.translation.paper import COMPONENTS, LAYERS, SYSTEMS, PaperFigures, find_layers
from probing.report.translation.phenomena import explain_phenomena, score_phenomena
from probing.results import Record
from probing.translation.settings import ATTENTIONS

EFFECTIVE = "Effective Aggregation"
"""The paper's name for EM routing of encoder self-attention in the two lowest layers."""
NEEDED = {
    "components": "Base, or an aggregator in all layers",
    "layers": "an aggregator in some of the layers",
    "systems": "an aggregator in encoder self-attention of layers 1 and 2, or several presets or language pairs",
    "phenomena": "translations of the embedded text",
}
"""Systems that a table cannot do without."""


@dataclass(frozen=True, slots=True)
class TranslationRow:
    """Row of a table: a system, or the paper's figures for it."""

    cells: Sequence[TranslationCell]
    system: TranslationSystem | None
    """System whose figures the row shows; None for the paper's, and for rows of several language pairs."""
    is_paper: bool = False


@dataclass(frozen=True, slots=True)
class TranslationTable:
    """One table, ready to be rendered."""

    name: str
    """`components`, `layers`, `systems` or `phenomena`."""
    title: str
    headers: Sequence[tuple[str, str]]
    """Heading above a column, which may be empty or that of the column before, and the column's own."""
    texts: int
    """Number of columns at the left that hold texts."""
    rows: Sequence[TranslationRow]
    caption: Statement
    marks: Statement
    """Meaning of the arrows; nothing if nothing is compared."""
    others: str
    """Other scores of the same translations, in words."""
    notes: Sequence[str]
    claims: Sequence[Claim]
    groups: Sequence[TranslationGroup]

    @property
    def explanations(self) -> list[str]:
        """Texts below the table, as far as there are any."""
        return self.list_explanations(explain=True)

    def list_explanations(self, *, explain: bool) -> list[str]:
        """Return the texts below the table; unless it is to be explained, only what a reader must know."""
        texts = [self.caption.choose(explain=explain), self.marks.choose(explain=explain)]
        return list(filter(None, [*texts, self.others if explain else ""]))


def make_translation_tables(
    records: Sequence[Record],
    *,
    table: str | None = None,
    against_paper: bool = False,
    test: str | None = None,
    lowercase: bool = False,
) -> list[TranslationTable]:
    """Return the tables for which there are rows, or those of one name; `test` names a test set.

    `lowercase` adds a column of BLEU without regard to case.
    """
    groups = group_translations(records, test=test)
    makers = {"components": _make_components, "layers": _make_layers, "phenomena": _make_phenomena}
    tables: list[TranslationTable] = []
    for group in groups:
        made = [one for name, make in makers.items() if table in (None, name) for one in make(group, against_paper)]
        if table is None:
            made = [one for one in made if not _repeats_systems(one)]
        claims = check_translation_claims(group) if against_paper else []
        made = [replace(one, claims=claims if place == 0 else []) for place, one in enumerate(made)]
        tables += [_add_lowercase(one, group) if lowercase and one.name != "phenomena" else one for one in made]
    if table in (None, "systems"):
        tables += _make_systems_tables(groups, against_paper)
    if not tables:
        raise ProbingError(
            f"there are no rows for the table {table!r}: it needs {NEEDED[str(table)]}. "
            f"Run `probe translate run{'' if table == 'phenomena' else f' --table {table}'}`, or leave out --table"
        )
    return tables


def _add_lowercase(table: TranslationTable, group: TranslationGroup) -> TranslationTable:
    """Add a column of BLEU without regard to case, the mean over seeds."""
    rows = []
    for row in table.rows:
        scores = [test.bleu_lowercase for test in row.system.list_scores(group.test)] if row.system else []
        cell = TranslationCell(f"{fmean(scores):.2f}") if scores else TranslationCell()
        rows.append(replace(row, cells=[*row.cells, cell]))
    return replace(table, headers=[*table.headers, ("", "lc")], rows=rows)


def _make_components(group: TranslationGroup, against_paper: bool) -> Iterator[TranslationTable]:
    """Yield Table 2: a row for each aggregator and set of attentions that has it in all layers."""
    routed = [system for system in group.systems if not system.is_base]
    systems = [system for system in group.systems if system.is_base or system.is_full]
    if not systems or (routed and not any(system.is_full for system in routed)):
        return
    rows, has_paper = [], against_paper and has_paper_figures(group)
    for system in systems:
        rows.append(TranslationRow(_list_component_cells(group, system), system))
        if printed := COMPONENTS.get((system.aggregator, system.apply)) if has_paper else None:
            rows.append(_make_paper_row(["", "", "", "paper"], COLUMNS["components"], printed))
    headers = [("Applied to", "Enc-Self"), ("Applied to", "Enc-Dec"), ("Applied to", "Dec-Self"), ("", "Routing")]
    headers += [("", "# Para."), ("Speed", "Train"), ("Speed", "Decode"), ("", "BLEU"), ("", "Δ")]
    yield _make_table("components", group, headers, 4, rows, against_paper)


COLUMNS = {"components": ["# Para.", "Train", "Decode", "BLEU", "Δ"], "layers": ["# Para.", "Train", "BLEU"]}
"""Columns of figures in the first two tables."""


def _list_component_cells(group: TranslationGroup, system: TranslationSystem) -> list[TranslationCell]:
    return [
        *(TranslationCell("✓" if attention in system.apply else "×") for attention in ATTENTIONS),
        TranslationCell("n/a" if system.is_base else system.routing),
        make_parameter_cell(group, system, relative=True),
        TranslationCell(format_speed(system.find_speed("steps_per_second"))),
        TranslationCell(format_speed(system.find_speed("sentences_per_second"))),
        make_bleu_cell(group, system),
        make_difference_cell(group, system),
    ]


def has_paper_figures(group: TranslationGroup) -> bool:
    """Whether the paper's Tables 2 and 3, which are of Transformer-Base, stand beside a group's figures."""
    return group.identity.preset != "big"


def _make_layers(group: TranslationGroup, against_paper: bool) -> Iterator[TranslationTable]:
    """Yield Table 3 for each aggregator and set of attentions: a row for each choice of layers."""
    partial = [system for system in group.systems if not system.is_base and not system.is_full]
    for aggregator, apply in dict.fromkeys((system.aggregator, system.apply) for system in partial):
        chosen = [system for system in group.systems if (system.aggregator, system.apply) == (aggregator, apply)]
        has_paper = against_paper and (aggregator, apply) == ("em", ("enc-self",)) and has_paper_figures(group)
        names = {system.routing for system in chosen}
        rows = []
        for system in [*([group.base] if group.base else []), *chosen]:
            label = spell_layers(system.layers) + (f" {system.routing}" if len(names) > 1 and system.layers else "")
            cells = [
                TranslationCell(label),
                make_parameter_cell(group, system),
                TranslationCell(format_speed(system.find_speed("steps_per_second"))),
                make_bleu_cell(group, system),
            ]
            rows.append(TranslationRow(cells, system))
            papers = find_layers(system.layers, chosen[0].num_layers) if has_paper else None
            if papers is not None:
                named = "paper" if papers == system.layers else f"paper {spell_layers(papers)}"
                rows.append(_make_paper_row([named], COLUMNS["layers"], LAYERS[papers]))
        headers = [("", "Layers"), *(("", column) for column in COLUMNS["layers"])]
        what = f"{chosen[0].routing if len(names) == 1 else aggregator} in {' + '.join(apply)}"
        yield _make_table("layers", group, headers, 1, rows, against_paper, what)


def _make_phenomena(group: TranslationGroup, against_paper: bool) -> Iterator[TranslationTable]:
    """Yield the table of phenomena, if the group's text has any: they are the rows, the systems are the columns."""
    scored = score_phenomena(group)
    if not scored:
        return
    systems = [system for system in group.list_measured() if system.label in scored[0].scores]
    rows = []
    for row in scored:
        cells = [TranslationCell(row.attention), TranslationCell(row.name), TranslationCell(f"{row.sentences:,}")]
        for system in systems:
            score, verdict = row.scores[system.label], row.verdicts.get(system.label)
            mark = choose_mark(verdict.difference, verdict.p_holm) if verdict else ""
            cells.append(TranslationCell(f"{score.mean:.1f}", f"±{score.half:.1f}", mark))
        rows.append(TranslationRow(cells, None))
    headers = [("", "Attention"), ("", "Phenomenon"), ("", "n"), *(("", system.label) for system in systems)]
    made = _make_table("phenomena", group, headers, 2, rows, False, shown=systems)
    left_out = [system.label for system in group.list_measured() if system not in systems]
    notes = [f"not judged on the same phenomena, and left out: {join_some(left_out)}"] if left_out else []
    title = f"{group.title}: phenomena"
    yield replace(made, title=title, marks=explain_phenomena(scored), others="", notes=notes)


def _make_paper_row(texts: Sequence[str], columns: Sequence[str], printed: PaperFigures) -> TranslationRow:
    cells = make_paper_cells(printed)
    return TranslationRow([*map(TranslationCell, texts), *(cells[column] for column in columns)], None, is_paper=True)


def _make_table(
    name: str,
    group: TranslationGroup,
    headers: Sequence[tuple[str, str]],
    texts: int,
    rows: Sequence[TranslationRow],
    against_paper: bool,
    what: str = "",
    shown: Sequence[TranslationSystem] = (),
) -> TranslationTable:
    """Return a table of one group; it shows the systems of its rows, or, if they are columns, those named."""
    shown = shown or [row.system for row in rows if row.system]
    return TranslationTable(
        name=name,
        title=group.title + (f": {what}" if what else ""),
        headers=headers,
        texts=texts,
        rows=rows,
        caption=write_caption(name, [group], shown, what),
        marks=explain_arrows([group], shown),
        others=list_other_scores([group], shown),
        notes=list_notes(group, shown, against_paper=against_paper),
        claims=[],
        groups=[group],
    )


def is_effective(system: TranslationSystem) -> bool:
    """Whether a system is the paper's final one, with any aggregator: enc-self in the two lowest layers."""
    return system.apply == ("enc-self",) and system.layers == (1, 2)


def _repeats_systems(table: TranslationTable) -> bool:
    """Whether a table of layers shows nothing but what stands in the table of systems as well."""
    systems = [row.system for row in table.rows if row.system]
    return table.name == "layers" and all(system.is_base or is_effective(system) for system in systems)


def _make_systems_tables(groups: Sequence[TranslationGroup], against_paper: bool) -> Iterator[TranslationTable]:
    """Yield Table 4: architectures as rows, language pairs as columns.

    A table has one data set for each pair, and the same settings for each preset.
    """
    tables: list[list[TranslationGroup]] = []
    for group in groups:
        if any(system.is_base or is_effective(system) for system in group.systems):
            fitting = [members for members in tables if all(_goes_with(group, other) for other in members)]
            if fitting:
                fitting[0].append(group)
            else:
                tables.append([group])
    for members in tables:
        if len(members) > 1 or any(is_effective(system) for system in members[0].systems):
            tasks = dict.fromkeys(group.identity.task for group in members)
            yield _make_systems_table(
                {task: [group for group in members if group.identity.task == task] for task in tasks}, against_paper
            )


def _goes_with(group: TranslationGroup, other: TranslationGroup) -> bool:
    """Whether two groups can share a table of systems: presets and pairs may differ, but not the data of a pair."""
    ours, theirs = group.identity, other.identity
    same_task, same_preset = ours.task == theirs.task, ours.preset == theirs.preset
    if same_task and (same_preset or ours.data.sha256 != theirs.data.sha256):
        return False
    return not same_preset or group.shared == other.shared


def _make_systems_table(pairs: Mapping[str, Sequence[TranslationGroup]], against_paper: bool) -> TranslationTable:
    rows: dict[tuple[str, str], dict[str, tuple[TranslationGroup, TranslationSystem]]] = {}
    for task, groups in pairs.items():
        for group in groups:
            architecture = f"Transformer-{group.identity.preset.capitalize()}{group.changes}"
            for system in group.systems:
                if system.is_base or is_effective(system):
                    named = EFFECTIVE if system.routing == "EM" else f"{EFFECTIVE} ({system.routing})"
                    rows.setdefault((architecture, "" if system.is_base else named), {})[task] = (group, system)
    order = list(dict.fromkeys(architecture for architecture, _ in rows))
    made: list[TranslationRow] = []
    for architecture, name in sorted(rows, key=lambda key: (order.index(key[0]), key[1])):
        found = rows[architecture, name]
        cells = [TranslationCell(f"+ {name}" if name else architecture)]
        for task in pairs:
            both = (TranslationCell(), TranslationCell())
            if task in found:
                both = (make_parameter_cell(*found[task], whole=True), make_bleu_cell(*found[task]))
            cells += both
        made.append(TranslationRow(cells, next(iter(found.values()))[1] if len(pairs) == 1 else None))
        if against_paper and (paper := _make_paper_systems(architecture, name, list(pairs))):
            made.append(paper)
    headers = [("", "Architecture")]
    headers += [(spell_pair(task), column) for task in pairs for column in ("# Para.", "BLEU")]
    groups = [group for members in pairs.values() for group in members]
    titles = [f"{group.identity.data.name} {spell_pair(group.identity.task)}" for group in groups]
    shown = [system for found in rows.values() for _, system in found.values()]
    return TranslationTable(
        name="systems",
        title=f"{'; '.join(dict.fromkeys(titles))}: architectures",
        headers=headers,
        texts=1,
        rows=made,
        caption=write_caption("systems", groups, shown),
        marks=explain_arrows(groups, shown),
        others=list_other_scores(groups, shown),
        notes=list(dict.fromkeys(note for group in groups for note in list_notes(group, shown, speeds=False))),
        claims=[],
        groups=groups,
    )


def _make_paper_systems(architecture: str, name: str, pairs: Sequence[str]) -> TranslationRow | None:
    """Return the paper's figures for an architecture, if it has any for one of these language pairs."""
    preset = architecture.removeprefix("Transformer-").lower()
    printed = [SYSTEMS.get((preset, bool(name), task)) for task in pairs]
    if not any(printed) or name not in ("", EFFECTIVE):
        return None
    cells = [TranslationCell("paper")]
    for figures in printed:
        made = make_paper_cells(figures) if figures else {}
        cells += [made.get(column, TranslationCell()) for column in ("# Para.", "BLEU")]
    return TranslationRow(cells, None, is_paper=True)
