"""The CSV for compliance reports: columns, cells, and every run that the screen's filter chooses."""

import csv
import io
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aisbench_core.model import MetricSample, RunState
from aisbench_core.warehouse import BoardQuery, Warehouse
from aisbench_core.warehouse.csv_columns import COLUMNS
from aisbench_core.warehouse.export import cell
from aisbench_core.warehouse.schema import TABLES
from tests import records as a

HERE = Path(__file__).parent
DOCS = HERE.parent.parent / "docs" / "warehouse.md"
GOLDEN = HERE / "warehouse_export.csv"
HASH = re.compile(rb"[0-9a-f]{64}")
"""Hashes follow every field that a spec ever gets; the golden file is about the columns."""

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
ALL = BoardQuery("cn-north-9", include_invalid=True)


def exported(warehouse: Warehouse, query: BoardQuery = ALL, *, bom: bool = False) -> bytes:
    target = io.BytesIO()
    warehouse.export_csv(query, target, NOW, bom=bom)
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
    warehouse.rebuild(
        [
            replace(
                measured,
                result=replace(measured.result, info=info, dataset_sha256="da7a" * 16),
                samples=(MetricSample(a.T0, 0, "npuUtil", 91.5),),
            ),
            a.record(
                "two-nodes",
                node_count=2,
                pool_id="pool-1",
                created_at=a.T0 + timedelta(hours=1),
                created_by="=cmd|' /C calc'!A0",
            ),
            a.record("synthetic", synthetic_data=True, created_at=a.T0 + timedelta(hours=2)),
            a.record("stopped", with_result=False, state=RunState.STOPPED, created_at=a.T0 + timedelta(hours=3)),
            a.record("practice", rehearsal=True, region="sandbox"),
        ]
    )


def test_the_file_is_exactly_the_golden_one(warehouse: Warehouse) -> None:
    some_runs(warehouse)

    content = exported(warehouse) + exported(warehouse, replace(ALL, region="sandbox"))

    assert HASH.sub(b"<sha256>", content) == GOLDEN.read_bytes()


def test_every_run_of_the_filter_is_exported_whatever_the_page(warehouse: Warehouse) -> None:
    warehouse.rebuild([*a.records([8000.0] * 1203), a.record("other", flavor="other"), a.record("bad", accuracy=7.0)])
    target = io.BytesIO()

    count = warehouse.export_csv(
        BoardQuery("cn-north-9", flavors=("modelarts.kat1.8xlarge",), limit=10, offset=20), target, NOW
    )

    assert count == 1203
    assert len(rows(target.getvalue())) == 1203


def test_an_export_of_nothing_is_a_header(warehouse: Warehouse) -> None:
    assert exported(warehouse) == (",".join(COLUMNS) + "\r\n").encode()


def test_a_byte_order_mark_is_there_on_request(warehouse: Warehouse) -> None:
    assert exported(warehouse, bom=True) == b"\xef\xbb\xbf" + exported(warehouse)


def test_the_target_stays_open(warehouse: Warehouse) -> None:
    target = io.BytesIO()

    warehouse.export_csv(ALL, target, NOW)

    assert not target.closed


def test_rehearsals_and_synthetic_data_are_marked_in_every_row(warehouse: Warehouse) -> None:
    some_runs(warehouse)

    (practice,) = rows(exported(warehouse, replace(ALL, region="sandbox")))
    synthetic = next(row for row in rows(exported(warehouse)) if row["run_id"] == "synthetic")

    assert practice["division"] == "rehearsal"
    assert practice["note"] == "rehearsal in sandbox: not a measurement"
    assert synthetic["division"] == ""
    assert synthetic["accuracy"] == ""
    assert "synthetic data" in synthetic["note"]
    assert "cn-north-9" in synthetic["note"]


def test_scaling_stands_beside_each_valid_run(warehouse: Warehouse) -> None:
    warehouse.rebuild([a.record("one"), a.record("two", node_count=2, throughputs=[900.0] * 16)])

    only_two = rows(exported(warehouse, replace(ALL, node_counts=(2,))))

    assert [(row["base_nodes"], row["speedup"], row["efficiency_pct"]) for row in only_two] == [("1", "1.8", "90.0")]


def test_the_hash_in_a_row_is_the_record_s(warehouse: Warehouse) -> None:
    warehouse.record(a.record())
    run = warehouse.run("run-1")

    assert run is not None
    assert [row["record_sha256"] for row in rows(exported(warehouse))] == [run.record_sha256]


def test_cells_that_break_lines_or_quote_survive(warehouse: Warehouse) -> None:
    nasty = 'a,"b"\r\nc\nd'
    warehouse.record(a.record(created_by=nasty))

    assert rows(exported(warehouse))[0]["created_by"] == nasty


@given(st.text())
def test_no_text_cell_starts_a_formula(text: str) -> None:
    shown = cell(text)

    assert not shown.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert shown in (text, f"'{text}")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        (0, "0"),
        (0.0, "0.0"),
        (-1.5, "-1.5"),
        (1e-07, "1e-07"),
        (True, "true"),
        (False, "false"),
        ("", ""),
        ("-1", "'-1"),
        (datetime(2026, 3, 1, 8), "2026-03-01T08:00:00Z"),  # noqa: DTZ001 (as the warehouse keeps it: UTC, no zone)
    ],
)
def test_each_kind_of_value_has_one_way_to_be_written(value: object, shown: str) -> None:
    assert cell(value) == shown


def test_the_time_of_the_export_is_written_in_utc(warehouse: Warehouse) -> None:
    warehouse.record(a.record())
    target = io.BytesIO()

    warehouse.export_csv(ALL, target, NOW.astimezone(timezone(timedelta(hours=8))))

    assert rows(target.getvalue())[0]["exported_at_utc"] == "2026-03-02T12:00:00Z"


def test_the_documentation_names_the_columns_in_their_order() -> None:
    section = DOCS.read_text("utf-8").split("## The CSV file", 1)[1].split("\n## ", 1)[0]

    assert tuple(re.findall(r"^\| `([a-z0-9_]+)` \|", section, re.MULTILINE)) == COLUMNS


def test_the_documentation_names_every_column_of_every_table() -> None:
    section = DOCS.read_text("utf-8").split("## Tables", 1)[1].split("\n## ", 1)[0]

    for table, columns in TABLES.items():
        described = section.split(f"### `{table}`", 1)[1].split("\n### ", 1)[0]
        assert set(columns) <= set(re.findall(r"`([a-z0-9_]+)`", described)), table
