"""More runs than a screen has room for: a column for each run, in a frame that scrolls."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import streamlit as st

from aisbench_core.base.formats import clip_text, shorten_hash
from aisbench_core.warehouse.measures.side_verdicts import decide_sides
from aisbench_core.warehouse.values.compared import Comparison, FieldValues
from aisbench_core.warehouse.values.runs import RunRow
from pages._ui.compare.metrics import TONES, list_metric_rows
from pages._ui.compare.names import names_of
from pages._ui.compare.verdict import colour_of, describe_side
from pages._ui.grid.table import show_grid
from pages._ui.grid.values import Align, CellPart, GridCell, GridColumn, GridRow, Tone
from pages._ui.shell import url
from pages._ui.shell.spec_fields import field_name, field_text
from pages._ui.shell.words import t

MANY = 4  # from so many runs on
VISIBLE = 16  # rows at a time
NAME, WIDTH = 190, 150  # pixels of the first column, and of the others
LETTERS = 24  # of the name of a run in the head, and of the value of a field
LONGEST = 12  # letters of a value that leaves room for the change behind it


def show_many(comparison: Comparison, run_ids: Sequence[str], chosen: Collection[str]) -> None:
    """The chosen metrics, then the fields that differ; at a click the equal ones, too. Columns are in the order of
    `run_ids`."""
    names, runs = names_of(comparison), {run.run_id: run for run in comparison.runs}
    columns = [GridColumn("name", t("compare.metric"), width=NAME)]
    columns += [_build_column(runs[run_id], names[run_id], comparison) for run_id in run_ids]
    every = url.input_switch("all", t("compare.all_fields", count=len(comparison.same)))
    fields = [*dict.fromkeys((*comparison.deciding, *comparison.differences)), *(comparison.same if every else ())]
    rows = [
        _build_verdicts(comparison),
        *_list_metrics(comparison, chosen),
        *(_build_field(comparison, one) for one in fields),
    ]
    if any(run.rehearsal for run in comparison.runs):
        st.caption(t("board.rehearsal"))
    show_grid(columns, rows, t("compare.many"), key="many", visible=VISIBLE)


def _build_column(run: RunRow, name: str, comparison: Comparison) -> GridColumn:
    said = f"{t(f'state.{run.state}')} · {t(f'validity.{run.validity}')}"
    if run.run_id == comparison.runs[0].run_id:
        said = f"{t('compare.baseline')} · {said}"
    return GridColumn(run.run_id, clip_text(name, LETTERS), Align.RIGHT, hint=name, width=WIDTH, mixed=True, below=said)


def _build_verdicts(comparison: Comparison) -> GridRow:
    """What each run comes to; what that rests on is its tooltip."""
    label = t("compare.against")
    cells = {
        side.run_id: GridCell(
            t(f"compare.is_{side.outcome}"), TONES[colour_of(side)], title=describe_side(comparison, side)
        )
        for side in decide_sides(comparison)
    }
    return GridRow("against", label, {"name": GridCell(label), **cells})


def _list_metrics(comparison: Comparison, chosen: Collection[str]) -> Iterator[GridRow]:
    """The rows of the table of few runs, with the change behind each value; the head says their validity."""
    for row in list_metric_rows(comparison, chosen):
        if row.id == "validity":
            continue
        cells = {"name": row.cells["metric"]}
        for run in comparison.runs:
            value, change = row.cells[f"value-{run.run_id}"], row.cells.get(f"change-{run.run_id}", GridCell())
            is_baseline = run is comparison.runs[0]
            cells[run.run_id] = value if is_baseline or not change.text else _join_change(value, change)
        yield replace(row, cells=cells)


def _join_change(value: GridCell, change: GridCell) -> GridCell:
    if len(value.text) > LONGEST:
        return replace(value, title=change.text)
    tone = Tone.MUTED if change.tone is Tone.PLAIN else change.tone
    return replace(value, parts=(CellPart(f"{change.text} {change.unit}".strip(), tone),))


def _build_field(comparison: Comparison, field: FieldValues) -> GridRow:
    label = field_name(field.field)
    cells = {"name": GridCell(label)}
    for run, value in zip(comparison.runs, field.values, strict=True):
        text = field_text(value)
        differs = text != field_text(field.values[0])
        cells[run.run_id] = GridCell(
            clip_text(shorten_hash(text), LETTERS), Tone.PLAIN if differs else Tone.MUTED, title=text
        )
    return GridRow(f"field-{field.field}", label, cells)


def choose_baseline(run_ids: Sequence[str]) -> list[str]:
    """The runs with the baseline that the URL names first; by default that is the first run."""
    named = st.query_params.get("baseline", "")
    return [named, *(run_id for run_id in run_ids if run_id != named)] if named in run_ids else [*run_ids]


def show_baseline_field(run_ids: Sequence[str]) -> None:
    """The field for what `choose_baseline` reads."""
    url.choose_option(st.selectbox, "baseline", t("compare.baseline"), run_ids, width=260)
