"""`aisbench sql`: every format, values, limits, the note about rehearsals, and how it ends."""

import csv
import io
import json
import os
import signal
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pyarrow import parquet

from aisbench_core.interfaces.cli import main
from aisbench_core.warehouse.facade import Warehouse
from tests import records as a
from tests.mlflow_server import tracking_server
from tests.processes import start_aisbench


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    Warehouse(tmp_path / "warehouse.duckdb").rebuild(a.records([8000, 8100, 8200]))
    return tmp_path


def type_in(data_dir: Path, *words: str, told: str | None = None) -> Result:
    return CliRunner().invoke(main, list(words), input=told, env={"AISBENCH_DATA_DIR": str(data_dir)})


def test_a_table_shows_numbers_to_the_right_and_says_when_there_is_more(data_dir: Path) -> None:
    result = type_in(
        data_dir, "sql", "select run_id, throughput, accuracy_target as t, null as n from v_runs", "--limit", "2"
    )

    assert result.exit_code == 0, result.output
    head, first, second = result.stdout.splitlines()
    assert head.split() == ["run_id", "throughput", "t", "n"]
    assert first.split()[1:] == ["8000", "0.759", "–"]
    assert result.stderr == "2 rows; there are more, see --limit\n"
    assert second


@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai"])
def test_times_with_a_zone_are_shown_in_utc_in_every_format(
    data_dir: Path, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", zone)
    sql = (
        "select t, [t] as many, {'at': t} as one, null::timestamptz as n, run_id as t from"
        " (select '2026-03-01 08:00:00+02'::timestamptz as t, run_id from v_runs) order by run_id"
    )

    table = type_in(data_dir, "sql", sql, "--limit", "2")
    (row, *_) = csv.DictReader(io.StringIO(type_in(data_dir, "sql", sql, "--format", "csv").stdout))
    (told, *_) = json.loads(type_in(data_dir, "sql", sql, "--format", "json").stdout)

    assert table.exit_code == 0, table.output
    assert table.stdout.splitlines()[1].split()[0] == "2026-03-01T06:00:00Z"
    assert table.stderr == "2 rows; there are more, see --limit\n"
    assert (row["t"], row["n"], row["t_1"]) == ("2026-03-01T06:00:00Z", "", "run-0")
    assert (told["t"], told["many"], told["one"]) == (row["t"], [row["t"]], {"at": row["t"]})
    assert type_in(data_dir, "sql", "select now()").exit_code == 0
    never = type_in(data_dir, "sql", "select 'infinity'::timestamptz")
    assert (never.exit_code, never.stderr.strip()) == (
        2,
        "error: a time is outside the years 1 to 9999 (cast it to text: `column::text`)",
    )


@pytest.mark.parametrize("file_format", ["csv", "json"])
def test_a_column_with_a_time_zone_changes_no_other_one(data_dir: Path, file_format: str) -> None:
    values = (
        "interval '14 months 3 days 2 hours' as i, -interval '3 days 1 us' as j, [interval 1 day] as l, {'at': i} as s,"
        " map {'a': 1} as m, map {[1]: 2} as n, map {} as e, '1010000010'::bit as b, [null, '101'::bit] as c,"
        " 12345678901234567890123::bignum as x, (-5)::bignum as y, 0::bignum as z, null::interval as o,"
        " 1::hugeint as h, 1.5::decimal(38, 2) as d, array_value(1, 2) as r, date '2026-03-01' as t, uuid '"
        "c197777a-2600-40a7-bfcf-d9a889b3d11a' as u, union_value(k := 1) as v, 'x'::blob as w, time '01:02:03' as q"
    )
    answers = [
        type_in(data_dir, "sql", f"select {some}", "--format", file_format)
        for some in (values, f"{values}, '2026-03-01 08:00:00+02'::timestamptz as zoned")
    ]

    plain, zoned = (only_row(answer.stdout, file_format) for answer in answers)

    assert zoned.pop("zoned") == "2026-03-01T06:00:00Z"
    assert zoned == plain


TIME = "'12:34:56+05:30'::timetz"
ZONED = "'2026-03-01 08:00:00+02'::timestamptz as zoned"


@pytest.mark.parametrize("value", [TIME, f"[{TIME}]", f"{{'at': {TIME}}}"])
def test_a_time_of_day_keeps_its_zone_or_is_refused(data_dir: Path, value: str) -> None:
    alone = type_in(data_dir, "sql", f"select {value} as t", "--format", "json")
    beside = type_in(data_dir, "sql", f"select {value} as t, {ZONED}", "--format", "json")
    parquet = type_in(data_dir, "sql", f"select {value} as t", "--format", "parquet")
    as_text = type_in(data_dir, "sql", f"select ({value})::text as t, {ZONED}", "--format", "json")

    assert "12:34:56+05:30" in alone.stdout
    assert (beside.exit_code, parquet.exit_code) == (2, 2)
    assert "a time of day with a time zone would lose it" in beside.stderr
    assert "12:34:56+05:30" in as_text.stdout


def only_row(text: str, file_format: str) -> dict[str, object]:
    """The only row of an answer."""
    (row,) = csv.DictReader(io.StringIO(text)) if file_format == "csv" else json.loads(text)
    return dict(row)


def test_csv_json_and_parquet_hold_the_same(data_dir: Path) -> None:
    sql = (
        "select run_id, throughput, rank_cv, max_power_w, created_at_utc, [1, 2] as two from v_runs where run_id = $id"
    )
    words = ("sql", sql, "-p", "id=run-1", "--format")

    (row,) = csv.DictReader(io.StringIO(type_in(data_dir, *words, "csv").stdout))
    (told,) = json.loads(type_in(data_dir, *words, "json").stdout)
    done = type_in(data_dir, *words, "parquet", "-o", str(data_dir / "out.parquet"))

    assert done.stderr == "1 row\n"
    (typed,) = parquet.read_table(data_dir / "out.parquet").to_pylist()
    assert row == {
        "run_id": "run-1",
        "throughput": "8100.0",
        "rank_cv": "0.0",
        "max_power_w": "",
        "created_at_utc": "2026-03-01T08:01:00Z",
        "two": "[1, 2]",
    }
    assert told == row | {"throughput": 8100.0, "rank_cv": 0.0, "max_power_w": None, "two": [1, 2]}
    assert (typed["throughput"], typed["max_power_w"], typed["two"]) == (8100.0, None, [1, 2])


def test_a_question_comes_from_standard_input_and_a_file_takes_the_answer(data_dir: Path) -> None:
    out = data_dir / "out.csv"

    result = type_in(data_dir, "sql", "-", "--format", "csv", "-o", str(out), told="select count(*) as n from v_runs")

    assert (result.exit_code, result.stdout) == (0, "")
    assert out.read_bytes() == b"n\r\n3\r\n"
    assert type_in(data_dir, "sql", "from nowhere", "-o", str(out)).exit_code == 2
    assert out.read_bytes() == b"n\r\n3\r\n"


def test_a_question_that_cannot_be_answered_is_your_input(data_dir: Path) -> None:
    result = type_in(data_dir, "sql", "from v_runs where")

    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("error: syntax error at end of input")
    assert type_in(data_dir, "sql", "copy v_runs to 'x'").exit_code == 2
    assert type_in(data_dir, "sql", "from v_runs", "-p", "nothing").exit_code == 2


def test_a_question_for_too_much_memory_is_your_input(data_dir: Path) -> None:
    result = type_in(data_dir, "sql", "select repeat('x', 4000000000)")

    assert (result.exit_code, result.stdout) == (2, "")
    assert "needs more than" in result.stderr


def test_the_person_is_told_when_rehearsals_are_among_the_numbers(data_dir: Path) -> None:
    question = ("sql", "select max(throughput) from v_runs")
    assert "note:" not in type_in(data_dir, *question).stderr

    Warehouse(data_dir / "warehouse.duckdb").record(a.record("rehearsed", rehearsal=True))

    assert "note: these numbers may include rehearsals" in type_in(data_dir, *question).stderr
    assert "note:" in type_in(data_dir, "sql", "select rehearsal, throughput from v_runs").stderr
    assert "note:" not in type_in(data_dir, "sql", "from v_runs where not rehearsal").stderr
    assert "note:" not in type_in(data_dir, "sql", "show tables").stderr


def test_a_snapshot_is_taken_and_asked(data_dir: Path) -> None:
    file = data_dir / "taken.duckdb"

    taken = type_in(data_dir, "warehouse", "snapshot", str(file))

    assert taken.exit_code == 0, taken.output
    assert taken.stdout.startswith(f"3 runs in {file}, ")
    Warehouse(data_dir / "warehouse.duckdb").record(a.record("later"))
    asked = type_in(data_dir, "sql", "select count(*) as n from v_runs", "--snapshot", str(file), "--format", "csv")
    assert asked.stdout == "n\n3\n"
    assert type_in(data_dir, "warehouse", "snapshot", str(file)).exit_code == 2


def test_runs_go_to_mlflow_and_are_here_already_when_they_come_back(data_dir: Path) -> None:
    file = data_dir / "mlflow.db"
    with tracking_server(file) as server:
        export = ("mlflow", "export", server.address, "--nodes", "1", "--region", "cn-north-9")

        sent, again = type_in(data_dir, *export), type_in(data_dir, *export)

    where = f"3 runs of cn-north-9 are in {server.address}"
    assert (sent.exit_code, sent.stderr) == (0, f"{where}: 3 new, 0 replaced, 0 existing\n"), sent.output
    assert (again.exit_code, again.stderr) == (0, f"{where}: 0 new, 0 replaced, 3 existing\n"), again.output
    back = type_in(data_dir, "import", str(file))
    assert back.exit_code == 0, back.output
    assert "3 already imported" in back.stdout


def test_the_tracking_server_is_mlflows_variable_unless_one_is_named(data_dir: Path) -> None:
    with tracking_server(data_dir / "mlflow.db") as server:
        named = CliRunner().invoke(
            main, ["mlflow", "export"], env={"AISBENCH_DATA_DIR": str(data_dir), "MLFLOW_TRACKING_URI": server.address}
        )

    assert (named.exit_code, named.stderr.split(": ")[0]) == (0, f"3 runs of cn-north-9 are in {server.address}")
    assert type_in(data_dir, "mlflow", "export").exit_code == 2


def test_a_key_press_ends_a_long_question(data_dir: Path) -> None:
    sql = "select count(*) from range(100000000) a, range(100000000) b where (a.range * b.range) % 7 = 3"
    folder = data_dir / "copies"
    folder.mkdir()
    environment = os.environ | {"AISBENCH_DATA_DIR": str(data_dir), "TMPDIR": str(folder)}
    process = start_aisbench("sql", sql, environment=environment)

    try:
        until = time.monotonic() + 60
        while not list(folder.glob("*/warehouse.duckdb")) and time.monotonic() < until:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()

    assert process.returncode == 130, told
    assert told == "interrupted\n"
    assert list(folder.iterdir()) == []
