"""Samples of cards: rows in SQL, stored once, and missing without harm in what is older."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from aisbench_core.model import CardSample, RunRecord
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.open.reading import make_reader
from tests import records as a

SAMPLES = (CardSample(a.T0, 1, 7, "power", 93.6), CardSample(a.T0, 1, 7, "temperature", 40.0))


@pytest.fixture
def record() -> RunRecord:
    return replace(a.record("r-1"), card_samples=SAMPLES)


def test_samples_of_cards_are_rows_in_sql_and_recorded_once(record: RunRecord, tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    warehouse.record(record)
    warehouse.record(record)

    with closing(make_reader(warehouse.location)) as opened, opened.cursor() as cur:
        found = cur.execute("select run_id, node, card, name, value from v_card_metrics order by name").fetchall()

    assert found == [("r-1", 1, 7, "power", 93.6), ("r-1", 1, 7, "temperature", 40.0)]


def test_the_hash_of_a_record_does_not_depend_on_them(record: RunRecord, tmp_path: Path) -> None:
    hashes = []
    for number, stored in enumerate((record, replace(record, card_samples=()))):
        warehouse = Warehouse(tmp_path / f"{number}.duckdb")
        warehouse.record(stored)
        with warehouse.cursor() as cur:
            hashes += cur.execute("select record_sha256 from runs").fetchall()

    assert len(set(hashes)) == 1
