"""Exports: the same rows in every format, exactly as the golden files say, and every run that the filter chooses."""

import csv
import io
import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from pyarrow import parquet

from aisbench_core.base.errors import SpecError
from aisbench_core.model import Better, MetricSample, RunMetric, RunState
from aisbench_core.model.columns import Kind
from aisbench_core.warehouse.exporting import workbook
from aisbench_core.warehouse.exporting.columns import Sheet
from aisbench_core.warehouse.exporting.export import SHEETS
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.exports import Export, ExportFormat, ExportTable, file_name
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a

GOLDEN = Path(__file__).parent / "golden"
HASH = re.compile(rb"[0-9a-f]{64}|(?<=AISB-)[0-9A-F]{12}")
"""Hashes follow every field that a spec ever gets; the golden files are about the columns."""

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
ALL = BoardQuery("cn-north-9", include_invalid=True)
RENEW = "from tests.stores.test_warehouse_export import renew; renew()"
HOSTILE = "=cmd|' /C calc'!A0"


def exported(
    warehouse: Warehouse,
    query: BoardQuery = ALL,
    table: ExportTable = ExportTable.RUNS,
    kind: ExportFormat = ExportFormat.CSV,
    *,
    bom: bool = False,
) -> bytes:
    target = io.BytesIO()
    warehouse.export(Export(query, NOW, table, kind, bom), target)
    return target.getvalue()


def rows(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))


def some_runs(warehouse: Warehouse) -> None:
    measured = a.record("measured", throughputs=[1000.0] * 7 + [900.0], pool_id="pool-1", node_count=1)
    assert measured.result is not None
    info = replace(
        measured.result.info,
        average_power=310.5,
        max_power=400.0,
        energy_consumption=186_300.0,
        efficientcy=25.4,
        proc_start_time=a.T0,
        proc_end_time=a.T0 + timedelta(seconds=540.5),
    )
    later = {"created_at": a.T0 + timedelta(hours=1), "pool_id": "pool-1"}
    warehouse.rebuild(
        [
            replace(
                measured,
                result=replace(measured.result, info=info, dataset_sha256="da7a" * 16),
                samples=(MetricSample(a.T0, 0, "npuUtil", 91.5),),
                metrics=(RunMetric("tokens_per_joule", 3.25, "tokens/J", Better.HIGHER),),
            ),
            a.record("two-nodes", node_count=2, created_by=HOSTILE, **later),  # type: ignore[arg-type]  # by name
            a.record("synthetic", synthetic_data=True, created_at=a.T0 + timedelta(hours=2)),
            a.record("stopped", with_result=False, state=RunState.STOPPED, created_at=a.T0 + timedelta(hours=3)),
            *(
                replace(each, run=replace(each.run, series_id="s-1"))
                for each in a.records([8000.0, 8100.0, 8050.0, 7900.0, 8060.0], "often", node_count=4)
            ),
            a.record("practice", rehearsal=True, region="sandbox"),
        ]
    )


def golden_files(warehouse: Warehouse) -> dict[str, bytes]:
    """Each golden file as it is now: measurements, and below them the rehearsals."""
    some_runs(warehouse)
    practice = replace(ALL, region="sandbox")
    return {
        f"{table}.csv": HASH.sub(b"<sha256>", exported(warehouse, ALL, table) + exported(warehouse, practice, table))
        for table in ExportTable
    }


def renew() -> None:
    """Write the golden files anew, on purpose: other programs read these columns."""
    for name, content in golden_files(Warehouse(GOLDEN / ".renewing.duckdb")).items():
        (GOLDEN / name).write_bytes(content)
    for part in GOLDEN.glob(".renewing*"):
        part.unlink()


@pytest.mark.every_store
def test_the_files_are_exactly_the_golden_ones(warehouse: Warehouse) -> None:
    for name, content in golden_files(warehouse).items():
        assert content == (GOLDEN / name).read_bytes(), f'if it is meant so: .venv/bin/python -c "{RENEW}"'


def test_every_format_holds_the_same_rows(warehouse: Warehouse) -> None:
    some_runs(warehouse)
    for table, sheet in SHEETS.items():
        expected = rows(exported(warehouse, ALL, table))

        as_json = json.loads(exported(warehouse, ALL, table, ExportFormat.JSON))
        as_parquet = parquet.read_table(io.BytesIO(exported(warehouse, ALL, table, ExportFormat.PARQUET)))
        book = openpyxl.load_workbook(io.BytesIO(exported(warehouse, ALL, table, ExportFormat.EXCEL)))
        header, *in_excel = book[str(table)].iter_rows(values_only=True)

        assert [as_csv(each, sheet) for each in as_json] == expected
        assert [as_csv(each, sheet) for each in as_parquet.to_pylist()] == expected
        assert [in_excels_digits(as_csv(dict(zip(sheet.names, each, strict=True)), sheet)) for each in in_excel] == [
            in_excels_digits(row) for row in expected
        ]
        assert header == sheet.names == tuple(as_parquet.schema.names) == tuple(as_json[0])


def as_csv(row: dict[str, Any], sheet: Sheet) -> dict[str, str]:
    """A typed row as the cells that CSV has."""
    return {column.name: _cell(row[column.name], column.kind) for column in sheet.columns}


def _cell(value: Any, kind: Kind) -> str:
    if value is None:
        return ""
    if kind is Kind.TEXT:
        return f"'{value}" if value[:1] in "=+-@\t\r" else value
    if kind is Kind.FLAG:
        assert isinstance(value, bool)
        return str(value).lower()
    if kind is Kind.TIME:
        at = value if isinstance(value, datetime) else datetime.fromisoformat(value)
        fraction = f"{at.microsecond:06}".rstrip("0")
        return f"{at:%Y-%m-%dT%H:%M:%S}{'.' if fraction else ''}{fraction}Z"
    assert isinstance(value, int if kind is Kind.INTEGER else int | float)
    return repr(value if kind is Kind.INTEGER else float(value))


def in_excels_digits(row: dict[str, str]) -> dict[str, str]:
    """Excel rounds at the 15th digit, and its times are read in whole seconds."""
    whole = {name: re.sub(r"(T\d\d:\d\d:\d\d)\.\d+Z", r"\1Z", cell) for name, cell in row.items()}
    return {
        name: f"{float(cell):.14g}" if re.fullmatch(r"[\d.]+(e-\d+)?", cell) else cell for name, cell in whole.items()
    }


def test_a_workbook_keeps_text_as_text_and_explains_its_columns(warehouse: Warehouse) -> None:
    some_runs(warehouse)
    content = exported(warehouse, replace(ALL, region="sandbox"), kind=ExportFormat.EXCEL)

    hostile = openpyxl.load_workbook(io.BytesIO(exported(warehouse, kind=ExportFormat.EXCEL)))["runs"]
    practice = openpyxl.load_workbook(io.BytesIO(content))

    (cell,) = [each for row in hostile.iter_rows() for each in row if each.value == HOSTILE]
    assert cell.data_type == "s"
    assert hostile.freeze_panes == "A2"
    assert practice.sheetnames == ["runs (rehearsals)", "Columns"]
    assert practice.properties.description == "rehearsals in sandbox: not measurements"
    names = [row[0] for row in practice["Columns"].iter_rows(min_row=2, values_only=True)]
    assert tuple(names[:-1]) == SHEETS[ExportTable.RUNS].names


@pytest.mark.parametrize(("letter", "kept"), [("x", 32_766), ("训", 32_766), ("🚀", 16_383)])
def test_a_text_that_is_longer_than_a_cell_says_that_it_goes_on(warehouse: Warehouse, letter: str, kept: int) -> None:
    warehouse.record(a.record("long", facts=replace(a.FACTS, model=letter * 40_000)))

    sheet = openpyxl.load_workbook(io.BytesIO(exported(warehouse, kind=ExportFormat.EXCEL)))["runs"]

    names, cells = sheet.iter_rows(values_only=True)
    assert dict(zip(names, cells, strict=True))["model_name"] == letter * kept + "…"


def test_more_rows_than_a_sheet_holds_are_refused_with_a_way_out() -> None:
    with pytest.raises(SpecError, match="choose csv"):
        workbook._fill_sheet([], [()], workbook.MAX_ROWS + 1)


def test_parquet_says_units_and_what_kind_of_numbers_it_holds(warehouse: Warehouse) -> None:
    some_runs(warehouse)

    schema = parquet.read_schema(
        io.BytesIO(exported(warehouse, replace(ALL, region="sandbox"), kind=ExportFormat.PARQUET))
    )

    assert schema.metadata[b"content"] == b"rehearsals in sandbox: not measurements"
    assert schema.field("queue_s").metadata[b"unit"] == b"s"
    assert str(schema.field("created_at_utc").type) == "timestamp[us, tz=UTC]"


def test_the_statistics_of_a_series_are_the_leaderboard_s(warehouse: Warehouse) -> None:
    some_runs(warehouse)

    board = {
        (row.node_count, row.pool_id, row.synthetic_data): row
        for row in warehouse.board.list_rows(ALL).rows
        if row.runs
    }
    series = [row for row in rows(exported(warehouse, table=ExportTable.SERIES)) if row["runs_valid"] != "0"]
    often = next(row for row in series if row["node_count"] == "4")

    assert len(series) == len(board)
    for row in series:
        shown = board[int(row["node_count"]), row["pool_id"], row["synthetic_data"] == "true"]
        assert float(row["median"]) == shown.throughput
        assert float(row["mean"]) == shown.mean
        assert row["ci95_low"] == ("" if shown.ci_low is None else repr(shown.ci_low))
    assert (often["runs_valid"], often["dropped_run_ids"], often["best_run_id"]) == ("5", "often-3;often-1", "often-1")
    assert float(often["olympic_mean"]) == pytest.approx((8000 + 8050 + 8060) / 3)


@pytest.mark.every_store
def test_named_runs_alone_are_exported(warehouse: Warehouse) -> None:
    some_runs(warehouse)
    named = replace(ALL, run_ids=("two-nodes", "stopped", "practice", "nobody"))

    assert [
        row["run_id"] for row in csv.DictReader(exported(warehouse, named, ExportTable.RUNS).decode().splitlines())
    ] == [
        "two-nodes",
        "stopped",
    ]
    assert warehouse.runs.count_rows(named) == 2
    assert warehouse.runs.count_rows(replace(ALL, run_ids=())) == 0


def test_every_run_of_the_filter_is_exported_whatever_the_page(warehouse: Warehouse) -> None:
    warehouse.rebuild([*a.records([8000.0] * 1203), a.record("other", flavor="other"), a.record("bad", accuracy=7.0)])
    query = BoardQuery("cn-north-9", flavors=("modelarts.kat1.8xlarge",), limit=10, offset=20)
    target = io.BytesIO()

    count = warehouse.export(Export(query, NOW), target)

    assert count == 1203
    assert len(rows(target.getvalue())) == 1203


@pytest.mark.parametrize("table", ExportTable)
def test_an_export_of_nothing_is_a_header(warehouse: Warehouse, table: ExportTable) -> None:
    assert exported(warehouse, table=table) == (",".join(SHEETS[table].names) + "\r\n").encode()
    assert json.loads(exported(warehouse, table=table, kind=ExportFormat.JSON)) == []
    assert parquet.read_table(io.BytesIO(exported(warehouse, table=table, kind=ExportFormat.PARQUET))).num_rows == 0
    assert openpyxl.load_workbook(io.BytesIO(exported(warehouse, table=table, kind=ExportFormat.EXCEL)))[str(table)]


def test_a_byte_order_mark_is_there_on_request(warehouse: Warehouse) -> None:
    assert exported(warehouse, bom=True) == b"\xef\xbb\xbf" + exported(warehouse)


@pytest.mark.parametrize("kind", ExportFormat)
def test_the_target_stays_open(warehouse: Warehouse, kind: ExportFormat) -> None:
    target = io.BytesIO()

    warehouse.export(Export(ALL, NOW, format=kind), target)

    assert not target.closed


def test_rehearsals_and_synthetic_data_are_marked_in_every_row(warehouse: Warehouse) -> None:
    some_runs(warehouse)

    (practice,) = rows(exported(warehouse, replace(ALL, region="sandbox")))
    (practised,) = rows(exported(warehouse, replace(ALL, region="sandbox"), ExportTable.SERIES))
    synthetic = next(row for row in rows(exported(warehouse)) if row["run_id"] == "synthetic")

    assert (practice["division"], practice["rehearsal"]) == ("rehearsal", "true")
    assert practice["note"] == "rehearsal in sandbox: not a measurement"
    assert (practised["division"], practised["rehearsal"]) == ("rehearsal", "true")
    assert (synthetic["division"], synthetic["accuracy"], synthetic["synthetic_data"]) == ("", "", "true")
    assert "synthetic data" in synthetic["note"]
    assert "cn-north-9" in synthetic["note"]


def test_the_name_of_a_file_says_what_is_in_it_and_is_a_name_everywhere() -> None:
    assert file_name("series", "cn-north-9", True, NOW, "xlsx") == "aisbench-series-cn-north-9-rehearsals-20260302.xlsx"
    assert file_name("runs", "../lab 3/北京", False, NOW, "csv") == "aisbench-runs-lab-3-北京-20260302.csv"
    assert Export(replace(ALL, rehearsal=True), NOW).file_name == "aisbench-runs-cn-north-9-rehearsals-20260302.csv"


def test_scaling_stands_beside_each_valid_run(warehouse: Warehouse) -> None:
    warehouse.rebuild([a.record("one"), a.record("two", node_count=2, throughputs=[900.0] * 16)])
    query = replace(ALL, node_counts=(2,))

    for table in ExportTable:
        only_two = rows(exported(warehouse, query, table))
        assert [(row["base_nodes"], row["speedup"], row["efficiency_pct"]) for row in only_two] == [
            ("1", "1.8", "90.0")
        ]


def test_the_hash_in_a_row_is_the_record_s(warehouse: Warehouse) -> None:
    warehouse.record(a.record())
    run = warehouse.runs.find_row("run-1")

    assert run is not None
    assert [row["record_sha256"] for row in rows(exported(warehouse))] == [run.record_sha256]


def test_the_time_of_the_export_is_written_in_utc(warehouse: Warehouse) -> None:
    warehouse.record(a.record())
    target = io.BytesIO()

    warehouse.export(Export(ALL, NOW.astimezone(timezone(timedelta(hours=8)))), target)

    assert rows(target.getvalue())[0]["exported_at_utc"] == "2026-03-02T12:00:00Z"


def test_what_a_launched_run_left_unset_is_known_in_an_export(warehouse: Warehouse) -> None:
    warehouse.record(a.record("plain", parameters={}))

    [row] = rows(exported(warehouse))

    assert (row["pool_type"], row["hyperparameters_json"], row["mode"]) == ("public", "{}", "cluster")


def test_a_table_to_print_has_labels_units_and_only_columns_with_values(warehouse: Warehouse) -> None:
    warehouse.record_many([a.record("one_a", pool_id="pool-1"), a.record("two", throughputs=[900.0] * 8)])

    latex = exported(warehouse, kind=ExportFormat.LATEX).decode()
    markdown = exported(warehouse, kind=ExportFormat.MARKDOWN).decode()

    assert r"\caption{Measurements of cn-north-9, 2026-03-02}" in latex
    assert r"one\_a & " in latex
    assert r"\_w" not in latex
    head, _, first, second = markdown.splitlines()[2:]
    titles = [cell.strip() for cell in head.split("|")]
    assert "Throughput (samples/s)" in titles
    assert "Ran for (s)" in titles
    assert "Mean power (W)" not in titles
    assert "| 8,000 |" in first
    assert "| 7,200 |" in second


def test_a_table_to_print_is_refused_where_nobody_would_read_it(warehouse: Warehouse) -> None:
    warehouse.rebuild(a.records([8000.0] * 1001))

    with pytest.raises(SpecError, match="at most 1,000 rows"):
        exported(warehouse, kind=ExportFormat.LATEX)


def test_the_unit_stands_behind_each_number_where_rows_have_several(warehouse: Warehouse) -> None:
    tokens = replace(a.FACTS, throughput_unit="tokens/s")
    warehouse.record_many([a.record("one"), a.record("two", facts=tokens)])

    markdown = exported(warehouse, kind=ExportFormat.MARKDOWN).decode()

    assert "| Throughput |" in markdown
    assert "| 8,000 samples/s |" in markdown
    assert "| 8,000 tokens/s |" in markdown
