"""A published leaderboard: what the console shows, no more than is allowed, and a folder that is whole or as it was."""

import errno
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from aisbench_core.base.errors import ConfigError, DiskError, SpecError
from aisbench_core.base.messages import label_in_chinese
from aisbench_core.exchange.publishing import folder as published_folder
from aisbench_core.exchange.publishing.columns import ALLOWABLE, DEFAULT_COLUMNS, parse_columns
from aisbench_core.exchange.publishing.publishing import Published, Publishing
from aisbench_core.exchange.publishing.words import WORDS
from aisbench_core.model import AnnotationChange, AnnotationKind, Better, PrimaryMetric, RunMetric
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.values.runs import BoardQuery
from tests import records as a
from tests.stores.test_metric_board import with_metric

NOW = datetime(2026, 3, 9, 12, 0, tzinfo=UTC)
REGION = "cn-north-9"
BOARD = BoardQuery(REGION, limit=1000)
HOSTILE = '</script><script>alert("x")</script>'
PAGE = re.compile(r'aisbench\.addPage\("(\w+)", (\d+), ({.*?}), (\[.*\])\);\n', re.DOTALL)


def some(warehouse: Warehouse) -> None:
    """Rows of two benchmarks: one of them imported, one whose runs missed the target, and runs that do not count."""
    warehouse.record_many(
        [
            *a.records([8000, 8100, 8200], "one"),
            *a.records([15000, 15100], "two", node_count=2),
            *a.records([8050, 8150], "batch", speed_parameters={"epoch_size": 90, "batch_size": 512}),
            a.record("missed", accuracy=0.5, framework_version="r2.0"),
            a.record("broken", with_result=False, flavor="other"),
            replace(a.imported("old"), region=REGION),
        ]
    )
    change = AnnotationChange(a.T0, "ann", AnnotationKind.SET_ASIDE, "node 3 was throttled")
    warehouse.annotations.add("one-2", [change], None)


def publish(
    warehouse: Warehouse,
    target: Path,
    allowed: Sequence[str] = DEFAULT_COLUMNS,
    query: BoardQuery = BOARD,
    *,
    at: datetime = NOW,
    **more: Any,
) -> Published:
    return Publishing(warehouse, lambda: at).publish(query, target, allowed, **more)


def read_pages(target: Path, table: str) -> list[list[Any]]:
    """The rows of all pages of a table, as a browser would read them."""
    found = []
    for number in range(len([*(target / "data").glob(f"{table}-*.js")])):
        text = (target / "data" / f"{table}-{number}.js").read_text("utf-8")
        page = PAGE.fullmatch(text)
        assert page, text[:200]
        assert (page[1], page[2]) == (table, str(number))
        assert isinstance(json.loads(page[3]), dict)
        found += json.loads(page[4])
    return found


def read_texts(target: Path) -> dict[str, bytes]:
    return {path.relative_to(target).as_posix(): path.read_bytes() for path in target.rglob("*") if path.is_file()}


def test_rows_are_the_leaderboard_s(warehouse: Warehouse, tmp_path: Path) -> None:
    some(warehouse)

    counts = publish(warehouse, tmp_path / "site")

    rows = parquet.read_table(tmp_path / "site" / "leaderboard.parquet").to_pylist()
    board = {row.latest_run_id: row for row in warehouse.board.list_rows(BOARD).rows}
    by_keys = {(row.fingerprint, row.framework_version, row.node_count, row.origin): row for row in board.values()}
    assert len(rows) == counts.rows == len(by_keys) == 5
    for row in rows:
        version = row["version"].removeprefix("mindspore").strip()
        shown = by_keys[row["fingerprint"], version, row["node_count"], row["origin"]]
        assert (row["rank"], row["rank_from"], row["is_confirmed"]) == (shown.rank, shown.rank_from, shown.is_confirmed)
        for name, number in {"median": shown.throughput, "low": shown.ci_low, "high": shown.ci_high}.items():
            assert row[name] == (None if number is None else pytest.approx(number, rel=1e-9)), name
        assert (row["runs"], row["set_aside"], row["missed"]) == (shown.runs, shown.set_aside, shown.missed)
        assert row["not_known"] == shown.not_known
    notes = {row["origin"]: row["note"] for row in rows}
    assert notes["imported"].startswith("claimed, unverified; mixed or unknown: ")
    assert {row["note"] for row in rows if row["missed"]} == {"unconfirmed; target missed"}


def test_a_row_says_which_of_the_published_runs_are_its_own(warehouse: Warehouse, tmp_path: Path) -> None:
    some(warehouse)
    in_small_parts = Publishing(warehouse, lambda: NOW, page_rows=2, most_runs=3)

    counts = in_small_parts.publish(BOARD, tmp_path / "site", DEFAULT_COLUMNS)

    rows, runs = read_pages(tmp_path / "site", "rows"), read_pages(tmp_path / "site", "runs")
    at = DEFAULT_COLUMNS.index("run_id")
    own = [[run[at] for run in runs[first : first + count]] for _, first, count, *_ in rows]
    assert sorted(own) == sorted([["one-1", "one-0"], ["two-1", "two-0"], ["batch-1", "batch-0"], ["missed"], ["old"]])
    assert len(runs) == counts.runs == 8
    assert [run[-1] for run in runs] == [number for number, ids in enumerate(own, 1) for _ in ids]
    stored = parquet.read_table(tmp_path / "site" / "runs.parquet").to_pylist()
    assert [row["run_id"] for row in stored] == [run[at] for run in runs]
    assert [row["leaderboard_row"] for row in stored] == [run[-1] for run in runs]


def test_people_texts_and_addresses_are_published_only_when_they_are_allowed(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    record = a.record("one", created_by="mallory", pool_id="pool-secret")
    warehouse.record(replace(record, run=replace(record.run, job_id="job-secret", job_name="secret-job")))
    change = AnnotationChange(a.T0, "mallory", AnnotationKind.NOTE, "my secret note")
    warehouse.annotations.add("one", [change], None)

    publish(warehouse, tmp_path / "default")
    publish(warehouse, tmp_path / "wide", parse_columns("+created_by, note"))
    publish(warehouse, tmp_path / "narrow", parse_columns("run_id"))

    shown = {name: b"".join(read_texts(tmp_path / name).values()) for name in ("default", "wide", "narrow")}
    for text in (b"mallory", b"secret", REGION.encode()):
        assert text not in shown["default"]
    assert b"mallory" in shown["wide"]
    assert b"my secret note" in shown["wide"]
    for text in (b"mallory", b"secret", b"modelarts.kat1", b"resnet", b"r1.10", b"batch_size"):
        assert text not in shown["narrow"], text


def test_the_default_names_no_people_texts_prices_or_places() -> None:
    hidden = {"created_by", "note", "tags", "source", "set_aside", "region", "pool_id", "job_id", "job_name", "image"}
    hidden |= {
        "hyperparameters_json",
        "test_id",
        "cost",
        "price_per_node_hour",
        "metrics_json",
        "resolved",
        "series_id",
    }

    assert {*DEFAULT_COLUMNS} <= {*ALLOWABLE}
    assert not {*DEFAULT_COLUMNS} & hidden


def test_an_unknown_column_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(SpecError, match=r"is no column of an export of runs; allowed: .*run_id"):
        parse_columns("run_id, throughputs")


@pytest.mark.parametrize("rehearsal", [None, True])
def test_rehearsals_are_refused_and_nothing_is_written(
    rehearsal: bool | None, warehouse: Warehouse, tmp_path: Path
) -> None:
    warehouse.record_many(a.records([8000, 8100], rehearsal=True))

    with pytest.raises(SpecError, match="no measurements"):
        publish(warehouse, tmp_path / "site", query=BoardQuery(REGION, rehearsal=rehearsal))

    assert not [path for path in tmp_path.iterdir() if "site" in path.name]


def test_rehearsals_beside_measurements_are_left_out(warehouse: Warehouse, tmp_path: Path) -> None:
    warehouse.record_many([a.record("measured"), a.record("rehearsed", rehearsal=True)])

    assert publish(warehouse, tmp_path / "site").runs == 1
    assert b"rehearsed" not in b"".join(read_texts(tmp_path / "site").values())


def test_without_a_run_that_counts_the_old_folder_stays(warehouse: Warehouse, tmp_path: Path) -> None:
    warehouse.record(a.record("one"))
    publish(warehouse, tmp_path / "site")
    before = read_texts(tmp_path / "site")

    with pytest.raises(SpecError, match="no run fits the filter"):
        publish(warehouse, tmp_path / "site", query=replace(BOARD, models=("another",)))

    assert read_texts(tmp_path / "site") == before
    assert [path.name for path in tmp_path.iterdir() if "site" in path.name] == ["site"]


def test_the_same_runs_give_the_same_bytes_but_for_the_time(warehouse: Warehouse, tmp_path: Path) -> None:
    some(warehouse)

    publish(warehouse, tmp_path / "one")
    publish(warehouse, tmp_path / "other", at=NOW + timedelta(days=1))

    first, second = read_texts(tmp_path / "one"), read_texts(tmp_path / "other")
    assert first.keys() == second.keys()
    assert {name for name in first if first[name] != second[name]} == {"index.html", "zh.html"}
    for name in ("index.html", "zh.html"):
        assert first[name].replace(b"2026-03-09 12:00", b"2026-03-10 12:00") == second[name]


def test_hostile_names_stay_texts(warehouse: Warehouse, tmp_path: Path) -> None:
    facts = replace(a.FACTS, title=HOSTILE, model=f"{HOSTILE}\u2028\n\x00'")
    metrics = (RunMetric("tokens_per_joule", 3.25, HOSTILE[:20], Better.HIGHER),)
    hostile = replace(a.record("one", facts=facts, flavor=HOSTILE, created_by=HOSTILE), metrics=metrics)
    warehouse.record_many([hostile, *a.records([8000, 8100], "two", facts=facts)])

    publish(warehouse, tmp_path / "site", ALLOWABLE)

    for name in ("index.html", "zh.html"):
        page = (tmp_path / "site" / name).read_text("utf-8")
        assert "alert" not in page
        assert page.count("<script") == page.count("</script>") == 2
    heads = PAGE.fullmatch((tmp_path / "site" / "data" / "rows-0.js").read_text("utf-8"))
    assert heads
    assert HOSTILE in json.loads(heads[3])["1"][0]
    assert [run for run in read_pages(tmp_path / "site", "runs") if HOSTILE in run]


def test_evidence_is_linked_where_it_exists(warehouse: Warehouse, tmp_path: Path) -> None:
    one, two, three = a.records([8000, 8100, 8200])
    warehouse.record_many([one, replace(two, run=replace(two.run, series_id="s-1")), three])
    bundles = tmp_path / "bundles"
    bundles.mkdir()
    for name in ("run-0", "s-1", "other"):
        (bundles / f"{name}.zip").write_bytes(name.encode())

    counts = publish(warehouse, tmp_path / "site", bundles=bundles)

    stored = parquet.read_table(tmp_path / "site" / "runs.parquet").to_pylist()
    assert {row["run_id"]: row["bundle"] for row in stored} == {"run-0": "run-0", "run-1": "s-1", "run-2": None}
    assert counts.bundles == 2
    assert {path.name: path.read_bytes() for path in (tmp_path / "site" / "bundles").iterdir()} == {
        "run-0.zip": b"run-0",
        "s-1.zip": b"s-1",
    }


def test_a_published_folder_is_replaced_as_a_whole(warehouse: Warehouse, tmp_path: Path) -> None:
    warehouse.record_many([*a.records([8000, 8100]), a.record("other", flavor="second")])
    publish(warehouse, tmp_path / "site", query=replace(BOARD, flavors=("second",)))
    (tmp_path / "site" / "data" / "rows-0.js").unlink()

    publish(warehouse, tmp_path / "site", umask=0o027)

    assert len(read_pages(tmp_path / "site", "runs")) == 3
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "site").rglob("*")} == {0o640, 0o750}
    assert [path.name for path in tmp_path.iterdir() if "site" in path.name] == ["site"]


@pytest.mark.parametrize("kind", ["file", "foreign", "added", "marker"])
def test_what_was_not_published_is_never_replaced(kind: str, warehouse: Warehouse, tmp_path: Path) -> None:
    warehouse.record(a.record("one"))
    site = tmp_path / "site"
    if kind == "file":
        site.write_text("mine")
    elif kind == "added":
        publish(warehouse, site)
        (site / "data" / "mine.txt").write_text("mine")
    else:
        (site / ".git").mkdir(parents=True)
        (site / ".git" / "mine").write_text("mine")
        if kind == "marker":
            (site / published_folder.MARKER).write_text('["files"]')
    before = read_texts(tmp_path)

    with pytest.raises(ConfigError, match=r"site is not replaced: it (is a file|holds .*, which was not published)"):
        publish(warehouse, site)

    assert {name: text for name, text in read_texts(tmp_path).items() if "site" in name} == {
        name: text for name, text in before.items() if "site" in name
    }


def test_an_empty_folder_is_used_and_a_link_followed(warehouse: Warehouse, tmp_path: Path) -> None:
    warehouse.record(a.record("one"))
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")

    publish(warehouse, tmp_path / "link")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "empty" / "index.html").exists()


def test_a_failure_while_writing_leaves_the_old_folder(warehouse: Warehouse, tmp_path: Path) -> None:
    warehouse.record(a.record("one"))
    publish(warehouse, tmp_path / "site")
    before = read_texts(tmp_path / "site")

    def fill_disk() -> datetime:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(DiskError, match="No space left"):
        Publishing(warehouse, fill_disk).publish(BOARD, tmp_path / "site", DEFAULT_COLUMNS)

    assert read_texts(tmp_path / "site") == before
    assert [path.name for path in tmp_path.iterdir() if "site" in path.name] == ["site"]


def test_a_workload_s_own_metric_ranks_as_on_the_leaderboard(warehouse: Warehouse, tmp_path: Path) -> None:
    facts = replace(a.FACTS, primary_metric=PrimaryMetric("energy", better=Better.LOWER))
    hungry = [
        with_metric(run, 8.0) for run in a.records([9000.0, 9100.0], "fast", framework_version="r1.9", facts=facts)
    ]
    frugal = [with_metric(run, 2.0) for run in a.records([5000.0, 5100.0], "slow", facts=facts)]
    warehouse.record_many([*hungry, *frugal])

    publish(warehouse, tmp_path / "site")

    rows = parquet.read_table(tmp_path / "site" / "leaderboard.parquet").to_pylist()
    runs = parquet.read_table(tmp_path / "site" / "runs.parquet").to_pylist()
    ranked = [(row["rank"], row["median"], row["throughput_unit"], row["primary_metric"]) for row in rows]
    assert ranked == [("1", 2.0, "J/token", "energy"), ("2", 8.0, "J/token", "energy")]
    assert [run["throughput_cluster"] for run in runs] == [2.0, 2.0, 8.0, 8.0]
    assert {run["primary_metric"] for run in runs} == {"energy"}


def test_both_pages_say_the_head_of_the_audit(warehouse: Warehouse, tmp_path: Path) -> None:
    warehouse.record(a.record("one"))

    Publishing(warehouse, lambda: NOW, lambda: "7:abc").publish(BOARD, tmp_path / "site", DEFAULT_COLUMNS)

    assert "Head of the audit: 7:abc" in (tmp_path / "site" / "index.html").read_text("utf-8")
    assert "审计链头：7:abc" in (tmp_path / "site" / "zh.html").read_text("utf-8")


def test_every_word_has_a_chinese_one() -> None:
    chinese = {key: label_in_chinese(f"publish.{key}", "") for key in WORDS}

    assert [key for key, text in chinese.items() if not text] == []
    for key, text in chinese.items():
        assert set(re.findall(r"{\w+}", text)) == set(re.findall(r"{\w+}", WORDS[key])), key
