"""Parses tables of results, one per row, as labs keep them; a cell that is not understood is left out and named."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import tzinfo
from functools import lru_cache
from itertools import islice
from typing import Any, cast

from aisbench_core.base.messages import Message
from aisbench_core.domain.results.train_result_info import AS_TEXT, is_placeholder, normalize_values
from aisbench_core.exchange.readers.headers import RESULTS, guess_meanings
from aisbench_core.exchange.readers.layouts import SAMPLE, TableLayout, build_layout, describe_table, lay_out
from aisbench_core.exchange.readers.names import package_facts
from aisbench_core.exchange.readers.results import (
    PARAMETER,
    ColumnMeaning,
    ParsedResult,
    Results,
    Table,
    Unread,
    compute_identities,
)
from aisbench_core.exchange.readers.row_cells import (
    Cells,
    Findings,
    find_rate,
    read_date,
    read_measures,
    read_mode,
    read_setting,
    read_sizes,
    value_text,
)
from aisbench_core.exchange.readers.rows import Row, TableSheet, unguard_cell
from aisbench_core.exchange.readers.units import Rate
from aisbench_core.model import TrainResultInfo
from aisbench_core.model.spec import Scalar

MOST_NAMED = 10  # rows that a message names
_AVERAGES = "average|avg|mean|平均值?|均值|平均数|合计|总计|小计"
_SUMMARY = re.compile(
    rf"[*＊]*(?:(?:.{{1,60}}[ (（_-])?(?:{_AVERAGES})|median|total|sum|subtotal|max|min|std|stdev|geomean|汇总|中位数|"
    r"最大值?|最小值?|标准差|几何平均)[*＊]*(?: ?[(（].{0,40}[)）])?[:：)）]?",
    re.I,
)
# The columns that are copied as text to a field of the same name.
_TEXTS = [
    column for column in ColumnMeaning if column in {field.name for field in fields(ParsedResult) if field.type is str}
]
MODEL_FROM_ABOVE = Message("empty cells below a model were read as that model")


def table_in(sheet: TableSheet, source: str, mapping: Mapping[str, str]) -> Table | None:
    """A table's columns and first rows; None if it is empty."""
    layout, rows = lay_out(sheet, source, mapping)
    if not layout.header:
        return None
    return describe_table(layout, [*islice((row for row in rows if any(row)), SAMPLE)])


def read_table(sheet: TableSheet, source: str, mapping: Mapping[str, str], zone: tzinfo) -> Results:
    """Every row with a throughput or an accuracy. Raises ConfigError for an unknown meaning in the mapping."""
    layout, rows = lay_out(sheet, source, mapping)
    yield from _read_rows(layout, rows, zone)


def table_of(
    header: tuple[str, ...], rows: Sequence[Row], source: str, mapping: Mapping[str, str], settings: Collection[str]
) -> Table:
    """A table with this header. `settings`: the only columns that can be parameters."""
    return describe_table(build_layout(header, rows, source, mapping, settings=settings), rows)


def read_rows(
    header: tuple[str, ...],
    rows: Sequence[Row],
    source: str,
    mapping: Mapping[str, str],
    zone: tzinfo,
    settings: Collection[str],
) -> Results:
    """The same for rows below a known header."""
    yield from _read_rows(build_layout(header, rows, source, mapping, settings=settings), iter(rows), zone)


# --- rows ---------------------------------------------------------------------------------------------


def _read_rows(layout: TableLayout, rows: Iterator[Row], zone: tzinfo) -> Results:
    if not RESULTS & layout.positions.keys():
        message = Message(
            "no column is recognized as throughput or accuracy: {columns}", columns=_join_names(layout.header)
        )
        yield Unread(layout.source, message)
        return
    skipped: dict[str, list[int]] = {kind: [] for kind in _SKIPPED}
    model, model_at = "", layout.positions.get(ColumnMeaning.MODEL, -1)
    for number, row in enumerate(rows, start=1):
        if _begins_other_table(row, layout):
            message = Message(
                "row {row} begins another table, which is not read: move it to a file or sheet of its own",
                row=layout.first_row + number - 1,
            )
            yield Unread(layout.source, message)
            break
        if kind := _find_reason_to_skip(row, layout):
            skipped[kind].append(layout.first_row + number - 1)
            continue
        is_filled = 0 <= model_at < len(row) and not row[model_at] and bool(model) and any(row)
        if is_filled:
            row = (*row[:model_at], model, *row[model_at + 1 :])  # noqa: PLW2901  # as if it stood there
        cells = Cells(row, layout)
        if any(cells[column] for key, column in layout.measures if key in AS_TEXT):
            result = _parse_row(cells, number, zone)
            yield replace(result, remarks=(*result.remarks, MODEL_FROM_ABOVE)) if is_filled else result
            model = row[model_at] if 0 <= model_at < len(row) else ""
        elif any(row):
            skipped["without"].append(layout.first_row + number - 1)
    for kind, numbers in skipped.items():
        if numbers:
            yield Unread(layout.source, _describe_skipped(kind, numbers))


_SKIPPED = ("longer", "header", "summary", "without")


def _describe_skipped(kind: str, numbers: Sequence[int]) -> Message:
    rows = ", ".join(map(str, numbers[:MOST_NAMED])) + (", …" if len(numbers) > MOST_NAMED else "")
    values = {"count": len(numbers), "rows": rows}
    if kind == "longer":
        return Message(
            "rows with more cells than the header, left out: {count} (row {rows}); is a comma in a number?", **values
        )
    if kind == "header":
        return Message("repeated headers, left out: {count} (row {rows})", **values)
    if kind == "summary":
        return Message("averages and totals, left out: {count} (row {rows})", **values)
    return Message("rows without a throughput or an accuracy: {count} (row {rows})", **values)


def _begins_other_table(row: Row, layout: TableLayout) -> bool:
    """Whether a row has names of columns, and others than the header."""
    places = [layout.positions[column] for column in RESULTS if column in layout.positions]
    cells = [row[at] for at in places if at < len(row) and row[at]]
    if not cells or any(char.isdigit() for cell in cells for char in cell):
        return False
    if all(cell in name for cell, name in zip(row, layout.header, strict=False)):
        return False
    meanings = {*guess_meanings(row).values()}
    return len(meanings) > 1 and bool(RESULTS & meanings)


def _find_reason_to_skip(row: Row, layout: TableLayout) -> str:
    """Why a row is no result; empty if it may be one."""
    if len(row) > len(layout.header) and any(row[len(layout.header) :]):
        return "longer"
    first = next((cell for cell in row if cell), "")
    model_at = layout.positions.get(ColumnMeaning.MODEL, -1)
    if _is_summary(first) or (0 <= model_at < len(row) and _is_summary(row[model_at])):
        return "summary"
    at = layout.positions.get(ColumnMeaning.THROUGHPUT_RATIO, -1)
    if 0 <= at < len(row) and row[at] and row[at] in layout.header[at] and not any(char.isdigit() for char in row[at]):
        return "header"
    return ""


@lru_cache(1024)  # models repeat
def _is_summary(cell: str) -> bool:
    return len(cell) < 120 and bool(_SUMMARY.fullmatch(cell))


def read_exported(rows: Iterator[Row], source: str, zone: tzinfo) -> Results:
    """Every row of a CSV that a console exported, including runs without a result, with its unchanged cells."""
    header = next(rows, ())
    layout = build_layout(header, (), source, {}, settings=())
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            message = Message(
                "row {number} has {count} cells, its header {expected}: the file is truncated",
                number=number,
                count=len(row),
                expected=len(header),
            )
            yield Unread(source, message)
            continue
        result = _parse_row(Cells(row, layout), number, zone)
        # Empty, it says that all is known; a file of an earlier console, without it, says nothing.
        cells = zip(header, row, strict=True)
        exported = {name: unguard_cell(cell) for name, cell in cells if cell or name == "not_known"}
        yield replace(result, exported=exported)


def _parse_row(cells: Cells, number: int, zone: tzinfo) -> ParsedResult:
    findings = Findings(cells, number, [], [], [], {})
    rate, unit_problem = find_rate(cells)
    values = {key: text for key, column in cells.layout.measures if (text := value_text(cells, key, column, findings))}
    placeholders = tuple(sorted(key for key in values if not cells.is_ours and is_placeholder(key, values[key])))
    measured = {key: text for key, text in values.items() if key not in placeholders}
    info = TrainResultInfo(**read_measures(measured, rate, zone, findings))  # type: ignore[arg-type]  # by name
    texts = {str(column): cells[column] for column in _TEXTS if column in cells.layout.positions}
    texts["throughput_unit"] = rate.unit
    for field, fact in package_facts(texts.get("workpath", ""), cells.layout.source).items():
        texts[field] = texts.get(field) or str(fact)
    size = read_sizes(cells, findings)
    mode = read_mode(cells, findings)
    if cells[ColumnMeaning.VALIDITY] not in ("", "valid", "claimed"):
        findings.problems.append(Message("the table says it is {validity}", validity=cells[ColumnMeaning.VALIDITY]))
    parameters = findings.settings | {
        name: read_setting(text, cells.layout.mark) for name, at in cells.layout.parameters if (text := cells.at(at))
    }
    identity, values_identity = compute_identities(
        _pick_identity_values(cells, values, rate, parameters), texts.get("job_id", "")
    )
    return ParsedResult(
        source=cells.layout.source,
        number=number,
        identity=identity,
        values_identity=values_identity,
        raw=cells.raw,
        info=info,
        placeholders=placeholders,
        mode=mode,
        node_count=size.nodes,
        cards_per_node=size.cards_per_node,
        card_count=size.cards,
        rehearsal=cells[ColumnMeaning.DIVISION] == "rehearsal",
        started_at=info.total_start_time,
        ended_at=info.total_end_time or (None if info.total_start_time else read_date(cells, zone, findings)),
        problems=tuple(findings.problems),
        unit_problem=None if info.throughput_ratio is None else unit_problem,
        is_row=True,
        parameters=parameters,
        is_per_card=rate.is_per_card,
        dropped=tuple(findings.dropped),
        remarks=tuple(findings.remarks),
        **cast("dict[str, Any]", texts),
    )


def _pick_identity_values(
    cells: Cells, values: Mapping[str, str], rate: Rate, parameters: Mapping[str, Scalar]
) -> dict[str, object]:
    """What identifies a row's run. Without notes and names of people, which may be corrected later."""
    if cells[ColumnMeaning.RUN_ID]:
        return {"run_id": cells[ColumnMeaning.RUN_ID]}
    columns = (
        *(ColumnMeaning.MODEL, ColumnMeaning.WORKLOAD, ColumnMeaning.FRAMEWORK_VERSION),
        *(ColumnMeaning.NODE_COUNT, ColumnMeaning.FLAVOR, ColumnMeaning.WORKPATH),
    )
    sizes = (ColumnMeaning.CARDS_PER_NODE, ColumnMeaning.CARD_COUNT, ColumnMeaning.SCALE, ColumnMeaning.DATE)
    return {
        **normalize_values(values),
        **{str(column): cells[column] for column in columns},
        **{str(column): cells[column] for column in sizes if cells[column]},
        **({"per": "card"} if rate.is_per_card else {}),
        **{f"{PARAMETER}{name}": value for name, value in parameters.items()},
    }


def _join_names(header: Sequence[str]) -> str:
    named = [name for name in header if name]
    return ", ".join(name[:40] for name in named[:12]) + (", …" if len(named) > 12 else "") if named else "it is empty"
