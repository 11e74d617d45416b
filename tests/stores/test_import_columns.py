"""What the columns of tables mean, said once."""

from io import BytesIO
from pathlib import Path

import pytest

from aisbench_core.base.errors import ConfigError, SpecError
from aisbench_core.config.settings import Settings
from aisbench_core.exchange.importing.choices import Choices, ImportAnswers
from aisbench_core.exchange.importing.service import Columns
from aisbench_core.exchange.readers.results import ParsedResult
from aisbench_core.warehouse.values.runs import BoardQuery
from aisbench_core.wiring import Core, open_core
from tests.actors import TESTER


@pytest.fixture
def columns(tmp_path: Path) -> Columns:
    return Columns(tmp_path / "import_columns.json")


def test_what_columns_mean_is_remembered(columns: Columns) -> None:
    assert columns.read_stored() == {}

    columns.remember({"吞吐": "throughput_ratio", "备注": ""}, actor=TESTER)
    columns.remember({"Accuracy %": "accuracy_pct"}, actor=TESTER)

    assert columns.read_stored() == {"吞吐": "throughput_ratio", "备注": "", "Accuracy %": "accuracy_pct"}


def test_a_meaning_that_does_not_exist_is_refused_with_those_that_do(columns: Columns) -> None:
    with pytest.raises(SpecError, match="Speed: must be one of model, workload"):
        columns.remember({"Speed": "speed"}, actor=TESTER)


def test_a_damaged_memory_of_columns_says_what_to_do(columns: Columns, tmp_path: Path) -> None:
    (tmp_path / "import_columns.json").write_text("[]", "utf-8")

    with pytest.raises(ConfigError, match="delete it"):
        columns.read_stored()


# --- columns that nobody mapped -------------------------------------------------------------------------

HEADER = "model,framework,nodes,cards,batch,precision,samples/s,accuracy\n"
TABLE = (
    HEADER
    + "bert,MindSpore,1,8,256,fp32,100,0.7\nbert,MindSpore,1,8,256,fp32,104,0.7\nbert,MindSpore,1,8,4096,fp16,800,0.7\n"
)


@pytest.fixture
def core(tmp_path: Path) -> Core:
    return open_core(Settings(data_dir=tmp_path))


def medians(core: Core, table: str, mapping: dict[str, str] | None = None) -> list[float | None]:
    """Import a table; the medians of the rows that the leaderboard makes of it."""
    found = core.imports.read_uploads([("lab.csv", BytesIO(table.encode()))], mapping or {})
    choices = Choices(about_all=ImportAnswers(throughput_definition="whole_epochs"))
    core.imports.save([each for each in found if isinstance(each, ParsedResult)], choices, TESTER)
    page = core.warehouse.board.list_rows(BoardQuery("imported", sort="throughput", descending=False))
    return [row.throughput for row in page.rows]


def test_rows_that_differ_in_a_column_that_nobody_mapped_are_never_pooled(core: Core) -> None:
    assert medians(core, TABLE) == [102, 800]
    [row, _] = core.warehouse.board.list_rows(BoardQuery("imported", sort="throughput", descending=False)).rows
    spec = core.imports.record(row.latest_run_id).run.spec
    assert spec.parameters == {"batch_size": 256, "precision": "fp32", "framework": "MindSpore"}


def test_a_column_that_somebody_ignores_keeps_nothing_apart(core: Core) -> None:
    assert medians(core, TABLE, {"batch": "", "precision": ""}) == [104]


def test_a_column_can_be_any_parameter(core: Core) -> None:
    assert medians(core, TABLE, {"batch": "parameter.per card", "precision": ""}) == [102, 800]


@pytest.mark.parametrize("column", ["cards", "framework", "规模", "mode"])
def test_what_is_not_stored_as_a_field_keeps_rows_apart_as_well(core: Core, column: str) -> None:
    cells = {"cards": ("8p", "16p"), "framework": ("MindSpore", "PyTorch"), "规模": ("2机16卡", "4机32卡")}
    one, other = cells.get(column, ("graph", "pynative"))

    assert medians(core, f"model,accuracy,samples/s,{column}\nbert,0.7,100,{one}\nbert,0.7,200,{other}\n") == [100, 200]
