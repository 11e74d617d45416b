"""Our CSV, imported by another console and exported there, has the same rows; docs/export.md names what differs."""

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aisbench_core.config.settings import HOME
from aisbench_core.domain.results.record import read_record
from aisbench_core.exchange.importing.choices import Choices, Saved
from aisbench_core.exchange.importing.records import Catalogue, record_of
from aisbench_core.exchange.importing.saving import save_results
from aisbench_core.exchange.readers.reading import read_stream
from aisbench_core.exchange.readers.results import ParsedResult
from aisbench_core.maintenance.upgrading.warehouse_tables import upgrade_tables
from aisbench_core.model import (
    AnnotationChange,
    AnnotationKind,
    Better,
    Combined,
    Mode,
    Resolved,
    ResolvedContent,
    RunMetric,
    RunRecord,
    RunState,
    stated_of,
)
from aisbench_core.store.run_folders.run_paths import RunFolder
from aisbench_core.warehouse.exporting.runs import RUNS
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.exports import Export
from aisbench_core.warehouse.values.runs import BoardQuery, Validity
from tests import records as a
from tests.sealed_folders import sealed_folders

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
DIFFER = (
    "exported_at_utc", "report_id", "record_sha256", "origin", "source", "imported_at_utc", "power_source", "note",
    "validity",
    "failed_checks", "warned_checks",
)  # fmt: skip
HERE = "cn-north-9"

hostile = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0") | st.sampled_from("=+-@\t\r\n\"',;' 😀</script>"),
    max_size=40,
)


class Console:
    """A warehouse and the folders of its runs."""

    def __init__(self, path: Path) -> None:
        self.runs = path / "runs"
        self.warehouse = Warehouse(path / "warehouse.duckdb")

    def exported(self, region: str = HERE) -> bytes:
        target = io.BytesIO()
        self.warehouse.export(Export(BoardQuery(region, include_invalid=True), NOW), target)
        return target.getvalue()

    def take(self, content: bytes, name: str = "theirs.csv") -> Saved:
        catalogue = Catalogue((), frozenset({"sandbox"}))

        def record(found: ParsedResult) -> RunRecord:
            return record_of(found, Choices(), catalogue, "importer", NOW)

        found = [each for each in read_stream(io.BytesIO(content), name) if isinstance(each, ParsedResult)]
        return save_results(found, record, self.warehouse, sealed_folders(self.runs))


def rows(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))


def the_same(content: bytes) -> Iterator[dict[str, str]]:
    for row in rows(content):
        yield {name: cell for name, cell in row.items() if name not in DIFFER}


def many_kinds() -> list[RunRecord]:
    measured = a.record("whole", throughputs=[1000.0] * 7 + [900.0], pool_id="pool-1")
    assert measured.result is not None
    info = replace(
        measured.result.info,
        average_power=310.5,
        resource_util_ratio=0.07,
        proc_start_time=a.T0,
        proc_end_time=a.T0 + timedelta(seconds=540.5),
    )
    stated = stated_of({"division": "open", "test_id": "T-7", "scenario": "generic"})
    return [
        replace(measured, result=replace(measured.result, info=info, dataset_sha256="da7a" * 16), described=stated),
        a.record("two", node_count=2, throughputs=[901.1 + number / 7 for number in range(16)]),
        a.record("servers", node_count=2, mode=Mode.SINGLE_SERVER),
        replace(a.record("priced"), run=a.run("priced", price_per_node_hour=12.5, currency="USD")),
        replace(a.record("named"), metrics=(RunMetric("llm/mfu", 0.41, "", Better.HIGHER, Combined.FIRST, "palm"),)),
        a.record("synthetic", synthetic_data=True),
        a.record("stopped", with_result=False, state=RunState.STOPPED),
        a.record("too-accurate", accuracy=7.0),
        replace(a.imported("old", stated=("mode",)), region=HERE),
    ]


def test_exports_from_before_the_basis_of_rulesets_are_taken_as_well(tmp_path: Path) -> None:
    ours, theirs = Console(tmp_path / "ours"), Console(tmp_path / "theirs")
    ours.warehouse.record(a.record("whole"))
    now = ours.exported()
    cells = list(csv.reader(io.StringIO(now.decode("utf-8-sig"), newline="")))
    without = io.StringIO(newline="")
    csv.writer(without).writerows([*row[:2], *row[3:]] for row in cells)
    assert cells[0][2] == "ruleset_basis"

    theirs.take(without.getvalue().encode())

    assert list(the_same(theirs.exported())) == list(the_same(now))


def test_rows_that_come_back_are_the_same(tmp_path: Path) -> None:
    ours, theirs = Console(tmp_path / "ours"), Console(tmp_path / "theirs")
    ours.warehouse.record_many(many_kinds())
    before = ours.exported()

    saved = theirs.take(before)

    after = theirs.exported()
    assert len(saved.new) == len(many_kinds())
    assert sorted(the_same(after), key=str) == sorted(the_same(before), key=str)
    notes = {row["run_id"]: row["note"] for row in rows(after)}
    assert "imported from theirs.csv (" in notes["whole"]
    assert notes["whole"].endswith(f"; region {HERE}")
    assert "imported from logs/run1.log (1); imported from theirs.csv (" in notes["old"]
    assert {row["origin"] for row in rows(after)} == {"imported"}
    assert theirs.take(after).new == ours.take(before).new == ()


def test_a_run_that_was_set_aside_stays_so_until_it_is_counted_here(tmp_path: Path) -> None:
    theirs, ours = Console(tmp_path / "theirs"), Console(tmp_path / "ours")
    theirs.warehouse.record_many([a.record("one"), a.record("two")])
    theirs.warehouse.annotations.add(
        "two", [AnnotationChange(NOW, "ann", AnnotationKind.SET_ASIDE, "cold cache")], None
    )

    ours.take(theirs.exported())

    row = ours.warehouse.runs.find_row("two")
    assert row
    assert (row.validity, row.set_aside) == (Validity.SET_ASIDE, "cold cache")
    ours.warehouse.annotations.add("two", [AnnotationChange(NOW, "bob", AnnotationKind.SET_ASIDE, "")], None)
    ours.take(theirs.exported())
    assert (ours.warehouse.runs.find_row("two") or row).validity is Validity.CLAIMED


def test_what_came_back_is_rebuilt_from_its_folders(tmp_path: Path) -> None:
    ours, theirs = Console(tmp_path / "ours"), Console(tmp_path / "theirs")
    ours.warehouse.record_many(many_kinds())
    saved = theirs.take(ours.exported())
    before = theirs.exported()

    folders = [RunFolder(theirs.runs / run_id) for run_id in saved.new]
    kept = [read_record(each.record, each.metrics, each.events) for each in folders]
    theirs.warehouse.rebuild(kept)

    untold = {"test_id", "scenario", "division"}  # in files of their own, which the console reads beside the record
    assert [{k: v for k, v in row.items() if k not in untold} for row in the_same(theirs.exported())] == [
        {k: v for k, v in row.items() if k not in untold} for row in the_same(before)
    ]


ALWAYS = ("", "=1+1", "'=1", "''@x", " +x ", "\r\n", "\tx", 'a"b,c;d', "</script>", "😀", "none", "-", "\u2028", "1e5")


@settings(max_examples=3, deadline=None)
@given(st.lists(st.tuples(hostile, hostile, hostile, hostile, st.floats(1e-6, 1e12)), min_size=5, max_size=20))
def test_names_survive_whatever_they_hold(drawn: list[tuple[str, str, str, str, float]]) -> None:
    names = [*drawn, *((each, each, each, each, 1e3 / 7) for each in ALWAYS)]
    with TemporaryDirectory() as folder:
        ours, theirs = Console(Path(folder) / "ours"), Console(Path(folder) / "theirs")
        ours.warehouse.record_many(
            a.record(f"run-{number:03}", created_by=who, flavor=flavor, facts=replace(a.FACTS, dataset=dataset),
                     throughputs=[speed] * 8, parameters={"x": value})
            for number, (who, flavor, value, dataset, speed) in enumerate(names)
        )  # fmt: skip

        theirs.take(ours.exported())

        assert list(the_same(theirs.exported())) == list(the_same(ours.exported()))


def test_rehearsals_stay_rehearsals_and_join_no_measurements(tmp_path: Path) -> None:
    ours, theirs = Console(tmp_path / "ours"), Console(tmp_path / "theirs")
    ours.warehouse.record(a.record("practice", rehearsal=True, region="sandbox"))

    theirs.take(ours.exported("sandbox"))
    theirs.take(ours.exported("sandbox").replace(b",sandbox,true,", b",sandbox,false,").replace(b"practice", b"forged"))

    (region,) = theirs.warehouse.facets.list_regions()
    assert (region.region, region.rehearsal, region.runs) == ("imported", True, 2)
    assert {row["division"] for row in rows(theirs.exported("imported"))} == {"rehearsal"}


def test_a_verdict_in_a_file_is_not_believed_unless_it_speaks_against_the_result(tmp_path: Path) -> None:
    ours, theirs = Console(tmp_path / "ours"), Console(tmp_path / "theirs")
    ours.warehouse.record_many(
        [a.record("good"), a.record("wrong", accuracy=7.0), a.record("cards", throughputs=[0.0] * 8)]
    )

    theirs.take(ours.exported().replace(b",valid,", b",claimed,").replace(b",invalid,V06,", b",valid,,"))

    found = {row["run_id"]: row for row in rows(theirs.exported())}
    assert {run_id: row["validity"] for run_id, row in found.items()} == {
        "good": "claimed",
        "wrong": "invalid",
        "cards": "invalid",
    }
    assert "V06" in found["wrong"]["failed_checks"]


def test_a_row_that_somebody_broke_is_read_like_any_table_s(tmp_path: Path) -> None:
    ours, theirs = Console(tmp_path / "ours"), Console(tmp_path / "theirs")
    ours.warehouse.record(a.record("one"))

    theirs.take(ours.exported().replace(b",600.0,", b",ten minutes,").replace(b",one,", b",../../one,"))

    (row,) = rows(theirs.exported("imported"))
    assert row["run_id"].startswith("i-")
    assert not (tmp_path / "one").exists()


def test_the_document_names_every_column_that_may_differ() -> None:
    section = (HOME / "docs" / "export.md").read_text("utf-8").split("## There and back", 1)[1].split("\n## ", 1)[0]

    assert [name for name in DIFFER if f"`{name}`" not in section] == []
    assert set(DIFFER) <= {*RUNS.names}


def test_rows_of_an_earlier_console_that_say_nothing_of_what_is_not_known_have_no_interval(tmp_path: Path) -> None:
    theirs, ours = Console(tmp_path / "theirs"), Console(tmp_path / "ours")
    theirs.warehouse.record_many(a.records([8000, 8100]))
    table = rows(theirs.exported())
    target = io.StringIO(newline="")
    older = csv.DictWriter(target, [name for name in table[0] if name != "not_known"], extrasaction="ignore")
    older.writeheader()
    older.writerows(table)

    ours.take(target.getvalue().encode())

    [row] = ours.warehouse.board.list_rows(BoardQuery(HERE)).rows
    assert (row.runs, row.not_known, row.ci_low) == (2, "spec", None)
    assert row.mixed == "mixed or unknown: other fields of the spec"


def test_what_was_resolved_at_the_launch_comes_along(tmp_path: Path) -> None:
    theirs, ours = Console(tmp_path / "theirs"), Console(tmp_path / "ours")
    inputs = [{"name": "data_url", "path": "/data/all/"}]
    resolved = Resolved({"data_url": ResolvedContent("cafe" * 16, 2, 30)})
    theirs.warehouse.record_many([replace(a.record("listed", inputs=inputs), resolved=resolved)])

    ours.take(theirs.exported())

    before, after = (console.warehouse.runs.find_row("listed") for console in (theirs, ours))
    assert before
    assert after
    assert (after.resolved, after.fingerprint, after.not_known) == (resolved.text, before.fingerprint, "")
    assert ours.warehouse.check([]).damages == ()


def test_a_configuration_file_that_came_along_without_its_parameter_is_no_error(tmp_path: Path) -> None:
    theirs, ours = Console(tmp_path / "theirs"), Console(tmp_path / "ours")
    resolved = Resolved(files={"config_path": ResolvedContent("cafe" * 16, size=9)})
    configured = a.record("configured", speed_parameters={"config_path": "obs://bucket/large.yaml"})
    theirs.warehouse.record_many([replace(configured, resolved=resolved), a.record("plain")])

    ours.take(theirs.exported())

    differing = {
        field.field: field.values for field in ours.warehouse.runs.compare(["configured", "plain"]).differences
    }
    assert [name for name in differing if name.startswith("parameters.")] == []
    told = theirs.warehouse.runs.compare(["configured", "plain"]).differences
    assert f"obs://bucket/large.yaml (sha256:{'cafe' * 16})" in [field.values[0] for field in told]


def test_what_an_older_console_took_from_an_export_is_rebuilt_as_unknown(tmp_path: Path) -> None:
    theirs, ours = Console(tmp_path / "theirs"), Console(tmp_path / "ours")
    theirs.warehouse.record(a.record("one"))
    [run_id] = ours.take(theirs.exported()).new
    folder = RunFolder(ours.runs / run_id)
    kept = read_record(folder.record, folder.metrics, folder.events)
    assert kept.imported
    carried = {name: value for name, value in kept.imported.carried.items() if name not in ("not_known", "resolved")}

    ours.warehouse.rebuild([replace(kept, imported=replace(kept.imported, carried=carried))])

    run = ours.warehouse.runs.find_row(run_id)
    assert run
    assert run.not_known == "spec"


@pytest.mark.parametrize("stored", ["null", "''"])
def test_what_was_imported_before_it_was_stored_what_is_not_known_is_unknown(stored: str, tmp_path: Path) -> None:
    theirs, ours = Console(tmp_path / "theirs"), Console(tmp_path / "ours")
    theirs.warehouse.record(a.record("one"))
    ours.take(theirs.exported())
    with duckdb.connect(tmp_path / "ours" / "warehouse.duckdb") as con:
        con.execute(f"update runs set not_known = {stored}")
        con.execute("update schema_version set version = 19")
        upgrade_tables(con, "ours")

    run = Warehouse(tmp_path / "ours" / "warehouse.duckdb").runs.find_row("one")

    assert run
    assert run.not_known == "spec"
