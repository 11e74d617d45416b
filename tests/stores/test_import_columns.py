"""What the columns of tables mean, said once."""

from pathlib import Path

import pytest

from aisbench_core.base.errors import ConfigError, SpecError
from aisbench_core.exchange.importing.service import Columns
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
