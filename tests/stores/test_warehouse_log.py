"""The log of a warehouse file holds runs: when it is gone or shorter, that is said, and a rebuild goes on."""

from pathlib import Path

import duckdb
import pytest

from aisbench_core.base.errors import WarehouseError
from aisbench_core.config.settings import Settings
from aisbench_core.warehouse.facade import Warehouse
from aisbench_core.warehouse.open.reading import FileReader
from aisbench_core.warehouse.store.warehouse_file import log_of
from aisbench_core.warehouse.values.runs import BoardQuery
from aisbench_core.wiring import open_core
from tests import records as a
from tests.actors import TESTER

BOARD = BoardQuery("cn-north-9", include_invalid=True)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "warehouse.duckdb"
    warehouse = Warehouse(path)
    for number in range(3):
        warehouse.record(a.record(f"run-{number}"))
    assert log_of(path).stat().st_size > 0
    return path


@pytest.mark.parametrize("kept", [None, 0.0, 0.5])
def test_a_log_that_was_deleted_or_cut_is_named_and_a_rebuild_goes_on(file: Path, kept: float | None) -> None:
    content = log_of(file).read_bytes()
    log_of(file).unlink()
    if kept is not None:
        log_of(file).write_bytes(content[: int(len(content) * kept)])

    with pytest.raises(WarehouseError, match="was deleted or cut") as error:
        Warehouse(file).board.list_rows(BOARD)
    with pytest.raises(WarehouseError, match="was deleted or cut"), FileReader(file).cursor():
        pass

    assert "aisbench warehouse rebuild" in error.value.hint
    core = open_core(Settings(data_dir=file.parent))
    core.storage.rebuild(TESTER)
    assert core.warehouse.board.list_rows(BOARD).rows == ()


def test_a_log_that_another_program_merged_is_not_missed(file: Path) -> None:
    with duckdb.connect(file) as con:
        con.execute("checkpoint")

    assert Warehouse(file).runs.list_rows(BOARD).total == 3


def test_a_log_that_is_brought_back_is_as_good_as_before(file: Path) -> None:
    aside = log_of(file).rename(file.with_name("aside"))
    with pytest.raises(WarehouseError, match="was deleted or cut"):
        Warehouse(file).board.list_rows(BOARD)
    aside.replace(log_of(file))

    assert Warehouse(file).runs.list_rows(BOARD).total == 3
